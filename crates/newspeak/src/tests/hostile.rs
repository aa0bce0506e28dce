//! Hostile text: deep, long, cut off, random. The parser must not panic, overflow the native stack or take more than
//! linear time, and each mistake is reported inside of the text.

use proptest::prelude::*;

use super::{module_with_body, source};
use crate::diagnostics::json::to_json_lines;
use crate::diagnostics::render::{Colour, to_text};
use crate::dump;
use crate::lexer::tokenize;
use crate::parser::{Fragment, MOST_NESTED, check_fragment, parse};
use crate::source::Source;

const MANY: usize = 100_000;

/// A program with every construct of the language.
const EVERYTHING: &str = r#"Newspeak3 'x' (* a (* b *) *)
class Größe usingPlatform: p <Platform> = outer Größe Base new: p <: Mixin a: 1 <: M (
  | private a <A | B> = p foo. b ::= #at:put:. public c <[:X def | Y]> |
  self init. b:: c:: 16r-FF.8e-2.
)(
  private class In = Object <: M.
  public class Side = ()() : ( new: x = ( ^ super new ) )
  + other <T> ^ <U> = ( ^ objL A new ( || )( foo = ( ^ outer Größe b ) ) )
  public at: i put: v = (
    | x y <Z>= 1. z ::= {1. 'it''s\n'. "c". #+}. |
    x foo <-: bar: [ :e <E> :f | | g | ^ e - -1 ]; baz; + 1.
    [] value. (x) at: (y <-: z) put: nil.
    ^ x || y
  )
) : ( c = () )
"#;

/// Parses and shows a source in all ways. Answers whether it is a program.
fn exercise(source: &Source) -> bool {
    let tokens = tokenize(source).list;
    assert!(tokens.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    dump::tokens(source, &tokens);
    check_fragment(source, Fragment::Statements);
    check_fragment(source, Fragment::Members);
    let parse = parse(source);
    for label in parse.diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
        assert!(label.span.start <= label.span.end);
        assert!(source.text().get(label.span.range()).is_some(), "{:?}", label);
    }
    to_text(source, &parse.diagnostics, Colour::None);
    to_json_lines(source, &parse.diagnostics);
    assert_eq!(parse.ast.is_none(), parse.diagnostics.iter().any(|d| d.is_error()));
    parse.ast.is_some_and(|ast| !dump::ast(&ast).is_empty())
}

fn accepts(text: &str) -> bool {
    exercise(&source(text))
}

/// Runs on the smallest native stack that embedders may use.
fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    const STACK_BYTES: usize = 512 * 1024;
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    thread.expect("a thread can be started").join().expect("the thread does not panic")
}

// Depth

/// Text that can contain itself.
struct Nest {
    open: &'static str,
    inner: &'static str,
    close: &'static str,
    /// The levels of one round.
    levels: usize,
    /// The levels of the innermost text.
    inside: usize,
}

const fn nest(
    open: &'static str,
    inner: &'static str,
    close: &'static str,
    levels: usize,
    inside: usize,
) -> Nest {
    Nest { open, inner, close, levels, inside }
}

const NESTS: &[Nest] = &[
    nest("(", "a", ")", 1, 0),
    nest("[", "a", "]", 1, 0),
    nest("{", "a", "}", 1, 0),
    nest("{ 1. ", "a", ". 2 }", 1, 0),
    nest("a: (", "a", ")", 1, 0),
    nest("a b: 1 c: d + (", "a", ") e", 1, 0),
    nest("x:: y:: a b <-: c: d + e (* *) foo: [ :a | | b = 1. | a. ^ ", "a", "]", 1, 0),
    nest("[ | b = ", "a", ". | ]", 1, 0),
    nest("a b; c: (", "a", ")", 1, 0),
    nest("objL A new: ", "a", " ()()", 1, 1),
    nest("objL A <: B c: ", "a", " ()()", 1, 1),
    nest("objL (", "a", ")()", 2, 0),
    nest("objL (| a = ", "b", ". |)()", 2, 0),
    nest("objL ()(a = (", "b", "))", 3, 0),
    nest("objL ()(class A = ()(a = (", "b", ")))", 4, 0),
];

impl Nest {
    /// The rounds allowed in a body, which is itself inside of a class and a method.
    fn most(&self) -> usize {
        (MOST_NESTED - 2 - self.inside) / self.levels
    }

    fn text(&self, rounds: usize) -> String {
        let Nest { open, inner, close, .. } = self;
        module_with_body(&[&open.repeat(rounds), *inner, &close.repeat(rounds)].concat())
    }
}

#[test]
fn nesting_is_accepted_up_to_the_limit_and_refused_beyond() {
    for nest in NESTS {
        let [fits, exceeds] = on_small_stack(|| {
            let rounds = [nest.most(), nest.most() + 1];
            rounds.map(|rounds| parse(&source(&nest.text(rounds))).diagnostics)
        });
        assert!(fits.is_empty(), "{}: {fits:?}", nest.open);
        let codes: Vec<&str> = exceeds.iter().map(|diagnostic| diagnostic.code.name()).collect();
        assert_eq!(codes, ["nested-too-deeply"], "{}", nest.open);
    }
}

#[test]
fn nested_text_can_be_dumped_and_dropped_on_a_small_stack() {
    for nest in NESTS {
        assert!(on_small_stack(|| accepts(&nest.text(nest.most()))), "{}", nest.open);
    }
}

#[test]
fn classes_and_types_nest_as_deep() {
    let classes = |depth: usize| ["class A = ()(".repeat(depth), ")".repeat(depth)].concat();
    let types = |depth: usize| {
        format!("class A = ()(a: b <{}C{}> = ())", "L[".repeat(depth), "]".repeat(depth))
    };
    on_small_stack(move || {
        assert!(accepts(&classes(MOST_NESTED - 1)));
        assert!(!accepts(&classes(MOST_NESTED + 1)));
        assert!(accepts(&types(MOST_NESTED - 1)));
        assert!(!accepts(&types(MOST_NESTED)));
        for (open, close) in [("{", "}"), ("[", "]"), ("(", ")"), ("[:", "]"), ("[:A | ", "]")] {
            accepts(&format!(
                "class A = ()(a: b <{}C{}> = ())",
                open.repeat(MANY),
                close.repeat(MANY)
            ));
        }
    });
}

#[test]
fn bottomless_text_is_refused() {
    on_small_stack(|| {
        let rounds = MANY / 10;
        for nest in NESTS {
            assert!(!accepts(&module_with_body(&nest.open.repeat(rounds))));
            assert!(!accepts(&nest.open.repeat(rounds)));
            assert!(!accepts(&nest.text(rounds)));
            assert!(!accepts(&module_with_body(&nest.close.repeat(rounds))));
        }
        for open in
            ["class A = (", "class A = ()(", "class A = ()(a = (", "(*", "objL ", "objL A a: "]
        {
            assert!(!accepts(&open.repeat(rounds)));
            assert!(!accepts(&module_with_body(&open.repeat(rounds))));
        }
    });
}

#[test]
fn brackets_that_never_match_take_linear_time() {
    for (open, close) in [("(", "]"), ("[", "}"), ("{", ")"), ("([{", ")]}"), ("(", "].")] {
        let text = [open.repeat(MANY), close.repeat(MANY)].concat();
        assert!(!accepts(&module_with_body(&text)));
        assert!(!accepts(&format!("class A = ({text}")));
        assert!(!accepts(&format!("class A = ()({text}")));
    }
}

// Length

#[test]
fn chains_may_have_any_length() {
    for (start, link, end) in [
        ("a", " + b", ""),
        ("a", " b", ""),
        ("a", " <-: b", ""),
        ("a", " <-: + b", ""),
        ("a b", "; c", ""),
        ("a b: c", "; + d", ""),
        ("", "a. ", ""),
        ("", "a:: ", "b"),
        ("", "x a:: ", "b"),
        ("{", "a. ", "}"),
        ("| ", "a ", "|"),
        ("| ", "a = 1. ", "|"),
        ("[ ", ":a ", "| ]"),
        ("", "a: b ", ""),
        ("x ", "a: b + c ", ""),
        ("x foo: a", " + b", ""),
        ("", "[ ^ a ]. ", ""),
        ("", "objL ()(). ", ""),
    ] {
        let body = [start, &link.repeat(MANY), end].concat();
        let is_program = on_small_stack(move || accepts(&module_with_body(&body)));
        assert_eq!(is_program, !start.is_empty() || link != "x a:: ", "{link}");
    }
}

#[test]
fn declarations_may_be_many() {
    let many = |text: &str| text.repeat(MANY / 10);
    assert!(accepts(&format!("class A = (| {} |)()", many("a <B> = 1. "))));
    assert!(accepts(&format!("class A = ({})()", many("a foo. "))));
    assert!(accepts(&format!("class A = ()({})", many("a = () "))));
    assert!(accepts(&format!("class A = ()({})", many("class B = ()() "))));
    assert!(accepts(&format!("class A = B {} ()()", many("<: C d: 1 "))));
    assert!(accepts(&format!("class A {} = ()()", many("a: b "))));
    assert!(accepts(&format!("class A = ()(a ^ <A{}> = ())", many(" | B"))));
}

#[test]
fn literals_may_be_long() {
    let long = 1 << 20;
    assert!(accepts(&module_with_body(&format!("^ '{}'", "x".repeat(long)))));
    assert!(accepts(&module_with_body(&format!("^ '{}'", "''".repeat(long)))));
    assert!(accepts(&module_with_body(&format!("^ '{}'", "\\n".repeat(long)))));
    assert!(accepts(&module_with_body(&format!("^ {}", "x".repeat(long)))));
    assert!(accepts(&module_with_body(&format!("^ #{}", "x:".repeat(long)))));
    assert!(accepts(&module_with_body(&format!("^ a {} b", "+".repeat(long)))));
    assert!(accepts(&module_with_body(&format!("^ 1{}", ".0".to_string() + &"1".repeat(long)))));
    assert!(accepts(&module_with_body(&format!("^ 1e{}", "1".repeat(long)))));
    assert!(!accepts(&module_with_body(&format!("^ 16r{}.8", "F".repeat(long)))));
    assert!(!accepts(&module_with_body(&format!("^ {}r1", "1".repeat(long)))));
    let numeral = module_with_body(&format!("^ {}", "7".repeat(long)));
    assert!(parse(&source(&numeral)).ast.is_some());
}

#[test]
fn mistakes_may_be_many() {
    for mistake in [
        "x := 1. ", "a -1. ", "+ ", ") ", "] ", "'\\d'. ", "#( 1 ). ", "a = ( ", "\na = (",
        "^ a. ", "; ", "| ",
    ] {
        exercise(&source(&module_with_body(&mistake.repeat(MANY / 10))));
        exercise(&source(&format!("class A = ()(\n{})", mistake.repeat(MANY / 10))));
        exercise(&source(&format!("class A = (| {} |)()", mistake.repeat(MANY / 10))));
    }
}

// Damage

#[test]
fn everything_is_a_program() {
    assert!(accepts(EVERYTHING));
}

#[test]
fn a_program_cut_anywhere_is_refused() {
    let last = EVERYTHING.trim_end().len();
    for (end, _) in EVERYTHING.char_indices().filter(|&(end, _)| end < last) {
        // The class side is optional, and so is the text after it.
        let is_whole = EVERYTHING[end..].trim_start() == ": ( c = () )\n";
        assert_eq!(accepts(&EVERYTHING[..end]), is_whole, "{}", &EVERYTHING[..end]);
    }
}

#[test]
fn a_program_with_any_byte_missing_doubled_or_garbled_is_survived() {
    for at in 0..EVERYTHING.len() {
        let (before, after) = EVERYTHING.as_bytes().split_at(at);
        let byte = after[0];
        for middle in [&[][..], &[byte, byte], &[byte ^ 0x80], b"(", b")", b".", b"'"] {
            let bytes = [before, middle, &after[1..]].concat();
            exercise(&Source::from_bytes("test.ns", &bytes));
        }
    }
}

/// Words with a meaning in some place.
const WORDS: &[&str] = &[
    "a", "b:", "c::", "self", "super", "nil", "outer", "objL", "class", "private", "public", "+",
    "-", "=", "|", "||", "<", ">", "<:", "<-:", "::=", ":", ".", ";", "^", "(", ")", "[", "]", "{",
    "}", "1", "-1", "16rF.8", "'s'", "\"c\"", "#s", "#", "$", "(*", "*)", "'", "\n", "\n  ", "?",
];

proptest! {
    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        exercise(&Source::from_bytes("test.ns", &bytes));
    }

    #[test]
    fn random_text(text in "\\PC{0,100}") {
        accepts(&text);
        accepts(&module_with_body(&text));
    }

    #[test]
    fn random_words(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60)) {
        let text = words.join(" ");
        accepts(&text);
        accepts(&module_with_body(&text));
        accepts(&format!("class A = ({text})()"));
        accepts(&format!("class A = ()({text})"));
        accepts(&words.concat());
    }
}
