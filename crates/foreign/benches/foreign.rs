//! Measures calls of C: `cargo bench -p squall-foreign -- [name …]`.
//!
//! Each line is the smallest of several runs, in nanoseconds per operation. A call consists of three steps: the
//! arguments are prepared, the function is called, the result and `errno` are read. The C functions do next to nothing.

use std::env;
use std::hint::black_box;
use std::time::Instant;

use squall_foreign::{
    CallSpace, Callback, Declarations, Function, Library, NativeMemory, Primitive, Value,
};

#[path = "../tests/all/compiler.rs"]
mod compiler;

/// The number of runs, of which the fastest counts.
const RUNS: usize = 60;

/// Operations in a run, which should end before the system runs another process.
const OPERATIONS: u32 = 200_000;

const HEADER: &str = "
    int answer(void);
    int add(int a, int b);
    double add_doubles(double a, double b);
    double mix(int a, double b, long c, float d);
    long seven(long a, long b, long c, long d, long e, long f, long g);
    struct pair { long a, b; };
    struct pair swap(struct pair p);
    unsigned long length(const char *text);
    int apply(int (*f)(int), int x);
    int sum(int count, ...);
";

const SOURCE: &str = "
    int answer(void) { return 42; }
    int add(int a, int b) { return a + b; }
    double add_doubles(double a, double b) { return a + b; }
    double mix(int a, double b, long c, float d) { return a + b + c + d; }
    long seven(long a, long b, long c, long d, long e, long f, long g) { return a + b + c + d + e + f + g; }
    struct pair { long a, b; };
    struct pair swap(struct pair p) { struct pair s = { p.b, p.a }; return s; }
    unsigned long length(const char *text) { return (unsigned char)*text; }
    int apply(int (*f)(int), int x) { return f(x); }
    int sum(int count, ...) { return count; }
";

struct Bench {
    header: Declarations,
    library: Library,
    selected: Vec<String>,
}

fn main() {
    let mut header = Declarations::new();
    header.declare(HEADER).expect("it is a header");
    let Some(library) = compiler::load_text(SOURCE) else { return };
    let selected = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let bench = Bench { header, library, selected };
    bench.calls();
    bench.callbacks();
    bench.memory();
}

impl Bench {
    fn calls(&self) {
        let integer = Value::Integer;
        let memory = NativeMemory::allocate_text(b"text").expect("there is memory");
        let pair = [7; 16];
        self.call("answer", "int f(void)", &[]);
        self.call("add", "int f(int, int)", &[integer(1), integer(2)]);
        self.call(
            "add_doubles",
            "double f(double, double)",
            &[Value::Double(1.0), Value::Double(2.0)],
        );
        let mixed = [integer(1), Value::Double(2.0), integer(3), Value::Double(4.0)];
        self.call("mix", "double f(int, double, long, float)", &mixed);
        self.call("seven", "7 integers, by libffi", &[integer(1); 7]);
        self.call(
            "swap",
            "a structure of two words in and out, by libffi",
            &[Value::Record(&pair)],
        );
        self.call(
            "length",
            "f(const char *) with a string, copied",
            &[Value::Text(b"a short string")],
        );
        self.call(
            "length",
            "f(const char *) with native memory, pinned",
            &[Value::Memory(&memory)],
        );
        let address = memory.address().expect("it is there");
        self.call("length", "f(const char *) with an address", &[Value::Pointer(address)]);
        self.call("sum", "int f(int, ...) with 2 surplus arguments", &[integer(1); 3]);
    }

    fn callbacks(&self) {
        let target = self.header.parse_function("int f(int)").expect("it is a function").1;
        let callback = Callback::new(&target, |frame| {
            if let Some(argument) = frame.argument(0) {
                let _ = frame.set_result(argument);
            }
        });
        let callback = callback.expect("there is memory");
        let arguments = [Value::Pointer(callback.address()), Value::Integer(3)];
        self.call("apply", "a call, and a callback inside", &arguments);
        self.measure("callback", "make and release a callback", 5_000, || {
            black_box(Callback::new(&target, |_| {}).expect("there is memory"));
        });
    }

    fn memory(&self) {
        let memory = NativeMemory::allocate(64).expect("there is memory");
        self.measure("read", "read an int, pinned", OPERATIONS, || {
            black_box(memory.read(black_box(8), Primitive::I32)).expect("it is within");
        });
        self.measure("read", "read an int, not pinned", OPERATIONS, || {
            // SAFETY: this benchmark does not release the memory.
            let access = unsafe { memory.access_unpinned() }.expect("it is there");
            black_box(access.read(black_box(8), Primitive::I32)).expect("it is within");
        });
        self.measure("write", "write a double, not pinned", OPERATIONS, || {
            // SAFETY: this benchmark does not release the memory.
            let access = unsafe { memory.access_unpinned() }.expect("it is there");
            access.write(black_box(8), Primitive::F64, Value::Double(1.0)).expect("it is within");
        });
        self.measure("allocate", "allocate and release 64 bytes", OPERATIONS, || {
            black_box(NativeMemory::allocate(64).expect("there is memory").release());
        });
        let large = NativeMemory::allocate(1 << 16).expect("there is memory");
        let mut bytes = vec![0; 1 << 16];
        self.measure("copy", "copy 64 KiB out", 5_000, || {
            large.read_bytes(0, black_box(&mut bytes)).expect("it is within");
        });
    }

    fn call(&self, name: &str, what: &str, arguments: &[Value<'_>]) {
        let signature = self.header.function(name).expect("it is declared");
        let function = self.library.function(name, signature).expect("it is there");
        self.measure(name, what, OPERATIONS, || call(&function, black_box(arguments)));
    }

    fn measure(&self, name: &str, what: &str, operations: u32, mut operation: impl FnMut()) {
        if !self.selected.is_empty() && !self.selected.iter().any(|selected| selected == name) {
            return;
        }
        let mut run = || {
            let begin = Instant::now();
            (0..operations).for_each(|_| operation());
            begin.elapsed().as_nanos() as f64 / f64::from(operations)
        };
        let fastest = (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min);
        println!("{name:12} {fastest:9.1} ns  {what}");
    }
}

fn call(function: &Function, arguments: &[Value<'_>]) {
    let mut space = CallSpace::new();
    let call = function.prepare(&mut space, arguments).expect("they fit");
    // SAFETY: the declarations are those of the functions, which accept any arguments.
    let call = unsafe { call.invoke() };
    black_box((call.value(), call.errno()));
}
