//! The form of `pprof`: a message of its published schema (`profile.proto`), not compressed, which the tool accepts. It has
//! four values for each stack: samples and time of the processor, bytes of objects, and time waited.

use std::collections::HashMap;

use prost::Message;

use super::samples::State;
use super::texts::{Frame, Profile, name_of};

#[derive(Clone, PartialEq, prost::Message)]
struct Encoded {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// What a reader of the format sees, for tests.
#[cfg(test)]
pub(super) struct Decoded {
    /// Names and units of the values.
    pub(super) kinds: Vec<String>,
    /// Functions with places, and values.
    pub(super) samples: Vec<(Vec<String>, Vec<i64>)>,
}

/// Resolves all numbers of an encoded profile.
#[cfg(test)]
pub(super) fn decoded(bytes: &[u8]) -> Decoded {
    let all = Encoded::decode(bytes).expect("a profile");
    let text = |number: i64| all.string_table[number as usize].clone();
    let place = |id: u64| {
        let location = all.location.iter().find(|location| location.id == id).expect("a place");
        let line = &location.line[0];
        let function = all.function.iter().find(|function| function.id == line.function_id);
        let function = function.expect("a function");
        format!("{} {}:{}", text(function.name), text(function.filename), line.line)
    };
    let kinds = all.sample_type.iter();
    Decoded {
        kinds: kinds.map(|kind| format!("{} {}", text(kind.r#type), text(kind.unit))).collect(),
        samples: all
            .sample
            .iter()
            .map(|sample| {
                (sample.location_id.iter().map(|&id| place(id)).collect(), sample.value.clone())
            })
            .collect(),
    }
}

/// What is being encoded: texts and functions have numbers.
struct Encoder {
    encoded: Encoded,
    texts: HashMap<String, i64>,
    functions: HashMap<(String, String), u64>,
}

/// The bytes of a profile.
pub fn bytes(profile: &Profile) -> Vec<u8> {
    let mut encoder =
        Encoder { encoded: Encoded::default(), texts: HashMap::new(), functions: HashMap::new() };
    // The first text is empty.
    encoder.text("");
    for (name, unit) in [
        ("samples", "count"),
        ("cpu", "nanoseconds"),
        ("allocated", "bytes"),
        ("waited", "nanoseconds"),
    ] {
        let kind = ValueType { r#type: encoder.text(name), unit: encoder.text(unit) };
        encoder.encoded.sample_type.push(kind);
    }
    encoder.encoded.period_type = encoder.encoded.sample_type.get(1).cloned();
    encoder.encoded.period = profile.period as i64;
    encoder.encoded.default_sample_type = encoder.text("cpu");
    for frame in &profile.frames {
        encoder.location(frame);
    }
    encoder.samples(profile);
    encoder.encoded.encode_to_vec()
}

impl Encoder {
    fn text(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.texts.get(text) {
            return number;
        }
        let number = self.encoded.string_table.len() as i64;
        self.encoded.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let key = (frame.function.clone(), frame.file.clone());
        if let Some(&id) = self.functions.get(&key) {
            return id;
        }
        let id = self.functions.len() as u64 + 1;
        let (name, filename) = (self.text(&frame.function), self.text(&frame.file));
        self.encoded.function.push(Function { id, name, system_name: name, filename });
        self.functions.insert(key, id);
        id
    }

    /// Adds a place; answers its number.
    fn location(&mut self, frame: &Frame) -> u64 {
        let id = self.encoded.location.len() as u64 + 1;
        let line = Line { function_id: self.function(frame), line: i64::from(frame.line) };
        self.encoded.location.push(Location { id, line: vec![line] });
        id
    }

    fn samples(&mut self, profile: &Profile) {
        let ids = |frames: &[usize]| frames.iter().map(|&frame| frame as u64 + 1).collect();
        let mut weights = HashMap::new();
        for stack in &profile.stacks {
            let key =
                (stack.frames.as_slice(), stack.state == State::Outside, name_of(stack.track));
            *weights.entry(key).or_insert(0) += stack.weight as i64;
        }
        let mut weights: Vec<_> = weights.into_iter().collect();
        weights.sort();
        for ((frames, outside, track), weight) in weights {
            let state = if outside { "outside" } else { "running" };
            let label = [("strand", track.as_str()), ("state", state)];
            let label =
                label.map(|(key, text)| Label { key: self.text(key), str: self.text(text) });
            let value = vec![weight, weight * profile.period as i64, 0, 0];
            let sample = Sample { location_id: ids(frames), value, label: label.to_vec() };
            self.encoded.sample.push(sample);
        }
        for (frames, bytes) in &profile.allocated {
            let value = vec![0, 0, *bytes as i64, 0];
            let sample = Sample { location_id: ids(frames), value, label: Vec::new() };
            self.encoded.sample.push(sample);
        }
        for wait in &profile.waits {
            let label = Label { key: self.text("waits for"), str: self.text(wait.reason.text()) };
            let value = vec![0, 0, 0, wait.waited.time as i64];
            let location_id = vec![self.location(&wait.place)];
            self.encoded.sample.push(Sample { location_id, value, label: vec![label] });
        }
    }
}
