//! The page: its text, style and script, which are parts of the binary. [`crate::routes`] serves it.
//!
//! The page is one document without links, so that each request for a part of it needs no token of its own. The policy lets
//! this script and this style run and no others, and lets the page talk to its own server only.

use crate::answer::Answer;

const TEXT: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &[&str] = &[
    include_str!("../assets/base.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/graph.js"),
    include_str!("../assets/time.js"),
    include_str!("../assets/page.js"),
];

/// The page for a program.
pub fn page(program: &str) -> Answer {
    let mut bytes = [0; 16];
    // Without random bytes there is no nonce, and no browser runs the script.
    let nonce = match getrandom::fill(&mut bytes) {
        Ok(()) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
        Err(_) => return Answer::error(503, "the system gives no random bytes"),
    };
    let body = TEXT
        .replace("{nonce}", &nonce)
        .replace("{style}", STYLE)
        .replace("{script}", &SCRIPT.concat())
        .replace("{title}", &escaped(program));
    Answer {
        status: 200,
        kind: "text/html; charset=utf-8",
        policy: format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
             connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        ),
        allowed: None,
        body: body.into_bytes(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
