//! Bounds, lifetimes and races of native memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::value::Value;

fn allocated(size: usize) -> NativeMemory {
    NativeMemory::allocate(size).expect("there is memory")
}

#[test]
fn what_is_written_is_read() {
    let memory = allocated(64);
    let cases = [
        (Primitive::Bool, Value::Bool(true)),
        (Primitive::I8, Value::Integer(-7)),
        (Primitive::U8, Value::Integer(200)),
        (Primitive::I16, Value::Integer(-30000)),
        (Primitive::U16, Value::Integer(60000)),
        (Primitive::I32, Value::Integer(i32::MIN.into())),
        (Primitive::U32, Value::Integer(u32::MAX.into())),
        (Primitive::I64, Value::Integer(i64::MIN)),
        (Primitive::U64, Value::Unsigned(u64::MAX)),
        (Primitive::F32, Value::Double(0.5)),
        (Primitive::F64, Value::Double(0.1)),
        (Primitive::Pointer, Value::Pointer(Address(0x1234))),
    ];
    for (primitive, value) in cases {
        for offset in [0, 1, 3, 8, 13, 64 - primitive.size()] {
            memory.write_bytes(0, &[0xaa; 64]).expect("it is within");
            memory.write(offset, primitive, value).expect("it is within");
            assert_eq!(memory.read(offset, primitive), Ok(value), "{primitive:?} at {offset}");
            let mut bytes = [0; 64];
            memory.read_bytes(0, &mut bytes).expect("it is within");
            let others = bytes
                .iter()
                .enumerate()
                .filter(|(at, _)| !(offset..offset + primitive.size()).contains(at));
            assert!(others.into_iter().all(|(_, byte)| *byte == 0xaa), "{primitive:?} at {offset}");
        }
    }
}

#[test]
fn nothing_is_accessed_outside() {
    let memory = allocated(10);
    let view = memory.view(2, 4).expect("it is within");
    let bounds = |offset, length, size| Err(MemoryError::Bounds { offset, length, size });
    assert_eq!(memory.read(3, Primitive::I64).map(|_| ()), bounds(3, 8, 10));
    assert_eq!(view.write(1, Primitive::I32, Value::Integer(0)), bounds(1, 4, 4));
    assert_eq!(view.read(usize::MAX, Primitive::I8).map(|_| ()), bounds(usize::MAX, 1, 4));
    assert_eq!(view.read_bytes(4, &mut [0]), bounds(4, 1, 4));
    assert_eq!(view.write_bytes(5, &[]), bounds(5, 0, 4));
    assert_eq!(view.view(3, 2).map(|_| ()), bounds(3, 2, 4));
    assert_eq!(view.view(1, usize::MAX).map(|_| ()), bounds(1, usize::MAX, 4));
    view.write(0, Primitive::I32, Value::Integer(-1)).expect("it is within");
    assert_eq!(memory.read(1, Primitive::I32), Ok(Value::Integer(-256)));
    assert_eq!(allocated(0).read(0, Primitive::I8).map(|_| ()), bounds(0, 1, 0));
    assert!(matches!(NativeMemory::allocate(usize::MAX), Err(MemoryError::Exhausted { .. })));
    assert!(matches!(
        NativeMemory::allocate(isize::MAX as usize),
        Err(MemoryError::Exhausted { .. })
    ));
}

#[test]
fn values_must_fit() {
    let memory = allocated(8);
    let error = memory.write(0, Primitive::I8, Value::Integer(300));
    assert_eq!(
        error,
        Err(MemoryError::Value(Mismatch::Range { value: 300, least: -128, greatest: 127 }))
    );
    assert!(memory.write(0, Primitive::I32, Value::Text(b"1")).is_err());
    memory.write(0, Primitive::Pointer, Value::Memory(&memory)).expect("it is an address");
    assert_eq!(memory.read(0, Primitive::Pointer), memory.address().map(Value::Pointer));
}

#[test]
fn strings_end_with_nul() {
    let memory = NativeMemory::allocate_text(b"hello").expect("there is memory");
    assert_eq!((memory.size(), memory.read_text(0)), (6, Ok(b"hello".to_vec())));
    assert_eq!(memory.read_text(5), Ok(Vec::new()));
    assert_eq!(memory.read_text(6), Err(MemoryError::Unterminated { offset: 6 }));
    assert_eq!(
        memory.view(0, 5).and_then(|view| view.read_text(1)),
        Err(MemoryError::Unterminated { offset: 1 })
    );
    assert!(matches!(memory.read_text(7), Err(MemoryError::Bounds { .. })));
    let address = memory.address().expect("it is there");
    // SAFETY: there is a string at the address.
    let texts = unsafe { [text_at(address, 100), text_at(address, 3)] };
    assert_eq!(texts, [b"hello".to_vec(), b"hel".to_vec()]);
}

#[test]
fn all_parts_are_released_at_once() {
    let memory = allocated(16);
    let view = memory.view(8, 8).expect("it is within");
    assert!(!view.is_released());
    assert!(view.release() && !view.release() && !memory.release());
    for part in [&memory, &view] {
        assert_eq!(part.read(0, Primitive::I8).map(|_| ()), Err(MemoryError::Released));
        assert_eq!(part.write_bytes(0, b""), Err(MemoryError::Released));
        assert_eq!(part.address().map(|_| ()), Err(MemoryError::Released));
        assert!(part.is_released() && part.pin().is_none() && part.retire().is_none());
    }
}

#[test]
fn adopted_memory_is_given_back_once() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let adopt = || {
        let count = |_| {
            FREED.fetch_add(1, Ordering::Relaxed);
        };
        // SAFETY: the test does not access it.
        unsafe { NativeMemory::adopt(Address(8), 8, count) }
    };
    let freed = || FREED.swap(0, Ordering::Relaxed);
    drop(adopt());
    assert_eq!(freed(), 1);
    let memory = adopt();
    let copy = memory.clone();
    assert!(copy.release());
    assert_eq!(freed(), 1);
    drop((memory, copy));
    assert_eq!(freed(), 0);

    let memory = adopt();
    let pin = memory.pin();
    assert!(memory.release());
    assert_eq!(freed(), 0);
    drop(pin);
    assert_eq!(freed(), 1);

    let memory = adopt();
    let retired = memory.retire();
    assert!(memory.is_released());
    assert_eq!(freed(), 0);
    drop(retired);
    assert_eq!(freed(), 1);
}

#[test]
fn borrowed_memory_keeps_its_keeper() {
    let owner = allocated(8);
    let keeper: Keeper = Arc::new(());
    let address = owner.address().expect("it is there");
    // SAFETY: the owner lives longer.
    let borrowed = unsafe { NativeMemory::borrow(address, 4, Some(keeper.clone())) };
    borrowed.write(0, Primitive::U8, Value::Integer(9)).expect("it is within");
    assert_eq!(owner.read(0, Primitive::U8), Ok(Value::Integer(9)));
    assert_eq!(Arc::strong_count(&keeper), 2);
    assert!(borrowed.release());
    assert_eq!(Arc::strong_count(&keeper), 1);
}

#[test]
fn accesses_without_pins_see_releases() {
    let memory = allocated(8);
    // SAFETY: no thread releases it meanwhile.
    let access = unsafe { memory.access_unpinned() }.expect("it is there");
    access.write(0, Primitive::I32, Value::Integer(5)).expect("it is within");
    assert_eq!(access.read(0, Primitive::I32), Ok(Value::Integer(5)));
    drop(access);
    memory.release();
    // SAFETY: likewise.
    assert!(unsafe { memory.access_unpinned() }.is_err());
}

#[test]
fn threads_race_for_a_block_that_is_released() {
    for round in 0..200 {
        let memory = allocated(4096);
        thread::scope(|scope| {
            for number in 0..3 {
                let memory = memory.clone();
                scope.spawn(move || {
                    for step in 0.. {
                        let offset = (step * 7 + number) % 4088;
                        let value = Value::Integer(step as i64);
                        let size = [Primitive::I64, Primitive::I32, Primitive::U16][number].size();
                        let primitive = Primitive::integer(size, true);
                        if memory.write(offset, primitive, value).is_err() && memory.is_released() {
                            return;
                        }
                    }
                });
            }
            if round % 2 == 0 {
                thread::yield_now();
            }
            assert!(memory.release());
        });
    }
}

proptest! {
    /// Copies are right for all alignments and lengths.
    #[test]
    fn bytes_are_copied(offset in 0..20_usize, bytes in proptest::collection::vec(any::<u8>(), 0..70)) {
        let memory = allocated(100);
        memory.write_bytes(offset, &bytes).expect("it is within");
        let mut back = vec![0; bytes.len()];
        memory.read_bytes(offset, &mut back).expect("it is within");
        prop_assert_eq!(&back, &bytes);
        let mut all = [0; 100];
        memory.read_bytes(0, &mut all).expect("it is within");
        prop_assert!(all[..offset].iter().chain(&all[offset + bytes.len()..]).all(|byte| *byte == 0));
    }
}
