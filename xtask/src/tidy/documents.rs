//! The rules about documents: links lead to files, and the list of decisions is complete. [`super::run`] calls [`check`].

use std::path::Path;

use super::{File, Finding};
use crate::markdown::{Link, links};
use crate::root;

/// The folder of the decisions.
const DECISIONS: &str = "docs/decisions/";

/// Checks all documents.
pub fn check(files: &[File]) -> Vec<Finding> {
    let documents = files.iter().filter(|file| file.path.ends_with(".md"));
    let mut findings: Vec<_> = documents.flat_map(dead_links).collect();
    findings.extend(missing_decisions(files));
    findings
}

/// The links of a document that lead to no file.
fn dead_links(file: &File) -> Vec<Finding> {
    let is_dead = |link: &Link| {
        let target = link.target(Path::new(&file.path));
        target.is_some_and(|target| !root().join(target).exists())
    };
    let finding = |link: Link| {
        let line = 1 + file.text[..link.range.start].matches('\n').count();
        format!("{}:{line}: there is no {}", file.path, link.address)
    };
    links(&file.text).into_iter().filter(is_dead).map(finding).collect()
}

/// The decisions that the list does not name.
fn missing_decisions(files: &[File]) -> Vec<Finding> {
    let list = format!("{DECISIONS}README.md");
    let text = files.iter().find(|file| file.path == list).map_or("", |file| &file.text);
    let decisions = files.iter().filter_map(|file| file.path.strip_prefix(DECISIONS));
    decisions
        .filter(|name| *name != "README.md" && !text.contains(&format!("({name})")))
        .map(|name| format!("{list}: it does not list {name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_link_that_leads_to_no_file_is_found() {
        let text = "[a](../README.md#x)\n`[b](nowhere.md)`\n\n[c](nowhere.md), [d](https://rust-lang.org), [e](#x)\n";
        let findings = dead_links(&file("docs/cli.md", text));
        assert_eq!(findings, ["docs/cli.md:4: there is no nowhere.md"]);
    }

    #[test]
    fn a_decision_that_is_not_listed_is_found() {
        let files = [
            file("docs/decisions/README.md", "| [0001](0001-a.md) | A |\n"),
            file("docs/decisions/0001-a.md", ""),
            file("docs/decisions/0002-b.md", ""),
        ];
        let findings = missing_decisions(&files);
        assert_eq!(findings, ["docs/decisions/README.md: it does not list 0002-b.md"]);
    }
}
