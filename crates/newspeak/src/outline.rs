//! Outlines: the interfaces of the library's classes, by which [`check`](crate::check) knows names that a program does
//! not declare itself. The build makes them of the library's text, and tools read them.
//!
//! An outline has a text form, one line per item, which the build embeds:
//!
//! ```text
//! = add: public
//! = withAll: public
//! class Collections.Set public new i 7000 9000 Collections.HashTable
//! - add: public ? 7100 7200
//! + withAll: public ? 7300 7400
//! ```
//!
//! First, in alphabetical order, there is a `=` line for each selector that a class understands, with its widest
//! visibility. A class line has path, access, factory, `i` (or `?` if its superclass is unknown), place and parents. A `-` line is a
//! member of the instance side, a `+` line one of the class side: selector, access, what it denotes, place. A member
//! denotes a class (`cKernel.Vector`), an instance of one (`iCollections`), or something unknown (`?`). Places are byte
//! offsets in the module's text.
//!
//! A text is parsed class by class, when a class is first asked for: each start of a program would wait for all of it,
//! and most programs name few of the classes.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::OnceLock;

use crate::ast::Access;
use crate::source::Span;

/// The interfaces of classes.
#[derive(Clone, Default, Debug)]
pub struct Library {
    classes: Vec<Entry>,
    by_path: HashMap<Cow<'static, str>, usize>,
    /// The `=` lines.
    selectors: Cow<'static, str>,
}

/// A class, parsed or to be parsed.
#[derive(Clone, Debug)]
struct Entry {
    /// Its line and those of its members; empty if it is parsed.
    lines: &'static str,
    outline: OnceLock<ClassOutline>,
}

impl Entry {
    fn outline(&self) -> &ClassOutline {
        self.outline.get_or_init(|| class_of_lines(self.lines))
    }
}

/// The interface of a class.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassOutline {
    /// The names of its module and of the classes around it, and its own, separated by periods.
    pub path: String,
    /// Its visibility.
    pub access: Access,
    /// The selector of the primary factory.
    pub factory: String,
    /// The paths of superclass and mixins; none if one of them is unknown.
    pub parents: Option<Vec<String>>,
    /// Members of the instance side.
    pub instance: Vec<Member>,
    /// Members of the class side, without the primary factory.
    pub class_side: Vec<Member>,
    /// The declaration.
    pub span: Span,
}

/// A slot, nested class or method.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// Its selector.
    pub selector: String,
    /// Its visibility.
    pub access: Access,
    /// The answer, if that is always a certain class or an instance of one.
    pub denotes: Denoted,
    /// The declaration.
    pub span: Span,
}

/// The answer of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Denoted {
    /// Unknown.
    Any,
    /// The class at this path.
    Class(String),
    /// An instance of the class at this path.
    Instance(String),
}

impl ClassOutline {
    /// The class's own name.
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }

    /// The name of the class's module.
    pub fn module(&self) -> &str {
        self.path.split('.').next().unwrap_or(&self.path)
    }

    /// The member of the instance side with this selector.
    pub fn member(&self, selector: &str) -> Option<&Member> {
        self.instance.iter().find(|member| member.selector == selector)
    }
}

impl Library {
    /// A library of these classes.
    pub fn new(classes: Vec<ClassOutline>) -> Library {
        let selectors = Cow::Owned(selector_lines(&classes));
        let paths = classes.iter().enumerate().map(|(index, class)| (class.path.clone(), index));
        let by_path = paths.map(|(path, index)| (Cow::Owned(path), index)).collect();
        let parsed = |class| Entry { lines: "", outline: OnceLock::from(class) };
        Library { classes: classes.into_iter().map(parsed).collect(), by_path, selectors }
    }

    /// The library with this text form.
    pub fn of_text(text: &'static str) -> Library {
        let mut parts = text.split(CLASS);
        let selectors = parts.next().unwrap_or_default();
        let mut library = Library { selectors: Cow::Borrowed(selectors), ..Library::default() };
        for (index, lines) in parts.enumerate() {
            let path = lines.split(' ').next().unwrap_or_default();
            library.by_path.insert(Cow::Borrowed(path), index);
            library.classes.push(Entry { lines, outline: OnceLock::new() });
        }
        library
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        let mut text = self.selectors.to_string();
        for class in self.classes() {
            let access = access_name(class.access);
            let (start, end) = (class.span.start, class.span.end);
            let parents = class.parents.as_ref();
            let known = if parents.is_some() { 'i' } else { '?' };
            let parents = parents.map(|parents| parents.join(" ")).unwrap_or_default();
            let (path, factory) = (&class.path, &class.factory);
            let line = format!("{CLASS}{path} {access} {factory} {known} {start} {end} {parents}");
            text.push_str(line.trim_end());
            for (sign, members) in [("-", &class.instance), ("+", &class.class_side)] {
                members
                    .iter()
                    .for_each(|member| _ = write!(text, "\n{sign} {}", member_line(member)));
            }
        }
        text
    }

    /// Whether there are no classes.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// All classes, module by module.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = &ClassOutline> {
        self.classes.iter().map(Entry::outline)
    }

    /// All selectors that a class understands, in alphabetical order, each with its widest visibility.
    pub fn selectors(&self) -> impl Iterator<Item = (&str, Access)> {
        self.selectors.lines().filter_map(selector_of_line)
    }

    /// The widest visibility of the members with this selector; `None` if there are none.
    pub fn access_of(&self, selector: &str) -> Option<Access> {
        let mut lines: &str = &self.selectors;
        while !lines.is_empty() {
            let middle = start_of_line(lines, lines.len() / 2);
            let line = lines[middle..].lines().next().unwrap_or_default();
            let (found, access) = selector_of_line(line)?;
            lines = match selector.cmp(found) {
                Ordering::Equal => return Some(access),
                Ordering::Less => &lines[..middle],
                Ordering::Greater => lines[middle + line.len()..].trim_start_matches('\n'),
            };
        }
        None
    }

    /// The number of the class at this path.
    pub fn find(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The class with this number.
    pub fn class(&self, number: usize) -> &ClassOutline {
        self.classes[number].outline()
    }

    /// The names by which the platform answers its modules, and the modules' names.
    pub fn modules(&self) -> impl Iterator<Item = (&str, &str)> {
        let platform = self.find("Platform").map(|number| self.class(number));
        platform.into_iter().flat_map(|platform| &platform.instance).filter_map(|member| {
            match &member.denotes {
                Denoted::Instance(path) => Some((&*member.selector, &**path)),
                _ => None,
            }
        })
    }

    /// How a program reaches the public classes of this name: `platform collections Set`, for example.
    pub fn ways_to(&self, name: &str) -> Vec<String> {
        let modules = self.modules().filter(|(_, module)| {
            self.find(&format!("{module}.{name}"))
                .is_some_and(|class| self.class(class).access == Access::Public)
        });
        modules.map(|(accessor, _)| format!("platform {accessor}")).collect()
    }
}

/// Begins a class, in a text that has lines before it.
const CLASS: &str = "\nclass ";

/// The widest of the visibilities that a selector has in several classes.
pub fn widest(one: Access, other: Access) -> Access {
    match (one, other) {
        (Access::Public, _) | (_, Access::Public) => Access::Public,
        (Access::Private, Access::Private) => Access::Private,
        _ => Access::Protected,
    }
}

/// The `=` lines of these classes, without the end of the last one.
fn selector_lines(classes: &[ClassOutline]) -> String {
    let mut selectors: BTreeMap<&str, Access> = BTreeMap::new();
    for class in classes {
        let members = class.instance.iter().chain(&class.class_side);
        let members = members.map(|member| (&*member.selector, member.access));
        for (selector, access) in members.chain([(&*class.factory, Access::Public)]) {
            let known = selectors.entry(selector).or_insert(access);
            *known = widest(*known, access);
        }
    }
    let line = |(selector, access)| format!("= {selector} {}", access_name(access));
    selectors.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn selector_of_line(line: &str) -> Option<(&str, Access)> {
    let (selector, access) = line.strip_prefix("= ")?.split_once(' ')?;
    Some((selector, access_of(access)))
}

/// Where the line begins that a place in a text belongs to.
fn start_of_line(text: &str, place: usize) -> usize {
    text.as_bytes()[..place].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

/// The class with these lines, the first without its first word.
fn class_of_lines(lines: &str) -> ClassOutline {
    let mut lines = lines.lines();
    let class = lines.next().and_then(class_of_line);
    let mut class = class.expect("the build writes a class's line whole");
    for (sign, line) in lines.filter_map(|line| line.split_once(' ')) {
        let side = if sign == "+" { &mut class.class_side } else { &mut class.instance };
        side.extend(member_of_line(line));
    }
    class
}

fn class_of_line(line: &str) -> Option<ClassOutline> {
    let mut words = line.split(' ');
    let path = words.next()?.to_owned();
    let access = access_of(words.next()?);
    let factory = words.next()?.to_owned();
    let is_known = words.next()? == "i";
    let span = span_of(&mut words)?;
    let parents = is_known.then(|| words.map(str::to_owned).collect());
    let (instance, class_side) = (Vec::new(), Vec::new());
    Some(ClassOutline { path, access, factory, parents, instance, class_side, span })
}

fn member_of_line(line: &str) -> Option<Member> {
    let mut words = line.split(' ');
    let selector = words.next()?.to_owned();
    let access = access_of(words.next()?);
    let denotes = words.next()?;
    let denotes = match denotes.split_at_checked(1) {
        Some(("c", path)) => Denoted::Class(path.to_owned()),
        Some(("i", path)) => Denoted::Instance(path.to_owned()),
        _ => Denoted::Any,
    };
    Some(Member { selector, access, denotes, span: span_of(&mut words)? })
}

fn span_of<'t>(words: &mut impl Iterator<Item = &'t str>) -> Option<Span> {
    let start = words.next()?.parse().ok()?;
    Some(Span { start, end: words.next()?.parse().ok()? })
}

fn member_line(member: &Member) -> String {
    let denotes = match &member.denotes {
        Denoted::Any => "?".to_owned(),
        Denoted::Class(path) => format!("c{path}"),
        Denoted::Instance(path) => format!("i{path}"),
    };
    let Span { start, end } = member.span;
    format!("{} {} {denotes} {start} {end}", member.selector, access_name(member.access))
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Private => "private",
        Access::Protected => "protected",
        Access::Public => "public",
    }
}

fn access_of(name: &str) -> Access {
    match name {
        "public" => Access::Public,
        "private" => Access::Private,
        _ => Access::Protected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(path: &str, members: &[(&str, Access)]) -> ClassOutline {
        let span = Span { start: 1, end: 2 };
        let member = |&(selector, access): &(&str, Access)| Member {
            selector: selector.to_owned(),
            access,
            denotes: Denoted::Instance("M.A".to_owned()),
            span,
        };
        ClassOutline {
            path: path.to_owned(),
            access: Access::Public,
            factory: "new".to_owned(),
            parents: Some(vec!["M.A".to_owned()]),
            instance: members.iter().map(member).collect(),
            class_side: members.iter().take(1).map(member).collect(),
            span,
        }
    }

    #[test]
    fn the_text_form_has_everything() {
        use Access::{Private, Protected, Public};
        let classes = vec![
            class("M.A", &[("add:", Private), ("at:put:", Public), ("size", Protected)]),
            class("M.B", &[("add:", Protected), ("size", Private), ("zip", Private)]),
            class("M.Empty", &[]),
        ];
        let library = Library::of_text(Library::new(classes.clone()).to_text().leak());
        assert!(library.classes().eq(&classes));
        assert_eq!(library.find("M.B"), Some(1));
        let selectors = [
            ("add:", Protected),
            ("at:put:", Public),
            ("new", Public),
            ("size", Protected),
            ("zip", Private),
        ];
        assert!(library.selectors().eq(selectors));
        for (selector, access) in selectors {
            assert_eq!(library.access_of(selector), Some(access), "{selector}");
        }
        for unknown in ["", "a", "add", "at:", "neww", "zzz"] {
            assert_eq!(library.access_of(unknown), None, "{unknown}");
        }
        assert!(Library::of_text("").is_empty() && Library::default().access_of("x").is_none());
    }
}
