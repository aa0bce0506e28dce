//! Transactions: the primitives for attempts, marks and statistics. `lib/Transactions.ns` calls them.

use squall_heap::Word;

use super::answer;
use crate::concurrency::sandbox::grants;
use crate::concurrency::transactions::transaction;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::{Primitive, Shape};
use crate::objects::array;
use crate::objects::number::make_integer;
use crate::objects::string::make_string;
use crate::state::thread::Thread;
use crate::state::transactions::statistics::NAMES;

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::shaped("transactionBegin", Shape::Begin, |thread, _| transaction::begin(thread)),
    Primitive::shaped("transactionCommit", Shape::Commit, |thread, _| transaction::commit(thread)),
    Primitive::ordinary("transactionRetry", |thread, _| transaction::retry(thread)),
    Primitive::ordinary("transactionMark", |thread, _| transaction::mark(thread)),
    Primitive::ordinary("transactionChoose", |thread, _| transaction::choose(thread)),
    Primitive::ordinary("transactionForget:", |thread, window| {
        transaction::forget_mark(thread, window.get(0))
    }),
    Primitive::ordinary("transactionGoBack:", |thread, window| {
        transaction::go_back(thread, window.get(0))
    }),
    Primitive::ordinary("transactionRuns", |thread, _| {
        Outcome::Return(thread.transaction.is_some().into())
    }),
    Primitive::effect("transactionInevitable", |_, _| Outcome::Return(Word::NIL)),
    Primitive::ordinary("transactionCounts", |thread, _| answer(counts(thread))),
    Primitive::ordinary("transactionReport", |thread, _| answer(report(thread))),
];

/// The statistics are about all of the program, others' transactions included: they need a grant.
fn check(thread: &mut Thread) -> Result<(), Failure> {
    grants::check(thread, grants::SYSTEM, "the transactions of the program")
}

/// The report so far. *GC point.*
fn report(thread: &mut Thread) -> Result<Word, Failure> {
    check(thread)?;
    let text = thread.vm.transactions.statistics.report(thread.vm);
    make_string(thread, &text)
}

/// The counts so far: names and numbers in turn. *GC point.*
fn counts(thread: &mut Thread) -> Result<Word, Failure> {
    check(thread)?;
    let sums = thread.vm.transactions.statistics.sums();
    array::make_of(thread, 2 * NAMES.len(), |thread, index| match index % 2 {
        0 => make_string(thread, NAMES[index / 2]),
        _ => make_integer(thread, i64::try_from(sums[index / 2]).unwrap_or(i64::MAX)),
    })
}
