//! The knowledge of `squall repl` about the library: comments and texts of classes and methods, and the messages that a
//! receiver understands. The commands `:doc` and `:source` of the loop ask for the texts, and completion asks for the
//! messages.

use std::collections::BTreeSet;
use std::fmt::Write;

use squall::library::{outline, source};
use squall_newspeak::Span;
use squall_newspeak::ast::Access;

/// The part of a declaration that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The comment before it.
    Comment,
    /// The text of it.
    Text,
}

/// More declarations than this are not shown at once.
const MOST: usize = 12;

/// Describes `Class`, `Class selector`, or all public methods with a `selector`.
pub fn describe(name: &str, part: Part) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    let found = match words[..] {
        [name] => classes_and_methods(name),
        [class, selector] => methods(Some(class), selector),
        _ => Vec::new(),
    };
    let mut text = String::new();
    for place in found.iter().take(MOST) {
        _ = writeln!(text, "{}", place.show(part));
    }
    match found.len() {
        0 => format!("nothing in the library is called {}\n", name.trim()),
        count if count > MOST => {
            text + &format!("and {} more: name the class, too\n", count - MOST)
        }
        _ => text,
    }
}

/// A declaration of the library.
#[derive(Clone)]
struct Place {
    module: &'static str,
    title: String,
    span: Span,
}

/// The classes with a name, and the methods and slots that are none of these classes.
fn classes_and_methods(name: &str) -> Vec<Place> {
    let classes = classes(name);
    let mut methods = methods(None, name);
    methods.retain(|method| classes.iter().all(|class| !class.is_same(method)));
    [classes, methods].concat()
}

fn classes(name: &str) -> Vec<Place> {
    let classes = outline().classes();
    let classes = classes.filter(|class| class.access == Access::Public && class.name() == name);
    let place = |class: &'static squall_newspeak::outline::ClassOutline| Place {
        module: class.module(),
        title: format!("{} (in {})", class.name(), class.module()),
        span: class.span,
    };
    classes.map(place).collect()
}

fn methods(class: Option<&str>, selector: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for found in outline().classes() {
        if class.is_some_and(|class| found.name() != class) {
            continue;
        }
        let sides = [("", &found.instance), (" class", &found.class_side)];
        for (side, members) in sides {
            let members = members.iter();
            let is_it = |member: &&squall_newspeak::outline::Member| {
                member.selector == selector && member.access == Access::Public
            };
            places.extend(members.filter(is_it).map(|member| Place {
                module: found.module(),
                title: format!("{}{side}>>{selector}", found.name()),
                span: member.span,
            }));
        }
    }
    places
}

impl Place {
    /// Whether both are the same declaration.
    fn is_same(&self, other: &Place) -> bool {
        (self.module, self.span) == (other.module, other.span)
    }

    fn show(&self, part: Part) -> String {
        let text = source(self.module).unwrap_or_default();
        match part {
            Part::Comment => {
                let comment = comment_before(text, self.span.range().start);
                format!("{}\n  {}", self.title, comment.unwrap_or("without a comment of its own"))
            }
            Part::Text => {
                let line = text[..self.span.range().start].matches('\n').count() + 1;
                let declaration = &text[self.span.range()];
                format!("{} (lib/{}.ns:{line})\n    {declaration}", self.title, self.module)
            }
        }
    }
}

/// The comment that ends before a declaration, without its brackets.
fn comment_before(text: &str, start: usize) -> Option<&str> {
    let before = text[..start].trim_end().strip_suffix("*)")?;
    // Comments of the library nest in no other.
    let comment = before[before.rfind("(*")? + 2..].trim();
    (!comment.starts_with("---")).then_some(comment)
}

/// The public messages for the receiver that the text before a word ends with. `None` if nothing is known about it.
pub fn members_for(before: &str) -> Option<BTreeSet<String>> {
    let text = before.strip_suffix(char::is_whitespace)?.trim_end();
    let last = text.chars().next_back()?;
    let word = text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let is_class = word.starts_with(char::is_uppercase);
    let class = match last {
        '\'' => "String",
        ']' => "Block",
        '}' => "Array",
        _ if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) => "Integer",
        _ if is_class => word,
        _ => match word {
            "nil" => "Nil",
            "true" => "True",
            "false" => "False",
            _ => return None,
        },
    };
    let mut classes = outline().classes();
    let class = classes.find(|found| found.name() == class && found.access == Access::Public)?;
    let mut members = BTreeSet::new();
    collect(&class.path, is_class, &mut members);
    if is_class {
        members.insert(class.factory.clone());
        collect("Kernel.Class", false, &mut members);
    }
    Some(members)
}

/// Adds the public members of a class and of those that it inherits from.
fn collect(path: &str, is_class_side: bool, members: &mut BTreeSet<String>) {
    let Some(class) = outline().find(path).map(|number| outline().class(number)) else { return };
    let own = if is_class_side { &class.class_side } else { &class.instance };
    let own = own.iter().filter(|member| member.access == Access::Public);
    members.extend(own.map(|member| member.selector.clone()));
    // The library's classes do not inherit from themselves.
    for parent in class.parents.iter().flatten() {
        collect(parent, is_class_side, members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_decides_what_is_offered() {
        let has = |text: &str, member: &str| members_for(text).map(|found| found.contains(member));
        assert_eq!(has("3 + 'abc' ", "substringFrom:to:"), Some(true));
        assert_eq!(has("'abc' ", "whileTrue:"), Some(false));
        assert_eq!(has("[ x ] ", "whileTrue:"), Some(true));
        assert_eq!(has("x:: Vector ", "new:"), Some(true));
        assert_eq!(has("x:: Vector ", "append:"), Some(false));
        assert_eq!(has("x ", "append:"), None);
        assert_eq!(has("'abc", "size"), None);
    }

    #[test]
    fn comments_and_texts_are_shown() {
        assert!(describe("Vector append:", Part::Comment).starts_with("Vector>>append:\n  "));
        assert!(describe("Vector append:", Part::Text).contains("lastIndex"));
        assert!(describe("Nothing", Part::Text).contains("nothing in the library"));
        assert!(describe("asString", Part::Comment).contains("more: name the class"));
        // A class is a member of the class around it, too.
        assert_eq!(describe("Bag", Part::Comment).matches("Bag (in Tables)").count(), 1);
        assert!(!describe("Bag", Part::Comment).contains("Tables>>Bag"));
    }
}
