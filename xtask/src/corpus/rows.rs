//! The rows: which programs there are, and what they must do.
//!
//! The benchmarks' harnesses verify results themselves and end with exit code 1 for a wrong one.

use std::path::Path;

use super::basic;
use super::row::{Expectation, Row};

/// The two versions of SOMns that are known: they differ in how many tests there are, and in some
/// benchmarks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Master,
    Development,
}

impl Version {
    fn of(checkout: &Path) -> Version {
        match checkout.join("core-lib/Benchmarks/LeeTM.ns").exists() {
            true => Version::Master,
            false => Version::Development,
        }
    }
}

/// A test module, and how many tests it has in both versions.
type Suite = (&'static str, [usize; 2]);

const SUITES: &[Suite] = &[
    ("LanguageTests", [65, 65]),
    ("MixinTests", [23, 23]),
    ("CollectionTests", [36, 46]),
    ("DoubleTests", [12, 12]),
    ("IntegerTests", [25, 25]),
    ("StringTests", [23, 23]),
    ("SymbolTests", [4, 4]),
    ("ArrayLiteralTests", [9, 9]),
    ("ObjectLiteralTests", [10, 10]),
    ("ReflectionTests", [1, 1]),
    ("RegressionTests", [2, 4]),
    ("SystemTests", [1, 1]),
    ("BenchmarkHarnessTests", [2, 2]),
    ("MinitestTests", [11, 12]),
    ("FileTests", [13, 13]),
    ("StreamTests", [7, 7]),
    ("ThreadingTests", [8, 8]),
    ("TransactionTests", [32, 33]),
    ("ActorTests", [51, 51]),
    ("TransferObjectTests", [12, 12]),
    ("ProcessTests", [4, 4]),
];

/// Benchmarks and an inner size at which they are quick and their result is known.
type Sized = (&'static str, u32);

const BENCHMARKS: &[Sized] = &[
    ("Richards", 1),
    ("RichardsNS", 1),
    ("DeltaBlue", 2),
    ("DeltaBlueNS", 2),
    ("Json", 1),
    ("CD", 2),
    ("Havlak", 1),
    ("Mandelbrot", 3),
    ("NBody", 3),
    ("GraphSearch", 1),
    ("PageRank", 10),
    ("Splay", 1),
    ("GCBench", 1),
    ("Vacation", 1),
    ("Fannkuch", 4),
    ("List", 1),
    ("Bounce", 1),
    ("Permute", 5),
    ("Queens", 5),
    ("Storage", 2),
    ("Sieve", 2),
    ("Towers", 2),
    ("Sort.TreeSort", 2),
    ("Sort.BubbleSort", 2),
    ("Sort.QuickSort", 2),
];

/// Those that only one version has.
const MASTER_BENCHMARKS: &[Sized] = &[("LeeTM", 1)];
const DEVELOPMENT_BENCHMARKS: &[Sized] = &[
    ("Lee", 1),
    ("LeeSTM", 1),
    ("VacationSTM", 1),
    ("MutexSuite.Philosophers", 1),
    ("MutexSuite.ProducerConsumer", 1),
    ("STMSuite.Philosophers", 1),
];

const LANGUAGE_FEATURES: &[&str] = &[
    "Fibonacci",
    "ClosureDefFibonacci",
    "ClosureFibonacci",
    "OuterConstLoop",
    "FieldLoop",
    "FieldWrite",
    "IntegerLoop",
    "Loop",
    "NonLocalReturn",
    "Exceptions",
    "Recurse",
    "Sum",
    "WhileLoop",
    "WhileLoopPoly",
    "VectorRead",
    "Dispatch",
    "DispatchNoArg",
    "DispatchPerformNoArg",
    "InstantiatePrimValueObject",
    "InstantiateValueValueObject",
    "InstantiateValueValueObjectFewer",
    "FieldWriteToEscapedObject",
    "PolyMorphicBlocks",
    "ObjectLiterals",
    "ObjectLiterals2",
    "ObjectLiterals3",
    "StringCharAt",
    "FileReadWrite",
];

/// Each in four forms: without tasks, and with them in three manners.
const FORK_JOIN: &[Sized] = &[
    ("CilkSort", 1),
    ("Fib", 10),
    ("Integrate", 10),
    ("Jacobi", 100),
    ("LUDecomposition", 128),
    ("NQueens", 5),
    ("QuickSort", 1),
];

const FORK_JOIN_FORMS: &[(&str, &str)] = &[
    ("Seq", "SOMns: ForkJoin, sequential"),
    ("Opt", "SOMns: ForkJoin, tasks"),
    ("Nai", "SOMns: ForkJoin, tasks"),
    ("One", "SOMns: ForkJoin, tasks"),
];

/// Program, a size with a known result, the standard size.
const AWFY: &[(&str, u32, u32)] = &[
    ("Bounce", 1, 1500),
    ("CD", 10, 250),
    ("DeltaBlue", 10, 12000),
    ("Havlak", 1, 1500),
    ("Json", 1, 100),
    ("List", 1, 1500),
    ("Mandelbrot", 1, 500),
    ("NBody", 1, 250_000),
    ("Permute", 1, 1000),
    ("Queens", 1, 1000),
    ("Richards", 1, 100),
    ("Sieve", 1, 3000),
    ("Storage", 1, 1000),
    ("Towers", 1, 600),
];

/// The programs of SOMns.
pub fn somns(checkout: &Path) -> Vec<Row> {
    let version = Version::of(checkout);
    let mut rows = main_programs(checkout);
    rows.extend(basic(checkout));
    rows.extend(suites(checkout, version));
    rows.extend(benchmarks(checkout, version));
    rows
}

fn row(
    checkout: &Path,
    group: &'static str,
    name: &str,
    arguments: &[&str],
    expectation: Expectation,
) -> Row {
    Row {
        group,
        name: name.to_owned(),
        folder: checkout.to_owned(),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        expectation,
    }
}

/// Programs with a `main:` of their own.
fn main_programs(checkout: &Path) -> Vec<Row> {
    let line = |text: &str| Expectation::Line(text.to_owned());
    let program = |path: &str, arguments: &[&str], expectation| {
        let words: Vec<&str> = [path].iter().chain(arguments).copied().collect();
        row(checkout, "SOMns: programs", path, &words, expectation)
    };
    vec![
        program("core-lib/Hello.ns", &[], line("Hello World!")),
        program("core-lib/Benchmarks/TinyBenchmarks.ns", &["1"], line("1 times")),
        // What it counts to depends: it does not wait for the thread that it starts.
        program("core-lib/demos/STMDemo.ns", &[], line("STM example")),
    ]
}

fn basic(checkout: &Path) -> impl Iterator<Item = Row> {
    basic::ROWS.iter().map(move |(file, selector, answer)| {
        let path = format!("core-lib/TestSuite/BasicInterpreterTests/{file}.ns");
        let expectation = Expectation::Line((*answer).to_owned());
        let arguments = ["--send", selector, &path];
        let name = format!("{file}.{selector}");
        row(checkout, "SOMns: BasicInterpreterTests", &name, &arguments, expectation)
    })
}

fn suites(checkout: &Path, version: Version) -> impl Iterator<Item = Row> {
    SUITES.iter().map(move |(name, counts)| {
        let path = format!("core-lib/TestSuite/{name}.ns");
        let arguments = ["-A", "core-lib/TestSuite/TestRunner.ns", &path];
        let expectation = Expectation::Tests(counts[version as usize]);
        row(checkout, "SOMns: TestSuite", name, &arguments, expectation)
    })
}

fn benchmarks(checkout: &Path, version: Version) -> Vec<Row> {
    let benchmark = |group, name: &str, program: &str, size: u32| {
        let arguments =
            ["-A", "core-lib/Benchmarks/Harness.ns", program, "1", "0", &size.to_string()];
        let expectation = Expectation::Beginning("Total Runtime: ".to_owned());
        row(checkout, group, name, &arguments, expectation)
    };
    let others = match version {
        Version::Master => MASTER_BENCHMARKS,
        Version::Development => DEVELOPMENT_BENCHMARKS,
    };
    let all = BENCHMARKS.iter().chain(others);
    let mut rows: Vec<Row> =
        all.map(|(name, size)| benchmark("SOMns: Benchmarks", name, name, *size)).collect();
    rows.extend(LANGUAGE_FEATURES.iter().map(|name| {
        benchmark("SOMns: LanguageFeatures", name, &format!("LanguageFeatures.{name}"), 2)
    }));
    for (form, group) in FORK_JOIN_FORMS {
        rows.extend(FORK_JOIN.iter().map(|(name, size)| {
            let program = format!("core-lib/Benchmarks/ForkJoin/{name}{form}.ns");
            benchmark(group, &format!("{name}{form}"), &program, *size)
        }));
    }
    rows
}

/// The programs of are-we-fast-yet.
pub fn awfy(checkout: &Path, standard_sizes: bool) -> Vec<Row> {
    let rows = AWFY.iter().map(|(name, small, standard)| {
        let size = if standard_sizes { standard } else { small };
        Row {
            group: "are-we-fast-yet",
            name: (*name).to_owned(),
            folder: checkout.join("benchmarks/SOMns"),
            arguments: ["Harness.ns", name, "1", &size.to_string()].map(str::to_owned).into(),
            expectation: Expectation::Beginning("Total Runtime: ".to_owned()),
        }
    });
    rows.collect()
}
