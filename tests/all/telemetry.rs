//! Tests of spans for OpenTelemetry by the schema that OpenTelemetry publishes: a program sends them to a collector in Python, which
//! decodes them, checks times and parents, and prints what it has got. `main.rs` collects the tests as trials.
//!
//! They need Python with the package `opentelemetry-proto`; `SQUALL_PYTHON` may name one. Without it they say so, and pass.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::process::Run;
use crate::{compare_with_file, root};

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("telemetry/spans_by_the_published_schema", spans)]
}

fn spans() -> Result<(), Failed> {
    let python = std::env::var("SQUALL_PYTHON").unwrap_or("python3".into());
    let mut check = Command::new(&python);
    check.args(["-c", "import opentelemetry.proto"]).stderr(Stdio::null());
    if !check.status().is_ok_and(|status| status.success()) {
        println!("skipped: {python} has no package opentelemetry-proto");
        return Ok(());
    }
    let mut collector = Command::new(&python)
        .arg(root().join("tests/telemetry/collector.py"))
        .env("PYTHONIOENCODING", "utf-8")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut output = BufReader::new(collector.stdout.take().ok_or("it is piped")?);
    let mut port = String::new();
    output.read_line(&mut port)?;
    let words = ["run", "--allow-net=127.0.0.1", "tests/telemetry/spans.ns", port.trim()];
    let run = Run::new(words);
    let outcome = run.execute();
    if outcome.exit != 0 {
        _ = collector.kill();
    }
    let mut received = String::new();
    output.read_to_string(&mut received)?;
    let ended = collector.wait_with_output()?;
    if outcome.exit != 0 {
        let refused = String::from_utf8_lossy(&ended.stderr);
        return Err(format!("{outcome:?}\n{refused}\n{}", run.repetition()).into());
    }
    compare_with_file(&root().join("tests/telemetry/spans.txt"), &received).map_err(Failed::from)
}
