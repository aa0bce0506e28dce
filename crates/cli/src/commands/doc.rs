//! `squall doc`: writes the reference of the library and of modules of the user. `commands` calls this module.

use std::path::Path;

use squall::compiler::{CompileProblem, FileKind};
use squall::library;
use squall_newspeak::{Diagnostic, Source, parse_partial};
use squall_reference::{File, Options, Text, reference};

use crate::arguments::Doc;
use crate::console::{colour, print_error};
use crate::exit::Exit;
use crate::files;

pub fn doc(arguments: &Doc) -> Result<Exit, Exit> {
    let mut exit = Exit::Success;
    let mut texts = Vec::new();
    for path in &arguments.paths {
        match read(path) {
            Ok(sources) => texts.extend(sources),
            Err(error) => exit = exit.and(error),
        }
    }
    for text in &texts {
        exit = exit.and(complain_about(&text.source));
    }
    texts.extend(library_texts());
    let options = Options { shows_private: arguments.private, site: arguments.site.as_deref() };
    write(&arguments.output, &reference(&texts, library::outline(), options))?;
    Ok(exit)
}

/// The texts at and below a path.
fn read(path: &str) -> Result<Vec<Text>, Exit> {
    const KINDS: [FileKind; 1] = [FileKind::Newspeak];
    let paths = match Path::new(path).is_dir() {
        true => files::below(path, &KINDS)?,
        false => vec![path.to_owned()],
    };
    let text = |path: &String| {
        let source = files::read(path, &KINDS)?.source();
        Ok(Text { source, is_library: false })
    };
    paths.iter().map(text).collect()
}

fn library_texts() -> impl Iterator<Item = Text> {
    library::names().filter_map(|name| {
        let text = library::source(name)?;
        Some(Text { source: Source::new(format!("lib/{name}.ns"), text), is_library: true })
    })
}

/// Shows the mistakes of a text; its page has the rest.
fn complain_about(source: &Source) -> Exit {
    let mut mistakes = parse_partial(source).diagnostics;
    mistakes.retain(Diagnostic::is_error);
    if mistakes.is_empty() {
        return Exit::Success;
    }
    print_error(&CompileProblem::Newspeak(source.clone(), mistakes).render(colour()));
    Exit::Invalid
}

fn write(folder: &Path, files: &[File]) -> Result<(), Exit> {
    let refuse = |path: &Path, error: std::io::Error| files::unwritten(path.display(), &error);
    std::fs::create_dir_all(folder).map_err(|error| refuse(folder, error))?;
    for file in files {
        let path = folder.join(&file.name);
        std::fs::write(&path, &file.content).map_err(|error| refuse(&path, error))?;
    }
    Ok(())
}
