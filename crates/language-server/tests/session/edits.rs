//! Random edits of the library's texts: the server answers every request after each edit, and knows the text as a
//! server that has opened it anew.
//!
//! `SQUALL_EDITS=N` sets the number of edits.

use serde_json::{Value, json};

use crate::client::{Client, address, position, texts};

/// Requests about a place.
const AT: [&str; 7] = [
    "completion",
    "hover",
    "definition",
    "signatureHelp",
    "documentHighlight",
    "prepareRename",
    "prepareCallHierarchy",
];

/// Requests about a whole text.
const OF: [&str; 3] = ["documentSymbol", "foldingRange", "semanticTokens/full"];

#[test]
fn random_edits_do_no_harm() {
    let edits =
        std::env::var("SQUALL_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(150);
    let modules = texts().modules();
    let mut random = Random(7);
    let mut client = Client::new(&[]);
    let mut fresh = Client::new(&[]);
    let mut number = 0;
    while number < edits {
        let (_, text) = modules[random.below(modules.len())];
        client.open("edited.ns", text);
        for _ in 0..random.below(20) + 1 {
            number += 1;
            let text = client.texts[&address("edited.ns")].clone();
            let (part, new) = edit(&mut random, &text);
            client.change("edited.ns", part.clone(), &new);
            let place = position(&client.texts[&address("edited.ns")], part.start);
            ask(&mut client, &mut random, &place);
        }
        let text = client.texts[&address("edited.ns")].clone();
        fresh.open("edited.ns", &text);
        for request in OF {
            let parameters = json!({ "textDocument": { "uri": address("edited.ns") } });
            let [one, other] = [&mut client, &mut fresh].map(|client| {
                client.request(&format!("textDocument/{request}"), parameters.clone())
            });
            assert_eq!(one, other, "{request} after edit {number} of\n{text}");
        }
    }
}

/// Some of the requests, at the place of an edit.
fn ask(client: &mut Client, random: &mut Random, place: &Value) {
    let text = json!({ "uri": address("edited.ns") });
    let at = AT[random.below(AT.len())];
    client
        .request(&format!("textDocument/{at}"), json!({ "textDocument": text, "position": place }));
    let of = OF[random.below(OF.len())];
    client.request(&format!("textDocument/{of}"), json!({ "textDocument": text }));
    if random.below(4) == 0 {
        let range = json!({ "start": place, "end": place });
        let context = json!({ "diagnostics": [] });
        let parameters = json!({ "textDocument": text, "range": range, "context": context });
        client.request("textDocument/codeAction", parameters.clone());
        client.request("textDocument/inlayHint", parameters);
        client.request(
            "textDocument/selectionRange",
            json!({ "textDocument": text, "positions": [place] }),
        );
        let options = json!({ "tabSize": 2, "insertSpaces": true });
        client.request(
            "textDocument/formatting",
            json!({ "textDocument": text, "options": options }),
        );
    }
}

/// A part of a text and what replaces it: letters, brackets, stretches removed or doubled.
fn edit(random: &mut Random, text: &str) -> (std::ops::Range<usize>, String) {
    const PIECES: [&str; 16] = [
        "(",
        ")",
        "[",
        "]",
        "'",
        "\"",
        "(*",
        "*)",
        ".",
        " foo ",
        "foo: ",
        "|",
        "::= ",
        "^",
        "𝄞",
        "class A = ()()",
    ];
    let place = |random: &mut Random, text: &str| {
        let mut place = random.below(text.len() + 1);
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        place
    };
    let start = place(random, text);
    let end = (start + random.below(30)).min(text.len());
    let end = (end..=text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len());
    match random.below(4) {
        0 => (start..end, String::new()),
        1 => (start..start, text[start..end].to_owned()),
        2 => (start..end, PIECES[random.below(PIECES.len())].to_owned()),
        _ => (start..start, PIECES[random.below(PIECES.len())].to_owned()),
    }
}

/// A generator of numbers: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % limit as u64) as usize
    }
}
