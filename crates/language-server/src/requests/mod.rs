//! The requests of clients, by topic. The server's loop calls them. Each is a function of the workspace and of the
//! request's parameters; none changes anything.

pub mod actions;
pub mod assembly;
pub mod calls;
pub mod completion;
pub mod diagnostics;
pub mod highlighting;
pub mod hover;
pub mod layout;
pub mod navigation;
pub mod plain;
pub mod structure;
pub mod symbols;
