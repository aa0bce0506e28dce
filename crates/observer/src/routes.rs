//! From a request that was let in to an answer. [`crate::server`] calls [`Routes::answer`].
//!
//! Requests to look are `GET`; those that change what the program does are `POST`, and need `control`. An unknown name in a
//! query is ignored, and a value that means nothing there is an error, which names the values that do.

use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value as Json, json};
use squall_runtime::concurrency::stalls;
use squall_runtime::library::interference::{self, Action, Suspended};

use crate::answer::{Answer, Problem};
use crate::gate::Request;
use crate::view::View;
use crate::{answers, metrics, page};

/// Answers requests.
pub struct Routes {
    view: View,
    suspended: &'static Suspended,
}

/// How long an action waits for a worker.
const PATIENCE: Duration = Duration::from_secs(5);

impl Routes {
    /// The answers about a machine.
    pub fn new(view: View) -> Routes {
        // The machine lives as long as the process, and so does what its errands refer to.
        Routes { view, suspended: Box::leak(Box::default()) }
    }

    /// The answer to a request.
    pub fn answer(&self, request: &Request) -> Answer {
        match request.method.as_str() {
            "GET" => self.get(request),
            "POST" => self.post(request),
            _ => {
                let allowed = if action_at(&request.path).is_some() { "POST" } else { "GET" };
                Answer::not_allowed(allowed, "there is GET, and POST for actions")
            }
        }
    }

    fn get(&self, request: &Request) -> Answer {
        let view = &self.view;
        let answer = match request.path.as_str() {
            "/" => return page::page(&self.view.options.program),
            "/metrics" => return Answer::text(200, metrics::KIND, metrics::metrics(view)),
            "/api/overview" => Ok(answers::overview(view)),
            "/api/strands" => answers::strands(view, request),
            "/api/strand" => answers::strand(view, request),
            "/api/vats" => answers::vats(view, request),
            "/api/graph" => Ok(answers::graph(view)),
            "/api/objects" => Ok(answers::objects(view)),
            "/api/workers" => Ok(answers::workers(view)),
            "/api/transactions" => Ok(answers::transactions(view)),
            "/api/sandboxes" => answers::sandboxes(view, request),
            "/api/events" => answers::events(view, request),
            "/api/source" => answers::source(view, request),
            path if action_at(path).is_some() => {
                return Answer::not_allowed("POST", "this is an action: use POST");
            }
            _ => Err((404, "there is nothing here".into())),
        };
        respond(answer)
    }

    fn post(&self, request: &Request) -> Answer {
        let Some(action) = action_at(&request.path) else {
            return Answer::error(404, "there is no such action");
        };
        if !self.view.options.control {
            let reason = "actions need `--observe=PORT,control`, or `--observe=control`";
            return Answer::error(403, reason);
        }
        respond(self.act(action, request))
    }

    fn act(&self, action: At, request: &Request) -> Result<Json, Problem> {
        let number = || answers::number(request, "number");
        let is_done = match action {
            At::Dump => return Ok(json!({ "dump": stalls::picture(self.view.vm) })),
            At::Census => return Ok(answers::census(&self.view)),
            At::Sandbox => interference::end_sandbox(self.view.vm, number()?),
            At::Strand(action) => {
                let (done, is_done) = channel();
                interference::act(self.view.vm, self.suspended, number()?, action, done);
                is_done.recv_timeout(PATIENCE).map_err(|_| {
                    (503, "no worker has come to it: all are busy, or the program has ended".into())
                })?
            }
        };
        Ok(json!({ "done": is_done }))
    }
}

/// An action.
#[derive(Clone, Copy)]
enum At {
    Strand(Action),
    Sandbox,
    Dump,
    Census,
}

fn action_at(path: &str) -> Option<At> {
    Some(match path {
        "/api/strand/suspend" => At::Strand(Action::Suspend),
        "/api/strand/resume" => At::Strand(Action::Resume),
        "/api/strand/end" => At::Strand(Action::Terminate),
        "/api/sandbox/end" => At::Sandbox,
        "/api/dump" => At::Dump,
        "/api/census" => At::Census,
        _ => return None,
    })
}

fn respond(answer: Result<Json, Problem>) -> Answer {
    match answer {
        Ok(json) => Answer::json(200, &json),
        Err((status, reason)) => Answer::error(status, &reason),
    }
}
