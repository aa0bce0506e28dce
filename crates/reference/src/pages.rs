//! The pages: one with all modules, and one for each module. [`crate::reference`] calls it.
//!
//! The templates escape all texts; only [`markup`](crate::markup) makes HTML of a text. A page is complete without its
//! script, which adds the search.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use squall_newspeak::ast::Access;

use crate::links::{INDEX, Links, Place, anchor, encoded};
use crate::markup::{comment, sentence};
use crate::model::{ClassEntry, Kind, Member, Module};

/// The page that lists the modules.
pub fn index(links: &Links<'_>) -> String {
    let numbers = |is_library: bool| {
        let modules = links.modules.iter().enumerate();
        let modules = modules.filter(move |(_, module)| module.is_library == is_library);
        modules.map(|(number, _)| number).collect::<Vec<_>>()
    };
    let groups = [("Modules", numbers(false)), ("Modules of the platform", numbers(true))];
    let content = html! {
        h1 { "Reference" }
        @for (title, modules) in groups.iter().filter(|(_, modules)| !modules.is_empty()) {
            h2 { (title) }
            dl {
                @for &module in modules { (module_entry(links, module)) }
            }
        }
    };
    page(links, "Reference", None, content)
}

fn module_entry(links: &Links<'_>, number: usize) -> Markup {
    let module = &links.modules[number];
    let said = module.classes.first().and_then(|class| class.comment.as_deref()).map(sentence);
    let classes = module.classes.iter().enumerate().skip(1);
    let classes: Vec<_> = classes.filter(|(_, class)| class.access == Access::Public).collect();
    html! {
        dt {
            a href=(links.page(number)) { (module.name) }
            // Several modules of a user may have the same name.
            @if !module.is_library { " " span.place { (module.place) } }
        }
        dd {
            @if let Some(said) = said { p { (said) } }
            @if !module.mistakes.is_empty() { p.mistake { "Parts of it could not be read." } }
            @if !classes.is_empty() {
                ul.names {
                    @for (class, entry) in classes {
                        li { a href=(links.to_class((number, class))) { (entry.name()) } }
                    }
                }
            }
        }
    }
}

/// The page of a module.
pub fn module(links: &Links<'_>, number: usize) -> String {
    let module = &links.modules[number];
    let contents = (!module.classes.is_empty()).then(|| {
        html! {
            ul {
                @for (class, entry) in module.classes.iter().enumerate() {
                    li.{ "depth" (entry.depth().min(4)) } {
                        a href=(to_class_here(links, (number, class))) { (entry.name()) }
                    }
                }
            }
        }
    });
    let content = html! {
        @if module.classes.is_empty() { h1 { (module.name) } }
        (mistakes(module))
        @for class in 0..module.classes.len() { (class_section(links, (number, class))) }
    };
    page(links, &module.name, contents, content)
}

fn to_class_here(links: &Links<'_>, place: Place) -> String {
    format!("#{}", encoded(&links.class(place).path))
}

fn mistakes(module: &Module) -> Markup {
    html! {
        @if !module.mistakes.is_empty() {
            section.mistake {
                h2 { "Not readable" }
                p { "These parts of " code { (module.place) } " have mistakes and are missing here:" }
                ul {
                    @for mistake in &module.mistakes {
                        li { "line " (mistake.line) ": " (mistake.message) }
                    }
                }
            }
        }
    }
}

// Classes

fn class_section(links: &Links<'_>, place: Place) -> Markup {
    let (module, class) = (&links.modules[place.0], links.class(place));
    let heading = html! {
        a href=(to_class_here(links, place)) { (class.name()) }
        @if class.access != Access::Public { " " span.badge { (access_name(class.access)) } }
    };
    html! {
        section.class id=(class.path) {
            @if class.depth() == 0 {
                h1 { (heading) }
                p.place { "module in " code { (module.place) } }
            } @else {
                h2 { (heading) }
                @if let Some(category) = &class.category { p.place { (category) } }
            }
            (facts(links, place))
            @if let Some(text) = &class.comment { div.comment { (markup(text, links, place)) } }
            (members(links, place))
            (inherited(links, place))
        }
    }
}

/// The factory, the class around, superclass, mixins and subclasses.
fn facts(links: &Links<'_>, place: Place) -> Markup {
    let class = links.class(place);
    let superclass = class.parents.first();
    let mixins = class.parents.get(1..).unwrap_or_default();
    let around = class.path.rsplit_once('.').map(|(around, _)| around);
    let subclasses = links.subclasses(place);
    html! {
        dl.facts {
            dt { "Instances" } dd { code { (class.head) } }
            @if let Some(around) = around {
                dt { "Inside" } dd { a href={ "#" (encoded(around)) } { (around) } }
            }
            @if let Some(superclass) = superclass {
                dt { "Superclass" } dd { (parent(links, place, superclass)) }
            }
            @if !mixins.is_empty() {
                dt { "Mixins" }
                dd { ul.names { @for mixin in mixins { li { (parent(links, place, mixin)) } } } }
            }
            @if !subclasses.is_empty() {
                dt { "Subclasses" }
                dd { ul.names { @for &class in subclasses { li { (class_link(links, class)) } } } }
            }
        }
    }
}

fn parent(links: &Links<'_>, place: Place, parent: &crate::model::Parent) -> Markup {
    match links.parent(place, parent) {
        Some(class) => class_link(links, class),
        None => html! { code { (parent.text) } },
    }
}

fn class_link(links: &Links<'_>, place: Place) -> Markup {
    html! { a href=(links.to_class(place)) { (links.class(place).path) } }
}

// Members

fn members(links: &Links<'_>, place: Place) -> Markup {
    html! {
        @for access in [Access::Public, Access::Protected, Access::Private] {
            @for title in ["slots", "class messages", "messages"] {
                (group(links, place, access, title))
            }
        }
    }
}

fn kind_title(member: &Member) -> &'static str {
    match member.kind {
        Kind::Slot { .. } => "slots",
        Kind::ClassMessage => "class messages",
        Kind::Message => "messages",
    }
}

/// The members of one kind and visibility, by category.
fn group(links: &Links<'_>, place: Place, access: Access, title: &str) -> Markup {
    let class = links.class(place);
    let members = class.members.iter();
    let members = members.filter(|member| member.access == access && kind_title(member) == title);
    let mut categories: Vec<(Option<&str>, Vec<&Member>)> = Vec::new();
    for member in members {
        let category = member.category.as_deref();
        match categories.iter_mut().find(|(known, _)| *known == category) {
            Some((_, members)) => members.push(member),
            None => categories.push((category, vec![member])),
        }
    }
    html! {
        @if !categories.is_empty() {
            h3 { (capitalised(access_name(access))) " " (title) }
            @for (category, members) in categories {
                @if let Some(category) = category { h4 { (category) } }
                @for member in members { (member_section(links, place, class, member)) }
            }
        }
    }
}

fn member_section(links: &Links<'_>, place: Place, class: &ClassEntry, member: &Member) -> Markup {
    let id = anchor(class, member);
    let file = &links.modules[place.0].place;
    let heading = html! {
        a href={ "#" (encoded(&id)) } {
            @if member.kind == Kind::ClassMessage { "class " }
            (member.head)
        }
        @if member.kind == (Kind::Slot { is_mutable: true }) {
            " " span.badge { "can be set" }
        }
    };
    html! {
        section.member id=(id) {
            @if member.category.is_some() { h5 { (heading) } } @else { h4 { (heading) } }
            @if let Some(text) = &member.comment { div.comment { (markup(text, links, place)) } }
            details {
                summary aria-label={ "Source of " (member.selector) } { "Source" }
                p.place { (file) ", line " (member.line) }
                pre tabindex="0" { code { (member.source) } }
            }
        }
    }
}

fn inherited(links: &Links<'_>, place: Place) -> Markup {
    let inherited = links.inherited(place);
    let unknown = links.unknown_ancestors(place);
    let names = inherited.iter().map(|(ancestor, _)| links.class(*ancestor).path.as_str());
    let names: Vec<&str> = names.chain(unknown.iter().copied()).collect();
    html! {
        @if !names.is_empty() {
            details.inherited {
                summary { "Inherited from " (names.join(", ")) }
                @for (ancestor, members) in &inherited {
                    p { "From " (class_link(links, *ancestor)) }
                    ul.names {
                        @for member in members {
                            li {
                                a href=(links.to_member(*ancestor, member)) { (member.selector) }
                            }
                        }
                    }
                }
                @for name in unknown {
                    p { "And the members of " code { (name) } ", which these pages do not show." }
                }
            }
        }
    }
}

fn markup(text: &str, links: &Links<'_>, place: Place) -> Markup {
    PreEscaped(comment(text, links, place))
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Public => "public",
        Access::Protected => "protected",
        Access::Private => "private",
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

// The frame

/// A page with the search above and the contents beside it.
fn page(links: &Links<'_>, title: &str, contents: Option<Markup>, content: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="stylesheet" href="reference.css";
                script src="reference.js" defer {}
                script src="names.js" defer {}
            }
            body {
                a.skip href="#page:content" { "To the content" }
                header {
                    @if let Some(site) = links.site { a href=(site) { "Squall" } }
                    a.home href=(INDEX) { "Reference" }
                    (search())
                }
                @if let Some(contents) = contents {
                    nav aria-label="Classes" { (contents) }
                }
                main id="page:content" tabindex="-1" { (content) }
            }
        }
    };
    page.into_string() + "\n"
}

/// The search, which the script shows.
fn search() -> Markup {
    html! {
        search hidden {
            input type="search" placeholder="Search ( / )" aria-label="Search all names"
                role="combobox" aria-expanded="false" aria-controls="page:found" aria-autocomplete="list"
                autocomplete="off" spellcheck="false";
            ul id="page:found" role="listbox" aria-label="Found names" hidden {}
        }
    }
}
