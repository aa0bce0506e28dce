//! Why a strand stops, and how the client is told. `control` stops strands for these reasons.

use serde_json::{Value as Json, json};

/// Why the world is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The strand has come to these breakpoints.
    Breakpoint(Vec<u64>),
    /// A step is done.
    Step,
    /// The user has asked for it.
    Pause,
    /// A frame was restarted.
    Restart,
    /// The strand was sent to another line.
    Goto,
    /// An exception was signalled: its class, and its text.
    Exception(String, String),
    /// Events have happened for which the user has set these breakpoints, or the strand has come to points; their names.
    Event(Vec<u64>, Vec<String>),
    /// A repetition of the run has arrived at a stop before: the body for the client.
    Back(Json),
    /// The data breakpoint with this number is about to see this write, in words.
    Write(u64, String),
}

impl Reason {
    /// This reason, and another one at the same time. Of different kinds, the first one is told.
    pub(crate) fn with(mut self, other: Reason) -> Reason {
        if let (Reason::Event(ids, names), Reason::Event(more, others)) = (&mut self, other) {
            ids.extend(more);
            names.extend(others);
        }
        self
    }
}

/// The body of the event that tells a stop.
pub(crate) fn of_stop(strand: Option<u64>, reason: &Reason, stops_all: bool) -> Json {
    let mut body = match reason {
        Reason::Back(body) => body.clone(),
        _ => json!({}),
    };
    body["allThreadsStopped"] = json!(stops_all);
    if let Some(strand) = strand {
        body["threadId"] = json!(strand);
    }
    match reason {
        Reason::Breakpoint(ids) => {
            body["reason"] = json!("breakpoint");
            body["hitBreakpointIds"] = json!(ids);
        }
        Reason::Back(_) => {}
        Reason::Step => body["reason"] = json!("step"),
        Reason::Pause => body["reason"] = json!("pause"),
        Reason::Restart => body["reason"] = json!("restart"),
        Reason::Goto => body["reason"] = json!("goto"),
        Reason::Event(ids, names) => {
            body["reason"] = json!("function breakpoint");
            body["description"] = json!(names.join(", "));
            body["hitBreakpointIds"] = json!(ids);
        }
        Reason::Write(id, change) => {
            body["reason"] = json!("data breakpoint");
            body["description"] = json!(change);
            body["hitBreakpointIds"] = json!([id]);
        }
        Reason::Exception(class, text) => {
            body["reason"] = json!("exception");
            body["description"] = json!(class);
            body["text"] = json!(text);
        }
    }
    body
}
