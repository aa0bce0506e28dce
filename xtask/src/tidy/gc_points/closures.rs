//! Calls of closures. A closure's body is evaluated at the call, with the state there; [`super::calls`] calls this
//! module for each argument or local that is callable.

use std::rc::Rc;

use super::evaluate::Evaluator;
use super::flow::{Flow, Point, join};
use super::types::Type;
use super::values::{Callable, LocalId, Value};

impl<'p> Evaluator<'p> {
    /// Runs a callable once, or any number of times.
    pub fn run(
        &mut self,
        callable: &Callable<'p>,
        arguments: &[Value<'p>],
        line: usize,
        is_once: bool,
    ) -> Value<'p> {
        let before = self.flow.clone();
        let collections = self.collections;
        let callee = Value { callable: Some(callable.clone()), ..Value::unknown() };
        let mut value = self.call_value(&callee, arguments.to_vec(), line);
        if !is_once {
            let known = |flow: &Option<Flow>| flow.as_ref().map(|flow| flow.locals.clone());
            let after = join(before.clone(), self.flow.take());
            let is_new = known(&after) != known(&before);
            self.flow = after;
            if is_new {
                value = value.or(self.call_value(&callee, arguments.to_vec(), line));
            }
        }
        self.flow = join(before, self.flow.take());
        value.collects |= self.collections > collections;
        value
    }

    /// Runs a callable that is stored and called later: the collector may have run before the call.
    pub fn run_later(
        &mut self,
        callable: &Callable<'p>,
        arguments: &[Value<'p>],
        name: &str,
        line: usize,
    ) -> Value<'p> {
        let (flow, reaches) = (self.flow.clone(), self.summary.reaches.clone());
        self.collect(line, name, false);
        self.run(callable, arguments, line, true);
        self.flow = flow;
        self.summary.reaches = reaches;
        Value::unknown()
    }

    /// Evaluates a closure's body in the current state.
    pub fn run_closure(
        &mut self,
        closure: &'p syn::ExprClosure,
        names: &Rc<Vec<Vec<(String, LocalId)>>>,
        arguments: &[Value<'p>],
    ) -> Value<'p> {
        let start = self.locals.len();
        let outer = std::mem::replace(&mut self.scopes, names.to_vec());
        let loops = std::mem::take(&mut self.loops);
        self.scopes.push(Vec::new());
        self.enter_frame();
        for (index, pattern) in closure.inputs.iter().enumerate() {
            let argument = arguments.get(index).cloned().unwrap_or_else(Value::unknown);
            let argument = Value { place: None, ..argument };
            self.bind(pattern, argument);
        }
        self.tail(&closure.body);
        let frame = self.frames.pop().expect("the closure's frame is entered above");
        let last = frame.failures.as_ref().and_then(|flow| flow.last.clone());
        let is_pending = match (&frame.exits, &frame.failures) {
            (Some(flow), Some(failure)) => failure.epoch > flow.epoch,
            _ => false,
        };
        self.flow = match is_pending {
            true => frame.exits,
            false => join(frame.exits, frame.failures),
        };
        let pending = last.filter(|_| is_pending);
        self.scopes = outer;
        self.loops = loops;
        self.locals.truncate(start);
        self.flow.iter_mut().for_each(|flow| flow.locals.truncate(start));
        let declared = match &closure.output {
            syn::ReturnType::Type(_, ty) => self.program.lower_in_function(self.function, ty),
            syn::ReturnType::Default => Type::Unknown,
        };
        let value = frame.value.unwrap_or_else(Value::unknown);
        let ty = declared.or(value.ty);
        let bears = value.bears && self.program.may_bear(&ty);
        self.captured |= frame.captures;
        Value { ty, bears, place: None, pending, ..value }
    }

    /// Reports a series of words in which making one word may move the objects of the words before it.
    pub fn gathered(&mut self, line: usize) {
        let callee = Rc::from("making the next one");
        let name = "elements that are gathered".to_owned();
        self.findings.entry((line, name)).or_insert(Point { line, callee });
    }
}
