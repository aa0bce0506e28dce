//! The layout of programs in Newspeak changes their white space only: checked with the programs of this project, with
//! generated ones, and with programs of which every gap between two tokens has other blanks.
//!
//! `SQUALL_SOMNS=path/to/SOMns` adds the programs of SOMns, and `SQUALL_LAYOUTS=N` sets the number of generated ones.

use std::path::{Path, PathBuf};

use squall_fuzzing::choices::Choices;
use squall_fuzzing::forms::check_layout;
use squall_fuzzing::guests;
use squall_newspeak::{Source, Span, comments, lexer};

/// All programs in some folders of the project.
fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut programs = Vec::new();
    for folder in ["lib", "examples", "tests", "benchmarks", "fuzz/seeds"] {
        collect(&root.join(folder), &mut programs);
    }
    if let Some(somns) = std::env::var_os("SQUALL_SOMNS") {
        collect(Path::new(&somns), &mut programs);
    }
    programs
}

fn collect(folder: &Path, programs: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            collect(&path, programs);
        } else if path.extension().is_some_and(|extension| extension == "ns") {
            programs.push(path);
        }
    }
}

fn read(path: &Path) -> Source {
    let bytes = std::fs::read(path).expect("the file was listed");
    Source::from_bytes(path.to_string_lossy(), &bytes)
}

fn check(source: &Source, origin: &str) {
    if let Err(problem) = check_layout(source) {
        panic!("{origin}: {problem}");
    }
}

#[test]
fn the_layout_of_every_program_is_the_same_program() {
    let programs = programs();
    assert!(programs.len() > 400, "only {} programs", programs.len());
    for path in programs {
        check(&read(&path), &path.display().to_string());
    }
}

#[test]
fn the_layout_of_generated_programs_is_the_same_program() {
    let count = std::env::var("SQUALL_LAYOUTS").ok().and_then(|count| count.parse().ok());
    for seed in 0..count.unwrap_or(40) {
        let program = guests::program(&mut Choices::Seed(seed));
        check(&Source::new("generated.ns", &*program), &format!("seed {seed}"));
        let other = with_other_blanks(&Source::new("generated.ns", program), seed);
        check(&Source::new("generated.ns", other), &format!("seed {seed} with other blanks"));
    }
}

#[test]
fn blanks_may_be_anywhere() {
    let programs = programs();
    // Every file takes part under some seed; all of them under each would take minutes.
    for (seed, path) in (0..).zip(programs).step_by(5) {
        let other = with_other_blanks(&read(&path), seed);
        let origin = format!("{} with the blanks of seed {seed}", path.display());
        check(&Source::new("blanks.ns", other), &origin);
    }
}

/// The text with other blanks and line ends, and further comments, between its tokens.
fn with_other_blanks(source: &Source, seed: u64) -> String {
    let mut choices = Choices::Seed(seed);
    let (mut text, mut end) = (String::new(), 0);
    for token in lexer::tokenize(source).list {
        let gap = Span { start: end, end: token.span.start };
        for comment in comments::comments_in(source, gap) {
            text += blank(&mut choices);
            text += source.slice(comment);
        }
        if gap.start < gap.end || choices.one_in(8) && may_be_apart(source, gap.start) {
            text += blank(&mut choices);
        }
        text += source.slice(token.span);
        end = token.span.end;
    }
    text
}

fn blank(choices: &mut Choices) -> &'static str {
    const BLANKS: [&str; 10] = [
        " ",
        " ",
        "\n",
        "\n\n\n",
        "   ",
        "\n        ",
        " (* a comment *) ",
        "\n  (* lines\n     of it *)",
        " (* trailing *)\n",
        "\t\n",
    ];
    BLANKS[choices.below(BLANKS.len())]
}

/// Whether two tokens that lie side by side may be separated: not if the lexer's rules look at both.
fn may_be_apart(source: &Source, place: u32) -> bool {
    let around = [place.checked_sub(1), Some(place)];
    let characters =
        around.map(|place| place.and_then(|place| source.text().as_bytes().get(place as usize)));
    characters
        .iter()
        .any(|byte| matches!(byte, Some(b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'.' | b';')))
}
