//! Goes through the body of a function in the order in which it runs, and keeps account of the words
//! that its locals and intermediate values hold.
//!
//! Protocol: `flow` is what is known at the point that is being looked at, nothing if that cannot be
//! reached. A branch copies it, and where ways meet they are joined; loops are gone through until
//! nothing new is learned. A local's index counts from the outermost scope; scopes that end give their
//! indices back.

use std::collections::BTreeMap;
use std::rc::Rc;

use syn::spanned::Spanned;
use syn::{Block, Expr, Pat, Stmt};

use super::flow::{Flow, LocalFlow, Point, join};
use super::program::{Function, FunctionId, Program};
use super::summaries::{Bearing, Summary};
use super::types::Type;
use super::values::{Callable, LocalId, Value};

/// Goes through one function.
pub struct Evaluator<'p> {
    pub program: &'p Program,
    pub summaries: &'p [Summary],
    pub id: FunctionId,
    pub function: &'p Function,
    pub flow: Option<Flow>,
    pub locals: Vec<Local<'p>>,
    pub scopes: Vec<Vec<(String, LocalId)>>,
    pub loops: Vec<Loop<'p>>,
    /// The function, and the closures inside of it that run.
    pub frames: Vec<Frame<'p>>,
    /// What was found out about the function.
    pub summary: Summary,
    /// Words that are used although they may be stale: by line and name.
    pub findings: BTreeMap<(usize, String), Point>,
    /// How many calls may have collected so far.
    pub collections: usize,
    /// Parameters of others that are given functions which may let the collector run.
    pub lends: Vec<(FunctionId, usize)>,
    /// Whether a closure that was run uses words of what is around it.
    pub captured: bool,
}

/// A local.
pub struct Local<'p> {
    pub name: String,
    pub ty: Type,
    pub callable: Option<Callable<'p>>,
    /// Whether getting its elements may collect.
    pub collects: bool,
}

/// What was learned at the ends of a function or closure.
pub struct Frame<'p> {
    pub exits: Option<Flow>,
    /// The same where it answers `Err` or `None`.
    pub failures: Option<Flow>,
    pub value: Option<Value<'p>>,
    /// Locals before this one belong to what is around the closure.
    pub first_local: LocalId,
    /// Whether it uses words of what is around it.
    pub captures: bool,
}

/// A loop that is gone through.
pub struct Loop<'p> {
    pub label: Option<String>,
    pub breaks: Option<Flow>,
    pub value: Option<Value<'p>>,
    /// What is known where it begins anew.
    pub again: Option<Flow>,
}

/// What is found out about a function, if its parameters hold words or do not.
pub fn evaluate<'p>(
    program: &'p Program,
    summaries: &'p [Summary],
    id: FunctionId,
    parameters_bear: bool,
) -> Option<Evaluator<'p>> {
    let function = &program.functions[id.0];
    let body = function.body.as_deref()?;
    let mut evaluator = Evaluator {
        program,
        summaries,
        id,
        function,
        flow: Some(Flow::default()),
        locals: Vec::new(),
        scopes: vec![Vec::new()],
        loops: Vec::new(),
        frames: Vec::new(),
        summary: Summary::of(function),
        findings: BTreeMap::new(),
        collections: 0,
        lends: Vec::new(),
        captured: false,
    };
    evaluator.parameters(parameters_bear);
    evaluator.enter_frame();
    evaluator.scopes.push(Vec::new());
    evaluator.tail_block(body);
    let frame = evaluator.frames.pop().expect("the function's frame is entered above");
    evaluator.summary.succeeds = frame.exits.is_some_and(|flow| flow.is_own);
    let bears = frame.value.is_some_and(|value| value.bears);
    let bears = bears && program.may_bear(&function.output);
    evaluator.summary.bears = match (bears, parameters_bear) {
        (false, _) => Bearing::Never,
        (true, true) => Bearing::FromArguments,
        (true, false) => Bearing::Always,
    };
    Some(evaluator)
}

impl<'p> Evaluator<'p> {
    fn parameters(&mut self, bear: bool) {
        let function = self.function;
        for (index, input) in function.signature.inputs.iter().enumerate() {
            let ty = function.inputs[index].clone();
            let bears = bear && self.program.bears(&ty);
            let is_callable = matches!(ty.peeled(), Type::Function(_));
            let callable = is_callable.then_some(Callable::Parameter(index));
            let value = Value { bears, callable, ..Value::plain(ty) };
            match input {
                syn::FnArg::Receiver(_) => _ = self.define("self", value),
                syn::FnArg::Typed(typed) => self.bind(&typed.pat, value),
            }
        }
    }

    pub fn enter_frame(&mut self) {
        let first_local = self.locals.len();
        self.frames.push(Frame {
            exits: None,
            failures: None,
            value: None,
            first_local,
            captures: false,
        });
    }

    /// The function or closure ends here with a value.
    pub fn leave_by(&mut self, value: Value<'p>) {
        let Some(flow) = self.flow.take() else { return };
        let frame = self.frames.last_mut().expect("a body is in a frame");
        if let Some(point) = &value.pending {
            self.summary.reaches.get_or_insert_with(|| point.clone());
            let mut failure = flow.clone();
            failure.collect(point);
            failure.is_own = true;
            frame.failures = join(frame.failures.take(), Some(failure));
        }
        match value.fails {
            true => frame.failures = join(frame.failures.take(), Some(flow)),
            false => frame.exits = join(frame.exits.take(), Some(flow)),
        }
        frame.value = Some(match frame.value.take() {
            Some(other) => other.or(value),
            None => value,
        });
    }

    /// A value of a type, if it can hold words at all.
    pub fn value(&self, ty: Type, bears: bool) -> Value<'p> {
        let bears = bears && self.program.may_bear(&ty);
        Value { bears, ..Value::plain(ty) }
    }

    pub fn define(&mut self, name: &str, value: Value<'p>) -> LocalId {
        let id = self.locals.len();
        let bears = value.bears && self.program.may_bear(&value.ty);
        let Value { ty, callable, collects, .. } = value;
        self.locals.push(Local { name: name.to_owned(), ty, callable, collects });
        self.scopes.last_mut().expect("there is a scope").push((name.to_owned(), id));
        if let Some(flow) = &mut self.flow {
            flow.locals.resize(id, LocalFlow::default());
            flow.locals.push(LocalFlow { bears, stale: None });
        }
        id
    }

    /// The local of this name, and its value.
    pub fn local(&mut self, name: &str, line: usize) -> Option<Value<'p>> {
        let mut scopes = self.scopes.iter().rev();
        let id = scopes
            .find_map(|scope| scope.iter().rev().find(|(own, _)| own == name).map(|(_, id)| *id))?;
        let local = self.locals.get(id)?;
        let ty = local.ty.clone();
        let (callable, collects) = (local.callable.clone(), local.collects);
        let name = local.name.clone();
        let state = self.flow.as_mut().and_then(|flow| flow.locals.get_mut(id));
        let bears = state.as_ref().is_some_and(|state| state.bears);
        // One finding is enough for each local.
        let stale = state.and_then(|state| state.stale.take());
        if let Some(point) = stale {
            self.findings.entry((line, name)).or_insert(point);
        }
        if bears {
            let frames = self.frames.iter_mut();
            frames.filter(|frame| id < frame.first_local).for_each(|frame| frame.captures = true);
        }
        Some(Value { bears, collects, callable, place: Some(id), ..Value::plain(ty) })
    }

    /// A call at which the collector may run. It is this function's if it does not depend on what the
    /// function is given.
    pub fn collect(&mut self, line: usize, callee: &str, is_own: bool) {
        let Some(flow) = &mut self.flow else { return };
        let point = Point { line, callee: Rc::from(callee) };
        flow.collect(&point);
        flow.is_own |= is_own;
        self.collections += 1;
        if is_own && self.summary.reaches.is_none() {
            self.summary.reaches = Some(point);
        }
    }

    /// Evaluates an expression, and looks at its value at once.
    pub fn expression(&mut self, expression: &'p Expr) -> Value<'p> {
        let value = self.open(expression);
        self.settled(value)
    }

    /// A value that is looked at without regard to whether it is a failure.
    pub fn settled(&mut self, mut value: Value<'p>) -> Value<'p> {
        if let Some(point) = value.pending.take() {
            self.collect(point.line, &point.callee, true);
        }
        value
    }

    /// The body of a function or closure, whose value is its answer.
    pub fn tail(&mut self, expression: &'p Expr) {
        match expression {
            Expr::Block(block) if block.label.is_none() => self.tail_block(&block.block),
            Expr::Unsafe(block) => self.tail_block(&block.block),
            Expr::If(branch) => self.tail_branch(branch),
            Expr::Match(choice) => self.tail_choice(choice),
            Expr::Paren(inner) => self.tail(&inner.expr),
            other => {
                let value = self.open(other);
                self.leave_by(value);
            }
        }
    }

    pub fn tail_block(&mut self, block: &'p Block) {
        self.scoped(|this| match block.stmts.split_last() {
            Some((Stmt::Expr(last, None), before)) => {
                before.iter().for_each(|statement| _ = this.statement(statement));
                this.tail(last);
            }
            _ => {
                block.stmts.iter().for_each(|statement| _ = this.statement(statement));
                this.leave_by(Value::unit());
            }
        });
    }

    /// How many calls may have collected on the way here.
    pub fn epoch(&self) -> usize {
        self.flow.as_ref().map_or(0, |flow| flow.epoch)
    }

    /// The values of operands, which must all be valid when the last one is there.
    pub fn operands(&mut self, operands: impl IntoIterator<Item = &'p Expr>) -> Vec<Value<'p>> {
        let mut values = Vec::new();
        for operand in operands {
            let value = self.expression(operand);
            values.push((value, self.epoch(), line_of(operand)));
        }
        values
            .into_iter()
            .map(|(value, epoch, line)| self.still_valid(value, epoch, line))
            .collect()
    }

    /// Reports a value that was there before the collector may have run.
    pub fn still_valid(&mut self, value: Value<'p>, epoch: usize, line: usize) -> Value<'p> {
        if value.bears
            && let Some(flow) = &self.flow
            && flow.epoch > epoch
            && let Some(point) = flow.last.clone()
        {
            let name = match value.place.and_then(|id| self.locals.get(id)) {
                Some(local) => local.name.clone(),
                None => "an intermediate value".to_owned(),
            };
            self.findings.entry((line, name)).or_insert(point);
        }
        value
    }

    /// Runs something in a scope of its own.
    pub fn scoped<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let start = self.locals.len();
        self.scopes.push(Vec::new());
        let result = work(self);
        self.scopes.pop();
        self.locals.truncate(start);
        self.flow.iter_mut().for_each(|flow| flow.locals.truncate(start));
        result
    }

    pub fn block(&mut self, block: &'p Block) -> Value<'p> {
        self.scoped(|this| {
            let mut last = Value::unit();
            for statement in &block.stmts {
                last = this.statement(statement);
            }
            last
        })
    }

    fn statement(&mut self, statement: &'p Stmt) -> Value<'p> {
        match statement {
            Stmt::Local(local) => self.declaration(local),
            Stmt::Expr(expression, semicolon) => {
                let value = self.expression(expression);
                return if semicolon.is_some() { Value::unit() } else { value };
            }
            Stmt::Item(_) | Stmt::Macro(_) => {}
        }
        Value::unit()
    }

    fn declaration(&mut self, local: &'p syn::Local) {
        let declared = match &local.pat {
            Pat::Type(pattern) => self.program.lower_in_function(self.function, &pattern.ty),
            _ => Type::Unknown,
        };
        let Some(initializer) = &local.init else {
            return self.bind(&local.pat, Value::plain(declared));
        };
        let mut value = self.open(&initializer.expr);
        if !is_success(&local.pat) {
            value = self.settled(value);
        }
        if let Some((_, otherwise)) = &initializer.diverge {
            let before = self.flow.clone();
            value = self.settled(value);
            self.refine(&initializer.expr, Some(&local.pat), false);
            self.expression(otherwise);
            self.flow = before;
            self.refine(&initializer.expr, Some(&local.pat), true);
        }
        let ty = declared.or(value.ty);
        let bears = value.bears && self.program.may_bear(&ty);
        self.bind(&local.pat, Value { ty, bears, place: None, ..value });
    }
}

/// Whether a pattern stands for what is no failure.
pub fn is_success(pattern: &Pat) -> bool {
    match pattern {
        Pat::TupleStruct(inner) => inner.path.is_ident("Some") || inner.path.is_ident("Ok"),
        _ => false,
    }
}

/// The line on which something begins.
pub fn line_of(node: &impl Spanned) -> usize {
    node.span().start().line
}
