//! All texts that the server knows, and the questions that concern several of them: where is something defined, who
//! sends a message. The server's loop has one, and the requests ask it.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use lsp_types::{Location, Range, Uri};
use squall_newspeak::Span;
use squall_newspeak::ast::Ast;
use squall_newspeak::check::classes::{ClassRef, Classes, Known, Side};
use squall_newspeak::entities::ClassId;

use crate::document::{Document, Language};
use crate::host::Host;
use crate::library::{Item, Texts, head_of, is_public, member, span_of};
use crate::model::{Symbol, SymbolKind, Target};
use crate::text;

/// The texts, and the library.
pub struct Workspace<'h> {
    /// The command around the server.
    pub host: &'h dyn Host,
    /// The library's texts.
    pub texts: Texts,
    /// The texts by address.
    pub documents: BTreeMap<String, Document>,
    /// The folders that the client has opened.
    folders: Vec<PathBuf>,
    /// The folders of packages that the programs in those depend on.
    packages: Vec<PathBuf>,
}

/// Where something is defined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// By the symbol with this number in the text with this address.
    Text(String, usize),
    /// In the library.
    Library(Item),
}

impl<'h> Workspace<'h> {
    /// A workspace without texts.
    pub fn new(host: &'h dyn Host) -> Workspace<'h> {
        Workspace {
            host,
            texts: Texts::default(),
            documents: BTreeMap::new(),
            folders: Vec::new(),
            packages: Vec::new(),
        }
    }

    // Texts

    /// Takes over a text that a client has opened or changed.
    pub fn open(&mut self, uri: &Uri, version: i32, text: String) {
        let document =
            Document::new(uri.clone(), Some(version), text.into_bytes(), self.host.library());
        self.documents.insert(uri.as_str().to_owned(), document);
    }

    /// Goes back to the file after a client has closed its text.
    pub fn close(&mut self, uri: &Uri) {
        self.documents.remove(uri.as_str());
        if let Some(path) = text::path_of(uri) {
            self.read(&path);
        }
    }

    /// Reads all programs below a folder, and those of the packages that they depend on.
    pub fn add_folder(&mut self, folder: &Path) {
        self.folders.push(folder.to_owned());
        self.read_below(folder);
        self.read_packages();
    }

    /// Forgets the files below a folder that the client has closed. Texts that are open stay.
    pub fn remove_folder(&mut self, folder: &Path) {
        self.folders.retain(|other| other != folder);
        self.forget(|path| path.starts_with(folder));
        self.read_packages();
    }

    /// Finds out again which packages the programs depend on, and reads theirs.
    pub fn read_packages(&mut self) {
        let old = std::mem::take(&mut self.packages);
        let folders = self.folders.clone();
        let is_below =
            |path: &Path, folders: &[PathBuf]| folders.iter().any(|it| path.starts_with(it));
        self.forget(|path| is_below(path, &old) && !is_below(path, &folders));
        let mut packages: Vec<PathBuf> =
            folders.iter().flat_map(|folder| self.host.packages_of(folder)).collect();
        packages.sort();
        packages.dedup();
        packages.retain(|package| !is_below(package, &folders));
        packages.iter().for_each(|package| self.read_below(package));
        self.packages = packages;
    }

    fn read_below(&mut self, folder: &Path) {
        self.host.programs_below(folder).iter().for_each(|path| self.read(path));
    }

    /// Forgets the texts of some files, if no client has opened them.
    fn forget(&mut self, is_meant: impl Fn(&Path) -> bool) {
        self.documents.retain(|_, document| {
            let path = text::path_of(&document.uri);
            document.version.is_some() || !path.is_some_and(|path| is_meant(&path))
        });
    }

    /// Whether a text belongs to a package that the client has not opened: it is for reading only.
    pub fn is_of_package(&self, document: &Document) -> bool {
        // Most programs have no packages.
        !self.packages.is_empty()
            && text::path_of(&document.uri).is_some_and(|path| {
                self.packages.iter().any(|package| path.starts_with(package))
                    && !self.folders.iter().any(|folder| path.starts_with(folder))
            })
    }

    /// Reads a file again, if no client has opened it; forgets it if it is not there.
    pub fn read(&mut self, path: &Path) {
        let Some(uri) = text::uri_of(path) else { return };
        let is_open = |document: &Document| document.version.is_some();
        if self.documents.get(uri.as_str()).is_some_and(is_open) {
            return;
        }
        match self.host.read(path) {
            Some(bytes) => {
                let document = Document::new(uri.clone(), None, bytes, self.host.library());
                self.documents.insert(uri.as_str().to_owned(), document);
            }
            None => _ = self.documents.remove(uri.as_str()),
        }
    }

    /// The text at an address.
    pub fn document(&self, uri: &Uri) -> Option<&Document> {
        self.documents.get(uri.as_str())
    }

    /// All texts in Newspeak.
    pub fn programs(&self) -> impl Iterator<Item = &Document> {
        self.documents.values().filter(|document| document.language == Language::Newspeak)
    }

    // Definitions

    /// The definitions that a use of a name may reach: the ones that its receiver leads to, or, if the receiver is unknown,
    /// all with that name.
    pub fn definitions(&self, document: &Document, name: &str, target: Target) -> Vec<Definition> {
        if let Target::Variable(symbol) = target {
            return vec![self.in_text(document, symbol)];
        }
        let Some(ast) = &document.ast else { return self.implementors(name) };
        if let Target::Lexical(class, side) = target {
            let own = self.own(document, ast, class, side, name);
            return own.map_or_else(|| self.implementors(name), |own| vec![own]);
        }
        let classes = Classes::of(ast, self.host.library());
        let found = match target {
            Target::Inherited(class, side) | Target::ToSelf(class, side) => {
                self.inherited(document, &classes, vec![ClassRef::Text(class)], side, name)
            }
            Target::Super(class, side) => {
                let parents = classes.parents(ClassRef::Text(class)).unwrap_or_default();
                self.inherited(document, &classes, parents, side, name)
            }
            Target::Receiver(Known::Instance(class)) => {
                self.inherited(document, &classes, vec![class], Side::Instance, name)
            }
            Target::Receiver(Known::Class(class)) => {
                self.inherited(document, &classes, vec![class], Side::Class, name)
            }
            Target::Receiver(Known::Promise)
                if name.starts_with("when") || name.starts_with("on") =>
            {
                let promise = classes.library_class("Kernel.Promise");
                self.inherited(
                    document,
                    &classes,
                    promise.into_iter().collect(),
                    Side::Instance,
                    name,
                )
            }
            _ => None,
        };
        match found {
            Some(definition) => vec![definition],
            None => self.implementors(name),
        }
    }

    fn in_text(&self, document: &Document, symbol: usize) -> Definition {
        Definition::Text(document.uri.as_str().to_owned(), symbol)
    }

    /// The member that the text of a class declares.
    fn own(
        &self,
        document: &Document,
        ast: &Ast,
        class: ClassId,
        side: Side,
        name: &str,
    ) -> Option<Definition> {
        let symbols = &document.model.symbols;
        let numbers = |name: &str| document.definitions.get(name).into_iter().flatten().copied();
        let belongs = |symbol: &Symbol| match symbol.kind {
            SymbolKind::Class => {
                side == Side::Instance && ast[class].classes.contains(&symbol.class)
            }
            _ => symbol.class == class && symbol.side == side,
        };
        let slot = name.strip_suffix(':').into_iter().flat_map(numbers);
        let slot =
            slot.filter(|&number| symbols[number].kind == SymbolKind::Slot { is_mutable: true });
        let mut all = numbers(name).chain(slot);
        let member = all.find(|&number| belongs(&symbols[number]));
        let is_factory = side == Side::Class && ast[ast[class].factory.selector] == *name;
        let class_itself = || {
            let is_class =
                |symbol: &Symbol| symbol.kind == SymbolKind::Class && symbol.class == class;
            is_factory.then(|| symbols.iter().position(is_class)).flatten()
        };
        member.or_else(class_itself).map(|number| self.in_text(document, number))
    }

    /// The member that a class or one that it inherits from declares.
    fn inherited(
        &self,
        document: &Document,
        classes: &Classes<'_>,
        first: Vec<ClassRef>,
        side: Side,
        name: &str,
    ) -> Option<Definition> {
        let (mut pending, mut visited) = (first, HashSet::new());
        pending.reverse();
        while let Some(class) = pending.pop() {
            if !visited.insert(class) {
                continue;
            }
            let own = match class {
                ClassRef::Text(id) => self.own(document, classes.ast, id, side, name),
                ClassRef::Library(number) => {
                    self.in_library(number, side, name).map(Definition::Library)
                }
            };
            if own.is_some() {
                return own;
            }
            pending.extend(classes.parents(class).unwrap_or_default().into_iter().rev());
        }
        let all_classes = classes.library_class("Kernel.Class").filter(|_| side == Side::Class)?;
        self.inherited(document, classes, vec![all_classes], Side::Instance, name)
    }

    fn in_library(&self, number: usize, side: Side, name: &str) -> Option<Item> {
        let class = self.host.library().class(number);
        let members = match side {
            Side::Instance => &class.instance,
            Side::Class => &class.class_side,
        };
        let member = members.iter().position(|member| member.selector == name);
        let is_factory = side == Side::Class && class.factory == name;
        match member {
            Some(index) => Some(Item { class: number, member: Some((side, index)) }),
            None => is_factory.then_some(Item { class: number, member: None }),
        }
    }

    /// All members with a name, in the texts and in the library.
    pub fn implementors(&self, name: &str) -> Vec<Definition> {
        let mut all = Vec::new();
        for document in self.programs() {
            let numbers =
                |name: &str| document.definitions.get(name).into_iter().flatten().copied();
            all.extend(numbers(name).map(|number| self.in_text(document, number)));
            let slots = name.strip_suffix(':').into_iter().flat_map(numbers);
            let slots = slots.filter(|&number| {
                document.model.symbols[number].kind == SymbolKind::Slot { is_mutable: true }
            });
            all.extend(slots.map(|number| self.in_text(document, number)));
        }
        let library = self.host.library();
        let items = self.texts.implementors(library, name).iter().copied();
        let items = items.filter(|item| is_public(library.class(item.class), *item));
        all.extend(items.map(Definition::Library));
        all
    }

    /// The place of a definition's name.
    pub fn location(&self, definition: &Definition) -> Option<Location> {
        match definition {
            Definition::Text(uri, symbol) => {
                let document = self.documents.get(uri)?;
                let symbol = document.model.symbols.get(*symbol)?;
                let name = symbol.parts.first().copied().unwrap_or(symbol.span);
                Some(Location {
                    uri: document.uri.clone(),
                    range: text::range(&document.source, name),
                })
            }
            Definition::Library(item) => self.location_in_library(*item),
        }
    }

    fn location_in_library(&self, item: Item) -> Option<Location> {
        let class = self.host.library().class(item.class);
        let module = self.texts.module(self.host, class.module())?;
        let uri = text::uri_of(&self.host.library_file(class.module())?)?;
        let span = span_of(class, item);
        let name = member(class, item).map_or(class.name(), |member| &member.selector);
        let word = name.split(':').next().unwrap_or(name);
        let start = span.start + module.source.slice(span).find(word).unwrap_or(0) as u32;
        let range: Range =
            text::range(&module.source, Span { start, end: start + word.len() as u32 });
        Some(Location { uri, range })
    }

    // Descriptions

    /// The head of a definition, the class that it belongs to, and its comment.
    pub fn description(&self, definition: &Definition) -> Option<Description> {
        match definition {
            Definition::Text(uri, number) => {
                let document = self.documents.get(uri)?;
                let symbol = document.model.symbols.get(*number)?;
                let comment = squall_newspeak::comments::documentation(
                    &document.source,
                    &document.tokens,
                    symbol.span.start,
                );
                let head = match symbol.kind {
                    SymbolKind::Parameter => symbol.name.clone(),
                    _ => head_of(document.source.slice(symbol.span)),
                };
                Some(Description { head, place: self.place_of(document, symbol), comment })
            }
            Definition::Library(item) => {
                let class = self.host.library().class(item.class);
                let comment = self.texts.documentation(self.host, *item);
                let head = self.texts.head(self.host, *item)?;
                Some(Description { head, place: class.path.clone(), comment })
            }
        }
    }

    fn place_of(&self, document: &Document, symbol: &Symbol) -> String {
        let word = match symbol.kind {
            SymbolKind::Local => return "a local variable".to_owned(),
            SymbolKind::Parameter => return "a parameter".to_owned(),
            SymbolKind::Class | SymbolKind::Slot { .. } | SymbolKind::Method => "",
            SymbolKind::Factory => "factory of ",
        };
        let ast = document.ast.as_ref();
        let path = ast.map(|ast| path_of(ast, &document.model.symbols, symbol)).unwrap_or_default();
        format!("{word}{path}")
    }
}

/// The class of a known value, in words.
pub fn name_of_known(classes: &Classes<'_>, known: Known) -> Option<String> {
    match known {
        Known::Nothing => None,
        Known::Promise => Some("Promise".to_owned()),
        Known::Instance(class) => Some(classes.name(class)),
        Known::Class(class) => Some(format!("class {}", classes.name(class))),
    }
}

/// What is to be said about a definition.
pub struct Description {
    /// Its first words.
    pub head: String,
    /// The class that it belongs to.
    pub place: String,
    /// Its comment.
    pub comment: Option<String>,
}

/// The names of the classes around a symbol, from the module on.
fn path_of(ast: &Ast, symbols: &[Symbol], symbol: &Symbol) -> String {
    let mut names = Vec::new();
    let mut current = symbol.parent;
    while let Some(number) = current {
        let symbol = &symbols[number];
        if symbol.kind == SymbolKind::Class {
            names.push(symbol.name.clone());
        }
        current = symbol.parent;
    }
    names.reverse();
    match names.is_empty() {
        true => ast[ast.module].name.map(|name| ast[name.name].to_owned()).unwrap_or_default(),
        false => names.join("."),
    }
}
