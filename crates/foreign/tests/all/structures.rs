//! Structures, unions, arrays and enumerations.

use squall_foreign::{CallError, Mismatch, NativeMemory, Primitive, Value};

use crate::fixture::{Answer, Fixture, fixture};

/// The bytes of `struct point`.
fn point(fixture: &Fixture, x: i32, y: [f64; 3]) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[..4].copy_from_slice(&x.to_ne_bytes());
    let start = fixture.offset("point", "y");
    for (index, number) in y.iter().enumerate() {
        bytes[start + 8 * index..][..8].copy_from_slice(&number.to_ne_bytes());
    }
    bytes
}

fn small(a: i16, b: f32) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes[..2].copy_from_slice(&a.to_ne_bytes());
    bytes[4..].copy_from_slice(&b.to_ne_bytes());
    bytes
}

#[test]
fn structures_go_by_value() {
    let fixture = fixture!();
    let given = point(fixture, 7, [1.0, 2.0, 3.0]);
    let result = fixture.call("shift", &[Value::Record(&given), Value::Double(0.5)]);
    assert_eq!(result, Answer::Record(point(fixture, -7, [1.5, 2.5, 3.5])));
    let result = fixture.call("swap", &[Value::Record(&small(3, 9.0))]);
    assert_eq!(result, Answer::Record(small(9, 3.0)));
}

#[test]
fn memory_is_copied_where_a_structure_is_needed() {
    let fixture = fixture!();
    let memory = NativeMemory::allocate(20).expect("there is memory");
    let part = memory.view(3, 17).expect("it is within");
    part.write_bytes(0, &small(5, 6.0)).expect("it is within");
    let result = fixture.call("swap", &[Value::Memory(&part)]);
    assert_eq!(result, Answer::Record(small(6, 5.0)));
    let error = |value| fixture.try_call("swap", &[value]).expect_err("it is no such structure");
    let short = memory.view(0, 7).expect("it is within");
    for (value, given) in [(Value::Memory(&short), 7), (Value::Record(b"123456789"), 9)] {
        let expected = Mismatch::Size { given, expected: 8 };
        assert!(
            matches!(error(value), CallError::Argument { mismatch, .. } if mismatch == expected)
        );
    }
    assert!(matches!(
        error(Value::Integer(1)),
        CallError::Argument { mismatch: Mismatch::Kind(_), .. }
    ));
    memory.release();
    assert!(matches!(
        error(Value::Memory(&part)),
        CallError::Argument { mismatch: Mismatch::Released, .. }
    ));
}

#[test]
fn unions_go_by_value() {
    let fixture = fixture!();
    let negated = |bytes: [u8; 8], which| match fixture
        .call("negate", &[Value::Record(&bytes), Value::Integer(which)])
    {
        Answer::Record(bytes) => bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(negated(2.5_f64.to_ne_bytes(), 2), (-2.5_f64).to_ne_bytes());
    let with = |front: [u8; 4]| [front, [1, 2, 3, 4]].concat().try_into().expect("there are 8");
    assert_eq!(negated(with(7_i32.to_ne_bytes()), 0), with((-7_i32).to_ne_bytes()));
    assert_eq!(negated(with(0.5_f32.to_ne_bytes()), 1), with((-0.5_f32).to_ne_bytes()));
}

#[test]
fn enumerations_are_integers() {
    let fixture = fixture!();
    let constant = |name| fixture.header.constant(name).expect("library.h declares it");
    for (from, to) in [("RED", "GREEN"), ("GREEN", "BLUE"), ("BLUE", "RED")] {
        let argument = Value::Integer(constant(from) as i64);
        assert_eq!(fixture.call("next_colour", &[argument]), Answer::Integer(constant(to)));
    }
    assert!(fixture.try_call("next_colour", &[Value::Integer(-1)]).is_err());
}

#[test]
fn arrays_go_by_pointers() {
    let fixture = fixture!();
    let memory = NativeMemory::allocate(72).expect("there is memory");
    for index in 0..10 {
        memory
            .write(4 * index, Primitive::I32, Value::Integer(index as i64))
            .expect("it is within");
    }
    let sum = fixture.call("sum_of_array", &[Value::Memory(&memory), Value::Integer(10)]);
    assert_eq!(sum, Answer::Integer(45));
    for index in 0..9 {
        memory.write(8 * index, Primitive::F64, Value::Double(index as f64)).expect("it is within");
    }
    assert_eq!(fixture.call("trace", &[Value::Memory(&memory)]), Answer::Double(12.0));
}

#[test]
fn structures_point_to_structures() {
    let fixture = fixture!();
    let tree = fixture.header.tagged("tree").expect("library.h declares it");
    let size = tree.layout().expect("it is defined").size;
    let offset = |field| fixture.offset("tree", field);
    let nodes = NativeMemory::allocate(7 * size).expect("there is memory");
    for index in 0..7 {
        let node = nodes.view(index * size, size).expect("it is within");
        node.write(offset("value"), Primitive::I32, Value::Integer(index as i64))
            .expect("it is within");
        for (field, child) in [("left", 2 * index + 1), ("right", 2 * index + 2)] {
            if let Ok(child) = nodes.view(child * size, size) {
                node.write(offset(field), Primitive::Pointer, Value::Memory(&child))
                    .expect("it is within");
            }
        }
    }
    assert_eq!(fixture.call("sum_of_tree", &[Value::Memory(&nodes)]), Answer::Integer(21));
    let null = Value::Pointer(squall_foreign::Address::NULL);
    assert_eq!(fixture.call("sum_of_tree", &[null]), Answer::Integer(0));
}

#[test]
fn large_structures_go_by_pointers_only() {
    let fixture = fixture!();
    let mut header = fixture.header.clone();
    header
        .declare("struct large { char bytes[70000]; }; void answer(struct large);")
        .expect_err("it is declared");
    header
        .declare("struct large { char bytes[70000]; }; void nothing2(struct large);")
        .expect("all is well");
    let signature = header.function("nothing2").expect("it is declared");
    let error = fixture.library.function("nothing", signature).expect_err("it is too large");
    assert_eq!(error.to_string(), "`struct large` has more than 65536 bytes: pass a pointer to it");
}
