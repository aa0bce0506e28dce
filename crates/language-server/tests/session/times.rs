//! How long answers take in a large project, one text of which is being written. Prints the greatest of several times, for
//! docs/performance.md; nothing is compared.
//!
//! `SQUALL_TIMES=50000 cargo test --release -p squall-language-server times -- --nocapture` makes a project of that many
//! lines.

use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Client, address, position, texts};

/// The number of times that each request is made.
const TIMES: usize = 15;

#[test]
fn times_in_a_large_project() {
    let Some(lines) =
        std::env::var("SQUALL_TIMES").ok().and_then(|lines| lines.parse::<usize>().ok())
    else {
        return;
    };
    let project = project(lines);
    let files: Vec<(&str, &str)> = project.iter().map(|(name, text)| (&**name, &**text)).collect();
    let begin = Instant::now();
    let mut client = Client::new(&files);
    client.request("workspace/symbol", json!({ "query": "nothing of this name" }));
    println!("{} files, {lines} lines: known after {:.0?}", files.len(), begin.elapsed());
    let is_large = |file: &&(&str, &str)| file.0.starts_with("Collections");
    let &(name, text) = files.iter().find(is_large).expect("the library has it");
    client.open(name, text);
    client.mistakes(name);
    let place = text.find("collection do:").expect("a text of the library has a loop");
    let place = position(text, place + "collection d".len());
    let at = json!({ "textDocument": { "uri": address(name) }, "position": place });
    let with = |key: &str, value: Value| {
        let mut parameters = at.clone();
        parameters[key] = value;
        parameters
    };
    let range =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 200, "character": 0 } });
    let context = json!({ "diagnostics": [], "includeDeclaration": true });
    let mut part = with("range", range);
    part["context"] = context.clone();
    let requests = [
        ("textDocument/completion", at.clone()),
        ("textDocument/hover", at.clone()),
        ("textDocument/definition", at.clone()),
        ("textDocument/implementation", at.clone()),
        ("textDocument/references", with("context", context)),
        ("textDocument/rename", with("newName", "other".into())),
        ("textDocument/signatureHelp", at.clone()),
        ("textDocument/documentHighlight", at.clone()),
        ("textDocument/prepareCallHierarchy", at.clone()),
        ("textDocument/documentSymbol", at.clone()),
        ("textDocument/semanticTokens/full", at.clone()),
        ("textDocument/foldingRange", at.clone()),
        ("textDocument/selectionRange", with("positions", json!([place]))),
        ("textDocument/inlayHint", part.clone()),
        ("textDocument/codeAction", part),
        ("textDocument/formatting", with("options", json!({ "tabSize": 2, "insertSpaces": true }))),
        ("workspace/symbol", json!({ "query": "size" })),
    ];
    for (method, parameters) in requests {
        let time = |_: usize| {
            let begin = Instant::now();
            // A name of the library has no other name; the refusal takes as long.
            _ = client.ask(method, parameters.clone());
            begin.elapsed()
        };
        println!("{method}: {:.1?}", (0..TIMES).map(time).max().unwrap_or_default());
    }
    let change = |_: usize| {
        let begin = Instant::now();
        client.change(name, 0..0, " ");
        client.mistakes(name);
        begin.elapsed()
    };
    println!("mistakes after a change: {:.1?}", (0..TIMES).map(change).max().unwrap_or_default());
}

/// The library's texts, each under several names, until there are so many lines.
fn project(lines: usize) -> Vec<(String, String)> {
    let modules = texts().modules();
    let (mut project, mut count) = (Vec::new(), 0);
    for round in 0.. {
        for (name, text) in &modules {
            if count >= lines {
                return project;
            }
            count += text.lines().count();
            project.push((format!("{name}{round}.ns"), (*text).to_owned()));
        }
    }
    project
}
