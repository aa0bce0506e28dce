//! `squall new`, `add`, `remove`, `update`, `vendor` and `tree`: packages and what they depend on. `commands` calls this
//! module.
//!
//! A command that changes the manifest opens the project with the new one, and puts the old one back if that fails: so a
//! manifest that was right stays right.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use squall_packages::authority::{Authority, tree as tree_of};
use squall_packages::cache::{Cache, VENDOR, archive_bytes, slot};
use squall_packages::digest;
use squall_packages::editing::{self, NewDependency};
use squall_packages::git;
use squall_packages::lock::Lock;
use squall_packages::manifest::{FILE, Manifest};
use squall_packages::problem::Problem;
use squall_packages::project::{Package, Project, Update, check_encrypted, shown};
use squall_packages::source::{Origin, Reference, Source, is_remote};

use crate::arguments::{self, Add, New, PackageArguments, Remove, Tree, Vendor};
use crate::console::print;
use crate::exit::Exit;
use crate::packages::{folder_of_package, open, refuse};

pub fn new(arguments: &New) -> Result<Exit, Exit> {
    let name = arguments.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    editing::create(&arguments.path, name, arguments.library).map_err(refuse)?;
    print(&format!("made the package `{name}` in {}\n", arguments.path.display()));
    Ok(Exit::Success)
}

pub fn add(arguments: &Add) -> Result<Exit, Exit> {
    let folder = folder_of_package()?;
    let dependency = new_dependency(arguments, &folder).map_err(refuse)?;
    let manifest = shown(&folder, Path::new(FILE));
    let old = editing::add(&folder, &manifest, &dependency).map_err(refuse)?;
    let update = Update::Some([dependency.package.clone()].into());
    let project = reopen(&folder, &manifest, &arguments.packages, update, &old)?;
    let application = project.application();
    let added = &project.packages[application.dependencies[&dependency.alias]];
    print(&format!("added {} ({})\n", added.title(), added.origin.short()));
    show_wants(application, &dependency.alias, added);
    Ok(Exit::Success)
}

/// Says what the dependency wants and is not granted.
fn show_wants(application: &Package, alias: &str, added: &Package) {
    let grants = &application.manifest.dependencies[alias].grants;
    let lacks: Vec<&str> = added.manifest.wants.difference(grants).copied().collect();
    if !lacks.is_empty() {
        print(&format!(
            "it wants {}, which it is not granted\n  hint: if it may have that, write `grants = \
             [\"{}\"]` for it in {}\n",
            lacks.join(", "),
            lacks.join("\", \""),
            application.manifest.path.display()
        ));
    }
}

fn new_dependency(arguments: &Add, folder: &Path) -> Result<NewDependency, Problem> {
    let name = match (&arguments.name, &arguments.path) {
        (Some(name), _) => name.clone(),
        (None, Some(path)) => Manifest::read(path, &shown(path, Path::new(FILE)))?.name,
        (None, None) => return Err(Problem::invalid("the dependency has no name")),
    };
    let package = arguments.package.clone().or_else(|| {
        // The folder says how the package is called.
        let path = arguments.path.as_ref()?;
        Manifest::read(path, &shown(path, Path::new(FILE))).ok().map(|manifest| manifest.name)
    });
    Ok(NewDependency {
        package: package.unwrap_or_else(|| name.clone()),
        alias: name,
        requirement: arguments.version.clone(),
        source: source(arguments, folder)?,
        grants: arguments.grant.clone(),
    })
}

/// The source that the options name, with the digest or the commit that they leave open.
fn source(arguments: &Add, folder: &Path) -> Result<Option<Source>, Problem> {
    if let Some(path) = &arguments.path {
        return Ok(Some(Source::Path(from_folder(path, folder))));
    }
    if let Some(given) = &arguments.git {
        let reference = match (&arguments.commit, &arguments.branch, &arguments.tag) {
            (Some(commit), ..) => Reference::Commit(commit.clone()),
            (_, Some(branch), _) => Reference::Branch(branch.clone()),
            (.., Some(tag)) => Reference::Tag(tag.clone()),
            _ => {
                check_online(arguments, given)?;
                Reference::Commit(git::commit_of(given, &Reference::Head)?)
            }
        };
        return Ok(Some(Source::Git { address: address(given, folder), reference }));
    }
    let Some(given) = &arguments.archive else { return Ok(None) };
    let sha256 = match &arguments.sha256 {
        Some(digest) => digest.clone(),
        None => {
            check_online(arguments, given)?;
            fetched_digest(given, &address(given, folder))?
        }
    };
    Ok(Some(Source::Archive { address: address(given, folder), sha256: Some(sha256) }))
}

/// The digest of an archive, which is stored, so that it is fetched once.
fn fetched_digest(given: &str, address: &str) -> Result<String, Problem> {
    check_encrypted(given)?;
    let bytes = archive_bytes(given, Path::new("."))?;
    let sha256 = digest::of_bytes(&bytes);
    let origin = Origin::Archive { address: address.to_owned(), sha256: sha256.clone() };
    let stored = Cache::of_user().store_archive(&origin, &bytes);
    stored.map_err(|problem| problem.of(given)).map(|_| sha256)
}

fn check_online(arguments: &Add, address: &str) -> Result<(), Problem> {
    match arguments.packages.offline && is_remote(address) {
        false => Ok(()),
        true => {
            let text = format!("--offline forbids to ask {address} for a commit or a digest");
            Err(Problem::failed(text).hint("give --commit or --sha256"))
        }
    }
}

/// An address as the manifest in a folder has it.
fn address(given: &str, folder: &Path) -> String {
    match is_remote(given) || given.contains("://") {
        true => given.to_owned(),
        false => from_folder(Path::new(given), folder).display().to_string(),
    }
}

/// A path relative to the current folder, as it is seen from another folder. An absolute path stays so.
fn from_folder(path: &Path, folder: &Path) -> PathBuf {
    if path.is_absolute() || folder == Path::new(".") {
        return path.to_owned();
    }
    let absolute = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        squall_packages::source::normal(&path)
    };
    let (target, base) = (absolute(path), absolute(folder));
    let parts = |path: &PathBuf| path.iter().map(|part| part.to_owned()).collect::<Vec<_>>();
    let (target, base) = (parts(&target), parts(&base));
    let common = target.iter().zip(&base).take_while(|(one, other)| one == other).count();
    let up = base[common..].iter().map(|_| Component::ParentDir.as_os_str().to_owned());
    up.chain(target[common..].iter().cloned()).collect()
}

/// Opens the project with its new manifest; if that fails, the old one is put back.
fn reopen(
    folder: &Path,
    manifest: &Path,
    arguments: &PackageArguments,
    update: Update,
    old: &str,
) -> Result<Project, Exit> {
    open(folder, arguments, update).inspect_err(|_| {
        if let Err(problem) = editing::restore(folder, manifest, old) {
            refuse(problem);
        }
    })
}

pub fn remove(arguments: &Remove) -> Result<Exit, Exit> {
    let folder = folder_of_package()?;
    let manifest = shown(&folder, Path::new(FILE));
    let mut original: Option<String> = None;
    for name in &arguments.names {
        let removed = editing::remove(&folder, &manifest, name);
        let old = removed.map_err(|problem| {
            if let Some(original) = &original {
                _ = editing::restore(&folder, &manifest, original);
            }
            refuse(problem)
        })?;
        original.get_or_insert(old);
    }
    let original = original.unwrap_or_default();
    let project = reopen(&folder, &manifest, &arguments.packages, Update::None, &original)?;
    print(&format!("removed {}\n", arguments.names.join(", ")));
    show_changes(&project);
    Ok(Exit::Success)
}

pub fn update(arguments: &arguments::Update) -> Result<Exit, Exit> {
    let folder = folder_of_package()?;
    let names: BTreeSet<String> = arguments.names.iter().cloned().collect();
    let update = if names.is_empty() { Update::All } else { Update::Some(names) };
    let offline = PackageArguments { locked: false, offline: arguments.offline };
    let project = open(&folder, &offline, update)?;
    let known = |name: &&String| {
        let mut packages = project.packages.iter().skip(1);
        packages.any(|package| package.manifest.name == **name)
    };
    if let Some(name) = arguments.names.iter().find(|name| !known(name)) {
        let text = format!("no dependency is called `{}`", name.escape_debug());
        return Err(refuse(Problem::failed(text).hint("`squall tree` shows all")));
    }
    if show_changes(&project) == 0 {
        print("nothing has changed\n");
    }
    Ok(Exit::Success)
}

/// Says which packages came, went, or come from elsewhere; answers how many.
fn show_changes(project: &Project) -> usize {
    let none = Lock::default();
    let old = &project.previous.as_ref().unwrap_or(&none).packages;
    let new = &project.lock.packages;
    let mut count = 0;
    let mut show = |sign: char, (name, version): &(String, semver::Version), origin: &Origin| {
        count += 1;
        print(&format!("{sign} {name} {version} ({})\n", origin.short()));
    };
    let is_application = |origin: &Origin| *origin == Origin::Path(PathBuf::from("."));
    for (key, locked) in old.iter().filter(|(_, locked)| !is_application(&locked.origin)) {
        if new.get(key).is_none_or(|other| other.origin != locked.origin) {
            show('-', key, &locked.origin);
        }
    }
    for (key, locked) in new.iter().filter(|(_, locked)| !is_application(&locked.origin)) {
        if old.get(key).is_none_or(|other| other.origin != locked.origin) {
            show('+', key, &locked.origin);
        }
    }
    count
}

pub fn vendor(arguments: &Vendor) -> Result<Exit, Exit> {
    let folder = folder_of_package()?;
    let project = open(&folder, &arguments.packages, Update::None)?;
    let target = folder.join(VENDOR);
    let vendored = Cache::at(target.clone());
    let copies = || -> Result<usize, Problem> {
        let mut kept = BTreeSet::new();
        for (origin, source) in &project.fetched {
            if vendored.find(origin).is_none() {
                vendored.store_copy(origin, source)?;
            }
            kept.extend(slot(origin));
        }
        remove_others(&target, &kept)?;
        Ok(kept.len())
    };
    let count = copies().map_err(refuse)?;
    let packages = if count == 1 { "package is" } else { "packages are" };
    print(&format!("{count} {packages} in {}\n", shown(&folder, Path::new(VENDOR)).display()));
    Ok(Exit::Success)
}

/// Removes copies that are not needed any more. Whatever else is in the folder stays.
fn remove_others(folder: &Path, kept: &BTreeSet<String>) -> Result<(), Problem> {
    let Ok(entries) = folder.read_dir() else { return Ok(()) };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let digest = name.strip_prefix("git-").or_else(|| name.strip_prefix("archive-"));
        let is_copy = digest.is_some_and(|it| digest::is_commit(it) || digest::is_sha256(it));
        if is_copy && !kept.contains(&name) {
            let path = entry.path();
            std::fs::remove_dir_all(&path).map_err(|error| Problem::unwritten(&path, &error))?;
        }
    }
    Ok(())
}

pub fn tree(arguments: &Tree) -> Result<Exit, Exit> {
    let folder = folder_of_package()?;
    let project = open(&folder, &arguments.packages, Update::None)?;
    let authority = Authority::of(&project).map_err(refuse)?;
    print(&tree_of(&project, &authority, arguments.authority));
    Ok(Exit::Success)
}
