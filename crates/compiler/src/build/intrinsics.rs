//! Primitives that are operations of the representation, by name. `sends` looks primitives and operators up here.
//!
//! Numbers: small integers and immediate doubles are computed here, as the interpreter does without a send; all other
//! operands and results leave the unit. A site whose feedback shows such operands sends.

use squall_bytecode::instructions::Opcode;

use crate::build::body::Body;
use crate::build::sends::{Intrinsic, Message};
use crate::facts::{Action, SiteFacts};
use crate::ir::entities::{Block, FunctionRef, PrimitiveRef, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Range, Type};
use crate::ir::values::{Condition, Place};
use crate::passes::kinds;
use crate::words::{self, layouts};

/// The primitive that compares objects.
const IDENTICAL: &str = "identical:to:";

/// Small integers below this magnitude convert to doubles exactly.
const EXACT: i64 = 1 << 53;

/// An operator on two numbers.
#[derive(Clone, Copy)]
enum Operator {
    /// Integers by the first operation, doubles by the second.
    Arithmetic(Op, Op),
    /// On both kinds.
    Comparison(Condition),
    /// The double quotient.
    Divide,
    /// On integers, with a divisor that is not zero.
    Division(Op),
    /// On integers.
    Bits(Op),
}

fn operator(name: &str) -> Option<Operator> {
    use Operator::*;
    Some(match name {
        "number:add:" => Arithmetic(Op::AddSmall, Op::FloatAdd),
        "number:subtract:" => Arithmetic(Op::SubtractSmall, Op::FloatSubtract),
        "number:multiply:" => Arithmetic(Op::MultiplySmall, Op::FloatMultiply),
        "number:dividedBy:" => Divide,
        "integer:quotient:" => Division(Op::Quotient),
        "integer:remainder:" => Division(Op::Remainder),
        "number:modulo:" => Division(Op::Modulo),
        "integer:and:" => Bits(Op::And),
        "integer:or:" => Bits(Op::Or),
        "integer:xor:" => Bits(Op::Xor),
        "number:lessThan:" => Comparison(Condition::Less),
        "number:atMost:" => Comparison(Condition::LessOrEqual),
        "number:greaterThan:" => Comparison(Condition::Greater),
        "number:atLeast:" => Comparison(Condition::GreaterOrEqual),
        "number:equals:" => Comparison(Condition::Equal),
        "number:differs:" => Comparison(Condition::NotEqual),
        _ => return None,
    })
}

/// Operators.
impl Body<'_, '_> {
    /// The result of a message that an operator on numbers answers.
    pub fn operator(&mut self, message: &Message, facts: &SiteFacts) -> Option<Value> {
        let names = facts.seen.iter().filter_map(|each| match each.action {
            Action::Primitive(primitive) => Some(self.builder.facts.primitive(primitive)),
            _ => None,
        });
        let name = names.into_iter().find(|name| operator(name).is_some())?.to_owned();
        let numbers = [layouts::INTEGER, layouts::DOUBLE];
        if facts.seen.iter().any(|each| !numbers.contains(&each.layout)) {
            return None;
        }
        self.operator_named(&name, message, facts)
    }

    /// The result of the operator that a primitive of this name is.
    pub fn operator_named(
        &mut self,
        name: &str,
        message: &Message,
        facts: &SiteFacts,
    ) -> Option<Value> {
        let operator = operator(name)?;
        let [left, right] = message.operands[..] else { return None };
        let numbers = facts.numbers;
        let known = |body: &Self, kind| [left, right].iter().all(|&v| body.kind(v).is(kind));
        if known(self, Type::INTEGER) {
            return self.integers(operator, left, right, facts);
        }
        let number = Type::INTEGER.join(Type::DOUBLE);
        let is_known = known(self, number);
        if numbers.others || facts.distrusts {
            return None;
        }
        let saw_doubles = facts.seen.iter().any(|each| each.layout == layouts::DOUBLE);
        let has_double = [left, right].iter().any(|&v| self.kind(v).is(Type::DOUBLE));
        if numbers.doubles || numbers.mixed || saw_doubles || has_double {
            let saw_integers = facts.seen.iter().any(|each| each.layout == layouts::INTEGER);
            let has_integers = numbers.mixed || saw_integers;
            if has_integers && !is_known && !self.computes_doubles(operator, has_double) {
                return None;
            }
            return self.doubles(operator, left, right, has_integers);
        }
        self.integers(operator, left, right, facts)
    }

    /// Whether an operator converts all operands to doubles, if one or none is known to be a double.
    fn computes_doubles(&self, operator: Operator, has_double: bool) -> bool {
        match operator {
            Operator::Divide => true,
            Operator::Arithmetic(..) => has_double,
            _ => false,
        }
    }

    fn integers(
        &mut self,
        operator: Operator,
        left: Value,
        right: Value,
        facts: &SiteFacts,
    ) -> Option<Value> {
        if facts.numbers.overflow && !matches!(operator, Operator::Comparison(_)) {
            return None;
        }
        let (a, b) = (self.raw_integer(left), self.raw_integer(right));
        let result = match operator {
            Operator::Arithmetic(op, _) => self.guard(op, &[a, b]),
            Operator::Bits(op) => self.emit(op, &[a, b]),
            Operator::Comparison(condition) => {
                let result = self.emit(Op::Compare(condition), &[a, b]);
                return Some(self.emit(Op::TagBoolean, &[result]));
            }
            Operator::Division(op) => {
                self.check_divisor(b);
                let result = self.emit(op, &[a, b]);
                // The least small integer divided by minus one is no small integer.
                let zero = self.integer(0);
                self.guard(Op::AddSmall, &[result, zero])
            }
            Operator::Divide => {
                self.check_divisor(b);
                let (a, b) = (self.emit(Op::ToDouble, &[a]), self.emit(Op::ToDouble, &[b]));
                let result = self.emit(Op::FloatDivide, &[a, b]);
                return Some(self.double_word(result));
            }
        };
        Some(self.emit(Op::TagInteger, &[result]))
    }

    fn check_divisor(&mut self, divisor: Value) {
        let zero = self.integer(0);
        let is_zero = self.emit(Op::Compare(Condition::Equal), &[divisor, zero]);
        self.check(Op::GuardNot, is_zero);
    }

    /// The raw integer of a word, which a guard shows to be one.
    fn raw_integer(&mut self, value: Value) -> Value {
        let guarded = self.guard(Op::GuardInteger, &[value]);
        self.refine(value, guarded);
        self.emit(Op::UntagInteger, &[guarded])
    }

    /// An operator on doubles. An operand may be an integer if its type says so, or if there were integers.
    fn doubles(
        &mut self,
        operator: Operator,
        left: Value,
        right: Value,
        has_integers: bool,
    ) -> Option<Value> {
        if let Operator::Comparison(condition) = operator {
            if ![left, right].iter().all(|&value| self.is_exact(value)) {
                return None;
            }
            let (a, b) = (self.raw_double(left), self.raw_double(right));
            let result = self.emit(Op::FloatCompare(condition), &[a, b]);
            return Some(self.emit(Op::TagBoolean, &[result]));
        }
        let op = match operator {
            Operator::Arithmetic(_, op) => op,
            Operator::Divide => Op::FloatDivide,
            _ => return None,
        };
        let (a, b) = match has_integers {
            true => (self.raw_number(left), self.raw_number(right)),
            false => (self.raw_double(left), self.raw_double(right)),
        };
        let result = self.emit(op, &[a, b]);
        Some(self.double_word(result))
    }

    /// The word of a double, which a guard shows to be immediate.
    fn double_word(&mut self, raw: Value) -> Value {
        let immediate = self.guard(Op::GuardImmediate, &[raw]);
        self.emit(Op::TagDouble, &[immediate])
    }

    /// Whether [`Body::doubles_first`] pays.
    pub fn has_doubles_first(&self, primitive: PrimitiveRef, facts: &SiteFacts) -> bool {
        let has_case = operator(self.builder.facts.primitive(primitive))
            .is_some_and(|operator| !matches!(operator, Operator::Division(_) | Operator::Bits(_)));
        has_case && (facts.numbers.doubles || facts.numbers.mixed)
    }

    /// Begins with the case that both operands are immediate doubles, if it pays: answers where it ends with its value.
    /// Results that need a box are `slow`. The current block is then that of all other operands.
    pub fn doubles_first(
        &mut self,
        primitive: PrimitiveRef,
        message: &Message,
        facts: &SiteFacts,
        slow: Block,
    ) -> Option<(Block, Value)> {
        if !self.has_doubles_first(primitive, facts) {
            return None;
        }
        let operator = operator(self.builder.facts.primitive(primitive))?;
        let [left, right] = message.operands[..] else { return None };
        let others = self.builder.unit.add_block();
        let (a, b) = (self.double_or(left, others), self.double_or(right, others));
        let op = match operator {
            Operator::Comparison(condition) => Op::FloatCompare(condition),
            Operator::Arithmetic(_, op) => op,
            _ => Op::FloatDivide,
        };
        let result = self.emit(op, &[a, b]);
        let end = if let Op::FloatCompare(_) = op {
            let value = self.emit(Op::TagBoolean, &[result]);
            self.current.take().map(|block| (block, value))
        } else {
            let value = self.emit(Op::TryTagDouble, &[result]);
            Some((self.unless_none(value, slow), value))
        };
        self.current = Some(others);
        end
    }

    /// The raw double of a word; goes to another block unless it is an immediate double.
    fn double_or(&mut self, value: Value, others: Block) -> Value {
        let refined = self.unless_layout(value, Layouts::of(layouts::DOUBLE), others);
        self.emit(Op::UntagDouble, &[refined])
    }

    /// Whether a number, if it is an integer, is the same as a double.
    fn is_exact(&self, value: Value) -> bool {
        let range = self.kind(value).range();
        range.is_none_or(|range| Range::new(1 - EXACT, EXACT - 1).includes(range))
    }

    /// The raw double of a word, which a guard shows to be an immediate number: of an integer the nearest one.
    fn raw_number(&mut self, value: Value) -> Value {
        let kind = self.kind(value);
        if kind.is(Type::INTEGER) || kind.is(Type::DOUBLE) {
            return self.raw_double(value);
        }
        let numbers = Layouts::of(layouts::INTEGER).with(layouts::DOUBLE);
        let is_number = self.emit(Op::HasLayout(numbers), &[value]);
        self.check(Op::Guard, is_number);
        self.emit(Op::NumberToDouble, &[value])
    }

    /// The raw double of a word: of an integer the nearest one, otherwise a guard shows that it is a double.
    fn raw_double(&mut self, value: Value) -> Value {
        if self.kind(value).is(Type::INTEGER) {
            let raw = self.emit(Op::UntagInteger, &[value]);
            return self.emit(Op::ToDouble, &[raw]);
        }
        let guarded = self.guard(Op::GuardDouble, &[value]);
        self.refine(value, guarded);
        self.emit(Op::UntagDouble, &[guarded])
    }
}

/// Other primitives.
impl Body<'_, '_> {
    /// Makes operations of a primitive, on a receiver whose layout is known.
    pub fn intrinsic(
        &mut self,
        primitive: PrimitiveRef,
        message: &Message,
        facts: &SiteFacts,
    ) -> Intrinsic {
        let name = self.builder.facts.primitive(primitive).to_owned();
        let value = match &*name {
            IDENTICAL => self.identical(primitive, message),
            "arrayClass:new:" if !facts.distrusts => self.new_array(message),
            "array:at:" => self.array_at(message),
            "array:at:put:" => self.array_at_put(message),
            "arraySize:" => self.array_size(message),
            "is:instanceOf:" => self.is_instance(primitive, message, facts),
            "numberSquareRoot:" => self.square_root(message),
            "stringLength:" => self.text_length(primitive, message),
            "string:equals:" => self.same_text(primitive, message),
            "string:charAt:" if !facts.distrusts => self.character_at(primitive, message),
            "blockValue:" | "block:value:" | "block:value:with:" => {
                return self.evaluate(message, facts);
            }
            _ => None,
        };
        value.map_or(Intrinsic::Unknown, Intrinsic::Value)
    }

    /// Whether two objects are the same, by a primitive that compares so.
    fn identical(&mut self, primitive: PrimitiveRef, message: &Message) -> Option<Value> {
        let [left, right] = message.operands[..] else { return None };
        let same = self.emit(Op::Identical(primitive), &[left, right]);
        Some(self.emit(Op::TagBoolean, &[same]))
    }

    /// The answer to `==`, if all receivers so far have compared so. Other messages, such as `=`, run the same primitive
    /// for some classes, but others redefine them without a flag in their layouts.
    pub fn identity(&mut self, message: &Message, facts: &SiteFacts) -> Option<Value> {
        let mut primitives = facts.seen.iter().map(|each| match each.action {
            Action::Primitive(primitive)
                if self.builder.facts.primitive(primitive) == IDENTICAL =>
            {
                Some(primitive)
            }
            _ => None,
        });
        let primitive = primitives.next()??;
        if !facts.is_identity || facts.distrusts || !primitives.all(|each| each == Some(primitive))
        {
            return None;
        }
        let receiver = message.operands[0];
        let plain = self.guard(Op::GuardPlain, &[receiver]);
        self.identical(primitive, &message.with_receiver(plain))
    }

    /// A new array of a class whose layout is known, full of nil.
    fn new_array(&mut self, message: &Message) -> Option<Value> {
        let [class, length] = message.operands[..] else { return None };
        let known = self.kind(class);
        let [layout] = known.layouts()? else { return None };
        let makes_arrays = self.builder.facts.array_layout(*layout) == Some(layouts::ARRAY);
        makes_arrays.then(|| {
            let length = self.raw_integer(length);
            self.allocate_array(class, length)
        })
    }

    /// The array of a message, if its layout is one of these.
    fn array(&mut self, message: &Message, wanted: &[u32]) -> Option<Value> {
        let array = message.operands[0];
        let kind = self.kind(array);
        let known = kind.layouts()?;
        known.iter().all(|layout| wanted.contains(layout)).then_some(array)
    }

    /// The index of an element, counting from zero, which a guard shows to be in the array.
    fn index(&mut self, array: Value, index: Value) -> Value {
        let index = self.raw_integer(index);
        let one = self.integer(1);
        let index = self.emit(Op::Subtract, &[index, one]);
        let length = self.emit(Op::Length, &[array]);
        let within = self.emit(Op::Compare(Condition::UnsignedLess), &[index, length]);
        self.check(Op::Guard, within);
        index
    }

    fn array_at(&mut self, message: &Message) -> Option<Value> {
        let array = self.array(message, &[layouts::ARRAY, layouts::VALUE_ARRAY])?;
        let index = self.index(array, message.operands[1]);
        Some(self.load_element(array, index))
    }

    fn array_at_put(&mut self, message: &Message) -> Option<Value> {
        let array = self.array(message, &[layouts::ARRAY])?;
        let value = message.operands[2];
        let index = self.index(array, message.operands[1]);
        self.store_element(array, index, value);
        Some(value)
    }

    fn array_size(&mut self, message: &Message) -> Option<Value> {
        let array = self.array(message, &[layouts::ARRAY, layouts::VALUE_ARRAY])?;
        let length = self.emit(Op::Length, &[array]);
        Some(self.emit(Op::TagInteger, &[length]))
    }

    /// Whether an object is an instance of a class, if the layouts of both tell, or that of the class.
    fn is_instance(
        &mut self,
        primitive: PrimitiveRef,
        message: &Message,
        facts: &SiteFacts,
    ) -> Option<Value> {
        let [object, class] = message.operands[..] else { return None };
        let known = self.kind(class);
        let &[class] = known.layouts()? else { return None };
        if let Some(word) = self.is_instance_of(object, class) {
            return Some(self.word(word));
        }
        let layout = self.builder.facts.layout_of_instances(class)?;
        let pays = !facts.distrusts && self.builder.facts.has_leaf(primitive);
        if pays { self.has_layout_or_leaf(layout, primitive, message) } else { None }
    }

    /// The answer, if it is the same for all layouts that an object can have.
    fn is_instance_of(&self, object: Value, class: u32) -> Option<u64> {
        let layouts = self.kind(object).every_layout()?;
        let mut answers =
            layouts.iter().map(|&layout| self.builder.facts.is_instance(layout, class));
        let first = answers.next()??;
        let word = if first { words::TRUE } else { words::FALSE };
        answers.all(|answer| answer == Some(first)).then_some(word)
    }

    /// True for objects with a layout, and what the leaf says of all others. The object's layout is often known only when
    /// paths have become one; then one of both falls away.
    fn has_layout_or_leaf(
        &mut self,
        layout: u32,
        primitive: PrimitiveRef,
        message: &Message,
    ) -> Option<Value> {
        let state = self.state;
        let slow = self.builder.unit.add_block();
        let fits = self.emit(Op::HasLayout(Layouts::of(layout)), &message.operands[..1]);
        self.go_on_if(fits, slow);
        let is_true = self.word(words::TRUE);
        let mut ends: Vec<(Block, Value)> =
            self.current.map(|end| (end, is_true)).into_iter().collect();
        (self.current, self.state) = (Some(slow), state);
        let answer = self.guard(Op::Leaf(primitive), &message.operands);
        ends.extend(self.current.map(|end| (end, answer)));
        self.continue_after(ends)
    }

    fn square_root(&mut self, message: &Message) -> Option<Value> {
        if !self.kind(message.operands[0]).is(Type::DOUBLE) {
            return None;
        }
        let raw = self.raw_double(message.operands[0]);
        let root = self.emit(Op::FloatSquareRoot, &[raw]);
        Some(self.double_word(root))
    }

    /// Whether a receiver is known to be a text.
    fn is_text(&self, value: Value) -> bool {
        let texts = Layouts::of(layouts::STRING).with(layouts::SYMBOL);
        self.kind(value).is(kinds::of_layouts(texts))
    }

    fn text_length(&mut self, primitive: PrimitiveRef, message: &Message) -> Option<Value> {
        let text = message.operands[0];
        self.is_text(text).then(|| self.emit(Op::TextLength(primitive), &[text]))
    }

    fn same_text(&mut self, primitive: PrimitiveRef, message: &Message) -> Option<Value> {
        let [left, right] = message.operands[..] else { return None };
        self.is_text(left).then(|| {
            let same = self.emit(Op::SameText(primitive), &[left, right]);
            self.emit(Op::TagBoolean, &[same])
        })
    }

    fn character_at(&mut self, primitive: PrimitiveRef, message: &Message) -> Option<Value> {
        let [text, index] = message.operands[..] else { return None };
        self.is_text(text).then(|| self.guard(Op::CharacterAt(primitive), &[text, index]))
    }

    /// Runs a closure's function, if it is known or the site has seen just one.
    fn evaluate(&mut self, message: &Message, facts: &SiteFacts) -> Intrinsic {
        let closure = message.operands[0];
        let likely = facts.closure.filter(|_| !facts.distrusts);
        let Some(function) = self.function_of(closure).or(likely) else {
            return self.evaluate_any(message);
        };
        if self.builder.facts.function(function).arguments() != message.operands.len() {
            return Intrinsic::Unknown;
        }
        let block = Layouts::of(words::layouts::BLOCK);
        let closure = self.guard(Op::GuardLayout(block), &[closure]);
        let refined = self.guard(Op::GuardFunction(function), &[closure]);
        match self.call_function(function, &message.with_receiver(refined)) {
            Some(value) => Intrinsic::Value(value),
            None => Intrinsic::Ended,
        }
    }

    /// Runs the function of a closure, whatever it is, if it takes these arguments.
    fn evaluate_any(&mut self, message: &Message) -> Intrinsic {
        if self.instruction.opcode == Opcode::Primitive {
            return Intrinsic::Unknown;
        }
        let closure = message.operands[0];
        let closure = self.guard(Op::GuardLayout(Layouts::of(layouts::BLOCK)), &[closure]);
        let count = Place(message.operands.len() as u32);
        let fits = self.emit(Op::TakesArguments(count), &[closure]);
        let (slow, state) = (self.builder.unit.add_block(), self.state);
        self.go_on_if(fits, slow);
        let op = Op::CallClosure(self.place(message.window));
        let message = message.with_receiver(closure);
        let answer = self.send_by(op, &message);
        let mut ends: Vec<(Block, Value)> = self.current.zip(answer).into_iter().collect();
        (self.current, self.state) = (Some(slow), state);
        let sent = self.send_generally(&message);
        ends.extend(self.current.zip(sent));
        match self.continue_after(ends) {
            Some(value) => Intrinsic::Value(value),
            None => Intrinsic::Ended,
        }
    }

    /// The function of a closure that the unit makes.
    fn function_of(&self, closure: Value) -> Option<FunctionRef> {
        let root = self.builder.unit.root(closure);
        match self.builder.unit.definition(root)?.op {
            Op::NewClosure(function) => Some(function),
            _ => None,
        }
    }
}
