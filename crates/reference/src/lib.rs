//! The pages that `squall doc` writes: the reference of the library and of modules of a user, in HTML, made of the
//! comments above classes and methods.
//!
//! It needs no virtual machine and opens no file: the command gives texts, and gets the files to write.
//!
//! ```text
//! texts ── model ── links ── pages ── files
//!             │       │        └── markup: comments as HTML
//!             │       └── names: the list for the search
//!             └── newspeak: tree, comments, outline of the library
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`model`] | the classes and members of a module, with comments |
//! | [`links`] | addresses of classes and members, what inherits from what |
//! | [`markup`] | comments as HTML |
//! | [`pages`] | the pages |
//! | [`names`] | the list of names for the search |
//! | `assets/` | the style sheet, and the script of the search |
//!
//! Invariants: the files depend on the texts and options only. They load nothing but each other, and every address that
//! they contain leads to one of them, except addresses of the web that a comment gives, and the one of
//! the site. Whatever a text contains is
//! shown as text. A text with mistakes has a page, too, which lists them.
#![forbid(unsafe_code)]

pub mod links;
pub mod markup;
pub mod model;
pub mod names;
pub mod pages;

use squall_newspeak::Library;

pub use model::Text;
use model::{Module, describe};

/// The style sheet.
const STYLE: &str = include_str!("../assets/reference.css");

/// The script of the search.
const SEARCH: &str = include_str!("../assets/reference.js");

/// A file of the reference.
pub struct File {
    /// Its name; all files are in one folder.
    pub name: String,
    /// Its content.
    pub content: String,
}

/// How the reference is written.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Whether private classes, slots and methods are shown.
    pub shows_private: bool,
    /// The address of the site that the reference is a part of; each page has a link to it.
    pub site: Option<&'a str>,
}

/// The files of the reference of these texts. `library` knows the library's classes; its texts are pages only if they are
/// among the texts.
pub fn reference(texts: &[Text], library: &Library, options: Options<'_>) -> Vec<File> {
    let describe = |text| describe(text, library, options.shows_private);
    let modules: Vec<Module> = texts.iter().map(describe).collect();
    let links = links::Links::new(&modules, options.site);
    let file = |name: &str, content: String| File { name: name.to_owned(), content };
    let mut files = vec![
        file(links::INDEX, pages::index(&links)),
        file("names.js", names::script(&links)),
        file("reference.css", STYLE.to_owned()),
        file("reference.js", SEARCH.to_owned()),
    ];
    let pages = (0..modules.len()).map(|module| File {
        name: links.page(module).to_owned(),
        content: pages::module(&links, module),
    });
    files.extend(pages);
    files
}
