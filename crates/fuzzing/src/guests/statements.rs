//! Statements, expressions and closures of generated programs. `guests` calls this module for the bodies of methods. A
//! depth of 0 gives the simplest.

use super::{METHODS, Scope, Writer};

/// How large products may grow: one operand is a remainder of this.
const FACTOR: usize = 1009;

/// Numbers at borders.
const SPECIAL: [&str; 8] = [
    "1152921504606846970",
    "(0 - 1152921504606846970)",
    "4611686018427387904",
    "0.25",
    "2.0",
    "1e300",
    "-3",
    "0.0",
];

impl Writer<'_, '_> {
    /// One to three statements, without a period at the end.
    pub(super) fn statements(&mut self, scope: &Scope, depth: usize) -> String {
        let count = 1 + self.choices.below(if depth > 1 { 3 } else { 1 });
        let all: Vec<String> = (0..count).map(|_| self.statement(scope, depth)).collect();
        all.join(". ")
    }

    /// The inside of a closure: perhaps with a variable of its own, and with an answer.
    fn inside(&mut self, scope: &Scope, depth: usize) -> String {
        if !self.choices.one_in(3) {
            let (statements, answer) = (self.statements(scope, depth), self.number(scope, depth));
            return format!("spend. {statements}. {answer}");
        }
        let first = self.number(scope, depth);
        let name = self.fresh('v');
        let mut scope = scope.with(&name);
        scope.assigned.push(name.clone());
        let (statements, answer) = (self.statements(&scope, depth), self.number(&scope, depth));
        format!("| {name} | spend. {name}:: {first}. {statements}. {answer}")
    }

    /// A closure with a parameter.
    pub(super) fn block(&mut self, scope: &Scope, depth: usize) -> String {
        let name = self.fresh('p');
        let inside = self.inside(&scope.with(&name), depth);
        format!("[:{name} | {inside} ]")
    }

    /// A closure without parameters.
    fn thunk(&mut self, scope: &Scope, depth: usize) -> String {
        let scope = Scope { is_in_closure: true, ..scope.clone() };
        format!("[ {} ]", self.inside(&scope, depth))
    }

    fn statement(&mut self, scope: &Scope, depth: usize) -> String {
        if depth == 0 {
            return self.assignment(scope, 0);
        }
        let deeper = depth - 1;
        match self.choices.below(12) {
            0..=2 => self.assignment(scope, depth),
            3 => {
                let (condition, then) = (self.condition(scope, depth), self.thunk(scope, deeper));
                format!("{condition} ifTrue: {then}")
            }
            4 => {
                let (condition, then) = (self.condition(scope, depth), self.thunk(scope, deeper));
                let otherwise = self.thunk(scope, deeper);
                format!("{condition} ifTrue: {then} ifFalse: {otherwise}")
            }
            5 | 6 => self.counted_loop(scope, deeper),
            7 => self.other_loop(scope, deeper),
            8 => {
                let (index, value) = (self.index(scope), self.number(scope, depth));
                format!("arr at: {index} put: {value}")
            }
            9 => {
                let class = self.choices.of(&["Exception", "ZeroDivide", "Spent"]);
                let (body, handler) = (self.thunk(scope, deeper), self.thunk(scope, deeper));
                format!("{body} on: {class} do: {handler}")
            }
            10 => {
                let (body, end) = (self.thunk(scope, deeper), self.thunk(scope, deeper));
                format!("{body} ensure: {end}")
            }
            _ => {
                let (condition, value) = (self.condition(scope, depth), self.number(scope, deeper));
                match scope.is_in_closure {
                    true => format!("{condition} ifTrue: [ ^ {value} ]"),
                    false => format!("{condition} ifTrue: [ Spent new signal ]"),
                }
            }
        }
    }

    fn counted_loop(&mut self, scope: &Scope, depth: usize) -> String {
        let counter = self.fresh('i');
        let inside = self.statements(&scope.counting(&counter), depth);
        let body = format!("[:{counter} | spend. {inside} ]");
        let limit = self.choices.below(10);
        match self.choices.below(6) {
            0 | 1 => format!("1 to: {limit} do: {body}"),
            2 => {
                let step = self.choices.of(&["2", "-1", "-3", "0.5"]);
                let first = self.choices.below(8);
                format!("{first} to: {limit} by: {step} do: {body}")
            }
            3 => format!("{limit} downTo: -2 do: {body}"),
            4 => {
                let limit = self.choices.of(&["1152921504606846975", "1152921504606846977"]);
                format!("1152921504606846972 to: {limit} do: {body}")
            }
            _ => {
                let limit = self.number(scope, 1);
                format!("1 to: {limit} do: {body}")
            }
        }
    }

    fn other_loop(&mut self, scope: &Scope, depth: usize) -> String {
        match self.choices.below(4) {
            0 => {
                let element = self.fresh('e');
                let inside = self.statements(&scope.with(&element), depth);
                format!("arr do: [:{element} | {inside} ]")
            }
            1 => {
                let index = self.fresh('i');
                let inside = self.statements(&scope.counting(&index), depth);
                format!("arr doIndexes: [:{index} | {inside} ]")
            }
            2 => format!("{} timesRepeat: {}", self.choices.below(5), self.thunk(scope, depth)),
            _ => {
                let counter = self.fresh('w');
                let (limit, step) =
                    (1 + self.choices.below(9), self.choices.of(&["1", "2", "0.5"]));
                let inside = self.statements(&scope.counting(&counter), depth);
                format!(
                    "[ | {counter} | {counter}:: 0. [ {counter} < {limit} ] whileTrue: \
                     [ spend. {inside}. {counter}:: {counter} + {step} ] ] value"
                )
            }
        }
    }

    fn assignment(&mut self, scope: &Scope, depth: usize) -> String {
        let mut value = self.expression(scope, depth);
        if !self.choices.one_in(3) {
            value = format!("{value} % 10007");
        }
        match self.choices.below(12) {
            0..=6 => {
                let name = self.choices.element(&scope.assigned).unwrap_or_else(|| "a".to_owned());
                format!("{name}:: {value}")
            }
            7..=9 => format!("{}:: {value}", self.choices.of(&["a", "b"])),
            10 => format!("other a: ({value})"),
            _ => match scope.block {
                (name, true) => format!("{name}:: {}", self.block(scope, depth.saturating_sub(1))),
                _ => "spend".to_owned(),
            },
        }
    }

    /// A number, by an expression that may do more than compute.
    pub(super) fn expression(&mut self, scope: &Scope, depth: usize) -> String {
        if depth == 0 || !self.choices.one_in(5) {
            return self.number(scope, depth);
        }
        let depth = depth - 1;
        let number = self.number(scope, depth);
        match self.choices.below(6) {
            0 => format!("({} value: {number})", self.block(scope, depth)),
            1 => format!("({} on: Exception do: [ {number} ])", self.thunk(scope, depth)),
            2 => {
                let (body, end) = (self.thunk(scope, depth), self.thunk(scope, depth));
                format!("({body} ensure: {end})")
            }
            3 => {
                let [sum, each] = [self.fresh('s'), self.fresh('e')];
                let inside = self.number(&scope.with(&sum).with(&each), depth);
                format!("(arr inject: {number} into: [:{sum} :{each} | {inside} ])")
            }
            4 => format!("(K{} new a: {number}; a)", self.choices.below(3)),
            _ => {
                let name = self.fresh('p');
                let inside = self.number(&scope.with(&name), depth);
                format!(
                    "(objL (| public a ::= {number}. |)( public go: {name} = ( a:: a + {name}. ^ {inside} ) ) go: {number})"
                )
            }
        }
    }

    /// An expression whose value is a number, as a rule.
    fn number(&mut self, scope: &Scope, depth: usize) -> String {
        if depth == 0 {
            return self.simple(scope);
        }
        let depth = depth - 1;
        match self.choices.below(16) {
            0..=4 => self.simple(scope),
            5..=10 => {
                let (left, right) = (self.number(scope, depth), self.number(scope, depth));
                match self.choices.below(6) {
                    0 | 1 => format!("({left} + {right})"),
                    2 => format!("({left} - {right})"),
                    3 => format!("({left} % {FACTOR} * {right})"),
                    4 => format!("({left} min: {right})"),
                    _ => format!("({left} // {right})"),
                }
            }
            11 => format!("({} % {})", self.number(scope, depth), self.choices.below(100)),
            12 => format!("(arr at: {})", self.index(scope)),
            13 => {
                let condition = self.condition(scope, depth);
                let (then, otherwise) = (self.number(scope, depth), self.number(scope, depth));
                format!("({condition} ifTrue: [ {then} ] ifFalse: [ {otherwise} ])")
            }
            14 => format!("({} value: {})", scope.block.0, self.number(scope, depth)),
            _ => self.call(scope, depth),
        }
    }

    fn simple(&mut self, scope: &Scope) -> String {
        match self.choices.below(8) {
            0..=3 => self.choices.element(&scope.numbers).unwrap_or_else(|| "a".to_owned()),
            4 => self.choices.of(&["a", "b"]).to_owned(),
            5 | 6 => self.choices.below(12).to_string(),
            _ => self.choices.of(&SPECIAL).to_owned(),
        }
    }

    /// The index of an element, nearly always.
    fn index(&mut self, scope: &Scope) -> String {
        let counter = self.choices.element(&scope.counters);
        match counter.filter(|_| !self.choices.one_in(20)) {
            Some(counter) => format!("({counter} % 4 + 1)"),
            None => (1 + self.choices.below(4)).to_string(),
        }
    }

    /// A call of a method with a greater number.
    fn call(&mut self, scope: &Scope, depth: usize) -> String {
        let least = scope.method + 1;
        let argument = self.number(scope, depth);
        if least >= METHODS {
            return argument;
        }
        let method = least + self.choices.below(METHODS - least);
        let receiver = self.choices.of(&["self", "self", "other", "K0 new", "K1 new", "K2 new"]);
        match self.choices.one_in(3) {
            true => {
                format!("(({receiver}) b{method}: {argument} do: {})", self.block(scope, depth))
            }
            false => {
                format!("(({receiver}) m{method}: {argument} with: {})", self.number(scope, depth))
            }
        }
    }

    fn condition(&mut self, scope: &Scope, depth: usize) -> String {
        let deeper = depth.saturating_sub(1);
        match self.choices.below(8) {
            6 if depth > 0 => {
                let operator = self.choices.of(&["and:", "or:"]);
                let (left, right) = (self.condition(scope, deeper), self.condition(scope, deeper));
                format!("({left} {operator} [ {right} ])")
            }
            7 if depth > 0 => format!("({} not)", self.condition(scope, deeper)),
            _ => {
                let operator = self.choices.of(&["<", ">", "<=", ">=", "=", "<>", "=="]);
                let (left, right) = (self.number(scope, deeper), self.number(scope, deeper));
                format!("({left} {operator} {right})")
            }
        }
    }
}
