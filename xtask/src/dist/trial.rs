//! `--try`: installs each part of a release where nothing of the project is, and uses it. `dist` calls [`run`] after it has
//! made the parts.
//!
//! | part | tried |
//! |---|---|
//! | archive | unpacked into `/usr/local` of a bare Debian root |
//! | package of Debian | installed by `dpkg` on another one, and removed again |
//! | image | its layers unpacked, without anything else |
//! | wheel | installed by pip in a fresh environment |
//! | checksums | by `sha256sum --check` |
//!
//! Each installed command prints a greeting, runs a program with packages and the tests of an example, and answers the first
//! request of an editor. A part is left out, with a line that says why, if it was not made or a tool is missing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::program::Scratch;
use super::{VERSION, debian, image, target};
use crate::{builds, root};

/// Tries the parts in a folder.
pub fn run(folder: &Path, debian: Option<&Path>) -> Result<(), String> {
    let folder = builds::absolute(folder);
    let mut sums = Command::new("sha256sum");
    builds::output_of(sums.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&folder))?;
    println!("tried: SHA256SUMS");
    try_wheel(&folder)?;
    if !nix::unistd::geteuid().is_root() {
        println!(
            "skipped: the archive, the package of Debian and the image; only root may enter other roots"
        );
        return Ok(());
    }
    try_image(&folder)?;
    let scratch = Scratch::new("debian")?;
    let Some(bare) = bare_root(debian, &scratch.0)? else {
        println!("skipped: the archive and the package of Debian; debootstrap is not installed");
        return Ok(());
    };
    try_archive(&folder, &bare, &scratch.0.join("archive"))?;
    try_package(&folder, &bare, &scratch.0.join("package"))
}

/// A command that was installed.
struct Installed {
    /// The words by which it is called.
    call: Vec<String>,
    /// The folder in which it runs, with the folder `examples`.
    folder: PathBuf,
}

impl Installed {
    /// A command in another root. `chroot` enters the root's own first folder.
    fn in_root(folder: &Path, path: &str) -> Installed {
        let call = ["chroot".to_owned(), folder.display().to_string(), path.to_owned()];
        Installed { call: call.into(), folder: folder.to_owned() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.call[0]);
        command.args(&self.call[1..]).args(arguments).current_dir(&self.folder);
        command
    }

    /// Uses it in the ways that the file's head names.
    fn use_it(&self, part: &str) -> Result<(), String> {
        expect(&self.output(&["--version"])?, &format!("squall {VERSION}"))?;
        expect(&self.output(&["eval", "'Hello, squall!'"])?, "Hello, squall!")?;
        let tour = "examples/packages/tour";
        let read = format!("--allow-read={tour}");
        expect(&self.output(&["run", &read, tour])?, "Past the Mill.")?;
        let tests = "examples/apps/log_analyser/tests.ns";
        expect(&self.output(&["test", "--allow-read=examples/apps", tests])?, "passed")?;
        self.greet_editor()?;
        println!("tried: {part}");
        Ok(())
    }

    fn output(&self, arguments: &[&str]) -> Result<String, String> {
        let output = builds::output_of(&mut self.command(arguments))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Has the language server answer an editor's first request, and end.
    fn greet_editor(&self) -> Result<(), String> {
        let messages = [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#,
            r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#,
            r#"{"jsonrpc":"2.0","method":"exit"}"#,
        ];
        let text: String = messages
            .map(|message| format!("Content-Length: {}\r\n\r\n{message}", message.len()))
            .concat();
        let output = with_input(&mut self.command(&["lsp"]), text.as_bytes())?;
        expect(&String::from_utf8_lossy(&output.stdout), "\"completionProvider\"")
    }
}

fn expect(text: &str, part: &str) -> Result<(), String> {
    match text.contains(part) {
        true => Ok(()),
        false => Err(format!("`{part}` is not in the output:\n{text}")),
    }
}

fn with_input(command: &mut Command, input: &[u8]) -> Result<Output, String> {
    let failed = |error: std::io::Error| error.to_string();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let mut pipe = process.stdin.take().expect("it is piped");
    pipe.write_all(input).map_err(failed)?;
    drop(pipe);
    let output = process.wait_with_output().map_err(failed)?;
    match output.status.success() {
        true => Ok(output),
        false => Err(format!("{command:?}: {}", output.status)),
    }
}

/// A new root file system of Debian with its essential packages only.
fn bare_root(given: Option<&Path>, scratch: &Path) -> Result<Option<PathBuf>, String> {
    if let Some(given) = given {
        return Ok(Some(builds::absolute(given)));
    }
    if Command::new("debootstrap").arg("--version").output().is_err() {
        return Ok(None);
    }
    let folder = scratch.join("bare");
    let mut debootstrap = Command::new("debootstrap");
    builds::output_of(debootstrap.args(["--variant=minbase", "stable"]).arg(&folder))?;
    Ok(Some(folder))
}

/// A copy of a root file system, with the examples in it.
fn copy_of(bare: &Path, folder: &Path) -> Result<(), String> {
    builds::output_of(Command::new("cp").arg("-a").arg(bare).arg(folder))?;
    add_examples(folder)
}

fn add_examples(folder: &Path) -> Result<(), String> {
    let examples = root().join("examples");
    builds::output_of(Command::new("cp").arg("-a").arg(examples).arg(folder.join("examples")))?;
    Ok(())
}

fn is_there(file: &Path, part: &str) -> bool {
    let exists = file.exists();
    if !exists {
        println!("skipped: {part}; it was not made");
    }
    exists
}

fn try_archive(folder: &Path, bare: &Path, root: &Path) -> Result<(), String> {
    let archive = folder.join(format!("squall-{VERSION}-{}.tar.gz", target()));
    if !is_there(&archive, "the archive") {
        return Ok(());
    }
    copy_of(bare, root)?;
    unpack(&archive, &root.join("usr/local"), &["--strip-components=1"])?;
    Installed::in_root(root, "/usr/local/bin/squall").use_it("the archive")
}

fn unpack(archive: &Path, folder: &Path, options: &[&str]) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("--extract").args(options).arg("--file").arg(archive).arg("--directory").arg(folder);
    builds::output_of(&mut tar).map(drop)
}

fn try_package(folder: &Path, bare: &Path, root: &Path) -> Result<(), String> {
    let package = folder.join(debian::name());
    if !is_there(&package, "the package of Debian") {
        return Ok(());
    }
    copy_of(bare, root)?;
    std::fs::copy(&package, root.join("squall.deb")).map_err(|error| error.to_string())?;
    let dpkg = |arguments: &[&str]| {
        let mut command = Command::new("chroot");
        command.arg(root).arg("dpkg").args(arguments).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        builds::output_of(&mut command)
    };
    dpkg(&["--install", "/squall.deb"])?;
    Installed::in_root(root, "/usr/bin/squall").use_it("the package of Debian")?;
    dpkg(&["--purge", "squall"])?;
    match root.join("usr/bin/squall").exists() {
        true => Err("the package of Debian leaves the command behind".to_owned()),
        false => Ok(()),
    }
}

fn try_image(folder: &Path) -> Result<(), String> {
    let image = folder.join(format!("squall-{VERSION}-{}-oci.tar", target()));
    if !is_there(&image, "the image") {
        return Ok(());
    }
    let scratch = Scratch::new("container")?;
    let (layout, root) = (scratch.0.join("layout"), scratch.0.join("root"));
    unpack(&image, &layout, &[])?;
    for layer in image::layers(&layout)? {
        unpack(&layer, &root, &["--gzip", "--same-permissions"])?;
    }
    add_examples(&root)?;
    let mut installed = Installed::in_root(&root, "/usr/bin/squall");
    installed.call.insert(1, "--userspec=65532:65532".to_owned());
    installed.use_it("the image")
}

fn try_wheel(folder: &Path) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut names = entries.flatten().map(|entry| entry.path());
    let Some(wheel) = names.find(|path| path.extension().is_some_and(|end| end == "whl")) else {
        println!("skipped: the wheel; it was not made");
        return Ok(());
    };
    let scratch = Scratch::new("python")?;
    let environment = scratch.0.join("environment");
    let mut make = Command::new("python3");
    if builds::output_of(make.args(["-m", "venv"]).arg(&environment)).is_err() {
        println!("skipped: the wheel; there is no Python with `venv` and `pip`");
        return Ok(());
    }
    let mut pip = Command::new(environment.join("bin/pip"));
    builds::output_of(pip.args(["install", "--quiet", "--no-index"]).arg(wheel))?;
    let call = vec![environment.join("bin/squall").display().to_string()];
    Installed { call, folder: root() }.use_it("the wheel")
}
