//! The list of what the command is made of, in the form of CycloneDX 1.6: the crates in it with versions, licences and
//! digests, and their dependencies. `dist` calls [`text`].
//!
//! Cargo says which crates there are for this platform, and `Cargo.lock` has the digests of their archives. Libraries of C
//! that are built in, such as SQLite, are parts of the crates that bring them. Crates that only run while others are compiled
//! are not listed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::program::Program;
use super::{VERSION, digest, read};
use crate::notices::{Metadata, Package};
use crate::root;

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// The list, as JSON.
pub fn text(program: &Program, time: u64) -> Result<Vec<u8>, String> {
    let metadata = Metadata::for_this_platform()?;
    let lock = String::from_utf8(read(&root().join("Cargo.lock"))?).unwrap_or_default();
    let lock: Lock = toml::from_str(&lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    let checksums: BTreeMap<_, _> = lock
        .package
        .iter()
        .map(|locked| ((locked.name.as_str(), locked.version.as_str()), locked.checksum.as_deref()))
        .collect();
    let parts = metadata.parts_of("squall-cli");
    let reference = |id: &str| metadata.package(id).map(reference);
    let mut dependencies = Vec::new();
    for (package, needed) in &parts {
        let mut needed: Vec<_> = needed.iter().filter_map(|id| reference(id)).collect();
        needed.sort();
        needed.dedup();
        dependencies.push(json!({ "ref": self::reference(package), "dependsOn": needed }));
    }
    let is_command = |package: &Package| package.name == "squall-cli";
    let components =
        parts.iter().filter(|(package, _)| !is_command(package)).map(|(package, _)| {
            let key = (package.name.as_str(), package.version.as_str());
            component(package, checksums.get(&key).copied().flatten())
        });
    let command = parts.iter().find(|(package, _)| is_command(package));
    let command = command.map(|(package, _)| self::reference(package));
    let list = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": date(time),
            "component": {
                "type": "application",
                "bom-ref": command,
                "name": "squall",
                "version": VERSION,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
                "hashes": [{ "alg": "SHA-256", "content": digest(&program.binary) }],
            },
        },
        "components": components.collect::<Vec<_>>(),
        "dependencies": dependencies,
    });
    let text = serde_json::to_string_pretty(&list).map_err(|error| error.to_string())?;
    Ok((text + "\n").into_bytes())
}

/// The name of a package within the list. A package of the registry has its address there, one of the project has none.
fn reference(package: &Package) -> String {
    let Package { name, version, .. } = package;
    match package.source {
        Some(_) => format!("pkg:cargo/{name}@{}", version.replace('+', "%2B")),
        None => format!("{name}@{version}"),
    }
}

fn component(package: &Package, checksum: Option<&str>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
    });
    if let Some(licence) = &package.license {
        // Older packages write a slash for the choice.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if package.source.is_some() {
        component["purl"] = json!(reference(package));
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// A time in seconds since 1970, as a date and a time in UTC.
pub fn date(time: u64) -> String {
    let time = i64::try_from(time).ok().and_then(|time| jiff::Timestamp::from_second(time).ok());
    time.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
