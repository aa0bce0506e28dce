//! The rule that imports within a crate go one way. [`super::run`] calls [`check`] with all files of the project.
//!
//! A *module* is a file or folder in a crate's `src`; the files of one folder may import each other. The crate's root
//! file counts as a module, too: the others may use its definitions only if it uses none of theirs. A name that the
//! root re-exports (`pub use`) belongs to the module that defines it.
//!
//! A crate may have *layers*: its top modules, in an order. A module imports only from its own layer and the layers
//! below it, even if the layer above imports nothing from it.
//!
//! The rule reads each file's paths (`use`, expressions, types, and paths within macros), resolves the paths that begin
//! with `crate`, `self` or `super`, and reports each cycle between modules. Tests are exempt: they may import
//! everything.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Path, UseTree, Visibility};

use super::{File, Finding};

/// The name of the root file's module.
const ROOT: &str = "lib";

/// An import, and the place where it is written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Import {
    path: String,
    line: usize,
}

/// For each module of a crate, the modules that it imports, with one place for each.
type Graph = BTreeMap<String, BTreeMap<String, Import>>;

/// The layers of crates, the lowest first.
const LAYERS: &[(&str, &[&str])] =
    &[("runtime", &["model", "state", "objects", "execution", "concurrency", "library", "tiers"])];

/// Checks every crate.
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust() && !file.is_test()) {
        if let Some((folder, _)) = file.path.split_once("/src/") {
            crates.entry(folder).or_default().push(file);
        }
    }
    crates.iter().flat_map(|(folder, files)| check_crate(folder, files)).collect()
}

/// Checks the files of one crate, whose `src` is in this folder.
fn check_crate(folder: &str, files: &[&File]) -> Vec<Finding> {
    let mut sources = Vec::new();
    let mut findings = Vec::new();
    for file in files {
        let Some(place) = module_path(folder, &file.path) else { continue };
        match syn::parse_file(&file.text) {
            Ok(syntax) => sources.push(Source { path: &file.path, place, syntax }),
            Err(error) => findings.push(format!("{}: {error}", file.path)),
        }
    }
    let tests: BTreeSet<Vec<String>> = sources.iter().flat_map(test_modules).collect();
    sources
        .retain(|source| !(1..=source.place.len()).any(|end| tests.contains(&source.place[..end])));
    let graph = graph_of(&sources);
    findings.extend(cycles(&graph).iter().map(|cycle| describe(&graph, cycle)));
    let layers = LAYERS.iter().find(|(name, _)| folder.strip_prefix("crates/") == Some(name));
    findings.extend(layers.into_iter().flat_map(|(_, layers)| upward_imports(&graph, layers)));
    findings
}

/// A message for each import of a layer from one above it, and for each module that is no layer.
fn upward_imports(graph: &Graph, layers: &[&str]) -> Vec<Finding> {
    let height = |module: &str| layers.iter().position(|layer| *layer == module);
    let mut found = Vec::new();
    for (module, imports) in graph.iter().filter(|(module, _)| *module != ROOT) {
        let Some(own) = height(module) else {
            found.push(format!("{module} is none of the crate's layers: {}", layers.join(", ")));
            continue;
        };
        for (imported, Import { path, line }) in imports {
            if height(imported).is_some_and(|other| other > own) {
                found.push(format!("{path}:{line}: {module} imports {imported}, a layer above it"));
            }
        }
    }
    found
}

/// A parsed file, and the path of its module within the crate; empty for the root.
struct Source<'f> {
    path: &'f str,
    place: Vec<String>,
    syntax: syn::File,
}

/// The modules that a file declares for tests only.
fn test_modules(source: &Source) -> Vec<Vec<String>> {
    let modules = source.syntax.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.attrs.iter().any(is_for_tests) => Some(module),
        _ => None,
    });
    let path = |name: String| source.place.iter().cloned().chain([name]).collect();
    modules.map(|module| path(module.ident.to_string())).collect()
}

/// The module in a file, as names from the crate's root; nothing for programs and build scripts.
fn module_path(folder: &str, path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix(folder)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
    if path.starts_with("bin/") {
        return None;
    }
    let mut names: Vec<String> = path.split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    Some(names)
}

fn graph_of(sources: &[Source]) -> Graph {
    let modules: BTreeSet<&str> =
        sources.iter().filter_map(|source| source.place.first()).map(String::as_str).collect();
    let roots = sources.iter().filter(|source| source.place.is_empty());
    let passed_on: BTreeMap<String, String> =
        roots.flat_map(|root| passed_on(&root.syntax, &modules)).collect();
    let mut graph = Graph::new();
    for source in sources {
        let importer = source.place.first().map_or(ROOT, String::as_str);
        let mut reader = Reader { place: source.place.clone(), paths: Vec::new() };
        reader.visit_file(&source.syntax);
        for (path, line) in reader.paths {
            let imported = match path.first().map(String::as_str) {
                None => ROOT,
                Some(name) if modules.contains(name) => name,
                Some(name) => passed_on.get(name).map_or(ROOT, String::as_str),
            };
            if imported != importer {
                let import = Import { path: source.path.to_owned(), line };
                let imports = graph.entry(importer.to_owned()).or_default();
                imports.entry(imported.to_owned()).or_insert(import);
            }
        }
    }
    graph
}

/// The names that a root file re-exports, and the modules that define them.
fn passed_on(root: &syn::File, modules: &BTreeSet<&str>) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for item in &root.items {
        if let Item::Use(ItemUse {
            vis: Visibility::Public(_) | Visibility::Restricted(_),
            tree,
            ..
        }) = item
        {
            for mut path in leaves(tree) {
                path.retain(|name| name != "crate" && name != "self");
                if let ([module, ..], Some(name)) = (path.as_slice(), path.last())
                    && modules.contains(module.as_str())
                {
                    names.push((name.clone(), module.clone()));
                }
            }
        }
    }
    names
}

/// All paths of a `use`. The path of a renamed name ends with the new name.
fn leaves(tree: &UseTree) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = vec![(Vec::new(), tree)];
    while let Some((prefix, tree)) = waiting.pop() {
        let with = |name: String| prefix.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(path) => waiting.push((with(path.ident.to_string()), &path.tree)),
            UseTree::Name(name) => found.push(with(name.ident.to_string())),
            UseTree::Rename(rename) => found.push(with(rename.rename.to_string())),
            UseTree::Glob(_) => found.push(prefix),
            UseTree::Group(group) => {
                waiting.extend(group.items.iter().map(|tree| (prefix.clone(), tree)));
            }
        }
    }
    found
}

/// Collects the paths of a file that lead to modules of its crate, as names from the root.
struct Reader {
    /// The module that is read.
    place: Vec<String>,
    paths: Vec<(Vec<String>, usize)>,
}

impl Reader {
    fn read(&mut self, names: &[String], line: usize) {
        let Some(first) = names.first() else { return };
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => self.place.clone(),
            _ => return,
        };
        let mut rest = &names[1..];
        if first == "super" {
            base.pop();
            while let [next, others @ ..] = rest
                && next == "super"
            {
                base.pop();
                rest = others;
            }
        }
        base.extend(rest.iter().cloned());
        self.paths.push((base, line));
    }

    /// Reads paths in a macro's tokens: a name, two colons, a name, and so on.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut names: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.read(&names, line);
                        names.clear();
                        line = name.span().start().line;
                    }
                    names.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.read(&names, line);
                    names.clear();
                    self.read_tokens(group.stream());
                }
                _ => colons = 0,
            }
        }
        self.read(&names, line);
    }
}

impl<'s> Visit<'s> for Reader {
    fn visit_item(&mut self, item: &'s Item) {
        if !attributes_of(item).iter().any(is_for_tests) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'s ItemMod) {
        self.place.push(module.ident.to_string());
        syn::visit::visit_item_mod(self, module);
        self.place.pop();
    }

    fn visit_item_use(&mut self, item: &'s ItemUse) {
        let line = item.use_token.span.start().line;
        leaves(&item.tree).iter().for_each(|names| self.read(names, line));
    }

    fn visit_path(&mut self, path: &'s Path) {
        let names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(first) = path.segments.first().filter(|_| path.leading_colon.is_none()) {
            self.read(&names, first.ident.span().start().line);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'s Macro) {
        self.read_tokens(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether this attribute is `#[cfg(test)]` or contains it.
fn is_for_tests(attribute: &Attribute) -> bool {
    let list = attribute.meta.require_list();
    attribute.path().is_ident("cfg") && list.is_ok_and(|list| names_test(list.tokens.clone()))
}

fn names_test(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == "test",
        TokenTree::Group(group) => names_test(group.stream()),
        _ => false,
    })
}

/// The groups of modules that reach each other.
fn cycles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|module| (module, reachable(graph, module))).collect();
    let reaches = |from: &String, to: &String| reach.get(from).is_some_and(|set| set.contains(to));
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for module in graph.keys().filter(|module| reaches(module, module)) {
        if groups.iter().any(|group| group.contains(module)) {
            continue;
        }
        let group = graph.keys().filter(|other| reaches(module, other) && reaches(other, module));
        groups.push(group.cloned().collect());
    }
    groups
}

fn reachable<'g>(graph: &'g Graph, from: &String) -> BTreeSet<&'g String> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&String> = graph.get(from).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(module) = waiting.pop() {
        if found.insert(module) {
            waiting.extend(graph.get(module).into_iter().flat_map(BTreeMap::keys));
        }
    }
    found
}

/// A message that names the modules of a cycle, and every import between them.
fn describe(graph: &Graph, cycle: &BTreeSet<String>) -> Finding {
    let names: Vec<&str> = cycle.iter().map(String::as_str).collect();
    let mut text = format!("these modules import each other in a circle: {}", names.join(", "));
    for module in cycle {
        let imports = graph.get(module).into_iter().flatten();
        for (imported, import) in imports.filter(|(imported, _)| cycle.contains(*imported)) {
            text.push_str(&format!(
                "\n    {}:{}: {module} -> {imported}",
                import.path, import.line
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<Finding> {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/planted/src/{path}"),
            text: (*text).to_owned(),
        };
        check(&files.iter().map(file).collect::<Vec<_>>())
    }

    #[test]
    fn a_planted_cycle_is_found_with_its_places() {
        let found = findings(&[
            ("lib.rs", "mod low; mod middle; mod high;"),
            ("low.rs", "fn f() { crate::high::g() }"),
            ("middle/mod.rs", "mod part;"),
            ("middle/part.rs", "use super::super::low;"),
            ("high.rs", "\nuse crate::{low, middle::part as other};"),
        ]);
        let [finding] = &found[..] else { panic!("{found:?}") };
        for expected in [
            "high, low, middle",
            "crates/planted/src/low.rs:1: low -> high",
            "crates/planted/src/middle/part.rs:1: middle -> low",
            "crates/planted/src/high.rs:2: high -> middle",
        ] {
            assert!(finding.contains(expected), "{expected} in {finding}");
        }
    }

    #[test]
    fn a_planted_upward_import_is_found_without_a_cycle() {
        let file = |path: &str, text: &str| File {
            path: format!("crates/runtime/src/{path}"),
            text: text.to_owned(),
        };
        let found = check(&[
            file("lib.rs", "pub mod model; pub mod state; pub mod library; pub mod other;"),
            file("model/mod.rs", "pub mod known;"),
            file("model/known.rs", "\nuse crate::state::Thread;"),
            file("state/mod.rs", "pub struct Thread;"),
            file("library/mod.rs", "use crate::model::known;"),
            file("other.rs", "use crate::model::known;"),
        ]);
        assert_eq!(
            found,
            [
                "crates/runtime/src/model/known.rs:2: model imports state, a layer above it",
                "other is none of the crate's layers: model, state, objects, execution, concurrency, library, tiers",
            ]
        );
    }

    #[test]
    fn what_goes_one_way_is_fine() {
        let found = findings(&[
            ("lib.rs", "mod low; mod folder; pub use low::Low;"),
            ("low.rs", "pub struct Low; #[cfg(test)] mod tests { use crate::folder; }"),
            ("folder/mod.rs", "mod one; mod two; use crate::Low;"),
            ("folder/one.rs", "use super::two;"),
            ("folder/two.rs", "use super::one; use crate::low::Low;"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn files_that_are_for_tests_only_are_exempt() {
        let found = findings(&[
            ("lib.rs", "mod one; mod two;"),
            ("one.rs", "#[cfg(all(test, feature = \"loom\"))] mod model;"),
            ("one/model.rs", "use crate::two;"),
            ("two.rs", "use crate::one;"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn what_the_root_defines_is_a_module() {
        let found = findings(&[
            ("lib.rs", "mod one; fn helper() { one::f() } pub fn g() { self::one::f() }"),
            ("one.rs", "pub fn f() { crate::g() }"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn paths_in_macros_and_renamed_names_count() {
        let found = findings(&[
            ("lib.rs", "mod one; mod two; pub use two::Two as Other;"),
            ("one.rs", "fn f() { println!(\"{}\", crate::two::g()) }"),
            ("two.rs", "fn f() { vec![1, crate::one::F] }"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        let found = findings(&[
            ("lib.rs", "mod one; mod two; pub use two::Two as Other;"),
            ("one.rs", "use crate::Other;"),
            ("two.rs", "use crate::one;"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
