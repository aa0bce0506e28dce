//! The rows: which programs there are, and what they must do.
//!
//! The benchmarks' harnesses verify results themselves and end with exit code 1 for a wrong one.

use std::path::Path;

use super::basic;
use super::row::{Expectation, Row};

/// A test module, how many tests it has, and whether all must pass already.
type Suite = (&'static str, usize, bool);

const SUITES: &[Suite] = &[
    ("LanguageTests", 65, true),
    ("MixinTests", 23, true),
    ("CollectionTests", 36, true),
    ("DoubleTests", 12, true),
    ("IntegerTests", 25, true),
    ("StringTests", 23, true),
    ("SymbolTests", 4, true),
    ("ArrayLiteralTests", 9, true),
    ("ObjectLiteralTests", 10, true),
    ("ReflectionTests", 1, true),
    ("RegressionTests", 2, true),
    ("SystemTests", 1, true),
    ("BenchmarkHarnessTests", 2, true),
    ("MinitestTests", 11, true),
    ("FileTests", 13, true),
    ("StreamTests", 7, true),
    ("ThreadingTests", 8, true),
    ("TransactionTests", 32, true),
    ("ActorTests", 51, false),
    ("TransferObjectTests", 12, false),
    ("ProcessTests", 4, false),
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
    ("LeeTM", 1),
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

const FORK_JOIN: &[Sized] = &[
    ("CilkSortSeq", 1),
    ("FibSeq", 10),
    ("IntegrateSeq", 10),
    ("JacobiSeq", 100),
    ("LUDecompositionSeq", 16),
    ("NQueensSeq", 5),
    ("QuickSortSeq", 1),
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
    let row = |group, name: &str, arguments: &[&str], expectation| Row {
        group,
        name: name.to_owned(),
        folder: checkout.to_owned(),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        expectation,
        is_required: true,
    };
    let greeting = Expectation::Line("Hello World!".to_owned());
    let mut rows = vec![row("SOMns: Hello", "Hello", &["core-lib/Hello.ns"], greeting)];
    rows.extend(basic::ROWS.iter().map(|(file, selector, answer)| {
        let path = format!("core-lib/TestSuite/BasicInterpreterTests/{file}.ns");
        let expectation = Expectation::Line((*answer).to_owned());
        let arguments = ["--send", selector, &path];
        row("SOMns: BasicInterpreterTests", &format!("{file}.{selector}"), &arguments, expectation)
    }));
    for is_required in [true, false] {
        let group = if is_required { "SOMns: TestSuite" } else { "SOMns: TestSuite, several vats" };
        let suites = SUITES.iter().filter(|suite| suite.2 == is_required);
        rows.extend(suites.map(|(name, count, _)| {
            let path = format!("core-lib/TestSuite/{name}.ns");
            let arguments = ["-A", "core-lib/TestSuite/TestRunner.ns", &path];
            Row { is_required, ..row(group, name, &arguments, Expectation::Tests(*count)) }
        }));
    }
    let benchmark = |group, name: &str, program: &str, size: u32| {
        let arguments =
            ["-A", "core-lib/Benchmarks/Harness.ns", program, "1", "0", &size.to_string()];
        row(group, name, &arguments, Expectation::Beginning("Total Runtime: ".to_owned()))
    };
    rows.extend(
        BENCHMARKS.iter().map(|(name, size)| benchmark("SOMns: Benchmarks", name, name, *size)),
    );
    rows.extend(LANGUAGE_FEATURES.iter().map(|name| {
        benchmark("SOMns: LanguageFeatures", name, &format!("LanguageFeatures.{name}"), 2)
    }));
    rows.extend(FORK_JOIN.iter().map(|(name, size)| {
        let program = format!("core-lib/Benchmarks/ForkJoin/{name}.ns");
        benchmark("SOMns: ForkJoin, sequential", name, &program, *size)
    }));
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
            is_required: true,
        }
    });
    rows.collect()
}
