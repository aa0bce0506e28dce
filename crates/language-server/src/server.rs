//! The loop over the client's messages. `squall lsp` runs it by [`serve`]. Requests are answered one after the other,
//! in their order; mistakes are published when no message waits.

use std::collections::BTreeSet;
use std::path::PathBuf;

use lsp_server::{
    Connection, ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response,
};
use lsp_types::notification::{
    DidChangeTextDocument, DidChangeWatchedFiles, DidChangeWorkspaceFolders, DidCloseTextDocument,
    DidOpenTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{self, Request as _};
use lsp_types::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::document::{Document, Language};
use crate::host::Host;
use crate::requests::{
    actions, assembly, calls, completion, diagnostics, highlighting, hover, layout, navigation,
    plain::Plain, structure, symbols,
};
use crate::text;
use crate::workspace::Workspace;

/// Serves a client until it says goodbye.
pub fn serve(connection: &Connection, host: &dyn Host) -> Result<(), ProtocolError> {
    let (id, parameters) = connection.initialize_start()?;
    let parameters: InitializeParams = serde_json::from_value(parameters).unwrap_or_default();
    let result = InitializeResult {
        capabilities: capabilities(),
        server_info: Some(ServerInfo {
            name: "squall".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    };
    let result = serde_json::to_value(result).unwrap_or(Value::Null);
    connection.initialize_finish(id, result)?;
    let mut server = Server {
        connection,
        workspace: Workspace::new(host),
        unchecked: BTreeSet::new(),
        has_snippets: has_snippets(&parameters),
        plain: Plain::new(&parameters),
    };
    server.watch_files(&parameters);
    folders(&parameters).iter().for_each(|folder| server.workspace.add_folder(folder));
    server.run()
}

fn capabilities() -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        ..TextDocumentSyncOptions::default()
    };
    let letters =
        |letters: &[&str]| Some(letters.iter().map(|letter| (*letter).to_owned()).collect());
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::UTF16),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: letters(&[" "]),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: letters(&[":", " "]),
            ..SignatureHelpOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        implementation_provider: Some(ImplementationProviderCapability::Simple(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        selection_range_provider: Some(SelectionRangeProviderCapability::Simple(true)),
        call_hierarchy_provider: Some(CallHierarchyServerCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: highlighting::legend(),
                range: Some(true),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                work_done_progress_options: WorkDoneProgressOptions::default(),
            }
            .into(),
        ),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

fn has_snippets(parameters: &InitializeParams) -> bool {
    let completion =
        parameters.capabilities.text_document.as_ref().and_then(|text| text.completion.as_ref());
    let item = completion.and_then(|completion| completion.completion_item.as_ref());
    item.and_then(|item| item.snippet_support) == Some(true)
}

/// The folders that the client has opened.
#[allow(deprecated, reason = "older clients name one folder only, by a field that is deprecated")]
fn folders(parameters: &InitializeParams) -> Vec<PathBuf> {
    let folders = parameters.workspace_folders.iter().flatten().map(|folder| &folder.uri);
    let folders: Vec<PathBuf> = folders.filter_map(text::path_of).collect();
    match folders.is_empty() {
        true => parameters.root_uri.iter().filter_map(text::path_of).collect(),
        false => folders,
    }
}

/// The files that say on which packages programs depend.
const MANIFESTS: [&str; 2] = ["squall.toml", "squall.lock"];

struct Server<'h> {
    connection: &'h Connection,
    workspace: Workspace<'h>,
    /// The addresses of texts whose mistakes the client does not know yet.
    unchecked: BTreeSet<String>,
    has_snippets: bool,
    plain: Plain,
}

/// The reason why a request has no answer.
struct Refused {
    code: ErrorCode,
    message: String,
}

type Answer = Result<Value, Refused>;

impl Server<'_> {
    fn run(&mut self) -> Result<(), ProtocolError> {
        loop {
            let message = match self.connection.receiver.try_recv() {
                Ok(message) => message,
                Err(_) if self.publish_one() => continue,
                // Nothing waits: the next message, or the end of the connection.
                Err(_) => match self.connection.receiver.recv() {
                    Ok(message) => message,
                    Err(_) => return Ok(()),
                },
            };
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    let response = self.response(request);
                    self.send(Message::Response(response));
                }
                Message::Notification(notification) => self.notified(notification),
                Message::Response(_) => {}
            }
        }
    }

    fn send(&self, message: Message) {
        // The client may be gone; then the next read ends the loop.
        _ = self.connection.sender.send(message);
    }

    /// Asks the client to say when files of programs, or manifests, change.
    fn watch_files(&self, parameters: &InitializeParams) {
        let workspace = parameters.capabilities.workspace.as_ref();
        let watching = workspace.and_then(|workspace| workspace.did_change_watched_files);
        if watching.and_then(|watching| watching.dynamic_registration) != Some(true) {
            return;
        }
        let watcher = FileSystemWatcher {
            glob_pattern: GlobPattern::String(
                "**/{*.ns,*.sqasm,squall.toml,squall.lock}".to_owned(),
            ),
            kind: None,
        };
        let options = DidChangeWatchedFilesRegistrationOptions { watchers: vec![watcher] };
        let registration = Registration {
            id: "files".to_owned(),
            method: DidChangeWatchedFiles::METHOD.to_owned(),
            register_options: serde_json::to_value(options).ok(),
        };
        let parameters = RegistrationParams { registrations: vec![registration] };
        let id = RequestId::from("files".to_owned());
        let method = request::RegisterCapability::METHOD.to_owned();
        self.send(Message::Request(Request::new(id, method, parameters)));
    }

    // Mistakes

    /// Publishes the mistakes in one text that has changed. Answers whether there was one.
    fn publish_one(&mut self) -> bool {
        let Some(address) = self.unchecked.pop_first() else { return false };
        if let Some(document) = self.workspace.documents.get(&address)
            && document.version.is_some()
        {
            let mistakes = diagnostics::published(&self.workspace, document);
            self.publish(document.uri.clone(), mistakes, document.version);
        }
        true
    }

    fn publish(&self, uri: Uri, diagnostics: Vec<Diagnostic>, version: Option<i32>) {
        let parameters = PublishDiagnosticsParams { uri, diagnostics, version };
        let method = PublishDiagnostics::METHOD.to_owned();
        self.send(Message::Notification(Notification::new(method, parameters)));
    }

    // Notifications

    fn notified(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        match &*method {
            DidOpenTextDocument::METHOD => {
                let Some(DidOpenTextDocumentParams { text_document }) = read(params) else {
                    return;
                };
                let TextDocumentItem { uri, version, text, .. } = text_document;
                self.changed(&uri, version, text);
            }
            DidChangeTextDocument::METHOD => {
                let Some(DidChangeTextDocumentParams { text_document, content_changes }) =
                    read(params)
                else {
                    return;
                };
                let VersionedTextDocumentIdentifier { uri, version } = text_document;
                let Some(document) = self.workspace.document(&uri) else { return };
                let text = text::changed(document.source.text(), content_changes);
                self.changed(&uri, version, text);
            }
            DidCloseTextDocument::METHOD => {
                let Some(DidCloseTextDocumentParams { text_document }) = read(params) else {
                    return;
                };
                self.workspace.close(&text_document.uri);
                self.unchecked.remove(text_document.uri.as_str());
                self.publish(text_document.uri, Vec::new(), None);
            }
            DidChangeWatchedFiles::METHOD => {
                let Some(DidChangeWatchedFilesParams { changes }) = read(params) else { return };
                let paths = changes.iter().filter_map(|change| text::path_of(&change.uri));
                let (manifests, programs): (Vec<_>, Vec<_>) =
                    paths.partition(|path| MANIFESTS.iter().any(|name| path.ends_with(name)));
                programs.iter().for_each(|path| self.workspace.read(path));
                if !manifests.is_empty() {
                    self.workspace.read_packages();
                }
            }
            DidChangeWorkspaceFolders::METHOD => {
                let Some(DidChangeWorkspaceFoldersParams { event }) = read(params) else { return };
                let removed = event.removed.iter().filter_map(|folder| text::path_of(&folder.uri));
                removed.for_each(|folder| self.workspace.remove_folder(&folder));
                let added = event.added.iter().filter_map(|folder| text::path_of(&folder.uri));
                added.for_each(|folder| self.workspace.add_folder(&folder));
            }
            _ => {}
        }
    }

    fn changed(&mut self, uri: &Uri, version: i32, text: String) {
        self.workspace.open(uri, version, text);
        self.unchecked.insert(uri.as_str().to_owned());
    }

    // Requests

    fn response(&self, request: Request) -> Response {
        let Request { id, method, params, .. } = request;
        match self.answer(&method, params) {
            Ok(result) => Response::new_ok(id, self.plain.shown(&method, result)),
            Err(Refused { code, message }) => Response::new_err(id, code as i32, message),
        }
    }

    fn answer(&self, method: &str, parameters: Value) -> Answer {
        match method {
            request::WorkspaceSymbolRequest::METHOD => {
                let WorkspaceSymbolParams { query, .. } = parsed(parameters)?;
                answered(symbols::search(&self.workspace, &query))
            }
            request::CallHierarchyIncomingCalls::METHOD => {
                let CallHierarchyIncomingCallsParams { item, .. } = parsed(parameters)?;
                answered(calls::incoming(&self.workspace, &item))
            }
            request::CallHierarchyOutgoingCalls::METHOD => {
                let CallHierarchyOutgoingCallsParams { item, .. } = parsed(parameters)?;
                answered(calls::outgoing(&self.workspace, &item))
            }
            _ => self.about_place(method, parameters),
        }
    }

    /// Requests about a position in a text.
    fn about_place(&self, method: &str, parameters: Value) -> Answer {
        match method {
            request::Completion::METHOD => self.at(parameters, |document, position| {
                if document.language == Language::Assembly {
                    return answered(assembly::completion());
                }
                let found =
                    completion::complete(&self.workspace, document, position, self.has_snippets);
                let completion::Completion { items, is_incomplete } = found;
                answered(CompletionList { items, is_incomplete })
            }),
            request::HoverRequest::METHOD => self.at(parameters, |document, position| {
                answered(match document.language {
                    Language::Newspeak => hover::hover(&self.workspace, document, position),
                    Language::Assembly => assembly::hover(document, position),
                })
            }),
            request::SignatureHelpRequest::METHOD => self.at(parameters, |document, position| {
                answered(hover::signature(&self.workspace, document, position))
            }),
            request::GotoDefinition::METHOD => self.at(parameters, |document, position| {
                answered(match document.language {
                    Language::Newspeak => {
                        navigation::definition(&self.workspace, document, position)
                    }
                    Language::Assembly => assembly::definition(document, position),
                })
            }),
            request::GotoImplementation::METHOD => self.at(parameters, |document, position| {
                answered(navigation::implementation(&self.workspace, document, position))
            }),
            request::DocumentHighlightRequest::METHOD => self
                .at(parameters, |document, position| {
                    answered(navigation::highlights(document, position))
                }),
            request::PrepareRenameRequest::METHOD => self.at(parameters, |document, position| {
                answered(navigation::renameable(&self.workspace, document, position))
            }),
            request::CallHierarchyPrepare::METHOD => self.at(parameters, |document, position| {
                answered(calls::prepare(&self.workspace, document, position))
            }),
            _ => self.about_name(method, parameters),
        }
    }

    /// Requests about a position in a text, with further parameters.
    fn about_name(&self, method: &str, parameters: Value) -> Answer {
        match method {
            request::References::METHOD => {
                let context: ReferenceParams = parsed(parameters.clone())?;
                let with_declaration = context.context.include_declaration;
                self.at(parameters, |document, position| {
                    answered(navigation::references(
                        &self.workspace,
                        document,
                        position,
                        with_declaration,
                    ))
                })
            }
            request::Rename::METHOD => {
                let RenameParams { new_name, .. } = parsed(parameters.clone())?;
                self.at(parameters, |document, position| {
                    let edit = navigation::rename(&self.workspace, document, position, &new_name);
                    let refused = |message| Refused { code: ErrorCode::RequestFailed, message };
                    edit.map_err(refused).and_then(answered)
                })
            }
            _ => self.about_text(method, parameters),
        }
    }

    /// Requests about a text or a part of it.
    fn about_text(&self, method: &str, parameters: Value) -> Answer {
        match method {
            request::DocumentSymbolRequest::METHOD => self.of(parameters, |document| {
                answered(match document.language {
                    Language::Newspeak => symbols::outline(document),
                    Language::Assembly => assembly::outline(document),
                })
            }),
            request::FoldingRangeRequest::METHOD => {
                self.of(parameters, |document| answered(structure::folding(document)))
            }
            request::SelectionRangeRequest::METHOD => {
                let SelectionRangeParams { positions, .. } = parsed(parameters.clone())?;
                self.of(parameters, |document| {
                    answered(structure::selections(document, &positions))
                })
            }
            request::SemanticTokensFullRequest::METHOD => self.of(parameters, |document| {
                let data = highlighting::tokens(&self.workspace, document, None);
                answered(SemanticTokens { result_id: None, data })
            }),
            request::SemanticTokensRangeRequest::METHOD => {
                self.part(parameters, |document, part| {
                    let data = highlighting::tokens(&self.workspace, document, Some(part));
                    answered(SemanticTokens { result_id: None, data })
                })
            }
            request::InlayHintRequest::METHOD => self.part(parameters, |document, part| {
                answered(hover::hints(&self.workspace, document, part))
            }),
            request::CodeActionRequest::METHOD => self.part(parameters, |document, part| {
                answered(actions::actions(&self.workspace, document, part))
            }),
            request::Formatting::METHOD => {
                self.of(parameters, |document| answered(layout::whole(document)))
            }
            request::RangeFormatting::METHOD => {
                self.part(parameters, |document, part| answered(layout::part(document, part)))
            }
            _ => Err(Refused {
                code: ErrorCode::MethodNotFound,
                message: format!("this server has no {method}"),
            }),
        }
    }

    /// Answers a request about a text. A text that the server does not know has nothing.
    fn of(&self, parameters: Value, answer: impl FnOnce(&Document) -> Answer) -> Answer {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Text {
            text_document: TextDocumentIdentifier,
        }
        let Text { text_document } = parsed(parameters)?;
        self.workspace.document(&text_document.uri).map_or(Ok(Value::Null), answer)
    }

    fn at(&self, parameters: Value, answer: impl FnOnce(&Document, Position) -> Answer) -> Answer {
        let TextDocumentPositionParams { position, .. } = parsed(parameters.clone())?;
        self.of(parameters, |document| answer(document, position))
    }

    fn part(
        &self,
        parameters: Value,
        answer: impl FnOnce(&Document, squall_newspeak::Span) -> Answer,
    ) -> Answer {
        #[derive(serde::Deserialize)]
        struct Part {
            range: Range,
        }
        let Part { range } = parsed(parameters.clone())?;
        self.of(parameters, |document| answer(document, text::span(&document.source, range)))
    }
}

/// The parameters of a notification; none if they are malformed.
fn read<T: DeserializeOwned>(parameters: Value) -> Option<T> {
    serde_json::from_value(parameters).ok()
}

fn parsed<T: DeserializeOwned>(parameters: Value) -> Result<T, Refused> {
    let refused = |error: serde_json::Error| Refused {
        code: ErrorCode::InvalidParams,
        message: error.to_string(),
    };
    serde_json::from_value(parameters).map_err(refused)
}

fn answered(result: impl Serialize) -> Answer {
    let refused = |error: serde_json::Error| Refused {
        code: ErrorCode::InternalError,
        message: error.to_string(),
    };
    serde_json::to_value(result).map_err(refused)
}
