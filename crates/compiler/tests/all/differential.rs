//! Units against bytecode: a generated program is interpreted, then compiled with the feedback of that run, and each
//! pass's result is evaluated. All runs must end alike: with the same value and the same objects, or the same fault.
//!
//! A failure prints the seed; `SEED=n` runs that program alone. `PROGRAMS=n` sets how many there are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use squall_bytecode::decode::instructions;
use squall_bytecode::entities::Register;
use squall_compiler::build::{Limits, build_with};
use squall_compiler::code::{Request, Start};
use squall_compiler::ir::Unit;
use squall_compiler::ir::entities::FunctionRef;
use squall_compiler::ir::types::Type;
use squall_compiler::ir::verify::verify;
use squall_compiler::lower::Backend;
use squall_compiler::passes::residence::residence;
use squall_compiler::{PASSES, words};

use crate::clif::Lowered;
use crate::evaluator::{Compiled, PAIR, TRIPLE};
use crate::generator::{self, FUNCTIONS};
use crate::machine::{Code, Machine};
use crate::world::{HARDENING, World};

const PROGRAMS: u64 = 100;

/// The chaos of each run: every how many guards one leaves its unit though it holds.
const CHAOS: [usize; 4] = [0, 1, 3, 7];

#[test]
fn units_do_what_their_bytecode_does() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("SEED") {
        return check(seed);
    }
    for seed in 0..number("PROGRAMS").unwrap_or(PROGRAMS) {
        if catch_unwind(AssertUnwindSafe(|| check(seed))).is_err() {
            panic!("SEED={seed} repeats this");
        }
    }
}

fn world_of(seed: u64) -> World {
    let mut world = World::of(&generator::program(seed));
    let operators = [
        ("+", "number:add:"),
        ("-", "number:subtract:"),
        ("*", "number:multiply:"),
        ("%", "number:modulo:"),
        ("/", "integer:quotient:"),
        ("&", "integer:and:"),
        ("<", "number:lessThan:"),
        ("=", "number:equals:"),
        ("==", "identical:to:"),
    ];
    for (selector, name) in operators {
        for layout in [words::layouts::INTEGER, words::layouts::DOUBLE] {
            let action = world.action_of(name);
            world.actions.insert((layout, selector.into()), action);
        }
    }
    let identical = world.action_of("identical:to:");
    for layout in [PAIR, TRIPLE, words::layouts::ARRAY, words::layouts::NIL] {
        world.actions.insert((layout, "==".into()), identical);
    }
    let members = [
        (PAIR, "x", "slot:0"),
        (PAIR, "y", "slot:1"),
        (PAIR, "self", "receiver"),
        (PAIR, "double", "answer:nil"),
        (PAIR, "x:", "store:0"),
        (PAIR, "y:", "store:1"),
        (PAIR, "m1:with:", "method:f1"),
        (PAIR, "m2:with:", "method:f2"),
        (TRIPLE, "x", "slot:2"),
        (TRIPLE, "y", "slot:0"),
        (TRIPLE, "self", "receiver"),
        (TRIPLE, "double", "slot:1"),
        (TRIPLE, "x:", "store:2"),
        (TRIPLE, "y:", "store:1"),
        (TRIPLE, "m1:with:", "method:f2"),
        (TRIPLE, "m2:with:", "method:f2"),
        (words::layouts::ARRAY, "at:", "array:at:"),
        (words::layouts::ARRAY, "at:put:", "array:at:put:"),
        (words::layouts::ARRAY, "self", "receiver"),
        (words::layouts::ARRAY, "m2:with:", "method:f2"),
        (words::layouts::INTEGER, "double", "receiver"),
        (words::layouts::BLOCK, "value:with:", "block:value:with:"),
    ];
    for (layout, selector, action) in members {
        let action = world.action_of(action);
        world.actions.insert((layout, selector.into()), action);
    }
    world
}

/// How many sets of arguments there are. Feedback comes from the first; the others make guards fail.
const INPUTS: usize = 5;

/// Runs function 0 on fresh objects; answers how it ends, and what has become of the objects.
fn run(machine: &mut Machine<'_>, input: usize) -> String {
    let integer = |value| words::integer_word(value).expect("it is small");
    let double = words::double_word(2.5).expect("it is immediate");
    let pair = machine.allocate(PAIR, vec![words::NIL; 2]);
    let triple = machine.allocate(TRIPLE, vec![words::NIL; 3]);
    let (first, second) = (machine.object(pair), machine.object(triple));
    let contents = match machine.world.has_objects {
        true if input == 2 => [pair, triple, double, pair, pair],
        // The slots' kinds are as before, but what is loaded from one goes to the other.
        true if input == 4 => [words::NIL, triple, triple, words::NIL, pair],
        true => [triple, words::NIL, words::NIL, pair, words::NIL],
        false => [integer(3), double, integer(1), pair, integer(7)],
    };
    for (slot, &word) in contents.iter().enumerate() {
        match slot {
            0..2 => machine.store_slot(first, slot, word),
            _ => machine.store_slot(second, slot - 2, word),
        }
    }
    let array = machine.allocate(words::layouts::ARRAY, vec![pair, triple, integer(5)]);
    let holder = machine.allocate(words::layouts::ARRAY, vec![pair, triple, array]);
    machine.roots.push(vec![(0, holder)]);
    let arguments = match input {
        0 | 4 => [pair, triple, array, integer(6)],
        1 => [triple, double, pair, double],
        2 => [array, words::NIL, triple, pair],
        _ => [words::GREATEST_INTEGER, words::LEAST_INTEGER, 1, 1].map(integer),
    };
    machine.stack[..4].copy_from_slice(&arguments);
    let result = machine.call(0, 0);
    let root = machine.roots.pop().expect("it was pushed")[0].1;
    let result = result.map(|word| machine.describe(word));
    format!("{result:?} {}", machine.describe(root))
}

fn check(seed: u64) {
    let mut world = world_of(seed);
    world.is_guarded = seed % 2 == 1;
    world.has_objects = seed % 4 < 2;
    world.hardening = seed.is_multiple_of(3).then_some(HARDENING);
    let mut expected = vec![run(&mut Machine::new(&mut world, true), 0)];
    world.recorded_kinds = world.slot_kinds.clone();
    expected.extend((1..INPUTS).map(|input| run(&mut Machine::new(&mut world, false), input)));
    let mut backend = Backend::new().expect("this machine has a backend");
    for limits in [Limits::NONE, Limits::default()] {
        world.hot = limits != Limits::NONE;
        world.slot_kinds = world.recorded_kinds.clone();
        let functions = 0..FUNCTIONS;
        let units: Vec<Vec<Code>> = functions
            .map(|function| {
                stages_of(&world, &Request::function(FunctionRef(function)), limits, &mut backend)
            })
            .collect();
        check_loops(&mut world, limits, &mut backend, &expected, seed);
        for stage in 0..units[0].len() {
            let units: Vec<Code> = units.iter().map(|stages| stages[stage].clone()).collect();
            for (input, chaos) in (0..INPUTS).flat_map(|input| CHAOS.map(|chaos| (input, chaos))) {
                world.slot_kinds = world.recorded_kinds.clone();
                let mut machine = Machine::new(&mut world, false);
                machine.chaos = chaos;
                machine.units = units.iter().cloned().map(Some).collect();
                let found = run(&mut machine, input);
                let is_long = [&found, &expected[input]].iter().any(|run| run.contains("too many"));
                let place =
                    format!("seed {seed}, {limits:?}, stage {stage}, input {input}, chaos {chaos}");
                assert!(
                    is_long || found == expected[input],
                    "{place}: {found}, not {}",
                    expected[input]
                );
            }
        }
    }
}

/// The same for units that begin at the heads of loops: interpreted activations go on in them.
fn check_loops(
    world: &mut World,
    limits: Limits,
    backend: &mut Backend,
    expected: &[String],
    seed: u64,
) {
    let heads = loop_heads(world);
    let mut stages: Vec<Vec<Code>> = Vec::new();
    for (index, &(function, pc)) in heads.iter().enumerate() {
        let likely = (0..14).map(Register).filter(|register| index % 2 == 0 && register.0 > 9);
        let request = Request {
            start: Start::Loop(pc as u32),
            likely: likely.map(|register| (register, Type::INTEGER)).collect(),
            ..Request::function(FunctionRef(function))
        };
        stages.push(stages_of(world, &request, limits, backend));
    }
    for stage in 0..stages.first().map_or(0, Vec::len) {
        for (input, chaos) in (0..INPUTS).flat_map(|input| CHAOS.map(|chaos| (input, chaos))) {
            let codes = stages.iter().map(|stages| stages[stage].clone());
            world.slot_kinds = world.recorded_kinds.clone();
            let mut machine = Machine::new(world, false);
            machine.chaos = chaos;
            machine.loops = heads.iter().copied().zip(codes).collect();
            let found = run(&mut machine, input);
            let is_long = [&found, &expected[input]].iter().any(|run| run.contains("too many"));
            let place = format!("loops, seed {seed}, stage {stage}, input {input}, chaos {chaos}");
            assert!(
                is_long || found == expected[input],
                "{place}: {found}, not {}",
                expected[input]
            );
        }
    }
}

/// The functions and pcs of all heads of loops.
fn loop_heads(world: &World) -> Vec<(u32, usize)> {
    let mut heads = Vec::new();
    for (index, function) in world.module.functions.iter().enumerate() {
        for instruction in instructions(&function.code).filter(|each| each.opcode.polls()) {
            heads.extend(instruction.targets().take(1).map(|pc| (index as u32, pc as usize)));
        }
    }
    heads
}

/// The unit of a function after the builder, after each pass, after `residence`, and after the lowering.
fn stages_of(world: &World, request: &Request, limits: Limits, backend: &mut Backend) -> Vec<Code> {
    let mut unit = build_with(world, request, limits).expect("it can be built");
    let mut stages = vec![Code::Unit(Compiled(Rc::new((unit.clone(), None))))];
    for pass in PASSES {
        let before = unit.to_string();
        (pass.run)(&mut unit);
        if let Err(errors) = verify(&unit) {
            panic!("{} breaks the unit: {errors:#?}\nbefore:\n{before}\nafter:\n{unit}", pass.name);
        }
        stages.push(Code::Unit(Compiled(Rc::new((unit.clone(), None)))));
    }
    let mut resident: Unit = unit.clone();
    let exits = residence(&mut resident);
    let exits = exits.unwrap_or_else(|value| panic!("{value:?} has no place\n{unit}"));
    let code = backend.lower(&resident, &exits, world, request);
    code.unwrap_or_else(|error| panic!("{error}\n{resident}"));
    let (function, table) = backend.translated(&resident, &exits, world, request.start);
    let lowered = Lowered { function, exits: table, reliances: resident.reliances.clone() };
    stages.push(Code::Unit(Compiled(Rc::new((resident, Some(exits))))));
    stages.push(Code::Lowered(Rc::new(lowered)));
    stages
}
