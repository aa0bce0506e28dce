//! The addresses of classes and members: which page, which place on it. The pages and the list of names ask it, so an
//! address that is written leads somewhere.
//!
//! Each module has a page. Page names differ by more than upper and lower case, and have letters, digits and `_` only.
//! Places on a page are `Module.Class` for a class, `Module.Class/selector` for a member of its instances, and
//! `Module.Class::selector` for one of the class itself. Those of the frame begin with `page:`.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use squall_newspeak::ast::Access;

use crate::model::{ClassEntry, Kind, Member, Module, Parent};

/// The name of the page that lists the modules.
pub const INDEX: &str = "index.html";

/// A class: the number of its module, and its own in it.
pub type Place = (usize, usize);

/// A class whose members another class has, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ancestor {
    /// The class.
    pub place: Place,
    /// Whether it is a mixin.
    pub is_mixin: bool,
}

/// The addresses.
pub struct Links<'a> {
    /// The modules.
    pub modules: &'a [Module],
    /// The address of the site that the reference is a part of.
    pub site: Option<&'a str>,
    pages: Vec<String>,
    by_path: HashMap<(usize, &'a str), usize>,
    library: HashMap<&'a str, Place>,
    /// The classes by their own names; none for a name that several modules have.
    by_name: HashMap<&'a str, Option<Place>>,
    subclasses: HashMap<Place, Vec<Place>>,
}

impl<'a> Links<'a> {
    /// The addresses of these modules, as a part of a site if it is given.
    pub fn new(modules: &'a [Module], site: Option<&'a str>) -> Links<'a> {
        let mut links = Links {
            modules,
            site,
            pages: page_names(modules),
            by_path: HashMap::new(),
            library: HashMap::new(),
            by_name: HashMap::new(),
            subclasses: HashMap::new(),
        };
        for place in links.places() {
            links.enter(place);
        }
        for place in links.places() {
            for parent in &links.class(place).parents {
                if let Some(parent) = links.parent(place, parent) {
                    links.subclasses.entry(parent).or_default().push(place);
                }
            }
        }
        links
    }

    fn enter(&mut self, place: Place) {
        let module = &self.modules[place.0];
        let class = &module.classes[place.1];
        // Of two classes with the same path, which is a mistake, the first one counts.
        self.by_path.entry((place.0, &class.path)).or_insert(place.1);
        if module.is_library {
            self.library.entry(&class.path).or_insert(place);
            let known = self.by_name.entry(class.name()).or_insert(Some(place));
            if *known != Some(place) {
                *known = None;
            }
        }
    }

    /// All classes.
    pub fn places(&self) -> Vec<Place> {
        let modules = self.modules.iter().enumerate();
        let of_module = |(number, module): (usize, &Module)| {
            (0..module.classes.len()).map(move |class| (number, class)).collect::<Vec<_>>()
        };
        modules.flat_map(of_module).collect()
    }

    /// The class at a place.
    pub fn class(&self, place: Place) -> &'a ClassEntry {
        &self.modules[place.0].classes[place.1]
    }

    /// The name of a module's page.
    pub fn page(&self, module: usize) -> &str {
        &self.pages[module]
    }

    /// The address of a class.
    pub fn to_class(&self, place: Place) -> String {
        format!("{}#{}", self.page(place.0), encoded(&self.class(place).path))
    }

    /// The address of a member of a class.
    pub fn to_member(&self, place: Place, member: &Member) -> String {
        format!("{}#{}", self.page(place.0), encoded(&anchor(self.class(place), member)))
    }

    /// The class that a superclass or mixin clause of a class names, if the pages show it.
    pub fn parent(&self, child: Place, parent: &Parent) -> Option<Place> {
        let path = parent.path.as_deref()?;
        match parent.is_own {
            true => self.by_path.get(&(child.0, path)).map(|&class| (child.0, class)),
            false => self.library.get(path).copied(),
        }
    }

    /// The classes that name this one as superclass or mixin.
    pub fn subclasses(&self, place: Place) -> &[Place] {
        self.subclasses.get(&place).map_or(&[], Vec::as_slice)
    }

    /// The classes whose members a class has, too, in the order of lookup: its mixins, its superclass, the mixins of that,
    /// and so on. Of a mixin, only the members count that its own text declares for instances.
    pub fn ancestors(&self, place: Place) -> Vec<Ancestor> {
        let (mut found, mut visited) = (Vec::new(), HashSet::new());
        let mut current = Some(place);
        while let Some(class) = current.filter(|class| visited.insert(*class)) {
            let parents = self.class(class).parents.split_first();
            let mixins = parents.map_or(&[][..], |(_, mixins)| mixins).iter().rev();
            let mixins = mixins.filter_map(|mixin| self.parent(class, mixin));
            found.extend(mixins.map(|place| Ancestor { place, is_mixin: true }));
            current = parents.and_then(|(superclass, _)| self.parent(class, superclass));
            let superclass = current.filter(|superclass| !visited.contains(superclass));
            found.extend(superclass.map(|place| Ancestor { place, is_mixin: false }));
        }
        found
    }

    /// The superclasses and mixins, of a class and its superclasses, that the pages do not show.
    pub fn unknown_ancestors(&self, place: Place) -> Vec<&'a str> {
        let superclasses = self.ancestors(place).into_iter().filter(|found| !found.is_mixin);
        let all = std::iter::once(place).chain(superclasses.map(|found| found.place));
        let mut unknown: Vec<&str> = Vec::new();
        for place in all {
            for parent in &self.class(place).parents {
                if self.parent(place, parent).is_none() && !unknown.contains(&parent.text.as_str())
                {
                    unknown.push(&parent.text);
                }
            }
        }
        unknown
    }

    /// The members that a class has from each other one, in the order of lookup, without those that it replaces.
    pub fn inherited(&self, place: Place) -> Vec<(Place, Vec<&'a Member>)> {
        let key = |member: &'a Member| (member.kind == Kind::ClassMessage, &member.selector);
        let mut seen: HashSet<_> = self.class(place).members.iter().map(key).collect();
        let mut inherited = Vec::new();
        for Ancestor { place, is_mixin } in self.ancestors(place) {
            let members = self.class(place).members.iter();
            let members = members.filter(|member| {
                member.access != Access::Private
                    && !(is_mixin && member.kind == Kind::ClassMessage)
                    && seen.insert(key(member))
            });
            let members: Vec<&Member> = members.collect();
            if !members.is_empty() {
                inherited.push((place, members));
            }
        }
        inherited
    }

    /// The class that a word in a comment of a class names: one of the same module, or the only one of the library with
    /// that name.
    pub fn named(&self, from: Place, word: &str) -> Option<Place> {
        let own = self.modules[from.0].classes.iter();
        let own = own.enumerate().find(|(_, class)| class.name() == word || class.path == word);
        own.map(|(number, _)| (from.0, number))
            .or_else(|| self.library.get(format!("Kernel.{word}").as_str()).copied())
            .or_else(|| self.library.get(word).copied())
            .or_else(|| self.by_name.get(word).copied().flatten())
    }

    /// The address of the message that a selector in a comment of a class names: one of the class, or an inherited one.
    pub fn message(&self, from: Place, selector: &str) -> Option<String> {
        let ancestors = self.ancestors(from).into_iter().map(|found| found.place);
        let mut found = std::iter::once(from).chain(ancestors).filter_map(|place| {
            let mut members = self.class(place).members.iter();
            let member = members.find(|member| member.selector == selector)?;
            Some(self.to_member(place, member))
        });
        found.next()
    }
}

/// The place of a member on its page.
pub fn anchor(class: &ClassEntry, member: &Member) -> String {
    let sign = if member.kind == Kind::ClassMessage { "::" } else { "/" };
    format!("{}{sign}{}", class.path, member.selector)
}

fn page_names(modules: &[Module]) -> Vec<String> {
    let mut used = HashSet::from(["index".to_owned()]);
    let mut name_of = |module: &Module| {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let name: String = module.name.chars().map(plain).take(100).collect();
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut candidates = std::iter::once(name.clone()).chain(numbered);
        let free = candidates.find(|name| used.insert(name.to_ascii_lowercase()));
        format!("{}.html", free.unwrap_or(name))
    };
    modules.iter().map(&mut name_of).collect()
}

/// A text as a part of an address.
pub fn encoded(text: &str) -> String {
    let mut address = String::new();
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' | b':' | b'/' => {
                address.push(byte.into());
            }
            _ => _ = write!(address, "%{byte:02X}"),
        }
    }
    address
}
