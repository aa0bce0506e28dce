//! Names and messages without a receiver: a variable, a member of a class around the code, a message to self. The
//! checker's walk (`mod.rs`) calls this module for each of them. If none of these exists, the report says where the
//! name is to be found.

use crate::ast::{Access, Identifier, Inheritance, Message, Receiver};
use crate::diagnostics::{Code, Diagnostic, quoted};
use crate::entities::{ClassId, MessageId, Name};
use crate::source::Span;

use super::classes::{ClassRef, Found, Known, Side};
use super::{Checker, Place};
use crate::spelling::{closest, foreign_word, smalltalk_word};

/// A hint, and a place that explains it.
type Remedy = (Option<String>, Option<(Span, &'static str)>);

impl Checker<'_> {
    /// A message without a receiver expression.
    pub fn send(&mut self, receiver: Receiver, id: MessageId) {
        let (selector, message) = self.message(id);
        let place = self.place();
        match receiver {
            Receiver::Implicit => self.implicit(selector, message),
            Receiver::SelfObject => self.send_to_self(place, selector, message),
            Receiver::Super => self.send_to_super(place, selector, message),
            Receiver::Outer(name) => {
                if let Some(class) = self.classes.around(place.class, name.name) {
                    let place = Place { class, side: Side::Instance };
                    self.send_to_self(place, selector, message);
                }
            }
            Receiver::Expression(_) => {}
        }
    }

    /// The known part of the value of a name.
    pub fn known_name(&self, name: Name) -> Known {
        if let Some(variable) = self.scopes.find(name) {
            return variable.known;
        }
        let text = &self.ast[name];
        for place in self.places.iter().rev() {
            let class = ClassRef::Text(place.class);
            if self.classes.own_member(class, place.side, text).is_some() {
                return match place.side {
                    Side::Instance => self.classes.named(place.class, text, 0),
                    Side::Class => Known::Nothing,
                };
            }
        }
        let Place { class, side } = self.place();
        match side {
            Side::Instance => self.classes.member_of(ClassRef::Text(class), text, 0),
            Side::Class => Known::Nothing,
        }
    }

    fn implicit(&mut self, selector: &str, message: &Message) {
        if message.arguments.is_empty()
            && let Some(variable) = self.scopes.find_mut(message.selector)
        {
            variable.is_read = true;
            return;
        }
        if !self.is_lexical(selector) && !self.may_be_inherited(self.place(), selector) {
            self.undeclared(selector, message);
        }
    }

    /// Whether a class around the code declares the member.
    fn is_lexical(&self, selector: &str) -> bool {
        let mut places = self.places.iter();
        places.any(|place| {
            self.classes.own_member(ClassRef::Text(place.class), place.side, selector).is_some()
        })
    }

    /// Whether an instance of the class, or of a class of this text that inherits from it, may have the member.
    fn may_be_inherited(&self, place: Place, selector: &str) -> bool {
        let class = ClassRef::Text(place.class);
        self.classes.find(class, place.side, selector) != Found::Missing
            || self
                .heirs(place.class)
                .any(|heir| self.classes.find(heir, place.side, selector) != Found::Missing)
    }

    /// The classes of this text that inherit from the class.
    fn heirs(&self, class: ClassId) -> impl Iterator<Item = ClassRef> {
        let ids = self.ast.nodes.classes.iter().map(|(id, _)| id);
        ids.filter(move |&id| {
            id != class && self.classes.inherits(ClassRef::Text(id), ClassRef::Text(class))
        })
        .map(ClassRef::Text)
    }

    // Undeclared names

    fn undeclared(&mut self, selector: &str, message: &Message) {
        if !self.reported.insert(selector.to_owned()) {
            return;
        }
        let text = match message.arguments.is_empty() {
            true => format!("nothing is called {} here", quoted(selector)),
            false => format!("nothing here understands {}", quoted(selector)),
        };
        let label = format!(
            "no variable, no member of the classes around, not inherited by {}",
            self.class_name()
        );
        let mut diagnostic =
            Diagnostic::warning(Code::UndeclaredName, text, message.selector_span).labelled(label);
        let (hint, place) = self.remedy(selector, message);
        diagnostic.hint = hint;
        if let Some((span, text)) = place {
            diagnostic = diagnostic.and_label(span, text);
        }
        self.report(diagnostic);
    }

    fn remedy(&mut self, selector: &str, message: &Message) -> Remedy {
        let is_name = message.arguments.is_empty();
        if is_name && self.stands_like_parameter(message.selector_span) {
            self.silenced.insert("|".to_owned());
            let hint = format!(
                "the parameter of a block has a colon: {}",
                quoted(&format!("[:{selector} | … ]"))
            );
            return (Some(hint), None);
        }
        if is_name && let Some(remedy) = self.argument_of_factory(message.selector) {
            return remedy;
        }
        if ["True", "False"].contains(&selector)
            && let Some(hint) = foreign_word(selector)
        {
            return (Some(hint.to_owned()), None);
        }
        if is_name && let Some(hint) = self.place_in_library(selector) {
            return (Some(hint), None);
        }
        if let Some(hint) = self.other_arity(selector) {
            return (Some(hint), None);
        }
        if let Some(name) = closest(selector, self.visible_names().iter().map(String::as_str)) {
            return (Some(format!("did you mean {}?", quoted(name))), None);
        }
        let word = selector.split(':').next().unwrap_or(selector);
        if let Some(hint) = foreign_word(word).or_else(|| smalltalk_word(selector)) {
            return (Some(hint.to_owned()), None);
        }
        let gone = self.scopes.gone.iter().rev().find(|(name, _)| *name == message.selector);
        match gone.filter(|_| is_name) {
            Some(&(_, span)) => (
                Some("a variable is visible in its own method or block only".into()),
                Some((span, "this variable is another method's or block's")),
            ),
            None => (self.remedy_in_library(selector, is_name), None),
        }
    }

    /// Whether the word stands between `[` and `|`.
    fn stands_like_parameter(&self, word: Span) -> bool {
        let text = self.source.text();
        let before = text[..word.range().start].trim_end();
        let after = text[word.range().end..].trim_start();
        before.ends_with('[') && after.starts_with('|') && !after.starts_with("||")
    }

    /// A name of an argument of a factory around the code, which methods cannot see.
    fn argument_of_factory(&self, name: Name) -> Option<Remedy> {
        let places = self.places.iter().rev();
        let mut factories = places.map(|place| &self.ast[place.class].factory);
        let parameter = factories.find_map(|factory| {
            factory.parameters.iter().find(|parameter| parameter.name == name)
        })?;
        let text = &self.ast[name];
        let hint = format!(
            "an argument of the factory is visible in the slots only; to keep it, add `private {text} = {text}.` \
             to the slots"
        );
        Some((Some(hint), Some((parameter.span, "the argument of the factory"))))
    }

    /// The slot that makes a name of the library known here.
    fn place_in_library(&self, name: &str) -> Option<String> {
        let library = self.classes.library;
        let ways = match library.modules().find(|(accessor, _)| *accessor == name) {
            Some((accessor, _)) => vec![format!("platform {accessor}")],
            None => library.ways_to(name).into_iter().map(|way| format!("{way} {name}")).collect(),
        };
        let first = ways.first()?;
        let places: Vec<String> = ways
            .iter()
            .map(|way| quoted(way.strip_suffix(&format!(" {name}")).unwrap_or("platform")))
            .collect();
        let module = &self.ast[self.ast.module];
        let class = module.name.map_or("the module", |name| &self.ast[name.name]);
        let mut hint = format!(
            "{} is in {}: add `private {name} = {first}.` to the slots of {class}",
            quoted(name),
            places.join(" and in "),
        );
        let has_platform =
            module.factory.parameters.iter().any(|p| self.ast[p.name] == *"platform");
        if !has_platform {
            hint += &format!(", and begin with `class {class} usingPlatform: platform = …`");
        }
        Some(hint)
    }

    /// A member that begins with the same word and takes another number of arguments.
    fn other_arity(&self, selector: &str) -> Option<String> {
        let first = selector.split(':').next()?;
        let names = self.visible_names();
        let is_like = |name: &&String| {
            let word = name.split(':').next().unwrap_or(name);
            word == first && name.matches(':').count() != selector.matches(':').count()
        };
        let other = names.iter().find(is_like)?;
        Some(match other.matches(':').count() {
            0 => format!("there is {}, which takes no argument", quoted(other)),
            1 => format!("there is {}, which takes one argument", quoted(other)),
            count => format!("there is {}, which takes {count} arguments", quoted(other)),
        })
    }

    /// All names that mean something here.
    fn visible_names(&self) -> Vec<String> {
        let variables = self.scopes.variables.iter();
        let mut names: Vec<String> =
            variables.map(|variable| self.ast[variable.name].to_owned()).collect();
        for place in self.places.iter().rev() {
            let class = ClassRef::Text(place.class);
            names.extend(self.classes.all_members(class, place.side));
        }
        names
    }

    /// A name of the library that is close to this one, if nothing in the text is.
    fn remedy_in_library(&self, selector: &str, is_name: bool) -> Option<String> {
        if !is_name || !selector.starts_with(|first: char| first.is_uppercase()) {
            return None;
        }
        let classes = self.classes.library.classes();
        let names =
            classes.filter(|class| class.access == Access::Public).map(|class| class.name());
        let name = closest(selector, names)?;
        let place = self.place_in_library(name)?;
        Some(format!("did you mean {}? {place}", quoted(name)))
    }

    // Assignments

    /// A name on the left of `::`.
    pub fn assigned(&mut self, target: Identifier) {
        if let Some(variable) = self.scopes.find_mut(target.name) {
            variable.is_assigned = true;
            return;
        }
        let name = &self.ast[target.name];
        let setter = format!("{name}:");
        if self.is_lexical(&setter) || self.may_be_inherited(self.place(), &setter) {
            return;
        }
        if !self.reported.insert(format!("{name}::")) {
            return;
        }
        let slot = self.constant_slot(target.name);
        let diagnostic = match slot {
            Some(span) => {
                let message = format!("the slot {} is a constant", quoted(name));
                Diagnostic::warning(Code::AssignedConstant, message, target.span)
                    .and_label(span, "declared by `=`")
                    .with_hint(format!(
                        "to assign it, declare it by {}",
                        quoted(&format!("{name} ::= …"))
                    ))
            }
            None => {
                let message = format!("there is no variable {} to assign", quoted(name));
                let names = self.visible_names();
                let names = names.iter().filter_map(|name| name.strip_suffix(':'));
                let variables = self.scopes.variables.iter().map(|v| &self.ast[v.name]);
                let hint = match closest(name, names.chain(variables)) {
                    Some(close) => format!("did you mean {}?", quoted(close)),
                    None => format!(
                        "declare it: `| {name} |` at the beginning of the method, or a slot `private {name} ::= nil.`"
                    ),
                };
                Diagnostic::warning(Code::UndeclaredName, message, target.span).with_hint(hint)
            }
        };
        self.report(diagnostic);
    }

    /// The slot of this name around the code.
    fn constant_slot(&self, name: Name) -> Option<Span> {
        self.places.iter().rev().find_map(|place| {
            let slots = self.ast[place.class].slots.iter().map(|&slot| &self.ast[slot]);
            slots.map(|slot| slot.name).find(|slot| slot.name == name).map(|slot| slot.span)
        })
    }

    // Self, super, superclasses

    fn send_to_self(&mut self, place: Place, selector: &str, message: &Message) {
        if self.may_be_inherited(place, selector) || !self.reported.insert(selector.to_owned()) {
            return;
        }
        let class = self.classes.name(ClassRef::Text(place.class));
        let text = format!("{class} has no {}, and inherits none", quoted(selector));
        let mut diagnostic = Diagnostic::unknown_message(selector, text, message.selector_span);
        diagnostic.hint = match self.is_lexical(selector) {
            true => Some("a class around it has one: leave out the receiver".into()),
            false => {
                let names = self.classes.all_members(ClassRef::Text(place.class), place.side);
                self.hint_for(selector, message, &names)
            }
        };
        self.report(diagnostic);
    }

    fn send_to_super(&mut self, place: Place, selector: &str, message: &Message) {
        let Some(parents) = self.classes.parents(ClassRef::Text(place.class)) else { return };
        let is_missing =
            |&parent: &ClassRef| self.classes.find(parent, place.side, selector) == Found::Missing;
        if parents.iter().all(is_missing) && self.reported.insert(format!("super {selector}")) {
            let class = self.class_name();
            let text = format!("no superclass of {class} has {}", quoted(selector));
            self.report(Diagnostic::unknown_message(selector, text, message.selector_span));
        }
    }

    /// The superclass clause: a name in the scope of the enclosing object.
    pub fn superclass(&mut self, class: ClassId, inheritance: &Inheritance) {
        let crate::ast::ExpressionKind::Send { receiver: Receiver::Implicit, message } =
            self.ast[inheritance.class].kind
        else {
            return;
        };
        let (name, message) = self.message(message);
        // The places around the class; for the module there is only what all objects have.
        let Some(own) = self.places.pop() else { return };
        let is_known = match self.places.last() {
            Some(&place) => {
                self.scopes.find(message.selector).is_some()
                    || self.is_lexical(name)
                    || self.may_be_inherited(place, name)
            }
            None => self.classes.library_class("Kernel.Thing").is_none_or(|thing| {
                self.classes.find(thing, Side::Instance, name) != Found::Missing
            }),
        };
        if is_known || class == self.ast.module && self.is_kernel() {
            self.places.push(own);
            return;
        }
        if self.places.is_empty() {
            self.superclass_of_module(name, message);
        } else {
            self.undeclared(name, message);
        }
        self.places.push(own);
    }

    fn superclass_of_module(&mut self, name: &str, message: &Message) {
        let text = format!("nothing is called {} here", quoted(name));
        self.report(
            Diagnostic::warning(Code::UndeclaredName, text, message.selector_span)
                .labelled("the superclass of a module")
                .with_hint("a module inherits from `Value` or `Object`; other classes are known inside of it"),
        );
    }

    fn is_kernel(&self) -> bool {
        self.classes.name(ClassRef::Text(self.ast.module)) == "Kernel"
    }
}
