//! Sizes, alignments and offsets are those of the C compiler.

use std::fmt::Write;

use squall_foreign::{Declarations, NativeMemory, Primitive, Record, Value};

use crate::compiler::load_text;
use crate::generator::{COMMON, PREAMBLE, Random, Types, seed_and_cases};

/// Shapes that random choice might miss.
const SPECIAL: &str = "
struct bits { char a; struct { short b; union { int c; char d[9]; }; }; char e; };
struct flexible { char n; double data[]; };
struct bools { _Bool a, b; char *p; };
enum wide { SMALL = -1, LARGE = 5000000000 };
struct enums { char a; enum wide b; enum { ONE = 1 } c; };
struct deep { struct { struct { struct { char a[3]; } b; } c[2]; } d; long e; };
union mixed { struct { char a; double b; } c; char d[17]; };
struct functions { char a; int (*f)(struct functions *); void (*g[3])(void); };
typedef struct { float re, im; } complex_number;
struct uses { complex_number z[2]; wchar_t w; ptrdiff_t d; };
";

#[test]
fn layouts_are_those_of_the_compiler() {
    let (seed, cases) = seed_and_cases(300);
    let mut random = Random::new(seed);
    let mut types = Types::default();
    (0..cases).for_each(|_| {
        types.record(&mut random, 3);
    });
    let special = [
        "struct bits",
        "struct flexible",
        "struct bools",
        "struct enums",
        "struct deep",
        "union mixed",
        "struct functions",
        "struct uses",
    ];
    types.records.extend(special.map(str::to_owned));
    let text = format!("{COMMON}{}{SPECIAL}", types.text);
    let mut header = Declarations::new();
    header.declare(&text).unwrap_or_else(|error| panic!("{error}\n{}", error.excerpt(&text)));

    let records: Vec<&Record> = types.records.iter().map(|name| record(&header, name)).collect();
    let mut facts = String::new();
    let mut expected = Vec::new();
    for (name, record) in types.records.iter().zip(records) {
        let _ = writeln!(facts, "sizeof({name}), _Alignof({name}),");
        expected.push((name.clone(), record.layout().size));
        expected.push((format!("alignment of {name}"), record.layout().alignment));
        for (field, offset) in fields(record) {
            let _ = writeln!(facts, "offsetof({name}, {field}),");
            expected.push((format!("{name}.{field}"), offset));
        }
    }
    let source = format!("{PREAMBLE}{text}\nconst size_t facts[] = {{ {facts} }};");
    let Some(library) = load_text(&source) else { return };
    let address = library.symbol("facts").expect("it is defined");
    // SAFETY: there are as many words, which do not change.
    let facts = unsafe { NativeMemory::borrow(address, 8 * expected.len(), None) };
    for (index, (what, size)) in expected.iter().enumerate() {
        let fact = facts.read(8 * index, Primitive::U64).expect("it is within");
        assert_eq!(fact, Value::Integer(*size as i64), "{what}");
    }
}

fn record<'d>(header: &'d Declarations, name: &str) -> &'d Record {
    let tag = name.split(' ').nth(1).expect("it has a tag");
    header.tagged(tag).and_then(|of| of.as_record()).expect("it is declared")
}

/// The names of a record's fields, also those of nameless parts, and their offsets.
fn fields(record: &Record) -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for field in record.fields() {
        match (&field.name, field.c_type.as_record()) {
            (Some(name), _) => all.push((name.to_string(), field.offset)),
            (None, Some(part)) => {
                all.extend(
                    fields(part).into_iter().map(|(name, offset)| (name, field.offset + offset)),
                );
            }
            (None, None) => {}
        }
    }
    all
}
