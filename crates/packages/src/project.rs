//! Projects: an application with all that it depends on. The commands open one.
//!
//! [`Project::open`] goes from the application's manifest to all sources that manifests name, reads the package of each,
//! and has [`resolution`] choose. The lock decides where manifests leave something open: the commit of
//! a branch, the content of an archive without a digest, a version among several that suit. So the answer depends only on
//! the manifests and the lock, and needs no network if the cache has the packages.
//!
//! Trust
//!
//! - The bytes of an archive have the digest that the manifest or the lock names.
//! - The files of a fetched package have the digest in the lock, each time. If one is not as it should be, both are shown.
//! - The manifest of a fetched package may name sources of the network only: no path of this computer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use semver::Version;

use crate::cache::{Cache, VENDOR, archive_bytes};
use crate::digest;
use crate::git;
use crate::lock::{self, Fetched, Lock, Locked};
use crate::manifest::{self, Dependency, Manifest};
use crate::problem::{Problem, Result};
use crate::resolution::{self, Need, Offer, Selection};
use crate::source::{Origin, Reference, Source, is_remote, normal};

/// The most packages that manifests may lead to.
const MOST_PACKAGES: usize = 2000;

/// How a project is opened.
#[derive(Clone, Debug, Default)]
pub struct Mode {
    /// Whether the lock must be right as it is.
    pub locked: bool,
    /// Whether nothing is fetched.
    pub offline: bool,
    /// Which packages are chosen anew, whatever the lock says.
    pub update: Update,
}

/// Packages that are chosen anew.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Update {
    /// None.
    #[default]
    None,
    /// Those with these names.
    Some(BTreeSet<String>),
    /// All.
    All,
}

impl Update {
    fn includes(&self, name: &str) -> bool {
        match self {
            Update::None => false,
            Update::Some(names) => names.contains(name),
            Update::All => true,
        }
    }
}

/// An application with all that it depends on.
#[derive(Clone, Debug)]
pub struct Project {
    /// The application's folder.
    pub folder: PathBuf,
    /// The chosen packages; the application is the first.
    pub packages: Vec<Package>,
    /// The lock that belongs to these.
    pub lock: Lock,
    /// The lock that was there.
    pub previous: Option<Lock>,
    /// The folders of all packages that were fetched, chosen or not.
    pub fetched: Vec<(Origin, PathBuf)>,
    /// The folders of all packages that were looked at, chosen or not.
    pub found: Vec<PathBuf>,
}

/// A chosen package.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its manifest.
    pub manifest: Manifest,
    /// Where it comes from.
    pub origin: Origin,
    /// The folder with its files.
    pub folder: PathBuf,
    /// The numbers of the packages that it gets, by the names under which it knows them.
    pub dependencies: BTreeMap<String, usize>,
}

impl Package {
    /// Its name and version.
    pub fn title(&self) -> String {
        format!("{} {}", self.manifest.name, self.manifest.version)
    }

    /// Its name and version, as the lock has them.
    pub fn key(&self) -> (String, Version) {
        (self.manifest.name.clone(), self.manifest.version.clone())
    }
}

/// The folder, at or above a path, with a manifest. The path is that of a file or a folder, and need not exist.
pub fn folder_above(path: &Path) -> Option<PathBuf> {
    let mut folder = if path.is_dir() { path.to_owned() } else { path.parent()?.to_owned() };
    if folder == Path::new("") {
        folder = PathBuf::from(".");
    }
    // A relative path has folders above it, too.
    let above = std::path::absolute(&folder).ok()?;
    for (steps, absolute) in above.ancestors().enumerate() {
        if absolute.join(manifest::FILE).is_file() {
            let is_near = steps < folder.components().filter(|it| is_normal(*it)).count() + 1;
            let near = folder.ancestors().nth(steps).filter(|near| *near != Path::new(""));
            return Some(match (is_near, near) {
                (true, Some(near)) => near.to_owned(),
                (true, None) => PathBuf::from("."),
                (false, _) => absolute.to_owned(),
            });
        }
    }
    None
}

fn is_normal(component: std::path::Component) -> bool {
    matches!(component, std::path::Component::Normal(_))
}

impl Project {
    /// Opens the application in a folder.
    pub fn open(folder: &Path, cache: &Cache, mode: &Mode) -> Result<Project> {
        let shown_lock = shown(folder, Path::new(lock::FILE));
        let previous = Lock::read(folder, &shown_lock)?;
        let mut opener = Opener {
            folder,
            cache,
            mode,
            vendor: Cache::at(folder.join(VENDOR)),
            lock: previous.clone().unwrap_or_default(),
            sources: BTreeMap::new(),
            found: Vec::new(),
        };
        opener.find_all()?;
        let offers = opener.offers();
        let locked = opener.lock.versions().into_iter();
        let locked = locked.filter(|(name, _)| !mode.update.includes(name)).collect();
        let selection = resolution::resolve(&offers, &locked)?;
        let project = opener.project(selection, previous);
        if mode.locked {
            project.check_lock(&shown_lock)?;
        }
        Ok(project)
    }

    /// The application.
    pub fn application(&self) -> &Package {
        &self.packages[0]
    }

    /// Whether the lock must be written.
    pub fn has_new_lock(&self) -> bool {
        match &self.previous {
            Some(previous) => *previous != self.lock,
            None => self.packages.len() > 1 || !self.lock.sources.is_empty(),
        }
    }

    /// Writes the lock, if it is new.
    pub fn save(&self) -> Result<()> {
        match self.has_new_lock() {
            true => self.lock.write(&self.folder, &shown(&self.folder, Path::new(lock::FILE))),
            false => Ok(()),
        }
    }

    /// Refuses a lock that is not right.
    fn check_lock(&self, shown: &Path) -> Result<()> {
        if !self.has_new_lock() {
            return Ok(());
        }
        let difference = match &self.previous {
            None => "there is none".to_owned(),
            Some(previous) => difference(previous, &self.lock),
        };
        let text = format!("{} is not up to date: {difference}", shown.display());
        Err(Problem::failed(text).hint("run `squall update`, or run without --locked"))
    }
}

/// The first difference of two locks, in words.
pub fn difference(old: &Lock, new: &Lock) -> String {
    let shown = |(name, version): &(String, Version)| format!("`{name}` {version}");
    if let Some(added) = new.packages.keys().find(|key| !old.packages.contains_key(*key)) {
        return format!("it lacks {}", shown(added));
    }
    if let Some(gone) = old.packages.keys().find(|key| !new.packages.contains_key(*key)) {
        return format!("{} is not needed", shown(gone));
    }
    let changed = new.packages.iter().find(|(key, locked)| old.packages.get(*key) != Some(locked));
    if let Some((key, locked)) = changed {
        let before = &old.packages[key];
        return match before.origin == locked.origin {
            true => format!("{} depends on others than it says", shown(key)),
            false => format!(
                "{} comes from {}, and it says {}",
                shown(key),
                locked.origin,
                before.origin
            ),
        };
    }
    "its list of sources is another one".to_owned()
}

/// The path of something in a folder, for people.
pub fn shown(folder: &Path, rest: &Path) -> PathBuf {
    normal(&folder.join(rest))
}

/// A package that a source has.
struct Found {
    manifest: Manifest,
    origin: Origin,
    folder: PathBuf,
    digest: Option<String>,
    /// For each of its dependencies with a source, the number of the package there.
    providers: BTreeMap<String, usize>,
}

struct Opener<'o> {
    folder: &'o Path,
    cache: &'o Cache,
    vendor: Cache,
    mode: &'o Mode,
    lock: Lock,
    /// What was fetched, for the new lock.
    sources: BTreeMap<Origin, Fetched>,
    found: Vec<Found>,
}

impl Opener<'_> {
    /// Finds the packages of all sources, from the application on.
    fn find_all(&mut self) -> Result<()> {
        let shown = shown(self.folder, Path::new(manifest::FILE));
        let manifest = Manifest::read(self.folder, &shown).map_err(|problem| {
            match self.folder.join(manifest::FILE).exists() {
                true => problem,
                false => problem.hint("`squall new NAME` makes a package"),
            }
        })?;
        self.found.push(Found {
            manifest,
            origin: Origin::Path(PathBuf::from(".")),
            folder: self.folder.to_owned(),
            digest: None,
            providers: BTreeMap::new(),
        });
        let mut next = 0;
        while next < self.found.len() {
            let dependencies = self.found[next].manifest.dependencies.clone();
            for (alias, dependency) in dependencies {
                let Some(source) = &dependency.source else { continue };
                let place = self.found[next].manifest.place(dependency.line);
                let provider = self.provider(next, &dependency, source);
                let provider =
                    provider.map_err(|it| it.of(format!("{place}: dependency `{alias}`")))?;
                self.found[next].providers.insert(alias, provider);
            }
            next += 1;
        }
        Ok(())
    }

    /// The number of the package that a dependency's source has.
    fn provider(
        &mut self,
        dependent: usize,
        dependency: &Dependency,
        source: &Source,
    ) -> Result<usize> {
        let base = self.found[dependent].origin.clone();
        let (origin, reference) = self.locate(&base, dependency, source)?;
        if origin == self.found[0].origin {
            return Err(Problem::invalid("the application cannot be a dependency"));
        }
        if let Some(known) = self.found.iter().position(|found| found.origin == origin) {
            return self.check_name(known, dependency);
        }
        if self.found.len() > MOST_PACKAGES {
            let text = format!("the manifests lead to more than {MOST_PACKAGES} packages");
            return Err(Problem::failed(text));
        }
        let found = match &origin {
            Origin::Path(path) => self.local(path.clone())?,
            _ => self.fetched(origin, reference, dependency)?,
        };
        self.found.push(found);
        self.check_name(self.found.len() - 1, dependency)
    }

    fn check_name(&self, number: usize, dependency: &Dependency) -> Result<usize> {
        let found = &self.found[number].manifest;
        if found.name == dependency.package {
            return Ok(number);
        }
        let text =
            format!("the package there is called `{}`, not `{}`", found.name, dependency.package);
        Err(Problem::invalid(text).hint(format!("write `package = \"{}\"` as well", found.name)))
    }

    /// The package in a folder.
    fn local(&self, path: PathBuf) -> Result<Found> {
        let folder = match path == Path::new(".") {
            true => self.folder.to_owned(),
            false => shown(self.folder, &path),
        };
        let manifest = Manifest::read(&folder, &shown(&folder, Path::new(manifest::FILE)))?;
        let origin = Origin::Path(path);
        Ok(Found { manifest, origin, folder, digest: None, providers: BTreeMap::new() })
    }

    /// The package that is fetched, if it is not in the cache.
    fn fetched(
        &mut self,
        origin: Origin,
        reference: String,
        dependency: &Dependency,
    ) -> Result<Found> {
        let stored = self.vendor.find(&origin).or_else(|| self.cache.find(&origin));
        let folder = match stored {
            Some(folder) => folder,
            None => self.fetch(&origin)?,
        };
        let sha256 = digest::of_folder(&folder)?;
        let expected = self.lock.sources.get(&origin).map(|fetched| &fetched.sha256);
        if let Some(expected) = expected.filter(|expected| **expected != sha256) {
            let text = format!(
                "the files of {} are not those of {}\n  the lock says  sha256 {expected}\n  \
                 the files have sha256 {sha256}",
                origin.short(),
                lock::FILE
            );
            return Err(Problem::failed(text).hint(format!(
                "if the lock was changed, restore it; if {} was, delete that folder",
                folder.display()
            )));
        }
        self.sources.insert(origin.clone(), Fetched { reference, sha256: sha256.clone() });
        let manifest =
            Manifest::read(&folder, &Path::new(&dependency.package).join(manifest::FILE))?;
        Ok(Found { manifest, origin, folder, digest: Some(sha256), providers: BTreeMap::new() })
    }

    /// Fetches a package into the cache.
    fn fetch(&self, origin: &Origin) -> Result<PathBuf> {
        match origin {
            Origin::Git { address, commit } => {
                self.check_online(origin)?;
                let address = self.address_on_disk(address);
                self.cache.store_commit(origin, &address, commit)
            }
            Origin::Archive { address, sha256 } => {
                if is_remote(address) {
                    self.check_online(origin)?;
                }
                let bytes = archive_bytes(address, self.folder)?;
                check_archive(address, sha256, &digest::of_bytes(&bytes))?;
                let stored = self.cache.store_archive(origin, &bytes);
                stored.map_err(|problem| problem.of(address))
            }
            Origin::Path(_) => unreachable!("packages in folders are not fetched"),
        }
    }

    fn check_online(&self, what: impl std::fmt::Display) -> Result<()> {
        match self.mode.offline {
            false => Ok(()),
            true => {
                let text = format!("{what} is not in the cache, and --offline forbids to fetch it");
                Err(Problem::failed(text).hint("run once without --offline, or `squall vendor`"))
            }
        }
    }

    /// The address of a repository for the command `git`, which runs elsewhere.
    fn address_on_disk(&self, address: &str) -> String {
        match is_remote(address) || address.contains("://") {
            true => address.to_owned(),
            false => {
                let path = self.folder.join(address);
                std::path::absolute(&path).unwrap_or(path).display().to_string()
            }
        }
    }

    /// The origin of a source that the package at `base` names, and what is left open of it.
    fn locate(
        &self,
        base: &Origin,
        dependency: &Dependency,
        source: &Source,
    ) -> Result<(Origin, String)> {
        match source {
            Source::Path(path) => match base {
                Origin::Path(base) => Ok((Origin::Path(normal(&base.join(path))), String::new())),
                _ => Err(Problem::invalid("a package that was fetched cannot name a folder")
                    .hint("its dependencies come by `git` or `archive`")),
            },
            Source::Git { address, reference } => {
                let address = address_from(base, address)?;
                let commit = self.commit(&address, reference, dependency)?;
                Ok((Origin::Git { address, commit }, reference.to_string()))
            }
            Source::Archive { address, sha256 } => {
                let address = address_from(base, address)?;
                let reference = if sha256.is_some() { "manifest" } else { "first fetch" };
                let sha256 = self.archive_digest(&address, sha256.as_deref(), dependency)?;
                Ok((Origin::Archive { address, sha256 }, reference.to_owned()))
            }
        }
    }

    /// The commit for a reference: the one in the lock, or else the present one.
    fn commit(
        &self,
        address: &str,
        reference: &Reference,
        dependency: &Dependency,
    ) -> Result<String> {
        if let Reference::Commit(commit) = reference {
            return Ok(commit.clone());
        }
        let shown = reference.to_string();
        let locked = self.lock.sources.iter().find_map(|(origin, fetched)| match origin {
            Origin::Git { address: other, commit } => {
                (other == address && fetched.reference == shown).then_some(commit)
            }
            _ => None,
        });
        match locked.filter(|_| !self.mode.update.includes(&dependency.package)) {
            Some(commit) => Ok(commit.clone()),
            None => {
                let what = format!("{shown} of {address}");
                self.check_may_look(&what)?;
                git::commit_of(&self.address_on_disk(address), reference)
            }
        }
    }

    /// The digest of an archive: the manifest's, which the lock must not contradict; the lock's; or that of the present
    /// content.
    fn archive_digest(
        &self,
        address: &str,
        wanted: Option<&str>,
        dependency: &Dependency,
    ) -> Result<String> {
        let locked = self.lock.sources.keys().find_map(|origin| match origin {
            Origin::Archive { address: other, sha256 } if other == address => Some(sha256),
            _ => None,
        });
        let locked = locked.filter(|_| !self.mode.update.includes(&dependency.package));
        match (wanted, locked) {
            (Some(wanted), Some(locked)) if wanted != locked => {
                let text = format!(
                    "the manifest and {} disagree about {address}\n  the manifest says sha256 \
                     {wanted}\n  the lock says     sha256 {locked}",
                    lock::FILE
                );
                let hint =
                    format!("if the manifest is right, run `squall update {}`", dependency.package);
                Err(Problem::failed(text).hint(hint))
            }
            (Some(digest), _) => Ok(digest.to_owned()),
            (None, Some(digest)) => Ok(digest.clone()),
            (None, None) => {
                if address.starts_with("http://") {
                    let text =
                        format!("{address} is not encrypted, so its content may be anything");
                    return Err(Problem::invalid(text).hint("add its `sha256`, or use https"));
                }
                self.check_may_look(address)?;
                Ok(digest::of_bytes(&archive_bytes(address, self.folder)?))
            }
        }
    }

    /// Refuses to look for what the lock does not say.
    fn check_may_look(&self, what: &str) -> Result<()> {
        if self.mode.locked {
            let text = format!("{} does not say which content is meant by {what}", lock::FILE);
            return Err(Problem::failed(text).hint("run `squall update`, or run without --locked"));
        }
        match is_remote(what) || self.mode.offline {
            true => self.check_online(what),
            false => Ok(()),
        }
    }

    fn offers(&self) -> Vec<Offer> {
        let offer = |found: &Found| {
            let need = |(alias, dependency): (&String, &Dependency)| Need {
                alias: alias.clone(),
                package: dependency.package.clone(),
                requirement: dependency.requirement.clone(),
                offer: found.providers.get(alias).copied(),
                place: found.manifest.place(dependency.line),
            };
            Offer {
                name: found.manifest.name.clone(),
                version: found.manifest.version.clone(),
                origin: found.origin.clone(),
                digest: found.digest.clone(),
                needs: found.manifest.dependencies.iter().map(need).collect(),
            }
        };
        self.found.iter().map(offer).collect()
    }

    fn project(self, selection: Selection, previous: Option<Lock>) -> Project {
        let mut chosen: Vec<usize> = selection.keys().copied().collect();
        let key = |number: usize| {
            let manifest = &self.found[number].manifest;
            (number != 0, manifest.name.clone(), manifest.version.clone())
        };
        chosen.sort_by_key(|number| key(*number));
        let place = |offer: &usize| {
            chosen.iter().position(|number| number == offer).expect("what is needed was chosen")
        };
        let package = |offer: &usize| {
            let found = &self.found[*offer];
            let edges = selection[offer].iter();
            Package {
                manifest: found.manifest.clone(),
                origin: found.origin.clone(),
                folder: found.folder.clone(),
                dependencies: edges.map(|(alias, offer)| (alias.clone(), place(offer))).collect(),
            }
        };
        let packages: Vec<Package> = chosen.iter().map(package).collect();
        let locked = packages.iter().map(|package| {
            let edges = package.dependencies.iter();
            let edges = edges.map(|(alias, number)| (alias.clone(), packages[*number].key()));
            let origin = package.origin.clone();
            (package.key(), Locked { origin, dependencies: edges.collect() })
        });
        let lock = Lock { packages: locked.collect(), sources: self.sources };
        let all = self.found.iter().map(|found| found.folder.clone()).collect();
        let fetched = self.found.iter().filter(|found| found.digest.is_some());
        let fetched = fetched.map(|found| (found.origin.clone(), found.folder.clone())).collect();
        Project { folder: self.folder.to_owned(), packages, lock, previous, fetched, found: all }
    }
}

/// An address that the package at `base` names, as the application would write it.
fn address_from(base: &Origin, address: &str) -> Result<String> {
    if is_remote(address) {
        return Ok(address.to_owned());
    }
    match base {
        Origin::Path(_) if address.contains("://") => Ok(address.to_owned()),
        Origin::Path(base) => Ok(normal(&base.join(address)).display().to_string()),
        _ => Err(Problem::invalid(format!(
            "a package that was fetched cannot name a file of this computer: {address}"
        ))),
    }
}

/// Refuses to trust the first content at an address that anything on the way can replace.
pub fn check_encrypted(address: &str) -> Result<()> {
    match address.starts_with("http://") {
        true => {
            let text = format!("{address} is not encrypted, so its content may be anything");
            Err(Problem::invalid(text).hint("give its `sha256`, or use https"))
        }
        false => Ok(()),
    }
}

fn check_archive(address: &str, expected: &str, found: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let text = format!(
        "the archive {address} is not the expected one\n  expected sha256 {expected}\n  it has   \
         sha256 {found}"
    );
    Err(Problem::failed(text).hint(
        "do not use it unless you know why it has changed; `sha256` in the manifest, or the lock, \
         says what is expected",
    ))
}
