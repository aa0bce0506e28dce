//! Evaluates programs in the plainest possible way: what the machine must agree with.

use std::collections::{BTreeMap, HashMap};

use super::program::{EACH, I64, KINDS, Kind, Register, Step, normalize};

/// What a register holds.
#[derive(Clone, PartialEq, Debug)]
enum Value {
    Bits(u64),
    Numbers(Vec<i64>),
    Bytes(Vec<u8>),
    Table(BTreeMap<i64, u64>),
    Triple(i64, u64, u8),
    Lists(Vec<Vec<i64>>),
}

use Value::*;

/// A guest fault.
struct Fault;

type Result<T> = std::result::Result<T, Fault>;

/// What a program prints.
pub fn evaluate(program: &[Step]) -> String {
    let mut machine = Machine { registers: HashMap::new() };
    for (kind, _) in KINDS {
        for index in 0..EACH {
            machine.set((kind, index), initial(kind));
        }
    }
    match machine.steps(program) {
        Ok(()) => machine.hash().to_string(),
        Err(Fault) => "fault".to_owned(),
    }
}

fn initial(kind: Kind) -> Value {
    match kind {
        Kind::Numbers => Numbers(Vec::new()),
        Kind::Bytes => Bytes(Vec::new()),
        Kind::Table => Table(BTreeMap::new()),
        Kind::Triple => Triple(0, 0, 0),
        Kind::Lists => Lists(Vec::new()),
        _ => Bits(0),
    }
}

struct Machine {
    registers: HashMap<Register, Value>,
}

impl Machine {
    fn get(&self, register: Register) -> &Value {
        &self.registers[&register]
    }

    fn set(&mut self, register: Register, value: Value) {
        self.registers.insert(register, value);
    }

    fn bits(&self, register: Register) -> u64 {
        match self.get(register) {
            Bits(bits) => *bits,
            other => unreachable!("{other:?} is no number"),
        }
    }

    fn steps(&mut self, steps: &[Step]) -> Result<()> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Constant(register, bits) => self.set(*register, Bits(*bits)),
            Step::Arithmetic(operator, destination, operands) => {
                let bits: Vec<u64> = operands.iter().map(|operand| self.bits(*operand)).collect();
                let right = bits.get(1).copied().unwrap_or(0);
                let result = arithmetic(operator, destination.0, bits[0], right)?;
                self.set(*destination, Bits(result));
            }
            Step::Compare(operator, destination, [left, right]) => {
                let holds = compare(operator, left.0, self.get(*left), self.get(*right));
                self.set(*destination, Bits(u64::from(holds)));
            }
            Step::Convert(to, from) => {
                let bits = convert(to.0, from.0, self.bits(*from));
                self.set(*to, Bits(bits));
            }
            Step::ConvertExact(to, from, otherwise) => {
                match convert_exactly(to.0, from.0, self.bits(*from)) {
                    Some(bits) => self.set(*to, Bits(bits)),
                    None => {
                        self.set(*to, Bits(0));
                        self.steps(otherwise)?;
                    }
                }
            }
            Step::Move(to, from) => self.set(*to, self.get(*from).clone()),
            Step::Container(mnemonic, operands) => self.container(mnemonic, operands)?,
            Step::MapGet(operands, otherwise) => {
                let Table(table) = self.get(operands[1]) else { unreachable!("it is a map") };
                match table.get(&(self.bits(operands[2]) as i64)).copied() {
                    Some(bits) => self.set(operands[0], Bits(bits)),
                    None => {
                        self.set(operands[0], Bits(0));
                        self.steps(otherwise)?;
                    }
                }
            }
            Step::Tuple(tuple, [number, real, byte]) => {
                let [number, real, byte] = [number, real, byte].map(|part| self.bits(*part));
                self.set(*tuple, Triple(number as i64, real, byte as u8));
            }
            Step::Element(mnemonic, first, second, index) => {
                self.element(mnemonic, *first, *second, *index);
            }
            Step::If(condition, then, otherwise) => {
                let taken = if self.bits(*condition) != 0 { then } else { otherwise };
                self.steps(taken)?;
            }
            Step::Repeat(turns, steps) => {
                (0..*turns).try_for_each(|_| self.steps(steps))?;
            }
        }
        Ok(())
    }

    fn element(&mut self, mnemonic: &str, first: Register, second: Register, index: usize) {
        let tuple = if mnemonic == "tuple_get" { second } else { first };
        let Triple(number, real, byte) = *self.get(tuple) else { unreachable!("it is a tuple") };
        if mnemonic == "tuple_get" {
            return self.set(first, Bits([number as u64, real, u64::from(byte)][index]));
        }
        let bits = self.bits(second);
        self.set(
            tuple,
            match index {
                0 => Triple(bits as i64, real, byte),
                1 => Triple(number, bits, byte),
                _ => Triple(number, real, bits as u8),
            },
        );
    }

    fn container(&mut self, mnemonic: &str, operands: &[Register]) -> Result<()> {
        if mnemonic == "empty" {
            self.set(operands[0], initial(operands[0].0));
            return Ok(());
        }
        if mnemonic.starts_with("map") || operands.get(1).is_some_and(|own| own.0 == Kind::Table) {
            return self.map(mnemonic, operands);
        }
        let place = usize::from(matches!(mnemonic, "list_get" | "length" | "list_slice"));
        let list = operands[place.min(operands.len() - 1)];
        match self.get(list).clone() {
            Numbers(all) => self.list(
                mnemonic,
                operands,
                all,
                Numbers,
                |value| match value {
                    Bits(bits) => *bits as i64,
                    _ => unreachable!("it is a number"),
                },
                |number| Bits(*number as u64),
            ),
            Bytes(all) => self.list(
                mnemonic,
                operands,
                all,
                Bytes,
                |value| match value {
                    Bits(bits) => *bits as u8,
                    _ => unreachable!("it is a byte"),
                },
                |byte| Bits(u64::from(*byte)),
            ),
            Lists(all) => self.list(
                mnemonic,
                operands,
                all,
                Lists,
                |value| match value {
                    Numbers(list) => list.clone(),
                    _ => unreachable!("it is a list"),
                },
                |list| Numbers(list.clone()),
            ),
            other => unreachable!("{other:?} is no list"),
        }
    }

    /// An index below a limit.
    fn index(&self, register: Register, limit: usize) -> Result<usize> {
        let index = usize::try_from(self.bits(register) as i64).map_err(|_| Fault)?;
        if index < limit { Ok(index) } else { Err(Fault) }
    }

    fn list<T: Clone>(
        &mut self,
        mnemonic: &str,
        operands: &[Register],
        mut all: Vec<T>,
        wrap: fn(Vec<T>) -> Value,
        element: fn(&Value) -> T,
        value: fn(&T) -> Value,
    ) -> Result<()> {
        let count = all.len();
        match mnemonic {
            "list_append" => all.push(element(self.get(operands[1]))),
            "list_get" => {
                let index = self.index(operands[2], count)?;
                self.set(operands[0], value(&all[index]));
                return Ok(());
            }
            "list_set" => {
                let index = self.index(operands[1], count)?;
                all[index] = element(self.get(operands[2]));
            }
            "list_insert" => {
                let index = self.index(operands[1], count + 1)?;
                all.insert(index, element(self.get(operands[2])));
            }
            "list_remove" => {
                all.remove(self.index(operands[1], count)?);
            }
            "list_exchange" => {
                let first = self.index(operands[1], count)?;
                all.swap(first, self.index(operands[2], count)?);
            }
            "list_slice" => {
                let end = self.index(operands[3], count + 1)?;
                let start = self.index(operands[2], end + 1)?;
                all = all[start..end].to_vec();
            }
            "list_concatenate" => {
                let lists = [operands[1], operands[2]].map(|list| self.get(list).clone());
                return self.concatenate(operands[0], lists);
            }
            _ => {
                self.set(operands[0], Bits(count as u64));
                return Ok(());
            }
        }
        self.set(operands[0], wrap(all));
        Ok(())
    }

    fn concatenate(&mut self, destination: Register, lists: [Value; 2]) -> Result<()> {
        let both = match lists {
            [Numbers(left), Numbers(right)] => Numbers([left, right].concat()),
            [Bytes(left), Bytes(right)] => Bytes([left, right].concat()),
            [Lists(left), Lists(right)] => Lists([left, right].concat()),
            other => unreachable!("{other:?} are no lists"),
        };
        self.set(destination, both);
        Ok(())
    }

    fn map(&mut self, mnemonic: &str, operands: &[Register]) -> Result<()> {
        let map = if operands[0].0 == Kind::Table { operands[0] } else { operands[1] };
        let Table(mut table) = self.get(map).clone() else { unreachable!("it is a map") };
        let key = |place: usize| self.bits(operands[place]) as i64;
        let result = match mnemonic {
            "map_put" => {
                table.insert(key(1), self.bits(operands[2]));
                Table(table)
            }
            "map_remove" => {
                table.remove(&key(1));
                Table(table)
            }
            "map_has" => Bits(u64::from(table.contains_key(&key(2)))),
            "map_key" | "map_value" => {
                let index = self.index(operands[2], table.len())?;
                let (key, value) = table.iter().nth(index).ok_or(Fault)?;
                Bits(if mnemonic == "map_key" { *key as u64 } else { *value })
            }
            _ => Bits(table.len() as u64),
        };
        self.set(operands[0], result);
        Ok(())
    }

    /// All registers, mixed into one number.
    fn hash(&self) -> i64 {
        let mut hash = 17;
        for (kind, _) in KINDS {
            for index in 0..EACH {
                mix_value(&mut hash, kind, self.get((kind, index)));
            }
        }
        hash
    }
}

fn mix(hash: &mut i64, value: i64) {
    *hash = hash.wrapping_mul(31).wrapping_add(value);
}

fn mix_real(hash: &mut i64, bits: u64) {
    mix(hash, f64::from_bits(bits) as i64);
}

fn mix_value(hash: &mut i64, kind: Kind, value: &Value) {
    match value {
        Bits(bits) if kind == Kind::Bool => mix(hash, *bits as i64),
        Bits(bits) => mix(hash, convert(I64, kind, *bits) as i64),
        Numbers(all) => {
            mix(hash, all.len() as i64);
            all.iter().for_each(|number| mix(hash, *number));
        }
        Bytes(all) => {
            mix(hash, all.len() as i64);
            all.iter().for_each(|byte| mix(hash, i64::from(*byte)));
        }
        Table(table) => {
            mix(hash, table.len() as i64);
            for (key, value) in table {
                mix(hash, *key);
                mix_real(hash, *value);
            }
        }
        Triple(number, real, byte) => {
            mix(hash, *number);
            mix_real(hash, *real);
            mix(hash, i64::from(*byte));
        }
        Lists(all) => {
            mix(hash, all.len() as i64);
            all.iter().for_each(|list| mix_value(hash, Kind::Numbers, &Numbers(list.clone())));
        }
    }
}

fn arithmetic(operator: &str, kind: Kind, left: u64, right: u64) -> Result<u64> {
    let Kind::Integer(signed, width) = kind else {
        let (left, right) = (f64::from_bits(left), f64::from_bits(right));
        return Ok(match operator {
            "add" => left + right,
            "sub" => left - right,
            "mul" => left * right,
            "div" => left / right,
            "rem" => left % right,
            _ => -left,
        }
        .to_bits());
    };
    let whole = |bits: u64| if signed { i128::from(bits as i64) } else { i128::from(bits) };
    let (one, other) = (whole(left), whole(right));
    let distance = right as u32 % width;
    let checked = operator.ends_with("_checked");
    let result = match operator.trim_end_matches("_checked") {
        "add" => one + other,
        "sub" => one - other,
        "mul" if checked => one.checked_mul(other).ok_or(Fault)?,
        "mul" => i128::from(left.wrapping_mul(right)),
        "div" | "rem" if other == 0 => return Err(Fault),
        "div" => one / other,
        "rem" => one % other,
        "neg" => -one,
        "and" => i128::from(left & right),
        "or" => i128::from(left | right),
        "xor" => i128::from(left ^ right),
        "shl" => i128::from(left << distance),
        _ => one >> distance,
    };
    let bits = normalize(signed, width, result as u64);
    if checked && whole(bits) != result { Err(Fault) } else { Ok(bits) }
}

fn compare(operator: &str, kind: Kind, left: &Value, right: &Value) -> bool {
    let order = match (left, right) {
        (Bits(left), Bits(right)) if kind == Kind::Real => {
            f64::from_bits(*left).partial_cmp(&f64::from_bits(*right))
        }
        (Bits(left), Bits(right)) if matches!(kind, Kind::Integer(true, _)) => {
            Some((*left as i64).cmp(&(*right as i64)))
        }
        (Bits(left), Bits(right)) => Some(left.cmp(right)),
        (Numbers(left), Numbers(right)) => Some(left.cmp(right)),
        (Bytes(left), Bytes(right)) => Some(left.cmp(right)),
        (Lists(left), Lists(right)) => Some(left.cmp(right)),
        (Triple(a, b, c), Triple(d, e, f)) => {
            let reals = f64::from_bits(*b).total_cmp(&f64::from_bits(*e));
            Some(a.cmp(d).then(reals).then(c.cmp(f)))
        }
        (Table(left), Table(right)) => return (left == right) == (operator == "eq"),
        other => unreachable!("{other:?} are of one type"),
    };
    match operator {
        "eq" => order.is_some_and(|order| order.is_eq()),
        "ne" => !order.is_some_and(|order| order.is_eq()),
        "lt" => order.is_some_and(|order| order.is_lt()),
        _ => order.is_some_and(|order| order.is_le()),
    }
}

fn convert(to: Kind, from: Kind, bits: u64) -> u64 {
    let real = (from == Kind::Real).then(|| f64::from_bits(bits));
    match (to, real) {
        (Kind::Integer(signed, width), None) => normalize(signed, width, bits),
        (Kind::Integer(true, width), Some(real)) => {
            let limit = (1i128 << (width - 1)) - 1;
            (real as i128).clamp(-limit - 1, limit) as u64
        }
        (Kind::Integer(false, width), Some(real)) => {
            (real as i128).clamp(0, (1i128 << width) - 1) as u64
        }
        (_, Some(_)) => bits,
        (_, None) if matches!(from, Kind::Integer(true, _)) => (bits as i64 as f64).to_bits(),
        _ => (bits as f64).to_bits(),
    }
}

fn convert_exactly(to: Kind, from: Kind, bits: u64) -> Option<u64> {
    let converted = convert(to, from, bits);
    let whole = |kind: Kind, bits: u64| match kind {
        Kind::Integer(true, _) => i128::from(bits as i64),
        _ => i128::from(bits),
    };
    let is_same = match (to, from) {
        (Kind::Real, Kind::Real) => true,
        (Kind::Real, from) => f64::from_bits(converted) as i128 == whole(from, bits),
        (to, Kind::Real) => {
            let real = f64::from_bits(bits);
            real.trunc() == real && real as i128 == whole(to, converted)
        }
        (to, from) => whole(to, converted) == whole(from, bits),
    };
    is_same.then_some(converted)
}
