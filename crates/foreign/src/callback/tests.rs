//! Lifetimes of callbacks, with calls from Rust; C's are in the integration tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::call::{CallSpace, Function};
use crate::declarations::Declarations;
use crate::types::Mismatch;
use crate::value::Value;

fn signature(text: &str) -> Signature {
    Declarations::new().parse_function(text).expect("it is a function").1
}

/// Calls an address as `int f(int)`.
fn call(address: Address, argument: i64) -> i64 {
    let function =
        Function::new("f", address, &signature("int f(int)"), None).expect("it is plain");
    let mut space = CallSpace::new();
    let call = function.prepare(&mut space, &[Value::Integer(argument)]).expect("it fits");
    // SAFETY: the address is that of a callback with this signature.
    match unsafe { call.invoke() }.value() {
        Value::Integer(result) => result,
        other => panic!("{other:?}"),
    }
}

fn integer(value: Option<Value<'_>>) -> i64 {
    match value {
        Some(Value::Integer(integer)) => integer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_handler_answers() {
    let callback = Callback::new(&signature("int f(int)"), |frame| {
        assert_eq!((frame.len(), frame.argument(1)), (1, None));
        let argument = integer(frame.argument(0));
        frame.set_result(Value::Integer(argument * 2)).expect("it fits");
    });
    let callback = callback.expect("there is memory");
    assert_eq!(call(callback.address(), 21), 42);
}

#[test]
fn the_result_is_zero_unless_there_is_one() {
    let callback =
        Callback::new(&signature("int f(int)"), |frame| match integer(frame.argument(0)) {
            0 => {}
            1 => assert_eq!(frame.set_result(Value::Text(b"")), Err(Mismatch::Kind("a string"))),
            2 => assert!(matches!(
                frame.set_result(Value::Integer(1 << 40)),
                Err(Mismatch::Range { .. })
            )),
            _ => {
                frame.set_result(Value::Integer(9)).expect("it fits");
                panic!("on {}", "purpose");
            }
        });
    let callback = callback.expect("there is memory");
    for argument in 0..4 {
        assert_eq!(call(callback.address(), argument), 0, "{argument}");
    }
    assert_eq!(callback.take_panic().as_deref(), Some("on purpose"));
    assert_eq!(callback.take_panic(), None);
}

#[test]
fn released_callbacks_linger() {
    let token = Arc::new(());
    let kept = token.clone();
    let callback = Callback::new(&signature("int f(int)"), move |frame| {
        let _kept = &kept;
        frame.set_result(Value::Integer(7)).expect("it fits");
    });
    let callback = callback.expect("there is memory");
    let address = callback.address();
    assert_eq!((call(address, 0), Arc::strong_count(&token)), (7, 2));
    drop(callback);
    assert_eq!(Arc::strong_count(&token), 1);
    assert_eq!(call(address, 0), 0);
}

#[test]
fn a_callback_may_release_itself() {
    let slot: Arc<Mutex<Option<Callback>>> = Arc::default();
    let own = slot.clone();
    let callback = Callback::new(&signature("int f(int)"), move |frame| {
        let released = own.lock().expect("nobody panics").take();
        assert!(released.is_some());
        drop(released);
        frame.set_result(Value::Integer(integer(frame.argument(0)) + 1)).expect("it fits");
    });
    let callback = callback.expect("there is memory");
    let address = callback.address();
    *slot.lock().expect("nobody panics") = Some(callback);
    assert_eq!(call(address, 4), 5);
    assert_eq!(Arc::strong_count(&slot), 1);
    assert_eq!(call(address, 4), 0);
}

#[test]
fn many_callbacks_come_and_go() {
    static RUNS: AtomicI64 = AtomicI64::new(0);
    let total = 3 * LINGERING as i64;
    for number in 0..total {
        let callback = Callback::new(&signature("int f(int)"), move |frame| {
            RUNS.fetch_add(1, Ordering::Relaxed);
            frame.set_result(Value::Integer(number)).expect("it fits");
        });
        assert_eq!(call(callback.expect("there is memory").address(), 0), number);
    }
    assert_eq!(RUNS.load(Ordering::Relaxed), total);
}

#[test]
fn callbacks_inside_of_callbacks() {
    let slot: Arc<Mutex<Address>> = Arc::default();
    let own = slot.clone();
    let callback = Callback::new(&signature("int f(int)"), move |frame| {
        let argument = integer(frame.argument(0));
        let address = *own.lock().expect("nobody panics");
        let result = if argument == 0 { 0 } else { argument + call(address, argument - 1) };
        frame.set_result(Value::Integer(result)).expect("it fits");
    });
    let callback = callback.expect("there is memory");
    *slot.lock().expect("nobody panics") = callback.address();
    assert_eq!(call(callback.address(), 100), 5050);
}

#[test]
fn variadic_functions_are_no_callbacks() {
    let error = Callback::new(&signature("int f(int, ...)"), |_| {}).expect_err("it has ...");
    assert_eq!(error, CallbackError::Variadic);
}

#[test]
fn threads_make_and_release_callbacks() {
    let work = |thread: i64| {
        for number in 0..2000 {
            let expected = thread * 10_000 + number;
            let callback = Callback::new(&signature("int f(int)"), move |frame| {
                let result = expected + integer(frame.argument(0));
                frame.set_result(Value::Integer(result)).expect("it fits");
            });
            let callback = callback.expect("there is memory");
            assert_eq!(call(callback.address(), 1), expected + 1);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || work(thread));
        }
    });
}
