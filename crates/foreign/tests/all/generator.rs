//! Random types in C's notation, from a seed.

use std::fmt::Write;

/// A generator of random numbers: xorshift, which suffices here.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }

    pub fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

/// The seed and the number of cases: `SQUALL_FOREIGN_SEED`, `SQUALL_FOREIGN_CASES`.
pub fn seed_and_cases(cases: usize) -> (u64, usize) {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let seed = number("SQUALL_FOREIGN_SEED").unwrap_or(1);
    let cases = number("SQUALL_FOREIGN_CASES").map_or(cases, |cases| cases as usize);
    println!("repeat with SQUALL_FOREIGN_SEED={seed} SQUALL_FOREIGN_CASES={cases}");
    (seed, cases)
}

const SCALARS: &[&str] = &[
    "_Bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "int8_t",
    "uint16_t",
    "int32_t",
    "uint64_t",
    "size_t",
];
const FLOATS: &[&str] = &["float", "double"];

/// Definitions, and names of types that they define or need.
#[derive(Default)]
pub struct Types {
    pub text: String,
    /// The names of all structures, nested ones first.
    pub records: Vec<String>,
}

/// A type that can be the result or a parameter of a function, one of these structures among them.
pub fn any_type<'t>(random: &mut Random, records: &[&'t str]) -> &'t str {
    match random.below(10) {
        0..4 => random.pick(SCALARS),
        4..6 => random.pick(FLOATS),
        6 => "void *",
        _ => random.pick(records),
    }
}

impl Types {
    /// Defines a new structure or union, and answers its name.
    pub fn record(&mut self, random: &mut Random, depth: usize) -> String {
        let kind = if random.below(4) == 0 { "union" } else { "struct" };
        let name = format!("{kind} r{}", self.records.len());
        self.records.push(name.clone());
        // Few fields and only floating-point ones are the interesting cases of calling conventions.
        let count = 1 + random.below(5);
        let only_floats = random.below(3) == 0;
        let mut body = String::new();
        for index in 0..count {
            let (front, back) = self.field(random, depth, only_floats);
            let _ = writeln!(body, "    {front} f{index}{back};");
        }
        let _ = writeln!(self.text, "{name} {{\n{body}}};");
        name
    }

    /// The text before and after the name of a field.
    fn field(&mut self, random: &mut Random, depth: usize, only_floats: bool) -> (String, String) {
        let of = match random.below(8) {
            0..3 if !only_floats => random.pick(SCALARS).to_owned(),
            3 if !only_floats => random.pick(&["char *", "enum e"]).to_owned(),
            4 if depth > 0 => self.record(random, depth - 1),
            _ => random.pick(FLOATS).to_owned(),
        };
        let back = match random.below(4) {
            0 => format!("[{}]", 1 + random.below(4)),
            1 if random.below(4) == 0 => format!("[{}][2]", 1 + random.below(2)),
            _ => String::new(),
        };
        (of, back)
    }
}

/// Structures of every size up to 64 bytes, and of the kinds that calling conventions distinguish, with their
/// definitions.
pub fn systematic_records() -> (String, Vec<String>) {
    let mut text = String::new();
    let mut names = Vec::new();
    let mut define = |kind: &str, body: String| {
        let name = format!("{kind} s{}", names.len());
        let _ = writeln!(text, "{name} {{ {body} }};");
        names.push(name);
    };
    for size in 1..=64 {
        define("struct", format!("char bytes[{size}];"));
    }
    for count in 1..=16 {
        define("struct", format!("float all[{count}];"));
    }
    for count in 1..=8 {
        define("struct", format!("double all[{count}];"));
    }
    let scalars = ["char", "short", "int", "long", "float", "double", "void *"];
    for first in scalars {
        for second in scalars {
            define("struct", format!("{first} a; {second} b;"));
            define("union", format!("{first} a; {second} b;"));
            define("struct", format!("{first} a; union {{ {second} b; {first} c[2]; }};"));
            define("struct", format!("{first} a; float b; {second} c;"));
        }
    }
    (text, names)
}

/// The text that C needs before the definitions.
pub const PREAMBLE: &str = "#include <stdint.h>\n#include <stddef.h>\n#include <string.h>\n";
/// The text that both sides need before the definitions.
pub const COMMON: &str = "enum e { E0, E1, E2 = 77 };\n";
