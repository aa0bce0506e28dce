//! Parses files and shows their mistakes, or the speed of the parser.
//!
//! ```text
//! cargo run --release -p squall-newspeak --example parse -- FILE…
//! cargo run --release -p squall-newspeak --example parse -- --speed FILE…
//! cargo run --release -p squall-newspeak --example parse -- --dump=tokens|ast FILE…
//! ```

use std::time::{Duration, Instant};

use squall_newspeak::diagnostics::render::{Colour, to_text};
use squall_newspeak::{Source, dump, lexer, parse};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (options, paths): (Vec<_>, Vec<_>) =
        arguments.into_iter().partition(|argument| argument.starts_with("--"));
    let sources: Vec<Source> = paths.iter().map(|path| read(path)).collect();
    match options.first().map(String::as_str) {
        None => sources.iter().for_each(check),
        Some("--speed") => measure(&sources),
        Some("--dump=tokens") => sources.iter().for_each(|source| {
            print!("{}", dump::tokens(source, &lexer::tokenize(source).list));
        }),
        Some("--dump=ast") => sources.iter().for_each(|source| match parse(source).ast {
            Some(ast) => print!("{}", dump::ast(&ast)),
            None => check(source),
        }),
        Some(other) => eprintln!("unknown option {other}"),
    }
}

fn read(path: &str) -> Source {
    match std::fs::read(path) {
        Ok(bytes) => Source::from_bytes(path, &bytes),
        Err(error) => {
            eprintln!("{path}: {error}");
            std::process::exit(1);
        }
    }
}

fn check(source: &Source) {
    let parse = parse(source);
    print!("{}", to_text(source, &parse.diagnostics, Colour::None));
}

/// Prints megabytes per second, the best of several rounds.
fn measure(sources: &[Source]) {
    let bytes: usize = sources.iter().map(|source| source.text().len()).sum();
    let report = |what, round: &dyn Fn()| {
        let best = (0..10).map(|_| timed(round)).min().unwrap_or_default();
        println!("{what}: {:.1} MB/s", bytes as f64 / 1e6 / best.as_secs_f64());
    };
    println!("{} files, {:.2} MB", sources.len(), bytes as f64 / 1e6);
    report("lexing ", &|| sources.iter().for_each(|source| drop(lexer::tokenize(source))));
    report("parsing", &|| sources.iter().for_each(|source| drop(parse(source))));
}

fn timed(round: &dyn Fn()) -> Duration {
    let start = Instant::now();
    round();
    start.elapsed()
}
