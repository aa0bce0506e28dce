//! Manifests, locks, bundles and archives: none makes the reader panic, what is read can be written and read again, and an
//! archive is unpacked into its folder only.
#![no_main]

use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use squall_packages::bundle::Bundle;
use squall_packages::lock::Lock;
use squall_packages::manifest::Manifest;
use squall_packages::unpacking::{LIMITS, Limits, unpack};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        texts(text);
    }
    if let Ok(bundle) = Bundle::of_archive(bytes) {
        let archive = bundle.archive().expect("memory can be written");
        let again = Bundle::of_archive(&archive).expect("it was a bundle");
        assert_eq!(archive, again.archive().expect("memory can be written"));
    }
    archive(bytes);
});

fn texts(text: &str) {
    _ = Manifest::parse(text, Path::new("squall.toml"));
    if let Ok(lock) = Lock::parse(text, Path::new("squall.lock")) {
        let again = Lock::parse(&lock.text(), Path::new("squall.lock")).expect("it was a lock");
        assert_eq!(lock.text(), again.text());
    }
}

/// Unpacks the bytes into a folder, which is then the only thing in the folder around it.
fn archive(bytes: &[u8]) {
    let around = around();
    let folder = around.join("inside");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    _ = unpack(bytes, &folder, &Limits { unpacked: 1 << 16, entries: 64, ..LIMITS });
    let entries = std::fs::read_dir(&around).expect("it is there");
    assert_eq!(entries.count(), 1, "something was unpacked beside the folder");
    std::fs::remove_dir_all(&around).expect("it can be removed");
}

fn around() -> PathBuf {
    std::env::temp_dir().join(format!("squall-fuzz-{}", std::process::id()))
}
