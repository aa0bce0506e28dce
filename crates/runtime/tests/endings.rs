//! How a program's main strand ends, as the embedder finds it. The process has one heap, so this file is one case.
//!
//! An exception that nothing catches ends the main strand's step, whose result it is. In the next step, on the same
//! empty stack, the kernel reports it and ends the program, so that the strand stops without a result. It must have none
//! then: the place still held the exception, which no collection had updated.

mod common;

use squall_heap::{CollectionKind, Word};
use squall_runtime::concurrency::worker::{self, Finished};
use squall_runtime::state::strand::Ending;

use common::{Program, start};

const PROGRAM: &str = "
class Failing usingPlatform: platform = Value (
| private Exception = platform kernel Exception. |
)(
  public main: args = ( Exception signal: 'nothing catches this' )
)
";

#[test]
fn a_strand_that_ends_the_program_has_no_result() {
    let program = Program { name: "failing.ns", text: PROGRAM.to_owned(), trusted: false };
    let (mut thread, _) = start(program, 50);
    let vm = thread.vm;
    let finished = worker::run_program(&mut thread).expect("there is memory");
    assert_eq!(finished, Finished::Exit(1));
    assert_eq!(vm.concurrency().embedder.take(), Some((Ending::Killed, Word::NIL)));
    thread.mutator.collect(CollectionKind::Full);
}
