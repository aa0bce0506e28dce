//! Calls with few and many arguments, strings, `errno`, `...`, and refused arguments.

use squall_foreign::{
    CallError, CallSpace, Library, Mismatch, NativeMemory, Scalar, Type, Value, text_at,
};

use crate::fixture::{Answer, call, fixture};

fn integers(values: &[i64]) -> Vec<Value<'static>> {
    values.iter().map(|value| Value::Integer(*value)).collect()
}

fn doubles(values: &[f64]) -> Vec<Value<'static>> {
    values.iter().map(|value| Value::Double(*value)).collect()
}

#[test]
fn few_and_many_arguments() {
    let fixture = fixture!();
    assert_eq!(fixture.call("answer", &[]), Answer::Integer(42));
    assert_eq!(fixture.call("nothing", &[]), Answer::Nothing);
    assert_eq!(fixture.call("add", &integers(&[-3, 5])), Answer::Integer(2));
    assert_eq!(fixture.call("add_doubles", &doubles(&[0.5, 0.25])), Answer::Double(0.75));
    let mixed = [
        Value::Integer(1),
        Value::Double(2.0),
        Value::Integer(3),
        Value::Double(4.0),
        Value::Integer(5),
    ];
    assert_eq!(fixture.call("mix", &mixed), Answer::Double(54321.0));
    let values = [1, -2, 3, -4, 5, -6, 7, -8, -9];
    let expected = values.iter().zip(1..).map(|(value, weight)| i128::from(value * weight)).sum();
    assert_eq!(fixture.call("weigh_integers", &integers(&values)), Answer::Integer(expected));
    let values = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5];
    let expected = values.iter().zip(1..).map(|(value, weight)| value * f64::from(weight)).sum();
    assert_eq!(fixture.call("weigh_doubles", &doubles(&values)), Answer::Double(expected));
}

#[test]
fn the_number_of_arguments_must_be_right() {
    let fixture = fixture!();
    for given in [0, 1, 3, 200] {
        let error =
            fixture.try_call("add", &vec![Value::Integer(1); given]).expect_err("it takes 2");
        let expected = format!("`int add(int a, int b)` takes 2 arguments, but {given} are given");
        assert_eq!(error.to_string(), expected);
    }
    let error = fixture.try_call("sum_integers", &[]).expect_err("it takes at least 1");
    assert!(matches!(error, CallError::Arity { expected: 1, given: 0, .. }));
}

#[test]
fn the_kinds_of_arguments_must_be_right() {
    let fixture = fixture!();
    let memory = NativeMemory::allocate(8).expect("there is memory");
    let one = Value::Integer(1);
    for wrong in [
        Value::Double(1.0),
        Value::Text(b"1"),
        Value::Memory(&memory),
        Value::Void,
        Value::Record(b"1234"),
    ] {
        let error = fixture.try_call("add", &[one, wrong]).expect_err("it is no integer");
        assert!(
            matches!(error, CallError::Argument { number: 2, mismatch: Mismatch::Kind(_), .. }),
            "{error}"
        );
    }
    for wrong in [one, Value::Bool(true), Value::Double(0.0), Value::Void] {
        assert!(fixture.try_call("length", &[wrong]).is_err(), "{wrong:?}");
    }
    // A pointer to other types than characters accepts no string.
    let error =
        fixture.try_call("sum_of_array", &[Value::Text(b"1234"), one]).expect_err("it is a string");
    assert_eq!(
        error.to_string(),
        "argument 1 of `sum_of_array`, of type `int *`: a string cannot be passed as this type"
    );
    assert!(
        fixture
            .try_call("add_doubles", &[Value::Double(0.0), Value::Integer((1 << 53) + 1)])
            .is_err()
    );
}

#[test]
fn strings_are_copied() {
    let fixture = fixture!();
    for length in [0, 1, 7, 8, 100, 511, 512, 5000] {
        let text = vec![b'x'; length];
        assert_eq!(fixture.call("length", &[Value::Text(&text)]), Answer::Integer(length as i128));
    }
    let error = fixture.try_call("length", &[Value::Text(b"a\0b")]).expect_err("it has a NUL");
    assert!(matches!(error, CallError::Argument { mismatch: Mismatch::InnerNul, .. }));
    let greeting = fixture.call("greeting", &[]).address();
    // SAFETY: it is a string.
    assert_eq!(unsafe { text_at(greeting, 100) }, b"hello from C");
}

#[test]
fn what_c_allocates_is_freed_by_c() {
    let fixture = fixture!();
    let repeated = fixture.call("repeated", &[Value::Text(b"ab"), Value::Integer(3)]).address();
    let forget = fixture.function("forget");
    let free = move |address| {
        call(&forget, &[Value::Pointer(address)]).expect("it takes an address");
    };
    // SAFETY: it has 7 bytes, which the test owns.
    let memory = unsafe { NativeMemory::adopt(repeated, 7, free) };
    assert_eq!(memory.read_text(0), Ok(b"ababab".to_vec()));
    assert_eq!(fixture.call("length", &[Value::Memory(&memory)]), Answer::Integer(6));
    assert!(memory.release());
    let error = fixture.try_call("length", &[Value::Memory(&memory)]).expect_err("it is gone");
    assert_eq!(
        error.to_string(),
        "argument 1 of `length`, of type `char *`: this memory has been released"
    );
}

#[test]
fn errno_is_that_of_the_call() {
    let fixture = fixture!();
    let fail = fixture.function("fail_with");
    for errno in [1, 2, 77] {
        assert_eq!(call(&fail, &integers(&[errno.into()])), Ok((Answer::Integer(-1), errno)));
        assert_eq!(call(&fixture.function("succeed"), &[]), Ok((Answer::Integer(0), 0)));
    }
}

#[test]
fn surplus_arguments_go_by_their_values() {
    let fixture = fixture!();
    assert_eq!(fixture.call("sum_integers", &integers(&[0])), Answer::Integer(0));
    assert_eq!(fixture.call("sum_integers", &integers(&[5, 1, -2, 3, 4, 5])), Answer::Integer(11));
    assert_eq!(
        fixture.call("sum_integers", &integers(&[2, -1, 1 << 40])),
        Answer::Integer((1 << 40) - 1)
    );
    let twelve: Vec<i64> = [12].into_iter().chain(1..=12).collect();
    assert_eq!(fixture.call("sum_integers", &integers(&twelve)), Answer::Integer(78));
    let mut arguments = integers(&[3]);
    arguments.extend(doubles(&[0.5, 1.5, 2.5]));
    assert_eq!(fixture.call("sum_doubles", &arguments), Answer::Double(4.5));
    let error = fixture
        .try_call("sum_integers", &[Value::Integer(1), Value::Record(b"")])
        .expect_err("it has no kind");
    assert!(matches!(error, CallError::Argument { number: 2, .. }));
    let error =
        fixture.try_call("sum_integers", &integers(&[1; 200])).expect_err("they are too many");
    assert_eq!(error, CallError::TooMany);
}

#[test]
fn printing_takes_anything() {
    let fixture = fixture!();
    let memory = NativeMemory::allocate(100).expect("there is memory");
    let arguments = [
        Value::Memory(&memory),
        Value::Integer(100),
        Value::Text(b"%d %s %g %lld %llu %c %p"),
        Value::Integer(-7),
        Value::Text(b"text"),
        Value::Double(0.5),
        Value::Integer(1 << 40),
        Value::Unsigned(u64::MAX),
        Value::Integer('x' as i64),
        Value::Pointer(squall_foreign::Address(0xab)),
    ];
    for _ in 0..2 {
        let expected = b"-7 text 0.5 1099511627776 18446744073709551615 x 0xab";
        assert_eq!(fixture.call("print_into", &arguments), Answer::Integer(expected.len() as i128));
        assert_eq!(memory.read_text(0).as_deref(), Ok(&expected[..]));
    }
}

#[test]
fn surplus_arguments_can_have_types() {
    let fixture = fixture!();
    let sum = fixture.function("sum_doubles");
    let float = Type::scalar(Scalar::Float);
    let two = sum.with_arguments(&[float.clone(), float]).expect("they can be passed");
    let arguments = [Value::Integer(2), Value::Double(0.5), Value::Integer(2)];
    assert_eq!(call(&two, &arguments), Ok((Answer::Double(2.5), 0)));
    assert!(call(&two, &arguments[..2]).is_err());
    let small = Type::scalar(Scalar::SignedChar);
    let sum =
        fixture.function("sum_integers").with_arguments(&[small]).expect("they can be passed");
    assert_eq!(call(&sum, &integers(&[1, -5])), Ok((Answer::Integer(-5), 0)));
    assert!(fixture.function("add").with_arguments(&[]).is_err());
    assert!(fixture.function("sum_doubles").with_arguments(&[Type::void()]).is_err());
}

#[test]
fn a_space_serves_many_calls() {
    let fixture = fixture!();
    let (length, add) = (fixture.function("length"), fixture.function("add"));
    let long = vec![b'y'; 3000];
    let memory = NativeMemory::allocate_text(b"abc").expect("there is memory");
    let mut space = CallSpace::new();
    for round in 0..10 {
        for (argument, expected) in
            [(Value::Text(b"x"), 1), (Value::Text(&long), 3000), (Value::Memory(&memory), 3)]
        {
            let call = length.prepare(&mut space, &[argument]).expect("it fits");
            // SAFETY: the function is as declared.
            assert_eq!(unsafe { call.invoke() }.value(), Value::Integer(expected));
        }
        // A prepared call that is never made leaves nothing behind.
        drop(length.prepare(&mut space, &[Value::Memory(&memory)]).expect("it fits"));
        assert!(add.prepare(&mut space, &[Value::Integer(1), Value::Void]).is_err());
        let call =
            add.prepare(&mut space, &[Value::Integer(round), Value::Integer(1)]).expect("it fits");
        // SAFETY: the function is as declared.
        assert_eq!(unsafe { call.invoke() }.value(), Value::Integer(round + 1));
    }
    assert!(memory.release());
}

#[test]
fn the_process_has_the_c_library() {
    let mut header = squall_foreign::Declarations::new();
    header
        .declare(
            "int abs(int); double strtod(const char *, char **end); size_t strlen(const char *);",
        )
        .expect("fine");
    let process = Library::process();
    let find = |name| {
        process.function(name, header.function(name).expect("it is declared")).expect("it is there")
    };
    assert_eq!(call(&find("abs"), &integers(&[-3])), Ok((Answer::Integer(3), 0)));
    let end = NativeMemory::allocate(8).expect("there is memory");
    let text = NativeMemory::allocate_text(b"2.5 rest").expect("there is memory");
    let result = call(&find("strtod"), &[Value::Memory(&text), Value::Memory(&end)]);
    assert_eq!(result, Ok((Answer::Double(2.5), 0)));
    let rest = end.read(0, squall_foreign::Primitive::Pointer).expect("it is within");
    let start = text.address().expect("it is there").0;
    assert_eq!(rest, Value::Pointer(squall_foreign::Address(start + 3)));
}
