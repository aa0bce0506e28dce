//! Accepted code is run by a machine that checks everything, with a collection at every step.
//!
//! The machine knows no objects. A register holds nothing, a tagged word, or raw bits of a type;
//! branches, calls and exceptions go any way they could. At each step it collects twice: before the
//! instruction and in it. A tagged word that the frame maps do not report is stale from then on.
//! Reading something stale, of the wrong type, or nothing at all means that the verifier or the
//! maps are wrong.
//!
//! Branches of a fork run one after the other, each on a machine that has only the registers that the maps say it
//! reads. Afterwards the machine around it has the registers that the maps say it leaves.

use proptest::prelude::*;

use super::*;
use crate::decode::Instruction;
use crate::entities::Register;
use crate::format::{decode, encode, seal};
use crate::instructions::{Opcode, OperandKind};
use crate::liveness::{BranchMap, ForkMap, FrameMaps};
use crate::module::{Function, FunctionKind, RegionKind};
use crate::register_set::RegisterSet;
use crate::scopes::Scopes;
use crate::testing::{Entropy, correct_module};
use crate::types::{RegisterType, TypeRule};

/// The contents of a register.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Content {
    Nothing,
    Word {
        kind: RegisterType,
        stale: bool,
    },
    Bits(RegisterType),
    /// A word that only `resume_unwind` reads.
    Token {
        stale: bool,
    },
}

const WORD: Content = Content::Word { kind: RegisterType::Any, stale: false };

struct Machine<'a> {
    function: &'a Function,
    maps: &'a FrameMaps,
    scopes: &'a Scopes,
    registers: Vec<Content>,
    pc: usize,
    has_marker: bool,
}

impl Machine<'_> {
    /// Runs until the function is left, or for long enough.
    fn run(function: &Function, maps: &FrameMaps, scopes: &Scopes, random: &mut Entropy) {
        let mut registers = vec![Content::Nothing; function.registers.len()];
        for (register, &kind) in
            registers.iter_mut().zip(&function.registers).take(function.arguments())
        {
            *register = fresh(kind);
        }
        let mut machine = Machine { function, maps, scopes, registers, pc: 0, has_marker: false };
        for _ in 0..300 {
            if !machine.step(random) {
                return;
            }
        }
    }

    /// Whether the function continues.
    fn step(&mut self, random: &mut Entropy) -> bool {
        let instruction = Instruction::decode(&self.function.code, self.pc).expect("this is code");
        let effects = instruction.effects();
        self.collect(self.maps.before(self.pc));
        if let (Opcode::ResumeUnwind, Some(token)) =
            (instruction.opcode, effects.uses.iter().next())
            && let Content::Token { stale } = self.registers[token.index()]
        {
            assert!(!stale, "the token in {token} at {}", self.pc);
            self.collect(*self.maps.at(self.pc));
            return self.raise(random);
        }
        effects.uses.iter().for_each(|register| self.read(register));
        if let Some(fork) = self.maps.fork(self.pc) {
            return self.fork(fork, &instruction, random);
        }
        self.check_operands(&instruction);
        if let Some(window) = instruction.window() {
            self.destroy_from(usize::from(window.0) - 1);
        }
        self.collect(*self.maps.at(self.pc));
        self.check_marker(&instruction);
        if random.one_in(6) && self.raise(random) {
            return true;
        }
        let jumps: Vec<i64> = instruction.targets().collect();
        let way = random.below(jumps.len() + usize::from(instruction.falls_through()) + 1);
        let jumped = way < jumps.len();
        self.write(&instruction, jumped);
        if !jumped && !instruction.falls_through() {
            return !jumps.is_empty() && self.go(jumps[0] as usize);
        }
        self.go(if jumped { jumps[way] as usize } else { instruction.next_pc() })
    }

    /// Runs the branches of a fork. They leave what they have defined, unless one ends with an exception.
    fn fork(&mut self, fork: &ForkMap, instruction: &Instruction, random: &mut Entropy) -> bool {
        let index = instruction.effects().defines;
        fork.cleared.iter().for_each(|register| self.define(register));
        self.collect(*self.maps.at(self.pc));
        let mut has_failed = false;
        for branch in &fork.branches {
            for _ in 0..if fork.is_loop { random.below(3) } else { 1 } {
                let Some(ending) = self.branch(branch, index, random) else { return false };
                has_failed |= ending.is_none();
                let left = ending.unwrap_or_else(|| vec![Content::Nothing; self.registers.len()]);
                for register in branch.left.iter() {
                    self.registers[register.index()] = left[register.index()];
                }
            }
        }
        let written = fork.branches.iter().fold(RegisterSet::EMPTY, |all, one| all | one.written);
        let results = fork.branches.iter().fold(RegisterSet::EMPTY, |all, one| all | one.left);
        let lost = if has_failed { written } else { written - results };
        for register in lost.iter().chain(index) {
            self.registers[register.index()] = Content::Nothing;
        }
        match has_failed {
            true => self.raise(random),
            false => self.go(fork.after),
        }
    }

    /// Runs a branch: answers its registers at the end, or nothing inside if an exception ends it, or nothing
    /// at all if it does not end.
    fn branch(
        &self,
        branch: &BranchMap,
        index: Option<Register>,
        random: &mut Entropy,
    ) -> Option<Option<Vec<Content>>> {
        let registers = self.registers.iter().enumerate().map(|(number, content)| {
            match branch.reads.contains(Register(number as u8)) {
                true => *content,
                false => Content::Nothing,
            }
        });
        let mut machine = Machine { registers: registers.collect(), pc: branch.start, ..*self };
        index.into_iter().for_each(|register| machine.define(register));
        if random.one_in(8) {
            return Some(None);
        }
        for _ in 0..300 {
            let word = self.function.code[machine.pc];
            if Opcode::of_word(word) == Some(Opcode::EndBranch) {
                machine.collect(machine.maps.before(machine.pc));
                branch.left.iter().for_each(|register| machine.read(register));
                return Some(Some(machine.registers));
            }
            if !machine.step(random) {
                return Some(None);
            }
        }
        None
    }

    fn define(&mut self, register: Register) {
        self.registers[register.index()] = fresh(self.function.registers[register.index()]);
    }

    fn go(&mut self, pc: usize) -> bool {
        self.pc = pc;
        true
    }

    /// A collection that traces these registers.
    fn collect(&mut self, traced: RegisterSet) {
        for (index, content) in self.registers.iter_mut().enumerate() {
            let is_traced = traced.contains(Register(index as u8));
            match content {
                Content::Word { stale, .. } | Content::Token { stale } => *stale |= !is_traced,
                other => assert!(!is_traced, "r{index} holds {other:?} at {}", self.pc),
            }
        }
        assert!(RegisterSet::below(self.registers.len()).includes(&traced));
    }

    fn read(&mut self, register: Register) {
        let expected = fresh(self.function.registers[register.index()]);
        assert_eq!(self.registers[register.index()], expected, "{register} at {}", self.pc);
    }

    /// Operands are of the kind that the instruction works on, and named ones outlive a collection
    /// in the instruction.
    fn check_operands(&self, instruction: &Instruction) {
        for (operand, value) in instruction.operands() {
            let (OperandKind::Define(rule) | OperandKind::Use(rule) | OperandKind::Update(rule)) =
                operand.kind
            else {
                continue;
            };
            let register = Register(value as u8);
            let kind = self.function.registers[register.index()];
            let is_word = kind.is_tagged();
            match rule {
                TypeRule::Any => assert_eq!(kind, RegisterType::Any),
                TypeRule::Whatever | TypeRule::SameAsFirst | TypeRule::SameAsSecond => {}
                _ => assert_ne!(kind, RegisterType::Any),
            }
            let is_read = matches!(operand.kind, OperandKind::Use(_) | OperandKind::Update(_));
            assert!(!is_read || !is_word || self.maps.at(self.pc).contains(register));
        }
    }

    fn destroy_from(&mut self, first: usize) {
        self.registers[first..].fill(Content::Nothing);
    }

    fn write(&mut self, instruction: &Instruction, jumped: bool) {
        if let Some(ended) = instruction.effects().ends {
            self.registers[ended.index()] = Content::Nothing;
        }
        let lost = match instruction.opcode {
            Opcode::AltRead => !jumped,
            opcode => opcode.defines_unless_jumping() && jumped,
        };
        for destination in instruction.effects().defined().iter() {
            let kind = self.function.registers[destination.index()];
            let content = if lost { Content::Nothing } else { fresh(kind) };
            self.registers[destination.index()] = content;
            self.check_kept(destination, instruction.opcode);
        }
        match instruction.opcode {
            Opcode::MakeHome => self.has_marker = true,
            Opcode::LeaveHome => self.has_marker = false,
            _ => {}
        }
    }

    fn check_kept(&self, destination: Register, opcode: Opcode) {
        assert!(self.function.kind != FunctionKind::Block || destination.0 != 0);
        assert!(self.function.home != Some(destination) || opcode == Opcode::MakeHome);
    }

    /// A property that the unwinder needs: the maps tell whether there is a marker, except while it is being removed.
    fn check_marker(&self, instruction: &Instruction) {
        let Some(home) = self.function.home else { return };
        let at = self.maps.at(self.pc).contains(home);
        assert_eq!(at, self.has_marker, "the marker at {}", self.pc);
        match instruction.opcode {
            Opcode::MakeHome | Opcode::Return => assert!(!self.has_marker),
            Opcode::ReturnHome | Opcode::LeaveHome => assert!(self.has_marker),
            _ => {}
        }
        if self.function.kind == FunctionKind::Block {
            assert!(self.maps.at(self.pc).contains(Register(0)));
        }
    }

    /// Raises an exception, if a region is around to handle it.
    fn raise(&mut self, random: &mut Entropy) -> bool {
        let inside = |region: &&crate::module::Region| {
            (region.start as usize..region.end as usize).contains(&self.pc)
                && self.scopes.reaches(region, self.pc)
        };
        let around: Vec<_> = self.function.regions.iter().filter(inside).cloned().collect();
        if around.is_empty() {
            return false;
        }
        let handling = random.below(around.len());
        for region in &around[..=handling] {
            if let RegionKind::Catch(class) = region.kind {
                // A token is no class, and not handed out by the comparison.
                let is_token = self.registers[class.index()] == Content::Token { stale: false };
                (!is_token).then(|| self.read(class));
            }
        }
        let region = &around[handling];
        assert_eq!(self.function.registers[region.value.index()], RegisterType::Any);
        self.registers[region.value.index()] = match region.kind {
            RegionKind::Ensure => Content::Token { stale: false },
            _ => WORD,
        };
        self.check_kept(region.value, Opcode::Move);
        self.go(region.handler as usize)
    }
}

fn fresh(kind: RegisterType) -> Content {
    if kind.is_tagged() { Content::Word { kind, stale: false } } else { Content::Bits(kind) }
}

/// Runs each function of an accepted module several times.
fn run_all(module: &Module, random: &mut Entropy) {
    for function in module.functions.iter().filter(|function| !function.is_imported()) {
        let (maps, scopes) = (FrameMaps::compute(function), Scopes::of(function));
        for _ in 0..4 {
            Machine::run(function, &maps, &scopes, random);
        }
        check_indices(function);
    }
}

/// The parts that the machine does not read: indices into tables.
fn check_indices(function: &Function) {
    for instruction in crate::decode::instructions(&function.code) {
        for (operand, value) in instruction.operands() {
            match operand.kind {
                OperandKind::Constant => assert!((value as usize) < function.constants.len()),
                OperandKind::Site(_) => assert!((value as usize) < function.sites.len()),
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn correct_code_is_accepted_and_runs(mut random in Entropy::up_to(800)) {
        let module = correct_module(&mut random);
        prop_assert_eq!(errors(&module, Trust::Untrusted), "", "{}", crate::disassembler::disassemble(&module));
        run_all(&module, &mut random);
    }

    #[test]
    fn damaged_code_is_rejected_or_runs(mut random in Entropy::up_to(800), flips in prop::collection::vec(any::<prop::sample::Index>(), 1..4)) {
        let mut bytes = encode(&correct_module(&mut random)).unwrap();
        for place in flips {
            let bit = place.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        seal(&mut bytes);
        if let Ok(module) = decode(&bytes) && verify(&module, Trust::Trusted).is_ok() {
            run_all(&module, &mut random);
        }
    }
}

#[test]
fn examples_run() {
    let choices: Vec<u8> =
        (0..4000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let manual = crate::testing::seeds::manual_examples().into_iter().skip(1).chain([SUM]);
    let texts = manual.map(str::to_owned).chain(crate::reference::example_texts());
    let mut forks = 0;
    for text in texts {
        forks += text.matches("end_branch").count();
        for seed in 0..10 {
            let choices = choices.iter().skip(seed * 100).copied().collect();
            run_all(&module(&text), &mut Entropy::of(choices));
        }
    }
    assert!(forks > 4, "forks are among the examples");
}
