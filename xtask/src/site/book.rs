//! The book: a copy of the project's Markdown for mdBook, with the table of contents that mdBook wants. `site` calls
//! [`write()`].
//!
//! Pages keep their places, so that links between them need no change. A link to another file of the project leads to the
//! address of the sources if there is one; otherwise only its text stays. The title of a page is its first heading.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::REFERENCE;
use crate::markdown::{Link, links};
use crate::root;

/// The page that leads to the reference.
const LIBRARY: &str = "docs/library.md";

/// The parts of the book after its first page: their titles, and their pages; a folder stands for all its pages.
const PARTS: [(&str, &[&str]); 5] = [
    ("Guide", &["docs/guide"]),
    (
        "Reference",
        &[
            LIBRARY,
            "docs/cli.md",
            "docs/manifest.md",
            "docs/bytecode.md",
            "docs/bytecode-reference.md",
        ],
    ),
    ("Internals", &["ARCHITECTURE.md", "GLOSSARY.md", "docs/internals", "docs/performance.md"]),
    (
        "Work on Squall",
        &["CONTRIBUTING.md", "STYLE.md", "docs/how-to", "SECURITY.md", "CHANGELOG.md"],
    ),
    ("Decisions", &["docs/decisions"]),
];

/// The script that highlights Newspeak.
const HIGHLIGHTING: (&str, &str) = ("newspeak.js", include_str!("newspeak.js"));

/// The first page.
const FIRST: &str = "README.md";

/// The texts of pages by their paths in the project.
type Pages = BTreeMap<PathBuf, String>;

/// Writes the book into a folder.
pub fn write(folder: &Path, sources: Option<&str>) -> Result<(), String> {
    let mut pages = Pages::new();
    add(&mut pages, Path::new(FIRST))?;
    for path in PARTS.iter().flat_map(|(_, paths)| *paths) {
        add(&mut pages, Path::new(path))?;
    }

    let text = folder.join("src");
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    for (path, page) in &pages {
        save(&text.join(path), &with_links(page, path, &pages, sources))?;
        copy_pictures(page, path, &text)?;
    }
    save(&text.join("SUMMARY.md"), &contents(&pages))?;
    save(&folder.join(HIGHLIGHTING.0), HIGHLIGHTING.1)?;
    save(&folder.join("book.toml"), &settings(sources))
}

/// Adds a page, or the pages of a folder.
fn add(pages: &mut Pages, path: &Path) -> Result<(), String> {
    let refuse = |error: std::io::Error| format!("{}: {error}", path.display());
    if path == Path::new(LIBRARY) {
        pages.insert(path.to_owned(), library_page());
        return Ok(());
    }
    let file = root().join(path);
    if !file.is_dir() {
        pages.insert(path.to_owned(), std::fs::read_to_string(&file).map_err(refuse)?);
        return Ok(());
    }
    for entry in std::fs::read_dir(&file).map_err(refuse)? {
        let name = entry.map_err(refuse)?.file_name();
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            add(pages, &path.join(name))?;
        }
    }
    Ok(())
}

fn library_page() -> String {
    format!(
        "# The library\n\nThe [reference of the library](../{REFERENCE}/index.html) has all modules of the platform, their \
         classes and methods, with a search. `squall doc` writes it, and that of your own modules.\n"
    )
}

/// Copies the pictures of a page.
fn copy_pictures(page: &str, path: &Path, text: &Path) -> Result<(), String> {
    let pictures = links(page).into_iter().filter(|link| link.is_picture);
    for picture in pictures.filter_map(|picture| picture.target(path)) {
        let refuse = |error: std::io::Error| format!("{}: {error}", picture.display());
        let to = text.join(&picture);
        std::fs::create_dir_all(to.parent().unwrap_or(text)).map_err(refuse)?;
        std::fs::copy(root().join(&picture), to).map_err(refuse)?;
    }
    Ok(())
}

/// The table of contents.
fn contents(pages: &Pages) -> String {
    let mut text = format!("# Summary\n\n[{}]({FIRST})\n", title(&pages[Path::new(FIRST)]));
    for (part, paths) in PARTS {
        let _ = write!(text, "\n# {part}\n\n");
        for path in paths {
            for page in below(pages, Path::new(path)) {
                let is_inside = page != Path::new(path) && !is_first_of_folder(page);
                let indent = if is_inside { "  " } else { "" };
                let _ = writeln!(text, "{indent}- [{}]({})", title(&pages[page]), page.display());
            }
        }
    }
    text
}

/// The page at a path, or the pages of a folder: its `README.md` first, numbers in their order.
fn below<'a>(pages: &'a Pages, path: &Path) -> Vec<&'a Path> {
    let mut found: Vec<&Path> =
        pages.keys().map(PathBuf::as_path).filter(|page| page.starts_with(path)).collect();
    let number = |page: &Path| {
        let name = page.file_name()?.to_str()?;
        name.split('-').next()?.parse::<u32>().ok()
    };
    found.sort_by_key(|page| (!is_first_of_folder(page), number(page), page.to_path_buf()));
    found
}

fn is_first_of_folder(page: &Path) -> bool {
    page.file_name().is_some_and(|name| name == "README.md")
}

/// The first heading of a page, as mdBook wants it in a link.
fn title(page: &str) -> String {
    let heading = page.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Untitled");
    heading.trim().replace(['[', ']'], "")
}

/// The text of a page with links that stay in the site.
fn with_links(page: &str, path: &Path, pages: &Pages, sources: Option<&str>) -> String {
    let mut text = String::with_capacity(page.len());
    let mut rest = 0;
    for link in links(page).iter().filter(|link| link.is_inline && !link.is_picture) {
        let Some(change) = changed(link, page, path, pages, sources) else { continue };
        text.push_str(&page[rest..link.range.start]);
        text.push_str(&change);
        rest = link.range.end;
    }
    text.push_str(&page[rest..]);
    text
}

/// What replaces a link; nothing if it may stay.
fn changed(
    link: &Link,
    page: &str,
    from: &Path,
    pages: &Pages,
    sources: Option<&str>,
) -> Option<String> {
    let target = link.target(from)?;
    let (text, address) = page[link.range.clone()].strip_suffix(')')?.rsplit_once("](")?;
    let path = address.split('#').next()?;
    let anchor = &address[path.len()..];
    // mdBook gives the first page of a folder the name `index`.
    if pages.contains_key(&target) || target.starts_with(REFERENCE) {
        let folder = path.strip_suffix("README.md")?;
        return Some(format!("{text}]({folder}index.md{anchor})"));
    }
    if pages.contains_key(&target.join("README.md")) {
        let separator = if path.ends_with('/') { "" } else { "/" };
        return Some(format!("{text}]({path}{separator}index.md{anchor})"));
    }
    match sources {
        Some(sources) => Some(format!("{text}]({sources}/{}{anchor})", target.display())),
        None => Some(text.strip_prefix('[').unwrap_or(text).to_owned()),
    }
}

fn settings(sources: Option<&str>) -> String {
    let repository = sources.map_or_else(String::new, |sources| {
        format!("git-repository-url = {}\n", serde_json::Value::from(sources))
    });
    format!(
        "[book]\ntitle = \"Squall\"\nlanguage = \"en\"\n\n[output.html]\npreferred-dark-theme = \"navy\"\n\
         no-section-label = true\nadditional-js = [\"{}\"]\n{repository}\n[output.html.fold]\nenable = true\nlevel = 0\n",
        HIGHLIGHTING.0
    )
}

fn save(path: &Path, text: &str) -> Result<(), String> {
    let refuse = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(refuse)?;
    }
    std::fs::write(path, text).map_err(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(paths: &[&str]) -> Pages {
        paths.iter().map(|path| (PathBuf::from(path), format!("# Page {path}\n"))).collect()
    }

    fn text_with(page: &str, sources: Option<&str>) -> String {
        let pages =
            pages(&["README.md", "docs/cli.md", "docs/guide/README.md", "docs/guide/1-a.md"]);
        with_links(page, Path::new("docs/guide/1-a.md"), &pages, sources)
    }

    #[test]
    fn links_between_pages_stay() {
        let page = "[a](../cli.md#run), [b](1-a.md), [c](https://rust-lang.org), [d](#here)";
        assert_eq!(text_with(page, None), page);
    }

    #[test]
    fn a_folder_is_its_first_page() {
        for (before, after) in [
            ("../guide", "../guide/index.md"),
            ("../guide/#x", "../guide/index.md#x"),
            ("README.md#x", "index.md#x"),
        ] {
            assert_eq!(text_with(&format!("[guide]({before})"), None), format!("[guide]({after})"));
        }
    }

    #[test]
    fn links_to_sources_need_an_address() {
        let page = "see [`lib.rs`](../../crates/jit/src/lib.rs).";
        assert_eq!(text_with(page, None), "see `lib.rs`.");
        let there = "see [`lib.rs`](https://example.org/main/crates/jit/src/lib.rs).";
        assert_eq!(text_with(page, Some("https://example.org/main")), there);
    }

    #[test]
    fn code_has_no_links() {
        let page = "`[a](../../b)`\n\n```\n[a](../../b)\n```\n";
        assert_eq!(text_with(page, None), page);
    }

    #[test]
    fn pages_are_in_the_order_of_their_numbers() {
        let pages = pages(&["g/10-b.md", "g/README.md", "g/9-a.md"]);
        let names: Vec<_> =
            below(&pages, Path::new("g")).iter().map(|page| page.display().to_string()).collect();
        assert_eq!(names, ["g/README.md", "g/9-a.md", "g/10-b.md"]);
    }
}
