//! Reads a unit from the text that `print` writes. Golden tests of single passes begin with it.
//!
//! Numbers of values, blocks and states are kept, so that a printed unit reads as it was. A value or state may be named
//! before its line.

use std::collections::HashMap;
use std::fmt;

use crate::ir::entities::{ActivationId, Block, FunctionRef, Inst, StateId, Value};
use crate::ir::operations::{Op, Operand};
use crate::ir::types::{Layouts, Range, Representation, Type};
use crate::ir::{
    Activation, BlockData, Definition, End, InstData, Jump, Stands, State, Unit, ValueData,
};
use squall_bytecode::entities::Register;

/// A line that is not of the form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, counting from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Reads a unit. Text from a `;` to the end of its line is a comment.
pub fn parse(text: &str) -> Result<Unit, ParseError> {
    let mut parser = Parser::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.split(';').next().unwrap_or_default().trim();
        if !line.is_empty() {
            let read = parser.line(line);
            read.map_err(|message| ParseError { line: index + 1, message })?;
        }
    }
    Ok(parser.finish())
}

type Read<T> = Result<T, String>;

#[derive(Default)]
struct Parser {
    unit: Unit,
    states: HashMap<StateId, State>,
    current: Option<Block>,
}

impl Parser {
    fn line(&mut self, line: &str) -> Read<()> {
        match line.split_once(' ') {
            Some(("activation", rest)) => self.activation(rest),
            Some(("state", rest)) => self.state(rest),
            Some(("jump" | "branch" | "return" | "exit", _)) => self.end(line),
            Some(("leave", state)) => {
                let block = self.current.ok_or("a state to leave in is in a block")?;
                self.unit.blocks[block.index()].leave = Some(entity::<StateId>(state)?);
                Ok(())
            }
            _ if line == "open" => Ok(()),
            _ if line.ends_with(':') => self.block(&line[..line.len() - 1]),
            _ => self.instruction(line),
        }
    }

    /// Puts the states into their table.
    fn finish(mut self) -> Unit {
        let count = self.states.keys().map(|state| state.index() + 1).max().unwrap_or(0);
        for index in 0..count {
            let unused = State {
                activation: ActivationId(0),
                pc: 0,
                stands: Stands::Before,
                registers: Vec::new(),
                parent: None,
            };
            let state = self.states.remove(&StateId(index as u32)).unwrap_or(unused);
            self.unit.states.push(state);
        }
        self.unit
    }

    fn activation(&mut self, text: &str) -> Read<()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [_, "=", function, "at", offset, "words", words] = words[..] else {
            return Err("an activation is `a0 = f0 at 0 words 8`".into());
        };
        self.unit.activations.push(Activation {
            function: entity::<FunctionRef>(function)?,
            offset: number(offset)?,
            words: number(words)?,
        });
        Ok(())
    }

    fn state(&mut self, text: &str) -> Read<()> {
        let mut words = text.split_whitespace();
        let mut next = || words.next().ok_or("a state is `s0 = a0 before 4 r0=v0`".to_owned());
        let id = entity::<StateId>(next()?)?;
        next()?;
        let activation = entity::<ActivationId>(next()?)?;
        let stands = match next()? {
            "before" => Stands::Before,
            "in" => Stands::In,
            other => return Err(format!("a state is not `{other}` an instruction")),
        };
        let pc = number(next()?)?;
        let (mut registers, mut parent) = (Vec::new(), None);
        while let Some(word) = words.next() {
            match word.split_once('=') {
                Some((register, value)) => {
                    let register = register.strip_prefix('r').ok_or("a register is `r0`")?;
                    registers.push((Register(number(register)? as u8), self.value(value)?));
                }
                None => parent = Some(entity::<StateId>(words.next().unwrap_or_default())?),
            }
        }
        let state = State { activation, pc, stands, registers, parent };
        self.states.insert(id, state);
        Ok(())
    }

    fn block(&mut self, text: &str) -> Read<()> {
        let (block, parameters) = text.split_once('(').ok_or("a block is `b0(v1: word any):`")?;
        let block = self.block_of(block)?;
        self.current = Some(block);
        let parameters = parameters.strip_suffix(')').ok_or("a bracket is missing")?;
        for parameter in parameters.split(", ").filter(|text| !text.is_empty()) {
            let value = self.declaration(parameter, Definition::Parameter(block))?;
            self.unit.blocks[block.index()].parameters.push(value);
        }
        Ok(())
    }

    /// A value with its representation and type.
    fn declaration(&mut self, text: &str, definition: Definition) -> Read<Value> {
        let words: Vec<&str> = text.split([' ', ':']).filter(|word| !word.is_empty()).collect();
        let [value, repr, kind] = words[..] else {
            return Err(format!("`{text}` is not like `v0: word any`"));
        };
        let value = self.value(value)?;
        let repr = Representation::ALL.into_iter().find(|each| each.name() == repr);
        let representation = repr.ok_or("this is no representation")?;
        let kind = parse_type(kind).ok_or_else(|| format!("`{kind}` is no type"))?;
        self.unit.values[value.index()] = ValueData { definition, representation, kind };
        Ok(value)
    }

    fn instruction(&mut self, line: &str) -> Read<()> {
        let block = self.current.ok_or("an instruction is in a block")?;
        let inst = Inst(self.unit.instructions.len() as u32);
        let (result, text) = match line.split_once(" = ") {
            Some((result, text)) => {
                (Some(self.declaration(result, Definition::Result(inst))?), text)
            }
            None => (None, line),
        };
        let mut words = text.split_whitespace().peekable();
        let mnemonic = words.next().unwrap_or_default();
        let op = match Op::read(mnemonic, None) {
            Some(op) => op,
            None => {
                let operand = words.next();
                Op::read(mnemonic, operand).ok_or_else(|| format!("`{text}` is no operation"))?
            }
        };
        let (mut arguments, mut state) = (Vec::new(), None);
        for word in words {
            match word.strip_prefix('s') {
                Some(_) => state = Some(entity::<StateId>(word)?),
                None => arguments.push(self.value(word)?),
            }
        }
        if let Op::GuardSlotKind(kind) | Op::AssumeKept(kind) = op {
            self.unit.rely_on(kind);
        }
        self.unit.instructions.push(InstData { op, arguments, state, result, origin: None });
        self.unit.blocks[block.index()].instructions.push(inst);
        Ok(())
    }

    fn end(&mut self, line: &str) -> Read<()> {
        let block = self.current.ok_or("an end is in a block")?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let end = match word {
            "jump" => End::Jump(self.jump(rest)?),
            "branch" => {
                let (value, jumps) = rest.split_once(' ').ok_or("a branch has a value")?;
                let (then, otherwise) = jumps.split_once(") ").ok_or("a branch has two jumps")?;
                let then = self.jump(&format!("{then})"))?;
                End::Branch(self.value(value)?, then, self.jump(otherwise)?)
            }
            "return" => End::Return(self.value(rest)?),
            _ => End::Exit(entity::<StateId>(rest)?),
        };
        self.unit.blocks[block.index()].end = end;
        Ok(())
    }

    fn jump(&mut self, text: &str) -> Read<Jump> {
        let (block, arguments) = text.split_once('(').ok_or("a jump is `b1(v2 v3)`")?;
        let arguments = arguments.trim_end_matches(')').split_whitespace();
        let block = self.block_of(block)?;
        let arguments = arguments.map(|value| self.value(value)).collect::<Read<_>>()?;
        Ok(Jump { block, arguments })
    }

    /// The value of this name, which may be defined later.
    fn value(&mut self, text: &str) -> Read<Value> {
        let value = entity::<Value>(text)?;
        let unknown = ValueData {
            definition: Definition::Parameter(Block(u32::MAX)),
            representation: Representation::Word,
            kind: Type::ANY,
        };
        while self.unit.values.len() <= value.index() {
            self.unit.values.push(unknown);
        }
        Ok(value)
    }

    fn block_of(&mut self, text: &str) -> Read<Block> {
        let block = entity::<Block>(text)?;
        while self.unit.blocks.len() <= block.index() {
            self.unit.blocks.push(BlockData::default());
        }
        Ok(block)
    }
}

fn number(text: &str) -> Read<u32> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

/// An entity of the table of operations or of the unit.
fn entity<T: Operand>(text: &str) -> Read<T> {
    T::read(text).ok_or_else(|| format!("`{text}` is no name of this kind"))
}

/// Reads a type.
pub fn parse_type(text: &str) -> Option<Type> {
    match text {
        "any" => return Some(Type::ANY),
        "none" => return Some(Type::NONE),
        _ => {}
    }
    let (mut rest, mut kind) = (text, Type::NONE);
    while !rest.is_empty() {
        let end = rest.find(|end: char| !end.is_ascii_lowercase()).unwrap_or(rest.len());
        let (name, mut tail) = rest.split_at(end);
        let mut part = match name {
            "int" => Type::INTEGER,
            "double" => Type::DOUBLE,
            "nil" => Type::NIL,
            "true" => Type::TRUE,
            "false" => Type::FALSE,
            "bool" => Type::BOOLEAN,
            "object" => Type::OBJECT,
            _ => return None,
        };
        if let Some(details) = tail.strip_prefix('(') {
            let (range, after) = details.split_once(')')?;
            part = Type::integers(read_range(range)?);
            tail = after;
        } else if let Some(details) = tail.strip_prefix('[') {
            let (layouts, after) = details.split_once(']')?;
            part = Type::objects(Layouts::read(layouts)?);
            tail = after;
        }
        kind = kind.join(part);
        rest = tail.strip_prefix('|').unwrap_or(tail);
    }
    Some(kind)
}

fn read_range(text: &str) -> Option<Range> {
    if text == "*" {
        return Some(Range::ALL);
    }
    let (least, greatest) = text.split_once("..")?;
    let (least, greatest) = (least.parse().ok()?, greatest.parse().ok()?);
    (least <= greatest).then(|| Range::new(least, greatest))
}
