//! Includes: make one module of several files. The assembler calls this before it reads the text.
//!
//! A line `include "types.sqasm"` stands for the lines of that file, which is searched next to the including file. The
//! line may stand anywhere, even in the body of an item. The caller provides the text of a file; this crate reads no
//! files.
//!
//! A file is included once: a second `include` of it has no effect, so that several files can include a common one. A
//! file that includes itself, directly or through others, is a mistake. Only files whose names end in `.sqasm` can be
//! included: so the reported mistakes reveal nothing of other files to a caller that has a module assembled.
//!
//! The assembler sees one text. This module remembers the origin of each of its lines, so a [`Mistake`] names the file
//! and the line that the user has written.

use std::path::{Component, Path, PathBuf};

use super::assemble_with_places;
use super::diagnostic::{Diagnostic, Diagnostics, Span};
use super::lexer::{TokenKind, tokenize};
use super::places::Places;
use super::statement::Result;
use crate::module::Module;

/// The extension of files that can be included.
const EXTENSION: &str = "sqasm";

/// How many files a module can have. Includes cannot be deeper than that, either.
const MOST_FILES: usize = 256;

/// How long all files can be, together.
const MOST_BYTES: usize = 64 << 20;

/// A file of a module.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path, relative to the base of the first file's path.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A problem in one of the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// The file's index in [`Sources::files`].
    pub file: usize,
    /// The problem; its lines are those of the file. One on line 0 is about all of it.
    pub diagnostic: Diagnostic,
}

/// Reads a file with this path, or answers why it cannot.
pub type Read<'r> = &'r dyn Fn(&Path) -> std::result::Result<String, String>;

/// A text and all that it includes.
#[derive(Debug)]
pub struct Sources {
    files: Vec<File>,
    /// The text with the lines of included files in the place of the includes.
    whole: String,
    /// For each of its lines, where it comes from.
    origins: Vec<Origin>,
    mistakes: Vec<Mistake>,
}

#[derive(Clone, Copy, Debug)]
struct Origin {
    file: usize,
    line: u32,
}

impl Sources {
    /// The text of a file with this path, and all that it includes.
    pub fn gather(path: &str, text: &str, read: Read) -> Sources {
        let mut sources = Sources {
            files: Vec::new(),
            whole: String::new(),
            origins: Vec::new(),
            mistakes: Vec::new(),
        };
        let name = path.to_owned();
        sources.add(File { name, text: text.to_owned() }, &mut Vec::new(), read);
        sources
    }

    /// The files, the first one first.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The files alone, for callers that need nothing else.
    pub fn into_files(self) -> Vec<File> {
        self.files
    }

    /// Assembles them. The first [`Diagnostic::MOST`] problems at most are answered; those of includes come alone.
    pub fn assemble(&self) -> std::result::Result<Module, Vec<Mistake>> {
        self.assemble_with_places().map(|(module, _)| module)
    }

    /// Assembles them, and says where the parts of the module stand in the whole text.
    pub fn assemble_with_places(&self) -> std::result::Result<(Module, Places), Vec<Mistake>> {
        if !self.mistakes.is_empty() {
            return Err(self.mistakes.clone());
        }
        assemble_with_places(&self.whole)
            .map_err(|problems| problems.into_iter().map(|problem| self.mistake(problem)).collect())
    }

    /// A problem in the whole text, where it comes from. One that has no place is the first file's.
    pub fn mistake(&self, mut diagnostic: Diagnostic) -> Mistake {
        let Some(index) = (diagnostic.span.line as usize).checked_sub(1) else {
            return Mistake { file: 0, diagnostic };
        };
        // Behind its last line, a text may lack something.
        let behind = || Origin { file: 0, line: self.files[0].text.lines().count() as u32 + 1 };
        let Origin { file, line } = self.origins.get(index).copied().unwrap_or_else(behind);
        diagnostic.span.line = line;
        Mistake { file, diagnostic }
    }

    /// Appends a file and the files that it includes. `open` are the files that are being included.
    fn add(&mut self, file: File, open: &mut Vec<usize>, read: Read) {
        let index = self.files.len();
        let lines: Vec<String> = file.text.lines().map(str::to_owned).collect();
        self.files.push(file);
        open.push(index);
        for (line, text) in (1..).zip(&lines) {
            match include(text, line) {
                None => {
                    self.whole.push_str(text);
                    self.whole.push('\n');
                    self.origins.push(Origin { file: index, line });
                }
                Some(Ok((path, span))) => {
                    if let Err(diagnostic) = self.include(index, &path, span, open, read) {
                        self.report(index, diagnostic);
                    }
                }
                Some(Err(diagnostic)) => self.report(index, diagnostic),
            }
        }
        open.pop();
    }

    fn report(&mut self, file: usize, diagnostic: Diagnostic) {
        if self.mistakes.len() < Diagnostic::MOST {
            self.mistakes.push(Mistake { file, diagnostic });
        }
    }

    /// Appends an included file, unless it was appended before.
    fn include(
        &mut self,
        by: usize,
        path: &str,
        span: Span,
        open: &mut Vec<usize>,
        read: Read,
    ) -> Result<()> {
        if Path::new(path).extension().is_none_or(|extension| extension != EXTENSION) {
            let problem = Diagnostic::new(span, format!("`{path}` cannot be included"));
            return Err(problem.hint(format!("only files with the extension .{EXTENSION} can")));
        }
        let place = resolve(&self.files[by].name, path);
        let name = place.display().to_string();
        if let Some(known) = self.files.iter().position(|file| file.name == name) {
            return match open.contains(&known) {
                false => Ok(()),
                true => Err(self.circle(span, known, open)),
            };
        }
        if self.files.len() >= MOST_FILES {
            return Err(Diagnostic::new(span, format!("there are more than {MOST_FILES} files")));
        }
        let text = read(&place).map_err(|reason| {
            Diagnostic::new(span, format!("`{name}` cannot be read: {reason}"))
        })?;
        if self.whole.len() + text.len() > MOST_BYTES {
            return Err(Diagnostic::new(span, "all files together are too long"));
        }
        self.add(File { name, text }, open, read);
        Ok(())
    }

    /// The mistake of a file that includes itself, with the chain of includes.
    fn circle(&self, span: Span, known: usize, open: &[usize]) -> Diagnostic {
        let way = open.iter().skip_while(|file| **file != known).chain([&known]);
        let way: Vec<&str> = way.map(|file| self.files[*file].name.as_str()).collect();
        Diagnostic::new(span, format!("`{}` includes itself", self.files[known].name))
            .label(way.join(" → "))
    }
}

/// The path in a line that is an include, and where the line has it.
fn include(text: &str, line: u32) -> Option<Result<(String, Span)>> {
    // Most lines are none, and need not be cut twice.
    if !text.trim_start().starts_with("include") {
        return None;
    }
    let mut diagnostics = Diagnostics::default();
    let tokens = tokenize(text, &mut diagnostics);
    let here = |span: Span| Span { line, ..span };
    match tokens.as_slice() {
        [word, path, rest @ ..] if word.kind == TokenKind::Name("include") => {
            let is_all = rest.first().is_some_and(|end| end.kind == TokenKind::LineEnd);
            Some(match &path.kind {
                TokenKind::Text(name) if is_all => Ok((name.clone(), here(path.span))),
                _ => Err(Diagnostic::new(here(path.span), "expected the name of a file in quotes")),
            })
        }
        _ => None,
    }
}

/// The path of an included file, without `.` and with as few `..` as possible.
fn resolve(by: &str, path: &str) -> PathBuf {
    let beside = Path::new(by).parent().unwrap_or(Path::new("")).join(path);
    let mut simple = PathBuf::new();
    for component in beside.components() {
        let last = simple.components().next_back();
        match (component, last) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => _ = simple.pop(),
            (component, _) => simple.push(component),
        }
    }
    simple
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files by their names; the first one includes the others.
    fn gather(files: &[(&str, &str)]) -> Sources {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or("there is none".to_owned())
        };
        Sources::gather(files[0].0, files[0].1, &read)
    }

    /// The mistakes, as `file:line:column: message`.
    fn mistakes(files: &[(&str, &str)]) -> Vec<String> {
        let sources = gather(files);
        let mistakes = sources.assemble().err().unwrap_or_default();
        let show = |mistake: Mistake| {
            format!("{}:{}", sources.files()[mistake.file].name, mistake.diagnostic)
        };
        mistakes.into_iter().map(show).collect()
    }

    const LEAF: &str = "method $leaf \"leaf\" (0) {\n registers any*1\n return r0\n}\n";

    #[test]
    fn included_lines_stand_in_the_place_of_the_include() {
        let main = "include \"parts/leaf.sqasm\" ; the rest\nmethod fn1 \"f\" (0) {\n\
                    include \"parts/body.sqasm\"\n}";
        let body = "registers any*1\nreturn r0";
        let module = gather(&[
            ("a/main.sqasm", main),
            ("a/parts/leaf.sqasm", LEAF),
            ("a/parts/body.sqasm", body),
        ]);
        let module = module.assemble().expect("correct");
        assert_eq!(module.functions.len(), 2);
        assert_eq!(module.functions[0].code, module.functions[1].code);
    }

    #[test]
    fn a_file_is_included_once() {
        let files = [
            ("main.sqasm", "include \"a.sqasm\"\ninclude \"./b/../leaf.sqasm\""),
            ("a.sqasm", "include \"leaf.sqasm\""),
            ("leaf.sqasm", LEAF),
        ];
        assert_eq!(gather(&files).assemble().expect("correct").functions.len(), 1);
    }

    #[test]
    fn who_includes_itself_is_told_the_way() {
        let files = [
            ("main.sqasm", "include \"a.sqasm\""),
            ("a.sqasm", "\n  include \"b.sqasm\""),
            ("b.sqasm", "include \"a.sqasm\""),
        ];
        assert_eq!(
            mistakes(&files),
            ["b.sqasm:1:9: `a.sqasm` includes itself (a.sqasm → b.sqasm → a.sqasm)"]
        );
    }

    #[test]
    fn mistakes_are_those_of_the_file_they_are_in() {
        let main = "include \"leaf.sqasm\"\nmethod $f \"f\" (0) {\n launch r0\n}\nmethod $g";
        let files = [("main.sqasm", main), ("leaf.sqasm", "\nslot 3\n")];
        let found = mistakes(&files);
        let places: Vec<&str> =
            found.iter().map(|text| &text[..text.find(": ").unwrap()]).collect();
        assert_eq!(places, ["leaf.sqasm:2:1", "main.sqasm:3:2", "main.sqasm:5:10"], "{found:?}");
    }

    #[test]
    fn what_cannot_be_included_is_said() {
        let main = "include \"secret.txt\"\ninclude \"lost.sqasm\"\ninclude lost\ninclude";
        assert_eq!(
            mistakes(&[("x/main.sqasm", main)]),
            [
                "x/main.sqasm:1:9: `secret.txt` cannot be included; only files with the extension .sqasm can",
                "x/main.sqasm:2:9: `x/lost.sqasm` cannot be read: there is none",
                "x/main.sqasm:3:9: expected the name of a file in quotes",
                "x/main.sqasm:4:8: expected the name of a file in quotes",
            ]
        );
    }

    #[test]
    fn a_flood_of_files_ends() {
        let read = |path: &Path| {
            let number: usize = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
            Ok(format!("include \"{}.sqasm\"", number + 1))
        };
        let sources = Sources::gather("0.sqasm", "include \"1.sqasm\"", &read);
        let mistakes = sources.assemble().expect_err("there is no end");
        assert_eq!(mistakes[0].diagnostic.message, "there are more than 256 files");
    }
}
