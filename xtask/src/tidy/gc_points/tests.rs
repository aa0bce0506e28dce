//! Tests of the rule: small programs with and without words across GC points, and the names that the rule finds in
//! each.

use super::findings;

/// The smallest heap that the rule accepts.
const HEAP: &str = "
pub struct Word(u64);
pub struct Object(usize);
pub struct Safepoints;
impl Safepoints {
    pub fn stop_here(&self) {}
}
pub struct Mutator { safepoints: Safepoints, roots: Vec<Word> }
impl Mutator {
    /// *GC point.*
    pub fn allocate(&mut self) -> Option<Object> {
        self.safepoints.stop_here();
        Some(Object(8))
    }
    /// *No GC point.*
    pub fn root(&mut self, word: Word) -> usize {
        self.roots.push(word);
        self.roots.len()
    }
    pub fn get(&self, root: usize) -> Word { self.roots[root] }
}
impl Word {
    pub const NIL: Word = Word(3);
    pub fn from_bits(bits: u64) -> Word { Word(bits) }
    pub fn from_small_integer(value: i64) -> Word { Word(value as u64) }
    pub fn as_object(self) -> Option<Object> { Some(Object(self.0 as usize)) }
    pub fn is_pointer(self) -> bool { true }
}
impl Object {
    pub fn slot(self, index: usize) -> Word { Word::from_bits(index as u64) }
    pub fn set_slot(self, mutator: &mut Mutator, index: usize, word: Word) {}
    pub fn word(self) -> Word { Word(self.0 as u64) }
}
";

/// The beginning of all programs.
const OPENING: &str = "
use squall_heap::{Mutator, Object, Word};
pub struct Failure { pub reason: &'static str, pub first: Word }
pub struct Thread { pub mutator: Mutator, pub message: Vec<Word> }
impl Failure {
    pub fn new(reason: &'static str) -> Failure { Failure { reason, first: Word::NIL } }
    pub fn with(first: Word) -> Failure { Failure { reason: \"\", first } }
}
#[derive(Clone, Copy)]
pub struct Window(*mut Word);
impl Window {
    pub fn get(self, index: usize) -> Word { unsafe { self.0.add(index).read() } }
    pub fn visit(self) {}
}
fn make(thread: &mut Thread) -> Result<Object, Failure> {
    thread.mutator.allocate().ok_or(Failure::new(\"full\"))
}
fn use_word(word: Word) {}
/// A function that collects only if it fails.
fn checked(thread: &mut Thread, fine: bool) -> Result<(), Failure> {
    if fine { return Ok(()); }
    make(thread)?;
    Err(Failure::new(\"bad\"))
}
";

/// The names that are used after a GC point in a program with this end.
fn stale(program: &str) -> Vec<String> {
    let text = format!("{OPENING}{program}");
    let sources = [("crates/heap/src/lib.rs", HEAP), ("crates/runtime/src/lib.rs", &*text)];
    let found = findings(&sources);
    let names = found.iter().map(|finding| {
        let (_, what) = finding.split_once(": ").expect("a finding has a place");
        what.split(" is used after").next().unwrap_or_default().to_owned()
    });
    names.collect()
}

/// Bodies of `fn test(thread: &mut Thread, window: Window, word: Word)`, and the names that are stale in them.
const BODIES: &[(&str, &[&str], &str)] = &[
    (
        "across an allocation",
        &["text"],
        "
        let text = window.get(0);
        let made = thread.mutator.allocate();
        use_word(text);",
    ),
    (
        "across a call of a call",
        &["text"],
        "
        let text = window.get(0);
        _ = make(thread);
        use_word(text);",
    ),
    ("a parameter", &["word"], "_ = make(thread); use_word(word);"),
    (
        "in the next round of a loop",
        &["word"],
        "
        for _ in 0..3 { use_word(word); _ = make(thread); }",
    ),
    (
        "in the next round of a loop, after a way around",
        &["word"],
        "
        loop { use_word(word); if c() { break; } if d() { continue; } _ = make(thread); }",
    ),
    ("on one of two branches", &["word"], "if c() { _ = make(thread); } use_word(word);"),
    ("not on the branch that leaves", &[], "if c() { _ = make(thread); return; } use_word(word);"),
    (
        "in one of several cases",
        &["word"],
        "
        match c() { 1 => _ = make(thread), _ => {} } use_word(word);",
    ),
    (
        "read again",
        &[],
        "
        use_word(window.get(0)); _ = make(thread); use_word(window.get(0));",
    ),
    (
        "read again from a root",
        &[],
        "
        let root = thread.mutator.root(word);
        _ = make(thread);
        use_word(thread.mutator.get(root));",
    ),
    (
        "assigned again",
        &[],
        "
        let mut text = word; _ = make(thread); text = window.get(0); use_word(text);",
    ),
    (
        "shadowed",
        &["word"],
        "
        { let word = window.get(0); use_word(word); _ = make(thread); }
        use_word(word);",
    ),
    ("used before only", &[], "use_word(word); _ = make(thread);"),
    (
        "an object",
        &["object"],
        "
        let Some(object) = word.as_object() else { return };
        _ = make(thread);
        object.slot(0);",
    ),
    (
        "no object",
        &[],
        "
        let Some(object) = word.as_object() else { _ = make(thread); return use_word(word); };",
    ),
    ("a constant", &[], "let word = Word::NIL; _ = make(thread); use_word(word);"),
    (
        "a small integer",
        &[],
        "
        let word = Word::from_small_integer(1); _ = make(thread); use_word(word);",
    ),
    (
        "in a failure",
        &["failure"],
        "
        let failure = Failure::with(word); _ = make(thread); drop_failure(failure);",
    ),
    (
        "a failure without words",
        &[],
        "
        let failure = Failure::new(\"\"); _ = make(thread); drop_failure(failure);",
    ),
    (
        "beside other things",
        &["pair"],
        "
        let pair = (1, word); _ = make(thread); drop_pair(pair);",
    ),
    (
        "in a vector",
        &["words"],
        "
        let mut words = Vec::new(); words.push(word); _ = make(thread); drop_words(words);",
    ),
    ("as an argument before another", &["word"], "both(word, make(thread));"),
    ("as an argument after another", &[], "both_in_order(make(thread), window.get(0));"),
    (
        "a receiver",
        &["an intermediate value"],
        "
        window.get(0).as_object().unwrap().set_slot(&mut thread.mutator, 0, made(thread));",
    ),
    (
        "in a closure",
        &["word"],
        "
        let later = || use_word(word); _ = make(thread); later();",
    ),
    (
        "in a closure that is called before",
        &[],
        "
        let now = || use_word(word); now(); _ = make(thread);",
    ),
    (
        "in a closure that is given to who collects first",
        &["word"],
        "
        collect_and(thread, |_| use_word(word));",
    ),
    (
        "in a closure that is given to who collects afterwards",
        &[],
        "
        and_collect(thread, |_| use_word(word));",
    ),
    (
        "after a closure that collects",
        &["word"],
        "
        apply(thread, |thread| _ = make(thread)); use_word(word);",
    ),
    (
        "after a closure that does not",
        &[],
        "apply(thread, |_| use_word(window.get(0))); use_word(word);",
    ),
    (
        "in a closure for each element",
        &["word"],
        "
        (0..3).for_each(|_| { use_word(word); _ = make(thread); });",
    ),
    (
        "gathered",
        &["elements that are gathered"],
        "
        let all = (0..3).map(|_| made(thread)).collect::<Vec<Word>>();",
    ),
    (
        "after a call that collects if it fails",
        &[],
        "
        if checked(thread, c()).is_ok() { }
        match checked(thread, c()) { Ok(()) => use_word(window.get(0)), Err(_) => {} }",
    ),
    (
        "where such a call has not failed",
        &[],
        "
        if let Ok(()) = checked(thread, c()) { use_word(word); }",
    ),
    (
        "where such a call has failed",
        &["word"],
        "
        match checked(thread, c()) { Ok(()) => {} Err(_) => use_word(word) }",
    ),
    (
        "where such a call in an unsafe block has not failed",
        &[],
        "
        if let Ok(()) = unsafe { checked(thread, c()) } { use_word(word); }",
    ),
    (
        "where such a call in an unsafe block has failed",
        &["word"],
        "
        match unsafe { checked(thread, c()) } { Ok(()) => {} Err(_) => use_word(word) }",
    ),
    (
        "taken from a root",
        &["taken"],
        "
        let taken = std::mem::take(&mut thread.message); _ = make(thread); drop_words(taken);",
    ),
    (
        "left in a root",
        &[],
        "
        thread.message.push(word); _ = make(thread); use_word(thread.message[0]);",
    ),
    (
        "by a function pointer",
        &["word"],
        "
        let run: fn(&mut Thread) = other; run(thread); use_word(word);",
    ),
    (
        "with a reason",
        &[],
        "
        // STAYS: word: it is none.
        _ = make(thread); use_word(word);",
    ),
    ("in a macro", &["word"], "_ = make(thread); assert!(matches!(word, Word::NIL));"),
];

/// The functions that the bodies call.
const HELPERS: &str = "
fn c() -> i64 { 0 }
fn made(thread: &mut Thread) -> Word { Word::from_bits(thread.mutator.allocate().unwrap().0 as u64) }
fn drop_failure(failure: Failure) {}
fn drop_pair(pair: (i64, Word)) {}
fn drop_words(words: Vec<Word>) {}
fn both(word: Word, made: Result<Object, Failure>) {}
fn both_in_order(made: Result<Object, Failure>, word: Word) {}
fn apply(thread: &mut Thread, work: impl FnOnce(&mut Thread)) { work(thread) }
fn collect_and(thread: &mut Thread, work: impl FnOnce(&mut Thread)) { _ = make(thread); work(thread) }
fn and_collect(thread: &mut Thread, work: impl FnOnce(&mut Thread)) { work(thread); _ = make(thread); }
";

#[test]
fn words_across_gc_points_are_found_and_others_are_not() {
    for (what, expected, body) in BODIES {
        let program = format!(
            "{HELPERS}fn test(thread: &mut Thread, window: Window, word: Word) {{ {body} }}"
        );
        assert_eq!(stale(&program), *expected, "{what}");
    }
}

#[test]
fn an_exception_that_is_not_needed_is_found() {
    let found = stale("fn test(word: Word) {\n    // STAYS: word: why?\n    use_word(word);\n}");
    assert_eq!(found, ["nothing is wrong with word: remove the exception"]);
}

#[test]
fn marks_are_true() {
    let found = stale(
        "
/// *No GC point.*
fn says_no(thread: &mut Thread) { _ = make(thread); }
/// *GC point.*
fn says_yes(thread: &mut Thread) {}
/// *No GC point.*
fn is_right(thread: &mut Thread) {}
fn has_one_of_its_own() { let mut thread = thread(); _ = make(&mut thread); }
/// *GC point.*
fn says_so() { let mut thread = thread(); _ = make(&mut thread); }
fn thread() -> Thread { loop {} }
",
    );
    let begins = |text: &str, start: &str| assert!(text.starts_with(start), "{text}");
    assert_eq!(found.len(), 3, "{found:?}");
    begins(&found[0], "says_no says that it is no GC point, but calls make");
    begins(&found[1], "says_yes says that it is a GC point, but is none");
    begins(&found[2], "has_one_of_its_own calls make");
}

#[test]
fn modules_crates_and_methods_are_followed() {
    let names = "
pub mod inner { pub use super::make as renamed; pub struct Held<'t> { pub thread: &'t mut crate::Thread } }
use inner::{Held, renamed as fresh};
impl Held<'_> { fn collect_here(&mut self) { _ = fresh(self.thread); } }
trait Step { fn step(self, thread: &mut Thread); }
struct Quiet; struct Loud;
impl Step for Quiet { fn step(self, thread: &mut Thread) {} }
impl Step for Loud { fn step(self, thread: &mut Thread) { _ = make(thread); } }
fn by_method(held: &mut Held, word: Word) { held.collect_here(); use_word(word); }
fn by_trait(thread: &mut Thread, step: impl Step, word: Word) { step.step(thread); use_word(word); }
fn by_type(thread: &mut Thread, step: Quiet, word: Word) { step.step(thread); use_word(word); }
fn by_other_type(thread: &mut Thread, word: Word) { Loud.step(thread); use_word(word); }
";
    assert_eq!(stale(names), ["word", "word", "word"]);
}
