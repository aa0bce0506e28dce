//! Lowering: compiles the syntax tree to bytecode. The command line, `squall`'s compiler and the build script call
//! [`compile`].
//!
//! | module | its task |
//! |---|---|
//! | `analysis` | finds out which variables change and which closures use them |
//! | [`inlining`] | decides which sends are control structures |
//! | `function` | a function under construction |
//! | `variables` | reads and assigns variables across functions |
//! | [`places`] | where variables are, for debuggers |
//! | [`probes`] | counts what runs, for the coverage of tests |
//! | `names` | finds the meaning of an identifier: variable, member, enclosing object |
//! | `expressions` | expressions, sends, closures |
//! | [`control`] | inlined control structures and their guards |
//! | `classes` | class definitions, factories, initializers, accessors, object literals |
//!
//! Functions are compiled in the order in which they are found, innermost first: the open ones form a stack, as do the
//! classes around them. Code is generated in one pass, straight from the tree.

pub(crate) mod analysis;
mod classes;
pub mod control;
mod expressions;
mod function;
pub mod inlining;
mod intrinsics;
mod names;
pub mod places;
pub mod probes;
mod variables;

use std::collections::HashMap;

use squall_bytecode::builder::{BuildError, ModuleBuilder, Signature};
use squall_bytecode::entities::{ClassId as DefinitionId, FunctionId, Register};
use squall_bytecode::instructions::Opcode;
use squall_bytecode::module::{FunctionKind, Module, Side, Visibility, path_of};
use squall_bytecode::types::RegisterType;

use crate::ast::{Access, Ast};
use crate::diagnostics::{Code, Diagnostic, Reporter};
use crate::source::{Source, Span};

use self::analysis::Analysis;
use self::function::{Captured, FunctionScope, Home, Item, MOST_REGISTERS};
use self::places::FunctionVariables;
use self::probes::Probes;

/// The options of the compilation.
#[derive(Clone, Copy, Default, Debug)]
pub struct CompileOptions {
    /// Whether this is library code, which reaches primitives through the name `vmMirror`.
    pub trusted: bool,
}

/// Compiles a module.
///
/// The diagnostics are the errors; a module that compiles may still have caused warnings, which
/// [`crate::parse`] tells.
pub fn compile(
    source: &str,
    path: &str,
    options: &CompileOptions,
) -> Result<Module, Vec<Diagnostic>> {
    compile_source(&Source::new(path, source), options)
}

/// Compiles a module whose source may be any bytes.
pub fn compile_source(
    source: &Source,
    options: &CompileOptions,
) -> Result<Module, Vec<Diagnostic>> {
    let parse = crate::parse(source);
    match parse.ast {
        Some(ast) => lower(&ast, source, options),
        None => Err(parse.diagnostics),
    }
}

/// Lowers a tree to a module.
pub fn lower(
    ast: &Ast,
    source: &Source,
    options: &CompileOptions,
) -> Result<Module, Vec<Diagnostic>> {
    lower_module(ast, source, options, None, None)
}

/// As [`lower`]; also tells where the variables of each function are, and adds probes, if that is wanted.
fn lower_module<'a>(
    ast: &'a Ast,
    source: &'a Source,
    options: &CompileOptions,
    tell: Option<&'a mut dyn FnMut(FunctionId, FunctionVariables)>,
    probes: Option<&'a mut Probes>,
) -> Result<Module, Vec<Diagnostic>> {
    let mut lowering = Lowering {
        tell,
        probes,
        ast,
        source,
        trusted: options.trusted,
        analysis: Analysis::of(ast),
        module: ModuleBuilder::new(),
        classes: Vec::new(),
        functions: Vec::new(),
        next_context: 0,
        reporter: Reporter::default(),
    };
    let path = lowering.module.string(&path_of(source.name()));
    lowering.module.module.path = Some(path);
    let main = lowering.class(ast.module);
    lowering.module.module.main_class = Some(main);
    if lowering.reporter.has_errors() {
        return Err(lowering.reporter.into_sorted());
    }
    Ok(lowering.module.module)
}

/// The state of lowering one module.
struct Lowering<'a> {
    ast: &'a Ast,
    source: &'a Source,
    trusted: bool,
    analysis: Analysis,
    module: ModuleBuilder,
    /// The classes around the current code, outermost first.
    classes: Vec<ClassScope>,
    /// The functions under construction, innermost last.
    functions: Vec<FunctionScope>,
    next_context: u32,
    reporter: Reporter,
    /// What is told where variables are, if anything is.
    tell: Option<&'a mut dyn FnMut(FunctionId, FunctionVariables)>,
    /// The probes, if the module gets some.
    probes: Option<&'a mut Probes>,
}

/// A class whose text is being compiled.
struct ClassScope {
    id: DefinitionId,
    name: String,
    /// The members that the text declares, by selector.
    instance_members: HashMap<String, Visibility>,
    class_members: HashMap<String, Visibility>,
    /// For object literals: the variables of the functions around it that the code inside uses.
    literal: Option<LiteralScope>,
    /// The side of the surrounding class in which this class is declared: the instance side, except for object literals
    /// in class methods.
    outer_side: Side,
}

#[derive(Default)]
struct LiteralScope {
    items: Vec<Captured>,
}

impl Lowering<'_> {
    /// The innermost open function.
    fn function(&mut self) -> &mut FunctionScope {
        self.functions.last_mut().expect("code is generated inside of a function")
    }

    /// The register with the receiver; from now on a block function loads it at entry.
    fn self_register(&mut self) -> Register {
        let function = self.function();
        function.uses_self = true;
        function.self_register
    }

    /// Sets the source position of the next instructions.
    fn position(&mut self, span: Span) {
        let position = self.source.position(span.range().start as u32);
        self.function().builder.position(position.line as u32, position.column as u32);
    }

    /// Code that calls nothing, such as that of an empty method, is at this place: it can have breakpoints, and traces name
    /// it.
    fn position_at_least(&mut self, span: Span) {
        let position = self.source.position(span.range().start as u32);
        self.function().builder.position_of_all(position.line as u32, position.column as u32);
    }

    /// Closes the innermost function and adds it to the module.
    fn finish_function(&mut self) -> FunctionId {
        self.emit_cold_paths();
        let mut function = self.functions.pop().expect("a function is open");
        if function.kind == FunctionKind::Block && function.uses_self {
            let register = function.self_register;
            function.builder.prepend(Opcode::LoadCaptured, &[register.into(), 0.into()]);
        }
        let places = self.tell.is_some().then(|| self.places_of(&function));
        let registers = function.size.min(MOST_REGISTERS + 1);
        let home = match function.home {
            Home::Unneeded => None,
            Home::AtEntry(register) | Home::OnColdPaths(register) => Some(register),
        };
        let signature = Signature {
            name: self.module.string(&function.name),
            kind: function.kind,
            parameters: function.parameters,
            captured: function.captured.len() as u16,
            registers: vec![RegisterType::Any; registers],
            result: RegisterType::Any,
            home,
        };
        let too_large = function.size > MOST_REGISTERS;
        let id = match function.builder.finish(signature) {
            _ if too_large => self.report_limit(
                &function.name,
                function.span,
                "it needs too many registers at once",
            ),
            Ok(function) => self.module.function(function),
            Err(error) => self.report_limit(&function.name, function.span, &limit_text(&error)),
        };
        if let (Some(tell), Some(places)) = (&mut self.tell, places) {
            tell(id, places);
        }
        id
    }

    fn report_limit(&mut self, name: &str, span: Span, reason: &str) -> FunctionId {
        let message = format!("`{name}` is too large: {reason}");
        let diagnostic = Diagnostic::error(Code::TooLarge, message, span)
            .with_hint("split it into several methods");
        self.reporter.report(diagnostic);
        FunctionId(0)
    }

    /// The item that every closure holds first.
    fn self_item(&self) -> Captured {
        let owner = self.functions.iter().rposition(|f| f.kind != FunctionKind::Block).unwrap_or(0);
        Captured { item: Item::SelfObject, owner }
    }
}

fn limit_text(error: &BuildError) -> String {
    match error {
        BuildError::JumpTooFar { .. } => "a jump would be too long".to_owned(),
        BuildError::TableFull { what, limit } => format!("it has more than {limit} {what}"),
        BuildError::OperandOutOfRange { .. } => {
            "an operand does not fit its instruction".to_owned()
        }
        BuildError::UnboundLabel(_) => "a label is missing".to_owned(),
    }
}

fn visibility(access: Access) -> Visibility {
    match access {
        Access::Private => Visibility::Private,
        Access::Protected => Visibility::Protected,
        Access::Public => Visibility::Public,
    }
}
