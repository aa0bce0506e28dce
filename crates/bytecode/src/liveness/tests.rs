//! The frame maps of small functions.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::builder::{Argument, FunctionBuilder, Signature};
use crate::entities::StringId;
use crate::instructions::{Opcode, OperandKind};
use crate::module::Region;
use crate::testing::{Entropy, random_function};
use crate::types::RegisterType;

/// The definitions, followed literally: one register at a time, one path after the other.
struct Oracle<'a> {
    function: &'a Function,
}

impl Oracle<'_> {
    fn instruction(&self, pc: usize) -> Option<Instruction> {
        crate::decode::instructions(&self.function.code).find(|instruction| instruction.pc == pc)
    }

    fn reads(&self, instruction: &Instruction, register: u8) -> bool {
        instruction.operands().any(|(operand, value)| match operand.kind {
            OperandKind::Use(_) | OperandKind::Update(_) => value == i64::from(register),
            OperandKind::Window | OperandKind::Range => {
                let count = instruction.count().unwrap_or(0) as i64;
                (value..value + count).contains(&i64::from(register))
            }
            _ => false,
        })
    }

    fn writes(&self, instruction: &Instruction, register: u8) -> bool {
        instruction.operands().any(|(operand, value)| {
            matches!(operand.kind, OperandKind::Define(_) | OperandKind::Update(_))
                && value == i64::from(register)
        })
    }

    fn destroys(&self, instruction: &Instruction, register: u8) -> bool {
        instruction.window().is_some_and(|window| register + 1 >= window.0)
    }

    /// The pcs after the instruction, and whether control gets there by a jump.
    fn successors(&self, instruction: &Instruction) -> Vec<(usize, bool)> {
        let next = instruction.falls_through().then(|| (instruction.next_pc(), false));
        let targets = instruction.targets().map(|pc| (pc as usize, true));
        targets.chain(next).collect()
    }

    /// The regions around a pc, from the inside out.
    fn regions(&self, pc: usize) -> impl Iterator<Item = &Region> {
        let inside = move |region: &&Region| (region.start..region.end).contains(&(pc as u32));
        self.function.regions.iter().filter(inside)
    }

    /// Whether some path from `pc` reads the register before it loses its value.
    fn is_live(&self, pc: usize, register: u8) -> bool {
        let always = self.function.kind == FunctionKind::Block && register == 0
            || self.function.home == Some(Register(register));
        let mut seen = Vec::new();
        let mut paths = vec![pc];
        while let Some(pc) = paths.pop() {
            let Some(instruction) = self.instruction(pc) else { continue };
            if seen.contains(&pc) {
                continue;
            }
            seen.push(pc);
            if self.reads(&instruction, register) {
                return true;
            }
            if self.destroys(&instruction, register) {
                continue;
            }
            if !self.writes(&instruction, register) {
                paths.extend(self.successors(&instruction).iter().map(|(pc, _)| pc));
            }
            for region in self.regions(pc) {
                if region.kind == RegionKind::Catch(Register(register)) {
                    return true;
                }
                if region.value.0 != register {
                    paths.push(region.handler as usize);
                }
            }
        }
        always && self.instruction(pc).is_some()
    }

    /// Whether the register has a value on every path to each pc; the pcs that have a path.
    fn initialised(&self, register: u8) -> Vec<Option<bool>> {
        let mut reached = vec![[false; 2]; self.function.code.len()];
        let mut paths = vec![(0, usize::from(register) < self.function.arguments())];
        while let Some((pc, has_value)) = paths.pop() {
            let Some(instruction) = self.instruction(pc) else { continue };
            if std::mem::replace(&mut reached[pc][usize::from(has_value)], true) {
                continue;
            }
            let kept = has_value && !self.destroys(&instruction, register);
            let written = self.writes(&instruction, register);
            for (pc, jumped) in self.successors(&instruction) {
                let elsewhere = match jumped {
                    true => instruction.opcode.defines_unless_jumping(),
                    false => instruction.opcode == Opcode::AltRead,
                };
                let lost = elsewhere && written
                    || instruction.effects().ends == Some(Register(register)) && !written;
                paths.push((pc, (kept || written) && !lost));
            }
            for region in self.regions(pc) {
                paths.push((region.handler as usize, kept || region.value.0 == register));
            }
        }
        let summarise = |[without, with]: [bool; 2]| (without || with).then_some(!without);
        reached.into_iter().map(summarise).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn maps_agree_with_the_definitions(mut random in Entropy::up_to(120)) {
        let function = random_function(&mut random, 12);
        let (maps, oracle) = (FrameMaps::compute(&function), Oracle { function: &function });
        for register in 0..function.registers.len() as u8 {
            let tagged = function.registers[usize::from(register)] .is_tagged();
            for (pc, initialised) in oracle.initialised(register).into_iter().enumerate() {
                let live = oracle.is_live(pc, register) && initialised == Some(true);
                let in_callee = oracle.instruction(pc).is_some_and(|at| oracle.destroys(&at, register));
                let register = Register(register);
                prop_assert_eq!(maps.before(pc).contains(register), live && tagged, "{} before {}", register, pc);
                prop_assert_eq!(maps.raw_before(pc).contains(register), live && !tagged, "{} before {}", register, pc);
                prop_assert_eq!(maps.at(pc).contains(register), live && tagged && !in_callee, "{} at {}", register, pc);
            }
        }
    }

    #[test]
    fn analysis_of_any_words_is_safe(code: Vec<u32>, mut random in Entropy::up_to(40)) {
        let mut function = random_function(&mut random, 4);
        function.code = code;
        FrameMaps::compute(&function);
    }
}

/// Shows for each instruction the registers traced before it and in it.
fn check(function: &Function, expected: Expect) {
    let maps = FrameMaps::compute(function);
    let mut listing = String::new();
    for instruction in crate::decode::instructions(&function.code) {
        let (pc, before) = (instruction.pc, maps.before(instruction.pc));
        let mnemonic = instruction.info().mnemonic;
        listing += &format!("{pc:<2} {mnemonic:<14} before {before:?} at {:?}\n", maps.at(pc));
    }
    expected.assert_eq(&listing);
}

fn registers(names: &[u8]) -> Vec<Argument> {
    names.iter().map(|&name| Argument::Register(Register(name))).collect()
}

fn signature(kind: FunctionKind, parameters: u8, count: usize) -> Signature {
    Signature {
        name: StringId(0),
        kind,
        parameters,
        captured: 0,
        registers: vec![RegisterType::Any; count],
        result: RegisterType::Any,
        home: None,
    }
}

#[test]
fn a_call_keeps_its_operands_but_not_its_window_or_destination() {
    let mut code = FunctionBuilder::new();
    let site = Argument::Number(0);
    code.emit(Opcode::LoadInteger, &[Register(2).into(), Argument::Number(1)]);
    let send = [registers(&[2, 0, 1, 5]), vec![site]].concat();
    code.emit(Opcode::Send1, &send);
    code.emit(Opcode::Return, &registers(&[2]));
    let function = code.finish(signature(FunctionKind::Method, 1, 7)).unwrap();
    check(
        &function,
        expect![[r#"
        0  load_integer   before {r0, r1} at {r0, r1}
        1  send1          before {r0, r1} at {r0, r1}
        3  return         before {r2} at {r2}
    "#]],
    );
}

#[test]
fn a_handler_keeps_registers_alive_in_its_whole_region() {
    let mut code = FunctionBuilder::new();
    let [start, end, handler] = [(); 3].map(|_| code.label());
    let send = [registers(&[2, 0, 5]), vec![Argument::Number(0)]].concat();
    code.bind(start);
    code.emit(Opcode::Send0, &send);
    code.bind(end);
    code.emit(Opcode::Return, &registers(&[0]));
    code.bind(handler);
    code.emit(Opcode::Return, &registers(&[2]));
    code.region((start, end), handler, Register(3), RegionKind::Catch(Register(1)));
    // r2, the destination, is an argument here: the handler still needs its old value.
    let function = code.finish(signature(FunctionKind::Method, 2, 7)).unwrap();
    check(
        &function,
        expect![[r#"
        0  send0          before {r0, r1, r2} at {r0, r1, r2}
        2  return         before {r0} at {r0}
        3  return         before {r2} at {r2}
    "#]],
    );
}

#[test]
fn closures_and_homes_are_always_traced() {
    let mut code = FunctionBuilder::new();
    code.emit(Opcode::MakeHome, &registers(&[1]));
    code.emit(Opcode::LoadSpecial, &[Register(2).into(), Argument::Number(0)]);
    code.emit(Opcode::Return, &registers(&[2]));
    let home = Some(Register(1));
    let function = code.finish(Signature { home, ..signature(FunctionKind::Block, 0, 3) }).unwrap();
    check(
        &function,
        expect![[r#"
        0  make_home      before {r0} at {r0}
        1  load_special   before {r0, r1} at {r0, r1}
        2  return         before {r0, r1, r2} at {r0, r1, r2}
    "#]],
    );
}
