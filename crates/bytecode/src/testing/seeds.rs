//! The example modules, for the tests of this crate. A test compares them with the seeds of the fuzz targets, which are
//! made of the same texts.

use crate::assembler::assemble;
use crate::format::encode;
use crate::instructions::Opcode;
use crate::module::Module;

/// A module that uses most of the text form.
pub(crate) const SUM: &str = include_str!("../../tests/data/sum.sqasm");

/// A page with more of them.
pub(crate) const MANUAL: &str = include_str!("../../../../docs/bytecode.md");

/// The examples of the manual, in order.
pub(crate) fn manual_examples() -> Vec<&'static str> {
    let fences = MANUAL.split("```sqasm\n").skip(1);
    fences.map(|rest| rest.split_once("```").expect("a fence closes each example").0).collect()
}

/// The module that a correct text stands for.
pub(crate) fn module(text: &str) -> Module {
    match assemble(text) {
        Ok(module) => module,
        Err(problems) => panic!("{} in\n{text}", problems[0]),
    }
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz");

fn check_file(path: &str, content: &[u8]) {
    let path = format!("{FOLDER}/{path}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, content).unwrap();
    }
    let committed = std::fs::read(&path).unwrap_or_default();
    assert!(committed == content, "{path} is out of date: set BLESS=1 to rewrite it");
}

#[test]
fn seeds_are_fresh() {
    let texts = manual_examples().into_iter().chain([SUM]);
    for (number, text) in texts.enumerate() {
        check_file(&format!("seeds/texts/{number}.sqasm"), text.as_bytes());
        let bytes = encode(&module(text)).unwrap();
        check_file(&format!("seeds/modules/{number}.sqb"), &bytes);
    }
}

#[test]
fn the_dictionary_is_fresh() {
    const WORDS: &str = "path main module version strings type import export class method block function public protected private \
        outer position accessor factory initializer own_initializer slot mutable nested class_method \
        captures registers home let catch ensure into from to handler at word lexical super \
        super_initializer mixin_initializer enclosing class_slot instance double string \
        tuple list map channel reader writer barrier bucket process type0 < > \
        any bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 nil true false r0 r1 k0 site0 fn0 class0 str0 -> @";
    let mnemonics = Opcode::ALL.iter().map(|opcode| opcode.info().mnemonic);
    let lines = WORDS.split_whitespace().chain(mnemonics).map(|word| format!("\"{word} \"\n"));
    check_file("sqasm.dict", lines.collect::<String>().as_bytes());
}
