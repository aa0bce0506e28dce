//! Functions: assembles their declarations and their code. `module.rs` calls this module for each item that is a
//! function.
//!
//! The code is laid out while it is read, since the mnemonic determines an instruction's length.
//! Operands that name labels are filled in at the end.

use std::collections::HashMap;

use super::diagnostic::{Diagnostic, Diagnostics, Span};
use super::lexer::TokenKind;
use super::module::{Item, Scope, position};
use super::places::FunctionPlaces;
use super::statement::{Result, Statement};
use super::values;
use strsim::levenshtein;

use crate::builder::{Argument, ConstantKey, FunctionBuilder, Signature};
use crate::entities::Register;
use crate::instructions::{Opcode, Operand, OperandKind, Special};
use crate::module::{Constant, Fault, Function, FunctionKind, LineEntry, Region, RegionKind, Site};
use crate::register_set::RegisterSet;

/// Assembles a function. A wrong statement is reported and skipped.
pub(super) fn assemble<'t>(
    scope: &mut Scope<'t>,
    item: &Item<'_, 't>,
    diagnostics: &mut Diagnostics,
) -> Result<()> {
    let (signature, head) = signature(scope, item)?;
    let mut body = Body::new(scope, signature, head);
    for line in item.body.iter().flatten() {
        let mut line = line.clone();
        let result = body.assemble_line(&mut line);
        diagnostics.catch(result.and_then(|()| line.finish()));
        if diagnostics.is_full() {
            return Ok(());
        }
    }
    let (function, places) = body.finish(diagnostics);
    scope.builder.function(function);
    scope.places.functions.push(places);
    Ok(())
}

/// The line that starts a function, and where it stands.
fn signature<'t>(scope: &mut Scope<'t>, item: &Item<'_, 't>) -> Result<(Signature, Span)> {
    let mut head = item.head.clone();
    head.next();
    let kind = FunctionKind::ALL.into_iter().find(|kind| kind.name() == item.keyword);
    let kind = kind.expect("the other items are no functions");
    let name = scope.string(&mut head)?;
    head.mark('(')?;
    let parameters = head.integer("number of parameters")?;
    head.mark(')')?;
    let captured =
        if head.accept_word("captures") { head.integer("number of captured values")? } else { 0 };
    let result = scope.result_type(&mut head)?;
    let place = head.since(item.span);
    head.mark('{')?;
    head.finish()?;
    let registers = Vec::new();
    Ok((Signature { name, kind, parameters, captured, registers, result, home: None }, place))
}

/// Constants of a function, and sites: instructions name them with 16 bits.
const MOST_ENTRIES: usize = 1 << 16;

/// A place in the code.
enum Target<'t> {
    Label(&'t str, Span),
    Word(i64),
}

/// An instruction with its operands; those that are targets come later.
struct Pending<'t> {
    opcode: Opcode,
    arguments: Vec<Argument>,
    targets: Vec<(usize, Target<'t>, Span)>,
}

/// A word or an instruction.
enum Emission<'t> {
    Word(u32),
    Instruction(Pending<'t>),
}

struct PendingRegion<'t> {
    kind: RegionKind,
    value: Register,
    /// Start, end and handler.
    places: [(Target<'t>, Span); 3],
}

/// A function under construction.
struct Body<'s, 't> {
    scope: &'s mut Scope<'t>,
    signature: Signature,
    names: HashMap<&'t str, Register>,
    constants: Vec<Constant>,
    constant_ids: HashMap<ConstantKey, usize>,
    sites: Vec<Site>,
    regions: Vec<PendingRegion<'t>>,
    lines: Vec<LineEntry>,
    labels: HashMap<&'t str, usize>,
    code: Vec<Emission<'t>>,
    pc: usize,
    places: FunctionPlaces,
}

impl<'s, 't> Body<'s, 't> {
    fn new(scope: &'s mut Scope<'t>, signature: Signature, head: Span) -> Body<'s, 't> {
        let places = FunctionPlaces::new(scope.builder.module.string(signature.name), head);
        Body {
            scope,
            signature,
            places,
            names: HashMap::new(),
            constants: Vec::new(),
            constant_ids: HashMap::new(),
            sites: Vec::new(),
            regions: Vec::new(),
            lines: Vec::new(),
            labels: HashMap::new(),
            code: Vec::new(),
            pc: 0,
        }
    }

    fn assemble_line(&mut self, line: &mut Statement<'_, 't>) -> Result<()> {
        let start = line.span();
        let is_constant = line.peek_indexed("k");
        let is_site = line.peek_indexed("site");
        let keyword = line.name("an instruction, a label or a declaration")?;
        match keyword {
            _ if line.accept(':') => self.bind(keyword, start),
            _ if line.peek().kind == TokenKind::Mark('=')
                && (is_constant, is_site) != (None, None) =>
            {
                self.assemble_table_entry(line, is_constant, is_site, start)
            }
            "registers" => self.assemble_registers(line),
            "home" => {
                self.signature.home = Some(self.register(line)?);
                Ok(())
            }
            "let" => self.assemble_name(line),
            "catch" => {
                let class = self.register(line)?;
                self.assemble_region(line, RegionKind::Catch(class), start)
            }
            "catch_fault" => {
                let fault = line.one_of("a fault", &Fault::ALL.map(Fault::name))?;
                self.assemble_region(line, RegionKind::Fault(Fault::ALL[fault]), start)
            }
            "ensure" => self.assemble_region(line, RegionKind::Ensure, start),
            "at" => self.assemble_position(line),
            "word" => {
                let word = line.integer("word")?;
                self.emit(Emission::Word(word), 1, line.since(start));
                Ok(())
            }
            _ => self.assemble_instruction(line, keyword, start),
        }
    }

    fn bind(&mut self, label: &'t str, span: Span) -> Result<()> {
        match self.labels.insert(label, self.pc) {
            None => Ok(()),
            Some(_) => Err(Diagnostic::new(span, format!("the label `{label}` is defined twice"))),
        }
    }

    /// `k3 = constant` or `site3 = site`; they are numbered in order.
    fn assemble_table_entry(
        &mut self,
        line: &mut Statement<'_, 't>,
        constant: Option<u32>,
        site: Option<u32>,
        span: Span,
    ) -> Result<()> {
        line.mark('=')?;
        let (number, next) = match (constant, site) {
            (Some(number), _) => (number, self.constants.len()),
            (_, number) => (number.unwrap_or_default(), self.sites.len()),
        };
        if number as usize != next {
            return Err(Diagnostic::new(span, format!("the next number is {next}")));
        }
        if constant.is_some() {
            let constant = values::constant(self.scope, line)?;
            self.append_constant(constant, line.since(span));
        } else {
            let site = values::site(self.scope, line)?;
            self.sites.push(site);
        }
        Ok(())
    }

    fn append_constant(&mut self, constant: Constant, place: Span) -> usize {
        self.places.constants.push(place);
        let index = self.constants.len();
        self.constant_ids.entry(ConstantKey::from(&constant)).or_insert(index);
        self.constants.push(constant);
        index
    }

    fn assemble_registers(&mut self, line: &mut Statement<'_, 't>) -> Result<()> {
        loop {
            let start = line.span();
            let kind = self.scope.register_type(line)?;
            let count = if line.accept('*') { line.integer("number of registers")? } else { 1 };
            let count: usize = count;
            let registers = &mut self.signature.registers;
            if registers.len().saturating_add(count) > RegisterSet::CAPACITY {
                let limit = RegisterSet::CAPACITY;
                return Err(Diagnostic::new(
                    start,
                    format!("there are more than {limit} registers"),
                ));
            }
            registers.resize(registers.len() + count, kind);
            if !line.accept(',') {
                return Ok(());
            }
        }
    }

    fn assemble_name(&mut self, line: &mut Statement<'_, 't>) -> Result<()> {
        let span = line.span();
        let is_register = line.peek_indexed("r").is_some();
        let name = line.name("a name for a register")?;
        if is_register {
            return Err(Diagnostic::new(
                span,
                format!("`{name}` is a register, and no name for one"),
            ));
        }
        line.mark('=')?;
        let register = self.register(line)?;
        self.names.insert(name, register);
        self.places.registers.push((register, name.to_owned()));
        Ok(())
    }

    fn assemble_region(
        &mut self,
        line: &mut Statement<'_, 't>,
        kind: RegionKind,
        span: Span,
    ) -> Result<()> {
        line.word("into")?;
        let value = self.register(line)?;
        line.word("from")?;
        let start = self.target(line)?;
        line.word("to")?;
        let end = self.target(line)?;
        line.word("handler")?;
        let handler = self.target(line)?;
        self.regions.push(PendingRegion { kind, value, places: [start, end, handler] });
        self.places.regions.push(line.since(span));
        Ok(())
    }

    /// `at line:column`, here or for the word with this index.
    fn assemble_position(&mut self, line: &mut Statement<'_, 't>) -> Result<()> {
        let pc = if line.accept('@') { line.integer("index of a word")? } else { self.pc as u32 };
        let (row, column) = position(line)?;
        self.lines.push(LineEntry { pc, line: row, column });
        Ok(())
    }

    fn assemble_instruction(
        &mut self,
        line: &mut Statement<'_, 't>,
        mnemonic: &str,
        span: Span,
    ) -> Result<()> {
        let Some(opcode) = Opcode::from_mnemonic(mnemonic) else {
            let problem = Diagnostic::new(span, format!("there is no instruction `{mnemonic}`"));
            return Err(match similar_mnemonic(mnemonic) {
                Some(similar) => problem.hint(format!("did you mean `{similar}`?")),
                None => problem,
            });
        };
        let mut pending = Pending { opcode, arguments: Vec::new(), targets: Vec::new() };
        for (index, operand) in opcode.info().operands.iter().enumerate() {
            if operand.kind == OperandKind::Link {
                pending.arguments.push(Argument::Number(0));
                continue;
            }
            if index > 0 {
                line.mark(',')?;
            }
            self.assemble_operand(line, &mut pending, operand)?;
        }
        self.emit(Emission::Instruction(pending), opcode.info().words(), line.since(span));
        Ok(())
    }

    fn emit(&mut self, emission: Emission<'t>, words: usize, place: Span) {
        self.places.code.push((self.pc, place));
        self.code.push(emission);
        self.pc += words;
    }

    fn assemble_operand(
        &mut self,
        line: &mut Statement<'_, 't>,
        pending: &mut Pending<'t>,
        operand: &Operand,
    ) -> Result<()> {
        let start = line.span();
        if operand.kind == OperandKind::Target {
            let (target, span) = self.target(line)?;
            pending.targets.push((pending.arguments.len(), target, span));
            pending.arguments.push(Argument::Number(0));
            return Ok(());
        }
        let value = self.operand_value(line, operand)?;
        if !crate::builder::fits(operand.kind, operand.field, value) {
            let problem = format!(
                "the {} of `{}` cannot be {value}",
                operand.name,
                pending.opcode.info().mnemonic
            );
            return Err(Diagnostic::new(start, problem));
        }
        pending.arguments.push(Argument::Number(value));
        Ok(())
    }

    fn operand_value(&mut self, line: &mut Statement<'_, 't>, operand: &Operand) -> Result<i64> {
        use OperandKind::*;
        let what = operand.name;
        Ok(match operand.kind {
            Define(_) | Use(_) | Update(_) | Window | Range => self.register(line)?.index() as i64,
            Special => self.special(line)?,
            Constant => self.constant(line)? as i64,
            Site(_) => self.site(line)? as i64,
            Function => i64::from(self.scope.function(line)?.0),
            Class => i64::from(self.scope.class(line)?.0),
            Primitive => i64::from(self.scope.string(line)?.0),
            Count | Immediate | Index | Target | Link => line.integer::<i64>(what)?,
        })
    }

    fn register(&self, line: &mut Statement<'_, 't>) -> Result<Register> {
        if let Some(number) = line.peek_indexed("r") {
            let Ok(number) = u8::try_from(number) else {
                return line.expected("a register up to r255");
            };
            line.next();
            return Ok(Register(number));
        }
        let known = match line.peek().kind {
            TokenKind::Name(name) => self.names.get(name),
            _ => None,
        };
        match known {
            Some(&register) => {
                line.next();
                Ok(register)
            }
            None => line.expected("a register"),
        }
    }

    fn special(&self, line: &mut Statement<'_, 't>) -> Result<i64> {
        if matches!(line.peek().kind, TokenKind::Number(_)) {
            return line.integer("special");
        }
        Ok(line.one_of("a special", &Special::ALL.map(Special::name))? as i64)
    }

    /// A constant by its index, or in place.
    fn constant(&mut self, line: &mut Statement<'_, 't>) -> Result<usize> {
        if let Some(index) = line.peek_indexed("k") {
            line.next();
            return Ok(index as usize);
        }
        let start = line.span();
        let constant = values::constant(self.scope, line)?;
        match self.constant_ids.get(&ConstantKey::from(&constant)) {
            Some(&index) => Ok(index),
            None if self.constants.len() >= MOST_ENTRIES => {
                let problem = format!("a function has at most {MOST_ENTRIES} constants");
                Err(Diagnostic::new(line.since(start), problem))
            }
            None => Ok(self.append_constant(constant, line.since(start))),
        }
    }

    /// A site by its index, or in place.
    fn site(&mut self, line: &mut Statement<'_, 't>) -> Result<usize> {
        if let Some(index) = line.peek_indexed("site") {
            line.next();
            return Ok(index as usize);
        }
        let site = values::site(self.scope, line)?;
        self.sites.push(site);
        Ok(self.sites.len() - 1)
    }

    fn target(&self, line: &mut Statement<'_, 't>) -> Result<(Target<'t>, Span)> {
        let span = line.span();
        if line.accept('@') {
            return Ok((Target::Word(line.integer("index of a word")?), span));
        }
        Ok((Target::Label(line.name("a label")?, span), span))
    }

    fn finish(self, diagnostics: &mut Diagnostics) -> (Function, FunctionPlaces) {
        let mut builder = FunctionBuilder::new();
        for emission in &self.code {
            match emission {
                Emission::Word(word) => builder.word(*word),
                Emission::Instruction(pending) => {
                    let arguments = diagnostics.catch(self.arguments(pending, builder.pc()));
                    builder.emit(pending.opcode, &arguments.unwrap_or(pending.arguments.clone()));
                }
            }
        }
        let regions: Vec<Region> = self
            .regions
            .iter()
            .filter_map(|region| diagnostics.catch(self.region(region)))
            .collect();
        let Body { signature, constants, sites, lines, places, .. } = self;
        let function = builder.finish(signature).expect("every operand fits its field");
        (Function { constants, sites, regions, lines, ..function }, places)
    }

    /// The operands of the instruction at `pc`, with its targets.
    fn arguments(&self, pending: &Pending<'t>, pc: usize) -> Result<Vec<Argument>> {
        let mut arguments = pending.arguments.clone();
        for (index, target, span) in &pending.targets {
            let distance = i128::from(self.resolve(target)?) - pc as i128;
            let range = pending.opcode.info().operands[*index].field.signed_range();
            let near = i64::try_from(distance).ok().filter(|distance| range.contains(distance));
            let Some(distance) = near else {
                return Err(Diagnostic::new(*span, "the target is too far away"));
            };
            arguments[*index] = Argument::Number(distance);
        }
        Ok(arguments)
    }

    fn region(&self, region: &PendingRegion<'t>) -> Result<Region> {
        let [start, end, handler] = &region.places;
        Ok(Region {
            start: self.region_place(start)?,
            end: self.region_place(end)?,
            handler: self.region_place(handler)?,
            value: region.value,
            kind: region.kind,
        })
    }

    fn region_place(&self, (target, span): &(Target<'t>, Span)) -> Result<u32> {
        let place = self.resolve(target)?;
        u32::try_from(place).map_err(|_| Diagnostic::new(*span, "there can be no such word"))
    }

    fn resolve(&self, target: &Target<'t>) -> Result<i64> {
        match target {
            Target::Word(word) => Ok(*word),
            Target::Label(label, span) => match self.labels.get(label) {
                Some(&pc) => Ok(pc as i64),
                None => Err(Diagnostic::new(*span, format!("there is no label `{label}`"))),
            },
        }
    }
}

/// The mnemonic that differs least, if it does not differ much.
fn similar_mnemonic(wrong: &str) -> Option<&'static str> {
    const LONGEST: usize = 24;
    if wrong.len() > LONGEST {
        return None;
    }
    let mnemonics = Opcode::ALL.iter().map(|opcode| opcode.info().mnemonic);
    let (distance, best) =
        mnemonics.map(|mnemonic| (levenshtein(wrong, mnemonic), mnemonic)).min()?;
    (distance <= 1 + wrong.len() / 4).then_some(best)
}
