//! Authority: which capability each package has, and from where. The commands make a machine's table of it, and `squall
//! tree --authority` shows it.
//!
//! The application has all that the command line allows. A package gets a capability from the package that depends on it if
//! three things hold: the dependent has it, the dependent's manifest grants it, and the package's own manifest wants it. So
//! authority only becomes less on the way, and a package's manifest is an upper bound, which a new version cannot pass
//! without a visible change.
//!
//! The same package may have one authority from one dependent, and another one from another. A *part* is a package with
//! one authority; it is made once, whatever leads to it.

use std::collections::{BTreeMap, HashMap};

use crate::capability::{self, Capabilities};
use crate::problem::{Problem, Result};
use crate::project::Project;

/// The most parts that a program may have.
const MOST: usize = 10_000;

/// All parts of a program.
#[derive(Clone, Debug)]
pub struct Authority {
    /// The parts; the first is the application.
    pub parts: Vec<Part>,
}

/// A package with one authority.
#[derive(Clone, Debug)]
pub struct Part {
    /// The number of the package in the project.
    pub package: usize,
    /// What it has.
    pub capabilities: Capabilities,
    /// Why it has not got the others, in words.
    pub reasons: BTreeMap<&'static str, String>,
    /// The numbers of the parts that it gets, by the names under which it knows them.
    pub dependencies: BTreeMap<String, usize>,
    /// The parts that get this one, each with the name under which it does.
    dependents: Vec<(usize, String)>,
}

impl Authority {
    /// The authority of a project's packages.
    pub fn of(project: &Project) -> Result<Authority> {
        let mut authority = Authority { parts: vec![Part::new(0, capability::all())] };
        let mut known = HashMap::new();
        let mut next = 0;
        while next < authority.parts.len() {
            authority.add_dependencies(project, next, &mut known)?;
            next += 1;
        }
        for number in 0..authority.parts.len() {
            authority.parts[number].reasons = authority.reasons(project, number);
        }
        Ok(authority)
    }

    fn add_dependencies(
        &mut self,
        project: &Project,
        dependent: usize,
        known: &mut HashMap<(usize, Capabilities), usize>,
    ) -> Result<()> {
        let package = &project.packages[self.parts[dependent].package];
        for (alias, &provider) in &package.dependencies {
            let has = &self.parts[dependent].capabilities;
            let grants = &package.manifest.dependencies[alias].grants;
            let wants = &project.packages[provider].manifest.wants;
            let given =
                |capability: &&&str| has.contains(**capability) && wants.contains(**capability);
            let capabilities: Capabilities = grants.iter().filter(given).copied().collect();
            let key = (provider, capabilities.clone());
            let number = *known.entry(key).or_insert_with(|| {
                self.parts.push(Part::new(provider, capabilities));
                self.parts.len() - 1
            });
            if self.parts.len() > MOST {
                let text = format!("the packages have more than {MOST} different authorities");
                return Err(Problem::failed(text));
            }
            self.parts[dependent].dependencies.insert(alias.clone(), number);
            self.parts[number].dependents.push((dependent, alias.clone()));
        }
        Ok(())
    }

    /// For each capability that a part lacks, why.
    fn reasons(&self, project: &Project, part: usize) -> BTreeMap<&'static str, String> {
        let has = &self.parts[part].capabilities;
        let lacking = capability::ALL.iter().map(|(name, _)| *name).filter(|it| !has.contains(it));
        let text = |name| {
            let title = project.packages[self.parts[part].package].title();
            let reason = self.reason(project, part, name);
            (name, format!("package {title} has no capability `{name}`: {reason}"))
        };
        lacking.map(text).collect()
    }

    /// Why a part lacks a capability: the manifest and line that would have to change.
    pub fn reason(&self, project: &Project, part: usize, name: &str) -> String {
        let package = &project.packages[self.parts[part].package];
        if !package.manifest.wants.contains(name) {
            let place = package.manifest.place(package.manifest.wants_line);
            return format!("{place} does not want it (`wants`)");
        }
        // A part that has a capability is reached only by dependents that grant it, so each of these does not.
        let mut reasons: Vec<String> = Vec::new();
        for (dependent, alias) in &self.parts[part].dependents {
            let manifest = &project.packages[self.parts[*dependent].package].manifest;
            let dependency = &manifest.dependencies[alias];
            let reason = match dependency.grants.contains(name) {
                false => {
                    let place = manifest.place(dependency.line);
                    format!("{place} does not grant it (`grants = [\"{name}\"]` for `{alias}`)")
                }
                true => format!(
                    "`{}` grants it, but has not got it: {}",
                    manifest.name,
                    self.reason(project, *dependent, name)
                ),
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons.truncate(3);
        reasons.join("; ")
    }
}

impl Part {
    fn new(package: usize, capabilities: Capabilities) -> Part {
        Part {
            package,
            capabilities,
            reasons: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            dependents: Vec::new(),
        }
    }
}

/// The parts of a program as the machine needs them; the first is the application.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// The parts.
    pub parts: Vec<TablePart>,
}

/// A part in a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TablePart {
    /// The package's name and version.
    pub title: String,
    /// Its folder; its modules are in it.
    pub folder: String,
    /// The path of its main module.
    pub main: String,
    /// The capabilities that it has.
    pub capabilities: Vec<String>,
    /// Why it has not got others.
    pub reasons: Vec<(String, String)>,
    /// The numbers of the parts that it gets, by the names under which it knows them.
    pub dependencies: Vec<(String, usize)>,
}

impl Table {
    /// The table of a project; `folders` are those of its packages.
    pub fn of(project: &Project, authority: &Authority, folders: &[String]) -> Table {
        let part = |part: &Part| {
            let package = &project.packages[part.package];
            let folder = folders[part.package].clone();
            let main = package.manifest.main.display();
            TablePart {
                title: package.title(),
                main: match folder.as_str() {
                    "." => main.to_string(),
                    folder => format!("{folder}/{main}"),
                },
                folder,
                capabilities: part.capabilities.iter().map(|it| (*it).to_owned()).collect(),
                reasons: part
                    .reasons
                    .iter()
                    .map(|(name, reason)| ((*name).to_owned(), reason.clone()))
                    .collect(),
                dependencies: part
                    .dependencies
                    .iter()
                    .map(|(alias, number)| (alias.clone(), *number))
                    .collect(),
            }
        };
        Table { parts: authority.parts.iter().map(part).collect() }
    }
}

/// The parts of a project as a tree of text; with `shows_authority`, with capabilities in place of origins.
pub fn tree(project: &Project, authority: &Authority, shows_authority: bool) -> String {
    let application = project.application();
    let mut text = match shows_authority {
        true => format!("{}: all that the command line allows\n", application.title()),
        false => format!("{}\n", application.title()),
    };
    let tree = Tree { project, authority, shows_authority };
    tree.add(&mut text, 0, "");
    text
}

struct Tree<'t> {
    project: &'t Project,
    authority: &'t Authority,
    shows_authority: bool,
}

/// The most lines of a tree: packages that share others have more ways to them than packages.
const MOST_LINES: usize = 5000;

impl Tree<'_> {
    fn add(&self, text: &mut String, dependent: usize, indent: &str) {
        let dependencies = &self.authority.parts[dependent].dependencies;
        for (index, (alias, &part)) in dependencies.iter().enumerate() {
            if text.lines().count() >= MOST_LINES {
                *text += &format!("{indent}└── …\n");
                return;
            }
            let is_last = index + 1 == dependencies.len();
            let (branch, bar) =
                if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
            let line = match self.shows_authority {
                true => self.authority_line(dependent, alias, part),
                false => self.line(alias, part),
            };
            *text += &format!("{indent}{branch}{line}\n");
            self.add(text, part, &format!("{indent}{bar}"));
        }
    }

    fn title(&self, alias: &str, part: usize) -> String {
        let package = &self.project.packages[self.authority.parts[part].package];
        match package.manifest.name == alias {
            true => package.title(),
            false => format!("{} as {alias}", package.title()),
        }
    }

    fn line(&self, alias: &str, part: usize) -> String {
        let package = &self.project.packages[self.authority.parts[part].package];
        format!("{} ({})", self.title(alias, part), package.origin.short())
    }

    fn authority_line(&self, dependent: usize, alias: &str, number: usize) -> String {
        let part = &self.authority.parts[number];
        let manifest = &self.project.packages[self.authority.parts[dependent].package].manifest;
        let place = manifest.place(manifest.dependencies[alias].line);
        let wants = &self.project.packages[part.package].manifest.wants;
        let mut line = self.title(alias, number) + ": ";
        let has: Vec<&str> = part.capabilities.iter().copied().collect();
        line += &match has.is_empty() {
            true => "nothing".to_owned(),
            false => format!("{} ({place})", has.join(", ")),
        };
        let lacks: Vec<&str> = wants.difference(&part.capabilities).copied().collect();
        if !lacks.is_empty() {
            line += &format!("; wants {}, which it is not granted ({place})", lacks.join(", "));
        }
        let grants = &manifest.dependencies[alias].grants;
        let vain: Vec<&str> = grants.difference(wants).copied().collect();
        if !vain.is_empty() {
            line += &format!("; granted {} without wanting it ({place})", vain.join(", "));
        }
        line
    }
}
