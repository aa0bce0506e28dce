//! The programs of the corpus and their sizes. [`super::rows()`] makes commands of them.
//!
//! The sizes are those for which the programs know their results. The standard sizes are those of the projects' own
//! measurements.

/// A test module, and its number of tests in both versions of SOMns.
pub type Suite = (&'static str, [usize; 2]);

pub const SUITES: &[Suite] = &[
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

/// A program and its size; for some programs, a number of threads follows the size.
pub type Sized = (&'static str, &'static str);

/// A program, its small size, and its standard size.
pub type Scaled = (&'static str, &'static str, &'static str);

pub const BENCHMARKS: &[Sized] = &[
    ("Richards", "1"),
    ("RichardsNS", "1"),
    ("DeltaBlue", "2"),
    ("DeltaBlueNS", "2"),
    ("Json", "1"),
    ("CD", "2"),
    ("Havlak", "1"),
    ("Mandelbrot", "3"),
    ("NBody", "3"),
    ("GraphSearch", "1"),
    ("PageRank", "10"),
    ("Splay", "1"),
    ("GCBench", "1"),
    ("Fannkuch", "4"),
    ("List", "1"),
    ("Bounce", "1"),
    ("Permute", "5"),
    ("Queens", "5"),
    ("Storage", "2"),
    ("Sieve", "2"),
    ("Towers", "2"),
    ("Sort.TreeSort", "2"),
    ("Sort.BubbleSort", "2"),
    ("Sort.QuickSort", "2"),
];

pub const LANGUAGE_FEATURES: &[&str] = &[
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

/// Each program exists in four forms: without tasks, and with tasks in three styles.
pub const FORK_JOIN: &[Scaled] = &[
    ("CilkSort", "1", "20"),
    ("Fib", "15", "23"),
    ("Integrate", "10", "60"),
    ("Jacobi", "100", "1024"),
    ("LUDecomposition", "128", "1024"),
    ("NQueens", "7", "11"),
    ("QuickSort", "10", "200"),
];

/// The forms with tasks.
pub const FORK_JOIN_FORMS: &[&str] = &["Opt", "Nai", "One"];

/// The actors of the Savina suite (Imam and Sarkar, AGERE 2014). The sizes are those of SOMns for its interpreter and
/// for its compiler.
pub const SAVINA: &[Scaled] = &[
    ("PingPong", "40000", "40000"),
    ("Counting", "300000", "200000"),
    ("ForkJoinThroughput", "3000:60", "3000:60"),
    ("ForkJoinActorCreation", "20000", "40000"),
    ("ThreadRing", "100:50000", "100:100000"),
    ("Chameneos", "100:20000", "100:100000"),
    ("BigContention", "500:120", "2000:120"),
    ("ConcurrentDictionary", "20:600:20", "20:1000:20"),
    ("ConcurrentSortedLinkedList", "10:500:10:1", "10:1500:10:1"),
    ("ProducerConsumerBoundedBuffer", "40:5:5:10", "40:10:10:60"),
    ("Philosophers", "20:2000", "20:5000"),
    ("SleepingBarber", "800:500:500:200", "2500:1000:1000:1000"),
    ("CigaretteSmokers", "1000:200", "10000:200"),
    ("LogisticsMapSeries", "10000:10:346", "25000:10:346"),
    ("BankTransaction", "1000:10000", "1000:100000"),
    ("RadixSort", "10000:65536:74755", "50000:65536:74755"),
    ("UnbalancedCobwebbedTree", "10000:10:0:1", "100000:10:500:100"),
    ("TrapezoidalApproximation", "100:100000:1:5", "100:1000000:1:5"),
    ("AStarSearch", "100:10", "100:20"),
    ("NQueens", "20:8:4", "20:10:4"),
];

pub const ASYNC_FEATURES: &[Sized] = &[
    ("SendDirect", "1000"),
    ("SendDirectComplexLookup", "1000"),
    ("SendWith2Args", "1000"),
    ("SendWith5Args", "1000"),
    ("SendWith10Args", "1000"),
    ("SendManyToPromise", "1000"),
    ("WhenResolved", "1000"),
    ("ManyWhenResolved", "1000"),
    ("SplitAsyncMethod", "1000"),
];

/// Programs that have a fault on purpose, which shows under some schedules only. The size may be followed by the
/// milliseconds after which an iteration is given up.
pub const VALIDATION: &[Sized] =
    &[("Messages", "1000"), ("DeadLock", "4:2:3"), ("Philosophers", "5:5 25")];

/// Programs of [`VALIDATION`] whose fault cannot show here: the message that disturbs `Counting` fails by itself, and
/// timers expire in the order of their deadlines.
pub const VALIDATION_WITHOUT_FAULT: &[Sized] = &[("Counting", "1000"), ("Sequence", "100")];

/// Threads and mutexes.
pub const THREADS: &[Sized] = &[("Vacation", "8 4")];

/// Threads and mutexes, in the released version only.
pub const RELEASED_THREADS: &[Sized] = &[("LeeTM", "2 4")];

/// Processes, in the released version.
pub const RELEASED_PROCESSES: &[Sized] = &[("PingPong", "1")];

/// Threads and processes, in the development version only.
pub const DEVELOPMENT: &[Sized] = &[
    ("Lee", "4 4"),
    ("MutexSuite.Philosophers", "5000 4"),
    ("MutexSuite.ProducerConsumer", "400 4"),
    ("SavinaCSP.PingPong", "8000 2"),
    ("SavinaCSP.ForkJoinThroughput", "2000 4"),
    ("SavinaCSP.Philosophers", "200 4"),
];

/// Transactions, in the development version only; behind the size comes the number of threads.
pub const TRANSACTIONS: &[Sized] =
    &[("LeeSTM", "4"), ("VacationSTM", "8"), ("STMSuite.Philosophers", "1000")];

/// The number of threads for transactions.
pub const THREADS_OF_TRANSACTIONS: &[u32] = &[4];

/// The numbers of threads with `--transactions`.
pub const MANY_THREADS_OF_TRANSACTIONS: &[u32] = &[1, 2, 4, 8, 16];

/// Several models at once, in the development version only.
pub const DEVELOPMENT_MIXED: &[Sized] = &[("KomposBench", "100"), ("MultiParadigmBench", "100")];

/// The programs of are-we-fast-yet.
pub const AWFY: &[Scaled] = &[
    ("Bounce", "1", "1500"),
    ("CD", "10", "250"),
    ("DeltaBlue", "10", "12000"),
    ("Havlak", "1", "1500"),
    ("Json", "1", "100"),
    ("List", "1", "1500"),
    ("Mandelbrot", "1", "500"),
    ("NBody", "1", "250000"),
    ("Permute", "1", "1000"),
    ("Queens", "1", "1000"),
    ("Richards", "1", "100"),
    ("Sieve", "1", "3000"),
    ("Storage", "1", "1000"),
    ("Towers", "1", "600"),
];
