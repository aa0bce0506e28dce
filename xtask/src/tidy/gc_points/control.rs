//! Branches and loops: the part of the evaluator that copies the state at a branch, joins the states where branches
//! meet, and repeats loops. [`super::expressions`] evaluates control structures with it.

use syn::Expr;

use super::evaluate::{Evaluator, Loop, is_success, line_of};
use super::flow::{Flow, join};
use super::types::Type;
use super::values::Value;

/// The most rounds that a loop is evaluated.
const ROUNDS: usize = 4;

impl<'p> Evaluator<'p> {
    /// Evaluates a condition. Afterwards `flow` is the state if the condition holds; the result is the state if it does
    /// not. The names that patterns in the condition bind are defined in the current scope.
    fn condition(&mut self, condition: &'p Expr) -> Option<Flow> {
        match condition {
            Expr::Let(binding) => {
                let mut value = self.open(&binding.expr);
                if !is_success(&binding.pat) {
                    value = self.settled(value);
                }
                let before = self.flow.clone();
                value = self.settled(value);
                self.refine(&binding.expr, Some(&binding.pat), false);
                let fails = std::mem::replace(&mut self.flow, before);
                self.refine(&binding.expr, Some(&binding.pat), true);
                self.bind(&binding.pat, value);
                fails
            }
            Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_)) => {
                let first = self.condition(&binary.left);
                let second = self.condition(&binary.right);
                join(first, second)
            }
            Expr::Paren(inner) => self.condition(&inner.expr),
            Expr::Unary(not) if matches!(not.op, syn::UnOp::Not(_)) => {
                let fails = self.condition(&not.expr);
                std::mem::replace(&mut self.flow, fails)
            }
            other => {
                let value = self.open(other);
                let before = self.flow.clone();
                self.settled(value);
                self.refine(other, None, false);
                let fails = std::mem::replace(&mut self.flow, before);
                self.refine(other, None, true);
                fails
            }
        }
    }

    /// An `if` in tail position: its value is the result of the function or closure.
    pub fn tail_branch(&mut self, branch: &'p syn::ExprIf) {
        let start = self.locals.len();
        let fails = self.scoped(|this| {
            let fails = this.condition(&branch.cond);
            this.tail_block(&branch.then_branch);
            fails
        });
        self.flow = fails;
        self.flow.iter_mut().for_each(|flow| flow.locals.truncate(start));
        match &branch.else_branch {
            Some((_, otherwise)) => self.tail(otherwise),
            None => self.leave_by(Value::unit()),
        }
    }

    pub fn branch(&mut self, branch: &'p syn::ExprIf) -> Value<'p> {
        let (then, fails) = self.scoped(|this| {
            let fails = this.condition(&branch.cond);
            (this.block(&branch.then_branch), fails)
        });
        let start = self.locals.len();
        let after_then = std::mem::replace(&mut self.flow, fails);
        self.flow.iter_mut().for_each(|flow| flow.locals.truncate(start));
        let otherwise = match &branch.else_branch {
            Some((_, otherwise)) => self.expression(otherwise),
            None => Value::unit(),
        };
        self.meet(after_then, then, otherwise)
    }

    /// Joins another branch's state and value with the current ones.
    fn meet(&mut self, flow: Option<Flow>, value: Value<'p>, own: Value<'p>) -> Value<'p> {
        let value = match (&flow, &self.flow) {
            (Some(_), Some(_)) => value.or(own),
            (Some(_), None) => value,
            _ => own,
        };
        self.flow = join(flow, self.flow.take());
        value
    }

    /// Evaluates the cases of a `match`; `case` evaluates each body.
    fn cases(&mut self, choice: &'p syn::ExprMatch, mut case: impl FnMut(&mut Self, &'p Expr)) {
        let subject = self.open(&choice.expr);
        let mut next = self.flow.clone();
        for arm in &choice.arms {
            self.flow = next.clone();
            self.scoped(|this| {
                let subject = match is_success(&arm.pat) {
                    true => Value { pending: None, ..subject.clone() },
                    false => this.settled(subject.clone()),
                };
                this.refine(&choice.expr, Some(&arm.pat), true);
                this.bind(&arm.pat, subject);
                if let Some((_, guard)) = &arm.guard {
                    let fails = this.condition(guard);
                    next = join(next.take(), fails);
                }
                case(this, &arm.body);
            });
        }
        self.flow = None;
    }

    /// A `match` in tail position: its value is the result of the function or closure.
    pub fn tail_choice(&mut self, choice: &'p syn::ExprMatch) {
        self.cases(choice, |this, body| this.tail(body));
    }

    pub fn choice(&mut self, choice: &'p syn::ExprMatch) -> Value<'p> {
        let mut after = None;
        let mut result: Option<Value<'p>> = None;
        let start = self.locals.len();
        self.cases(choice, |this, body| {
            let value = this.expression(body);
            if this.flow.is_some() {
                result = Some(match result.take() {
                    Some(other) => other.or(value),
                    None => value,
                });
            }
            after = join(after.take(), this.flow.take());
        });
        self.flow = after;
        self.flow.iter_mut().for_each(|flow| flow.locals.truncate(start));
        result.unwrap_or_else(Value::unknown)
    }

    pub fn endless(&mut self, endless: &'p syn::ExprLoop) -> Value<'p> {
        self.repeat(endless.label.as_ref(), |this| {
            this.block(&endless.body);
            None
        })
    }

    pub fn while_loop(&mut self, repeated: &'p syn::ExprWhile) -> Value<'p> {
        self.repeat(repeated.label.as_ref(), |this| {
            this.scoped(|this| {
                let fails = this.condition(&repeated.cond);
                this.block(&repeated.body);
                fails
            })
        })
    }

    pub fn for_loop(&mut self, repeated: &'p syn::ExprForLoop) -> Value<'p> {
        let elements = self.expression(&repeated.expr);
        let line = line_of(&repeated.expr);
        self.scoped(|this| {
            let item = elements.ty.item();
            let bears = elements.bears;
            let hidden = Value { place: None, ..elements };
            this.define("the elements of a loop", hidden);
            this.repeat(repeated.label.as_ref(), |this| {
                let ends = this.flow.clone();
                this.local("the elements of a loop", line);
                let value = this.value(item.clone(), bears);
                this.scoped(|this| {
                    this.bind(&repeated.pat, value);
                    this.block(&repeated.body);
                });
                ends
            })
        })
    }

    /// Evaluates a loop until its state is stable. `round` evaluates the loop once, and answers the state in which the
    /// loop ends at its head.
    fn repeat(
        &mut self,
        label: Option<&syn::Label>,
        mut round: impl FnMut(&mut Self) -> Option<Flow>,
    ) -> Value<'p> {
        let label = label.map(|label| label.name.ident.to_string());
        let mut entry = self.flow.clone();
        let start = self.locals.len();
        for rounds in 1.. {
            self.flow = entry.clone();
            let label = label.clone();
            self.loops.push(Loop { label, breaks: None, value: None, again: None });
            let ends = round(self);
            let own = self.loops.pop().expect("the loop is pushed above");
            let mut next = join(entry.clone(), join(self.flow.take(), own.again));
            next.iter_mut().for_each(|flow| flow.locals.truncate(start));
            let is_same = match (&next, &entry) {
                (Some(next), Some(entry)) => next.locals == entry.locals,
                (next, entry) => next.is_none() == entry.is_none(),
            };
            if is_same || rounds == ROUNDS {
                self.flow = join(ends, own.breaks);
                self.flow.iter_mut().for_each(|flow| flow.locals.truncate(start));
                return own.value.unwrap_or_else(Value::unit);
            }
            entry = next;
        }
        unreachable!("the rounds have an end")
    }

    pub fn break_from(&mut self, broken: &'p syn::ExprBreak) {
        let value = broken.expr.as_ref().map(|value| self.expression(value));
        let Some(flow) = self.flow.take() else { return };
        let Some(index) = self.loop_named(broken.label.as_ref()) else { return };
        let target = &mut self.loops[index];
        target.breaks = join(target.breaks.take(), Some(flow));
        if let Some(value) = value {
            target.value = Some(match target.value.take() {
                Some(other) => other.or(value),
                None => value,
            });
        }
    }

    pub fn continue_with(&mut self, again: &'p syn::ExprContinue) {
        let Some(flow) = self.flow.take() else { return };
        let Some(index) = self.loop_named(again.label.as_ref()) else { return };
        let target = &mut self.loops[index];
        target.again = join(target.again.take(), Some(flow));
    }

    fn loop_named(&self, label: Option<&syn::Lifetime>) -> Option<usize> {
        match label {
            None => self.loops.len().checked_sub(1),
            Some(label) => {
                let name = label.ident.to_string();
                self.loops.iter().rposition(|own| own.label.as_ref() == Some(&name))
            }
        }
    }

    /// A block with a label, which `break` may leave.
    pub fn labelled(&mut self, block: &'p syn::ExprBlock) -> Value<'p> {
        let label = block.label.as_ref().map(|label| label.name.ident.to_string());
        if label.is_none() {
            return self.block(&block.block);
        }
        self.loops.push(Loop { label, breaks: None, value: None, again: None });
        let value = self.block(&block.block);
        let own = self.loops.pop().expect("the block is pushed above");
        self.meet(own.breaks, own.value.unwrap_or_else(Value::unit), value)
    }

    /// The operator `?`: leaves the function with the failure, and answers the value of the success.
    pub fn attempt(&mut self, attempt: &'p syn::ExprTry) -> Value<'p> {
        let mut value = self.open(&attempt.expr);
        let failure = match value.ty.peeled() {
            Type::Foreign(name, _) if name == "Option" => Value::unknown(),
            _ => {
                let failure = vec![Type::Unknown, value.ty.argument(1)];
                self.value(Type::Foreign("Result".to_owned(), failure), value.bears)
            }
        };
        let before = self.flow.clone();
        if let (Some(point), Some(flow)) = (value.pending.take(), &mut self.flow) {
            flow.collect(&point);
            flow.is_own = true;
            self.summary.reaches.get_or_insert(point);
            self.collections += 1;
        }
        self.leave_by(Value { fails: true, ..failure });
        self.flow = before;
        let ty = match value.ty.peeled() {
            Type::Foreign(name, _) if name == "Option" || name == "Result" => value.ty.argument(0),
            _ => Type::Unknown,
        };
        let bears = value.bears && self.program.may_bear(&ty);
        Value { ty, bears, place: None, ..value }
    }
}
