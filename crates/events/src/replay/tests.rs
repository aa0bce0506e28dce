//! Tests of the format: what is written is read, and damage is found where it is.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::{
    AtPoll, BadRecording, End, EndsAt, Entity, Event, Events, Extent, Head, Recording, Run,
    SandboxEnd, Sink, What, Writer, long_input, sandbox_ended,
};

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

impl Sink for Shared {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().unwrap().truncate(length as usize);
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
    let first = Events::default();
    {
        let mut events = first.append();
        events.numbers(0, 1);
        events.turn(0, Some((1, 1)), 0);
        events.created(2);
        events.output(0, 5);
        events.turn(3, Some((2, 1)), 2);
        events.numbers(2, 8192);
        events.input(4, b"abc");
        events.turn(70, None, -1);
        events.item(0, 2, 3, Some(9));
        events.ordered(5);
        events.polled(300, AtPoll::Ends);
        events.woken(2, Entity::Strand(9), false);
        events.woken(1, Entity::Vat(1), true);
        events.counted(1);
    }
    let second = Events::default();
    {
        let mut events = second.append();
        events.numbers(0, 4097);
        events.continued(0, Entity::Vat(1), 1, 6);
        events.decided(false);
        events.strand(2, 9, 7);
        events.started(10);
        events.atomic(9, Extent::UpToEffect);
        events.after(3);
        events.ordered(1);
        events.killed(EndsAt::Poll(900));
        events.over(true);
    }
    writer.events(&second.copy()).unwrap();
    writer.module("m.ns", 3).unwrap();
    writer.events(&first.copy()).unwrap();
    let end = SandboxEnd { reason: 3, place: Some(0), report: "over\n".to_owned() };
    writer.events(&sandbox_ended(12, &end)).unwrap();
    let long = long_input(8263, Entity::Strand(9), (8, 0), 5, b"long");
    writer.events(&long).unwrap();
    writer.end(End { code: 4 }).unwrap();
    file.0.lock().unwrap().clone()
}

#[test]
fn what_is_written_is_read() {
    let recording = Recording::read(&example()).unwrap();
    assert_eq!(recording.head, head());
    assert_eq!(recording.modules["m.ns"], 3);
    assert_eq!(recording.end, Some(End { code: 4 }));
    let item = &recording.vats[&1][0];
    assert_eq!(item.what, What::Turn(0));
    let events = [Event::Created(2), Event::Output(0, 5), Event::Decided(false)];
    assert_eq!(item.part.events, events);
    let run = |next, count| Run { next, count: Some(count) };
    assert_eq!(item.part.runs, [run(1, 3), run(4097, 2)]);
    let items = &recording.vats[&2];
    assert_eq!(items[0].what, What::Turn(2));
    assert_eq!(items[0].part.events, [Event::Input(4, b"abc".to_vec())]);
    assert_eq!(items[0].part.runs, [run(4, 2), run(8192, 70)]);
    assert_eq!(items[1].what, What::Turn(1));
    assert_eq!(items[2].what, What::Strand(9));
    assert_eq!(items[2].part.events, [Event::Ordered(5), Event::Polled(300, AtPoll::Ends)]);
    assert_eq!(items[2].part.runs, [run(8262, 1)]);
    assert_eq!(recording.woken[&7], (Entity::Strand(9), false));
    assert_eq!(recording.woken[&8], (Entity::Vat(1), true));
    let end = &recording.sandboxes[&12];
    assert_eq!((end.reason, end.place, end.report.as_str()), (3, Some(0), "over\n"));
    let strand = &recording.strands[&9];
    let events = [
        Event::Started(10),
        Event::Atomic(9, Extent::UpToEffect),
        Event::After(12),
        Event::Ordered(13),
        Event::Killed(EndsAt::Poll(900)),
        Event::Over(true),
        Event::Input(5, b"long".to_vec()),
    ];
    assert_eq!(strand.events, events);
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
    assert_eq!(cut.items, 4);
    let reason = "the head is cut";
    assert_eq!(Recording::read(&bytes[..9]).unwrap_err(), BadRecording { at: 8, reason });
}

#[test]
fn mistakes_have_a_place() {
    let shown = |bytes: &[u8]| Recording::read(bytes).unwrap_err().to_string();
    assert_eq!(shown(b"class P"), "at byte 0: this is no recording");
    assert_eq!(shown(b"SQREPL\x00\x01"), "at byte 0: this version of the format is unknown");
    let mut bytes = example();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let at = last - 12;
    assert_eq!(
        shown(&bytes),
        format!("at byte {at}: this block was changed: its check sum is another one")
    );
}

/// The file is valid with each tail, and is the same as without them in the end.
#[test]
fn tails_are_replaced() {
    let write = |has_tails: bool| {
        let file = Shared::default();
        let mut writer = Writer::begin(Box::new(file.clone()), &head()).unwrap();
        let workers = [Events::default(), Events::default()];
        let mut lengths = Vec::new();
        for step in 0..6 {
            let mut events = workers[step % 2].append();
            events.strand(0, step as u64, 1 + step as u64);
            drop(events);
            if has_tails {
                let copies = workers.each_ref().map(Events::copy);
                writer.tail(copies.iter().map(Vec::as_slice)).unwrap();
                let recording = Recording::read(&file.0.lock().unwrap()).unwrap();
                lengths.push(recording.strands.len());
                assert!(recording.end.is_none());
            }
            if step == 3 {
                writer.events(&workers[0].copy()).unwrap();
                workers[0].clear();
            }
        }
        workers.iter().for_each(|worker| writer.events(&worker.copy()).unwrap());
        writer.end(End { code: 0 }).unwrap();
        let bytes = file.0.lock().unwrap().clone();
        (bytes, lengths)
    };
    let (bytes, lengths) = write(true);
    assert_eq!(bytes, write(false).0);
    assert_eq!(lengths, [1, 2, 3, 4, 5, 6]);
    assert_eq!(Recording::read(&bytes).unwrap().strands.len(), 6);
}
