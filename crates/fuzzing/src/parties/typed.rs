//! A guest in typed bytecode, which amplifies: few instructions make, copy, compare and hand out values of any size. Its
//! code prints nothing; it is after the host's time and memory. `parties` calls this module.
//!
//! A function `wayN` gets a number and the writing end of a channel of the host. Every step may fail, and most are tried
//! in regions of their own, so a function goes on after its faults.

use std::fmt::Write as _;

use crate::choices::Choices;

/// The program's text.
pub fn program(choices: &mut Choices<'_>, ways: usize) -> String {
    let exports = (1..=ways).map(|number| format!("export \"way{number}\" $way{number}\n"));
    let mut text: String = exports.collect();
    text += TYPES;
    for number in 1..=ways {
        text += &way(choices, number);
    }
    text + HELPER
}

/// The types of the program: their names and what they are. Each is made of earlier ones.
const TYPES: &str = "\
type $row = list<u8>
type $rows = list<$row>
type $plane = list<$rows>
type $index = map<$row, i64>
type $pages = map<$rows, $rows>
type $pair = tuple<$rows, $row>
type $pairs = list<$pair>
type $eight = tuple<i64, i64, i64, i64, i64, i64, i64, i64>
type $eights = list<$eight>
type $numbers = list<list<i64>>
";

/// What the calls of `spawn` run: it writes a list many times over.
const HELPER: &str = "\
process $helper \"helper\" (2) {
    registers $rows, writer<$rows>
again:
    write r1, r0
    loop again
}
";

/// Kinds of registers. There are two of each, but for the windows at the end.
const KINDS: [&str; 15] = [
    "i64",
    "bool",
    "u8",
    "$row",
    "$rows",
    "$plane",
    "$index",
    "$pages",
    "$pairs",
    "$eights",
    "$numbers",
    "channel<$rows>",
    "reader<$rows>",
    "writer<$rows>",
    "any",
];

/// Lists and their elements.
const LISTS: [(&str, &str); 5] = [
    ("$row", "u8"),
    ("$rows", "$row"),
    ("$plane", "$rows"),
    ("$pairs", "$pair"),
    ("$eights", "$eight"),
];

/// Maps, their keys and values.
const MAPS: [(&str, &str, &str); 2] = [("$index", "$row", "i64"), ("$pages", "$rows", "$rows")];

/// Types that are compared; all but the maps have an order.
const COMPARED: [&str; 10] = [
    "$row", "$rows", "$plane", "$pairs", "$eights", "$pair", "$eight", "$numbers", "$index",
    "$pages",
];

/// What functions answer.
const ANSWERS: [&str; 13] = [
    "$plane",
    "$rows",
    "$pairs",
    "$pages",
    "$index",
    "$pair",
    "$eights",
    "$numbers",
    "$row",
    "any",
    "reader<$rows>",
    "channel<$rows>",
    "i64",
];

/// Sizes and numbers of repetitions.
const NUMBERS: [i64; 9] = [100, 3000, 20, 40_000, 1_000_000, 7, 0, -1, i64::MAX];

/// The arguments: a number and the host's channel.
const ARGUMENTS: usize = 2;

/// The counters of two loops, a 0, and a 1.
const COUNTERS: usize = ARGUMENTS;
const ZERO: usize = COUNTERS + 2;
const ONE: usize = ZERO + 1;
/// The first register of [`KINDS`].
const KINDS_BEGIN: usize = ONE + 1;
/// Two tuples, with the elements they are made of above them.
const PAIR: usize = KINDS_BEGIN + 2 * KINDS.len();
const EIGHT: usize = PAIR + 4;
/// What a process is started with.
const SPAWNED: usize = EIGHT + 10;
/// What a caught exception is in.
const CAUGHT: usize = SPAWNED + 2;
/// What a choice reads into: it has no value where the alternatives meet.
const CHOSEN: usize = CAUGHT + 1;

/// A function under construction.
struct Way<'c, 'b> {
    choices: &'c mut Choices<'b>,
    regions: String,
    code: String,
    labels: usize,
    /// Where the last instruction may lead as well, and what fills its destination there.
    otherwise: Option<(usize, String)>,
}

/// A function that hands out values.
fn way(choices: &mut Choices<'_>, number: usize) -> String {
    let answer = choices.of(&ANSWERS);
    let mut way =
        Way { choices, regions: String::new(), code: String::new(), labels: 0, otherwise: None };
    for _ in 0..2 + way.choices.below(12) {
        way.step(0);
    }
    let result = way.any_of(answer);
    way.line(format!("return r{result}"));
    let kinds: String = KINDS.iter().map(|kind| format!("{kind}*2, ")).collect();
    format!(
        "function $way{number} \"way{number}\" ({ARGUMENTS}) -> {answer} {{\n\
         \x20   registers i64, writer<$rows>, i64*4, {kinds}\
         $pair*2, $rows, $row, $eight*2, i64*8, $rows, writer<$rows>, any, $rows\n{}{}{}}}\n",
        way.regions,
        prologue(),
        way.code
    )
}

/// Gives all registers a value.
fn prologue() -> String {
    let mut text = String::new();
    let mut line = |line: String| _ = writeln!(text, "    {line}");
    line(format!("load_raw r{ZERO}, i64 0"));
    line(format!("load_raw r{ONE}, i64 1"));
    for index in 0..2 {
        line(format!("move r{}, r{ONE}", COUNTERS + index));
        line(format!("empty r{}", PAIR + 2));
        line(format!("empty r{}", PAIR + 3));
        (0..8).for_each(|part| line(format!("move r{}, r0", EIGHT + 2 + part)));
        for kind in KINDS.into_iter().chain(["$pair", "$eight"]) {
            line(filled(kind, register(kind) + index));
        }
    }
    line(format!("load_special r{CAUGHT}, nil"));
    text
}

/// The line that gives a register of a kind its first value.
fn filled(kind: &str, register: usize) -> String {
    match kind {
        "i64" => format!("move r{register}, r0"),
        "bool" => format!("eq r{register}, r{ZERO}, r{ONE}"),
        "u8" => format!("load_raw r{register}, u8 7"),
        "channel<$rows>" => format!("make_channel r{register}, 1"),
        "reader<$rows>" => {
            format!("reading_end r{register}, r{}", self::register("channel<$rows>"))
        }
        "writer<$rows>" => format!("move r{register}, r1"),
        "any" => format!("load_special r{register}, nil"),
        "$pair" => format!("make_tuple r{register}, r{}, 2", PAIR + 2),
        "$eight" => format!("make_tuple r{register}, r{}, 8", EIGHT + 2),
        _ => format!("empty r{register}"),
    }
}

/// The first register of a kind.
fn register(kind: &str) -> usize {
    match kind {
        "$pair" => PAIR,
        "$eight" => EIGHT,
        _ => {
            let index = KINDS.iter().position(|&each| each == kind);
            KINDS_BEGIN + 2 * index.expect("there are registers of this kind")
        }
    }
}

impl Way<'_, '_> {
    fn line(&mut self, line: String) {
        _ = writeln!(self.code, "    {line}");
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn bind(&mut self, label: usize) {
        _ = writeln!(self.code, "l{label}:");
    }

    /// One of the registers of a kind.
    fn any_of(&mut self, kind: &str) -> usize {
        register(kind) + self.choices.below(2)
    }

    /// Any step: one that is tried, a loop, or one that changes the flow of control.
    fn step(&mut self, depth: usize) {
        match self.choices.below(14) {
            0..=7 => self.tried(),
            8 | 9 if depth < 2 => self.repeated(depth),
            10 => self.taken_back(),
            11 => self.chosen(),
            12 => self.copied(),
            _ => self.number(),
        }
    }

    /// A number for the steps behind it.
    fn number(&mut self) {
        let (register, number) = (self.any_of("i64"), self.choices.of(&NUMBERS));
        self.line(format!("load_raw r{register}, i64 {number}"));
    }

    /// A step that may fail, in a region.
    fn tried(&mut self) {
        let [start, end, after] = [(); 3].map(|()| self.label());
        _ = writeln!(
            self.regions,
            "    catch_fault Any into r{CAUGHT} from l{start} to l{end} handler l{after}"
        );
        self.bind(start);
        match self.choices.below(8) {
            0..=2 => self.list(),
            3 => self.map(),
            4 => self.tuple(),
            5 => self.comparison(),
            6 => self.boxed(),
            _ => self.communication(),
        }
        self.bind(end);
        self.after(after);
    }

    /// Steps in a loop.
    fn repeated(&mut self, depth: usize) {
        let (counter, turns) = (COUNTERS + depth, self.choices.of(&NUMBERS));
        let (flag, top) = (register("bool"), self.label());
        self.line(format!("load_raw r{counter}, i64 {turns}"));
        self.bind(top);
        for _ in 0..1 + self.choices.below(4) {
            self.step(depth + 1);
        }
        self.line(format!("sub r{counter}, r{counter}, r{ONE}"));
        self.line(format!("lt r{flag}, r{ZERO}, r{counter}"));
        self.line(format!("loop_if r{flag}, l{top}"));
    }

    fn list(&mut self) {
        let (list, element) = self.choices.of(&LISTS);
        let [to, other] = [(); 2].map(|()| self.any_of(list));
        let [part, one, two] = [element, "i64", "i64"].map(|kind| self.any_of(kind));
        let line = match self.choices.below(11) {
            0..=2 => format!("fill_list r{to}, r{one}, r{part}"),
            3 => format!("list_append r{to}, r{part}"),
            4 => format!("list_insert r{to}, r{ZERO}, r{part}"),
            5 => format!("list_concatenate r{to}, r{other}, r{to}"),
            6 => format!("list_slice r{to}, r{other}, r{ZERO}, r{one}"),
            7 => format!("list_exchange r{to}, r{ZERO}, r{two}"),
            8 => format!("list_get r{part}, r{to}, r{one}"),
            9 => format!("list_set r{to}, r{ZERO}, r{part}"),
            _ => format!("list_remove r{to}, r{ZERO}"),
        };
        self.line(line);
    }

    fn map(&mut self) {
        let (map, key, held) = self.choices.of(&MAPS);
        let [map, key, value] = [map, key, held].map(|kind| self.any_of(kind));
        let number = self.any_of("i64");
        let line = match self.choices.below(7) {
            0 | 1 => format!("map_put r{map}, r{key}, r{value}"),
            2 => return self.or_filled(held, value, format!("map_get r{value}, r{map}, r{key}")),
            3 => format!("map_remove r{map}, r{key}"),
            4 => format!("map_key r{key}, r{map}, r{number}"),
            5 => format!("map_value r{value}, r{map}, r{number}"),
            _ => format!("length r{number}, r{map}"),
        };
        self.line(line);
    }

    /// An instruction with no value for its destination, of this kind, where it jumps to. The destination is filled there,
    /// behind the region around the instruction: a handler would find it empty.
    fn or_filled(&mut self, kind: &str, destination: usize, instruction: String) {
        let otherwise = self.label();
        self.line(format!("{instruction}, l{otherwise}"));
        self.otherwise = Some((otherwise, filled(kind, destination)));
    }

    /// The place behind an instruction that may have another way out.
    fn after(&mut self, after: usize) {
        if let Some((otherwise, filling)) = self.otherwise.take() {
            self.line(format!("jump l{after}"));
            self.bind(otherwise);
            self.line(filling);
        }
        self.bind(after);
    }

    fn tuple(&mut self) {
        let [pair, eight] = ["$pair", "$eight"].map(|kind| self.any_of(kind));
        let [rows, row, number] = ["$rows", "$row", "i64"].map(|kind| self.any_of(kind));
        let lines = match self.choices.below(5) {
            0 => {
                let parts = PAIR + 2;
                format!("move r{parts}, r{rows}\n    make_tuple r{pair}, r{parts}, 2")
            }
            1 => format!("tuple_get r{rows}, r{pair}, 0"),
            2 => format!("tuple_set r{pair}, r{row}, 1"),
            3 => format!("tuple_set r{pair}, r{rows}, 0"),
            _ => format!("tuple_set r{eight}, r{number}, 5"),
        };
        self.line(lines);
    }

    fn comparison(&mut self) {
        let kind = self.choices.of(&COMPARED);
        let [flag, one, two] = ["bool", kind, kind].map(|kind| self.any_of(kind));
        let has_order = !["$index", "$pages"].contains(&kind);
        let name = if has_order { self.choices.of(&["eq", "lt", "le", "ne"]) } else { "eq" };
        self.line(format!("{name} r{flag}, r{one}, r{two}"));
    }

    fn boxed(&mut self) {
        let kind = self.choices.of(&COMPARED);
        let [object, value] = ["any", kind].map(|kind| self.any_of(kind));
        match self.choices.below(4) {
            0 | 1 => self.line(format!("box r{object}, r{value}")),
            2 => self.or_filled(kind, value, format!("unbox r{value}, r{object}")),
            _ => self.line(format!("raise r{value}")),
        }
    }

    fn communication(&mut self) {
        let [rows, number] = ["$rows", "i64"].map(|kind| self.any_of(kind));
        let [channel, reader, writer] =
            ["channel<$rows>", "reader<$rows>", "writer<$rows>"].map(|kind| self.any_of(kind));
        let spawned = SPAWNED + 1;
        let line = match self.choices.below(9) {
            0 | 1 => format!("write r{writer}, r{rows}"),
            2 => format!("write r{channel}, r{rows}"),
            3 => format!("read r{rows}, r{reader}"),
            4 => format!("make_channel r{channel}, 200"),
            5 => format!("writing_end r{writer}, r{channel}"),
            6 => format!("reading_end r{reader}, r{channel}"),
            7 => format!("sleep r{number}"),
            _ => format!(
                "move r{SPAWNED}, r{rows}\n    move r{spawned}, r{writer}\n    spawn r{SPAWNED}, 2, $helper"
            ),
        };
        self.line(line);
    }

    /// A choice among many channels, of which the last alternative is always ready.
    fn chosen(&mut self) {
        let (reader, after) = (self.any_of("reader<$rows>"), self.label());
        self.line("alt".to_owned());
        for _ in 0..self.choices.of(&[1, 20, 200]) {
            self.line(format!("alt_read r{CHOSEN}, r{reader}, l{after}"));
        }
        self.line(format!("alt_skip l{after}"));
        self.line("alt_end".to_owned());
        self.bind(after);
    }

    /// Many branches.
    fn copied(&mut self) {
        let (number, part, after) = (self.any_of("i64"), register("$plane"), self.label());
        self.line(format!("par_for r{}, r{number}, l{after}", register("i64")));
        self.line(format!("list_concatenate r{}, r{part}, r{part}", part + 1));
        self.line("end_branch".to_owned());
        self.bind(after);
        // Branches leave no value behind.
        self.line(filled("i64", register("i64")));
        self.line(filled("$plane", part + 1));
    }

    /// The value that was raised last.
    fn taken_back(&mut self) {
        let [object, rows] = ["any", "$rows"].map(|kind| self.any_of(kind));
        self.line(format!("raised r{object}, r{CAUGHT}"));
        self.or_filled("$rows", rows, format!("unbox r{rows}, r{object}"));
        let after = self.label();
        self.after(after);
    }
}
