//! The assembler: makes modules of the text form, `.sqasm` files. The facade (`squall::compiler`) and the fuzz targets
//! call it.
//!
//! The disassembler writes this form; assembling its output gives the same module again, for every module. The
//! assembler checks the text only; the verifier checks whether the module makes sense.
//!
//! # The text form
//!
//! ```text
//! ; A comment goes to the end of the line. A line is one statement; indentation does not matter.
//! path "examples/count.ns"                the source file, optional
//! main class0                             the main class, optional
//! module "counting" "1.2.0"               name and version (optional) for those who import from it
//!
//! type $pair = tuple<i64, list<f64>>      a name for a type; types are numbered, too: `type type0 = …`
//!
//! import "geometry" "^1.1" {              functions of another module; the version is optional
//!     function $gcd "gcd" (i64, i64) -> i64
//! }
//! export "count" $count                   what others can import
//!
//! class class0 "Count" public {           classes are numbered in order; `$name` may stand for a number
//!     outer class1                        optional
//!     position 3:1
//!     accessor fn0                        optional
//!     factory fn1 "new"
//!     initializer fn2
//!     own_initializer fn3
//!     slot "total" public mutable         a slot without `mutable` has no setter
//!     nested class2
//!     method "upTo:" public $upTo
//!     class_method "zero" public fn5
//! }
//!
//! block fn0 "each" (1) captures 2 {       kind, number, name, parameters; blocks: captured values
//!     registers any*5, f64, $pair         types of the registers, in order
//!     home r4                             optional
//!     let total = r3                      another name for a register
//!     k0 = 1.5                            constants, if they are not given in place
//!     site0 = "foo:"                      sites, likewise
//!     catch r2 into r3 from L0 to L1 handler L2
//!     catch_fault ZeroDivide into r3 from L0 to L1 handler L2
//!     ensure into r3 from L0 to L1 handler L2
//! L0:
//!     at 12:5                             what follows comes from this line and column
//!     load_constant r1, "hello"
//!     send1         r1, r0, r2, r4, "+"
//!     jump          L1
//!     …
//! }
//!
//! method $upTo "upTo:" (1) { … }
//! function $count "count" (1) -> i64 { … }  result type, `any` if it is left out
//! process $numbers "numbers" (2) { … }
//!
//! strings {                               the string table, if its order matters
//!     "new"
//! }
//! ```
//!
//! Operands stand in the order of the instruction table:
//!
//! | operand | written as |
//! |---|---|
//! | register, window, range | `r7`, or a name that `let` gave it |
//! | count, index, immediate | `-3` |
//! | special | `nil`, `false`, `true` |
//! | constant | `k3`, or in place: `12345678901234567890`, `1.5`, `double 0x7ff8000000000000` (the bits), `"text"`, `#"symbol"`, `i64 -3`, `f64 0.5`, `bool true`, `u8 0xff` (the register's bits) |
//! | site | `site3`, or in place, see below |
//! | function, class | `fn3`, `class3`, `$name` |
//! | primitive | `"integer:add:"` |
//! | target | a label, or `@12` for the word with this index |
//!
//! ```text
//! "foo:"                                  a send: public
//! lexical "foo:"                          lexically bound
//! private class2 instance "foo:"          to the private member of a class (or its side `class`)
//! super class2 instance "foo:"
//! initializer class2 "new"                likewise own_initializer, super_initializer
//! mixin_initializer class2 0 "new"        the mixin's index
//! enclosing class2 instance
//! captures class2
//! slot class2 "total"
//! class_slot class2
//! ```
//!
//! Types are `any`, `bool`, `i8` … `f64` and
//!
//! ```text
//! tuple<i64, f64>      list<u8>          map<i64, list<u8>>
//! channel<i64>         reader<i64>       writer<i64>           barrier        bucket
//! function(i64) -> i64                   process(reader<i64>)
//! type3                $pair             by its number, or a name that was declared above
//! ```
//!
//! A line `include "other.sqasm"` stands for the lines of that file (`includes.rs`); [`Sources`] reads such texts,
//! [`assemble`] does not.
//!
//! A constant in place is the same as an equal one before it; a site in place is always a new one.
//! A string may be written as `str7`, its index; that is the only way to name one that does not
//! exist. `word 0x12345678` puts a word into the code that is no instruction.

mod body;
mod diagnostic;
mod formatter;
mod includes;
mod lexer;
mod links;
mod module;
mod places;
mod statement;
mod types;
mod values;

pub use diagnostic::{Diagnostic, Span};
pub use formatter::format;
pub use includes::{File, Mistake, Read, Sources};
pub use places::Places;

use crate::module::Module;

/// Assembles a module; on failure answers the first [`Diagnostic::MOST`] problems at most.
pub fn assemble(text: &str) -> Result<Module, Vec<Diagnostic>> {
    assemble_with_places(text).map(|(module, _)| module)
}

/// Assembles a module, and says where its parts stand in the text.
pub fn assemble_with_places(text: &str) -> Result<(Module, Places), Vec<Diagnostic>> {
    let mut diagnostics = diagnostic::Diagnostics::default();
    let tokens = lexer::tokenize(text, &mut diagnostics);
    let assembled = module::assemble(&tokens, &mut diagnostics);
    diagnostics.finish(assembled)
}

#[cfg(test)]
mod tests;
