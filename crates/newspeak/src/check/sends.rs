//! Messages to other receivers than self: whether the receiver can understand them. The checker's walk (`mod.rs`) calls
//! this module for each such message.
//!
//! If the receiver's class is known, an unknown message is an error. Otherwise it is a warning, if no class of the text
//! or of the library understands the message at all and no other class can take part.

use std::collections::{BTreeSet, HashMap};

use crate::ast::{Access, Ast, Message};
use crate::diagnostics::{Code, Diagnostic, quoted};
use crate::entities::{ExpressionId, MessageId};
use crate::outline::widest;

use super::Checker;
use super::classes::{ClassRef, Found, Known, Side};
use crate::spelling::{closest, foreign_word, longer, smalltalk_word};

/// Words that begin something else, and no message.
const RESERVED: &[&str] = &["self", "super", "outer", "nil", "true", "false", "objL"];

/// Messages that bring objects of other texts into a program.
const DOORS: &[&str] = &[
    "loadModule:",
    "loadModule:nextTo:",
    "doesNotUnderstand:arguments:",
    "bytecode",
    "host",
    "ffi",
    PACKAGES,
];

/// The message by which a program gets the packages that it depends on.
const PACKAGES: &str = "packages";

impl Checker<'_> {
    /// A message to the value of an expression. Answers false if the next statement begins with the message.
    pub fn send_to(&mut self, receiver: ExpressionId, known: Known, id: MessageId) -> bool {
        let (selector, message) = self.message(id);
        if RESERVED.contains(&selector) && !message.is_eventual {
            self.period_before_word(receiver, selector, message);
            return false;
        }
        self.send_in_statement(receiver, known, id);
        true
    }

    fn send_in_statement(&mut self, receiver: ExpressionId, known: Known, id: MessageId) {
        let (selector, message) = self.message(id);
        // The lexer has reported a numeral such as `0x1F`.
        let is_tight = self.ast[receiver].span.end == message.selector_span.start;
        let begins_word = selector.starts_with(|first: char| first.is_alphabetic() || first == '_');
        if message.is_eventual || is_tight && begins_word || self.silenced.contains(selector) {
            return;
        }
        self.blocks_of(selector, message);
        self.order_of_operators(receiver, selector, message);
        if self.condition_of_loop(receiver, selector, message) {
            return;
        }
        match known {
            Known::Class(class) => self.send_to_class(class, selector, message),
            Known::Instance(class) => self.send_to_instance(class, selector, message),
            Known::Promise => self.send_to_promise(selector, message),
            Known::Nothing if self.is_foreign(receiver) => {}
            Known::Nothing => self.send_to_unknown(selector, message),
        }
    }

    /// Whether a receiver is a word of another language that has been reported, so that no message to it is meant.
    fn is_foreign(&self, receiver: ExpressionId) -> bool {
        let word = self.source.slice(self.ast[receiver].span);
        foreign_word(word).is_some() && self.reported.contains(word)
    }

    fn send_to_class(&mut self, class: ClassRef, selector: &str, message: &Message) {
        let found = self.classes.find(class, Side::Class, selector);
        if found != Found::Missing {
            return;
        }
        let name = self.classes.name(class);
        let text = format!("the class {name} does not understand {}", quoted(selector));
        let names = self.classes.all_members(class, Side::Class);
        let factory = self.classes.factory(class);
        let hint = match self.hint_for(selector, message, &names) {
            Some(hint) => hint,
            None if self.classes.find(class, Side::Instance, selector) != Found::Missing => {
                format!("its instances do: make one by {}", quoted(&format!("{name} {factory}")))
            }
            None => format!("its instances are made by {}", quoted(factory)),
        };
        self.report(
            Diagnostic::unknown_message(selector, text, message.selector_span).with_hint(hint),
        );
    }

    fn send_to_instance(&mut self, class: ClassRef, selector: &str, message: &Message) {
        match self.classes.find(class, Side::Instance, selector) {
            Found::Member(Access::Public) | Found::Unclear => {}
            Found::Member(access) => self.not_public(class, access, selector, message),
            Found::Missing => self.not_understood(class, selector, message),
        }
    }

    fn not_public(&mut self, class: ClassRef, access: Access, selector: &str, message: &Message) {
        let name = self.classes.name(class);
        let word = if access == Access::Private { "private" } else { "protected" };
        let text = format!("{} of {name} is {word}", quoted(selector));
        let label = "only code inside of the class may send it with a receiver";
        self.report(
            Diagnostic::warning(Code::NotPublic, text, message.selector_span)
                .labelled(label)
                .with_hint("to let all code send it, declare it `public`"),
        );
    }

    fn not_understood(&mut self, class: ClassRef, selector: &str, message: &Message) {
        let name = self.classes.name(class);
        let library = self.classes.library;
        let module = library.modules().find(|(_, module)| *module == name);
        let text = match (&*name, module) {
            ("Platform", _) => format!("the platform has no {}", quoted(selector)),
            (_, Some((accessor, _))) => {
                format!("{} has no {}", quoted(&format!("platform {accessor}")), quoted(selector))
            }
            ("Nil", _) => format!("nil does not understand {}", quoted(selector)),
            _ => format!("{} {name} does not understand {}", article(&name), quoted(selector)),
        };
        let names = self.classes.all_members(class, Side::Instance);
        let mut diagnostic = Diagnostic::unknown_message(selector, text, message.selector_span);
        let ways = if module.is_some() || name == "Platform" {
            library.ways_to(selector)
        } else {
            Vec::new()
        };
        diagnostic.hint = match ways.first() {
            Some(way) => Some(format!("{} is in {}", quoted(selector), quoted(way))),
            None => self.hint_for(selector, message, &names),
        };
        self.report(diagnostic);
    }

    fn send_to_promise(&mut self, selector: &str, message: &Message) {
        let Some(promise) = self.classes.library_class("Kernel.Promise") else { return };
        if self.classes.find(promise, Side::Instance, selector) != Found::Missing {
            return;
        }
        let text = format!("the receiver of {} is a promise, not the result", quoted(selector));
        self.report(
            Diagnostic::warning(Code::SendToPromise, text, message.selector_span).with_hint(format!(
                "send it eventually, {}, or when the result is there: `whenResolved: [:result | … ]`",
                quoted(&format!("promise <-: {selector}"))
            )),
        );
    }

    /// The widest visibility of a selector in the text and the library.
    fn access_of(&self, selector: &str) -> Option<Access> {
        let own = self.selectors.get(selector).copied();
        let known = own.into_iter().chain(self.classes.library.access_of(selector));
        known.reduce(widest)
    }

    /// The selectors that the classes of the text and of the library understand, in alphabetical order.
    fn all_selectors(&self) -> Vec<String> {
        let library = self.classes.library.selectors().map(|(selector, _)| selector.to_owned());
        let all: BTreeSet<String> = self.selectors.keys().cloned().chain(library).collect();
        all.into_iter().collect()
    }

    /// A message to a receiver of which nothing is known.
    fn send_to_unknown(&mut self, selector: &str, message: &Message) {
        let access = self.access_of(selector);
        if access == Some(Access::Public) || self.classes.library.is_empty() {
            return;
        }
        let own = self.all_selectors();
        if access.is_some() {
            if !self.is_open && self.reported.insert(format!("_ {selector}")) {
                self.only_hidden(selector, message);
            }
            return;
        }
        // Packages understand what no text here says, and a name that resembles another one is usual.
        if self.ast.nodes.names.find(PACKAGES).is_some() {
            return;
        }
        let hint = match self.is_open {
            true => self.certain_hint(selector, message, &own),
            false => self.hint_for(selector, message, &own),
        };
        if (self.is_open && hint.is_none()) || !self.reported.insert(format!("_ {selector}")) {
            return;
        }
        let text = match self.is_open {
            true => {
                format!("no class of this file or of the library understands {}", quoted(selector))
            }
            false => format!("nothing understands {}", quoted(selector)),
        };
        let mut diagnostic = Diagnostic::unknown_message(selector, text, message.selector_span);
        diagnostic.hint = hint;
        self.report(diagnostic);
    }

    fn only_hidden(&mut self, selector: &str, message: &Message) {
        let text = format!("{} is not public in any class that has it", quoted(selector));
        self.report(
            Diagnostic::warning(Code::NotPublic, text, message.selector_span)
                .with_hint("to send it with a receiver, declare it `public`; without this word a member is protected"),
        );
    }

    // Remedies

    /// What was probably meant by an unknown message, among the names that the receiver understands.
    pub fn hint_for(&self, selector: &str, message: &Message, names: &[String]) -> Option<String> {
        let list = || names.iter().map(String::as_str);
        let close = || {
            let name = closest(selector, list()).or_else(|| longer(selector, list()));
            name.map(|name| format!("did you mean {}?", quoted(name)))
        };
        let foreign = foreign_word(selector).map(str::to_owned);
        // A message with keywords of another language resembles one of this language.
        foreign
            .clone()
            .filter(|_| selector.contains(':'))
            .or_else(|| longest_hint(selector, list().filter(|name| begins_like(name, selector))))
            .or_else(|| self.certain_hint(selector, message, names))
            .or_else(|| other_arity(selector, list()))
            .or(foreign)
            .or_else(|| smalltalk_word(selector).map(str::to_owned))
            .or_else(close)
    }

    /// As `hint_for`, but only remedies of which the selector itself gives evidence.
    fn certain_hint(&self, selector: &str, message: &Message, names: &[String]) -> Option<String> {
        const LONG: usize = 6;
        let list = || names.iter().map(String::as_str);
        let close = || match selector.len() < LONG {
            true => None,
            false => {
                closest(selector, list()).map(|name| format!("did you mean {}?", quoted(name)))
            }
        };
        permuted(selector, list())
            .or_else(|| self.two_messages(selector, message, names))
            .or_else(close)
    }

    /// `s send: a joinedBy: b`, where `send:` and `joinedBy:` are messages of their own.
    fn two_messages(&self, selector: &str, message: &Message, names: &[String]) -> Option<String> {
        let is_known = |selector: &str| self.access_of(selector) == Some(Access::Public);
        let is_own = |selector: &str| names.iter().any(|name| name == selector);
        let cuts = selector.match_indices(':').map(|(index, _)| index + 1);
        let cut = cuts
            .filter(|&cut| cut < selector.len())
            .find(|&cut| is_own(&selector[..cut]) && is_known(&selector[cut..]))?;
        let (first, second) = selector.split_at(cut);
        let arguments = &self.ast[message.arguments];
        let last = first.matches(':').count();
        let text = |index: usize| self.source.slice(self.ast[arguments[index]].span);
        let written = |selector: &str, from: usize| -> String {
            let words = selector.split_inclusive(':').enumerate();
            let words = words.map(|(index, word)| format!("{word} {}", text(from + index)));
            words.collect::<Vec<_>>().join(" ")
        };
        if arguments.len() > 4 || arguments.iter().any(|&id| self.ast[id].span.range().len() > 40) {
            return Some(format!(
                "keywords in a row are one message; to send {} to the last argument of {}, put parentheses \
                 around them",
                quoted(second),
                quoted(first)
            ));
        }
        // An argument that goes on in the next line lacks a period, which is said elsewhere.
        if (0..arguments.len()).any(|index| text(index).contains('\n')) {
            return None;
        }
        if first == second {
            let (first, second) = (written(first, 0), written(second, last));
            return Some(format!(
                "to send several messages to one object, write `{first}; {second}`"
            ));
        }
        let inner = format!("({} {})", text(last - 1), written(second, last));
        let mut outer = first.split_inclusive(':').enumerate().map(|(index, word)| {
            let argument = if index + 1 == last { &inner } else { text(index) };
            format!("{word} {argument}")
        });
        let outer = outer.by_ref().collect::<Vec<_>>().join(" ");
        Some(format!("keywords in a row are one message; for two, write `{outer}`"))
    }
}

/// Whether a selector begins with another one of at least two keywords.
fn begins_like(name: &str, selector: &str) -> bool {
    name.matches(':').count() > 1 && selector.len() > name.len() && selector.starts_with(name)
}

fn longest_hint<'n>(selector: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let name = names.max_by_key(|name| name.len())?;
    other_arity(selector, std::iter::once(name))
}

fn article(name: &str) -> &'static str {
    if name.starts_with("the ") {
        return "";
    }
    if name.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" }
}

/// A name with the same keywords in another order.
fn permuted<'n>(selector: &str, mut names: impl Iterator<Item = &'n str>) -> Option<String> {
    let sorted = |name: &str| {
        let mut words: Vec<String> = name.split_inclusive(':').map(str::to_owned).collect();
        words.sort();
        words
    };
    if selector.matches(':').count() < 2 {
        return None;
    }
    let words = sorted(selector);
    let name = names
        .find(|name| name.len() == selector.len() && *name != selector && sorted(name) == words)?;
    Some(format!("the keywords are in another order: {}", quoted(name)))
}

/// A name with the same first word and another number of arguments.
fn other_arity<'n>(selector: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let first = selector.split(':').next()?;
    let count = selector.matches(':').count();
    let is_like =
        |name: &&str| name.split(':').next() == Some(first) && name.matches(':').count() != count;
    let name =
        names.filter(is_like).min_by_key(|name| name.matches(':').count().abs_diff(count))?;
    Some(match name.matches(':').count() {
        0 => format!("{} takes no argument", quoted(name)),
        1 => format!("{} takes one argument", quoted(name)),
        count => format!("{} takes {count} arguments", quoted(name)),
    })
}

/// The selectors that the classes of the text understand, with their widest visibility.
pub fn own_selectors(ast: &Ast) -> HashMap<String, Access> {
    let mut selectors: HashMap<String, Access> = HashMap::new();
    let mut add = |selector: &str, access: Access| {
        let known = selectors.entry(selector.to_owned()).or_insert(access);
        *known = widest(*known, access);
    };
    for (_, class) in ast.nodes.classes.iter() {
        add(&ast[class.factory.selector], Access::Public);
        if let Some(name) = class.name {
            add(&ast[name.name], class.access);
        }
    }
    for (_, slot) in ast.nodes.slots.iter() {
        add(&ast[slot.name.name], slot.access);
        if slot.is_mutable {
            add(&format!("{}:", &ast[slot.name.name]), slot.access);
        }
    }
    for (_, method) in ast.nodes.methods.iter() {
        add(&ast[method.pattern.selector], method.access);
    }
    selectors
}

/// Whether objects of other texts may appear in the program: it loads modules, or takes objects from its maker.
pub fn may_meet_strangers(ast: &Ast) -> bool {
    let factory = &ast[ast[ast.module].factory.selector];
    let is_program = ["usingPlatform:", "usingPlatform:testFramework:"].contains(&factory);
    !is_program || DOORS.iter().any(|door| ast.nodes.names.find(door).is_some())
}
