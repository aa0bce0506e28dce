//! The command line, as clap reads it. `main` parses it, and `commands` executes it.
//!
//! The options that choose how a machine runs are the same for all commands that run one ([`MachineArguments`]).
//! Authority comes from the command line only; other options can also be set by environment variables.

mod observing;
mod packages;
mod testing;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use squall::compiler::FileKind;
use squall::embedding::Budgets;
use squall::observers::Observers;
use squall::observers::debugger::Debugger;
use squall::observers::dump::CodeDump;
use squall::observers::map::CodeMap;
use squall::{
    Grant, Hardening, HeapOptions, HostGrant, Jit, NetworkGrant, Options, Permissions,
    SchedulingPolicy, Tracing,
};

pub use observing::{Debugging, Observe, Top};
pub use packages::{Add, Build, New, PackageArguments, Remove, Tree, Update, Vendor};
pub use testing::{Bench, Test, TestModules};

/// A virtual machine for many models of concurrency, and for Newspeak.
#[derive(Parser, Debug)]
#[command(name = "squall", version, max_term_width = 100, subcommand_required = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum Command {
    Run(Run),
    Replay(Replay),
    Profile(Profile),
    Eval(Eval),
    Repl(Repl),
    Check(Check),
    Test(Test),
    Bench(Bench),
    Asm(Asm),
    Disasm(Disasm),
    Verify(Verify),
    Format(Format),
    Doc(Doc),
    New(New),
    Add(Add),
    Remove(Remove),
    Update(Update),
    Vendor(Vendor),
    Tree(Tree),
    Build(Build),
    Lsp(Lsp),
    Debug(Debug),
    Dump(Dump),
    Top(Top),
    Completions(Completions),
    Man(Man),
    Version(Version),
}

/// Run a program.
///
/// The program is a class with the factory `usingPlatform:` and a method `main:`, which gets the
/// file's name and the arguments behind it. An Integer that `main:` answers is the exit code.
///
/// A folder with a `squall.toml` stands for its main module, and so does no file at all in such a folder. The extension
/// .sqar is that of bundles, which `squall build` makes.
#[derive(Args, Debug)]
#[command(override_usage = "squall run [OPTIONS] [FILE [ARGUMENTS]…]")]
pub struct Run {
    #[command(flatten)]
    pub machine: MachineArguments,

    #[command(flatten)]
    pub packages: PackageArguments,

    /// Show the compiler's stages for the file instead of running it
    #[arg(long, value_name = "STAGE", value_delimiter = ',')]
    pub dump: Vec<Stage>,

    /// Report, at the end, on the standard error output what has happened
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub report: Vec<Report>,

    #[command(flatten)]
    pub debugging: Debugging,

    /// Serve a page that shows what the program does, at this port of the machine, or at any that is free; with `control`,
    /// the page can also suspend and end strands
    #[arg(long, value_name = "PORT[,control]", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub observe: Option<Observe>,

    /// Record the run in this file, so that `squall replay` can repeat it
    #[arg(long, value_name = "FILE", require_equals = true)]
    pub record: Option<PathBuf>,

    /// Send this message to the module's class, and show its answer, instead of starting the module
    #[arg(long, value_name = "SELECTOR", hide = true)]
    pub send: Option<String>,

    /// The program, then its own arguments
    #[arg(trailing_var_arg = true, value_names = ["FILE", "ARGUMENTS"])]
    pub program: Vec<String>,
}

/// Repeat a run that `squall run --record=FILE` has recorded.
///
/// The program does the same again, in the order of the recording, with the same answers from outside. Where it differs, the
/// replay ends with a report.
#[derive(Args, Debug)]
pub struct Replay {
    #[command(flatten)]
    pub debugging: Debugging,

    /// The recording
    #[arg(value_name = "FILE")]
    pub recording: PathBuf,
}

/// Run a program, and show where it spends its time, makes objects and waits.
///
/// The program runs as by `squall run`. At its end, tables are written to the standard error output, or files with
/// `--output`.
#[derive(Args, Debug)]
#[command(override_usage = "squall profile [OPTIONS] FILE [ARGUMENTS]…")]
pub struct Profile {
    #[command(flatten)]
    pub machine: MachineArguments,

    #[command(flatten)]
    pub packages: PackageArguments,

    /// Write the profile in the form that the extension names, instead of tables: .json for profiler.firefox.com, .svg
    /// for a flame graph, .pb for pprof, .txt for collapsed stacks; may be repeated
    #[arg(long, value_name = "FILE", value_parser = profile_file, action = ArgAction::Append)]
    pub output: Vec<PathBuf>,

    /// How many samples are taken in a second
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rate: u32,

    /// The program, then its own arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["FILE", "ARGUMENTS"])]
    pub program: Vec<String>,
}

/// A file for a profile.
fn profile_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json" | "svg" | "pb" | "txt") => Ok(path),
        _ => Err("the extension says the form: .json, .svg, .pb or .txt".to_owned()),
    }
}

/// Make a running program describe each of its strands.
///
/// The program writes that to its own standard error output, and goes on. The signal SIGQUIT, or
/// Ctrl-\ in its terminal, does the same.
#[derive(Args, Debug)]
pub struct Dump {
    /// The number of the process that runs `squall`
    #[arg(value_name = "PID")]
    pub process: i32,
}

/// Evaluate an expression and show its value.
///
/// Several statements, local variables and class declarations are allowed, too. The platform's modules and the most
/// common classes can be used by name: `system`, `files`, `Array` and so on. In the folder of a package, `packages` has
/// its dependencies.
#[derive(Args, Debug)]
pub struct Eval {
    #[command(flatten)]
    pub machine: MachineArguments,

    #[command(flatten)]
    pub packages: PackageArguments,

    /// The expression
    #[arg(allow_hyphen_values = true)]
    pub expression: String,
}

/// Evaluate typed input, line by line.
#[derive(Args, Debug)]
pub struct Repl {
    #[command(flatten)]
    pub machine: MachineArguments,

    #[command(flatten)]
    pub packages: PackageArguments,
}

/// Compile files without running them, and show their mistakes.
#[derive(Args, Debug)]
pub struct Check {
    /// Show diagnostics as JSON, one object per line
    #[arg(long)]
    pub json: bool,

    /// Exit with 1 if there are warnings
    #[arg(long)]
    pub strict: bool,

    /// Show the compiler's stages for the files
    #[arg(long, value_name = "STAGE", value_delimiter = ',')]
    pub dump: Vec<Stage>,

    /// Newspeak source files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
}

/// Turn the text form of bytecode into the binary form.
#[derive(Args, Debug)]
pub struct Asm {
    /// The output file; by default next to the source, with the extension .sqb
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// An assembly file (.sqasm)
    #[arg(value_name = "FILE")]
    pub file: String,
}

/// Show the text form of the bytecode in a file; or run a program, and show its machine code.
///
/// With --native, the file is a program. It runs first, with the arguments behind it; its output goes to the standard error
/// output. Then its functions with machine code are shown: bytecode with source lines and with what was observed, the
/// optimising compiler's representation, machine instructions, and the places where optimised code is left.
#[derive(Args, Debug)]
#[command(
    override_usage = "squall disasm FILE\n       squall disasm --native[=PARTS] [--method NAME]… [OPTIONS] FILE [ARGUMENTS]…"
)]
pub struct Disasm {
    /// Run the program, and show its machine code: these parts, by default all but `base` and `passes`
    #[arg(
        long,
        value_name = "PARTS",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "all"
    )]
    pub native: Option<Vec<NativePart>>,

    /// Show functions whose name contains this text, such as `Vector>>do:`, and no others; may be repeated
    #[arg(long, value_name = "NAME", requires = "native")]
    pub method: Vec<String>,

    #[command(flatten)]
    pub machine: MachineArguments,

    /// A module: binary (.sqb), assembly (.sqasm) or Newspeak source (.ns); with --native, then the program's arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["FILE", "ARGUMENTS"])]
    pub program: Vec<String>,
}

/// The parts of a function's listing.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum NativePart {
    /// What is usually wanted: bytecode, IR, machine code and exits; base code if there is nothing better
    All,
    /// The bytecode, with source lines, and with what was observed
    Bytecode,
    /// The machine code of the baseline compiler
    Base,
    /// The optimising compiler's representation after each pass
    Passes,
    /// The optimising compiler's representation after all passes
    Ir,
    /// The optimised machine code
    Code,
    /// The places where optimised code is left, and how often it was
    Exits,
}

/// Verify the bytecode in files.
#[derive(Args, Debug)]
pub struct Verify {
    /// Show errors as JSON, one object per line
    #[arg(long)]
    pub json: bool,

    /// Modules: binary (.sqb), assembly (.sqasm) or Newspeak source (.ns)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
}

/// Lay out programs: Newspeak, and the text form of bytecode.
///
/// There is one style. The meaning of the files does not change, and comments stay. A file that is laid out already is
/// not touched.
#[derive(Args, Debug)]
pub struct Format {
    /// Change nothing, and fail if a file is not laid out
    #[arg(long)]
    pub check: bool,

    /// Lay out only these lines, and those that cannot be laid out without them; of one file in Newspeak
    #[arg(long, value_name = "FIRST-LAST", value_parser = lines)]
    pub lines: Option<(usize, usize)>,

    /// The kind of the standard input: `ns` or `sqasm` [default: sqasm]
    #[arg(long, value_name = "EXTENSION", value_parser = layout_kind, requires = "files")]
    pub stdin: Option<FileKind>,

    /// Files (.ns, .sqasm), folders with such files, or `-` for the standard input, which is laid out on the standard
    /// output
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
}

/// Write the reference of the platform's modules, and of modules of your own, as pages of HTML.
///
/// The pages are made of the comments above classes and methods. They need no server: open `index.html` of the folder.
#[derive(Args, Debug)]
pub struct Doc {
    /// The folder for the pages; files there that have the same names are replaced
    #[arg(short, long, value_name = "FOLDER", default_value = "doc")]
    pub output: PathBuf,

    /// Show private classes, slots and methods, too
    #[arg(long)]
    pub private: bool,

    /// Put a link to this address onto each page, as on those of a site that has the reference in it
    #[arg(long, value_name = "ADDRESS")]
    pub site: Option<String>,

    /// Your modules: Newspeak source (.ns), or folders with such files
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
}

/// Serve an editor by the Language Server Protocol, on the standard input and output.
#[derive(Args, Debug)]
pub struct Lsp {
    /// Accepted, because editors give it; there is no other way
    #[arg(long, hide = true)]
    pub stdio: bool,
}

/// Debug a program on the terminal, or serve an editor.
///
/// Without a program, the command speaks the Debug Adapter Protocol on the standard input and output. The editor's `launch`
/// request names the program, and may have `args`, `options` of `squall run`, `seed`, `cwd` and `env`; or it names a
/// `recording`. `attach` has the port that `squall run --debug` or `squall replay --debug` shows.
#[derive(Args, Debug)]
#[command(
    override_usage = "squall debug [OPTIONS] [FILE [ARGUMENTS]…]\n       squall debug --replay=FILE"
)]
pub struct Debug {
    /// An option of `squall run` for the program, such as --option=--seed=3; may be repeated
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true, action = ArgAction::Append)]
    pub options: Vec<String>,

    /// Repeat the schedule with this number, as `squall run --seed`; the run can go back then
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// Debug the repetition of a run that `squall run --record=FILE` has recorded; it can go back
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "options", "seed"])]
    pub replay: Option<PathBuf>,

    /// What stops with a strand that stops
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub stop: Stop,

    /// Keep a checkpoint of a run with a seed every so many moments, for tests
    #[arg(long, value_name = "MOMENTS", hide = true)]
    pub checkpoint_every: Option<std::num::NonZero<u64>>,

    /// The program, then its own arguments
    #[arg(trailing_var_arg = true, value_names = ["FILE", "ARGUMENTS"])]
    pub program: Vec<String>,
}

/// What stops with a strand that a debugger stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Stop {
    /// All strands
    #[default]
    All,
    /// The strands of its vat
    Vat,
    /// Nothing else: the other strands run
    Strand,
}

impl Stop {
    /// Its name, in the debugger's protocol as well.
    pub fn name(self) -> &'static str {
        match self {
            Stop::All => "all",
            Stop::Vat => "vat",
            Stop::Strand => "strand",
        }
    }
}

/// Print the file by which a shell completes command lines.
///
/// For bash, write it to `~/.local/share/bash-completion/completions/squall`; for zsh, to `_squall` in a folder of `$fpath`;
/// for fish, to `~/.config/fish/completions/squall.fish`.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// Print the manual page, for `man -l -`.
#[derive(Args, Debug)]
pub struct Man {
    /// Write a page for each command into a folder instead
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// Show the version of Squall and of its formats.
#[derive(Args, Debug)]
pub struct Version {
    /// Show it as JSON
    #[arg(long)]
    pub json: bool,
}

/// The compiler's stages, in their order.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// One token per line
    Tokens,
    /// The syntax tree
    Ast,
    /// The text form of the bytecode
    Bytecode,
}

/// How the machine runs.
#[derive(Args, Clone, Debug)]
pub struct MachineArguments {
    /// Let the program read and write files, all of them or those at and below a path
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        action = ArgAction::Append,
        help_heading = "Authority"
    )]
    pub allow_files: Vec<OsString>,

    /// Let the program read files, all of them or those at and below a path
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        action = ArgAction::Append,
        help_heading = "Authority"
    )]
    pub allow_read: Vec<OsString>,

    /// Let the program make, write and delete files, all of them or those at and below a path
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        action = ArgAction::Append,
        help_heading = "Authority"
    )]
    pub allow_write: Vec<OsString>,

    /// Let the program use the network: all of it, or some hosts and ports, such as `example.org`,
    /// `127.0.0.1:8080`, `*:443`
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = "*",
        value_parser = host,
        action = ArgAction::Append,
        help_heading = "Authority"
    )]
    pub allow_net: Vec<HostGrant>,

    /// Let the program call foreign functions
    #[arg(long, help_heading = "Authority")]
    pub allow_ffi: bool,

    /// Let the program start processes of the operating system
    #[arg(long, help_heading = "Authority")]
    pub allow_processes: bool,

    /// Let the program do all of these
    #[arg(short = 'A', long, help_heading = "Authority")]
    pub allow_all: bool,

    /// Have the system refuse all that these options do not allow, too, even to C and to other processes
    #[arg(long, help_heading = "Authority")]
    pub confine: bool,

    /// The most memory the heap may take, such as 512M or 2G; by default, three quarters of what there is
    #[arg(long, value_name = "SIZE", value_parser = heap_size, env = "SQUALL_MAX_HEAP", hide_env_values = true, help_heading = "Machine")]
    pub max_heap: Option<usize>,

    /// The most memory the stack of one strand may take [default: 128M]
    #[arg(long, value_name = "SIZE", value_parser = size, env = "SQUALL_MAX_STACK", hide_env_values = true, help_heading = "Machine")]
    pub max_stack: Option<usize>,

    /// How many native threads run the program [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), env = "SQUALL_WORKERS", hide_env_values = true, help_heading = "Machine")]
    pub workers: Option<u16>,

    /// How many native threads there may be, with those that wait for the system or for foreign code
    /// [default: 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096), env = "SQUALL_MAX_THREADS", hide_env_values = true, help_heading = "Machine")]
    pub max_threads: Option<u16>,

    /// After how many microseconds in the system or in foreign code another native thread takes over
    /// [default: 250]
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u32).range(20..), env = "SQUALL_PATIENCE", hide_env_values = true, help_heading = "Machine")]
    pub patience: Option<u32>,

    /// The rule that gives ready strands to native threads: stealing, interleaving, threads, hierarchical, peered,
    /// dictated or balanced [default: stealing]
    #[arg(
        long,
        value_name = "NAME",
        env = "SQUALL_SCHEDULER",
        hide_env_values = true,
        help_heading = "Machine"
    )]
    pub scheduler: Option<SchedulingPolicy>,

    /// Make the run repeatable: this number decides what runs when, and time is simulated
    #[arg(
        long,
        value_name = "N",
        env = "SQUALL_SEED",
        hide_env_values = true,
        help_heading = "Machine"
    )]
    pub seed: Option<u64>,

    /// The most calls and turns of loops that the program may make altogether, such as 10M
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Budgets")]
    pub fuel: Option<u64>,

    /// The most memory that the program may have reachable; for a short time it may be a quarter more
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Budgets")]
    pub max_reachable: Option<usize>,

    /// The most strands at a time: turns, processes, threads
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Budgets")]
    pub max_strands: Option<u64>,

    /// The most messages and channel values that the program may send altogether
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Budgets")]
    pub max_messages: Option<u64>,

    /// The most processor time that the program may take, in milliseconds
    #[arg(long, value_name = "MS", value_parser = count, help_heading = "Budgets")]
    pub max_time: Option<u64>,

    /// The tiers that run code: `off` is the interpreter alone, `base` compiles hot functions, `on` optimises them, too [default: on]
    #[arg(
        long,
        value_name = "TIERS",
        env = "SQUALL_JIT",
        hide_env_values = true,
        help_heading = "Machine"
    )]
    pub jit: Option<Tiers>,

    /// Compile functions when they run first, to find mistakes of the compiler
    #[arg(long, env = "SQUALL_JIT_EAGER", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Machine")]
    pub jit_eager: bool,

    /// Leave machine code for no reason now and then, by this seed, to find mistakes of the compiler
    #[arg(
        long,
        value_name = "SEED",
        env = "SQUALL_JIT_CHAOS",
        hide_env_values = true,
        help_heading = "Machine"
    )]
    pub jit_chaos: Option<u64>,

    /// The machine code that masks indices and blinds constants, against guests that abuse the processor [default: sandboxes]
    #[arg(
        long,
        value_name = "CODE",
        env = "SQUALL_HARDEN",
        hide_env_values = true,
        help_heading = "Machine"
    )]
    pub harden: Option<Hardened>,

    /// Write the names of all machine code to `/tmp/perf-PID.map`, where the profiler `perf` looks for them
    #[arg(long, help_heading = "Machine")]
    pub perf_map: bool,

    /// Tell a debugger, `gdb`, the names of all machine code
    #[arg(long, help_heading = "Machine")]
    pub gdb: bool,

    /// Write all machine code, with names and lines, to `FOLDER/jit-PID.dump`, for `perf inject --jit`; by default in the
    /// current folder
    #[arg(
        long,
        value_name = "FOLDER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ".",
        help_heading = "Machine"
    )]
    pub perf_dump: Option<PathBuf>,

    /// Look for imported modules of bytecode in this folder, too, if they are not next to their importers; may be
    /// repeated
    #[arg(long, value_name = "FOLDER", action = ArgAction::Append, help_heading = "Machine")]
    pub module_path: Vec<PathBuf>,

    /// Report what happens on the standard error output: send, every message; ic, every miss of an inline cache; gc,
    /// every collection; jit, everything about machine code. Or record all events of the run in FILE.pftrace, for
    /// ui.perfetto.dev
    #[arg(
        long,
        value_name = "WHAT",
        value_delimiter = ',',
        value_parser = trace,
        env = "SQUALL_TRACE",
        hide_env_values = true,
        help_heading = "Machine"
    )]
    pub trace: Vec<Trace>,

    /// Verify all bytecode, even the compiler's own
    #[arg(long, env = "SQUALL_VERIFY", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Machine")]
    pub verify: bool,

    /// Collect garbage at one of N allocations, to find mistakes in the machine
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = clap::value_parser!(u32).range(1..),
        env = "SQUALL_GC_STRESS",
        hide_env_values = true,
        help_heading = "Machine"
    )]
    pub gc_stress: Option<u32>,

    /// Stress the machine: collections at every allocation, tiny stacks, slow polls
    #[arg(long, env = "SQUALL_STRESS", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new(), help_heading = "Machine")]
    pub stress: bool,
}

/// What can be reported while a program runs, or recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trace {
    /// Every message sent
    Send,
    /// Every miss of an inline cache
    Ic,
    /// Every garbage collection
    Gc,
    /// Everything that the compilers to machine code do, and where optimised code is left, and why
    Jit,
    /// All events, in a file of this name
    File(PathBuf),
}

/// The extension of files in Perfetto's format.
const TRACE_FILE: &str = ".pftrace";

/// One value of `--trace`.
fn trace(text: &str) -> Result<Trace, String> {
    match text {
        "send" => Ok(Trace::Send),
        "ic" => Ok(Trace::Ic),
        "gc" => Ok(Trace::Gc),
        "jit" => Ok(Trace::Jit),
        _ if text.ends_with(TRACE_FILE) => Ok(Trace::File(PathBuf::from(text))),
        _ => Err(format!("write send, ic, gc, jit, or a file with the extension {TRACE_FILE}")),
    }
}

/// The tiers that run code.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tiers {
    /// The interpreter alone
    Off,
    /// Machine code for hot functions
    Base,
    /// The same, and optimised machine code for functions that are hotter
    On,
}

/// The machine code that is hardened.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hardened {
    /// None
    Never,
    /// That of sandboxes and of transactions
    Sandboxes,
    /// All
    Always,
}

/// The summaries that can be reported when a program has ended.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Report {
    /// The outcomes of its transactions, and the lines that were in conflict
    Transactions,
    /// The functions that were compiled to machine code, and where optimised code was left
    Jit,
}

/// A file for a profiler, made anew, with what is to be written there. Without it, code has no names.
fn observed<O>(path: &Path, observer: impl FnOnce(File) -> io::Result<O>) -> Option<O> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
    file.and_then(observer)
        .inspect_err(|error| {
            eprintln!("warning: {}: {error}; machine code has no names", path.display());
        })
        .ok()
}

impl MachineArguments {
    /// The machine's options, for a program with these arguments.
    pub fn options(&self, arguments: Vec<String>) -> Options {
        let mut options = Options {
            permissions: self.permissions(),
            heap: HeapOptions { max_heap: self.max_heap, ..HeapOptions::default() },
            tiny_stacks: self.stress,
            polls_always: self.stress,
            arguments,
            module_path: self.module_path.clone(),
            budgets: Budgets {
                fuel: self.fuel,
                heap: self.max_reachable.map(|bytes| bytes as u64),
                strands: self.max_strands,
                messages: self.max_messages,
                time: self.max_time,
            },
            linked_libraries: vec![(squall_sqlite::NAME, squall_sqlite::FUNCTIONS)],
            tracing: Tracing {
                sends: self.trace.contains(&Trace::Send),
                caches: self.trace.contains(&Trace::Ic),
                collections: self.trace.contains(&Trace::Gc),
                compilations: self.trace.contains(&Trace::Jit),
            },
            ..Options::default()
        };
        options.verify_all |= self.verify;
        options.jit_eager = self.jit_eager;
        options.hardening = match self.harden {
            None => options.hardening,
            Some(Hardened::Never) => Hardening::Never,
            Some(Hardened::Sandboxes) => Hardening::Sandboxes,
            Some(Hardened::Always) => Hardening::Always,
        };
        options.jit_chaos = self.jit_chaos;
        options.jit_observers = self.observers();
        options.jit = match self.jit {
            None => options.jit,
            Some(Tiers::Off) => Jit::Off,
            Some(Tiers::Base) => Jit::Base,
            Some(Tiers::On) => Jit::On,
        };
        options.scheduler.seed = self.seed;
        options.scheduler.policy = self.scheduler.unwrap_or_default();
        if let Some(workers) = self.workers {
            options.scheduler.workers = usize::from(workers);
        }
        if let Some(threads) = self.max_threads {
            options.scheduler.threads = usize::from(threads);
        }
        if let Some(patience) = self.patience {
            options.scheduler.patience = Duration::from_micros(u64::from(patience));
        }
        if let Some(bytes) = self.max_stack {
            options.max_stack = bytes;
        }
        if let Some(every) = self.gc_stress.or(self.stress.then_some(1)) {
            options.stress_collector(every);
        }
        options
    }

    /// The file for all events, if there is to be one.
    pub fn trace_file(&self) -> Option<&Path> {
        self.trace.iter().find_map(|trace| match trace {
            Trace::File(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// The profilers and debuggers that learn of machine code.
    fn observers(&self) -> Observers {
        let observers = Observers::default();
        let process = std::process::id();
        if self.gdb {
            observers.add(Debugger);
        }
        if self.perf_map {
            // `perf` looks there.
            let path = format!("/tmp/perf-{process}.map");
            let map = observed(Path::new(&path), |file| Ok(CodeMap::new(file)));
            map.into_iter().for_each(|map| observers.add(map));
        }
        if let Some(folder) = &self.perf_dump {
            // `perf inject` looks for a file with such a name.
            let dump = observed(&folder.join(format!("jit-{process}.dump")), CodeDump::in_file);
            dump.into_iter().for_each(|dump| observers.add(dump));
        }
        observers
    }

    /// What they allow the program.
    pub fn permissions(&self) -> Permissions {
        if self.allow_all {
            return Permissions::all();
        }
        let network = match self.allow_net.as_slice() {
            [] => NetworkGrant::Denied,
            grants if grants.iter().any(HostGrant::is_unlimited) => NetworkGrant::Allowed,
            grants => NetworkGrant::Only(grants.to_vec()),
        };
        Permissions {
            reading: files(self.allow_files.iter().chain(&self.allow_read)),
            writing: files(self.allow_files.iter().chain(&self.allow_write)),
            network,
            foreign_functions: self.allow_ffi,
            processes: self.allow_processes,
        }
    }
}

/// A host, a port, or both, that a program may connect to.
fn host(text: &str) -> Result<HostGrant, String> {
    HostGrant::parse(text).ok_or_else(|| {
        format!("`{text}` is no host; write one like `example.org`, `127.0.0.1:8080`, `[::1]:80` or `*:443`")
    })
}

/// A number of seconds, with or without decimals.
fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0);
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    duration
        .ok_or_else(|| format!("`{text}` is no time; write a number of seconds, such as 10 or 0.5"))
}

/// A number: digits, optionally followed by K, M or G for thousands, millions and so on.
fn count(text: &str) -> Result<u64, String> {
    let explanation = || format!("`{text}` is no number; write one like 5000 or 10M");
    let (digits, factor) = match text.char_indices().next_back() {
        Some((end, 'K' | 'k')) => (&text[..end], 1_000),
        Some((end, 'M' | 'm')) => (&text[..end], 1_000_000),
        Some((end, 'G' | 'g')) => (&text[..end], 1_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| explanation())?;
    number.checked_mul(factor).ok_or_else(explanation)
}

/// The size of a heap, which has a minimum.
fn heap_size(text: &str) -> Result<usize, String> {
    const LEAST: usize = HeapOptions::MIN_MAX_HEAP;
    match size(text)? {
        size if size < LEAST => Err(format!("the heap must have at least {} MiB", LEAST >> 20)),
        size => Ok(size),
    }
}

/// Two numbers of lines, or one.
fn lines(text: &str) -> Result<(usize, usize), String> {
    let explanation =
        || format!("`{text}` are no lines; write the first and the last one, such as 10-20");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |digits: &str| digits.parse::<usize>().map_err(|_| explanation());
    match (number(first)?, number(last)?) {
        (first, last) if 0 < first && first <= last => Ok((first, last)),
        _ => Err(explanation()),
    }
}

/// The kind of a text that has a layout, by its extension.
fn layout_kind(text: &str) -> Result<FileKind, String> {
    let kinds = [FileKind::Newspeak, FileKind::Assembly];
    let kind = kinds.into_iter().find(|kind| kind.extension() == text);
    kind.ok_or_else(|| format!("`{text}` is neither `ns` nor `sqasm`"))
}

/// A number of bytes: digits, optionally followed by K, M, G or T for powers of 1024.
fn size(text: &str) -> Result<usize, String> {
    let explanation =
        || format!("`{text}` is no size; write a number of bytes, or one like 64M or 2G");
    let upper = text.to_ascii_uppercase();
    let number = upper.trim_end_matches("IB").trim_end_matches('B');
    let (digits, shift) = match number.char_indices().next_back() {
        Some((end, 'K')) => (&number[..end], 10),
        Some((end, 'M')) => (&number[..end], 20),
        Some((end, 'G')) => (&number[..end], 30),
        Some((end, 'T')) => (&number[..end], 40),
        _ => (number, 0),
    };
    let count: usize = digits.parse().map_err(|_| explanation())?;
    count.checked_mul(1 << shift).ok_or_else(explanation)
}

/// What paths grant: an empty one stands for all files.
fn files<'p>(paths: impl Iterator<Item = &'p OsString>) -> Grant {
    let paths: Vec<PathBuf> = paths.map(PathBuf::from).collect();
    match paths.as_slice() {
        [] => Grant::Denied,
        paths if paths.iter().any(|path| path.as_os_str().is_empty()) => Grant::Allowed,
        _ => Grant::Below(paths),
    }
}

#[cfg(test)]
mod tests;
