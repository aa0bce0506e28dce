//! Every module survives being disassembled and assembled again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_bytecode::assembler::assemble;
use squall_bytecode::disassembler::disassemble;
use squall_bytecode::format;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    format::seal(&mut bytes);
    let Ok(module) = format::decode(&bytes) else { return };
    let text = disassemble(&module);
    match assemble(&text) {
        Ok(assembled) => assert_eq!(format::encode(&assembled).as_ref(), Ok(&bytes), "{text}"),
        Err(problems) => panic!("{}\n{text}", problems[0]),
    }
});
