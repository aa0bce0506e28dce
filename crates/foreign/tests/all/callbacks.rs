//! C calls Rust.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use squall_foreign::{Callback, CallbackFrame, NativeMemory, Primitive, Signature, Value};

use crate::fixture::{Answer, Fixture, call, fixture};

/// The signature of a function that is passed to a function.
fn parameter(fixture: &Fixture, function: &str, index: usize) -> Signature {
    let signature = fixture.header.function(function).expect("library.h declares it");
    let pointer = &signature.parameters()[index].c_type;
    let target = pointer.target().expect("it is a pointer");
    match target.kind() {
        squall_foreign::Kind::Function(signature) => signature.clone(),
        other => panic!("{other:?} is no function"),
    }
}

fn transform(fixture: &Fixture, f: impl Fn(i64) -> i64 + Send + Sync + 'static) -> Callback {
    let handler = move |frame: &mut CallbackFrame<'_>| {
        let result = f(integer(frame.argument(0)));
        frame.set_result(Value::Integer(result)).expect("it is an int");
    };
    Callback::new(&parameter(fixture, "apply", 0), handler).expect("there is memory")
}

fn integer(value: Option<Value<'_>>) -> i64 {
    match value {
        Some(Value::Integer(integer)) => integer,
        other => panic!("{other:?} is no integer"),
    }
}

fn pointer(callback: &Callback) -> Value<'static> {
    Value::Pointer(callback.address())
}

#[test]
fn c_calls_back() {
    let fixture = fixture!();
    let callback = transform(fixture, |x| x * 3 - 1);
    assert_eq!(
        fixture.call("apply", &[pointer(&callback), Value::Integer(5)]),
        Answer::Integer(14)
    );
    assert_eq!(
        fixture.call("apply_twice", &[pointer(&callback), Value::Integer(5)]),
        Answer::Integer(41)
    );
}

#[test]
fn callbacks_sort() {
    let fixture = fixture!();
    let order = Callback::new(&parameter(fixture, "sort", 2), |frame| {
        let at = |index| match frame.argument(index) {
            // SAFETY: the pointer leads to an int.
            Some(Value::Pointer(address)) => unsafe { NativeMemory::borrow(address, 4, None) },
            other => panic!("{other:?} is no address"),
        };
        let value = |index| integer(at(index).read(0, Primitive::I32).ok());
        let result = value(0) - value(1);
        frame.set_result(Value::Integer(result.signum())).expect("it is an int");
    });
    let order = order.expect("there is memory");
    let values = [5, -3, 9, 0, 7, 7, 1];
    let memory = NativeMemory::allocate(28).expect("there is memory");
    for (index, value) in values.iter().enumerate() {
        memory.write(4 * index, Primitive::I32, Value::Integer(*value)).expect("it is within");
    }
    fixture.call("sort", &[Value::Memory(&memory), Value::Integer(7), pointer(&order)]);
    let sorted: Vec<i64> =
        (0..7).map(|index| integer(memory.read(4 * index, Primitive::I32).ok())).collect();
    assert_eq!(sorted, [-3, 0, 1, 5, 7, 7, 9]);
    assert_eq!(order.take_panic(), None);
}

#[test]
fn callbacks_nest() {
    let fixture = fixture!();
    // Each level calls C, which calls the next level.
    fn level(fixture: &'static Fixture, depth: i64) -> Callback {
        transform(fixture, move |x| {
            if depth == 0 {
                return x;
            }
            let inner = level(fixture, depth - 1);
            match fixture.call("apply", &[pointer(&inner), Value::Integer(x + depth)]) {
                Answer::Integer(result) => result as i64,
                other => panic!("{other:?}"),
            }
        })
    }
    let outermost = level(fixture, 30);
    assert_eq!(
        fixture.call("apply", &[pointer(&outermost), Value::Integer(0)]),
        Answer::Integer(465)
    );
    assert_eq!(outermost.take_panic(), None);
}

#[test]
fn foreign_threads_call_back() {
    let fixture = fixture!();
    let here = thread::current().id();
    let callback = transform(fixture, move |x| {
        assert_ne!(thread::current().id(), here);
        x + 1
    });
    assert_eq!(
        fixture.call("apply_on_thread", &[pointer(&callback), Value::Integer(5)]),
        Answer::Integer(6)
    );
    assert_eq!(callback.take_panic(), None);

    let sum = Arc::new(AtomicI64::new(0));
    let own = sum.clone();
    let callback = transform(fixture, move |x| {
        own.fetch_add(x, Ordering::Relaxed);
        1
    });
    let arguments = [pointer(&callback), Value::Integer(8), Value::Integer(1000)];
    assert_eq!(fixture.call("apply_on_threads", &arguments), Answer::Integer(8000));
    assert_eq!(sum.load(Ordering::Relaxed), (0..8000).sum::<i64>());
}

#[test]
fn structures_go_through_callbacks() {
    let fixture = fixture!();
    let start = fixture.offset("point", "y");
    let callback = Callback::new(&parameter(fixture, "build", 0), move |frame| {
        let Some(Value::Record(small)) = frame.argument(0) else { panic!("it is a structure") };
        let Some(Value::Double(y)) = frame.argument(1) else { panic!("it is a double") };
        let mut point = [0; 32];
        point[..4].copy_from_slice(&[small[0], small[1], 0, 0]);
        point[start..start + 8].copy_from_slice(&y.to_ne_bytes());
        assert!(frame.set_result(Value::Record(&point[1..])).is_err());
        frame.set_result(Value::Record(&point)).expect("it is a point");
    });
    let callback = callback.expect("there is memory");
    let Answer::Record(point) = fixture.call("build", &[pointer(&callback), Value::Double(2.5)])
    else {
        panic!()
    };
    assert_eq!(point[..4], 8_i32.to_ne_bytes());
    assert_eq!(point[start..start + 8], 2.5_f64.to_ne_bytes());
    assert_eq!(callback.take_panic(), None);
}

#[test]
fn panics_end_before_c() {
    let fixture = fixture!();
    let callback = transform(fixture, |x| if x == 1 { panic!("not {x}") } else { x });
    assert_eq!(
        fixture.call("apply_twice", &[pointer(&callback), Value::Integer(1)]),
        Answer::Integer(0)
    );
    assert_eq!(callback.take_panic().as_deref(), Some("not 1"));
    assert_eq!(fixture.call("apply", &[pointer(&callback), Value::Integer(2)]), Answer::Integer(2));
}

#[test]
fn errno_is_left_alone() {
    let fixture = fixture!();
    let fail = fixture.function("fail_with");
    let callback = transform(fixture, move |x| {
        call(&fail, &[Value::Integer(99)]).expect("it takes an int");
        x
    });
    assert_eq!(
        fixture.call("errno_around", &[pointer(&callback), Value::Integer(12)]),
        Answer::Integer(12)
    );
    let callback = Callback::new(&parameter(fixture, "apply", 0), |frame| {
        assert_eq!(frame.errno(), 12);
        frame.set_errno(34);
    });
    let callback = callback.expect("there is memory");
    assert_eq!(
        fixture.call("errno_around", &[pointer(&callback), Value::Integer(12)]),
        Answer::Integer(34)
    );
}

#[test]
fn late_calls_do_nothing() {
    let fixture = fixture!();
    let callback = transform(fixture, |x| x + 1);
    fixture.call("remember", &[pointer(&callback)]);
    assert_eq!(fixture.call("apply_remembered", &[Value::Integer(1)]), Answer::Integer(2));
    drop(callback);
    assert_eq!(fixture.call("apply_remembered", &[Value::Integer(1)]), Answer::Integer(0));
}

#[test]
fn a_callback_is_released_while_it_runs() {
    let fixture = fixture!();
    let (inside, released) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Witness(Arc<AtomicUsize>);
    impl Drop for Witness {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (witness, own) = (Witness(dropped.clone()), (inside.clone(), released.clone()));
    let callback = transform(fixture, move |x| {
        own.0.wait();
        own.1.wait();
        assert_eq!(witness.0.load(Ordering::Relaxed), 0);
        x + 1
    });
    let address = pointer(&callback);
    let caller = thread::spawn(move || fixture.call("apply", &[address, Value::Integer(1)]));
    inside.wait();
    drop(callback);
    released.wait();
    assert_eq!(caller.join().expect("it does not panic"), Answer::Integer(2));
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn no_memory_is_writable_and_executable() {
    let signature =
        squall_foreign::Declarations::new().parse_function("int f(int)").expect("fine").1;
    let _callback = Callback::new(&signature, |_| {}).expect("there is memory");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("there is /proc");
    let both: Vec<&str> = maps.lines().filter(|line| line.contains(" rwx")).collect();
    assert!(both.is_empty(), "{both:?}");
}
