//! Manifests: `squall.toml`, what a package is, what it wants, and what it depends on. `project` reads them.
//!
//! ```toml
//! [package]
//! name = "notes"
//! version = "1.2.0"
//! main = "Notes.ns"
//! wants = ["files"]
//!
//! [dependencies]
//! text-tools = { path = "../text-tools", version = "^1.1" }
//! storage = { git = "https://example.org/storage.git", commit = "…", grants = ["files"] }
//! old-text = { package = "text-tools", archive = "https://example.org/t-0.9.0.tar.gz", sha256 = "…" }
//! ```
//!
//! A manifest is a text of others: each mistake is a problem with a line. Unknown keys are mistakes, because a misspelt
//! `grants` must not pass.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use semver::{Version, VersionReq};
use toml_edit::{Document, Item, TableLike, Value};

use crate::capability::{self, Capabilities};
use crate::digest;
use crate::problem::{Kind, Problem, Result};
use crate::source::{Reference, Source, check_address, path_within};

/// The file's name.
pub const FILE: &str = "squall.toml";

/// The most bytes that a manifest may have.
const LONGEST: u64 = 1 << 20;

/// The most dependencies that a manifest may name.
const MOST_DEPENDENCIES: usize = 1000;

/// A package's description of itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Manifest {
    /// The file, as it is shown.
    pub path: PathBuf,
    /// The package's name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Its main module, within its folder.
    pub main: PathBuf,
    /// The capabilities that it wants.
    pub wants: Capabilities,
    /// The line of `wants`, or of `[package]`.
    pub wants_line: usize,
    /// What it depends on, by the names under which its code knows that.
    pub dependencies: BTreeMap<String, Dependency>,
}

/// What a package says about another one that it needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Dependency {
    /// The other's own name.
    pub package: String,
    /// The versions that suit; without a requirement, the one that the source has.
    pub requirement: Option<VersionReq>,
    /// Where it is; without a source, any package of that name that another manifest has a source of.
    pub source: Option<Source>,
    /// The capabilities that it is given.
    pub grants: Capabilities,
    /// The line of `grants`, or of the dependency.
    pub line: usize,
}

impl Manifest {
    /// Reads the manifest in a folder; `shown` is the file's path in problems.
    pub fn read(folder: &Path, shown: &Path) -> Result<Manifest> {
        let text = read_text(&folder.join(FILE), shown, LONGEST)?;
        Manifest::parse(&text, shown)
    }

    /// Reads a manifest's text.
    pub fn parse(text: &str, shown: &Path) -> Result<Manifest> {
        let document = parse_toml(text, shown)?;
        let reader = Reader { text, shown };
        reader.manifest(document.as_table())
    }

    /// The place of a line of the manifest.
    pub fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }
}

/// Reads a text of limited length.
pub(crate) fn read_text(path: &Path, shown: &Path, longest: u64) -> Result<String> {
    let length = std::fs::metadata(path).map(|data| data.len());
    let length = length.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Problem::missing(format!("there is no {}", shown.display()))
        }
        _ => Problem::unread(shown, &error),
    })?;
    if length > longest {
        let text = format!("{} has more than {longest} bytes", shown.display());
        return Err(Problem::invalid(text));
    }
    let bytes = std::fs::read(path).map_err(|error| Problem::unread(shown, &error))?;
    String::from_utf8(bytes)
        .map_err(|_| Problem::invalid(format!("{} is not UTF-8", shown.display())))
}

/// Reads TOML, with a problem at its line.
pub(crate) fn parse_toml<'t>(text: &'t str, shown: &Path) -> Result<Document<&'t str>> {
    Document::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        Problem::invalid(format!("{}:{line}: {}", shown.display(), error.message()))
    })
}

/// The line, counted from 1, of an offset.
fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Whether a text is the name of a package, or one under which code knows it.
pub fn is_name(text: &str) -> bool {
    let suits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    text.len() <= 64
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && text.bytes().all(suits)
}

/// The problem of a text that is no name.
pub fn no_name(text: &str) -> Problem {
    let text: String = text.chars().take(80).collect();
    Problem::invalid(format!(
        "`{}` is no name of a package: write a letter, then letters, digits, `-` and `_`, at most 64",
        text.escape_debug()
    ))
}

struct Reader<'t> {
    text: &'t str,
    shown: &'t Path,
}

/// Keys of a table, and where problems about it are.
type Keys<'k> = &'k [&'k str];

const PACKAGE: Keys = &["name", "version", "main", "description", "wants"];
const DEPENDENCY: Keys = &[
    "package", "version", "path", "git", "commit", "branch", "tag", "archive", "sha256", "grants",
];

impl Reader<'_> {
    fn manifest(&self, root: &dyn TableLike) -> Result<Manifest> {
        self.check_keys(root, "", &["package", "dependencies"])?;
        let package = self.table(root, "package")?.ok_or_else(|| {
            let problem = self.problem(1, "there is no table [package]");
            problem.hint("write `[package]`, `name = \"…\"` and `version = \"0.1.0\"`")
        })?;
        self.check_keys(package, "package.", PACKAGE)?;
        self.string(package, "description")?;
        let (wants, wants_line) = self.capabilities(package, "wants")?;
        let package_line = root
            .get_key_value("package")
            .map_or(1, |(key, _)| line_at(self.text, key.span().map_or(0, |span| span.start)));
        Ok(Manifest {
            path: self.shown.to_owned(),
            name: self.package_name(package, package_line)?,
            version: self.version(package, package_line)?,
            main: self.main(package)?,
            wants,
            wants_line: wants_line.unwrap_or(package_line),
            dependencies: self.dependencies(root)?,
        })
    }

    fn package_name(&self, package: &dyn TableLike, line: usize) -> Result<String> {
        let Some((name, line)) = self.string(package, "name")? else {
            return Err(self.problem(line, "[package] has no `name`"));
        };
        is_name(&name).then_some(name.clone()).ok_or_else(|| no_name(&name).of(self.place(line)))
    }

    fn version(&self, package: &dyn TableLike, line: usize) -> Result<Version> {
        let Some((version, line)) = self.string(package, "version")? else {
            return Err(self.problem(line, "[package] has no `version`"));
        };
        let error = |error| format!("`{}` is no version: {error}", version.escape_debug());
        Version::parse(&version)
            .map_err(|it| self.problem(line, &error(it)).hint("write three numbers, such as 1.2.0"))
    }

    fn main(&self, package: &dyn TableLike) -> Result<PathBuf> {
        let Some((main, line)) = self.string(package, "main")? else {
            return Ok(PathBuf::from("main.ns"));
        };
        let path = path_within(&main).filter(|path| is_module(path));
        path.ok_or_else(|| {
            let main = main.escape_debug();
            let text = format!("`{main}` is no module in the package's folder");
            self.problem(line, &text).hint("write a path such as main.ns or parts/Main.ns")
        })
    }

    fn dependencies(&self, root: &dyn TableLike) -> Result<BTreeMap<String, Dependency>> {
        let Some(table) = self.table(root, "dependencies")? else { return Ok(BTreeMap::new()) };
        if table.len() > MOST_DEPENDENCIES {
            let text = format!("there are more than {MOST_DEPENDENCIES} dependencies");
            return Err(self.problem(1, &text));
        }
        let mut dependencies = BTreeMap::new();
        for (name, item) in table.iter() {
            let line = self.line_of(table, name);
            if !is_name(name) {
                return Err(no_name(name).of(self.place(line)));
            }
            dependencies.insert(name.to_owned(), self.dependency(name, item, line)?);
        }
        Ok(dependencies)
    }

    fn dependency(&self, name: &str, item: &Item, line: usize) -> Result<Dependency> {
        if let Some(text) = item.as_str() {
            return Ok(Dependency {
                package: name.to_owned(),
                requirement: Some(self.requirement(text, line)?),
                source: None,
                grants: Capabilities::new(),
                line,
            });
        }
        let Some(table) = item.as_table_like() else {
            let text = format!("the dependency `{name}` is neither a version nor a table");
            return Err(self.problem(line, &text));
        };
        self.check_keys(table, &format!("dependencies.{name}."), DEPENDENCY)?;
        let package = self.string(table, "package")?;
        if let Some((other, line)) = package.as_ref().filter(|(other, _)| !is_name(other)) {
            return Err(no_name(other).of(self.place(*line)));
        }
        let requirement = self.string(table, "version")?;
        let requirement = requirement.map(|(text, line)| self.requirement(&text, line));
        let (grants, grants_line) = self.capabilities(table, "grants")?;
        let dependency = Dependency {
            package: package.map_or_else(|| name.to_owned(), |(package, _)| package),
            requirement: requirement.transpose()?,
            source: self.source(name, table, line)?,
            grants,
            line: grants_line.unwrap_or(line),
        };
        if dependency.source.is_none() && dependency.requirement.is_none() {
            let text = format!("the dependency `{name}` has neither a source nor a version");
            let hint = "write `path`, `git` or `archive`, or a `version` of which another \
                        manifest names the source";
            return Err(self.problem(line, &text).hint(hint));
        }
        Ok(dependency)
    }

    fn source(&self, name: &str, table: &dyn TableLike, line: usize) -> Result<Option<Source>> {
        let kinds: Vec<&str> =
            ["path", "git", "archive"].into_iter().filter(|key| table.contains_key(key)).collect();
        let [kind] = kinds[..] else {
            if kinds.is_empty() {
                let others = ["commit", "branch", "tag", "sha256"];
                return match others.into_iter().find(|key| table.contains_key(key)) {
                    Some(key) => Err(self.problem(line, &format!("`{key}` belongs to no source"))),
                    None => Ok(None),
                };
            }
            let text = format!("the dependency `{name}` has several sources: {}", kinds.join(", "));
            return Err(self.problem(line, &text));
        };
        self.check_companions(kind, table, line)?;
        let (address, line) = self.string(table, kind)?.unwrap_or_default();
        match kind {
            "path" if address.is_empty() => Err(self.problem(line, "the `path` is empty")),
            "path" => Ok(Some(Source::Path(PathBuf::from(address)))),
            "git" => {
                check_address(&address).map_err(|problem| problem.of(self.place(line)))?;
                Ok(Some(Source::Git { address, reference: self.reference(table, line)? }))
            }
            _ => {
                check_address(&address).map_err(|problem| problem.of(self.place(line)))?;
                Ok(Some(Source::Archive { address, sha256: self.sha256(table)? }))
            }
        }
    }

    /// Refuses keys that belong to another kind of source.
    fn check_companions(&self, kind: &str, table: &dyn TableLike, line: usize) -> Result<()> {
        let companions =
            [("commit", "git"), ("branch", "git"), ("tag", "git"), ("sha256", "archive")];
        for (key, owner) in companions {
            if owner != kind && table.contains_key(key) {
                let text = format!("`{key}` belongs to `{owner}`, not to `{kind}`");
                return Err(self.problem(line, &text));
            }
        }
        Ok(())
    }

    fn reference(&self, table: &dyn TableLike, line: usize) -> Result<Reference> {
        let texts = ["commit", "branch", "tag"].map(|key| self.string(table, key));
        let [commit, branch, tag] = texts;
        match (commit?, branch?, tag?) {
            (Some((commit, line)), None, None) => match digest::is_commit(&commit) {
                true => Ok(Reference::Commit(commit)),
                false => {
                    let text = format!("`{}` is no whole name of a commit", commit.escape_debug());
                    Err(self.problem(line, &text).hint("`git rev-parse` shows it: 40 small digits"))
                }
            },
            (None, Some((name, line)), None) => {
                self.check_reference(&name, line).map(|()| Reference::Branch(name))
            }
            (None, None, Some((name, line))) => {
                self.check_reference(&name, line).map(|()| Reference::Tag(name))
            }
            (None, None, None) => Ok(Reference::Head),
            _ => Err(self.problem(line, "`commit`, `branch` and `tag` exclude each other")),
        }
    }

    fn check_reference(&self, name: &str, line: usize) -> Result<()> {
        let suits = |character: char| character.is_alphanumeric() || "-_./+".contains(character);
        match !name.is_empty() && !name.starts_with('-') && name.chars().all(suits) {
            true => Ok(()),
            false => {
                let text = format!("`{}` is no name of a branch or tag", name.escape_debug());
                Err(self.problem(line, &text))
            }
        }
    }

    fn sha256(&self, table: &dyn TableLike) -> Result<Option<String>> {
        let Some((text, line)) = self.string(table, "sha256")? else { return Ok(None) };
        let small = text.to_ascii_lowercase();
        match digest::is_sha256(&small) {
            true => Ok(Some(small)),
            false => {
                let text = format!("`{}` is no SHA-256", text.escape_debug());
                Err(self.problem(line, &text).hint("`sha256sum` shows it: 64 digits"))
            }
        }
    }

    fn requirement(&self, text: &str, line: usize) -> Result<VersionReq> {
        VersionReq::parse(text).map_err(|error| {
            let text = format!("`{}` is no requirement: {error}", text.escape_debug());
            self.problem(line, &text).hint("write one such as ^1.2, =1.2.0 or >=1.2, <3")
        })
    }

    fn capabilities(
        &self,
        table: &dyn TableLike,
        key: &str,
    ) -> Result<(Capabilities, Option<usize>)> {
        let Some(item) = table.get(key) else { return Ok((Capabilities::new(), None)) };
        let line = self.line_of(table, key);
        let expected = || self.problem(line, &format!("`{key}` is no list of capabilities"));
        let mut found = Capabilities::new();
        for value in item.as_array().ok_or_else(expected)? {
            let name = value.as_str().ok_or_else(expected)?;
            let capability = capability::named(name).ok_or_else(|| {
                let text = format!("there is no capability `{}`", name.escape_debug());
                self.problem(line, &text).hint(format!("capabilities are {}", capability::list()))
            })?;
            found.insert(capability);
        }
        Ok((found, Some(line)))
    }

    /// A text and its line.
    fn string(&self, table: &dyn TableLike, key: &str) -> Result<Option<(String, usize)>> {
        let Some(item) = table.get(key) else { return Ok(None) };
        let line = self.line_of(table, key);
        match item {
            Item::Value(Value::String(text)) => Ok(Some((text.value().clone(), line))),
            _ => Err(self.problem(line, &format!("`{key}` is no text in quotes"))),
        }
    }

    fn table<'d>(&self, root: &'d dyn TableLike, key: &str) -> Result<Option<&'d dyn TableLike>> {
        let Some(item) = root.get(key) else { return Ok(None) };
        let line = self.line_of(root, key);
        let table = item.as_table_like();
        table.map(Some).ok_or_else(|| self.problem(line, &format!("`{key}` is no table")))
    }

    fn check_keys(&self, table: &dyn TableLike, prefix: &str, known: Keys) -> Result<()> {
        let unknown = table.iter().map(|(key, _)| key).find(|key| !known.contains(key));
        let Some(key) = unknown else { return Ok(()) };
        let shown: String = key.chars().take(80).collect();
        let text = format!("there is no key `{prefix}{}`", shown.escape_debug());
        let hint = format!("keys here are {}", known.join(", "));
        Err(self.problem(self.line_of(table, key), &text).hint(hint))
    }

    fn line_of(&self, table: &dyn TableLike, key: &str) -> usize {
        let found = table.get_key_value(key);
        let span = found.and_then(|(key, item)| key.span().or_else(|| item.span()));
        span.map_or(1, |span: Range<usize>| line_at(self.text, span.start))
    }

    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.shown.display())
    }

    fn problem(&self, line: usize, text: &str) -> Problem {
        Problem { kind: Kind::Invalid, text: format!("{}: {text}", self.place(line)) }
    }
}

/// Whether a path has an extension of modules.
pub fn is_module(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("ns" | "sqb" | "sqasm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Manifest> {
        Manifest::parse(text, Path::new("squall.toml"))
    }

    const HEAD: &str = "[package]\nname = \"a\"\nversion = \"1.0.0\"\n";

    #[test]
    fn a_manifest_has_all_that_it_says() {
        let manifest = parse(&format!(
            "{HEAD}main = \"src/A.ns\"\nwants = [\"files\", \"net\"]\n\n[dependencies]\n\
             b = \"^1\"\nc = {{ path = \"../c\", grants = [\"net\"] }}\n\n\
             [dependencies.d]\npackage = \"e\"\narchive = \"https://x/e.tar.gz\"\n\
             sha256 = \"{}\"\nversion = \">=1, <3\"\n",
            crate::digest::of_bytes(b"").to_uppercase(),
        ));
        let manifest = manifest.expect("a manifest");
        assert_eq!(manifest.main, Path::new("src/A.ns"));
        assert_eq!((manifest.wants.len(), manifest.wants_line), (2, 5));
        let [b, c, d] = ["b", "c", "d"].map(|name| &manifest.dependencies[name]);
        assert!(b.source.is_none() && b.requirement.is_some());
        assert_eq!((c.grants.len(), c.line), (1, 9));
        assert_eq!((d.package.as_str(), d.line), ("e", 11));
    }

    /// Each text, and a part of the problem.
    #[test]
    fn mistakes_have_a_place_and_a_reason() {
        let dependency = |text: &str| format!("{HEAD}[dependencies]\nb = {text}\n");
        let cases = [
            (String::new(), "squall.toml:1: there is no table [package]"),
            ("[package]\nversion = \"1.0.0\"".into(), "squall.toml:1: [package] has no `name`"),
            ("[package]\nname = \"a\"".into(), "[package] has no `version`"),
            ("x = [".into(), "squall.toml:1"),
            ("package = 1".into(), "`package` is no table"),
            (HEAD.replace("1.0.0", "1.0"), "squall.toml:3: `1.0` is no version"),
            (HEAD.replace("\"a\"", "\"../a\""), "`../a` is no name"),
            (HEAD.replace("\"a\"", "1"), "`name` is no text"),
            (format!("{HEAD}main = \"../x.ns\""), "no module in the package's folder"),
            (format!("{HEAD}main = \"x.txt\""), "no module in the package's folder"),
            (format!("{HEAD}want = []"), "there is no key `package.want`"),
            (format!("{HEAD}wants = \"files\""), "`wants` is no list"),
            (format!("{HEAD}wants = [\"file\"]"), "squall.toml:4: there is no capability `file`"),
            (format!("{HEAD}[extra]"), "there is no key `extra`"),
            (dependency("1"), "neither a version nor a table"),
            (dependency("{}"), "neither a source nor a version"),
            (dependency("\"1.y\""), "squall.toml:5: `1.y` is no requirement"),
            (dependency("{ path = \"\" }"), "the `path` is empty"),
            (dependency("{ path = \"b\", git = \"c\" }"), "several sources: path, git"),
            (dependency("{ path = \"b\", sha256 = \"c\" }"), "`sha256` belongs to `archive`"),
            (dependency("{ commit = \"b\", version = \"1\" }"), "`commit` belongs to no source"),
            (dependency("{ git = \"b\", commit = \"12\" }"), "no whole name of a commit"),
            (dependency("{ git = \"b\", tag = \"x\", branch = \"y\" }"), "exclude each other"),
            (dependency("{ git = \"b\", branch = \"-x\" }"), "no name of a branch"),
            (dependency("{ git = \"--x\" }"), "no address"),
            (dependency("{ git = \"ext::sh -c x\" }"), "no address"),
            (dependency("{ archive = \"b\", sha256 = \"12\" }"), "`12` is no SHA-256"),
            (dependency("{ path = \"b\", grant = [] }"), "no key `dependencies.b.grant`"),
            (dependency("{ path = \"b\", grants = [\"all\"] }"), "no capability `all`"),
            (dependency("{ path = \"b\", package = \"x y\" }"), "`x y` is no name"),
        ];
        for (text, part) in cases {
            let problem = parse(&text).expect_err(&text).text;
            assert!(problem.contains(part), "{text}\n{problem}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            _ = parse(&text);
            _ = parse(&format!("{HEAD}[dependencies]\n{text}"));
            _ = parse(&format!("{HEAD}[dependencies]\nb = {{ {text} }}"));
        }
    }
}
