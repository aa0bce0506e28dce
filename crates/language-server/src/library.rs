//! The library's texts, for readers of programs: comments of members, places of declarations, implementors of a
//! selector. The workspace has them, and the requests ask for them.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use squall_newspeak::ast::Access;
use squall_newspeak::check::classes::Side;
use squall_newspeak::comments::documentation;
use squall_newspeak::lexer::tokenize;
use squall_newspeak::outline::{ClassOutline, Member};
use squall_newspeak::token::Token;
use squall_newspeak::{Library, Source, Span};

use crate::host::Host;

/// A class or member of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// The class's number.
    pub class: usize,
    /// The side and the member's number on it; none for the class itself, which also stands for its factory.
    pub member: Option<(Side, usize)>,
}

/// A module's text.
pub struct Text {
    /// The text.
    pub source: Source,
    /// Its tokens.
    pub tokens: Vec<Token>,
}

/// The library's texts, read when they are first needed.
#[derive(Default)]
pub struct Texts {
    modules: RefCell<HashMap<String, Option<Rc<Text>>>>,
    implementors: OnceCell<HashMap<String, Vec<Item>>>,
}

impl Texts {
    /// The text of a module.
    pub fn module(&self, host: &dyn Host, name: &str) -> Option<Rc<Text>> {
        let mut modules = self.modules.borrow_mut();
        if let Some(text) = modules.get(name) {
            return text.clone();
        }
        let text = host.library_text(name).map(|text| {
            let source = Source::new(name, text);
            let tokens = tokenize(&source).list;
            Rc::new(Text { source, tokens })
        });
        modules.insert(name.to_owned(), text.clone());
        text
    }

    /// All members with a selector, also of classes that programs cannot reach by name.
    pub fn implementors(&self, library: &Library, selector: &str) -> &[Item] {
        let all = self.implementors.get_or_init(|| implementors(library));
        all.get(selector).map_or(&[], Vec::as_slice)
    }

    /// The comment that documents an item.
    pub fn documentation(&self, host: &dyn Host, item: Item) -> Option<String> {
        let class = host.library().class(item.class);
        let text = self.module(host, class.module())?;
        documentation(&text.source, &text.tokens, span_of(class, item).start)
    }

    /// The text of the head of an item: its pattern.
    pub fn head(&self, host: &dyn Host, item: Item) -> Option<String> {
        let class = host.library().class(item.class);
        let text = self.module(host, class.module())?;
        Some(head_of(text.source.slice(span_of(class, item))))
    }
}

fn implementors(library: &Library) -> HashMap<String, Vec<Item>> {
    let mut all: HashMap<String, Vec<Item>> = HashMap::new();
    for (number, class) in library.classes().enumerate() {
        let mut add = |selector: &str, member| {
            let item = Item { class: number, member };
            all.entry(selector.to_owned()).or_default().push(item);
        };
        for (side, members) in [(Side::Instance, &class.instance), (Side::Class, &class.class_side)]
        {
            for (index, member) in members.iter().enumerate() {
                add(&member.selector, Some((side, index)));
            }
        }
        add(&class.factory, None);
    }
    all
}

/// The member of an item that is not a class.
pub fn member(class: &ClassOutline, item: Item) -> Option<&Member> {
    let (side, index) = item.member?;
    match side {
        Side::Instance => class.instance.get(index),
        Side::Class => class.class_side.get(index),
    }
}

/// The declaration of an item in its module's text.
pub fn span_of(class: &ClassOutline, item: Item) -> Span {
    member(class, item).map_or(class.span, |member| member.span)
}

/// Whether programs may use an item.
pub fn is_public(class: &ClassOutline, item: Item) -> bool {
    member(class, item).is_none_or(|member| member.access == Access::Public)
}

/// The first words of a declaration: of a method without its body, of a slot as a whole.
pub fn head_of(declaration: &str) -> String {
    let first = match declaration.find("= (").or_else(|| declaration.find("=(")) {
        Some(end) => &declaration[..end],
        None => declaration,
    };
    let words: Vec<&str> = first.split_whitespace().collect();
    let head = words.join(" ");
    match head.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &head[..end]),
        None => head,
    }
}
