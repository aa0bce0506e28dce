//! The packages of the program that runs: those of the manifest at or above its file, or those in a bundle. The commands
//! that run programs call [`Program::find`]; `main` asks whether the process's own binary has a bundle at its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use squall::Surroundings;
use squall::compiler::FileKind;
use squall::options::{Packages, Part};
use squall_packages::authority::{Authority, Table};
use squall_packages::bundle::{Bundle, EXTENSION};
use squall_packages::cache::Cache;
use squall_packages::manifest::FILE;
use squall_packages::problem::{Kind, Problem};
use squall_packages::project::{Mode, Project, Update, folder_above};
use squall_packages::source::normal;

use crate::arguments::PackageArguments;
use crate::console::{Console, complain};
use crate::exit::Exit;
use crate::files::{self, Input, STANDARD_INPUT};

/// A program that is to run.
pub struct Program {
    /// The program's file, and its arguments.
    pub arguments: Vec<String>,
    /// Its main module.
    pub input: Input,
    /// Its packages.
    pub packages: Packages,
    /// The modules of its bundle, by their paths; none without a bundle.
    modules: BTreeMap<String, Vec<u8>>,
}

impl Program {
    /// The program that words of the command line name: a file, a folder with a manifest, or a bundle, and arguments.
    /// Without words, it is that of the current folder. Complains if there is none.
    pub fn find(words: &[String], arguments: &PackageArguments) -> Result<Program, Exit> {
        let (path, rest) = match words.split_first() {
            Some((path, rest)) => (path.clone(), rest),
            None => (folder_of_package()?.display().to_string(), &[][..]),
        };
        let with_rest = |first: String| [&[first], rest].concat();
        if has_bundle(&path) {
            return Program::of_bundle(&path, with_rest(path.clone()));
        }
        let project = project_of(&path, arguments)?;
        let is_folder = Path::new(&path).is_dir() && Path::new(&path).join(FILE).is_file();
        let main = match &project {
            Some(project) if is_folder => main_of(project),
            _ => path,
        };
        let input = files::read(&main, &FileKind::ALL)?;
        let packages = project.map_or(Ok(Packages::default()), |project| packages_of(&project))?;
        let modules = BTreeMap::new();
        Ok(Program { arguments: with_rest(main), input, packages, modules })
    }

    fn of_bundle(path: &str, arguments: Vec<String>) -> Result<Program, Exit> {
        let bundle = match OWN.get().filter(|(own, _)| own == path) {
            Some((_, bundle)) => bundle.clone(),
            None => open_bundle(path)?,
        };
        let bundle = bundle.below(path);
        let main = bundle.table.parts[0].main.clone();
        let Some(kind) = FileKind::of_path(&main) else {
            return Err(refuse(Problem::invalid(format!("{path} has a main module {main}"))));
        };
        let bytes = bundle.modules.get(&main).cloned().unwrap_or_default();
        let input = Input { path: main, kind, bytes };
        let packages = machine_table(bundle.table);
        Ok(Program { arguments, input, packages, modules: bundle.modules })
    }

    /// The surroundings of its machine: the console, and modules of the bundle as well as of the disk.
    pub fn surroundings(&self) -> ProgramSurroundings {
        ProgramSurroundings { console: Console::new(), modules: self.modules.clone() }
    }

    /// Reads a file that a module in text form includes.
    pub fn read_included(&self, path: &Path) -> Result<String, String> {
        match in_bundle(&self.modules, path) {
            Some(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            None => files::read_included(path),
        }
    }
}

/// The console, and the modules of a bundle.
pub struct ProgramSurroundings {
    console: Console,
    modules: BTreeMap<String, Vec<u8>>,
}

impl Surroundings for ProgramSurroundings {
    fn read_input(&self, most: usize) -> std::io::Result<Vec<u8>> {
        self.console.read_input(most)
    }

    fn write_output(&self, text: &str) {
        self.console.write_output(text);
    }

    fn write_error(&self, text: &str) {
        self.console.write_error(text);
    }

    fn flush(&self) {
        self.console.flush();
    }

    fn abandon(&self, code: i32) {
        self.console.abandon(code);
    }

    fn read_module(&self, path: &str) -> std::io::Result<Vec<u8>> {
        match in_bundle(&self.modules, Path::new(path)) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.console.read_module(path),
        }
    }
}

fn in_bundle<'m>(modules: &'m BTreeMap<String, Vec<u8>>, path: &Path) -> Option<&'m Vec<u8>> {
    if modules.is_empty() {
        return None;
    }
    modules.get(normal(path).to_str()?)
}

/// The bundle in the process's own binary, with its path. `main` sets it, before any command runs.
static OWN: OnceLock<(String, Bundle)> = OnceLock::new();

/// The command line for the bundle at the end of the process's own binary, if there is one. Most binaries have none: this
/// costs them a look at their last bytes.
pub fn bundle_of_process() -> Result<Option<Vec<String>>, Exit> {
    let Ok(path) = std::env::current_exe() else { return Ok(None) };
    if !Bundle::is_in(&path) {
        return Ok(None);
    }
    let path = path.display().to_string();
    let bundle = open_bundle(&path)?;
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let line = ["squall", "run"].map(str::to_owned).into_iter();
    let line = line.chain(bundle.flags.clone()).chain([path.clone()]).chain(arguments).collect();
    _ = OWN.set((path, bundle));
    Ok(Some(line))
}

fn has_bundle(path: &str) -> bool {
    let has_extension = Path::new(path).extension().is_some_and(|it| it == EXTENSION);
    has_extension || OWN.get().is_some_and(|(own, _)| own == path)
}

fn open_bundle(path: &str) -> Result<Bundle, Exit> {
    let found = Bundle::read(Path::new(path)).map_err(refuse)?;
    found.ok_or_else(|| {
        let problem = Problem::invalid(format!("{path} is no bundle"));
        refuse(problem.hint("`squall build` makes bundles"))
    })
}

/// The project that a program's file, or a folder, belongs to, with its lock written; none, if there is no manifest.
/// Complains if something is wrong.
pub fn project_of(path: &str, arguments: &PackageArguments) -> Result<Option<Project>, Exit> {
    if path == STANDARD_INPUT {
        return Ok(None);
    }
    let Some(folder) = folder_above(Path::new(path)) else { return Ok(None) };
    open(&folder, arguments, Update::None).map(Some)
}

/// What a confined program must read beside its own files: the folders of all packages that its manifests lead to. Without a path, the program is that of the current folder.
pub fn folders_of(path: Option<&str>, arguments: &PackageArguments) -> Result<Vec<PathBuf>, Exit> {
    let path = match path {
        Some(path) if has_bundle(path) => return Ok(Vec::new()),
        Some(path) => path.to_owned(),
        None => folder_of_package()?.display().to_string(),
    };
    let Some(project) = project_of(&path, arguments)? else { return Ok(Vec::new()) };
    Ok(project.found)
}

/// Opens the project in a folder, and writes its lock, or complains.
pub fn open(folder: &Path, arguments: &PackageArguments, update: Update) -> Result<Project, Exit> {
    let mode = Mode { locked: arguments.locked, offline: arguments.offline, update };
    let open = || {
        let project = Project::open(folder, &Cache::of_user(), &mode)?;
        project.save()?;
        Ok(project)
    };
    open().map_err(refuse)
}

/// The folder of the package that the current folder belongs to, or a complaint.
pub fn folder_of_package() -> Result<PathBuf, Exit> {
    folder_above(Path::new(".")).ok_or_else(|| {
        let problem = Problem::missing(format!("there is no {FILE} here, nor in a folder above"));
        let hint =
            "`squall new NAME` makes a package; `squall run FILE` runs a program without one";
        refuse(problem.hint(hint))
    })
}

/// The packages of what is typed in the current folder: those of the package that it belongs to, if it belongs to one.
pub fn packages_here(arguments: &PackageArguments) -> Result<Packages, Exit> {
    match folder_above(Path::new(".")) {
        Some(folder) => {
            let project = project_of(&folder.display().to_string(), arguments)?;
            project.map_or(Ok(Packages::default()), |project| packages_of(&project))
        }
        None => Ok(Packages::default()),
    }
}

/// The machine's table of a project, or a complaint.
pub fn packages_of(project: &Project) -> Result<Packages, Exit> {
    let authority = Authority::of(project).map_err(refuse)?;
    let folders = project.packages.iter().map(|package| package.folder.display().to_string());
    Ok(machine_table(Table::of(project, &authority, &folders.collect::<Vec<_>>())))
}

/// The path of the main module of a project's application.
fn main_of(project: &Project) -> String {
    let application = project.application();
    normal(&application.folder.join(&application.manifest.main)).display().to_string()
}

fn machine_table(table: Table) -> Packages {
    let parts = table.parts.into_iter().map(|part| Part {
        title: part.title,
        folder: part.folder,
        main: part.main,
        capabilities: part.capabilities,
        reasons: part.reasons,
        dependencies: part.dependencies,
    });
    Packages { parts: parts.collect() }
}

/// Complains about a problem with packages.
pub fn refuse(problem: Problem) -> Exit {
    complain(&problem.to_string());
    match problem.kind {
        Kind::Invalid => Exit::Invalid,
        Kind::Missing => Exit::NoInput,
        Kind::Unwritable => Exit::Output,
        Kind::Failed => Exit::Failure,
    }
}
