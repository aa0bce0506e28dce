//! Evaluates programs in the simplest possible way. The fuzz target `programs` and a test compare the machine's answers
//! with the result.

use std::collections::HashMap;

use super::values::{float, float_bits, normalize, not_a_number};
use super::{BYTES, EACH, Fault, I64, Program, Reading, Register, Step, Type, Value, Work};

/// The result of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The program answers this number.
    Answer(i64),
    /// The program signals this fault.
    Fault(Fault),
    /// The program takes too long for a test, or too much memory.
    TooMuch,
}

/// The most steps of a program, and the most numbers in the values that it makes.
const MOST: usize = 200_000;

/// The result of the program with these arguments.
pub fn evaluate(program: &Program, arguments: [i64; 2]) -> Outcome {
    let mut machine = Machine { program, spent: 0 };
    match machine.call(&program.main, arguments) {
        Ok(answer) => Outcome::Answer(answer),
        Err(Stop::Fault(fault, _)) => Outcome::Fault(fault),
        Err(Stop::TooMuch) => Outcome::TooMuch,
    }
}

/// The reason why the evaluation stops.
enum Stop {
    /// A fault, and the value that was raised.
    Fault(Fault, i64),
    TooMuch,
}

type Result<T> = std::result::Result<T, Stop>;

fn fault<T>(fault: Fault) -> Result<T> {
    Err(Stop::Fault(fault, 0))
}

struct Machine<'p> {
    program: &'p Program,
    spent: usize,
}

impl Machine<'_> {
    fn spend(&mut self, amount: usize) -> Result<()> {
        self.spent += amount;
        if self.spent > MOST { Err(Stop::TooMuch) } else { Ok(()) }
    }

    /// The answer of a function: all its registers, mixed into a number.
    fn call(&mut self, steps: &[Step], arguments: [i64; 2]) -> Result<i64> {
        self.spend(100)?;
        let mut frame = Frame { types: &self.program.types, registers: HashMap::new() };
        for index in 0..EACH {
            frame.reset(index);
        }
        frame.set((I64, 0), Value::Bits(arguments[0] as u64));
        frame.set((I64, 1), Value::Bits(arguments[1] as u64));
        self.steps(&mut frame, steps)?;
        Ok(frame.hash())
    }

    fn helper(&mut self, index: usize, first: i64, second: i64) -> Result<i64> {
        let program = self.program;
        self.call(&program.helpers[index], [first, second])
    }

    fn steps(&mut self, frame: &mut Frame, steps: &[Step]) -> Result<()> {
        steps.iter().try_for_each(|step| self.step(frame, step))
    }

    fn step(&mut self, frame: &mut Frame, step: &Step) -> Result<()> {
        self.spend(1)?;
        match step {
            Step::If(condition, then, otherwise) => {
                let taken = if frame.bits(*condition) != 0 { then } else { otherwise };
                self.steps(frame, taken)
            }
            Step::Repeat(turns, steps) => (0..*turns).try_for_each(|_| self.steps(frame, steps)),
            Step::Par(branches) => branches.iter().try_for_each(|branch| self.steps(frame, branch)),
            Step::Try(wanted, number, steps, handler) => {
                let forks = steps.iter().any(Step::forks);
                let Err(stop) = self.steps(frame, steps) else { return Ok(()) };
                let Stop::Fault(found, raised) = stop else { return Err(stop) };
                if *wanted != Fault::Any && found != *wanted {
                    return Err(stop);
                }
                if forks {
                    (1..EACH).for_each(|index| frame.reset(index));
                }
                frame.set(*number, Value::Bits((raised ^ found as i64) as u64));
                self.steps(frame, handler)
            }
            Step::Call(destination, helper, [first, second], _) => {
                let (first, second) = (frame.bits(*first) as i64, frame.bits(*second) as i64);
                let answer = self.helper(*helper, first, second)?;
                frame.set(*destination, Value::Bits(answer as u64));
                Ok(())
            }
            Step::Work(work, destination, helper, amount, argument) => {
                let argument = frame.bits(*argument) as i64;
                let answer = self.work(*work, *helper, *amount as i64, argument)?;
                frame.set(*destination, Value::Bits(answer as u64));
                Ok(())
            }
            Step::ConvertExact(to, from, otherwise) => {
                let (types, bits) = (frame.types, frame.bits(*from));
                let converted = convert_exactly(&types[to.0], &types[from.0], bits);
                frame.set(*to, Value::Bits(converted.unwrap_or(0)));
                if converted.is_none() { self.steps(frame, otherwise) } else { Ok(()) }
            }
            Step::MapGet([to, map, key], otherwise) => {
                let found = frame.find(*map, *key);
                let is_missing = found.is_none();
                let value = found.unwrap_or_else(|| frame.types[to.0].initial());
                frame.set(*to, value);
                if is_missing { self.steps(frame, otherwise) } else { Ok(()) }
            }
            simple => {
                let destination = frame.simple(simple)?;
                let weight = destination.map_or(0, |register| frame.get(register).weight());
                self.spend(weight)
            }
        }
    }

    /// Work that processes do together, evaluated as if they ran one after the other.
    fn work(&mut self, work: Work, helper: usize, amount: i64, argument: i64) -> Result<i64> {
        self.spend(200)?;
        let mut sum = 0i64;
        match work {
            Work::Copies => {
                for index in 0..amount {
                    sum = sum.wrapping_add(self.helper(helper, index, argument)?);
                }
            }
            Work::Pipeline(stages, _) => {
                for index in 0..amount {
                    let mut value = self.helper(helper, index, argument)?;
                    for _ in 0..stages {
                        value = self.helper(helper, value, argument)?;
                    }
                    sum = sum.wrapping_mul(31).wrapping_add(value);
                }
            }
            Work::Lists => {
                // The list with `count` elements ends with the argument plus `count` - 1.
                for count in 1..=amount {
                    let last = argument.wrapping_add(count - 1);
                    sum = sum.wrapping_mul(31).wrapping_add(count).wrapping_add(last);
                }
            }
            Work::Choice => {
                for index in (0..amount).chain(0..amount) {
                    sum = sum.wrapping_add(self.helper(helper, index, argument)?);
                }
            }
            Work::Steps => {
                for worker in 0..3 {
                    for round in 0..amount {
                        sum = sum.wrapping_add(self.helper(helper, round, worker)?);
                    }
                }
            }
            Work::Bucket => {
                for process in 0..amount {
                    sum = sum.wrapping_add(self.helper(helper, process, argument)?);
                }
            }
            Work::Indirect => sum = self.helper(helper, 0, argument)?,
            Work::Timeout => sum = argument,
        }
        Ok(sum)
    }
}

/// The registers of an activation.
struct Frame<'p> {
    types: &'p [Type],
    registers: HashMap<Register, Value>,
}

impl Frame<'_> {
    /// Gives the registers with this index of all types their initial values.
    fn reset(&mut self, index: usize) {
        for (kind, text) in self.types.iter().enumerate() {
            self.registers.insert((kind, index), text.initial());
        }
    }

    fn get(&self, register: Register) -> &Value {
        &self.registers[&register]
    }

    fn set(&mut self, register: Register, value: Value) {
        self.registers.insert(register, value);
    }

    fn bits(&self, register: Register) -> u64 {
        match self.get(register) {
            Value::Bits(bits) => *bits,
            other => unreachable!("{other:?} is no number"),
        }
    }

    fn list(&self, register: Register) -> Vec<Value> {
        match self.get(register) {
            Value::List(list) => list.clone(),
            other => unreachable!("{other:?} is no list"),
        }
    }

    fn pairs(&self, register: Register) -> &[(Value, Value)] {
        match self.get(register) {
            Value::Map(pairs) => pairs,
            other => unreachable!("{other:?} is no map"),
        }
    }

    fn parts(&self, register: Register) -> Vec<Value> {
        match self.get(register) {
            Value::Tuple(parts) => parts.clone(),
            other => unreachable!("{other:?} is no tuple"),
        }
    }

    /// An instruction, or a few, without control. Answers the register that was written.
    fn simple(&mut self, step: &Step) -> Result<Option<Register>> {
        let (destination, value) = match step {
            Step::Constant(register, bits) => (*register, Value::Bits(*bits)),
            Step::Bytes(register, text) => {
                let bytes = text.bytes().map(|byte| Value::Bits(u64::from(byte)));
                (*register, Value::List(bytes.collect()))
            }
            Step::Arithmetic(operator, destination, operands) => {
                let bits: Vec<u64> = operands.iter().map(|operand| self.bits(*operand)).collect();
                let right = bits.get(1).copied().unwrap_or(0);
                let result = arithmetic(operator, &self.types[destination.0], bits[0], right)?;
                (*destination, Value::Bits(result))
            }
            Step::Compare(operator, destination, [left, right]) => {
                let kind = &self.types[left.0];
                let holds = compare(operator, kind, self.get(*left), self.get(*right));
                (*destination, Value::Bits(u64::from(holds)))
            }
            Step::Convert(to, from) => {
                let bits = convert(&self.types[to.0], &self.types[from.0], self.bits(*from));
                (*to, Value::Bits(bits))
            }
            Step::Move(to, from) | Step::Box(to, from) => (*to, self.get(*from).clone()),
            Step::Take(to, from) => {
                let value = self.get(*from).clone();
                self.set(*from, self.types[from.0].initial());
                (*to, value)
            }
            Step::List(to, elements) | Step::Tuple(to, elements) => {
                let values = elements.iter().map(|element| self.get(*element).clone()).collect();
                let is_list = matches!(step, Step::List(..));
                (*to, if is_list { Value::List(values) } else { Value::Tuple(values) })
            }
            Step::Fill(_, length, _) if *length < 0 => return fault(Fault::IndexError),
            Step::Fill(to, length, value) => {
                (*to, Value::List(vec![self.get(*value).clone(); *length as usize]))
            }
            Step::Element(to, tuple, index) => (*to, self.parts(*tuple)[*index].clone()),
            Step::SetElement(tuple, part, index) => {
                let mut parts = self.parts(*tuple);
                parts[*index] = self.get(*part).clone();
                (*tuple, Value::Tuple(parts))
            }
            Step::Container(mnemonic, operands) => return self.container(mnemonic, operands),
            Step::Raise(value) => {
                return Err(Stop::Fault(Fault::Raised, self.bits(*value) as i64));
            }
            other => unreachable!("{other:?} has steps in it"),
        };
        self.set(destination, value);
        Ok(Some(destination))
    }

    fn container(&mut self, mnemonic: &str, operands: &[Register]) -> Result<Option<Register>> {
        let destination = operands[0];
        let value = match mnemonic {
            "empty" => self.types[destination.0].initial(),
            "length" => Value::Bits(match self.get(operands[1]) {
                Value::Map(pairs) => pairs.len() as u64,
                _ => self.list(operands[1]).len() as u64,
            }),
            _ if mnemonic.starts_with("map") => self.map(mnemonic, operands)?,
            "list_get" => {
                let list = self.list(operands[1]);
                let index = self.index(operands[2], list.len())?;
                list[index].clone()
            }
            "list_concatenate" => {
                Value::List([self.list(operands[1]), self.list(operands[2])].concat())
            }
            "list_slice" => {
                let list = self.list(operands[1]);
                let end = self.index(operands[3], list.len() + 1)?;
                let start = self.index(operands[2], end + 1)?;
                Value::List(list[start..end].to_vec())
            }
            _ => Value::List(self.changed(mnemonic, operands)?),
        };
        self.set(destination, value);
        Ok(Some(destination))
    }

    /// An index below a limit.
    fn index(&self, register: Register, limit: usize) -> Result<usize> {
        let index = usize::try_from(self.bits(register) as i64).ok();
        index.filter(|index| *index < limit).map_or_else(|| fault(Fault::IndexError), Ok)
    }

    /// The list in the first operand after an update.
    fn changed(&self, mnemonic: &str, operands: &[Register]) -> Result<Vec<Value>> {
        let mut list = self.list(operands[0]);
        let count = list.len();
        match mnemonic {
            "list_append" => list.push(self.get(operands[1]).clone()),
            "list_set" => {
                let index = self.index(operands[1], count)?;
                list[index] = self.get(operands[2]).clone();
            }
            "list_insert" => {
                let index = self.index(operands[1], count + 1)?;
                list.insert(index, self.get(operands[2]).clone());
            }
            "list_remove" => _ = list.remove(self.index(operands[1], count)?),
            _ => {
                let first = self.index(operands[1], count)?;
                list.swap(first, self.index(operands[2], count)?);
            }
        }
        Ok(list)
    }

    /// The place of a key in a map, or the place where it would be inserted.
    fn search(&self, map: Register, key: Register) -> std::result::Result<usize, usize> {
        let (kind, key) = (&self.types[key.0], self.get(key));
        self.pairs(map).binary_search_by(|(other, _)| kind.compare(other, key))
    }

    fn find(&self, map: Register, key: Register) -> Option<Value> {
        let place = self.search(map, key).ok()?;
        Some(self.pairs(map)[place].1.clone())
    }

    fn map(&self, mnemonic: &str, operands: &[Register]) -> Result<Value> {
        Ok(match mnemonic {
            "map_put" => {
                let mut pairs = self.pairs(operands[0]).to_vec();
                let pair = (self.get(operands[1]).clone(), self.get(operands[2]).clone());
                match self.search(operands[0], operands[1]) {
                    Ok(place) => pairs[place].1 = pair.1,
                    Err(place) => pairs.insert(place, pair),
                }
                Value::Map(pairs)
            }
            "map_remove" => {
                let mut pairs = self.pairs(operands[0]).to_vec();
                if let Ok(place) = self.search(operands[0], operands[1]) {
                    pairs.remove(place);
                }
                Value::Map(pairs)
            }
            "map_has" => Value::Bits(u64::from(self.find(operands[1], operands[2]).is_some())),
            _ => {
                let pairs = self.pairs(operands[1]);
                let (key, value) = &pairs[self.index(operands[2], pairs.len())?];
                if mnemonic == "map_key" { key.clone() } else { value.clone() }
            }
        })
    }

    /// All registers, mixed into one number.
    fn hash(&self) -> i64 {
        let mut hash = 17;
        for (kind, text) in self.types.iter().enumerate() {
            for index in 0..EACH {
                mix_value(&mut hash, text, self.get((kind, index)));
            }
        }
        hash
    }
}

fn mix(hash: &mut i64, value: i64) {
    *hash = hash.wrapping_mul(31).wrapping_add(value);
}

/// Floats are rounded to a 1024th before they are mixed in.
pub(super) const FRACTION: f64 = 1024.0;

fn mix_value(hash: &mut i64, kind: &Type, value: &Value) {
    match (kind, value) {
        (Type::Float(width), Value::Bits(bits)) => {
            let scaled = float(*width, float_bits(*width, float(*width, *bits) * FRACTION));
            mix(hash, scaled as i64);
        }
        (_, Value::Bits(bits)) => mix(hash, *bits as i64),
        (Type::Tuple(types), Value::Tuple(parts)) => {
            types.iter().zip(parts).for_each(|(kind, part)| mix_value(hash, kind, part));
        }
        (Type::List(element), Value::List(list)) => {
            mix(hash, list.len() as i64);
            list.iter().for_each(|value| mix_value(hash, element, value));
        }
        (Type::Map(key, value), Value::Map(pairs)) => {
            mix(hash, pairs.len() as i64);
            for pair in pairs {
                mix_value(hash, key, &pair.0);
                mix_value(hash, value, &pair.1);
            }
        }
        other => unreachable!("{other:?} do not fit"),
    }
}

fn arithmetic(operator: &str, kind: &Type, left: u64, right: u64) -> Result<u64> {
    match *kind {
        Type::Float(width) => {
            let (one, other) = (float(width, left), float(width, right));
            // The double is wide enough, so the result is rounded once only.
            let result = match operator {
                "add" => one + other,
                "sub" => one - other,
                "mul" => one * other,
                "div" => one / other,
                "rem" => one % other,
                _ => -one,
            };
            Ok(float_bits(width, result))
        }
        Type::Integer(signed, width) => whole(operator, signed, width, left, right),
        _ => Ok(match operator {
            "and" => left & right,
            "or" => left | right,
            "xor" => left ^ right,
            _ => left ^ 1,
        }),
    }
}

fn whole(operator: &str, signed: bool, width: u32, left: u64, right: u64) -> Result<u64> {
    let whole = |bits: u64| if signed { i128::from(bits as i64) } else { i128::from(bits) };
    let (one, other) = (whole(left), whole(right));
    let distance = right as u32 % width;
    let checked = operator.ends_with("_checked");
    let result = match operator.trim_end_matches("_checked") {
        "add" => one + other,
        "sub" => one - other,
        "mul" if checked => match one.checked_mul(other) {
            Some(product) => product,
            None => return fault(Fault::Overflow),
        },
        "mul" => i128::from(left.wrapping_mul(right)),
        "div" | "rem" if other == 0 => return fault(Fault::ZeroDivide),
        "div" => one / other,
        "rem" => one % other,
        "neg" => -one,
        "and" => i128::from(left & right),
        "or" => i128::from(left | right),
        "xor" => i128::from(left ^ right),
        "not" => i128::from(!left),
        "shl" => i128::from(left << distance),
        _ => one >> distance,
    };
    let bits = normalize(signed, width, result as u64);
    if checked && whole(bits) != result { fault(Fault::Overflow) } else { Ok(bits) }
}

fn compare(operator: &str, kind: &Type, left: &Value, right: &Value) -> bool {
    let order = match (kind, left, right) {
        (Type::Float(width), Value::Bits(left), Value::Bits(right)) => {
            float(*width, *left).partial_cmp(&float(*width, *right))
        }
        _ => Some(kind.compare(left, right)),
    };
    match operator {
        "eq" => order.is_some_and(|order| order.is_eq()),
        "ne" => !order.is_some_and(|order| order.is_eq()),
        "lt" => order.is_some_and(|order| order.is_lt()),
        _ => order.is_some_and(|order| order.is_le()),
    }
}

fn convert(to: &Type, from: &Type, bits: u64) -> u64 {
    match (to, from) {
        (Type::Integer(signed, width), Type::Float(source)) => {
            let real = float(*source, bits);
            let (least, most) = match signed {
                true => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
                false => (0, (1i128 << width) - 1),
            };
            (real as i128).clamp(least, most) as u64
        }
        (Type::Integer(signed, width), _) => normalize(*signed, *width, bits),
        (Type::Float(width), Type::Float(source)) => float_bits(*width, float(*source, bits)),
        (Type::Float(32), Type::Integer(true, _)) => u64::from((bits as i64 as f32).to_bits()),
        (Type::Float(32), _) => u64::from((bits as f32).to_bits()),
        (_, Type::Integer(true, _)) => (bits as i64 as f64).to_bits(),
        _ => (bits as f64).to_bits(),
    }
}

fn convert_exactly(to: &Type, from: &Type, bits: u64) -> Option<u64> {
    let converted = convert(to, from, bits);
    let whole = |kind: &Type, bits: u64| match kind {
        Type::Integer(true, _) => i128::from(bits as i64),
        _ => i128::from(bits),
    };
    let is_same = match (to, from) {
        (Type::Float(to), Type::Float(from)) => {
            let (one, other) = (float(*to, converted), float(*from, bits));
            one == other || converted == not_a_number(*to)
        }
        (Type::Float(width), from) => float(*width, converted) as i128 == whole(from, bits),
        (to, Type::Float(width)) => {
            let real = float(*width, bits);
            real.trunc() == real && real as i128 == whole(to, converted)
        }
        (to, from) => whole(to, converted) == whole(from, bits),
    };
    is_same.then_some(converted)
}

/// For the evaluator, all ways of reading are the same.
impl Reading {
    /// Every way.
    pub const ALL: [Reading; 3] = [Reading::Read, Reading::Accept, Reading::Alt];
}

const _: () = assert!(BYTES == 11);
