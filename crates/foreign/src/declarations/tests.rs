//! The meaning of valid texts, and the messages for others.

use proptest::prelude::*;

use super::*;
use crate::types::{Array, Scalar};

fn declared(text: &str) -> Declarations {
    let mut declarations = Declarations::new();
    if let Err(error) = declarations.declare(text) {
        panic!("{error}\n{}", error.excerpt(text));
    }
    declarations
}

/// The declarations of a text, in a canonical form.
fn shown(text: &str) -> Vec<String> {
    let mut declarations = Declarations::new();
    let all = declarations.declare(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    all.iter().map(show).collect()
}

fn show(declaration: &Declaration) -> String {
    let name = &declaration.name;
    match &declaration.meaning {
        Meaning::Type(of) => format!("typedef {}", of.declaring(name)),
        Meaning::Tagged(of) => match of.as_record() {
            None => of.to_string(),
            Some(record) => {
                let one = |field: &crate::Field| {
                    let name = field.name.as_deref().unwrap_or("");
                    format!("{}@{}", field.c_type.declaring(name), field.offset)
                };
                let fields: Vec<String> = record.fields().iter().map(one).collect();
                format!("{of} {{{}}} {}", fields.join("; "), record.layout().size)
            }
        },
        Meaning::Function(signature) => signature.declaring(name),
        Meaning::Variable(of) => of.declaring(name),
        Meaning::Constant(value) => format!("{name} = {value}"),
    }
}

#[test]
fn declarations_are_understood() {
    let cases: &[(&str, &[&str])] = &[
        ("int f(void)", &["int f(void)"]),
        ("int f();", &["int f(void)"]),
        ("int sqlite3_open(const char*, sqlite3**)", &["int sqlite3_open(char *, sqlite3 **)"]),
        ("int printf(const char *restrict format, ...);", &["int printf(char *format, ...)"]),
        ("long unsigned int n; const volatile short s;", &["unsigned long n", "short s"]),
        ("signed char a, *b, c[3];", &["signed char a", "signed char *b", "signed char c[3]"]),
        ("extern size_t const n[2][3];", &["unsigned long n[2][3]"]),
        (
            "typedef int (*compare)(const void *, const void *);",
            &["typedef int (*compare)(void *, void *)"],
        ),
        (
            "void qsort(void *base, size_t n, size_t size, int (*)(const void *, const void *));",
            &[
                "void qsort(void *base, unsigned long n, unsigned long size, int (*)(void *, void *))",
            ],
        ),
        (
            "void (*signal(int sig, void (*func)(int)))(int);",
            &["void (*signal(int sig, void (*func)(int)))(int)"],
        ),
        (
            "typedef int f(char); f g; void h(f);",
            &["typedef int f(char)", "int g(char)", "void h(int (*)(char))"],
        ),
        (
            "void f(int a[], double m[static 4], char (*rows)[8]);",
            &["void f(int *a, double *m, char (*rows)[8])"],
        ),
        ("int (*table[4])(void);", &["int (*table[4])(void)"]),
        ("int f(int (x), int (size_t));", &["int f(int x, int (*)(unsigned long))"]),
        ("extern char **environ; extern int numbers[];", &["char **environ", "int numbers[]"]),
        ("struct p { int x; double y[3]; };", &["struct p {int x@0; double y[3]@8} 32"]),
        (
            "struct p { char a; struct { short b, c; }; union { int i; char t; } u; } v;",
            &[
                "struct p {char a@0; struct { short b; short c; }@2; union { int i; char t; } u@8} 12",
                "struct p v",
            ],
        ),
        (
            "struct n { struct n *next; int (*visit)(struct n *); };",
            &["struct n {struct n *next@0; int (*visit)(struct n *)@8} 16"],
        ),
        ("union u { char c[5]; short s; };", &["union u {char c[5]@0; short s@0} 6"]),
        ("struct s { int n; double data[]; };", &["struct s {int n@0; double data[]@8} 8"]),
        (
            "typedef struct t t; int f(t *); struct t { int x; }; int g(t);",
            &["typedef struct t t", "int f(struct t *)", "struct t {int x@0} 4", "int g(struct t)"],
        ),
        (
            "enum e { A, B = 5, C, D = C << 2 | 1, } e; int f(enum e);",
            &["A = 0", "B = 5", "C = 6", "D = 25", "enum e", "enum e e", "int f(enum e)"],
        ),
        (
            "enum { N = sizeof(struct { char c; int i; }) }; char b[N * 2 + 'a' - 'a'];",
            &["N = 8", "char b[16]"],
        ),
        ("typedef enum { X = -1 } x;", &["X = -1", "typedef enum { X = -1 } x"]),
        ("/* a */ int x; // b\n;;int y", &["int x", "int y"]),
        (
            "int f(int); int f(int named); typedef unsigned char uint8_t;",
            &["int f(int)", "int f(int named)", "typedef unsigned char uint8_t"],
        ),
        (
            "int f(sqlite3 *); typedef struct sqlite3 sqlite3; int f(sqlite3 *);",
            &["int f(sqlite3 *)", "typedef struct sqlite3 sqlite3", "int f(struct sqlite3 *)"],
        ),
        ("bool b(_Bool);", &["_Bool b(_Bool)"]),
        ("", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), *expected, "{text}");
    }
}

#[test]
fn constants_are_those_of_c() {
    let cases = [
        ("1 + 2 * 3 - 4 / 2 % 3", 5),
        ("(1 + 2) * 3", 9),
        ("1 << 4 | 1 << 2", 20),
        ("~0", -1),
        ("~0u", 4294967295),
        ("-1u", 4294967295),
        ("-1ul", 18446744073709551615),
        ("0xffffffff", 4294967295),
        ("~0xffffffff", 0),
        ("1 << 31", -2147483648),
        ("1u << 31", 2147483648),
        ("1L << 40", 1 << 40),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("-7 >> 1", -4),
        ("-1 < 0u", 0),
        ("-1L < 0u", 1),
        ("1 < 2 == 1", 1),
        ("!3 || 2 && 1", 1),
        ("6 & 3 ^ 1", 3),
        ("sizeof(long) - 9 > 0", 1),
        ("'a' + 1", 98),
        ("_Alignof(double)", 8),
        ("4000000000u * 4u", 3115098112),
        ("18446744073709551615u * 18446744073709551615u", 1),
        ("2147483648", 2147483648),
        ("-2147483648", -2147483648),
        ("- - 1", 1),
        ("10000000000", 10000000000),
    ];
    for (text, expected) in cases {
        let declarations = declared(&format!("enum {{ X = {text} }};"));
        assert_eq!(declarations.constant("X"), Some(expected), "{text}");
    }
}

#[test]
fn mistakes_are_located() {
    let cases = [
        (
            "int f(int, itn);",
            "`itn` is not declared, so that only pointers to it can be used; did you mean `int`?",
            "itn",
        ),
        (
            "frobnicate x;",
            "`frobnicate` is not declared, so that only pointers to it can be used",
            "x",
        ),
        ("struct p x;", "`struct p` is not declared, so that only pointers to it can be used", "x"),
        (
            "struct p { struct p q; };",
            "`struct p` is not declared, so that only pointers to it can be used",
            "q",
        ),
        (
            "struct f { int a : 3; };",
            "bit-fields are not supported: where their bits are is the compiler's affair",
            "a :",
        ),
        (
            "struct f { int : 0; };",
            "bit-fields are not supported: where their bits are is the compiler's affair",
            ":",
        ),
        ("long double f(void);", "`long double` is not supported", "long double"),
        ("short long x;", "there is no type `short long`", "short long"),
        (
            "int f(void) { return 1; }",
            "a declaration ends with `;` here: bodies belong to the library",
            "{",
        ),
        (
            "int x = 3;",
            "a declaration ends with `;` here: initial values belong to the library",
            "=",
        ),
        (
            "#define N 3",
            "there is no preprocessor here: leave `#` lines out, and write constants as an `enum`",
            "#",
        ),
        (
            "static int f(void);",
            "`static` is not supported: it cannot be called from outside of its file",
            "static",
        ),
        ("int a[n];", "there is no constant `n`", "n"),
        ("int a[0];", "an array has at least one element, and not more than memory has", "0"),
        ("int a[1 / 0];", "this divides by zero", "1 / 0"),
        (
            "int a[2147483647 + 1];",
            "2147483648 does not fit in 32 bits with a sign",
            "2147483647 + 1",
        ),
        ("int a[1 << 32];", "32 bits cannot be shifted by 32", "1 << 32"),
        ("int f(void v);", "there are no values of type `void`, only pointers to it", "void"),
        ("void x;", "there are no values of type `void`, only pointers to it", "x"),
        ("int f(int)[3];", "a function cannot answer an array", "f"),
        ("int f(int)(int);", "a function cannot answer a function, only a pointer to one", "f"),
        ("int a[3](void);", "there are no values of type `int (void)`, only pointers to it", "a"),
        ("int f(...);", "there must be a parameter before `...`", "..."),
        ("int f(int, ..., int);", "`)` is expected here, not `,`", ","),
        (
            "struct s { int data[]; };",
            "an array needs a length, except as the last field of a `struct`",
            "struct s { int data[]; }",
        ),
        ("struct s { };", "a structure has at least one field", "struct s { }"),
        (
            "struct s { int x; struct { int x; }; };",
            "there is another field `x`",
            "struct s { int x; struct { int x; }; }",
        ),
        ("struct s { int; };", "this field has no name", "int"),
        ("int f(int); int f(char);", "`f` was declared differently before: `int f(int)`", "f"),
        ("enum { A }; int A;", "`A` was declared differently before: as the constant 0", "A"),
        (
            "typedef short int32_t;",
            "`int32_t` was declared differently before: `typedef int int32_t`",
            "int32_t",
        ),
        ("struct s { int x; }; struct s { int y; };", "`struct s` is defined already", "struct s"),
        (
            "struct s { int x; }; union s y;",
            "`s` was declared as something else: `struct s`",
            "union s",
        ),
        (
            "struct s { struct s { int x; } y; };",
            "`struct s` is defined inside of itself",
            "struct s { struct s { int x; } y; }",
        ),
        ("enum e x;", "`enum e` is not declared", "enum e"),
        ("int int;", "there is no type `int int`", "int int"),
        ("int struct;", "`struct` cannot stand here", "struct"),
        ("int 3;", "a name is expected here, not a number", "3"),
        ("int x", "", ""),
        ("int x y;", "`;` is expected here, not `y`", "y"),
        ("int (x;", "`)` is expected here, not `;`", ";"),
        ("int f(typedef int x);", "`typedef` cannot stand here", "typedef int"),
        (
            "typedef foo bar;",
            "`foo` is not declared, so that only pointers to it can be used",
            "bar",
        ),
        ("char *s = \"x\";", "there are no strings in declarations", "\""),
        ("int ä;", "'ä' is no part of C", "ä"),
        ("/* a", "this comment has no end", "/*"),
        ("char big[0x7fffffffffffffff][2];", "this type is larger than memory can be", "big"),
        (
            "enum { A = 0x7fffffffffffffff, B = -1, C = 0xffffffffffffffff };",
            "no integer type has all these values",
            "enum { A = 0x7fffffffffffffff, B = -1, C = 0xffffffffffffffff }",
        ),
        ("int f(int) __attribute__((pure));", "attributes are not supported", "__attribute__"),
    ];
    for (text, message, place) in cases {
        let result = Declarations::new().declare(text);
        let Err(error) = result else {
            assert!(message.is_empty(), "{text}");
            continue;
        };
        assert_eq!((&*error.message, &text[error.span.clone()]), (message, place), "{text}");
    }
}

#[test]
fn errors_show_their_line() {
    let text = "int x;\n\tstruct p y;\nint z;";
    let error = Declarations::new().declare(text).expect_err("p is not defined");
    assert_eq!((error.line, error.column), (2, 11));
    assert_eq!(error.excerpt(text), "\tstruct p y;\n\t         ^");
    let text = "int x; /*";
    let error = Declarations::new().declare(text).expect_err("no end");
    assert_eq!(error.to_string(), "1:8: this comment has no end");
    let error = Declarations::new().declare("int").expect_err("no name");
    assert_eq!(error.excerpt("int"), "int\n   ^");
}

#[test]
fn a_text_with_a_mistake_adds_nothing() {
    let mut declarations = declared("int x;");
    assert!(declarations.declare("struct s { int a; }; enum { A }; int y; int ?;").is_err());
    assert!(declarations.meaning("y").is_none() && declarations.tagged("s").is_none());
    assert!(declarations.constant("A").is_none() && declarations.variable("x").is_some());
}

#[test]
fn definitions_are_found_later() {
    let mut declarations = declared("typedef struct node node; node *first(list *);");
    let first = declarations.function("first").cloned().expect("it is declared");
    let node = first.result().target().expect("it is a pointer");
    let list = first.parameters()[0].c_type.target().expect("it is a pointer");
    assert!(node.layout().is_none() && declarations.resolved(list) == *list);
    declarations
        .declare("struct node { int x; }; typedef struct { node a; } list;")
        .expect("all is well");
    assert_eq!(declarations.resolved(node).layout().map(|layout| layout.size), Some(4));
    assert_eq!(
        declarations
            .resolved(list)
            .as_record()
            .and_then(|record| record.field("a"))
            .map(|(at, _)| at),
        Some(0)
    );
}

#[test]
fn types_and_functions_alone() {
    let declarations = declared("struct p { int x; }; typedef double coordinates[3];");
    for (text, expected) in [
        ("const char *", "char *"),
        ("struct p[2]", "struct p [2]"),
        ("int (*)(void)", "int (*)(void)"),
        ("coordinates *", "double (*)[3]"),
        ("unsigned", "unsigned int"),
        ("void", "void"),
    ] {
        assert_eq!(declarations.parse_type(text).map(|of| of.to_string()), Ok(expected.to_owned()));
    }
    for text in ["", "int x", "int;", "int,", "(int)", "struct"] {
        assert!(declarations.parse_type(text).is_err(), "{text}");
    }
    let (name, signature) =
        declarations.parse_function("struct p f(coordinates);").expect("all is well");
    assert_eq!(signature.declaring(&name), "struct p f(double *)");
    for text in ["int x;", "int f(void), g(void);", "typedef int f(void);", ""] {
        assert!(declarations.parse_function(text).is_err(), "{text}");
    }
}

#[test]
fn nameless_parts_have_fields() {
    let declarations =
        declared("struct s { char c; struct { int a; union { short b; char d[6]; }; }; };");
    let record = declarations.tagged("s").and_then(Type::as_record).expect("it is defined");
    let offset = |name| record.field(name).map(|(offset, _)| offset);
    assert_eq!(
        (offset("c"), offset("a"), offset("b"), offset("d")),
        (Some(0), Some(4), Some(8), Some(8))
    );
    assert_eq!(offset("e"), None);
    assert_eq!(record.layout().size, 16);
}

#[test]
fn nothing_is_too_deep() {
    let deep = 100_000;
    let texts = [
        format!("int {}x;", "*".repeat(deep)),
        format!("int {}x{};", "(".repeat(deep), ")".repeat(deep)),
        format!("int x{};", "[1]".repeat(deep)),
        format!("int x{};", "(int".repeat(deep)),
        format!("int x[{}1];", "-".repeat(deep)),
        format!("int x[{}1{}];", "(".repeat(deep), ")".repeat(deep)),
        format!("int x[{}];", "sizeof(char[".repeat(deep)),
        "struct { ".repeat(deep),
        format!("int x[1{}];", "+1".repeat(deep)),
        (1..deep / 100).map(|level| format!("typedef t{} *t{level};", level - 1)).collect(),
        (1..100)
            .map(|n| format!("typedef int (*t{n})(t{m}, t{m}, t{m}, t{m});", m = n - 1))
            .collect(),
        format!("struct s {{ {} }};", "int x;".repeat(deep)),
        format!("int f(int{});", ", int".repeat(deep)),
    ];
    for text in texts {
        let result = Declarations::new().declare(&format!("typedef int t0;{text}"));
        if let Err(error) = result {
            assert!(error.message.len() < 300, "{}", error.message);
        }
    }
}

#[test]
fn types_grow_no_further_than_they_can_be_shown() {
    let text: String = (1..40)
        .map(|n| format!("typedef int (*t{n})(t{m}, t{m}, t{m}, t{m});", m = n - 1))
        .collect();
    let mut declarations = Declarations::new();
    let error =
        declarations.declare(&format!("typedef int t0;{text}")).expect_err("it is exponential");
    assert_eq!(error.message, "this type has more than 16384 parts");
    let error = declarations.declare(&format!("int {}x;", "*".repeat(64))).expect_err("it is deep");
    assert_eq!(error.message, "this type has more than 64 levels");
    assert!(declarations.declare(&format!("int {}x;", "*".repeat(63))).is_ok());
}

/// Any type that can be declared in a text of its own.
fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        proptest::sample::select(Scalar::all().collect::<Vec<_>>()).prop_map(Type::scalar),
        Just(Type::opaque(Tag::Record(RecordKind::Struct, "opaque".into())))
            .prop_map(|opaque| Type::pointer_to(&opaque).expect("it is small")),
        Just(Type::pointer_to(&Type::void()).expect("it is small")),
    ];
    leaf.prop_recursive(5, 30, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|target| Type::pointer_to(&target).expect("it is small")),
            (inner.clone(), 1..9_usize).prop_map(|(element, length)| Type::array_of(
                &element,
                Some(length)
            )
            .expect("it is small")),
            (inner.clone(), proptest::collection::vec(inner.clone(), 0..4), any::<bool>())
                .prop_map(|(result, parameters, is_variadic)| function(
                    result,
                    parameters,
                    is_variadic
                )),
            (proptest::collection::vec(inner, 1..4), any::<bool>())
                .prop_map(|(fields, is_union)| record(fields, is_union)),
        ]
    })
}

fn function(result: Type, parameters: Vec<Type>, is_variadic: bool) -> Type {
    let result = match result.kind() {
        Kind::Array(Array { element, .. }) => Type::pointer_to(element).expect("it is small"),
        _ => result,
    };
    let is_variadic = is_variadic && !parameters.is_empty();
    let parameters = parameters.into_iter().map(crate::Parameter::of).collect();
    let signature = Signature::new(result, parameters, is_variadic).expect("all types have values");
    Type::pointer_to(&Type::function(&signature).expect("it is small")).expect("it is small")
}

fn record(fields: Vec<Type>, is_union: bool) -> Type {
    let kind = if is_union { RecordKind::Union } else { RecordKind::Struct };
    let name = |index| Some(format!("field{index}").into());
    let fields = fields.into_iter().enumerate().map(|(index, of)| (name(index), of)).collect();
    Type::record(crate::Record::new(kind, None, fields).expect("all types have values"))
        .expect("it is small")
}

proptest! {
    /// The printed form of a type is read back as the same type.
    #[test]
    fn shown_types_are_read_back(of in any_type()) {
        let declarations = Declarations::new();
        prop_assert_eq!(declarations.parse_type(&of.to_string()), Ok(of.clone()));
        let mut declarations = declarations;
        let text = format!("typedef {};", of.declaring("x"));
        prop_assert!(declarations.declare(&text).is_ok(), "{}", text);
        prop_assert_eq!(declarations.meaning("x"), Some(&Meaning::Type(of)));
    }

    /// Each text is read, or there is a message about a place in it.
    #[test]
    fn any_text_has_an_answer(text in "\\PC{0,60}") {
        check_any(&text)?;
    }

    /// Likewise for texts that look more like C.
    #[test]
    fn any_words_have_an_answer(words in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 0..30)) {
        check_any(&words.join(" "))?;
    }
}

const WORDS: &[&str] = &[
    "int",
    "char",
    "unsigned",
    "long",
    "void",
    "struct",
    "union",
    "enum",
    "typedef",
    "const",
    "sizeof",
    "a",
    "b",
    "p",
    "size_t",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "*",
    ",",
    ";",
    ":",
    "=",
    "1",
    "3u",
    "0x7fffffffffffffff",
    "+",
    "-",
    "<<",
    "~",
    "...",
    "'x'",
    "/",
    "%",
    "*",
    "(",
    ")",
    ";",
];

fn check_any(text: &str) -> Result<(), TestCaseError> {
    let mut declarations = Declarations::new();
    if let Err(error) = declarations.declare(text) {
        prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
        prop_assert!(!error.message.is_empty());
        error.excerpt(text);
    }
    if let Err(error) = declarations.parse_type(text) {
        error.excerpt(text);
    }
    Ok(())
}
