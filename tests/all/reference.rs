//! Tests of `squall doc`: the pages of the modules in `tests/reference`, which `tests/reference/pages` has as they should
//! be, and what the command says about mistakes. `main.rs` collects them as trials. `crates/reference/tests` is about the
//! pages of the library.

use std::path::Path;

use libtest_mimic::Trial;

use crate::process::Run;
use crate::{compare_with_file, files_in, root};

/// The folder with the expected pages.
const PAGES: &str = "tests/reference/pages";

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("reference/pages", || Ok(pages()?)),
        Trial::test("reference/private", || Ok(private()?)),
        Trial::test("reference/site", || Ok(site()?)),
        Trial::test("reference/mistakes", || Ok(mistakes()?)),
    ]
}

/// A run of the command that writes to its scratch folder.
fn documented(arguments: &[&str], exit: i32) -> Result<(Run, String), String> {
    let mut words = vec!["doc", "--output", "{scratch}/pages"];
    words.extend(arguments);
    let run = Run::new(words.into_iter().map(str::to_owned));
    let result = run.execute();
    let error = run.scratch.conceal(&result.error);
    match result.exit == exit {
        true => Ok((run, error)),
        false => Err(format!("exit code {} and not {exit}:\n{error}", result.exit)),
    }
}

fn page(run: &Run, name: &str) -> Result<String, String> {
    let path = run.scratch.path().join("pages").join(name);
    std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))
}

/// The pages of modules with all kinds of members, with mistakes, and with names and comments that are made to harm.
fn pages() -> Result<(), String> {
    let (run, _) = documented(&["tests/reference"], 65)?;
    for expected in files_in(PAGES, "html") {
        let name = expected.file_name().unwrap_or_default().to_string_lossy().into_owned();
        compare_with_file(&expected, &in_lines(&page(&run, &name)?))?;
    }
    for name in ["Kernel.html", "index.html", "names.js", "reference.css", "reference.js"] {
        page(&run, name)?;
    }
    let index = page(&run, "index.html")?;
    if !index.contains(
        "<a href=\"index_2.html\">index</a> <span class=\"place\">tests/reference/index.ns",
    ) {
        return Err("the list of modules does not show where a module is".to_owned());
    }
    harmless(&page(&run, "Hostile.html")?)?;
    let names = page(&run, "names.js")?;
    for name in ["anonymous:", "Traced", "station:", "</", "Broken"] {
        let entry = format!("[\"{name}\",");
        if !names.contains(&entry) {
            return Err(format!("the search does not know {name}"));
        }
    }
    Ok(())
}

/// A page with one element on each line, and without the members that all objects have.
fn in_lines(page: &str) -> String {
    const COMMON: &str = "<li><a href=\"Kernel.html#Kernel.Thing/";
    let mut pieces = page.split(COMMON);
    let first = pieces.next().unwrap_or_default().to_owned();
    let rest = pieces.filter_map(|piece| piece.split_once("</li>")).map(|(_, behind)| behind);
    rest.fold(first, |page, behind| page + behind).replace("><", ">\n<")
}

/// Whether a page has the two scripts of the frame only, and no address but those of pages and of the web.
fn harmless(page: &str) -> Result<(), String> {
    let elements: Vec<&str> = page.split('<').skip(1).collect();
    let count = |start: &str| elements.iter().filter(|element| element.starts_with(start)).count();
    let is_frame = count("script") == 2 && count("style") == 0 && count("img") == 0;
    let mut attributes = elements.iter().filter_map(|element| element.split('>').next());
    let harms = |text: &&str| {
        ["onclick=", "onerror=", "javascript:", "\"data:"].iter().any(|bad| text.contains(bad))
    };
    match attributes.find(harms) {
        None if is_frame => Ok(()),
        found => Err(format!("a comment has become a part of the page: {found:?}")),
    }
}

/// Private names are on the pages only if one asks for them.
fn private() -> Result<(), String> {
    let module = "tests/reference/Parcels.ns";
    let (without, _) = documented(&[module], 0)?;
    let (with, _) = documented(&["--private", module], 0)?;
    let place = "id=\"Parcels.Item/secret\"";
    let is_there = |run| Ok::<bool, String>(page(run, "Parcels.html")?.contains(place));
    match (is_there(&without)?, is_there(&with)?) {
        (false, true) => Ok(()),
        found => Err(format!("the private message is there (without, with the option): {found:?}")),
    }
}

/// Each page has a link to the site that the reference is a part of, if there is one.
fn site() -> Result<(), String> {
    let module = "tests/reference/Parcels.ns";
    let (without, _) = documented(&[module], 0)?;
    let (with, _) = documented(&["--site=../index.html", module], 0)?;
    for name in ["index.html", "Parcels.html", "Kernel.html"] {
        let has_link =
            |run| Ok::<bool, String>(page(run, name)?.contains("href=\"../index.html\""));
        match (has_link(&without)?, has_link(&with)?) {
            (false, true) => {}
            found => {
                return Err(format!("{name} has a link (without, with the option): {found:?}"));
            }
        }
    }
    Ok(())
}

/// Files that are not there or cannot be read do not stop the others.
fn mistakes() -> Result<(), String> {
    let (run, error) = documented(&["tests/missing.ns", "tests/reference/Parcels.ns"], 66)?;
    page(&run, "Parcels.html")?;
    if !error.contains("there is no file tests/missing.ns") {
        return Err(format!("it says: {error}"));
    }
    let (run, error) = documented(&["tests/reference/broken.ns"], 65)?;
    let is_readable = |name: &str| {
        let place = format!("id=\"Broken/{name}\"");
        page(&run, "Broken.html").map(|page| page.contains(&place))
    };
    if !(is_readable("sound")? && is_readable("later")?) {
        return Err("the members without mistakes are missing".to_owned());
    }
    if !error.contains("tests/reference/broken.ns:7") {
        return Err(format!("it says: {error}"));
    }
    let blocked = Path::new("tests/reference/Parcels.ns").join("pages");
    let blocked = root().join(blocked).display().to_string();
    let run = Run::new(["doc".to_owned(), "--output".to_owned(), blocked]);
    match run.execute().exit {
        74 => Ok(()),
        other => Err(format!("exit code {other} for a folder that cannot be made")),
    }
}
