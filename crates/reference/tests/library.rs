//! The reference of the library: every public name is explained, every address leads somewhere, the search knows every
//! public name, and the same texts give the same files.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use squall_newspeak::ast::Access;
use squall_newspeak::{Library, Source, check, parse};
use squall_reference::model::{Kind, Module, describe};
use squall_reference::{File, Options, Text, reference};

/// The texts of the library.
fn texts() -> Vec<Text> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lib");
    let entries = std::fs::read_dir(folder).expect("the library's folder is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ns"));
    paths.sort();
    let text = |path: &std::path::PathBuf| {
        let name = path.file_name().expect("files have names").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("the library is UTF-8");
        Text { source: Source::new(format!("lib/{name}"), text), is_library: true }
    };
    paths.iter().map(text).collect()
}

/// What the compiler knows of the library, as the build of `squall` makes it.
fn outline(texts: &[Text]) -> Library {
    const ROUNDS: usize = 3;
    let trees: Vec<_> = texts.iter().filter_map(|text| parse(&text.source).ast).collect();
    (0..ROUNDS).fold(Library::default(), |library, _| {
        Library::new(trees.iter().flat_map(|tree| check::outlines(tree, &library)).collect())
    })
}

fn modules() -> Vec<Module> {
    let texts = texts();
    let library = outline(&texts);
    texts.iter().map(|text| describe(text, &library, false)).collect()
}

fn files() -> Vec<File> {
    let texts = texts();
    reference(&texts, &outline(&texts), Options::default())
}

#[test]
fn every_public_name_has_a_sentence() {
    let mut silent = Vec::new();
    for module in modules() {
        for class in &module.classes {
            if class.access == Access::Public && class.comment.is_none() {
                silent.push(format!("{}: {}", module.place, class.path));
            }
            let members = class.members.iter();
            let members = members
                .filter(|member| member.access == Access::Public && member.comment.is_none())
                .filter(|member| !matches!(member.kind, Kind::Slot { .. }));
            silent.extend(members.map(|member| {
                format!("{}:{}: {} {}", module.place, member.line, class.path, member.head)
            }));
        }
    }
    assert!(silent.is_empty(), "no comment explains these:\n{}", silent.join("\n"));
}

#[test]
fn every_address_leads_somewhere() {
    let files = files();
    let places: HashMap<&str, HashSet<String>> = files
        .iter()
        .map(|file| (file.name.as_str(), attributes(&file.content, "id").collect()))
        .collect();
    let mut dead = Vec::new();
    let mut count = 0;
    for file in files.iter().filter(|file| file.name.ends_with(".html")) {
        for address in attributes(&file.content, "href").chain(attributes(&file.content, "src")) {
            count += 1;
            if !leads_somewhere(&address, &file.name, &places) {
                dead.push(format!("{}: {address}", file.name));
            }
        }
    }
    for (name, address) in searched(&files) {
        count += 1;
        if !leads_somewhere(&address, "index.html", &places) {
            dead.push(format!("names.js: {name}: {address}"));
        }
    }
    assert!(count > 10_000, "only {count} addresses");
    assert!(dead.is_empty(), "these lead nowhere:\n{}", dead.join("\n"));
}

#[test]
fn the_search_knows_every_public_name() {
    let files = files();
    let known: HashSet<String> = searched(&files).map(|(name, _)| name).collect();
    let modules = modules();
    let classes = modules.iter().flat_map(|module| &module.classes);
    for class in classes.filter(|class| class.access == Access::Public) {
        assert!(known.contains(class.name()), "{}", class.path);
        for member in &class.members {
            assert!(known.contains(&member.selector), "{} {}", class.path, member.selector);
        }
    }
}

#[test]
fn equal_texts_give_equal_files() {
    for (first, second) in files().iter().zip(files()) {
        assert!(first.name == second.name && first.content == second.content, "{}", first.name);
    }
}

/// Texts that are cut off or lack a part are no reason to fail.
#[test]
fn texts_with_mistakes_have_pages() {
    const STEP: usize = 211;
    let texts = texts();
    let library = outline(&texts);
    let json = texts.iter().find(|text| text.source.name() == "lib/Json.ns");
    let whole = json.expect("it is there").source.text().as_bytes();
    for place in (0..whole.len()).step_by(STEP) {
        let end = (place + STEP / 2).min(whole.len());
        let damaged = [whole[..place].to_vec(), [&whole[..place], &whole[end..]].concat()];
        let text = |text: Vec<u8>| Text {
            source: Source::from_bytes("Damaged.ns", &text),
            is_library: false,
        };
        let files =
            reference(&damaged.map(text), &library, Options { shows_private: true, site: None });
        assert_eq!(files.len(), 6, "cut at {place}");
    }
}

/// The names of the search, with their addresses.
fn searched(files: &[File]) -> impl Iterator<Item = (String, String)> {
    let file = files.iter().find(|file| file.name == "names.js").expect("there is a search");
    let list = file.content.strip_prefix("squallNames(").and_then(|text| text.strip_suffix(");\n"));
    let list: Vec<[String; 5]> =
        serde_json::from_str(list.expect("it is a call")).expect("the argument is JSON");
    list.into_iter().map(|[name, _, _, address, _]| (name, address))
}

/// The values of an attribute, without their escapes.
fn attributes<'a>(page: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let start = format!(" {name}=\"");
    let pieces: Vec<&str> = page.split(start.as_str()).skip(1).collect();
    let values = pieces.into_iter().filter_map(|piece| piece.split('"').next());
    values.map(|value| {
        let plain = value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        plain.replace("&#x27;", "'").replace("&amp;", "&")
    })
}

fn leads_somewhere(address: &str, from: &str, places: &HashMap<&str, HashSet<String>>) -> bool {
    if address.starts_with("https://") {
        return true;
    }
    let (file, place) = address.split_once('#').unwrap_or((address, ""));
    let file = if file.is_empty() { from } else { file };
    places.get(file).is_some_and(|known| place.is_empty() || known.contains(&decoded(place)))
}

fn decoded(address: &str) -> String {
    let mut pieces = address.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(&piece[..2], 16).expect("two digits follow"));
        bytes.extend(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).expect("addresses are UTF-8")
}
