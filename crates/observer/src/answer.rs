//! What is sent back for a request: a status, and content that does nothing in a browser unless its policy says so.
//! [`crate::server`] writes it; the modules that answer make it.

use serde_json::{Value as Json, json};

/// An error: its status, and the reason.
pub type Problem = (u16, String);

/// What is sent back.
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// The type of the content.
    pub kind: &'static str,
    /// What the content may do in a browser.
    pub policy: String,
    /// The method that there is instead, if the request's is not allowed.
    pub allowed: Option<&'static str>,
    /// The content.
    pub body: Vec<u8>,
}

/// The policy for content that does nothing.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

impl Answer {
    /// An error, as JSON.
    pub fn error(status: u16, reason: &str) -> Answer {
        Answer::json(status, &json!({ "error": reason }))
    }

    /// The method of the request is none here; this one is.
    pub fn not_allowed(allowed: &'static str, reason: &str) -> Answer {
        Answer { allowed: Some(allowed), ..Answer::error(405, reason) }
    }

    /// JSON with a status.
    pub fn json(status: u16, json: &Json) -> Answer {
        Answer::text(status, "application/json", format!("{json}\n"))
    }

    /// A text with a status.
    pub fn text(status: u16, kind: &'static str, text: String) -> Answer {
        let policy = NOTHING.to_owned();
        Answer { status, kind, policy, allowed: None, body: text.into_bytes() }
    }
}

/// The phrase for a status.
pub fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}
