//! Memory that is released while C uses it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use squall_foreign::{Address, NativeMemory, Primitive, Value};

use crate::fixture::{Answer, fixture};

#[test]
fn memory_stays_until_the_call_returns() {
    let fixture = fixture!();
    let freed = Arc::new(AtomicUsize::new(0));
    let bytes = NativeMemory::allocate(1000).expect("there is memory");
    bytes.write_bytes(0, &[3; 1000]).expect("it is within");
    let count = freed.clone();
    let owner = bytes.clone();
    let free = move |_: Address| {
        owner.release();
        count.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: the memory frees its owner with it.
    let memory = unsafe { NativeMemory::adopt(bytes.address().expect("it is there"), 1000, free) };
    let flags = NativeMemory::allocate(8).expect("there is memory");
    let (started, go) = (flags.view(0, 4).expect("within"), flags.view(4, 4).expect("within"));
    thread::scope(|scope| {
        let call = scope.spawn(|| {
            let arguments = [
                Value::Memory(&started),
                Value::Memory(&go),
                Value::Memory(&memory),
                Value::Integer(1000),
            ];
            fixture.call("sum_after", &arguments)
        });
        while started.read(0, Primitive::I32) != Ok(Value::Integer(1)) {
            thread::yield_now();
        }
        assert!(memory.release() && memory.is_released());
        assert_eq!(freed.load(Ordering::Relaxed), 0);
        go.write(0, Primitive::I32, Value::Integer(1)).expect("it is within");
        assert_eq!(call.join().expect("it does not panic"), Answer::Integer(3000));
    });
    assert_eq!(freed.load(Ordering::Relaxed), 1);
}
