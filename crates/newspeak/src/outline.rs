//! Outlines: the interfaces of the library's classes, by which [`check`](crate::check) knows names that a program does
//! not declare itself. The build makes them of the library's text, and tools read them.
//!
//! An outline has a text form, one line per item, which the build embeds:
//!
//! ```text
//! class Collections.Set public new i 7000 9000 Collections.HashTable
//! - add: public ? 7100 7200
//! + withAll: public ? 7300 7400
//! ```
//!
//! A class line has path, access, factory, `i` (or `?` if its superclass is unknown), place and parents. A `-` line is a
//! member of the instance side, a `+` line one of the class side: selector, access, what it denotes, place. A member
//! denotes a class (`cKernel.Vector`), an instance of one (`iCollections`), or something unknown (`?`). Places are byte
//! offsets in the module's text.

use std::collections::HashMap;
use std::fmt::Write;

use crate::ast::Access;
use crate::source::Span;

/// The interfaces of classes.
#[derive(Clone, Default, Debug)]
pub struct Library {
    classes: Vec<ClassOutline>,
    by_path: HashMap<String, usize>,
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
        let by_path = classes.iter().enumerate().map(|(index, class)| (class.path.clone(), index));
        Library { by_path: by_path.collect(), classes }
    }

    /// The library with this text form. Lines that are none are skipped.
    pub fn of_text(text: &str) -> Library {
        let mut classes: Vec<ClassOutline> = Vec::new();
        for line in text.lines() {
            if let Some(class) = line.strip_prefix("class ") {
                classes.extend(class_of_line(class));
            } else if let (Some(class), Some((sign, line))) =
                (classes.last_mut(), line.split_once(' '))
            {
                let side = if sign == "+" { &mut class.class_side } else { &mut class.instance };
                side.extend(member_of_line(line));
            }
        }
        Library::new(classes)
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for class in &self.classes {
            let access = access_name(class.access);
            let (start, end) = (class.span.start, class.span.end);
            let parents = class.parents.as_ref();
            let known = if parents.is_some() { 'i' } else { '?' };
            let parents = parents.map(|parents| parents.join(" ")).unwrap_or_default();
            let (path, factory) = (&class.path, &class.factory);
            let line = format!("class {path} {access} {factory} {known} {start} {end} {parents}");
            _ = writeln!(text, "{}", line.trim_end());
            for (sign, members) in [("-", &class.instance), ("+", &class.class_side)] {
                members
                    .iter()
                    .for_each(|member| _ = writeln!(text, "{sign} {}", member_line(member)));
            }
        }
        text
    }

    /// All classes, module by module.
    pub fn classes(&self) -> &[ClassOutline] {
        &self.classes
    }

    /// The number of the class at this path.
    pub fn find(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The class with this number.
    pub fn class(&self, number: usize) -> &ClassOutline {
        &self.classes[number]
    }

    /// The names by which the platform answers its modules, and the modules' names.
    pub fn modules(&self) -> impl Iterator<Item = (&str, &str)> {
        let platform = self.find("Platform").map(|number| &self.classes[number]);
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
                .is_some_and(|class| self.classes[class].access == Access::Public)
        });
        modules.map(|(accessor, _)| format!("platform {accessor}")).collect()
    }
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
