//! The form of the Firefox profiler, which profiler.firefox.com shows: a thread for each worker, with its samples in the
//! order of time, and the objects that it has made.

use std::collections::HashMap;

use fxprof_processed_profile::{
    CategoryColor, CpuDelta, Frame, FrameFlags, FrameInfo, ReferenceTimestamp, SamplingInterval,
    ThreadHandle, Timestamp, WeightType,
};

use super::samples::State;
use super::texts::{Profile, name_of};

/// The number of the one process.
const PROCESS: u32 = 1;

/// The text of the file. It begins at this time, in milliseconds since 1970.
pub fn json(profile: &Profile, program: &str, begun: f64) -> serde_json::Result<String> {
    let interval = SamplingInterval::from_nanos(profile.period);
    let begun = ReferenceTimestamp::from_millis_since_unix_epoch(begun);
    let mut written = fxprof_processed_profile::Profile::new(program, begun, interval);
    let start = Timestamp::from_nanos_since_reference(0);
    let process = written.add_process(program, PROCESS, start);
    let inside = written.add_category("Program", CategoryColor::Yellow);
    let outside = written.add_category("Outside", CategoryColor::Blue);
    let mut threads: HashMap<u32, ThreadHandle> = HashMap::new();
    for stack in &profile.stacks {
        let thread = *threads.entry(stack.worker).or_insert_with(|| {
            let thread = written.add_thread(process, PROCESS + stack.worker, start, false);
            written.set_thread_name(thread, &format!("worker {}", stack.worker));
            written.set_thread_samples_weight_type(thread, WeightType::Samples);
            thread
        });
        let category = if stack.state == State::Outside { outside } else { inside };
        // The strand is the outermost frame, so that strands can be told apart.
        let names = std::iter::once(name_of(stack.track))
            .chain(stack.frames.iter().rev().map(|&frame| label(&profile.frames[frame])));
        let frames: Vec<FrameInfo> = names
            .map(|name| FrameInfo {
                frame: Frame::Label(written.intern_string(&name)),
                category_pair: category.into(),
                flags: FrameFlags::empty(),
            })
            .collect();
        let frames = written.intern_stack_frames(thread, frames.into_iter());
        let time = Timestamp::from_nanos_since_reference(stack.time);
        let spent = CpuDelta::from_nanos(stack.weight * profile.period);
        let weight = i32::try_from(stack.weight).unwrap_or(i32::MAX);
        written.add_sample(thread, time, frames, spent, weight);
    }
    serde_json::to_string(&written)
}

/// A function with its file and line: the format has no other place for them.
fn label(frame: &super::texts::Frame) -> String {
    match frame.line {
        0 => frame.function.clone(),
        line => format!("{} ({}:{line})", frame.function, frame.file),
    }
}
