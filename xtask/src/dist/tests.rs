//! Tests of the forms of a release, with a command that is none: its files are the subject here. `cargo xtask dist --try`
//! tries the real one.

use super::program::Needs;
use super::*;

fn program() -> Program {
    Program {
        binary: b"the command".to_vec(),
        debug: b"the debug information".to_vec(),
        pages: vec![("squall.1".to_owned(), b"a page".to_vec())],
        completions: vec![("zsh/site-functions/_squall", b"completions".to_vec())],
        notices: "notices\n".to_owned(),
        needs: Needs { glibc: (2, 34), libraries: vec!["libc.so.6".to_owned()] },
    }
}

fn paths(tar: &[u8]) -> Vec<String> {
    let bytes = flate2::read::GzDecoder::new(tar);
    let mut archive = tar::Archive::new(bytes);
    let entries = archive.entries().expect("they are read");
    let path = |entry: std::io::Result<tar::Entry<'_, _>>| {
        String::from_utf8_lossy(&entry.expect("it is read").path_bytes()).into_owned()
    };
    entries.map(path).filter(|path| !path.ends_with('/')).collect()
}

#[test]
fn the_archive_has_one_folder() {
    let made = pack(Part::Archive, &program(), None).expect("it is made");
    let prefix = format!("squall-{VERSION}-{}", target());
    let names: Vec<_> = made.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, [format!("{prefix}.tar.gz"), format!("{prefix}-debug.tar.gz")]);
    let expected = [
        "bin/squall",
        "share/doc/squall/CHANGELOG.md",
        "share/doc/squall/LICENSE-APACHE",
        "share/doc/squall/LICENSE-MIT",
        "share/doc/squall/THIRD-PARTY-NOTICES.txt",
        "share/man/man1/squall.1",
        "share/zsh/site-functions/_squall",
    ];
    assert_eq!(paths(&made[0].1), expected.map(|path| format!("{prefix}/{path}")));
    assert_eq!(paths(&made[1].1), [format!("{prefix}/bin/squall.debug")]);
}

/// The members of an `ar` file.
fn members(mut bytes: &[u8]) -> Vec<(String, &[u8])> {
    let mut members = Vec::new();
    bytes = bytes.strip_prefix(b"!<arch>\n").expect("it is an archive");
    while !bytes.is_empty() {
        let (header, rest) = bytes.split_at(60);
        let field =
            |from: usize, to: usize| String::from_utf8_lossy(&header[from..to]).trim().to_owned();
        assert_eq!(&header[58..], b"`\n");
        let length: usize = field(48, 58).parse().expect("it is a number");
        members.push((field(0, 16), &rest[..length]));
        bytes = &rest[length + length % 2..];
    }
    members
}

#[test]
fn the_package_of_debian_has_its_three_members() {
    let made = debian::package(&program(), 7).expect("it is made");
    let members = members(&made);
    let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
    assert_eq!(members[0].1, b"2.0\n");
    let expected = [
        "usr/bin/squall",
        "usr/share/doc/squall/LICENSE-APACHE",
        "usr/share/doc/squall/LICENSE-MIT",
        "usr/share/doc/squall/THIRD-PARTY-NOTICES.txt",
        "usr/share/doc/squall/changelog.gz",
        "usr/share/doc/squall/copyright",
        "usr/share/man/man1/squall.1.gz",
        "usr/share/zsh/vendor-completions/_squall",
    ];
    assert_eq!(paths(members[2].1), expected);
}

#[test]
fn the_wheel_lists_its_files_with_their_digests() {
    let program = program();
    assert!(wheel::name(&program).contains("-py3-none-manylinux_2_34_"));
    let bytes = wheel::package(&program).expect("it is made");
    assert_eq!(bytes, wheel::package(&program).expect("it is made"));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("it is read");
    let script = format!("squall-{VERSION}.data/scripts/squall");
    let mode = archive.by_name(&script).expect("it is there").unix_mode();
    assert_eq!(mode.map(|mode| mode & 0o777), Some(0o755));
    let file = archive.by_name(&format!("squall-{VERSION}.dist-info/RECORD")).expect("it is there");
    let record = std::io::read_to_string(file).expect("it is read");
    let line = format!("{script},sha256=FdmeBCCuOSCdDm0u26JvZ-EeEy9bj38DJcSZ__77TXE,11");
    assert!(record.contains(&line), "{record}");
    assert_eq!(record.lines().count(), archive.len());
}

#[test]
fn the_image_leads_from_its_index_to_its_layers() {
    let base = program::Scratch::new("base").expect("it is made");
    write(&base.0.join("below"), b"a file of the base").expect("it is written");
    let bytes = image::layout(&program(), Some(&base.0), 7).expect("it is made");
    let scratch = program::Scratch::new("layout").expect("it is made");
    tar::Archive::new(bytes.as_slice()).unpack(&scratch.0).expect("it is unpacked");
    let layers = image::layers(&scratch.0).expect("they are found");
    assert_eq!(layers.len(), 2);
    for layer in &layers {
        let name = layer.file_name().expect("it has one").to_string_lossy().into_owned();
        assert_eq!(digest(&read(layer).expect("it is read")), name);
    }
    assert!(paths(&read(&layers[0]).expect("it is read")).contains(&"./below".to_owned()));
    assert!(paths(&read(&layers[1]).expect("it is read")).contains(&"usr/bin/squall".to_owned()));
}

#[test]
fn the_list_of_parts_names_what_the_command_contains() {
    let text = sbom::text(&program(), 0).expect("it is made");
    let list: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
    assert_eq!(list["metadata"]["timestamp"], "1970-01-01T00:00:00Z");
    let components = list["components"].as_array().expect("they are there");
    let named = |name: &str| components.iter().find(|component| component["name"] == name);
    let collector = named("mmtk").expect("it is in the command");
    assert_eq!(collector["purl"], "pkg:cargo/mmtk@0.33.0");
    assert_eq!(collector["hashes"][0]["content"].as_str().map(str::len), Some(64));
    assert_eq!(named("squall-runtime").map(|own| own["purl"].is_null()), Some(true));
    // A library of tests, one that runs in the compiler, and one of another system.
    assert!(["proptest", "serde_derive", "windows-sys"].iter().all(|name| named(name).is_none()));
    let known: BTreeSet<_> = components.iter().map(|one| one["bom-ref"].as_str()).collect();
    assert_eq!(known.len(), components.len(), "names are unique");
    for dependency in list["dependencies"].as_array().expect("they are there") {
        let needed = dependency["dependsOn"].as_array().expect("they are there");
        assert!(needed.iter().all(|one| known.contains(&one.as_str())), "{dependency}");
    }
}

#[test]
fn checksums_name_all_files_but_themselves() {
    let scratch = program::Scratch::new("sums").expect("it is made");
    std::fs::create_dir_all(scratch.0.join("lib")).expect("it is made");
    for (name, text) in [("b", "two"), ("lib/a", "one"), ("SHA256SUMS", "old")] {
        write(&scratch.0.join(name), text.as_bytes()).expect("it is written");
    }
    let expected = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3  b\n\
                    7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed  lib/a\n";
    assert_eq!(sums_of(&scratch.0).as_deref(), Ok(expected));
}
