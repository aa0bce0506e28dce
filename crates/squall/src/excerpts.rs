//! Excerpts of the text form of bytecode for its diagnostics: message, the line with carets, hint. `compiler` calls
//! this.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use squall_bytecode::assembler::{File, Mistake};
use squall_newspeak::diagnostics::render::Colour;

/// The mistakes in these files as text, with a blank line between two of them.
pub fn to_text(files: &[File], mistakes: &[Mistake], colour: Colour) -> String {
    let reports = mistakes.iter().map(|mistake| report(&files[mistake.file], mistake, colour));
    reports.collect::<Vec<_>>().join("\n")
}

fn report(file: &File, mistake: &Mistake, colour: Colour) -> String {
    let diagnostic = &mistake.diagnostic;
    let number = diagnostic.span.line as usize;
    let renderer = match colour {
        Colour::Ansi => Renderer::styled(),
        Colour::None => Renderer::plain(),
    };
    if number == 0 {
        let title = format!("{}: {}", file.name, diagnostic.message);
        return renderer.render(&[Group::with_title(Level::ERROR.primary_title(title))]) + "\n";
    }
    let line = file.text.lines().nth(number.saturating_sub(1)).unwrap_or("");
    let (line, marked) = window(line, diagnostic.span.column, diagnostic.span.length);
    let annotation = AnnotationKind::Primary.span(marked);
    let annotation = match &*diagnostic.label {
        "" => annotation,
        label => annotation.label(label),
    };
    let excerpt = Snippet::source(line).path(&*file.name).line_start(number).annotation(annotation);
    let mut group = Level::ERROR.primary_title(&*diagnostic.message).element(excerpt);
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(&**hint));
    }
    renderer.render(&[group]) + "\n"
}

/// The number of bytes of a line that are shown from the start of the marked part on.
const WINDOW_BYTES: usize = 200;

/// The part of a line to show, and the place of the marked characters in it.
fn window(line: &str, column: u32, length: u32) -> (&str, Range<usize>) {
    let offset = |characters: usize| {
        line.char_indices().nth(characters).map_or(line.len(), |(offset, _)| offset)
    };
    let first = column.saturating_sub(1) as usize;
    let (start, end) = (offset(first), offset(first + length as usize));
    let last = (start + WINDOW_BYTES..).find(|end| line.is_char_boundary((*end).min(line.len())));
    let last = last.unwrap_or(line.len()).min(line.len());
    (&line[..last], start..end.clamp(start, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_bytecode::assembler::Sources;

    fn shown(text: &str) -> String {
        let sources = Sources::gather("a.sqasm", text, &|_| Err("there is none".to_owned()));
        to_text(sources.files(), &sources.assemble().expect_err("a mistake"), Colour::None)
    }

    #[test]
    fn the_place_is_marked() {
        let text = shown("method fn0 \"é\" (0) {\n    launch r0 ; now\n}");
        let expected = "\
error: there is no instruction `launch`
 --> a.sqasm:2:5
  |
2 |     launch r0 ; now
  |     ^^^^^^
";
        assert_eq!(text, expected);
    }

    #[test]
    fn endless_lines_are_cut_and_wide_characters_are_no_trouble() {
        let long = format!("path \"{}\" nonsense", "ü".repeat(1000));
        assert!(shown(&long).len() < 4000);
        assert!(shown(&format!("nonsense {}", "ü".repeat(1000))).len() < 2000);
        assert!(shown("method fn0 \"").contains("quote is missing"));
    }
}
