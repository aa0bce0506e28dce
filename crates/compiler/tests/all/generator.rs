//! Programs for the differential test: random, but terminating, functions in the text form of bytecode.
//!
//! Registers `r0` to `r2` are arguments: objects, mostly. `r3` and `r4` are variables of all kinds, so that sites see
//! several of them, `r5` and `r6` mostly small integers. All are in the array that a function may answer, so
//! nothing is computed in vain. Loops are counted; calls go to functions with a higher number only.

use std::fmt::Write;

/// A deterministic sequence of numbers (Marsaglia, "Xorshift RNGs", 2003).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// How many functions a program has, and how many of them are block functions, at the end.
pub const FUNCTIONS: u32 = 5;
const BLOCKS: u32 = 2;

/// Registers of variables; the last ones are for the generator.
const VARIABLES: u64 = 7;
/// From here on they are for integers.
const INTEGERS: u64 = 5;
/// Typed registers: three `i64`, two `i32`, a `u8`, two `f64`, a `bool`.
const TYPED: &str = "i64*3, i32*2, u8, f64*2, bool";
const WINDOW: u32 = 25;

/// A program, whose function 0 takes a pair, a triple, an array and an integer.
pub fn program(seed: u64) -> String {
    let mut text = String::new();
    for index in 0..FUNCTIONS {
        let mut function = Function {
            random: Random::new(seed * 31 + u64::from(index)),
            text: String::new(),
            labels: 0,
            index,
            depth: 0,
        };
        function.generate();
        text += &function.text;
    }
    text
}

/// Parameters of a function, with the receiver.
fn arguments(index: u32) -> u32 {
    if index == 0 { 4 } else { 3 }
}

struct Function {
    random: Random,
    text: String,
    labels: u32,
    index: u32,
    depth: u32,
}

impl Function {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "    {line}").expect("a string takes everything");
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    fn generate(&mut self) {
        let index = self.index;
        let is_block = index >= FUNCTIONS - BLOCKS;
        let kind = if is_block { "block" } else { "method" };
        let captures = if is_block { " captures 2" } else { "" };
        writeln!(
            self.text,
            "{kind} fn{index} \"f{index}\" ({}){captures} {{",
            arguments(index) - 1
        )
        .expect("a string takes everything");
        self.line(format_args!("registers any*14, {TYPED}, any*8"));
        for (register, kind) in (14..).zip(["i64", "i64", "i64", "i32", "i32", "u8", "f64", "f64"])
        {
            let value = self.random.below(9);
            let fraction = if kind == "f64" { ".5" } else { "" };
            self.line(format_args!("load_raw r{register}, {kind} {value}{fraction}"));
        }
        self.line(format_args!("load_raw r22, bool true"));
        for register in arguments(index)..12 {
            let value = self.random.below(9) as i64 - 2;
            match self.random.below(9) {
                0 => self.line(format_args!("load_constant r{register}, {value}.5")),
                1 => self.line(format_args!("move r{register}, r0")),
                2 if index == 0 => self.line(format_args!("move r{register}, r1")),
                _ => self.line(format_args!("load_integer r{register}, {value}")),
            }
        }
        if is_block {
            self.line(format_args!("load_captured r5, 0"));
            self.line(format_args!("load_captured r6, 1"));
        }
        self.statements(if index == 0 { 24 } else { 8 });
        self.line(format_args!("make_array r8, {}", VARIABLES + 6));
        for register in 0..VARIABLES {
            self.line(format_args!("store_element r8, r{register}, {register}"));
        }
        self.observe_typed();
        if self.random.below(3) == 0 || index == 0 {
            self.line(format_args!("return r8"));
        } else {
            let result = self.variable();
            self.line(format_args!("return r{result}"));
        }
        self.text += "}\n";
    }

    /// A register to write: not those of the arguments, which stay objects.
    fn variable(&mut self) -> u64 {
        // Few other values come to the registers for integers.
        let most = if self.random.below(12) == 0 { VARIABLES } else { INTEGERS };
        3 + self.random.below(most - 3)
    }

    /// Integers alone: a register for them, of which one operand may be a constant.
    fn arithmetic(&mut self) {
        let mut integer = || INTEGERS + self.random.below(VARIABLES - INTEGERS);
        let (to, left, mut right) = (integer(), integer(), integer());
        if self.random.below(2) == 0 {
            let value = self.random.below(16) as i64 - 6;
            match self.random.below(8) {
                0 => self.line(format_args!("load_constant r9, {}", (1i64 << 60) - 7 - value)),
                _ => self.line(format_args!("load_integer r9, {value}")),
            }
            right = 9;
        }
        let operator = self.random.pick(&["+", "+", "-", "*", "%", "%", "/", "&"]);
        self.line(format_args!("send1 r{to}, r{left}, r{right}, r{WINDOW}, \"{operator}\""));
        if self.random.below(8) == 0 {
            let other = self.variable();
            self.line(format_args!("send1 r{other}, r{to}, r{right}, r{WINDOW}, \"<\""));
        }
    }

    /// A register to read: mostly one with a number.
    fn operand(&mut self) -> u64 {
        if self.random.below(2) == 0 { self.random.below(VARIABLES) } else { self.variable() }
    }

    fn statements(&mut self, most: u64) {
        for _ in 0..most / 2 + self.random.below(most) {
            self.statement();
        }
    }

    fn statement(&mut self) {
        match self.random.below(5) {
            0 | 1 => return self.arithmetic(),
            2 => return self.typed(),
            _ => {}
        }
        match self.random.below(22) {
            0..5 => self.operator(),
            5..9 => self.slot(),
            9..10 => self.element(),
            10..12 if self.depth < 3 => self.condition(),
            12..14 if self.depth < 2 => self.counted_loop(),
            14..16 => self.call(),
            16 => self.closure(),
            17 => self.context(),
            18 => {
                let (to, from) = (self.variable(), self.operand());
                self.line(format_args!("move r{to}, r{from}"));
            }
            _ => self.constant(),
        }
    }

    /// Puts what typed registers hold into the array.
    fn observe_typed(&mut self) {
        let parts =
            ["box r9, r17", "box r9, r18", "box r9, r19", "convert r17, r14", "convert r17, r15"];
        for (index, part) in (VARIABLES..).zip(parts) {
            self.line(format_args!("{part}"));
            if part.starts_with("convert") {
                self.line(format_args!("box r9, r17"));
            }
            self.line(format_args!("store_element r8, r9, {index}"));
        }
        self.line(format_args!("lt r22, r20, r21"));
        self.line(format_args!("box r9, r22"));
        self.line(format_args!("store_element r8, r9, {}", VARIABLES + 5));
    }

    /// Typed registers, and conversions to and from words.
    fn typed(&mut self) {
        let (first, count) = [(14, 3), (17, 2), (19, 1), (20, 2)][self.random.below(4) as usize];
        let [to, left, right] = std::array::from_fn(|_| first + self.random.below(count));
        let is_double = first == 20;
        let integers = ["add", "sub", "mul", "and", "or", "xor", "shl", "shr", "neg", "not"];
        let all = if is_double { &integers[..3] } else { &integers };
        match self.random.below(8) {
            0..4 => match self.random.pick(all) {
                unary @ ("neg" | "not") => self.line(format_args!("{unary} r{to}, r{left}")),
                binary => self.line(format_args!("{binary} r{to}, r{left}, r{right}")),
            },
            4 => self.typed_branch(left, right),
            5 => {
                let (to, from) = self.conversion();
                self.line(format_args!("convert r{to}, r{from}"));
            }
            6 => {
                let (done, from) = (self.label(), self.operand());
                self.line(format_args!("unbox r14, r{from}, L{done}"));
                self.line(format_args!("add r15, r14, r16"));
                self.text += &format!("L{done}:\n");
                // It has a value on both ways from here on.
                self.line(format_args!("load_raw r14, i64 3"));
            }
            _ => {
                let (to, from) = (self.variable(), 17 + self.random.below(3));
                self.line(format_args!("box r{to}, r{from}"));
                self.line(format_args!("box r4, r22"));
            }
        }
    }

    fn conversion(&mut self) -> (u64, u64) {
        let to = 14 + self.random.below(8);
        // Doubles are not converted to integers here: the machine has no rule for it.
        let from = 14 + self.random.below(6);
        (to, from)
    }

    fn typed_branch(&mut self, left: u64, right: u64) {
        let comparison = self.random.pick(&["lt", "le", "eq", "ne"]);
        let comparison = if left >= 20 { "lt" } else { comparison };
        self.line(format_args!("{comparison} r22, r{left}, r{right}"));
        let (head, done) = (self.label(), self.label());
        match self.random.below(2) {
            0 => {
                let jump = self.random.pick(&["jump_if", "jump_unless"]);
                self.line(format_args!("{jump} r22, L{done}"));
                self.line(format_args!("xor r14, r15, r16"));
            }
            _ => {
                self.line(format_args!("load_raw r14, i64 0"));
                self.line(format_args!("load_raw r15, i64 {}", 1 + right % 3));
                self.text += &format!("L{head}:\n");
                self.line(format_args!("add r14, r14, r15"));
                self.line(format_args!("mul r17, r17, r18"));
                self.line(format_args!("load_raw r16, i64 {}", 2 + left));
                self.line(format_args!("lt r22, r14, r16"));
                self.line(format_args!("loop_if r22, L{head}"));
            }
        }
        self.text += &format!("L{done}:\n");
    }

    /// A number of any kind, or nil.
    fn constant(&mut self) {
        let (to, value) = (self.variable(), self.random.below(24) as i64 - 12);
        match self.random.below(8) {
            0 => self.line(format_args!("load_constant r{to}, {}", (1i64 << 60) - 1 - value.abs())),
            1 => self.line(format_args!("load_constant r{to}, {value}.25")),
            2 => self.line(format_args!("load_special r{to}, nil")),
            _ => self.line(format_args!("load_integer r{to}, {value}")),
        }
    }

    fn operator(&mut self) {
        let (to, left, right) = (self.variable(), self.operand(), self.operand());
        let operator =
            self.random.pick(&["+", "-", "*", "+", "%", "%", "/", "/", "&", "<", "=", "=="]);
        self.line(format_args!("send1 r{to}, r{left}, r{right}, r{WINDOW}, \"{operator}\""));
    }

    /// Accesses to slots, some of them to the same one: what is known of memory must hold. Slots have objects more often
    /// than numbers, so that some only ever have objects.
    fn slot(&mut self) {
        let (object, other) = (self.random.below(3), self.random.below(3));
        let name = self.random.pick(&["x", "y"]);
        self.load(object, name);
        if self.random.below(2) == 0 {
            let is_object = self.random.below(4) != 0;
            let value = if is_object { self.random.below(3) } else { self.operand() };
            let to = self.variable();
            self.line(format_args!("send1 r{to}, r{other}, r{value}, r{WINDOW}, \"{name}:\""));
            self.load(object, name);
        }
        let name = self.random.pick(&["x", "y", "self", "double"]);
        self.load(other, name);
        if self.random.below(3) == 0 {
            let node = self.variable();
            self.line(format_args!("send0 r{node}, r{other}, r{WINDOW}, \"{name}\""));
            self.line(format_args!("send0 r{node}, r{node}, r{WINDOW}, \"{name}\""));
        }
    }

    fn load(&mut self, object: u64, name: &str) {
        let to = self.variable();
        self.line(format_args!("send0 r{to}, r{object}, r{WINDOW}, \"{name}\""));
    }

    fn element(&mut self) {
        let (to, index, value) = (self.variable(), self.operand(), self.operand());
        let size = 1 + self.random.below(4);
        self.line(format_args!("make_array r8, {size}"));
        self.line(format_args!("store_element r8, r{value}, 0"));
        match self.random.below(3) {
            0 => self.line(format_args!("send1 r{to}, r8, r{index}, r{WINDOW}, \"at:\"")),
            1 => {
                self.line(format_args!("load_integer r9, 1"));
                self.line(format_args!("send2 r{to}, r8, r9, r{value}, r{WINDOW}, \"at:put:\""));
                self.line(format_args!("send1 r{to}, r8, r9, r{WINDOW}, \"at:\""));
            }
            _ => self.line(format_args!("move r{to}, r8")),
        }
    }

    fn condition(&mut self) {
        let (left, right) = (self.operand(), self.operand());
        let (otherwise, bad, done) = (self.label(), self.label(), self.label());
        if self.random.below(3) == 0 {
            let branch = self.random.pick(&["branch_nil", "branch_not_nil"]);
            self.line(format_args!("move r9, r{left}"));
            self.line(format_args!("{branch} r9, L{otherwise}, L{bad}"));
        } else {
            let operator = self.random.pick(&["<", "=", "=="]);
            self.line(format_args!("send1 r9, r{left}, r{right}, r{WINDOW}, \"{operator}\""));
            self.line(format_args!("branch_false r9, L{otherwise}, L{bad}"));
        }
        self.depth += 1;
        self.statements(3);
        self.line(format_args!("jump L{done}"));
        self.text += &format!("L{bad}:\n");
        self.line(format_args!("return r9"));
        self.text += &format!("L{otherwise}:\n");
        self.statements(3);
        self.depth -= 1;
        self.text += &format!("L{done}:\n");
    }

    fn counted_loop(&mut self) {
        let (head, bad, done) = (self.label(), self.label(), self.label());
        let counter = 10 + self.depth % 2;
        let limit = 12 + self.depth % 2;
        let (from, to) = (self.random.below(3), self.random.below(8));
        self.line(format_args!("load_integer r{counter}, {from}"));
        self.line(format_args!("load_integer r{limit}, {to}"));
        self.line(format_args!("for_enter r{counter}, r{limit}, 1, L{done}, L{bad}"));
        self.text += &format!("L{head}:\n");
        self.depth += 1;
        self.statements(4);
        self.depth -= 1;
        if self.random.below(2) == 0 {
            let to = self.variable();
            self.line(format_args!("move r{to}, r{counter}"));
        }
        self.line(format_args!("for_loop r{counter}, r{limit}, 1, L{head}"));
        self.line(format_args!("jump L{done}"));
        self.text += &format!("L{bad}:\n");
        self.line(format_args!("return r{counter}"));
        self.text += &format!("L{done}:\n");
    }

    /// A call of a later function: direct, or by a message to the receiver.
    fn call(&mut self) {
        let methods = FUNCTIONS - BLOCKS;
        let Some(later) = methods.checked_sub(self.index + 1).filter(|&later| later > 0) else {
            return self.operator();
        };
        let callee = self.index + 1 + self.random.below(u64::from(later)) as u32;
        let to = self.variable();
        let window = WINDOW + 1;
        let receiver = self.random.below(3);
        self.line(format_args!("move r{window}, r{receiver}"));
        for index in 1..arguments(callee) {
            let value = self.operand();
            self.line(format_args!("move r{}, r{value}", window + index));
        }
        let count = arguments(callee);
        if self.random.below(2) == 0 {
            self.line(format_args!("call r{to}, r{window}, {count}, fn{callee}"));
        } else {
            self.line(format_args!("send r{to}, r{window}, {count}, \"m{callee}:with:\""));
        }
    }

    /// A closure over two variables, which is evaluated at once or kept.
    fn closure(&mut self) {
        let function = FUNCTIONS - BLOCKS + self.random.below(u64::from(BLOCKS)) as u32;
        if self.index >= FUNCTIONS - BLOCKS {
            return self.slot();
        }
        let (to, one, other) = (self.variable(), self.operand(), self.operand());
        let captured = self.random.below(5);
        self.line(format_args!("make_closure r9, r{captured}, 2, fn{function}"));
        self.line(format_args!("send2 r{to}, r9, r{one}, r{other}, r{WINDOW}, \"value:with:\""));
    }

    fn context(&mut self) {
        let (to, value) = (self.variable(), self.operand());
        self.line(format_args!("make_context r9, 2"));
        self.line(format_args!("store_context r9, 0, r{value}"));
        let index = self.random.below(2);
        self.line(format_args!("load_context r{to}, r9, {index}"));
    }
}
