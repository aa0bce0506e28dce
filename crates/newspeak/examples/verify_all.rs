//! Compiles files and verifies the result, for experiments.
use squall_newspeak::{CompileOptions, compile};
fn main() {
    let trusted = std::env::args().any(|a| a == "--trusted");
    let dump = std::env::args().any(|a| a == "--dump");
    for path in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match compile(&text, &path, &CompileOptions { trusted }) {
            Ok(module) => {
                if dump {
                    println!("{}", squall_bytecode::disassembler::disassemble(&module));
                }
                let words: usize = module.functions.iter().map(|f| f.code.len()).sum();
                let options = if trusted {
                    squall_bytecode::verifier::Trust::Trusted
                } else {
                    squall_bytecode::verifier::Trust::Untrusted
                };
                match squall_bytecode::verifier::verify(&module, options) {
                    Ok(_) => {
                        println!("ok {path}: {} functions, {words} words", module.functions.len())
                    }
                    Err(errors) => {
                        println!("VERIFY {path}:");
                        for e in errors.iter().take(5) {
                            println!("   {e}");
                        }
                    }
                }
            }
            Err(d) => println!(
                "COMPILE {path}: {:?}",
                d.iter().map(|d| &d.message).take(3).collect::<Vec<_>>()
            ),
        }
    }
}
