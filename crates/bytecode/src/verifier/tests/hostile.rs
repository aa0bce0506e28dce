//! Modules made to harm the verifier, by costing time or by damage.

use proptest::prelude::*;

use super::*;
use crate::assembler::assemble;
use crate::builder::{Argument, FunctionBuilder, Signature};
use crate::entities::Register;
use crate::format::{decode, encode, seal};
use crate::instructions::Opcode;
use crate::liveness::FrameMaps;
use crate::module::{Function, FunctionKind, Region, RegionKind};
use crate::testing::{Entropy, arbitrary_module};
use crate::types::RegisterType;
use crate::verifier::function::MOST_REGIONS;

/// All uses of a module must be safe, and those of an accepted one must work.
fn exercise(module: &Module) {
    for trust in [Trust::Trusted, Trust::Untrusted] {
        let _ = verify(module, trust);
    }
    for function in &module.functions {
        FrameMaps::compute(function);
    }
    let text = crate::disassembler::disassemble(module);
    let assembled = assemble(&text).expect("what was disassembled can be assembled");
    assert_eq!(encode(&assembled), encode(module), "{text}");
}

#[test]
fn every_flipped_bit_is_survived() {
    let bytes = encode(&module(SUM)).unwrap();
    let mut accepted = 0;
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        seal(&mut damaged);
        if let Ok(module) = decode(&damaged) {
            exercise(&module);
            accepted += usize::from(verify(&module, Trust::Untrusted).is_ok());
        }
    }
    // Some flips only change a name, a number or a position; most must be noticed.
    assert!((1..bytes.len() * 4).contains(&accepted), "{accepted} of {} bits", bytes.len() * 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_modules_are_safe(mut random in Entropy::up_to(800)) {
        exercise(&arbitrary_module(&mut random));
    }

    #[test]
    fn several_flipped_bits_are_survived(flips in prop::collection::vec(any::<prop::sample::Index>(), 2..8)) {
        let mut bytes = encode(&module(SUM)).unwrap();
        for place in flips {
            let bit = place.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        seal(&mut bytes);
        if let Ok(module) = decode(&bytes) {
            exercise(&module);
        }
    }
}

/// A function without parameters of this code.
fn function(code: FunctionBuilder) -> Function {
    let signature = Signature {
        name: StringId(0),
        kind: FunctionKind::Plain,
        parameters: 0,
        captured: 0,
        registers: vec![RegisterType::Any; 256],
        result: RegisterType::Any,
        home: None,
    };
    code.finish(signature).unwrap()
}

fn verify_function(function: Function) -> Result<(), Vec<VerifyError>> {
    verify(
        &Module { strings: vec!["f".into()], functions: vec![function], ..Module::default() },
        Trust::Untrusted,
    )
}

/// How many instructions the expensive functions have: enough to notice quadratic time.
const MANY: usize = 200_000;

#[test]
fn a_megabyte_of_jumps_takes_no_time() {
    let mut code = FunctionBuilder::new();
    let nil = |register: usize| [Argument::Register(Register(register as u8)), Argument::Number(0)];
    (0..256).for_each(|register| code.emit(Opcode::LoadSpecial, &nil(register)));
    for index in 0..MANY {
        code.emit(Opcode::LoadSpecial, &nil(index % 256));
        code.emit(Opcode::Loop, &[Argument::Number(-(1 + index as i64 % 250))]);
        let nowhere = Argument::Number(1 + (MANY - index) as i64 % 250);
        code.emit(Opcode::Jump, &[nowhere]);
    }
    (0..256).for_each(|_| code.emit(Opcode::Return, &[Register(0).into()]));
    assert!(verify_function(function(code)).is_ok());
}

#[test]
fn initialisation_that_trickles_backwards_takes_no_time() {
    // Each block loops to the one before it, and each pass takes one more register away.
    let mut code = FunctionBuilder::new();
    let labels: Vec<_> = (0..MANY).map(|_| code.label()).collect();
    let flag = Argument::Register(Register(0));
    code.emit(Opcode::LoadSpecial, &[flag, Argument::Number(0)]);
    for index in 0..MANY {
        code.bind(labels[index]);
        let register = Argument::Register(Register(1 + (index % 255) as u8));
        code.emit(Opcode::LoadSpecial, &[register, Argument::Number(0)]);
        let next = code.label();
        code.emit(Opcode::BranchTrue, &[flag, next.into(), next.into()]);
        code.emit(Opcode::Loop, &[labels[index.saturating_sub(1)].into()]);
        code.bind(next);
    }
    code.emit(Opcode::Return, &[flag]);
    let function = function(code);
    FrameMaps::compute(&function);
    assert!(verify_function(function).is_ok());
}

#[test]
fn deeply_nested_regions_take_no_time() {
    let mut code = FunctionBuilder::new();
    let nil = [Argument::Register(Register(0)), Argument::Number(0)];
    (0..MANY).for_each(|_| code.emit(Opcode::LoadSpecial, &nil));
    code.emit(Opcode::Return, &[Register(0).into()]);
    let mut function = function(code);
    let last = MANY as u32;
    let most = MOST_REGIONS as u32;
    function.regions = (1..=most)
        .map(|depth| last / 2 * depth / most)
        .map(|reach| Region {
            start: last / 2 - reach,
            end: last / 2 + reach,
            handler: last,
            value: Register(0),
            kind: RegionKind::Catch(Register(0)),
        })
        .collect();
    FrameMaps::compute(&function);
    assert!(
        verify_function(function.clone()).is_err(),
        "r0 is not initialised at the first instruction"
    );
    function.parameters = 1;
    assert!(verify_function(function).is_ok());
}

#[test]
fn many_uses_of_a_long_string_take_no_time() {
    let name = "x".repeat(1 << 20);
    let mut module = module(SUM);
    let slots = |count: u32, first: u32| {
        (first..first + count).map(|name| crate::module::Slot {
            name: StringId(name),
            mutable: true,
            visibility: crate::module::Visibility::Public,
        })
    };
    let first = module.strings.len() as u32;
    module.strings.extend([name.clone(), name + ":"]);
    let class = crate::module::ClassDefinition {
        outer: None,
        slots: slots(1, first).collect(),
        ..module.classes[0].clone()
    };
    module.classes.extend(std::iter::repeat_n(class, 2000));
    let site = crate::module::Site::Send {
        selector: StringId(first),
        access: crate::module::Access::Public,
    };
    module.functions[4].sites.extend(std::iter::repeat_n(site, 60_000));
    let errors = verify(&module, Trust::Untrusted).unwrap_err();
    assert!(errors.len() <= VerifyError::MOST);
    assert!(errors.iter().all(|error| error.to_string().len() < 500));
}
