//! `squall run`: runs a program. `commands` calls this module.

use squall::compiler::{
    CompileProblem, FileKind, RunnableModule, module_with_includes, note_lines, warnings_before_run,
};
use squall::events::replay::Recording;
use squall::testing;
use squall::{Machine, Options, Reply};
use squall_bytecode::module::Module;
use squall_bytecode::types::{RegisterType, TypeDefinition};

use super::check::show_stages;
use super::{debug, internal, observe, replay, start_in, trace};
use crate::arguments::{MachineArguments, Report, Run};
use crate::console::{colour, complain, print, print_error};
use crate::exit::Exit;
use crate::files::Input;
use crate::observer;
use crate::packages::Program;

/// The selector of a program's factory.
const FACTORY: &str = "usingPlatform:";

pub fn run(arguments: &Run) -> Result<Exit, Exit> {
    run_taped(arguments, None)
}

/// Runs a program, which may repeat the recording in a file.
pub fn run_taped(arguments: &Run, recording: Option<(String, Recording)>) -> Result<Exit, Exit> {
    let program = Program::find(&arguments.program, &arguments.packages)?;
    let mut options = options(&arguments.machine, &program);
    let input = &program.input;
    if !arguments.dump.is_empty() {
        return show_stages(input, &arguments.dump);
    }
    if arguments.debugging.is_on() {
        note_lines();
    }
    let module = compile(&program, options.verify_all)?;
    if let Some(selector) = &arguments.send {
        return send(start_in(options, program.surroundings())?, module, selector);
    }
    check_program(&input.path, module.module())?;
    if !arguments.debugging.debug_again {
        show_warnings(input);
    }
    let taped = match (recording, &arguments.record) {
        (Some(recording), _) => Some(replay::play(recording, &program)?),
        (None, Some(path)) => Some(replay::record(path, arguments, &program)?),
        (None, None) => None,
    };
    if let Some(taped) = &taped {
        taped.prepare(&mut options);
    }
    let trace = trace::open(arguments.machine.trace_file())?;
    let observing = observe::listen(arguments, input)?;
    let mut machine = start_in(options, program.surroundings())?;
    observer::describe_on_quit(machine.observer());
    let _observed = observing.map(|observing| observing.begin(&mut machine)).transpose()?;
    machine.prepare(&program.arguments[0], module);
    let recording = trace.map(|trace| trace.begin(&mut machine, &input.path));
    let debugged = debug::begin(&arguments.debugging, &mut machine)?;
    let code = machine.run_program();
    if let Some(server) = debugged {
        // The server may be about to stop the machine, for a look at its strands.
        machine.outside(|| server.finish(code));
    }
    if let Some(recording) = recording {
        recording.end();
    }
    if arguments.report.contains(&Report::Transactions) {
        print_error(&machine.describe_transactions());
    }
    if arguments.report.contains(&Report::Jit) {
        print_error(&machine.describe_compilation());
    }
    Ok(Exit::Program(taped.map_or(code, |taped| taped.end(code))))
}

/// The machine's options for a program.
pub fn options(machine: &MachineArguments, program: &Program) -> Options {
    let mut options = machine.options(program.arguments.clone());
    options.packages = program.packages.clone();
    options
}

/// Compiles a program's main module, or shows its mistakes.
pub fn compile(program: &Program, verify_all: bool) -> Result<RunnableModule, Exit> {
    compile_input(&program.input, verify_all, &|included| program.read_included(included))
}

/// Compiles a file, or shows its mistakes; `read` reads the files that a text form includes.
pub fn compile_input(
    input: &Input,
    verify_all: bool,
    read: squall_bytecode::assembler::Read,
) -> Result<RunnableModule, Exit> {
    let Input { path, kind, bytes } = input;
    module_with_includes(path, *kind, bytes, verify_all, read).map_err(|problem| {
        print_error(&problem.render(colour()));
        Exit::Invalid
    })
}

/// Shows the mistakes that a program of source text will make when it gets there.
pub fn show_warnings(input: &Input) {
    if input.kind == FileKind::Newspeak {
        let source = input.source();
        let warnings = warnings_before_run(&source);
        if !warnings.is_empty() {
            print_error(&CompileProblem::Newspeak(source, warnings).render(colour()));
        }
    }
}

/// Complains if a module is no program, and names the right command for it.
pub fn check_program(path: &str, module: &Module) -> Result<(), Exit> {
    let invalid = |text: String| {
        complain(&text);
        Err(Exit::Invalid)
    };
    let Some(main) = module.main_class.map(|main| &module.classes[main.index()]) else {
        return match typed_main_problem(module) {
            Some(problem) => invalid(format!("{path} {problem}")),
            None => Ok(()),
        };
    };
    let name = module.string(main.name);
    let class_methods = main.class_methods.iter().map(|method| method.selector);
    let mut factories = class_methods.chain([main.factory_selector]);
    if !factories.any(|id| module.string(id) == FACTORY) {
        if testing::is_test_module(module) {
            return invalid(format!("{path} is a test module; run it with `squall test {path}`"));
        }
        let factory = module.string(main.factory_selector);
        return invalid(format!(
            "{name} in {path} is no program: its factory is `{factory}`, not `{FACTORY}`\n  \
             hint: begin with `class {name} usingPlatform: platform = Value (`, or run the program \
             that loads this module"
        ));
    }
    let mut methods =
        main.methods.iter().filter(|method| module.string(method.selector) == "main:");
    if methods.next().is_none() {
        return invalid(format!(
            "{name} in {path} has no method `main:` to start with\n  \
             hint: add `public main: args = ( … ^ 0 )`"
        ));
    }
    Ok(())
}

/// The reason why a module without classes is no program; `None` if it is one.
fn typed_main_problem(module: &Module) -> Option<String> {
    let Some(main) = module.export("main") else {
        return Some("has no main class, and does not export `main`".into());
    };
    let function = &module.functions[main.index()];
    let parameters = &function.registers[..usize::from(function.parameters)];
    let is_list_of = |list: RegisterType, element: RegisterType| {
        module.definition(list) == Some(&TypeDefinition::List(element))
    };
    let is_command_line = |kind: RegisterType| match module.definition(kind) {
        Some(&TypeDefinition::List(element)) => is_list_of(element, RegisterType::U8),
        _ => false,
    };
    match parameters {
        [] => None,
        [one] if is_command_line(*one) => None,
        _ => {
            Some("exports a `main` that takes more than the command line, a list<list<u8>>".into())
        }
    }
}

/// Sends a message to the module's class, and shows its answer.
fn send(mut machine: Machine, module: RunnableModule, selector: &str) -> Result<Exit, Exit> {
    let class = machine.class_of_module(module).map_err(internal)?;
    let workspace = machine.library_class("Workspace").map_err(internal)?;
    let platform = machine.platform();
    let reply = machine.send(workspace, "usingPlatform:", &[platform]).map_err(internal)?;
    let Reply::Answer(workspace) = reply else { return Ok(Exit::Internal) };
    let selector = machine.string(selector).ok_or(Exit::Failure)?;
    let reply =
        machine.send(workspace, "describe:sentTo:", &[selector, class]).map_err(internal)?;
    machine.flush();
    match reply {
        Reply::Answer(text) => match machine.text(text) {
            Some(text) => {
                print(&format!("{text}\n"));
                Ok(Exit::Success)
            }
            None => Ok(Exit::Failure),
        },
        Reply::Exit(code) => Ok(Exit::Program(code)),
        Reply::Stalled => Ok(Exit::Failure),
    }
}
