//! Follows all addresses in the pages of the site. `site` calls [`check`].
//!
//! An address of the site leads to a file, and what follows `#` to a place in it. Addresses of the web are only counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::markdown::normal;

/// The pages of a site: their paths, and the names of the places in them.
type Places = BTreeMap<PathBuf, BTreeSet<String>>;

/// Follows the addresses of all pages below a folder. Answers counts, or the addresses that lead nowhere.
pub fn check(site: &Path) -> Result<String, String> {
    let mut texts = BTreeMap::new();
    read(site, Path::new(""), &mut texts)?;
    let places: Places = texts
        .iter()
        .map(|(path, text)| (path.clone(), attributes(text, "id").map(decoded).collect()))
        .collect();

    let (mut count, mut elsewhere, mut dead) = (0, 0, BTreeSet::new());
    for (path, text) in &texts {
        // One page holds all others for printers, and the other is for a server at whose top the site is.
        if path.ends_with("print.html") || path.ends_with("404.html") {
            continue;
        }
        for address in attributes(text, "href").chain(attributes(text, "src")) {
            count += 1;
            match leads_somewhere(&decoded(address), path, site, &places) {
                None => elsewhere += 1,
                Some(true) => {}
                Some(false) => {
                    dead.insert(format!("{}: {address}", path.display()));
                }
            }
        }
    }
    if !dead.is_empty() {
        let dead: Vec<_> = dead.into_iter().collect();
        return Err(format!("these addresses lead nowhere:\n{}", dead.join("\n")));
    }
    Ok(format!("{} pages, {count} addresses, {elsewhere} of them on the web", texts.len()))
}

/// Reads the pages below a folder of the site.
fn read(site: &Path, folder: &Path, texts: &mut BTreeMap<PathBuf, String>) -> Result<(), String> {
    let here = site.join(folder);
    let refuse = |error: std::io::Error| format!("{}: {error}", here.display());
    for entry in std::fs::read_dir(&here).map_err(refuse)? {
        let entry = entry.map_err(refuse)?;
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            read(site, &path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            texts.insert(path, std::fs::read_to_string(entry.path()).map_err(refuse)?);
        }
    }
    Ok(())
}

/// Whether an address of a page leads to a file and a place in it; nothing if it leads out of the site.
fn leads_somewhere(address: &str, page: &Path, site: &Path, places: &Places) -> Option<bool> {
    let has_scheme = address.split(['/', '#']).next().is_some_and(|begin| begin.contains(':'));
    if has_scheme || address.starts_with("//") {
        return None;
    }
    let (path, anchor) = address.split_once('#').unwrap_or((address, ""));
    let target = match path {
        "" => page.to_owned(),
        _ => normal(&page.parent().unwrap_or(Path::new("")).join(path)),
    };
    Some(match places.get(&target) {
        Some(names) => anchor.is_empty() || names.contains(anchor),
        None => site.join(&target).is_file(),
    })
}

/// The values of an attribute in a page. Text has no quotes of this form: they are escaped there.
fn attributes<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!(" {name}=\"");
    let parts: Vec<_> = page.split(begin.as_str()).skip(1).collect();
    parts.into_iter().filter_map(|rest| rest.split('"').next())
}

/// A value of an attribute, without the escapes of HTML and of addresses.
fn decoded(value: &str) -> String {
    let value = value
        .replace("&amp;", "&")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    percent_decode_str(&value).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        [
            (PathBuf::from("index.html"), names(&["top"])),
            (PathBuf::from("a/b.html"), names(&["x:y"])),
        ]
        .into()
    }

    fn leads(address: &str) -> Option<bool> {
        leads_somewhere(&decoded(address), Path::new("a/b.html"), Path::new("/nowhere"), &places())
    }

    #[test]
    fn addresses_are_relative_to_their_page() {
        assert_eq!(leads("../index.html#top"), Some(true));
        assert_eq!(leads("#x%3Ay"), Some(true));
        assert_eq!(leads("#x:z"), Some(false));
        assert_eq!(leads("index.html"), Some(false));
        assert_eq!(leads("../index.html#bottom"), Some(false));
    }

    #[test]
    fn the_web_is_elsewhere() {
        assert_eq!(leads("https://rust-lang.org/#x"), None);
    }

    #[test]
    fn attributes_are_found_in_tags() {
        let page = r#"<a href="x.html" id="here">"quoted" href=</a><img src="y.png">"#;
        assert_eq!(attributes(page, "href").collect::<Vec<_>>(), ["x.html"]);
        assert_eq!(attributes(page, "src").collect::<Vec<_>>(), ["y.png"]);
    }
}
