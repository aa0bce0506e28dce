//! Tests of the limits of bytecode, each from both sides: the table in `docs/bytecode.md`. `main.rs` collects them as
//! trials.
//!
//! A generated program of the greatest allowed size must run. One of the next size must be refused with a located
//! error, or end with an exception that it can catch.

use std::fmt::Write;

use libtest_mimic::Trial;

use crate::process::{Run, is_under_stress};

/// A limit: a function that makes the program of a size, the greatest size, and the message about the next size.
struct Limit {
    name: &'static str,
    program: fn(usize) -> String,
    most: usize,
    beyond: &'static str,
}

/// A check of a limit that has no such form.
type Check = fn() -> Result<(), String>;

/// Limits of the text and of the verifier. The programs answer 7.
const LIMITS: [Limit; 12] = [
    Limit {
        name: "registers",
        program: registers,
        most: 256,
        beyond: "there are more than 256 registers",
    },
    Limit {
        name: "arguments",
        program: arguments,
        most: 255,
        beyond: "the count of `call` cannot be 256",
    },
    Limit {
        name: "elements of a tuple",
        program: tuple,
        most: 255,
        beyond: "the count of `make_tuple` cannot be 256",
    },
    Limit {
        name: "elements of a tuple type",
        program: |size| typed(&format!("type $t = tuple<{}>", commas("i64", size))),
        most: 255,
        beyond: "a tuple has at most 255 elements, not 256",
    },
    Limit {
        name: "parameters of a function type",
        program: |size| typed(&format!("type $t = function({}) -> $t0", commas("i64", size))),
        most: 255,
        beyond: "a function has at most 255 parameters, not 256",
    },
    Limit {
        name: "parameters of a process type",
        program: |size| typed(&format!("type $t = process({})", commas("i64", size))),
        most: 255,
        beyond: "a process has at most 255 parameters, not 256",
    },
    Limit {
        name: "types in place",
        program: |depth| {
            typed(&format!("type $t = {}u8{}", "list<".repeat(depth), ">".repeat(depth)))
        },
        most: 64,
        beyond: "types are nested too deep here",
    },
    Limit {
        name: "types",
        program: types,
        most: 65_536,
        beyond: "a module has at most 65536 types",
    },
    Limit {
        name: "constants",
        program: constants,
        most: 65_536,
        beyond: "a function has at most 65536 constants",
    },
    Limit {
        name: "forks",
        program: forks,
        // Each fork takes two levels: its own, and that of its branch.
        most: 32,
        beyond: "this is nested more than 64 deep",
    },
    Limit {
        name: "buffer",
        program: |size| {
            let body = format!(
                "registers channel<i64>, i64\nmake_channel r0, {size}\nload_raw r1, i64 7\n"
            );
            main(&(body + "write r0, r1\nread r1, r0\nreturn r1"))
        },
        most: 65_535,
        beyond: "the capacity of `make_channel` cannot be 65536",
    },
    Limit {
        name: "digits",
        program: |digits| {
            main(&format!(
                "registers i64, any\nload_constant r1, {}\nload_raw r0, i64 7\nreturn r0",
                "7".repeat(digits)
            ))
        },
        most: 1000,
        beyond: "this number has too many digits",
    },
];

pub fn trials() -> Vec<Trial> {
    let limits = LIMITS.iter().map(|limit| {
        let check = move || limit.check().map_err(Into::into);
        Trial::test(format!("limits/{}", limit.name), check)
    });
    let others: [(&str, Check); 6] = [
        ("tools on types nested as deep as can be", tools),
        ("a million activations, and more than the stack holds", recursion),
        ("a million branches, and more than the heap holds", branches),
        ("a par of many branches", written_branches),
        ("values nested as deep as types can be", nested_values),
        ("lists longer than the heap", long_lists),
    ];
    let others = others.map(|(name, check)| {
        Trial::test(format!("limits/{name}"), move || check().map_err(Into::into))
    });
    limits.chain(others).collect()
}

impl Limit {
    fn check(&self) -> Result<(), String> {
        run(&(self.program)(self.most), &[], 7, "")?;
        let text = (self.program)(self.most + 1);
        run(&text, &[], 65, self.beyond)?;
        // A tool that only reads the text finds the same mistake.
        squall("verify", &text, &[], 65, self.beyond)
    }
}

/// Runs a program. Compares its exit code, and looks for a text in its output.
fn run(text: &str, options: &[&str], exit: i32, said: &str) -> Result<(), String> {
    squall("run", text, options, exit, said)
}

fn squall(
    command: &str,
    text: &str,
    options: &[&str],
    exit: i32,
    said: &str,
) -> Result<(), String> {
    let run = Run::new([&[command], options, &["{scratch}/program.sqasm"]].concat());
    let path = run.scratch.path().join("program.sqasm");
    std::fs::write(path, text).map_err(|error| error.to_string())?;
    let result = run.execute();
    let all = result.output + &result.error;
    let start: String = all.chars().take(2000).collect();
    if result.exit != exit {
        return Err(format!("exit {}, not {exit}: {start}", result.exit));
    }
    match all.contains(said) {
        true => Ok(()),
        false => Err(format!("not said: {said}\n{start}")),
    }
}

/// A program of one function, which answers an `i64`.
fn main(body: &str) -> String {
    format!("export \"main\" $main\nfunction $main \"main\" (0) -> i64 {{\n{body}\n}}\n")
}

/// A program with these types.
fn typed(types: &str) -> String {
    let answer = main("registers i64\nload_raw r0, i64 7\nreturn r0");
    format!("type $t0 = list<u8>\n{types}\n{answer}")
}

fn commas(word: &str, count: usize) -> String {
    vec![word; count].join(", ")
}

fn registers(count: usize) -> String {
    let last = count - 1;
    main(&format!("registers i64*{count}\nload_raw r{last}, i64 7\nreturn r{last}"))
}

fn arguments(count: usize) -> String {
    let mut body = format!("registers i64*{}\n", count.min(255) + 1);
    for register in 1..=count.min(255) {
        _ = writeln!(body, "load_raw r{register}, i64 7");
    }
    _ = write!(body, "call r0, r1, {count}, $last\nreturn r0");
    let last = count.min(255) - 1;
    let parameters = last + 1;
    main(&body)
        + &format!(
            "function $last \"last\" ({parameters}) -> i64 {{\nregisters i64*{parameters}\nreturn r{last}\n}}\n"
        )
}

fn tuple(count: usize) -> String {
    let parts = count.min(255);
    let mut body = format!("registers i64*{parts}, $t\n");
    for register in 0..parts {
        _ = writeln!(body, "load_raw r{register}, i64 {register}");
    }
    _ = writeln!(body, "make_tuple r{parts}, r0, {count}\ntuple_get r0, r{parts}, 7\nreturn r0");
    format!("type $t = tuple<{}>\n{}", commas("i64", parts), main(&body))
}

/// A number of types, each of which contains the one before.
fn types(count: usize) -> String {
    let mut types = String::new();
    for row in 1..count {
        _ = writeln!(types, "type $t{row} = list<$t{}>", row - 1);
    }
    typed(&types)
}

fn constants(count: usize) -> String {
    let mut body = String::from("registers i64\n");
    for constant in 8..count + 7 {
        _ = writeln!(body, "load_raw r0, i64 {constant}");
    }
    main(&(body + "load_raw r0, i64 7\nreturn r0"))
}

fn forks(depth: usize) -> String {
    let mut body = String::from("registers i64\n");
    for level in 0..depth {
        _ = writeln!(body, "par l{level}\nbranch l{level}");
    }
    body += "load_raw r0, i64 7\n";
    for level in (0..depth).rev() {
        _ = writeln!(body, "end_branch\nl{level}:");
    }
    main(&(body + "return r0"))
}

/// A function that calls itself `depth` times, and answers 7; 9 if the stack cannot grow any more.
fn deep(depth: &str) -> String {
    let body = format!(
        "registers i64, any, i64
        catch_fault StackOverflow into r1 from start to end handler overflow
        start:
        load_raw r2, i64 {depth}
        call r0, r2, 1, $depth
        end:
        load_raw r0, i64 7
        return r0
        overflow:
        load_raw r0, i64 9
        return r0"
    );
    let depth = "function $depth \"depth\" (1) -> i64 {
        registers i64*2, bool, any, i64
        load_raw r1, i64 0
        eq r2, r0, r1
        jump_if r2, done
        load_raw r1, i64 1
        sub r4, r0, r1
        call r4, r4, 1, $depth
        done:
        return r0
        }\n";
    main(&body) + depth
}

fn recursion() -> Result<(), String> {
    run(&deep("1000000"), &[], 7, "")?;
    run(&deep("1000000"), &["--max-stack=1M"], 9, "")?;
    let uncaught = deep("-1").replace("catch_fault StackOverflow", "catch_fault Poison");
    run(&uncaught, &["--max-stack=1M"], 1, "StackOverflow")
}

/// A million concurrent branches, each of which waits; the program answers 9 if the memory does not suffice.
fn million(wait: &str) -> String {
    main(&format!(
        "registers i64*2, barrier, any, i64
        load_raw r1, i64 1000000
        load_raw r4, i64 3600000
        make_barrier r2, r1
        catch_fault OutOfMemory into r3 from start to end handler full
        start:
        par_for r0, r1, after
        {wait}
        end_branch
        after:
        end:
        load_raw r0, i64 7
        return r0
        full:
        load_raw r0, i64 9
        return r0"
    ))
}

fn branches() -> Result<(), String> {
    // A million collections would take minutes.
    let rarely = is_under_stress().then_some("--gc-stress=64");
    let of = |wait: &str, options: &[&str], exit, said| {
        let options: Vec<&str> = options.iter().copied().chain(rarely).collect();
        run(&million(wait), &options, exit, said)
    };
    of("sync r2", &[], 7, "")?;
    // With a seed, simulated time passes an hour as soon as no strand can run.
    of("sleep r4", &["--seed=1", "--max-heap=64M"], 9, "")?;
    // Here the existing branches wait for branches that cannot be made.
    of("sync r2", &["--max-heap=64M"], 1, "branches of its par, to signal OutOfMemory")
}

/// Many branches with their own lines of code. The verifier compares pairs of branches only at common synchronisations.
fn written_branches() -> Result<(), String> {
    const BRANCHES: usize = 50_000;
    let mut body = String::from("registers i64*4\npar after\n");
    for branch in 0..BRANCHES {
        let next = match branch + 1 {
            BRANCHES => "after".to_owned(),
            next => format!("b{next}"),
        };
        _ = writeln!(
            body,
            "b{branch}:\nbranch {next}\nload_raw r1, i64 {}\nend_branch",
            branch % 7
        );
    }
    run(&main(&(body + "after:\nload_raw r0, i64 7\nreturn r0")), &[], 65, "both write r1")?;
    let body = (0..BRANCHES).fold(String::from("registers i64*4\npar after\n"), |text, branch| {
        let next =
            if branch + 1 == BRANCHES { "after".to_owned() } else { format!("b{}", branch + 1) };
        text + &format!("b{branch}:\nbranch {next}\nyield\nend_branch\n")
    });
    run(&main(&(body + "after:\nload_raw r0, i64 7\nreturn r0")), &[], 7, "")
}

/// The depth of nested values, and the number of levels that a function adds.
const DEPTH: usize = 30_000;
const LEVELS: usize = 50;

/// Makes two values that differ in their innermost element only; compares, copies, boxes and unboxes them.
fn nested_values() -> Result<(), String> {
    let mut text = String::from("type $t0 = list<i64>\n");
    for row in 1..=DEPTH {
        let inner = row - 1;
        match row % 2 {
            0 => _ = writeln!(text, "type $t{row} = list<$t{inner}>"),
            _ => _ = writeln!(text, "type $t{row} = tuple<$t{inner}>"),
        }
    }
    for first in (0..DEPTH).step_by(LEVELS) {
        text += &wrapping(first);
    }
    text += &using();
    text += &main(
        "registers i64, $t0*2, any, $t0*2
        load_raw r0, i64 1
        make_list r4, r0, 1
        load_raw r0, i64 2
        make_list r5, r0, 1
        call r0, r4, 2, $wrap0
        return r0",
    );
    run(&text, &[], 7, "")?;
    run(&text, &["--max-stack=2M"], 7, "")
}

/// A function that wraps its two arguments in some levels, and passes them on.
fn wrapping(first: usize) -> String {
    let mut text = format!("function $wrap{first} \"wrap\" (2) -> i64 {{\nregisters ");
    for level in 0..=LEVELS {
        _ = write!(text, "$t{}*2, ", first + level);
    }
    _ = writeln!(text, "i64, any, $t{}*2", first + LEVELS);
    for level in 1..=LEVELS {
        let (from, to) = (2 * level - 2, 2 * level);
        let make = if (first + level).is_multiple_of(2) { "make_list" } else { "make_tuple" };
        _ = writeln!(text, "{make} r{to}, r{from}, 1\n{make} r{}, r{}, 1", to + 1, from + 1);
    }
    let result = 2 * LEVELS + 2;
    let window = result + 2;
    let next = first + LEVELS;
    let next = if next == DEPTH { "$use".to_owned() } else { format!("$wrap{next}") };
    let (left, right) = (window, window + 1);
    _ = writeln!(text, "take r{left}, r{}\ntake r{right}, r{}", 2 * LEVELS, 2 * LEVELS + 1);
    _ = writeln!(text, "call r{result}, r{window}, 2, {next}\nreturn r{result}\n}}");
    text
}

/// The function that uses the values: r0 is less than r1.
fn using() -> String {
    format!(
        "function $use \"use\" (2) -> i64 {{
        registers $t{DEPTH}*3, bool, any, channel<$t{DEPTH}>, i64
        load_raw r6, i64 0
        lt r3, r0, r1
        jump_unless r3, done
        move r2, r0
        eq r3, r2, r0
        jump_unless r3, done
        eq r3, r0, r1
        jump_if r3, done
        box r4, r0
        unbox r2, r4, done
        eq r3, r2, r0
        jump_unless r3, done
        make_channel r5, 1
        write r5, r2
        read r1, r5
        le r3, r1, r0
        jump_unless r3, done
        load_raw r6, i64 7
        done:
        return r6
        }}\n"
    )
}

/// The tools do not recurse over types: deep types are assembled, encoded, decoded, verified, disassembled and laid
/// out.
fn tools() -> Result<(), String> {
    let first = Run::new(["asm", "{scratch}/program.sqasm"]);
    let [text, again] =
        ["program.sqasm", "again.sqasm"].map(|name| first.scratch.path().join(name));
    let binary = first.scratch.path().join("program.sqb").display().to_string();
    let squall = |arguments: &[&str]| {
        let result = Run::new(arguments.iter().copied()).execute();
        match result.exit {
            0 => Ok(result.output),
            exit => Err(format!("{arguments:?}: exit {exit}\n{}", result.error)),
        }
    };
    std::fs::write(&text, types(65_536)).map_err(|error| error.to_string())?;
    if first.execute().exit != 0 {
        return Err("it was not assembled".to_owned());
    }
    squall(&["verify", &binary])?;
    std::fs::write(&again, squall(&["disasm", &binary])?).map_err(|error| error.to_string())?;
    let again = again.display().to_string();
    squall(&["format", &again])?;
    squall(&["verify", &again])?;
    match squall(&["disasm", &again])? == squall(&["disasm", &binary])? {
        true => Ok(()),
        false => Err("the text forms differ".to_owned()),
    }
}

fn long_lists() -> Result<(), String> {
    let filled = |length: &str, fault: &str| {
        main(&format!(
            "registers i64*2, list<i64>, any
            catch_fault {fault} into r3 from start to end handler caught
            load_raw r1, i64 {length}
            load_raw r0, i64 7
            start:
            fill_list r2, r1, r0
            end:
            return r0
            caught:
            load_raw r0, i64 9
            return r0"
        ))
    };
    run(&filled("100000", "Any"), &[], 7, "")?;
    run(&filled("-1", "IndexError"), &[], 9, "")?;
    run(&filled("9223372036854775807", "OutOfMemory"), &[], 9, "")?;
    run(&filled("1000000000000", "OutOfMemory"), &["--max-heap=64M"], 9, "")?;
    run(&filled("1000000000000", "Poison"), &["--max-heap=64M"], 1, "OutOfMemory")
}
