//! Tests of `squall run --trace=FILE.pftrace`. A program with a known number of turns, waits and transactions is traced in
//! several ways, and the file is decoded by a small reader of its own, by the field numbers of the published
//! `perfetto_trace.proto`. `main.rs` collects the tests as trials.
//!
//! Where Python has the package `perfetto`, its decoder, which is made of the published schema, reads the file, too.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::process::Command;

use libtest_mimic::{Failed, Trial};

use crate::process::Run;

const PROGRAM: &str = "tests/traces/everything.ns";

pub fn trials() -> Vec<Trial> {
    let traced = |name: &str, options: &'static [&'static str]| {
        Trial::test(format!("traces/{name}"), move || {
            let decoded = check(&trace(options)?)?;
            let is_alone =
                options.iter().any(|option| ["--workers=1", "--seed=3"].contains(option));
            if is_alone { contended(&decoded) } else { Ok(()) }
        })
    };
    vec![
        traced("of_the_interpreter", &["--jit=off"]),
        traced("of_machine_code", &["--jit-eager"]),
        traced("of_several_workers", &["--workers=3"]),
        traced("of_one_worker", &["--workers=1"]),
        traced("under_a_seed", &["--seed=3"]),
        traced("with_many_collections", &["--gc-stress=64"]),
        Trial::test("traces/of_all_tiers_are_the_same_under_a_seed", equal),
        Trial::test("traces/are_read_by_others", foreign),
        Trial::test("traces/need_a_file", unwritable),
    ]
}

/// The bytes of a trace of the program.
fn trace(options: &[&str]) -> Result<Vec<u8>, String> {
    let mut arguments = vec!["run", "--allow-read=tests", "--trace={scratch}/t.pftrace"];
    arguments.extend(options);
    arguments.extend([PROGRAM, PROGRAM]);
    let run = Run::new(arguments);
    let result = run.execute();
    let is_right =
        result.exit == 0 && result.output == "930\n20\n20\n210\n" && result.error.is_empty();
    if !is_right {
        return Err(format!("{result:?}\nrepeat it with\n  {}", run.repetition()));
    }
    std::fs::read(run.scratch.path().join("t.pftrace")).map_err(|error| error.to_string())
}

/// Times are virtual under a seed, and events do not depend on the tier, so the files are the same.
fn equal() -> Result<(), Failed> {
    let one = trace(&["--seed=7"])?;
    for options in [&["--seed=7"][..], &["--seed=7", "--jit=off"], &["--seed=7", "--jit-eager"]] {
        if trace(options)? != one {
            return Err(
                format!("the trace with {options:?} differs from that with --seed=7").into()
            );
        }
    }
    match trace(&["--seed=8"])? == one {
        true => Err("the trace does not depend on the seed".into()),
        false => Ok(()),
    }
}

fn unwritable() -> Result<(), Failed> {
    let result = Run::new(["run", "--trace=/nowhere/t.pftrace", PROGRAM]).execute();
    let is_right =
        result.exit == 74 && result.error.contains("/nowhere/t.pftrace cannot be written");
    if is_right { Ok(()) } else { Err(format!("{result:?}").into()) }
}

/// Counts slices by name, as Python's package sees them.
const COUNT: &str = "
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
trace = Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
names, counts = {}, {}
for packet in trace.packet:
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    if packet.HasField('track_event') and packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN:
        name = names[packet.track_event.name_iid]
        counts[name] = counts.get(name, 0) + 1
for name in sorted(counts):
    print(counts[name], name)
";

fn foreign() -> Result<(), Failed> {
    let import =
        Command::new("python3").args(["-c", "import perfetto.protos.perfetto.trace"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    let bytes = trace(&["--seed=1"])?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("t.pftrace");
    std::fs::write(&path, &bytes).map_err(|error| error.to_string())?;
    let output = Command::new("python3").args(["-c", COUNT]).arg(&path).output();
    let output = output.map_err(|error| error.to_string())?;
    let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for event in decode(&bytes)?.events.iter().filter(|event| event.kind == BEGIN) {
        *counts.entry(event.name.clone()).or_default() += 1;
    }
    let ours: String = counts.iter().map(|(name, count)| format!("{count} {name}\n")).collect();
    match ours == theirs {
        true => Ok(()),
        false => Err(format!("ours:\n{ours}\ntheirs:\n{theirs}\n{output:?}").into()),
    }
}

/// An event on a track, by its names.
struct Event {
    time: u64,
    kind: u64,
    track: u64,
    name: String,
    flows: Vec<u64>,
    ends_of_flows: Vec<u64>,
    counter: i64,
    has_place: bool,
}

#[derive(Default)]
struct Decoded {
    /// Names and parents.
    tracks: HashMap<u64, (String, Option<u64>)>,
    counters: HashSet<u64>,
    events: Vec<Event>,
}

const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Checks the whole of a trace.
fn check(bytes: &[u8]) -> Result<Decoded, Failed> {
    let mut decoded = decode(bytes)?;
    decoded.events.sort_by_key(|event| event.time);
    nesting(&decoded)?;
    arrows(&decoded)?;
    counters(&decoded)?;
    contents(&decoded)?;
    Ok(decoded)
}

/// Where strands run one at a time, the two threads meet at the mutex for sure: each gives way while it has that.
fn contended(decoded: &Decoded) -> Result<(), Failed> {
    match decoded.events.iter().any(|event| event.name == "waits for a lock") {
        true => Ok(()),
        false => Err("waits for locks are missing".into()),
    }
}

/// On each track, slices lie within each other; all but those of workers and of the program's end are complete.
fn nesting(decoded: &Decoded) -> Result<(), String> {
    let mut depths: HashMap<u64, usize> = HashMap::new();
    for event in &decoded.events {
        let Some((name, _)) = decoded.tracks.get(&event.track) else {
            return Err(format!("the track {:#x} has no name", event.track));
        };
        let depth = depths.entry(event.track).or_default();
        match event.kind {
            BEGIN => *depth += 1,
            END if *depth == 0 => return Err(format!("a slice ends on {name} that has not begun")),
            END => *depth -= 1,
            _ => {}
        }
        if *depth > 8 {
            return Err(format!("slices on {name} do not end"));
        }
    }
    let root = decoded.tracks.iter().filter(|(_, (_, parent))| parent.is_none()).count();
    if root != 1 {
        return Err(format!("{root} tracks have no parent"));
    }
    Ok(())
}

/// Each arrow has a begin before its end.
fn arrows(decoded: &Decoded) -> Result<(), String> {
    let mut open: HashSet<u64> = HashSet::new();
    let mut complete = 0;
    for event in &decoded.events {
        for arrow in &event.ends_of_flows {
            if !open.remove(arrow) {
                return Err(format!("the arrow to `{}` has no begin", event.name));
            }
            complete += 1;
        }
        open.extend(&event.flows);
    }
    // Each message, each strand, and each wait at a channel has one.
    if complete < 80 {
        return Err(format!("there are only {complete} arrows"));
    }
    Ok(())
}

/// Mailboxes are counted up and down by one, and are empty at the end.
fn counters(decoded: &Decoded) -> Result<(), String> {
    let mut last: HashMap<u64, i64> = HashMap::new();
    for event in decoded.events.iter().filter(|event| event.kind == COUNTER) {
        let name = &decoded.tracks[&event.track].0;
        if !decoded.counters.contains(&event.track) {
            return Err(format!("{name} is no counter"));
        }
        if event.counter < 0 {
            return Err(format!("{name} is {}", event.counter));
        }
        last.insert(event.track, event.counter);
    }
    let mut mailboxes =
        last.iter().filter(|(track, _)| decoded.tracks[track].0.starts_with("mailbox of vat "));
    match mailboxes.find(|(_, count)| **count != 0) {
        Some((track, count)) => Err(format!("{} ends with {count}", decoded.tracks[track].0)),
        None if last.len() < 2 => Err("mailboxes are not counted".to_owned()),
        None => Ok(()),
    }
}

/// What the program does is there, and as often as it does it.
fn contents(decoded: &Decoded) -> Result<(), String> {
    let count = |kind: u64, name: &str| {
        decoded.events.iter().filter(|event| event.kind == kind && event.name == name).count()
    };
    let exactly = |kind, name, wanted: usize| match count(kind, name) {
        found if found == wanted => Ok(()),
        found => Err(format!("there are {found} of `{name}`, and not {wanted}")),
    };
    exactly(BEGIN, "Till>>take:", 20)?;
    exactly(INSTANT, "sends take:", 20)?;
    exactly(INSTANT, "lock released", 20)?;
    // One process and four threads.
    exactly(INSTANT, "makes a strand", 5)?;
    exactly(BEGIN, "strand", 5)?;
    let transactions = count(BEGIN, "transaction");
    if transactions < 20 {
        return Err(format!("there are {transactions} transactions"));
    }
    let values = count(INSTANT, "channel received") + count(INSTANT, "channel sent");
    let waits = count(BEGIN, "waits for a channel");
    // At each of the sixty meetings, one side waits, and the other does not.
    if (values, waits) != (60, 60) {
        return Err(format!("{values} operations on channels did not wait, and {waits} did"));
    }
    if count(INSTANT, "promise resolved") < 20 {
        return Err("promises are missing".to_owned());
    }
    let mut turns = decoded.events.iter().filter(|event| event.name == "Till>>take:");
    if turns.any(|turn| !turn.has_place || turn.ends_of_flows.len() != 1) {
        return Err("a turn has no place, or no arrow from its message".to_owned());
    }
    let has_worker = decoded.tracks.values().any(|(name, _)| name == "worker 0");
    if has_worker { Ok(()) } else { Err("there is no track of a worker".to_owned()) }
}

/// A field of a message in the encoding of protocol buffers.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            Value::Bytes(_) => 0,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Value::Number(_) => &[],
            Value::Bytes(bytes) => bytes,
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// The fields of a message with their numbers.
fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Value<'_>)>, String> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)?),
            1 => {
                let (word, rest) = bytes.split_first_chunk().ok_or("a word is cut")?;
                bytes = rest;
                Value::Number(u64::from_le_bytes(*word))
            }
            2 => {
                let length = varint(&mut bytes)? as usize;
                let (part, rest) = bytes.split_at_checked(length).ok_or("a part is cut")?;
                bytes = rest;
                Value::Bytes(part)
            }
            kind => return Err(format!("a field has the kind {kind}")),
        };
        fields.push((key >> 3, value));
    }
    Ok(fields)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or("a number is cut")?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("a number is too long".to_owned())
}

/// Decodes a trace: the numbers are those of `Trace`, `TracePacket`, `TrackEvent`, `TrackDescriptor` and `InternedData`.
fn decode(bytes: &[u8]) -> Result<Decoded, String> {
    let mut decoded = Decoded::default();
    let mut names: HashMap<u64, String> = HashMap::new();
    for (number, packet) in fields(bytes)? {
        if number != 1 {
            return Err(format!("the file has a field {number}"));
        }
        let packet = fields(packet.bytes())?;
        let part = |wanted| packet.iter().find(|(number, _)| *number == wanted);
        if let Some((_, interned)) = part(12) {
            for (_, name) in fields(interned.bytes())?.iter().filter(|(number, _)| *number == 2) {
                let name = fields(name.bytes())?;
                names.insert(name[0].1.number(), name[1].1.text());
            }
        }
        if let Some((_, descriptor)) = part(60) {
            describe(&mut decoded, &fields(descriptor.bytes())?)?;
        }
        if let Some((_, event)) = part(11) {
            let time = part(8).ok_or("an event has no time")?.1.number();
            decoded.events.push(event_of(time, &fields(event.bytes())?, &names)?);
        }
    }
    Ok(decoded)
}

fn describe(decoded: &mut Decoded, fields_of_track: &[(u64, Value)]) -> Result<(), String> {
    let part = |wanted| fields_of_track.iter().find(|(number, _)| *number == wanted);
    let uuid = part(1).ok_or("a track has no number")?.1.number();
    let name_within = |message: u64, name: u64| -> Result<Option<String>, String> {
        let Some((_, message)) = part(message) else { return Ok(None) };
        let fields = fields(message.bytes())?;
        Ok(fields.iter().find(|(number, _)| *number == name).map(|(_, name)| name.text()))
    };
    let own = part(2).map(|(_, name)| name.text());
    let name = own.or(name_within(4, 5)?).or(name_within(3, 6)?).ok_or("a track has no name")?;
    if part(8).is_some() {
        decoded.counters.insert(uuid);
    }
    let parent = part(5).map(|(_, parent)| parent.number());
    match decoded.tracks.insert(uuid, (name, parent)) {
        None => Ok(()),
        Some((name, _)) => Err(format!("{name} is described twice")),
    }
}

fn event_of(
    time: u64,
    fields: &[(u64, Value)],
    names: &HashMap<u64, String>,
) -> Result<Event, String> {
    let number = |wanted| {
        fields.iter().find(|(number, _)| *number == wanted).map(|(_, value)| value.number())
    };
    let all = |wanted| {
        let found = fields.iter().filter(move |(number, _)| *number == wanted);
        found.map(|(_, value)| value.number()).collect()
    };
    let name = match number(10) {
        Some(number) => names.get(&number).ok_or("a name has no text")?.clone(),
        None => String::new(),
    };
    Ok(Event {
        time,
        kind: number(9).ok_or("an event has no kind")?,
        track: number(11).ok_or("an event has no track")?,
        name,
        flows: all(47),
        ends_of_flows: all(48),
        counter: number(30).unwrap_or(0) as i64,
        has_place: number(34).is_some(),
    })
}
