//! The image for containers, as a tar file in the OCI's layout: `podman load`, `docker load` and `skopeo` read it. `dist`
//! calls [`layout`].
//!
//! ```text
//! oci-layout                the version of the layout
//! index.json                leads to the manifest
//! blobs/sha256/DIGEST       manifest, configuration, and two layers
//! ```
//!
//! The lower layer is the shared libraries that the command needs, from the machine that builds, or the root file system
//! that `--base` names. The upper one is the command. The image runs as a user without rights, in the folder `/work`.
//! There are no certificates in it unless the base has them: programs with connections by TLS get them by a volume, or by
//! `SSL_CERT_FILE`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::program::{Program, Scratch};
use super::tree::{EXECUTABLE, PLAIN, Tree, compressed};
use super::{VERSION, digest, read, write};
use crate::builds;

/// The number of the user in the image, who owns nothing.
const USER: u32 = 65532;

/// The bytes of the image.
pub fn layout(program: &Program, base: Option<&Path>, time: u64) -> Result<Vec<u8>, String> {
    let lower = match base {
        Some(folder) => packed(folder, time)?,
        None => libraries(program)?.tar(time)?,
    };
    let mut upper = program.tree("usr");
    upper.add_folder("work", 0o777);
    let layers = [lower, upper.tar(time)?];
    let mut tree = Tree::default();
    let mut descriptors = Vec::new();
    for layer in &layers {
        descriptors.push(add_blob(&mut tree, LAYER, compressed(layer)?));
    }
    let digests = layers.each_ref().map(|layer| format!("sha256:{}", digest(layer)));
    let configuration = text_of(&configuration(&digests, time));
    let configuration = add_blob(&mut tree, CONFIGURATION, configuration);
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": configuration, "layers": descriptors,
    });
    let mut manifest = add_blob(&mut tree, MANIFEST, text_of(&manifest));
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    manifest["platform"] = json!({ "architecture": architecture(), "os": "linux" });
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest] });
    tree.add("index.json", PLAIN, text_of(&index));
    tree.add("oci-layout", PLAIN, text_of(&json!({ "imageLayoutVersion": "1.0.0" })));
    tree.tar(time)
}

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIGURATION: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Adds bytes under their digest. Answers the descriptor of them.
fn add_blob(tree: &mut Tree, media: &str, bytes: Vec<u8>) -> Value {
    let digest = digest(&bytes);
    let descriptor = json!({
        "mediaType": media, "digest": format!("sha256:{digest}"), "size": bytes.len(),
    });
    tree.add(format!("blobs/sha256/{digest}"), PLAIN, bytes);
    descriptor
}

fn text_of(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn configuration(layers: &[String], time: u64) -> Value {
    json!({
        "created": super::sbom::date(time),
        "architecture": architecture(),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Entrypoint": ["/usr/bin/squall"],
            "WorkingDir": "/work",
            "Labels": {
                "org.opencontainers.image.title": "squall",
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": layers },
    })
}

/// The name that images have for this machine's architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The smallest root file system in which the command runs.
fn libraries(program: &Program) -> Result<Tree, String> {
    let mut tree = Tree::default();
    for library in loaded(program)? {
        let path = library.to_string_lossy();
        tree.add(path.trim_start_matches('/'), EXECUTABLE, read(&library)?);
    }
    for package in ["libc6", "libgcc-s1"] {
        let licence = format!("usr/share/doc/{package}/copyright");
        if let Ok(text) = read(&Path::new("/").join(&licence)) {
            tree.add(licence, PLAIN, text);
        }
    }
    tree.add("etc/passwd", PLAIN, format!("squall:x:{USER}:{USER}::/work:/sbin/nologin\n"));
    tree.add("etc/group", PLAIN, format!("squall:x:{USER}:\n"));
    tree.add_folder("tmp", 0o1777);
    Ok(tree)
}

/// The files that the system's loader loads for the command, the loader among them.
fn loaded(program: &Program) -> Result<Vec<PathBuf>, String> {
    let folder = Scratch::new("image")?;
    let binary = folder.0.join("squall");
    write(&binary, &program.binary)?;
    let output = builds::output_of(Command::new("ldd").arg(&binary))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let path = |line: &str| {
        let path = line.split_whitespace().find(|word| word.starts_with('/'))?;
        Some(PathBuf::from(path))
    };
    let paths: Vec<_> = text.lines().filter_map(path).collect();
    match paths.is_empty() {
        true => Err(format!("ldd names no libraries:\n{text}")),
        false => Ok(paths),
    }
}

/// A root file system as a tar file.
fn packed(folder: &Path, time: u64) -> Result<Vec<u8>, String> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--numeric-owner", "--one-file-system"]);
    tar.arg(format!("--mtime=@{time}")).arg("--directory").arg(folder);
    // The content of these folders belongs to a running system.
    tar.args(["--exclude=./proc/*", "--exclude=./sys/*", "--exclude=./dev/*", "."]);
    Ok(builds::output_of(&mut tar)?.stdout)
}

/// The layers of an unpacked image, the lowest first.
pub fn layers(layout: &Path) -> Result<Vec<PathBuf>, String> {
    let blob = |digest: &Value| {
        let digest = digest.as_str().unwrap_or_default().trim_start_matches("sha256:").to_owned();
        layout.join("blobs/sha256").join(digest)
    };
    let json = |path: &Path| -> Result<Value, String> {
        serde_json::from_slice(&read(path)?).map_err(|error| error.to_string())
    };
    let index = json(&layout.join("index.json"))?;
    let manifest = json(&blob(&index["manifests"][0]["digest"]))?;
    let layers = manifest["layers"].as_array().ok_or("the image has no layers")?;
    Ok(layers.iter().map(|layer| blob(&layer["digest"])).collect())
}
