//! Makes runnable modules of the bytes of files, for the command line, sessions and embedders.
//!
//! Three kinds of file hold a module: Newspeak source text (`.ns`), the binary form of bytecode (`.sqb`) and its text
//! form (`.sqasm`). Bytecode can come from anywhere, and is verified before use. The output of Squall's own compiler is
//! verified only to find bugs in the compiler.

use std::sync::atomic::{AtomicBool, Ordering};

use squall_bytecode::assembler::{Diagnostic, File, Mistake, Places, Read, Sources, Span};
use squall_bytecode::entities::{FunctionId, StringId};
use squall_bytecode::format;
use squall_bytecode::module::{LineEntry, Module, path_of};
use squall_bytecode::verifier::{Place, Trust, VerifyError, verify};
use squall_newspeak::diagnostics::render::{Colour, to_text};
use squall_newspeak::lower::lower;
use squall_newspeak::{CompileOptions, Source};

use crate::{coverage, excerpts, library};

/// The forms a module file can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// Newspeak source text.
    Newspeak,
    /// The binary form of bytecode.
    Binary,
    /// The text form of bytecode.
    Assembly,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [FileKind; 3] = [FileKind::Newspeak, FileKind::Binary, FileKind::Assembly];

    /// The extension of files of this kind.
    pub fn extension(self) -> &'static str {
        match self {
            FileKind::Newspeak => "ns",
            FileKind::Binary => "sqb",
            FileKind::Assembly => "sqasm",
        }
    }

    /// The kind with the path's extension.
    pub fn of_path(path: &str) -> Option<FileKind> {
        let extension = std::path::Path::new(path).extension()?;
        FileKind::ALL.into_iter().find(|kind| extension == kind.extension())
    }
}

/// The reason why bytes are no module. Each problem is located.
#[derive(Debug)]
pub enum CompileProblem {
    /// The source text has mistakes.
    Newspeak(Source, Vec<squall_newspeak::Diagnostic>),
    /// The text form of bytecode, in these files, has mistakes.
    Assembly(Vec<File>, Vec<Mistake>),
    /// The bytes are not bytecode, or bytecode that may not run: one problem per line.
    Bytecode(Vec<String>),
}

impl CompileProblem {
    /// The problem as text, for people.
    pub fn render(&self, colour: Colour) -> String {
        match self {
            CompileProblem::Newspeak(source, diagnostics) => to_text(source, diagnostics, colour),
            CompileProblem::Assembly(files, mistakes) => excerpts::to_text(files, mistakes, colour),
            CompileProblem::Bytecode(lines) => {
                lines.iter().map(|line| format!("error: {line}\n")).collect()
            }
        }
    }

    /// The problems in bytecode, one per line. None if it is about source text.
    pub fn lines(&self) -> Vec<String> {
        match self {
            CompileProblem::Newspeak(..) => Vec::new(),
            CompileProblem::Assembly(files, mistakes) => {
                let line = |mistake: &Mistake| {
                    let name = &files[mistake.file].name;
                    match mistake.diagnostic.span.line {
                        0 => format!("{name}: {}", mistake.diagnostic.message),
                        _ => format!("{name}:{}", mistake.diagnostic),
                    }
                };
                mistakes.iter().map(line).collect()
            }
            CompileProblem::Bytecode(lines) => lines.clone(),
        }
    }
}

/// A module that may run: it was verified, or Squall's own compiler made it.
#[derive(Clone, Debug)]
pub struct RunnableModule(Module);

impl RunnableModule {
    /// The module.
    pub fn module(&self) -> &Module {
        &self.0
    }

    pub(crate) fn into_module(self) -> Module {
        self.0
    }

    /// Moves the positions on the first line `columns` to the left.
    pub(crate) fn shift_first_line(&mut self, columns: u32) {
        for function in &mut self.0.functions {
            for entry in function.lines.iter_mut().filter(|entry| entry.line == 1) {
                entry.column = entry.column.saturating_sub(columns).max(1);
            }
        }
    }
}

/// Makes a module from the bytes of a file. An assembly file must not include others.
pub fn module_from_bytes(
    path: &str,
    kind: FileKind,
    bytes: &[u8],
    verify_all: bool,
) -> Result<RunnableModule, CompileProblem> {
    let refuse: Read = &|_| Err("files cannot be included here".to_owned());
    module_with_includes(path, kind, bytes, verify_all, refuse)
}

/// Makes a module from the bytes of a file; `read` reads the files that an assembly file includes.
pub fn module_with_includes(
    path: &str,
    kind: FileKind,
    bytes: &[u8],
    verify_all: bool,
    read: Read,
) -> Result<RunnableModule, CompileProblem> {
    match kind {
        FileKind::Newspeak => compile_newspeak(Source::from_bytes(path, bytes), verify_all),
        FileKind::Binary => {
            let module = format::decode(bytes)
                .map_err(|error| CompileProblem::Bytecode(vec![format!("{path}: {error}")]))?;
            verified(path, module, Trust::Untrusted)
        }
        FileKind::Assembly => {
            let mut assembly = Assembly::of(path, bytes, read)?;
            if NOTES_LINES.load(Ordering::Relaxed) {
                assembly.note_lines(path);
            }
            match verify(&assembly.module, Trust::Untrusted) {
                Ok(()) => Ok(RunnableModule(assembly.module)),
                Err(errors) => Err(assembly.problem(&errors)),
            }
        }
    }
}

/// Whether modules in text form have the positions of their instructions, for debuggers.
static NOTES_LINES: AtomicBool = AtomicBool::new(false);

/// From now on, modules in text form without source positions have those of their instructions.
pub fn note_lines() {
    NOTES_LINES.store(true, Ordering::Relaxed);
}

/// An assembled module that is not verified yet, with its text.
pub struct Assembly {
    /// The module.
    pub module: Module,
    sources: Sources,
    places: Places,
}

impl Assembly {
    /// Assembles a file and the files that it includes.
    pub fn of(path: &str, bytes: &[u8], read: Read) -> Result<Assembly, CompileProblem> {
        let sources = Sources::gather(path, &String::from_utf8_lossy(bytes), read);
        match sources.assemble_with_places() {
            Ok((module, places)) => Ok(Assembly { module, sources, places }),
            Err(mistakes) => Err(CompileProblem::Assembly(sources.into_files(), mistakes)),
        }
    }

    /// Gives functions that have no source positions those of their instructions in the text. Files that it includes have
    /// none.
    fn note_lines(&mut self, path: &str) {
        if self.module.path.is_some() {
            return;
        }
        self.module.strings.push(path_of(path));
        self.module.path = Some(StringId(self.module.strings.len() as u32 - 1));
        for (index, function) in self.module.functions.iter_mut().enumerate() {
            if !function.lines.is_empty() {
                continue;
            }
            for (pc, span) in self.places.instructions(FunctionId(index as u32)) {
                let mistake = self.sources.mistake(Diagnostic::new(span, ""));
                let Span { line, column, .. } = mistake.diagnostic.span;
                if mistake.file == 0 {
                    function.lines.push(LineEntry { pc: pc as u32, line, column });
                }
            }
        }
    }

    /// The files of the text.
    pub fn files(&self) -> &[File] {
        self.sources.files()
    }

    /// The verifier's error as a mistake at a place in the text.
    pub fn mistake(&self, error: &VerifyError) -> Mistake {
        self.sources.mistake(self.places.diagnostic(error))
    }

    /// The verifier's errors as a problem of the text.
    pub fn problem(&self, errors: &[VerifyError]) -> CompileProblem {
        let mistakes = errors.iter().map(|error| self.mistake(error)).collect();
        CompileProblem::Assembly(self.files().to_vec(), mistakes)
    }

    /// A message about an import, or about an imported function, with its place in the text.
    pub fn show_import(&self, place: Place, message: &str, colour: Colour) -> Option<String> {
        let diagnostic = Diagnostic::new(self.places.find(place)?, message);
        let mistake = self.sources.mistake(diagnostic);
        Some(excerpts::to_text(self.files(), &[mistake], colour))
    }
}

/// Compiles source text.
pub fn compile_newspeak(
    source: Source,
    verify_all: bool,
) -> Result<RunnableModule, CompileProblem> {
    let options = CompileOptions { trusted: false };
    match coverage::compile(&source, &options) {
        // Probes are primitives, which only trusted modules may have.
        Ok(module) if verify_all && coverage::is_recorded() => {
            verified(source.name(), module, Trust::Trusted)
        }
        Ok(module) if verify_all => verified(source.name(), module, Trust::Untrusted),
        Ok(module) => Ok(RunnableModule(module)),
        Err(diagnostics) => Err(CompileProblem::Newspeak(source, diagnostics)),
    }
}

/// Compiles source text that is not the user's: it has no coverage.
pub(crate) fn compile_without_probes(
    source: &Source,
) -> Result<RunnableModule, Vec<squall_newspeak::Diagnostic>> {
    let options = CompileOptions { trusted: false };
    squall_newspeak::compile_source(source, &options).map(RunnableModule)
}

/// The mistakes in source text: those for which it is no program, or else the ones that it may run with.
pub fn check_newspeak(source: &Source) -> Vec<squall_newspeak::Diagnostic> {
    let parsed = squall_newspeak::parse(source);
    let mut diagnostics = parsed.diagnostics;
    let Some(ast) = parsed.ast else { return diagnostics };
    let found = match lower(&ast, source, &CompileOptions { trusted: false }) {
        Ok(_) => squall_newspeak::check::check(&ast, source, library::outline()),
        Err(errors) => errors,
    };
    diagnostics.extend(found);
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    diagnostics
}

/// The warnings of a program that is about to run: mistakes that it will make, but no matters of style.
pub fn warnings_before_run(source: &Source) -> Vec<squall_newspeak::Diagnostic> {
    let parsed = squall_newspeak::parse(source);
    let mut diagnostics = parsed.diagnostics;
    if let Some(ast) = parsed.ast {
        diagnostics.extend(squall_newspeak::check::check(&ast, source, library::outline()));
    }
    diagnostics.retain(|diagnostic| !diagnostic.is_error() && !diagnostic.code.is_style());
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().start);
    diagnostics
}

fn verified(path: &str, module: Module, trust: Trust) -> Result<RunnableModule, CompileProblem> {
    match verify(&module, trust) {
        Ok(()) => Ok(RunnableModule(module)),
        Err(errors) => {
            let lines = errors.iter().map(|error| format!("{path}: {error}"));
            Err(CompileProblem::Bytecode(lines.collect()))
        }
    }
}
