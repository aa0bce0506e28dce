//! The properties of all modules and texts: the conversion to the other form and back changes nothing. Fuzz targets and
//! tests check them.

use squall_bytecode::assembler::{assemble, format as lay_out};
use squall_bytecode::disassembler::disassemble;
use squall_bytecode::format;
use squall_bytecode::module::Module;
use squall_newspeak::diagnostics::Diagnostic;
use squall_newspeak::format::{FormatError, format as layout_of};
use squall_newspeak::{CompileOptions, Source, compile_source};

/// The module in a file of any form, binary, assembly or Newspeak; `None` if the file holds none.
pub fn module_of(bytes: &[u8]) -> Option<Module> {
    let mut sealed = bytes.to_vec();
    format::seal(&mut sealed);
    if let Ok(module) = format::decode(&sealed) {
        return Some(module);
    }
    let text = std::str::from_utf8(bytes).ok()?;
    assemble(text).ok().or_else(|| {
        let source = Source::from_bytes("fuzz.ns", bytes);
        compile_source(&source, &CompileOptions { trusted: false }).ok()
    })
}

/// Checks that the binary form, the text form and the formatted text form of a module all give the same module.
pub fn check(module: &Module) -> Result<(), String> {
    let bytes = format::encode(module).map_err(|error| format!("it cannot be encoded: {error}"))?;
    let decoded = format::decode(&bytes).map_err(|error| format!("it cannot be read: {error}"))?;
    let text = disassemble(&decoded);
    check_text(&text, &bytes)
}

/// Checks that a text gives the module with this binary form, that the formatted text does, too, and that formatting it
/// again changes nothing.
pub fn check_text(text: &str, bytes: &[u8]) -> Result<(), String> {
    if encoded(text)? != bytes {
        return Err(format!("the text is that of another module:\n{text}"));
    }
    let laid_out = lay_out(text).map_err(|problems| format!("{problems:?}\n{text}"))?;
    if encoded(&laid_out)? != bytes {
        return Err(format!("laid out, the text is that of another module:\n{laid_out}"));
    }
    match lay_out(&laid_out) {
        Ok(again) if again == laid_out => Ok(()),
        _ => Err(format!("laid out twice, the text is another one:\n{laid_out}")),
    }
}

fn encoded(text: &str) -> Result<Vec<u8>, String> {
    let module = assemble(text).map_err(|problems| format!("{}\n{text}", problems[0]))?;
    format::encode(&module).map_err(|error| format!("{error}\n{text}"))
}

/// Panics if a place that diagnostics name is not in the text.
pub fn assert_places(source: &Source, diagnostics: &[Diagnostic]) {
    for label in diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
        assert!(label.span.start <= label.span.end && label.span.end <= source.end().end);
    }
}

/// Checks that the layout of a program in Newspeak is that of the same program, and that it is its own layout. A text
/// with mistakes has no layout.
pub fn check_layout(source: &Source) -> Result<(), String> {
    let laid_out = match layout_of(source) {
        Ok(text) => Source::new(source.name(), text),
        Err(FormatError::Mistakes(_)) => return Ok(()),
        Err(FormatError::Changed) => return Err("the layout has other tokens or comments".into()),
    };
    if let Some(difference) = difference(laid_out.text(), &layout_of(&laid_out)) {
        return Err(format!("laid out twice, the text is another one:\n{difference}"));
    }
    match code(source) == code(&laid_out) {
        true => Ok(()),
        false => Err(format!("laid out, it has other code:\n{}", laid_out.text())),
    }
}

/// The first lines that differ.
fn difference(text: &str, again: &Result<String, FormatError>) -> Option<String> {
    let again = match again {
        Ok(again) if again == text => return None,
        Ok(again) => again,
        Err(error) => return Some(format!("{error:?}")),
    };
    let differs = |(one, other): &(&str, &str)| one != other;
    let (one, other) = text.lines().zip(again.lines()).find(differs).unwrap_or_default();
    Some(format!("- {one}\n+ {other}"))
}

/// The module without the positions in its text; none if it is beyond the limits of the bytecode.
fn code(source: &Source) -> Option<Module> {
    let mut module = compile_source(source, &CompileOptions { trusted: true }).ok()?;
    for entry in module.functions.iter_mut().flat_map(|function| &mut function.lines) {
        (entry.line, entry.column) = (0, 0);
    }
    module.classes.iter_mut().for_each(|class| class.position = (0, 0));
    Some(module)
}
