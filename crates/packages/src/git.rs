//! Commits of repositories, by the command `git`, for `cache` and `project`.
//!
//! Git checks the digests of all that it fetches against the name of the commit. Its files come as an archive, which is
//! unpacked like those of strangers ([`crate::unpacking`]): there is no checkout, so no hook, filter or submodule is run.
//! Git is never let to ask a user for a password.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::digest::is_commit;
use crate::problem::{Problem, Result};
use crate::source::{Reference, check_address};
use crate::unpacking::{LIMITS, unpack};

/// The commit that a reference of a repository stands for.
pub fn commit_of(address: &str, reference: &Reference) -> Result<String> {
    check_address(address)?;
    let (names, what) = match reference {
        Reference::Commit(commit) => return Ok(commit.clone()),
        // An annotated tag is followed by the commit that it stands for.
        Reference::Tag(name) => {
            (vec![format!("refs/tags/{name}"), format!("refs/tags/{name}^{{}}")], reference)
        }
        Reference::Branch(name) => (vec![format!("refs/heads/{name}")], reference),
        Reference::Head => (vec!["HEAD".to_owned()], reference),
    };
    let mut command = git();
    command.args(["ls-remote", "--", address]).args(&names);
    let output = run(command, &format!("asking {address} for {what}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.split_once('\t')).collect();
    found.retain(|(commit, name)| is_commit(commit) && names.iter().any(|it| it == name));
    found.sort_by_key(|(_, name)| name.len());
    found.last().map(|(commit, _)| (*commit).to_owned()).ok_or_else(|| {
        Problem::failed(format!("the repository {address} has no {what}"))
            .hint(format!("`git ls-remote {address}` shows what it has"))
    })
}

/// Unpacks the files of a commit into a new folder; `scratch` is another new folder, for Git.
pub fn unpack_commit(address: &str, commit: &str, folder: &Path, scratch: &Path) -> Result<()> {
    check_address(address)?;
    let length = if commit.len() == 64 { "sha256" } else { "sha1" };
    let mut command = git();
    command.args(["init", "--quiet", "--bare"]).arg(format!("--object-format={length}"));
    command.arg("--").arg(scratch);
    run(command, "making a repository")?;
    fetch(address, commit, scratch)?;
    let mut command = git_in(scratch);
    command.args(["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{commit}}")]);
    let found = run(command, &format!("looking for commit {commit}"))?;
    let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    if found != commit {
        let text = format!("{commit} of {address} is no commit: it stands for {found}");
        return Err(Problem::failed(text));
    }
    archive(commit, folder, scratch)
}

/// Fetches one commit; from servers that do not hand out single commits, all branches and tags.
fn fetch(address: &str, commit: &str, scratch: &Path) -> Result<()> {
    let base =
        ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"];
    let mut command = git_in(scratch);
    command.args(base).args(["--depth=1", "--", address, commit]);
    let what = format!("fetching commit {commit} of {address}");
    if run(command, &what).is_ok() {
        return Ok(());
    }
    let mut command = git_in(scratch);
    command.args(base).args([
        "--",
        address,
        "+refs/heads/*:refs/heads/*",
        "+refs/tags/*:refs/tags/*",
    ]);
    run(command, &what).map(|_| ())
}

fn archive(commit: &str, folder: &Path, scratch: &Path) -> Result<()> {
    let mut command = git_in(scratch);
    command.args(["archive", "--format=tar", commit]);
    let failed = |error: std::io::Error| Problem::failed(format!("git cannot be run: {error}"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let output = child.stdout.take().map(|output| output.take(LIMITS.unpacked + (1 << 20)));
    let result = output.map_or(Ok(()), |output| unpack(output, folder, &LIMITS));
    // A process whose output is not read to its end may wait for ever.
    if result.is_err() {
        _ = child.kill();
    }
    _ = child.wait();
    result
}

/// The command, without what the user's configuration and environment could make of it.
fn git() -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "protocol.ext.allow=never", "-c", "core.hooksPath=/dev/null"]);
    command.args(["-c", "core.fsmonitor=false", "-c", "fetch.fsckObjects=true"]);
    command.args(["-c", "core.autocrlf=false", "-c", "tar.umask=0022"]);
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "").env("LC_ALL", "C");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

fn git_in(folder: &Path) -> Command {
    let mut command = git();
    command.arg("--git-dir").arg(folder);
    command
}

fn run(mut command: Command, what: &str) -> Result<Output> {
    let output = command.output().map_err(|error| {
        let problem = Problem::failed(format!("the command git cannot be run: {error}"));
        problem.hint("packages of repositories need it: install git")
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let mut lines = reason.lines().filter(|line| !line.trim().is_empty());
    let is_reason = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let reason = lines.clone().find(is_reason).or(lines.next_back()).unwrap_or("it says nothing");
    Err(Problem::failed(format!("{what} failed: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with two commits, a branch and an annotated tag; answers the commits.
    fn repository(folder: &Path) -> Vec<String> {
        let git = |arguments: &[&str]| {
            let mut command = git();
            command.arg("-C").arg(folder).args(["-c", "user.name=n", "-c", "user.email=e@x"]);
            command.args(arguments);
            let output = run(command, "git").expect("git");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        git(&["init", "--quiet", "--initial-branch=main"]);
        let mut commits = Vec::new();
        for text in ["first", "second"] {
            std::fs::write(folder.join("squall.toml"), text).expect("written");
            git(&["add", "."]);
            git(&["commit", "--quiet", "-m", text]);
            commits.push(git(&["rev-parse", "HEAD"]));
        }
        git(&["tag", "-a", "v1", "-m", "v1", &commits[0]]);
        git(&["branch", "old", &commits[0]]);
        commits
    }

    #[test]
    fn references_stand_for_commits_and_these_for_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let commits = repository(folder.path());
        let address = folder.path().display().to_string();
        let of = |reference| commit_of(&address, &reference);
        assert_eq!(of(Reference::Head).as_ref(), Ok(&commits[1]));
        assert_eq!(of(Reference::Tag("v1".into())).as_ref(), Ok(&commits[0]));
        assert_eq!(of(Reference::Branch("old".into())).as_ref(), Ok(&commits[0]));
        let missing = of(Reference::Branch("new".into())).expect_err("it is not there");
        assert!(missing.text.contains("has no branch new"), "{missing}");
        for (commit, text) in commits.iter().zip(["first", "second"]) {
            let target = tempfile::tempdir().expect("a folder");
            let scratch = tempfile::tempdir().expect("a folder");
            unpack_commit(&address, commit, target.path(), scratch.path()).expect("unpacked");
            let file = std::fs::read_to_string(target.path().join("squall.toml"));
            assert_eq!(file.expect("a file"), text);
        }
    }

    #[test]
    fn a_commit_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        repository(folder.path());
        let address = folder.path().display().to_string();
        let (target, scratch) = (tempfile::tempdir(), tempfile::tempdir());
        let (target, scratch) = (target.expect("a folder"), scratch.expect("a folder"));
        let commit = "1".repeat(40);
        let problem = unpack_commit(&address, &commit, target.path(), scratch.path());
        assert!(problem.expect_err("it is not there").text.contains(&commit));
    }
}
