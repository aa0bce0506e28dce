//! Modules of any content, hardly ever correct, for tests of the text form and the binary form, which must represent
//! all of them.

use num_bigint::BigInt;

use super::{Entropy, random_function};
use crate::entities::{ClassId, FunctionId, Register, StringId, TypeId};
use crate::module::*;
use crate::types::{RegisterType, TypeDefinition};

/// A module with any content.
pub(crate) fn arbitrary_module(random: &mut Entropy) -> Module {
    Module {
        strings: random.list(6, text),
        path: optional(random, id).map(StringId),
        name: optional(random, id).map(StringId),
        version: optional(random, id).map(StringId),
        types: random.list(5, definition),
        imports: random.list(3, import),
        exports: random.list(3, export),
        functions: random.list(4, function),
        classes: random.list(3, class),
        main_class: optional(random, id).map(ClassId),
    }
}

fn optional<T>(random: &mut Entropy, value: fn(&mut Entropy) -> T) -> Option<T> {
    random.one_in(2).then(|| value(random))
}

/// Mostly the index of something that exists.
fn id(random: &mut Entropy) -> u32 {
    if random.one_in(10) { random.number() as u32 } else { random.below(4) as u32 }
}

fn text(random: &mut Entropy) -> String {
    let pieces = [
        "foo",
        "bar:",
        "+",
        "",
        "x y",
        "\"",
        "\\",
        "\n",
        "\0",
        "é",
        "𝒳",
        "\u{202e}",
        "; no comment",
        "a",
    ];
    random.list(4, |random| random.choose(&pieces)).concat()
}

fn register(random: &mut Entropy) -> Register {
    Register(if random.one_in(10) { random.byte() } else { random.below(8) as u8 })
}

fn register_type(random: &mut Entropy) -> RegisterType {
    match random.below(4) {
        0 => RegisterType::Defined(TypeId(id(random) as u16)),
        _ => random.choose(&RegisterType::BASIC),
    }
}

fn definition(random: &mut Entropy) -> TypeDefinition {
    use TypeDefinition::*;
    let [left, right] = [(); 2].map(|_| register_type(random));
    match random.below(10) {
        0 => Tuple(random.list(5, register_type)),
        1 => List(left),
        2 => Map(left, right),
        3 => Channel(left),
        4 => Reader(left),
        5 => Writer(left),
        6 => Barrier,
        7 => Bucket,
        8 => Function { parameters: random.list(4, register_type), result: left },
        _ => Process { parameters: random.list(4, register_type) },
    }
}

/// Often of the module's first functions, which can be declared in place.
fn import(random: &mut Entropy) -> Import {
    let functions = match random.below(3) {
        0 => vec![FunctionId(0)],
        1 => vec![FunctionId(0), FunctionId(1)],
        _ => random.list(4, |random| FunctionId(id(random))),
    };
    let requirement = optional(random, id).map(StringId);
    Import { module: StringId(id(random)), requirement, functions }
}

fn export(random: &mut Entropy) -> Export {
    Export { name: StringId(id(random)), function: FunctionId(id(random)) }
}

fn function(random: &mut Entropy) -> Function {
    if random.one_in(4) {
        return signature(random);
    }
    let mut function = random_function(random, 8);
    function.name = StringId(id(random));
    function.captured = random.number() as u16;
    function.parameters = random.below(4) as u8;
    function.result = register_type(random);
    if random.one_in(4) {
        function.registers = random.list(257, register_type);
    }
    function.home = optional(random, register);
    function.constants = random.list(6, constant);
    function.sites = random.list(6, site);
    if random.one_in(4) {
        function.regions = random.list(3, region);
    }
    if random.one_in(4) {
        function.code = random.list(12, |random| random.number() as u32);
    } else if random.one_in(2) {
        corrupt(random, &mut function.code);
    }
    function.lines = lines(random, function.code.len());
    function
}

/// A function of another module.
fn signature(random: &mut Entropy) -> Function {
    let registers = random.list(4, register_type);
    Function {
        name: StringId(id(random)),
        kind: FunctionKind::Plain,
        parameters: registers.len() as u8,
        captured: 0,
        registers,
        result: register_type(random),
        home: None,
        constants: Vec::new(),
        sites: Vec::new(),
        regions: Vec::new(),
        code: Vec::new(),
        lines: Vec::new(),
    }
}

fn corrupt(random: &mut Entropy, code: &mut [u32]) {
    if !code.is_empty() {
        let place = random.below(code.len());
        code[place] ^= 1 << random.below(32);
    }
}

fn constant(random: &mut Entropy) -> Constant {
    match random.below(6) {
        0 => Constant::Integer(BigInt::from(random.number() as i64)),
        1 => {
            let digits: Vec<u8> = random.list(20, Entropy::byte);
            Constant::Integer(BigInt::from_signed_bytes_le(&digits))
        }
        2 if random.one_in(2) => Constant::Double(f64::from_bits(random.number())),
        2 => Constant::Double(random.choose(&[0.0, -0.0, 1.5, 1e300, f64::INFINITY, f64::MIN])),
        3 => Constant::String(StringId(id(random))),
        4 => Constant::Symbol(StringId(id(random))),
        _ => Constant::Raw(register_type(random), random.number()),
    }
}

fn side(random: &mut Entropy) -> Side {
    random.choose(&[Side::Instance, Side::Class])
}

fn site(random: &mut Entropy) -> Site {
    let class = ClassId(id(random));
    let access = match random.below(12) {
        0 => Access::Public,
        1 => Access::Lexical,
        2 => Access::Private(class, side(random)),
        3 => Access::Super(class, side(random)),
        4 => Access::Initializer(class),
        5 => Access::OwnInitializer(class),
        6 => Access::SuperInitializer(class),
        7 => Access::MixinInitializer(class, random.byte()),
        8 => return Site::Enclosing(class, side(random)),
        9 => return Site::Captures(class),
        10 => return Site::InitializeSlot(class, StringId(id(random))),
        _ => return Site::ClassSlot(class),
    };
    Site::Send { selector: StringId(id(random)), access }
}

fn region(random: &mut Entropy) -> Region {
    let kind = match random.below(3) {
        0 => RegionKind::Ensure,
        1 => RegionKind::Fault(random.choose(&Fault::ALL)),
        _ => RegionKind::Catch(register(random)),
    };
    let [start, end, handler] = [(); 3].map(|_| id(random));
    Region { start, end, handler, value: register(random), kind }
}

fn lines(random: &mut Entropy, length: usize) -> Vec<LineEntry> {
    let (mut pc, orderly) = (0, !random.one_in(4));
    random.list(5, |random| {
        let line = LineEntry { pc, line: id(random), column: id(random) };
        pc = if orderly { pc + random.below(length / 2 + 1) as u32 } else { id(random) };
        line
    })
}

fn visibility(random: &mut Entropy) -> Visibility {
    random.choose(&Visibility::ALL)
}

fn method(random: &mut Entropy) -> Method {
    Method {
        selector: StringId(id(random)),
        visibility: visibility(random),
        function: FunctionId(id(random)),
    }
}

fn slot(random: &mut Entropy) -> Slot {
    Slot { name: StringId(id(random)), mutable: random.one_in(2), visibility: visibility(random) }
}

fn class(random: &mut Entropy) -> ClassDefinition {
    ClassDefinition {
        name: StringId(id(random)),
        outer: optional(random, id).map(ClassId),
        visibility: visibility(random),
        accessor: optional(random, id).map(FunctionId),
        factory_selector: StringId(id(random)),
        factory: FunctionId(id(random)),
        initializer: FunctionId(id(random)),
        own_initializer: FunctionId(id(random)),
        slots: random.list(3, slot),
        nested: random.list(3, |random| ClassId(id(random))),
        methods: random.list(3, method),
        class_methods: random.list(3, method),
        position: (id(random), id(random)),
    }
}
