//! The description of a module: its classes and their members with comments, as the pages show them. It is made of the
//! compiler's tree and the comments between its tokens. [`crate::reference`] makes one of each text.
//!
//! Members that are not to be shown are absent. A text with mistakes has the members that could be read, and a list of
//! the mistakes.

use squall_newspeak::ast::{Access, Ast, Class, Inheritance, Pattern};
use squall_newspeak::check::classes::{ClassRef, Classes};
use squall_newspeak::comments::{comments, documentation, heading, unindented};
use squall_newspeak::entities::{ClassId, MethodId, SlotId};
use squall_newspeak::lexer::tokenize;
use squall_newspeak::token::Token;
use squall_newspeak::{Diagnostic, Library, Source, Span, parse_partial};

/// A module's text.
pub struct Text {
    /// The text; its name is shown as the place of its members.
    pub source: Source,
    /// Whether it belongs to the library.
    pub is_library: bool,
}

/// A module.
pub struct Module {
    /// The name of its class; of the text, if nothing of it could be read.
    pub name: String,
    /// The name of the text.
    pub place: String,
    /// Whether it belongs to the library.
    pub is_library: bool,
    /// Its class, and the nested ones that are shown, each before those inside.
    pub classes: Vec<ClassEntry>,
    /// The errors in the text.
    pub mistakes: Vec<Mistake>,
}

/// A part of a text that could not be read.
pub struct Mistake {
    /// The line.
    pub line: usize,
    /// The compiler's message.
    pub message: String,
}

/// A class.
pub struct ClassEntry {
    /// The names of its module and of the classes around it, and its own, separated by periods.
    pub path: String,
    /// Its visibility.
    pub access: Access,
    /// The pattern of the primary factory, with the class's name before it.
    pub head: String,
    /// The selector of the primary factory.
    pub factory: String,
    /// The comment above it.
    pub comment: Option<String>,
    /// The heading above it.
    pub category: Option<String>,
    /// The superclass, then the mixins.
    pub parents: Vec<Parent>,
    /// The slots, the class messages and the messages.
    pub members: Vec<Member>,
}

impl ClassEntry {
    /// Its own name.
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }

    /// How many classes are around it.
    pub fn depth(&self) -> usize {
        self.path.matches('.').count()
    }
}

/// A superclass or mixin.
pub struct Parent {
    /// The expression that names it.
    pub text: String,
    /// The path of the class, if that is known.
    pub path: Option<String>,
    /// Whether the class is one of the same text.
    pub is_own: bool,
}

/// The kinds of members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A slot.
    Slot {
        /// Whether it has a setter.
        is_mutable: bool,
    },
    /// A message of the class object.
    ClassMessage,
    /// A message of instances.
    Message,
}

/// A slot or method.
pub struct Member {
    /// Its kind.
    pub kind: Kind,
    /// Its selector.
    pub selector: String,
    /// The selector with the names of its arguments.
    pub head: String,
    /// Its visibility.
    pub access: Access,
    /// The comment above it.
    pub comment: Option<String>,
    /// The heading above it.
    pub category: Option<String>,
    /// The text of its declaration.
    pub source: String,
    /// The line on which it begins.
    pub line: usize,
}

/// The description of a text.
pub fn describe(text: &Text, library: &Library, shows_private: bool) -> Module {
    let source = &text.source;
    let parse = parse_partial(source);
    let errors = parse.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let mistake = |diagnostic: &Diagnostic| Mistake {
        line: source.line(diagnostic.span().start),
        message: diagnostic.message.clone(),
    };
    let mut module = Module {
        name: stem(source.name()),
        place: source.name().to_owned(),
        is_library: text.is_library,
        classes: Vec::new(),
        mistakes: errors.map(mistake).collect(),
    };
    if let Some(ast) = &parse.ast {
        let mut reader = Reader::new(source, ast, library, shows_private);
        reader.class(ast.module, None);
        module.classes = reader.classes;
        if let Some(name) = ast[ast.module].name {
            module.name = ast[name.name].to_owned();
        }
    }
    module
}

/// The name of a file without its folder and extension.
fn stem(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.strip_suffix(".ns").unwrap_or(name).to_owned()
}

/// A heading, and the class whose text it is in.
struct Heading {
    span: Span,
    title: String,
    class: Option<ClassId>,
}

struct Reader<'a> {
    source: &'a Source,
    tokens: Vec<Token>,
    ast: &'a Ast,
    known: Classes<'a>,
    headings: Vec<Heading>,
    shows_private: bool,
    classes: Vec<ClassEntry>,
}

impl<'a> Reader<'a> {
    fn new(
        source: &'a Source,
        ast: &'a Ast,
        library: &'a Library,
        shows_private: bool,
    ) -> Reader<'a> {
        let tokens = tokenize(source).list;
        let headings = headings(source, &tokens, ast);
        let known = Classes::of(ast, library);
        Reader { source, tokens, ast, known, headings, shows_private, classes: Vec::new() }
    }

    fn is_shown(&self, access: Access) -> bool {
        self.shows_private || access != Access::Private
    }

    fn comment(&self, span: Span) -> Option<String> {
        documentation(self.source, &self.tokens, span.start).filter(|text| !text.is_empty())
    }

    fn class(&mut self, id: ClassId, around: Option<(ClassId, &str)>) {
        let class = &self.ast[id];
        let Some(name) = class.name.filter(|_| self.is_shown(class.access)) else { return };
        let name = &self.ast[name.name];
        let path = around.map_or_else(|| name.to_owned(), |(_, path)| format!("{path}.{name}"));
        let category = around.and_then(|(around, _)| self.category(around, class.span.start, 0));
        let factory = self.ast[class.factory.selector].to_owned();
        self.classes.push(ClassEntry {
            head: format!("{name} {}", self.pattern(&class.factory)),
            factory,
            access: class.access,
            comment: self.comment(class.span),
            category,
            parents: self.parents(id, class, &path),
            members: self.members(id, class),
            path: path.clone(),
        });
        for &nested in &class.classes {
            self.class(nested, Some((id, &path)));
        }
    }

    fn parents(&self, id: ClassId, class: &Class, path: &str) -> Vec<Parent> {
        let clauses = class.superclass.iter().chain(&class.mixins);
        let mut parents: Vec<Parent> = clauses.map(|clause| self.parent(id, clause)).collect();
        // The root of the hierarchy has no superclass.
        if class.superclass.is_none() && path != "Kernel.Top" {
            let object = Some("Kernel.Object".to_owned());
            parents.insert(0, Parent { text: "Object".to_owned(), path: object, is_own: false });
        }
        parents
    }

    fn parent(&self, id: ClassId, clause: &Inheritance) -> Parent {
        let class = self.known.class_of_clause(id, clause);
        Parent {
            text: unindented(self.source.slice(self.ast[clause.class].span)),
            path: class.map(|class| self.known.path(class)),
            is_own: matches!(class, Some(ClassRef::Text(_))),
        }
    }

    fn members(&self, id: ClassId, class: &Class) -> Vec<Member> {
        let slots = class.slots.iter().map(|&slot| self.slot(slot));
        let end = |method: &MethodId| self.ast[*method].span.end;
        let instance_end = class.methods.iter().map(end).max().unwrap_or(0);
        let class_methods = class.class_methods.iter();
        let class_methods =
            class_methods.map(|&method| self.method(id, method, Kind::ClassMessage, instance_end));
        let methods = class.methods.iter();
        let methods = methods.map(|&method| self.method(id, method, Kind::Message, 0));
        let all = slots.chain(class_methods).chain(methods);
        all.filter(|member| self.is_shown(member.access)).collect()
    }

    fn slot(&self, id: SlotId) -> Member {
        let slot = &self.ast[id];
        let name = &self.ast[slot.name.name];
        Member {
            kind: Kind::Slot { is_mutable: slot.is_mutable },
            selector: name.to_owned(),
            head: name.to_owned(),
            access: slot.access,
            comment: self.comment(slot.span),
            category: None,
            source: unindented(self.source.slice(slot.span)),
            line: self.source.line(slot.span.start),
        }
    }

    fn method(&self, class: ClassId, id: MethodId, kind: Kind, first: u32) -> Member {
        let method = &self.ast[id];
        Member {
            kind,
            selector: self.ast[method.pattern.selector].to_owned(),
            head: self.pattern(&method.pattern),
            access: method.access,
            comment: self.comment(method.span),
            category: self.category(class, method.span.start, first),
            source: unindented(self.source.slice(method.span)),
            line: self.source.line(method.span.start),
        }
    }

    /// The last heading of a class before an offset, and not before the first one.
    fn category(&self, class: ClassId, offset: u32, first: u32) -> Option<String> {
        let mut headings = self.headings.iter().rev();
        let heading = headings.find(|heading| {
            heading.class == Some(class) && (first..offset).contains(&heading.span.start)
        })?;
        Some(heading.title.clone()).filter(|title| !title.is_empty())
    }

    /// A pattern on one line.
    fn pattern(&self, pattern: &Pattern) -> String {
        let selector = &self.ast[pattern.selector];
        let mut parameters = pattern.parameters.iter().map(|name| &self.ast[name.name]);
        let is_keyword = selector.ends_with(':');
        let words = selector.split_inclusive(':').filter(|_| is_keyword);
        let words: Vec<String> =
            words.map(|word| format!("{word} {}", parameters.next().unwrap_or_default())).collect();
        match parameters.next() {
            Some(operand) => format!("{selector} {operand}"),
            None if words.is_empty() => selector.to_owned(),
            None => words.join(" "),
        }
    }
}

fn headings(source: &Source, tokens: &[Token], ast: &Ast) -> Vec<Heading> {
    let around = |span: Span| {
        let classes = ast.nodes.classes.iter();
        let around =
            classes.filter(|(_, class)| class.span.start < span.start && span.end < class.span.end);
        around.min_by_key(|(_, class)| class.span.end - class.span.start).map(|(id, _)| id)
    };
    let titled = |span: Span| {
        let title = heading(source.slice(span))?.to_owned();
        Some(Heading { span, title, class: around(span) })
    };
    comments(source, tokens).into_iter().filter_map(titled).collect()
}
