//! Every scalar type, in and out.

use squall_foreign::{Address, CallError, Mismatch, Value};

use crate::fixture::{Answer, fixture};

const INTEGERS: &[(&str, i128, i128)] = &[
    ("echo_signed_char", i8::MIN as i128, i8::MAX as i128),
    ("echo_unsigned_char", 0, u8::MAX as i128),
    ("echo_short", i16::MIN as i128, i16::MAX as i128),
    ("echo_unsigned_short", 0, u16::MAX as i128),
    ("echo_int", i32::MIN as i128, i32::MAX as i128),
    ("echo_unsigned_int", 0, u32::MAX as i128),
    ("echo_long_long", i64::MIN as i128, i64::MAX as i128),
    ("echo_unsigned_long_long", 0, u64::MAX as i128),
    ("echo_long", std::ffi::c_long::MIN as i128, std::ffi::c_long::MAX as i128),
    ("echo_unsigned_long", 0, std::ffi::c_ulong::MAX as i128),
    ("echo_char", std::ffi::c_char::MIN as i128, std::ffi::c_char::MAX as i128),
];

fn integer(value: i128) -> Value<'static> {
    match i64::try_from(value) {
        Ok(small) => Value::Integer(small),
        Err(_) => Value::Unsigned(value.try_into().expect("it has 64 bits")),
    }
}

#[test]
fn integers_come_back() {
    let fixture = fixture!();
    for (name, least, greatest) in INTEGERS {
        for value in [*least, *least / 3, 0, 1, *greatest / 3, *greatest] {
            assert_eq!(fixture.call(name, &[integer(value)]), Answer::Integer(value), "{name}");
        }
    }
}

#[test]
fn integers_must_fit() {
    let fixture = fixture!();
    for (name, least, greatest) in INTEGERS {
        for value in [*least - 1, *greatest + 1] {
            if !(i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value) {
                continue;
            }
            let error = fixture.try_call(name, &[integer(value)]).expect_err("it does not fit");
            let CallError::Argument {
                number, mismatch: Mismatch::Range { value: found, .. }, ..
            } = error
            else {
                panic!("{name}: {error:?}");
            };
            assert_eq!((number, found), (1, value), "{name}");
        }
    }
    let error =
        fixture.try_call("echo_signed_char", &[Value::Integer(300)]).expect_err("it does not fit");
    assert_eq!(
        error.to_string(),
        "argument 1 of `echo_signed_char`, of type `signed char`: 300 is not between -128 and 127"
    );
}

#[test]
fn callees_see_extended_integers() {
    let fixture = fixture!();
    let cases = [
        ("widen_char", -128),
        ("widen_unsigned_char", 255),
        ("widen_short", -32768),
        ("widen_int", i64::from(i32::MIN)),
        ("widen_unsigned_int", i64::from(u32::MAX)),
    ];
    for (name, value) in cases {
        assert_eq!(
            fixture.call(name, &[Value::Integer(value)]),
            Answer::Integer(value.into()),
            "{name}"
        );
    }
}

#[test]
fn other_scalars_come_back() {
    let fixture = fixture!();
    for bool in [false, true] {
        assert_eq!(fixture.call("echo_bool", &[Value::Bool(bool)]), Answer::Bool(bool));
        assert_eq!(fixture.call("echo_bool", &[Value::Integer(bool.into())]), Answer::Bool(bool));
        assert_eq!(fixture.call("echo_int", &[Value::Bool(bool)]), Answer::Integer(bool.into()));
    }
    assert!(fixture.try_call("echo_bool", &[Value::Integer(2)]).is_err());
    for number in [0.0, -0.5, 1e300, f64::INFINITY, f64::MIN_POSITIVE] {
        assert_eq!(fixture.call("echo_double", &[Value::Double(number)]), Answer::Double(number));
    }
    for number in [0.0_f32, -0.5, 3.4e38, f32::NEG_INFINITY] {
        assert_eq!(
            fixture.call("echo_float", &[Value::Double(number.into())]),
            Answer::Double(number.into())
        );
        assert_eq!(
            fixture.call("widen_float", &[Value::Double(number.into())]),
            Answer::Double(number.into())
        );
    }
    assert_eq!(fixture.call("echo_float", &[Value::Double(0.1)]), Answer::Double(0.1_f32.into()));
    assert!(fixture.try_call("echo_float", &[Value::Double(1e39)]).is_err());
    let Answer::Double(number) = fixture.call("echo_double", &[Value::Double(f64::NAN)]) else {
        panic!()
    };
    assert!(number.is_nan());
    assert_eq!(fixture.call("echo_double", &[Value::Integer(3)]), Answer::Double(3.0));
    for address in [Address::NULL, Address(usize::MAX), Address(4096)] {
        assert_eq!(
            fixture.call("echo_pointer", &[Value::Pointer(address)]),
            Answer::Pointer(address)
        );
    }
}
