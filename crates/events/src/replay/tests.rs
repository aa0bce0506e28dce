//! Tests of the format: what is written is read, and damage is found where it is.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::{BadRecording, End, Event, Events, Head, Recording, Run, Writer};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn head() -> Head {
    let arguments = vec!["--workers=2".to_owned(), "p.ns".to_owned()];
    Head { machine: "1.0".to_owned(), arguments, program: 7, key: 9 }
}

/// Two workers, of which the second continues the first one's turn.
fn example() -> Vec<u8> {
    let file = Shared::default();
    let mut writer = Writer::begin(Box::new(file.clone()), &head()).unwrap();
    let mut first = Events::default();
    first.numbers(0, 1);
    first.turn(0, 1, 1, 0);
    first.created(2);
    first.output(0, 5);
    first.paused(3);
    first.turn(0, 2, 1, 2);
    first.numbers(2, 8192);
    first.input(4, b"abc");
    let mut second = Events::default();
    second.numbers(0, 4097);
    second.resumed(0, 1, 1, 6);
    second.decided(false);
    writer.events(&second).unwrap();
    writer.module("m.ns", 3).unwrap();
    writer.events(&first).unwrap();
    writer.end(End { code: 4 }).unwrap();
    let bytes = file.0.lock().unwrap().clone();
    bytes
}

#[test]
fn what_is_written_is_read() {
    let recording = Recording::read(&example()).unwrap();
    assert_eq!(recording.head, head());
    assert_eq!(recording.modules["m.ns"], 3);
    assert_eq!(recording.end, Some(End { code: 4 }));
    let turn = &recording.vats[&1][0];
    assert_eq!(turn.events, [Event::Created(2), Event::Output(0, 5), Event::Decided(false)]);
    let runs = [Run { next: 1, count: Some(3) }, Run { next: 4097, count: None }];
    assert_eq!(turn.runs, runs);
    let turn = &recording.vats[&2][0];
    assert_eq!(turn.message, 2);
    assert_eq!(turn.events, [Event::Input(4, b"abc".to_vec())]);
    let runs = [Run { next: 4, count: Some(2) }, Run { next: 8192, count: None }];
    assert_eq!(turn.runs, runs);
}

#[test]
fn each_changed_byte_is_found() {
    let bytes = example();
    for index in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[index] ^= 0x10;
        let read = Recording::read(&changed);
        // A length that became greater is that of a block that was cut: then the end is missing.
        assert!(read.is_err() || read.unwrap().end.is_none(), "byte {index}");
    }
}

#[test]
fn a_file_that_was_cut_is_valid_as_far_as_it_reaches() {
    let bytes = example();
    let cut = Recording::read(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(cut.end, None);
    assert_eq!(cut.turns, 2);
    let reason = "the head is cut";
    assert_eq!(Recording::read(&bytes[..9]).unwrap_err(), BadRecording { at: 8, reason });
}

#[test]
fn mistakes_have_a_place() {
    let shown = |bytes: &[u8]| Recording::read(bytes).unwrap_err().to_string();
    assert_eq!(shown(b"class P"), "at byte 0: this is no recording");
    assert_eq!(shown(b"SQREPL\x00\x02"), "at byte 0: this version of the format is unknown");
    let mut bytes = example();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let at = last - 12;
    assert_eq!(
        shown(&bytes),
        format!("at byte {at}: this block was changed: its check sum is another one")
    );
}
