//! Descriptions for clients that show no Markdown. The server's loop calls this module for the answers that contain
//! descriptions.
//!
//! The requests write Markdown. A client may say for each kind of description which forms it shows. If it names forms, and
//! Markdown is not one of them, it gets plain text; if it names none, it gets Markdown, which such clients know.

use lsp_types::request::{Completion, HoverRequest, Request as _, SignatureHelpRequest};
use lsp_types::{InitializeParams, MarkupKind};
use serde_json::{Value, json};

/// The requests whose answers are to be plain.
pub struct Plain {
    methods: Vec<&'static str>,
}

impl Plain {
    pub fn new(parameters: &InitializeParams) -> Plain {
        let text = parameters.capabilities.text_document.as_ref();
        let hover = text.and_then(|text| text.hover.as_ref());
        let hover = hover.and_then(|hover| hover.content_format.as_ref());
        let item = text.and_then(|text| text.completion.as_ref());
        let item = item.and_then(|completion| completion.completion_item.as_ref());
        let item = item.and_then(|item| item.documentation_format.as_ref());
        let signature = text.and_then(|text| text.signature_help.as_ref());
        let signature = signature.and_then(|help| help.signature_information.as_ref());
        let signature = signature.and_then(|help| help.documentation_format.as_ref());
        let forms = [
            (HoverRequest::METHOD, hover),
            (Completion::METHOD, item),
            (SignatureHelpRequest::METHOD, signature),
        ];
        let is_plain = |forms: &Vec<MarkupKind>| !forms.contains(&MarkupKind::Markdown);
        let plain = forms.into_iter().filter(|(_, forms)| forms.is_some_and(is_plain));
        Plain { methods: plain.map(|(method, _)| method).collect() }
    }

    /// The answer to a request, in the form that the client shows.
    pub fn shown(&self, method: &str, mut answer: Value) -> Value {
        if self.methods.contains(&method) {
            make_plain(&mut answer);
        }
        answer
    }
}

/// Replaces all Markdown in an answer.
fn make_plain(answer: &mut Value) {
    match answer {
        Value::Array(parts) => parts.iter_mut().for_each(make_plain),
        Value::Object(parts) if parts.get("kind") == Some(&json!("markdown")) => {
            let text = parts.get("value").and_then(Value::as_str).map(text_of).unwrap_or_default();
            *answer = json!({ "kind": "plaintext", "value": text });
        }
        Value::Object(parts) => parts.values_mut().for_each(make_plain),
        _ => {}
    }
}

/// The text of a description: without the marks around code, and without those of emphasis around a line.
fn text_of(markdown: &str) -> String {
    let is_fence = |line: &&str| line.trim_start().starts_with("```");
    let lines = markdown.lines().filter(|line| !is_fence(line)).map(|line| {
        let inner = line.strip_prefix('*').and_then(|line| line.strip_suffix('*'));
        inner.filter(|inner| !inner.is_empty() && !inner.contains('*')).unwrap_or(line)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(capabilities: Value) -> Value {
        let parameters = json!({ "capabilities": capabilities });
        let parameters = serde_json::from_value(parameters).expect("they are parameters");
        let text = "```newspeak\npublic a * b\n```\n*in A*\n\nMultiplies `a`.\n\n* an *item*";
        let answer = json!({ "contents": { "kind": "markdown", "value": text } });
        Plain::new(&parameters).shown(HoverRequest::METHOD, answer)["contents"].take()
    }

    #[test]
    fn clients_get_what_they_show() {
        let hover =
            |forms: Value| json!({ "textDocument": { "hover": { "contentFormat": forms } } });
        let plain = "public a * b\nin A\n\nMultiplies `a`.\n\n* an *item*";
        let expected = json!({ "kind": "plaintext", "value": plain });
        assert_eq!(shown(hover(json!(["plaintext"]))), expected);
        assert_eq!(shown(hover(json!(["plaintext", "markdown"])))["kind"], "markdown");
        assert_eq!(shown(json!({}))["kind"], "markdown");
    }
}
