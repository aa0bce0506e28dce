//! Resolution: which version of which package each package gets. `project` calls it, when it knows all sources that the
//! manifests name.
//!
//! A source has exactly one version, and *offers* it to all packages that need a package of this name. Versions are
//! *compatible* if they agree up to the first number that is not zero. Of compatible versions one is chosen for all
//! packages, the one in the lock or else the highest that suits all. Versions that are not compatible stand side by side:
//! each package gets the one that suits it.
//!
//! The crate `pubgrub` solves this. Its packages are names with a class of compatible versions, and, for a need that
//! versions of several classes satisfy, the choice of a class. Its sets of versions list offers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pubgrub::{
    Dependencies, DependencyProvider, DerivationTree, External, PackageResolutionStatistics,
    PubGrubError, Ranges, resolve as solve,
};
use semver::{Version, VersionReq};

use crate::problem::{Problem, Result};
use crate::source::Origin;

/// A package that a source offers.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// Where it is.
    pub origin: Origin,
    /// The digest of its files, if these do not change.
    pub digest: Option<String>,
    /// What it needs.
    pub needs: Vec<Need>,
}

/// A package that another one needs.
#[derive(Clone, Debug)]
pub struct Need {
    /// The name under which the dependent knows it.
    pub alias: String,
    /// Its own name.
    pub package: String,
    /// The versions that suit.
    pub requirement: Option<VersionReq>,
    /// The number of the offer whose source the dependent names.
    pub offer: Option<usize>,
    /// The manifest and line that say so.
    pub place: String,
}

/// The chosen packages, by the numbers of their offers, each with what it gets: aliases and offers. The application, which
/// is offer 0, is one of them.
pub type Selection = BTreeMap<usize, BTreeMap<String, usize>>;

/// Chooses versions for the application, which is the first offer. Of compatible versions, those that were chosen before
/// are preferred.
pub fn resolve(offers: &[Offer], locked: &BTreeSet<(String, Version)>) -> Result<Selection> {
    for offer in offers {
        offer.needs.iter().try_for_each(|need| check_own_source(offers, offer, need))?;
    }
    let table = Table { offers, locked };
    let chosen = match solve(&table, Package::Application, offers[0].version.clone()) {
        Ok(chosen) => chosen.into_iter().collect::<BTreeMap<_, _>>(),
        Err(PubGrubError::NoSolution(tree)) => return Err(table.explain(&tree)),
        Err(error) => return Err(Problem::failed(format!("no versions can be chosen: {error}"))),
    };
    let selection = table.reachable(&chosen)?;
    refuse_circle(offers, &selection)?;
    Ok(selection)
}

/// Refuses a need whose own source has a version that does not suit.
fn check_own_source(offers: &[Offer], dependent: &Offer, need: &Need) -> Result<()> {
    let (Some(requirement), Some(own)) = (&need.requirement, need.offer) else { return Ok(()) };
    let own = &offers[own];
    if requirement.matches(&own.version) {
        return Ok(());
    }
    let text = format!(
        "{}: `{}` needs `{}` {requirement}, but the source it names, {}, has version {}",
        need.place, dependent.name, need.package, own.origin, own.version
    );
    Err(Problem::failed(text).hint("change the requirement `version`, or the source"))
}

/// A class of compatible versions: the numbers up to the first that is not zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Class(u64, u64, u64);

impl Class {
    fn of(version: &Version) -> Class {
        match (version.major, version.minor) {
            (0, 0) => Class(0, 0, version.patch),
            (0, minor) => Class(0, minor, 0),
            (major, _) => Class(major, 0, 0),
        }
    }

    /// A version that stands for the class.
    fn version(self) -> Version {
        Version::new(self.0, self.1, self.2)
    }
}

/// A package for the solver.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Package {
    /// The application.
    Application,
    /// Compatible versions of a name.
    Class(String, Class),
    /// The class for a need of a dependent, by the numbers of its offer and of the need.
    Choice(usize, usize),
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Package::Application => f.write_str("the application"),
            Package::Class(name, class) => write!(f, "`{name}` {}", class.version()),
            Package::Choice(..) => f.write_str("a choice"),
        }
    }
}

type Versions = Ranges<Version>;
type Tree = DerivationTree<Package, Versions, String>;

struct Table<'o> {
    offers: &'o [Offer],
    locked: &'o BTreeSet<(String, Version)>,
}

impl Table<'_> {
    /// The offers that satisfy a need.
    fn suitable(&self, need: &Need) -> impl Iterator<Item = &Offer> {
        let own = need.offer.map(|own| &self.offers[own].version);
        self.offers.iter().skip(1).filter(move |offer| {
            offer.name == need.package
                && match (&need.requirement, own) {
                    (Some(requirement), _) => requirement.matches(&offer.version),
                    (None, own) => own == Some(&offer.version),
                }
        })
    }

    /// The classes that satisfy a need, each with the versions that do.
    fn classes(&self, need: &Need) -> BTreeMap<Class, Versions> {
        let mut classes: BTreeMap<Class, Versions> = BTreeMap::new();
        for offer in self.suitable(need) {
            let versions = classes.entry(Class::of(&offer.version)).or_insert_with(Versions::empty);
            *versions = versions.union(&Versions::singleton(offer.version.clone()));
        }
        classes
    }

    /// The number of an offer of the package with that version; the application's is 0.
    fn offer(&self, package: &Package, version: &Version) -> Option<usize> {
        match package {
            Package::Application => Some(0),
            Package::Class(name, _) => (1..self.offers.len()).find(|number| {
                let offer = &self.offers[*number];
                offer.name == *name && offer.version == *version
            }),
            Package::Choice(..) => None,
        }
    }

    /// The package and the versions for a need. If nothing suits, the set is empty.
    fn constraint(&self, dependent: usize, number: usize) -> (Package, Versions) {
        let need = &self.offers[dependent].needs[number];
        let mut classes = self.classes(need);
        if classes.len() > 1 {
            let versions = classes.keys().map(|class| Versions::singleton(class.version()));
            let all = versions.fold(Versions::empty(), |all, one| all.union(&one));
            return (Package::Choice(dependent, number), all);
        }
        let (class, versions) = classes.pop_first().unwrap_or((Class(0, 0, 0), Versions::empty()));
        (Package::Class(need.package.clone(), class), versions)
    }

    /// The constraint that a choice of a class makes.
    fn choice(&self, dependent: usize, number: usize, version: &Version) -> (Package, Versions) {
        let need = &self.offers[dependent].needs[number];
        let class = Class::of(version);
        let versions = self.classes(need).remove(&class).unwrap_or_else(Versions::empty);
        (Package::Class(need.package.clone(), class), versions)
    }

    /// The versions of a package, the preferred one last.
    fn versions(&self, package: &Package) -> Vec<Version> {
        match package {
            Package::Application => vec![self.offers[0].version.clone()],
            Package::Choice(dependent, number) => {
                let need = &self.offers[*dependent].needs[*number];
                let is_locked = |class: &Class| {
                    let mut locked = self.locked.iter();
                    locked.any(|(name, version)| {
                        *name == need.package && Class::of(version) == *class
                    })
                };
                let mut classes: Vec<Class> = self.classes(need).into_keys().collect();
                classes.sort_by_key(|class| (is_locked(class), *class));
                classes.into_iter().map(Class::version).collect()
            }
            Package::Class(name, class) => {
                let offers = self.offers.iter().skip(1);
                let offers = offers.filter(|offer| offer.name == *name);
                let mut versions: Vec<Version> = offers
                    .map(|offer| offer.version.clone())
                    .filter(|version| Class::of(version) == *class)
                    .collect();
                let is_locked =
                    |version: &Version| self.locked.contains(&(name.clone(), version.clone()));
                versions.sort_by_cached_key(|version| (is_locked(version), version.clone()));
                versions
            }
        }
    }

    /// The chosen offers that the application leads to, with their edges.
    fn reachable(&self, chosen: &BTreeMap<Package, Version>) -> Result<Selection> {
        let mut selection = Selection::new();
        let mut pending = vec![0];
        while let Some(dependent) = pending.pop() {
            if selection.contains_key(&dependent) {
                continue;
            }
            let mut edges = BTreeMap::new();
            for (number, need) in self.offers[dependent].needs.iter().enumerate() {
                let provider = self.provider(chosen, dependent, number);
                let provider = provider.ok_or_else(|| {
                    Problem::failed(format!("{}: nothing was chosen for it", need.place))
                })?;
                self.refuse_twins(provider)?;
                edges.insert(need.alias.clone(), provider);
                pending.push(provider);
            }
            selection.insert(dependent, edges);
        }
        Ok(selection)
    }

    /// The offer that was chosen for a need.
    fn provider(
        &self,
        chosen: &BTreeMap<Package, Version>,
        dependent: usize,
        number: usize,
    ) -> Option<usize> {
        let (mut package, _) = self.constraint(dependent, number);
        if let Package::Choice(..) = package {
            (package, _) = self.choice(dependent, number, chosen.get(&package)?);
        }
        self.offer(&package, chosen.get(&package)?)
    }

    /// Refuses two packages of one name and version with different contents.
    fn refuse_twins(&self, chosen: usize) -> Result<()> {
        let offer = &self.offers[chosen];
        let is_same = |other: &Offer| other.digest.is_some() && other.digest == offer.digest;
        let twin = self.offers.iter().enumerate().skip(1).find(|(number, other)| {
            *number != chosen
                && (&other.name, &other.version) == (&offer.name, &offer.version)
                && !is_same(other)
        });
        let Some((_, twin)) = twin else { return Ok(()) };
        let text = format!(
            "two sources have a package `{}` {}: {} and {}",
            offer.name, offer.version, offer.origin, twin.origin
        );
        let needed = |origin: &Origin| {
            let all = self.offers.iter().flat_map(|offer| &offer.needs);
            let mut places = all.filter(|need| {
                need.offer.is_some_and(|number| self.offers[number].origin == *origin)
            });
            places.next().map_or(String::new(), |need| need.place.clone())
        };
        let places = format!("{} and {}", needed(&offer.origin), needed(&twin.origin));
        Err(Problem::failed(text).hint(format!("name the same source in {places}")))
    }

    /// A refusal in words: all needs and offers that contradict each other.
    fn explain(&self, tree: &Tree) -> Problem {
        let mut needs = Vec::new();
        self.gather(tree, &mut needs);
        let mut text = "no versions of the packages suit all that need them:".to_owned();
        let mut names = BTreeSet::new();
        for (dependent, number) in needs {
            let offer = &self.offers[dependent];
            let need = &offer.needs[number];
            let versions = match (&need.requirement, need.offer) {
                (Some(requirement), _) => requirement.to_string(),
                (None, Some(own)) => format!("={}", self.offers[own].version),
                (None, None) => "*".to_owned(),
            };
            text += &format!(
                "\n  `{}` {} needs `{}` {versions} ({})",
                offer.name, offer.version, need.package, need.place
            );
            names.insert(need.package.clone());
        }
        for name in names {
            let offers = self.offers.iter().skip(1).filter(|offer| offer.name == name);
            let offers: Vec<String> = offers
                .map(|offer| format!("{} ({})", offer.version, offer.origin.short()))
                .collect();
            text += &match offers.is_empty() {
                true => format!("\n  no source offers a package `{name}`"),
                false => format!("\n  of `{name}` there are {}", offers.join(", ")),
            };
        }
        Problem::failed(text).hint(
            "change a requirement `version`, or name a source of a version that suits; versions \
             that are not compatible, such as 1.0.0 and 2.0.0, stand side by side",
        )
    }

    /// Adds the needs that a refusal follows from, each once.
    fn gather(&self, tree: &Tree, needs: &mut Vec<(usize, usize)>) {
        match tree {
            DerivationTree::Derived(derived) => {
                self.gather(&derived.cause1, needs);
                self.gather(&derived.cause2, needs);
            }
            DerivationTree::External(External::FromDependencyOf(dependent, versions, on, _)) => {
                let found = self.needs_of(dependent, versions, on);
                let new: Vec<_> = found.into_iter().filter(|need| !needs.contains(need)).collect();
                needs.extend(new);
            }
            DerivationTree::External(_) => {}
        }
    }

    /// The needs for which versions of a package depend on another one.
    fn needs_of(
        &self,
        dependent: &Package,
        versions: &Versions,
        on: &Package,
    ) -> Vec<(usize, usize)> {
        if let Package::Choice(dependent, number) = dependent {
            return vec![(*dependent, *number)];
        }
        let suits = |version: &Version| versions.contains(version);
        let versions = self.versions(dependent).into_iter().filter(suits);
        let offers: Vec<usize> =
            versions.filter_map(|version| self.offer(dependent, &version)).collect();
        let all = offers
            .iter()
            .flat_map(|offer| (0..self.offers[*offer].needs.len()).map(|number| (*offer, number)));
        all.filter(|(offer, number)| self.constraint(*offer, *number).0 == *on).collect()
    }
}

impl DependencyProvider for Table<'_> {
    type P = Package;
    type V = Version;
    type VS = Versions;
    type M = String;
    type Err = std::convert::Infallible;
    type Priority = (u32, std::cmp::Reverse<usize>, std::cmp::Reverse<Package>);

    /// The package with the fewest versions comes first, and of these the one with the first name: the result depends on
    /// the offers alone.
    fn prioritize(
        &self,
        package: &Package,
        versions: &Versions,
        statistics: &PackageResolutionStatistics,
    ) -> Self::Priority {
        let count = self.versions(package).iter().filter(|it| versions.contains(*it)).count();
        let conflicts = if count == 0 { u32::MAX } else { statistics.conflict_count() };
        (conflicts, std::cmp::Reverse(count), std::cmp::Reverse(package.clone()))
    }

    fn choose_version(
        &self,
        package: &Package,
        versions: &Versions,
    ) -> std::result::Result<Option<Version>, Self::Err> {
        Ok(self.versions(package).into_iter().rev().find(|version| versions.contains(version)))
    }

    fn get_dependencies(
        &self,
        package: &Package,
        version: &Version,
    ) -> std::result::Result<Dependencies<Package, Versions, String>, Self::Err> {
        if let Package::Choice(dependent, number) = package {
            let choice = self.choice(*dependent, *number, version);
            return Ok(Dependencies::Available([choice].into_iter().collect()));
        }
        let Some(offer) = self.offer(package, version) else {
            return Ok(Dependencies::Unavailable("there is no such version".to_owned()));
        };
        let mut all: BTreeMap<Package, Versions> = BTreeMap::new();
        for number in 0..self.offers[offer].needs.len() {
            let (package, versions) = self.constraint(offer, number);
            // A package may need another one twice, under two names.
            let both = all.get(&package).map(|other| other.intersection(&versions));
            all.insert(package, both.unwrap_or(versions));
        }
        Ok(Dependencies::Available(all.into_iter().collect()))
    }
}

/// Refuses packages that need each other in a circle.
fn refuse_circle(offers: &[Offer], selection: &Selection) -> Result<()> {
    let mut done = BTreeSet::new();
    // The packages on the way, each with the ones it needs that were not looked at.
    let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
    let needs = |number: usize| selection[&number].values().copied().collect::<Vec<_>>();
    way.push((0, needs(0)));
    while let Some((number, rest)) = way.last_mut() {
        let Some(next) = rest.pop() else {
            done.insert(*number);
            way.pop();
            continue;
        };
        if let Some(begin) = way.iter().position(|(number, _)| *number == next) {
            let names = way[begin..].iter().map(|(number, _)| *number).chain([next]);
            let names: Vec<String> = names.map(|it| format!("`{}`", offers[it].name)).collect();
            let text = format!("packages need each other in a circle: {}", names.join(" → "));
            return Err(
                Problem::failed(text).hint("move what they share into a package of its own")
            );
        }
        if !done.contains(&next) {
            way.push((next, needs(next)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offers of a text: a line for each, `name version: needed requirement, …`; the first is the application. `=` in place of
    /// a requirement stands for the source of the last line of that name.
    fn offers(text: &str) -> Vec<Offer> {
        let lines: Vec<(&str, &str)> =
            text.lines().map(|line| line.trim().split_once(':').expect("a colon")).collect();
        let heads: Vec<(&str, &str)> =
            lines.iter().map(|(head, _)| head.split_once(' ').expect("a version")).collect();
        let need = |text: &str| {
            let (package, requirement) = text.trim().split_once(' ').expect("a requirement");
            let (alias, package) = package.split_once('/').unwrap_or((package, package));
            let own = heads.iter().rposition(|(name, _)| *name == package);
            Need {
                alias: alias.into(),
                package: package.into(),
                requirement: VersionReq::parse(requirement).ok(),
                offer: if requirement == "=" { own } else { None },
                place: format!("{package}.toml"),
            }
        };
        let offer = |(number, (_, needs)): (usize, &(&str, &str))| Offer {
            name: heads[number].0.into(),
            version: Version::parse(heads[number].1).expect("a version"),
            origin: Origin::Path(format!("folder{number}").into()),
            digest: None,
            needs: needs.split(';').filter(|text| !text.trim().is_empty()).map(need).collect(),
        };
        lines.iter().enumerate().map(offer).collect()
    }

    /// The selection as a text: `name version -> alias version, …`.
    fn selected(text: &str, locked: &[(&str, &str)]) -> std::result::Result<Vec<String>, String> {
        let offers = offers(text);
        let locked = locked
            .iter()
            .map(|(name, version)| ((*name).into(), Version::parse(version).expect("a version")));
        let selection = resolve(&offers, &locked.collect()).map_err(|problem| problem.text)?;
        let show = |(number, edges): (&usize, &BTreeMap<String, usize>)| {
            let edges: Vec<String> = edges
                .iter()
                .map(|(alias, to)| format!("{alias} {}", offers[*to].version))
                .collect();
            format!("{} {}: {}", offers[*number].name, offers[*number].version, edges.join(", "))
        };
        Ok(selection.iter().map(show).collect())
    }

    #[test]
    fn of_compatible_versions_all_get_the_highest_that_suits() {
        let text = "app 1.0.0: b ^1; c ^1
            b 1.0.0: json ^1.1
            c 1.0.0: json >=1, <1.4
            json 1.0.0:
            json 1.2.0:
            json 1.3.0:
            json 1.4.0:";
        let all = selected(text, &[]).expect("a selection");
        assert_eq!(
            all,
            [
                "app 1.0.0: b 1.0.0, c 1.0.0",
                "b 1.0.0: json 1.3.0",
                "c 1.0.0: json 1.3.0",
                "json 1.3.0: "
            ]
        );
        let all = selected(text, &[("json", "1.2.0")]).expect("a selection");
        assert_eq!(all[1], "b 1.0.0: json 1.2.0");
        let all = selected(text, &[("json", "1.0.0")]).expect("a selection");
        assert_eq!(all[1], "b 1.0.0: json 1.3.0");
    }

    #[test]
    fn versions_that_are_not_compatible_stand_side_by_side() {
        let text = "app 1.0.0: b ^1; c ^1; old/json 0.1; json 0.2
            b 1.0.0: json ^1
            c 1.0.0: json ^2
            json 1.0.0:
            json 2.0.0:
            json 0.1.3:
            json 0.2.1:";
        let all = selected(text, &[]).expect("a selection");
        assert_eq!(
            &all[..3],
            [
                "app 1.0.0: b 1.0.0, c 1.0.0, json 0.2.1, old 0.1.3",
                "b 1.0.0: json 1.0.0",
                "c 1.0.0: json 2.0.0"
            ]
        );
    }

    #[test]
    fn a_need_of_several_classes_gets_the_best_one() {
        let text = "app 1.0.0: b *; json >=1, <4
            b 1.0.0: json =2.1.0
            json 1.0.0:
            json 2.1.0:
            json 3.0.0: missing ^1";
        let all = selected(text, &[]).expect("a selection");
        assert_eq!(all[0], "app 1.0.0: b 1.0.0, json 2.1.0");
        let all = selected(text, &[("json", "1.0.0")]).expect("a selection");
        assert_eq!(all[0], "app 1.0.0: b 1.0.0, json 1.0.0");
    }

    #[test]
    fn a_conflict_names_all_that_take_part() {
        let text = "app 1.0.0: b ^1; c ^1; d ^1
            b 1.0.0: json =1.0.0
            c 1.0.0: json =1.1.0
            d 1.0.0: json ^1
            json 1.0.0:
            json 1.1.0:";
        let problem = selected(text, &[]).expect_err("a conflict");
        assert!(problem.contains("`b` 1.0.0 needs `json` =1.0.0 (json.toml)"), "{problem}");
        assert!(problem.contains("`c` 1.0.0 needs `json` =1.1.0"), "{problem}");
        assert!(problem.contains("of `json` there are 1.0.0 (folder4), 1.1.0"), "{problem}");
        assert!(!problem.contains("`d` 1.0.0 needs"), "{problem}");
    }

    #[test]
    fn what_is_nowhere_is_named() {
        let problem = selected("app 1.0.0: b ^1\nb 1.0.0: json ^3\njson 1.0.0:", &[]);
        let problem = problem.expect_err("nothing suits");
        assert!(problem.contains("`b` 1.0.0 needs `json` ^3"), "{problem}");
        let problem = selected("app 1.0.0: b ^1", &[]).expect_err("nothing is offered");
        assert!(problem.contains("no source offers a package `b`"), "{problem}");
    }

    #[test]
    fn a_prerelease_suits_only_those_that_name_it() {
        let text = "app 1.0.0: json ^1\njson 1.1.0-beta.1:\njson 1.0.0:";
        assert_eq!(selected(text, &[]).expect("one")[0], "app 1.0.0: json 1.0.0");
        let text = "app 1.0.0: json ^1.1.0-beta\njson 1.1.0-beta.1:\njson 1.0.0:";
        assert_eq!(selected(text, &[]).expect("one")[0], "app 1.0.0: json 1.1.0-beta.1");
    }

    #[test]
    fn circles_are_refused() {
        let problem = selected("app 1.0.0: b *\nb 1.0.0: c *\nc 1.0.0: b *", &[]);
        assert!(problem.expect_err("a circle").contains("circle: `b` → `c` → `b`"));
    }

    #[test]
    fn twins_are_refused_unless_they_are_the_same() {
        let text = "app 1.0.0: b *\nb 1.0.0:\nb 1.0.0:";
        let problem = selected(text, &[]).expect_err("twins");
        assert!(problem.contains("two sources have a package `b` 1.0.0"), "{problem}");
        let mut offers = offers(text);
        offers.iter_mut().for_each(|offer| offer.digest = Some("same".into()));
        assert!(resolve(&offers, &BTreeSet::new()).is_ok());
    }

    #[test]
    fn a_source_whose_version_does_not_suit_is_refused() {
        let mut offers = offers("app 1.0.0: b ^2\nb 1.0.0:");
        offers[0].needs[0].offer = Some(1);
        let problem = resolve(&offers, &BTreeSet::new()).expect_err("it has another version").text;
        assert!(problem.contains("path folder1, has version 1.0.0"), "{problem}");
    }

    proptest::proptest! {
        /// Whatever is offered and needed, the answer satisfies all needs, or there is a reason.
        #[test]
        fn answers_suit(needs in proptest::collection::vec((0usize..8, 1usize..8, 0usize..6), 0..16)) {
            const VERSIONS: [&str; 8] =
                ["1.0.0", "1.0.0", "1.1.0", "2.0.0", "2.5.0", "0.1.0", "0.1.5", "3.0.0"];
            const REQUIREMENTS: [&str; 6] = ["*", "^1", "=1.1.0", ">=1, <3", "0.1", "^2.4"];
            let name = |number: usize| ["app", "a", "a", "a", "b", "b", "c", "c"][number];
            let mut text = String::new();
            for (number, version) in VERSIONS.iter().enumerate() {
                let own = needs.iter().filter(|(from, ..)| *from == number);
                let own = own.enumerate().map(|(index, (_, to, requirement))| {
                    format!("x{index}/{} {}", name(*to), REQUIREMENTS[*requirement])
                });
                let own: Vec<String> = own.collect();
                text += &format!("{} {}:{}\n", name(number), version, own.join(";"));
            }
            let offers = offers(text.trim());
            if let Ok(selection) = resolve(&offers, &BTreeSet::new()) {
                for (from, edges) in &selection {
                    for need in &offers[*from].needs {
                        let to = &offers[edges[&need.alias]];
                        let requirement = need.requirement.as_ref().expect("all have one");
                        assert!(to.name == need.package && requirement.matches(&to.version));
                    }
                }
                let mut seen = BTreeMap::new();
                for number in selection.keys().skip(1) {
                    let offer = &offers[*number];
                    let class = (offer.name.clone(), Class::of(&offer.version));
                    assert!(seen.insert(class, *number).is_none(), "two compatible versions");
                }
            }
        }
    }
}
