//! The evaluator of one function: it walks through the body in the order of execution and tracks which locals and
//! intermediate values hold words. [`super::summaries`] runs it until the summaries of all functions are stable;
//! [`super::findings`] runs it once more for the findings.
//!
//! Protocol: `flow` is the state at the point under evaluation, and `None` if this point cannot be reached. A branch
//! copies the state, and states are joined where branches meet. Loops are repeated until their state is stable. The
//! index of a local counts from the outermost scope; the end of a scope releases the indices of its locals.

use std::collections::BTreeMap;
use std::rc::Rc;

use syn::spanned::Spanned;
use syn::{Block, Expr, Pat, Stmt};

use super::flow::{Flow, LocalFlow, Point, join};
use super::program::{Function, FunctionId, Program};
use super::summaries::{Bearing, Summary};
use super::types::Type;
use super::values::{Callable, LocalId, Value};

/// The state of the evaluation of one function.
pub struct Evaluator<'p> {
    pub program: &'p Program,
    pub summaries: &'p [Summary],
    pub id: FunctionId,
    pub function: &'p Function,
    pub flow: Option<Flow>,
    pub locals: Vec<Local<'p>>,
    pub scopes: Vec<Vec<(String, LocalId)>>,
    pub loops: Vec<Loop<'p>>,
    /// The function, and the closures in it that are being evaluated, innermost last.
    pub frames: Vec<Frame<'p>>,
    /// The results about the function.
    pub summary: Summary,
    /// Uses of words that may be stale, by line and name.
    pub findings: BTreeMap<(usize, String), Point>,
    /// The number of evaluated calls that may collect.
    pub collections: usize,
    /// Parameters of called functions that are given a function which may let the collector run.
    pub lends: Vec<(FunctionId, usize)>,
    /// Whether an evaluated closure uses words of the scopes around it.
    pub captured: bool,
}

/// A local variable.
pub struct Local<'p> {
    pub name: String,
    pub ty: Type,
    pub callable: Option<Callable<'p>>,
    /// Whether getting an element of it may collect.
    pub collects: bool,
}

/// The states and values at the exits of a function or closure.
pub struct Frame<'p> {
    pub exits: Option<Flow>,
    /// The state at the exits that answer `Err` or `None`.
    pub failures: Option<Flow>,
    pub value: Option<Value<'p>>,
    /// Locals before this one belong to the scopes around the closure.
    pub first_local: LocalId,
    /// Whether the closure uses words of the scopes around it.
    pub captures: bool,
}

/// A loop under evaluation.
pub struct Loop<'p> {
    pub label: Option<String>,
    pub breaks: Option<Flow>,
    pub value: Option<Value<'p>>,
    /// The state where the loop begins anew.
    pub again: Option<Flow>,
}

/// Evaluates a function. `parameters_bear` says whether its parameters hold words. Answers nothing for a function
/// without a body.
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

    /// The function or closure ends here with this value.
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

    /// A value of a type. It bears words only if values of the type can.
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

    /// The value of the local of this name.
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
        // One finding for each local is enough.
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

    /// A call at which the collector may run. `is_own` says that this does not depend on the functions that are given
    /// as parameters.
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

    /// Evaluates an expression whose result is tested at once: a pending GC point takes place.
    pub fn expression(&mut self, expression: &'p Expr) -> Value<'p> {
        let value = self.open(expression);
        self.settled(value)
    }

    /// The same value without its pending GC point, which takes place here whether the value is a failure or not.
    pub fn settled(&mut self, mut value: Value<'p>) -> Value<'p> {
        if let Some(point) = value.pending.take() {
            self.collect(point.line, &point.callee, true);
        }
        value
    }

    /// An expression in tail position of a function or closure.
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

    /// The number of calls that may have collected on the way to this point.
    pub fn epoch(&self) -> usize {
        self.flow.as_ref().map_or(0, |flow| flow.epoch)
    }

    /// The values of operands. All of them must be valid when the last one has been evaluated.
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

    /// Reports a value that is used although the collector may have run since it was evaluated.
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

    /// Does something in a new scope.
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
        let value = self.open_block(block);
        self.settled(value)
    }

    /// A block whose value may be a failure for the code around the block, too.
    pub fn open_block(&mut self, block: &'p Block) -> Value<'p> {
        self.scoped(|this| {
            let mut last = Value::unit();
            for (index, statement) in block.stmts.iter().enumerate() {
                last = match statement {
                    Stmt::Expr(value, None) if index + 1 == block.stmts.len() => this.open(value),
                    _ => this.statement(statement),
                };
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

/// Whether a pattern matches a success only.
pub fn is_success(pattern: &Pat) -> bool {
    match pattern {
        Pat::TupleStruct(inner) => inner.path.is_ident("Some") || inner.path.is_ident("Ok"),
        _ => false,
    }
}

/// The line on which a piece of syntax begins.
pub fn line_of(node: &impl Spanned) -> usize {
    node.span().start().line
}
