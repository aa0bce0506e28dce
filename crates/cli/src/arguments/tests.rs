//! Tests of the command line's options.

use super::*;
use clap::CommandFactory;

#[test]
fn the_definitions_are_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn sizes_have_units() {
    assert_eq!(size("4096"), Ok(4096));
    assert_eq!(size("64k"), Ok(64 << 10));
    assert_eq!(size("512MiB"), Ok(512 << 20));
    assert_eq!(size("2G"), Ok(2 << 30));
    for wrong in ["", "M", "-1", "1.5G", "99999999T", "lots"] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn lines_are_counted_from_one() {
    assert_eq!(lines("10-20"), Ok((10, 20)));
    assert_eq!(lines("3"), Ok((3, 3)));
    for wrong in ["", "0-3", "4-3", "-3", "3-", "a-b", "1-2-3"] {
        assert!(lines(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn counts_have_units() {
    assert_eq!(count("4096"), Ok(4096));
    assert_eq!(count("10M"), Ok(10_000_000));
    assert_eq!(count("2k"), Ok(2000));
    for wrong in ["", "M", "-1", "1.5G", "99999999999G", "lots"] {
        assert!(count(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn times_may_have_decimals() {
    assert_eq!(seconds("10"), Ok(Duration::from_secs(10)));
    assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
    for wrong in ["", "0", "-1", "1s", "inf", "NaN", "1e300", "soon"] {
        assert!(seconds(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_follows_the_file_is_the_programs() {
    let arguments = Arguments::try_parse_from([
        "squall",
        "run",
        "--allow-net",
        "a.ns",
        "--allow-ffi",
        "-A",
        "--",
        "x",
    ]);
    let Ok(Arguments { command: Command::Run(run) }) = arguments else { panic!("no run") };
    assert_eq!(run.program, ["a.ns", "--allow-ffi", "-A", "--", "x"]);
    assert!(!run.machine.allow_net.is_empty() && !run.machine.allow_ffi && !run.machine.allow_all);
}

#[test]
fn hosts_narrow_what_of_the_network_is_allowed() {
    let permissions = |flags: &[&str]| {
        let line = ["squall", "repl"].iter().chain(flags);
        match Arguments::try_parse_from(line).map(|arguments| arguments.command) {
            Ok(Command::Repl(repl)) => Ok(repl.machine.permissions()),
            _ => Err(()),
        }
    };
    assert_eq!(permissions(&["--allow-net"]).unwrap().network, NetworkGrant::Allowed);
    let some = permissions(&["--allow-net=a:1,b", "--allow-net=*:443"]).unwrap();
    assert!(some.allows_host("a", 1) && !some.allows_host("a", 2) && some.allows_host("b", 2));
    assert!(some.allows_host("c", 443));
    assert!(permissions(&["--allow-net=a:x"]).is_err());
}

#[test]
fn a_path_narrows_what_files_are_allowed() {
    let permissions = |flags: &[&str]| {
        let line = ["squall", "repl"].iter().chain(flags);
        match Arguments::try_parse_from(line).expect("a command line").command {
            Command::Repl(repl) => repl.machine.permissions(),
            _ => panic!("no repl"),
        }
    };
    let both = |flags: &[&str]| {
        let permissions = permissions(flags);
        (permissions.reading, permissions.writing)
    };
    let below = |paths: &[&str]| Grant::Below(paths.iter().map(PathBuf::from).collect());
    assert_eq!(both(&[]), (Grant::Denied, Grant::Denied));
    assert_eq!(both(&["--allow-files"]), (Grant::Allowed, Grant::Allowed));
    let some = both(&["--allow-files=a", "--allow-files=b"]);
    assert_eq!(some, (below(&["a", "b"]), below(&["a", "b"])));
    assert_eq!(both(&["--allow-read", "--allow-write=a"]), (Grant::Allowed, below(&["a"])));
    assert_eq!(both(&["--allow-read=a"]), (below(&["a"]), Grant::Denied));
    let mixed = both(&["--allow-files=a", "--allow-read=b"]);
    assert_eq!(mixed, (below(&["a", "b"]), below(&["a"])));
}
