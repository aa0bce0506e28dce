//! The mistakes in a text, as `squall check` and `squall verify` find them. The server publishes them when no message
//! waits, and `actions` makes changes of their hints.

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location,
    NumberOrString,
};
use squall_newspeak::check::check;
use squall_newspeak::diagnostics::Code;
use squall_newspeak::lower::lower;
use squall_newspeak::{CompileOptions, Severity};

use super::assembly;
use crate::document::{Document, Language};
use crate::text;
use crate::workspace::Workspace;

/// The mistakes in a program, errors and warnings.
pub fn mistakes<'d>(
    workspace: &Workspace<'_>,
    document: &'d Document,
) -> &'d [squall_newspeak::Diagnostic] {
    document.checked.get_or_init(|| checked(workspace, document))
}

fn checked(workspace: &Workspace<'_>, document: &Document) -> Vec<squall_newspeak::Diagnostic> {
    let mut mistakes = document.mistakes.clone();
    let Some(ast) = document.ast.as_ref().filter(|_| !document.has_errors()) else {
        return mistakes;
    };
    // Texts of the library may use more than programs; they are compiled with the command.
    let options = CompileOptions { trusted: is_of_library(workspace, document) };
    match lower(ast, &document.source, &options) {
        Ok(_) => mistakes.extend(check(ast, &document.source, workspace.host.library())),
        Err(errors) => mistakes.extend(errors),
    }
    mistakes.sort_by_key(|mistake| mistake.span().start);
    mistakes
}

/// Whether the text is that of a module of the library.
fn is_of_library(workspace: &Workspace<'_>, document: &Document) -> bool {
    let name = document.uri.as_str().rsplit('/').next().and_then(|name| name.strip_suffix(".ns"));
    let in_lib = document.uri.as_str().contains("/lib/");
    in_lib && name.is_some_and(|name| workspace.host.library_text(name).is_some())
}

/// `textDocument/publishDiagnostics`.
pub fn published(workspace: &Workspace<'_>, document: &Document) -> Vec<Diagnostic> {
    match document.language {
        Language::Assembly => assembly::mistakes(&document.source),
        Language::Newspeak => mistakes(workspace, document)
            .iter()
            .map(|mistake| published_one(document, mistake))
            .collect(),
    }
}

/// A mistake in the protocol's form.
pub fn published_one(document: &Document, mistake: &squall_newspeak::Diagnostic) -> Diagnostic {
    let labels = mistake.labels.iter().skip(1).filter(|label| !label.text.is_empty());
    let related = labels.map(|label| DiagnosticRelatedInformation {
        location: Location {
            uri: document.uri.clone(),
            range: text::range(&document.source, label.span),
        },
        message: label.text.clone(),
    });
    let related: Vec<_> = related.collect();
    let mut message = mistake.message.clone();
    if !mistake.labels[0].text.is_empty() {
        message += &format!(" ({})", mistake.labels[0].text);
    }
    if let Some(hint) = &mistake.hint {
        message += &format!("\n{hint}");
    }
    Diagnostic {
        range: text::range(&document.source, mistake.span()),
        severity: Some(match mistake.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning if mistake.code.is_style() => DiagnosticSeverity::INFORMATION,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(mistake.code.name().to_owned())),
        source: Some("squall".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        tags: (mistake.code == Code::UnusedName).then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..Diagnostic::default()
    }
}
