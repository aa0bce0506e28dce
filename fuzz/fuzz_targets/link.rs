//! Several modules that import each other, some of them damaged, are linked and run; the machine survives.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use squall_bytecode::assembler::assemble;
use squall_bytecode::format;
use squall_bytecode::module::Module;
use squall_fuzzing::choices::Choices;
use squall_fuzzing::machine::Machine;
use squall_fuzzing::mutation::damage_module;

/// Modules that belong together: the names are those of their files.
const MODULES: [(&str, &str); 4] = [
    ("first", include_str!("link/first.sqasm")),
    ("second", include_str!("link/second.sqasm")),
    ("third", include_str!("link/third.sqasm")),
    ("fourth", include_str!("link/fourth.sqasm")),
];

fn modules() -> &'static [(String, Module)] {
    static ASSEMBLED: OnceLock<Vec<(String, Module)>> = OnceLock::new();
    ASSEMBLED.get_or_init(|| {
        let assembled = MODULES.iter().map(|(name, text)| match assemble(text) {
            Ok(module) => ((*name).to_owned(), module),
            Err(problems) => panic!("{name}: {}", problems[0]),
        });
        assembled.collect()
    })
}

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::Bytes(bytes);
    let mut files = Vec::new();
    for (name, module) in modules() {
        let mut damaged = module.clone();
        if choices.one_in(3) {
            let donor = choices.below(MODULES.len());
            damage_module(&mut choices, &mut damaged, &modules()[donor].1);
        }
        files.extend(format::encode(&damaged).ok().map(|bytes| (name.clone(), bytes)));
    }
    let first = choices.below(files.len().max(1));
    files.rotate_left(first);
    if let Err(problem) = Machine::of_process().attack_linked(&files) {
        panic!("{problem}");
    }
});
