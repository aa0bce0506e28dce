//! Tests of `squall lsp` as editors start it: messages over the standard input and output. `main.rs` collects them as
//! trials. `crates/language-server/tests` is about the answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use libtest_mimic::Trial;
use serde_json::{Value, json};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("language_server/session", || Ok(session()?)),
        Trial::test("language_server/packages", || Ok(packages()?)),
        Trial::test("language_server/end_of_input", || Ok(end_of_input()?)),
    ]
}

/// A project in a folder, a text that is broken and then mended, the library's text, the end.
fn session() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("a b.ns");
    std::fs::write(&file, "class Known = ()( public known = ( ^ 1 ) )")
        .map_err(|error| error.to_string())?;
    let root = format!("file://{}", folder.path().display());
    let mut server = Server::start(&folder.path().join("cache"))?;
    let capabilities = server.ask("initialize", json!({ "capabilities": {}, "rootUri": root }))?;
    expect(capabilities["capabilities"]["hoverProvider"] == true, "it has no capabilities")?;
    server.notify("initialized", json!({}))?;
    let found = server.ask("workspace/symbol", json!({ "query": "known" }))?;
    let uri = &found[0]["location"]["uri"];
    expect(uri == &json!(format!("{root}/a%20b.ns")), &format!("{uri} is another file"))?;
    let text = |text: &str| json!({ "uri": "untitled:new", "languageId": "newspeak", "version": 1, "text": text });
    server.notify(
        "textDocument/didOpen",
        json!({ "textDocument": text("class A = ()( a = ( ^ [ 'open ) )") }),
    )?;
    let mistakes = server.published()?;
    expect(!mistakes.is_empty(), "a broken text has no mistakes")?;
    server.notify(
        "textDocument/didOpen",
        json!({ "textDocument": text("class A = ()( a = ( ^ 1 println ) )") }),
    )?;
    let mistakes = server.published()?;
    expect(mistakes.is_empty(), &format!("{mistakes:?}"))?;
    let place = json!({ "textDocument": { "uri": "untitled:new" }, "position": { "line": 0, "character": 26 } });
    let places = server.ask("textDocument/definition", place)?;
    let uri = places[0]["uri"].as_str().unwrap_or_default();
    let path = uri.strip_prefix("file://").ok_or(format!("no file: {places}"))?;
    let library = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    expect(library.contains("public println"), "the file has another text")?;
    server.ask("shutdown", Value::Null)?;
    server.notify("exit", Value::Null)?;
    server.end()
}

/// A message that a dependency understands leads to its text.
fn packages() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let packages = crate::root().canonicalize().map_err(|error| error.to_string())?;
    let packages = packages.join("examples/packages");
    let root = format!("file://{}", packages.join("tour").display());
    let mut server = Server::start(&folder.path().join("cache"))?;
    server.ask("initialize", json!({ "capabilities": {}, "rootUri": root }))?;
    server.notify("initialized", json!({}))?;
    let found = server.ask("workspace/symbol", json!({ "query": "passing:" }))?;
    let uri = found[0]["location"]["uri"].as_str().unwrap_or_default();
    let wanted = format!("file://{}", packages.join("phrases").display());
    expect(uri.starts_with(&wanted), &format!("it is in {uri}"))?;
    server.ask("shutdown", Value::Null)?;
    server.notify("exit", Value::Null)?;
    server.end()
}

/// An editor that is gone says nothing.
fn end_of_input() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut server = Server::start(folder.path())?;
    server.ask("initialize", json!({ "capabilities": {} }))?;
    server.notify("initialized", json!({}))?;
    server.end()
}

fn expect(is_so: bool, otherwise: &str) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(otherwise.to_owned()) }
}

struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Server {
    fn start(cache: &std::path::Path) -> Result<Server, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command.args(["lsp", "--stdio"]).env("XDG_CACHE_HOME", cache);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        Ok(Server { child, input, output, requests: 0 })
    }

    fn write(&mut self, message: &Value) -> Result<(), String> {
        let text = message.to_string();
        let input = self.input.as_mut().ok_or("the input is closed")?;
        let written = write!(input, "Content-Length: {}\r\n\r\n{text}", text.len());
        written.and_then(|()| input.flush()).map_err(|error| error.to_string())
    }

    fn notify(&mut self, method: &str, parameters: Value) -> Result<(), String> {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }))
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.requests += 1;
        let id = self.requests;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        loop {
            let mut message = self.read()?;
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(format!("{method}: {error}")),
                    None => Ok(message["result"].take()),
                };
            }
        }
    }

    /// The mistakes that are published next.
    fn published(&mut self) -> Result<Vec<Value>, String> {
        loop {
            let message = self.read()?;
            if message["method"] == "textDocument/publishDiagnostics" {
                return Ok(message["params"]["diagnostics"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default());
            }
        }
    }

    fn read(&mut self) -> Result<Value, String> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            let count = self.output.read_line(&mut line).map_err(|error| error.to_string())?;
            expect(count > 0, "the output has ended")?;
            match line.trim() {
                "" => break,
                header => {
                    let value = header.strip_prefix("Content-Length: ");
                    length = value.and_then(|value| value.parse().ok()).unwrap_or(length);
                }
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).map_err(|error| error.to_string())?;
        serde_json::from_slice(&text).map_err(|error| error.to_string())
    }

    /// Closes the input and waits for the end.
    fn end(mut self) -> Result<(), String> {
        drop(self.input.take());
        let status = self.child.wait().map_err(|error| error.to_string())?;
        expect(status.success(), &format!("it ended with {status}"))
    }
}
