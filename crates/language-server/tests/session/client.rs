//! A client in the same process: it sends messages to a server on another thread, and shows the answers in short.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use squall_language_server::{Host, serve};
use squall_newspeak::{Library, Source, check, parse};

/// The library as the build of the command knows it.
pub struct Texts {
    modules: HashMap<String, &'static str>,
    library: Library,
}

pub fn texts() -> &'static Texts {
    static TEXTS: OnceLock<Texts> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib");
        let paths = folder
            .read_dir()
            .expect("the library is there")
            .filter_map(|entry| Some(entry.ok()?.path()));
        let paths =
            paths.filter(|path| path.extension().is_some_and(|extension| extension == "ns"));
        let text = |path: PathBuf| {
            let text: &'static str = std::fs::read_to_string(&path).expect("it is text").leak();
            (path.file_stem().expect("it has a name").to_string_lossy().into_owned(), text)
        };
        let modules: HashMap<String, &'static str> = paths.map(text).collect();
        let trees: Vec<_> =
            modules.values().filter_map(|text| parse(&Source::new("lib", *text)).ast).collect();
        let mut library = Library::default();
        for _ in 0..3 {
            let outlines = trees.iter().flat_map(|tree| check::outlines(tree, &library));
            library = Library::new(outlines.collect());
        }
        Texts { modules, library }
    })
}

impl Texts {
    pub fn modules(&self) -> Vec<(&str, &str)> {
        let mut modules: Vec<_> =
            self.modules.iter().map(|(name, text)| (&**name, *text)).collect();
        modules.sort_unstable();
        modules
    }
}

/// A command with some files.
#[derive(Default)]
pub struct Files(pub HashMap<PathBuf, String>);

impl Host for Files {
    fn programs_below(&self, folder: &Path) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            self.0.keys().filter(|path| path.starts_with(folder)).cloned().collect();
        paths.sort();
        paths
    }

    /// All folders in `/packages`.
    fn packages_of(&self, _: &Path) -> Vec<PathBuf> {
        let below = self.0.keys().filter(|path| path.starts_with("/packages"));
        below.filter_map(|path| path.parent().map(Path::to_owned)).collect()
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        self.0.get(path).map(|text| text.clone().into_bytes())
    }

    fn library(&self) -> &Library {
        &texts().library
    }

    fn library_text(&self, module: &str) -> Option<&str> {
        texts().modules.get(module).copied()
    }

    fn library_file(&self, module: &str) -> Option<PathBuf> {
        Some(PathBuf::from(format!("/library/{module}.ns")))
    }
}

/// A client with an open connection.
pub struct Client {
    connection: Connection,
    server: Option<std::thread::JoinHandle<()>>,
    requests: i32,
    versions: HashMap<String, i32>,
    pub texts: HashMap<String, String>,
}

impl Client {
    /// A client that has opened a folder with these files; absolute paths are those of others.
    pub fn new(files: &[(&str, &str)]) -> Client {
        let (connection, other) = Connection::memory();
        let path = |name: &str| Path::new("/project").join(name);
        let files: HashMap<_, _> =
            files.iter().map(|(name, text)| (path(name), (*text).to_owned())).collect();
        let texts = files.iter().map(|(path, text)| (uri(path), text.clone())).collect();
        let server = std::thread::spawn(move || {
            serve(&other, &Files(files)).expect("the client keeps the protocol");
        });
        let versions = HashMap::new();
        let mut client = Client { connection, server: Some(server), requests: 0, versions, texts };
        let capabilities = json!({ "textDocument": { "completion": { "completionItem": { "snippetSupport": true } } } });
        let folders = json!([{ "uri": "file:///project", "name": "project" }]);
        client.request(
            "initialize",
            json!({ "capabilities": capabilities, "workspaceFolders": folders }),
        );
        client.notify("initialized", json!({}));
        client
    }

    pub fn notify(&self, method: &str, parameters: Value) {
        let notification = Notification::new(method.to_owned(), parameters);
        self.connection
            .sender
            .send(Message::Notification(notification))
            .expect("the server listens");
    }

    /// Sends a request and waits for its answer: the result, or the error's message.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        let request = Request::new(id.clone(), method.to_owned(), parameters);
        self.connection.sender.send(Message::Request(request)).expect("the server listens");
        loop {
            match self.connection.receiver.recv().expect("the server answers") {
                Message::Response(response) if response.id == id => {
                    let response = serde_json::to_value(response).expect("it is JSON");
                    return match response.get("error") {
                        Some(error) => {
                            Err(error["message"].as_str().unwrap_or_default().to_owned())
                        }
                        None => Ok(response.get("result").cloned().unwrap_or(Value::Null)),
                    };
                }
                _ => {}
            }
        }
    }

    pub fn request(&mut self, method: &str, parameters: Value) -> Value {
        self.ask(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Opens a text, or replaces it as a whole.
    pub fn open(&mut self, name: &str, text: &str) {
        let uri = address(name);
        let version = self.versions.entry(uri.clone()).or_insert(0);
        *version += 1;
        let document =
            json!({ "uri": uri, "languageId": "newspeak", "version": *version, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.texts.insert(uri, text.to_owned());
    }

    /// Replaces a part of an open text.
    pub fn change(&mut self, name: &str, part: std::ops::Range<usize>, new: &str) {
        let uri = address(name);
        let text = self.texts.get_mut(&uri).expect("it is open");
        let range = json!({ "start": position(text, part.start), "end": position(text, part.end) });
        text.replace_range(part, new);
        let version = self.versions.entry(uri.clone()).or_insert(0);
        *version += 1;
        let document = json!({ "uri": uri, "version": *version });
        let change = json!({ "range": range, "text": new });
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [change] }),
        );
    }

    /// Waits for the mistakes in a text.
    pub fn mistakes(&mut self, name: &str) -> Vec<Value> {
        let uri = address(name);
        loop {
            let message = self.connection.receiver.recv().expect("the server publishes mistakes");
            let Message::Notification(Notification { method, params }) = message else { continue };
            if method == "textDocument/publishDiagnostics" && params["uri"] == *uri {
                return params["diagnostics"].as_array().cloned().unwrap_or_default();
            }
        }
    }

    /// The parameters of a request about the place of a word: the n-th one, counted from 1.
    pub fn place(&self, name: &str, word: &str, number: usize) -> Value {
        let uri = address(name);
        let text = &self.texts[&uri];
        let (offset, _) = text.match_indices(word).nth(number - 1).expect("the word is there");
        json!({ "textDocument": { "uri": uri }, "position": position(text, offset) })
    }

    /// The same at the end of the word.
    pub fn end(&self, name: &str, word: &str, number: usize) -> Value {
        let mut place = self.place(name, word, number);
        let units = word.encode_utf16().count() as u64;
        place["position"]["character"] =
            (place["position"]["character"].as_u64().unwrap_or(0) + units).into();
        place
    }

    /// A range as the text in it, with its line.
    pub fn shown(&self, uri: &Value, range: &Value) -> String {
        let uri = uri.as_str().unwrap_or_default();
        let line = range["start"]["line"].as_u64().unwrap_or(0) + 1;
        let name = uri.rsplit('/').next().unwrap_or_default();
        match self.texts.get(uri) {
            Some(text) => {
                let start = offset(text, &range["start"]);
                let end = offset(text, &range["end"]);
                format!("{name}:{line} {:?}", &text[start..end])
            }
            None => name.to_owned(),
        }
    }

    /// Locations, one a line.
    pub fn locations(&self, answer: &Value) -> String {
        let locations = answer.as_array().cloned().unwrap_or_default();
        let mut lines: Vec<String> =
            locations.iter().map(|one| self.shown(&one["uri"], &one["range"]) + "\n").collect();
        lines.sort();
        lines.concat()
    }

    /// The texts after an edit of the workspace.
    pub fn edited(&self, edit: &Value) -> HashMap<String, String> {
        let mut texts = self.texts.clone();
        for (uri, edits) in edit["changes"].as_object().into_iter().flatten() {
            let edited = applied(&texts[uri], edits);
            texts.insert(uri.clone(), edited);
        }
        texts
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        if let Some(server) = self.server.take() {
            server.join().expect("the server ends well");
        }
    }
}

/// A text after some edits.
pub fn applied(text: &str, edits: &Value) -> String {
    let mut edits: Vec<(usize, usize, &str)> = edits
        .as_array()
        .into_iter()
        .flatten()
        .map(|edit| {
            let place = |end: &str| offset(text, &edit["range"][end]);
            (place("start"), place("end"), edit["newText"].as_str().expect("it is text"))
        })
        .collect();
    edits.sort_unstable();
    let mut text = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        text.replace_range(start..end, new);
    }
    text
}

pub fn address(name: &str) -> String {
    uri(&PathBuf::from(format!("/project/{name}")))
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

pub fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    json!({ "line": before.matches('\n').count(), "character": before[start..].encode_utf16().count() })
}

fn offset(text: &str, position: &Value) -> usize {
    let number = |name: &str| position[name].as_u64().expect("a place has numbers") as usize;
    let lines: Vec<&str> = text.split('\n').collect();
    let before: usize = lines[..number("line")].iter().map(|line| line.len() + 1).sum();
    let mut units = number("character");
    let line = lines[number("line")];
    let length = line.chars().take_while(|letter| {
        let fits = units > 0;
        units = units.saturating_sub(letter.len_utf16());
        fits
    });
    before + length.map(char::len_utf8).sum::<usize>()
}
