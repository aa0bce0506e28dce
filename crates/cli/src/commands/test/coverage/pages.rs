//! Coverage as pages of HTML: `index.html` with a table of all files, and a page for each file, in which lines and ways that
//! have not run are marked. [`super`] calls this.
//!
//! The pages need no network and no script. Texts of programs are escaped; names of pages are numbers, so that paths
//! cannot lead out of the folder.

use std::fmt::Write;
use std::path::Path;

use squall::coverage::{BranchCoverage, FileCoverage};

use super::{Share, Shares};

/// The look of the pages; dark where the reader wants that.
const STYLE: &str = include_str!("pages.css");

/// Writes all pages into a folder.
pub fn write<'f>(
    folder: &Path,
    files: impl Iterator<Item = &'f FileCoverage>,
) -> std::io::Result<()> {
    let mut rows = String::new();
    for (number, file) in files.enumerate() {
        let name = format!("file-{number}.html");
        std::fs::write(folder.join(&name), page_of(file))?;
        rows += &row(&name, file);
    }
    let table = format!(
        "<table><thead><tr><th>file</th><th>lines</th><th>branches</th></tr></thead>\n\
         <tbody>\n{rows}</tbody></table>\n"
    );
    std::fs::write(folder.join("index.html"), page("Coverage", &table))
}

fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style></head>\n\
         <body><h1>{title}</h1>\n{body}</body></html>\n"
    )
}

/// A file's row in the table.
fn row(name: &str, file: &FileCoverage) -> String {
    let Shares { lines, branches } = Shares::of(file);
    let cell = |share: Share| {
        let percent = share.percent();
        format!("<td><meter min=\"0\" max=\"100\" value=\"{percent}\"></meter> {share}</td>")
    };
    let path = escaped(&file.path);
    format!("<tr><td><a href=\"{name}\">{path}</a></td>{}{}</tr>\n", cell(lines), cell(branches))
}

/// The page of a file.
fn page_of(file: &FileCoverage) -> String {
    let Shares { lines, branches } = Shares::of(file);
    let mut body = format!(
        "<p><a href=\"index.html\">All files</a> · lines {lines} · branches {branches}</p>\n\
         <table class=\"text\"><tbody>\n"
    );
    for (number, text) in (1..).zip(file.text.lines()) {
        body += &line(number, text, file);
    }
    body += "</tbody></table>\n";
    page(&file.path, &body)
}

/// A line of a file's text.
fn line(number: u32, text: &str, file: &FileCoverage) -> String {
    let place = file.lines.binary_search_by_key(&number, |line| line.line);
    let count = place.ok().map(|place| file.lines[place].count);
    let missing = file.branches.iter().filter(|branch| branch.line == number);
    let missing: Vec<String> = missing.filter_map(way_not_gone).collect();
    let class = match (count, missing.is_empty()) {
        (Some(0), _) => "missed",
        (Some(_), true) => "run",
        (Some(_), false) => "partly",
        (None, _) => "none",
    };
    let count = count.map_or(String::new(), |count| count.to_string());
    let mut row = format!(
        "<tr class=\"{class}\" id=\"L{number}\"><td>{number}</td><td>{count}</td><td><code>{}</code>",
        escaped(text)
    );
    if class == "partly" {
        // Writing to a String cannot fail.
        _ = write!(row, " <span>{}</span>", escaped(&missing.join("; ")));
    }
    row + "</td></tr>\n"
}

/// The ways that a control structure has not gone, in words.
fn way_not_gone(branch: &BranchCoverage) -> Option<String> {
    let BranchCoverage { column, ways, .. } = branch;
    match ways[..] {
        [0, 0] => Some(format!("column {column}: never reached")),
        [0, _] => Some(format!("column {column}: never the first way")),
        [_, 0] => Some(format!("column {column}: always the first way")),
        _ => None,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall::coverage::LineCoverage;

    #[test]
    fn texts_are_escaped_and_missing_ways_are_named() {
        let branch = BranchCoverage { line: 1, column: 5, ways: vec![3, 0] };
        let file = FileCoverage {
            path: "<a>.ns".into(),
            text: "x < 3 ifTrue: [ \"&\" ]\nsecond".into(),
            lines: vec![LineCoverage { line: 1, count: 3 }],
            methods: Vec::new(),
            branches: vec![branch],
        };
        let page = page_of(&file);
        assert!(page.contains("<title>&lt;a&gt;.ns</title>"));
        assert!(page.contains("x &lt; 3 ifTrue: [ &quot;&amp;&quot; ]"));
        assert!(page.contains("column 5: always the first way"));
        assert!(page.contains("class=\"partly\" id=\"L1\""));
        assert!(page.contains("class=\"none\" id=\"L2\""));
    }
}
