//! The example in Rust, which Cargo has built for this test, prints the expected text.

use std::process::Command;

#[test]
fn the_example_in_rust() {
    let test = std::env::current_exe().expect("a process has a program");
    let folder = test.ancestors().nth(2).expect("tests are in a folder of the build's");
    let output = Command::new(folder.join("examples/embed")).output();
    let output = output.expect("the example was built: `cargo test -p squall` does that");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{errors}", output.status);
    let expected = "area: 42\nframe: 42, scaled: 2.5\nsums: 1 3 6 10\nerror: ZeroDivide\n\
                    stranger: ended, fuel\nstranger: not granted host:geometry\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
