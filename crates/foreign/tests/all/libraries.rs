//! Libraries that exist, are missing, are broken, or are closed.

use squall_foreign::{Declarations, Library, LibraryError, Primitive, Value};

use crate::compiler::load_text;
use crate::fixture::{Answer, call, fixture};

fn error_of(name: &str) -> String {
    // SAFETY: there is no such library.
    unsafe { Library::open(name) }.expect_err("there is no such library").to_string()
}

#[test]
fn missing_libraries_are_named() {
    let error = error_of("frobnicate");
    assert!(error.starts_with("the library `frobnicate` cannot be loaded: "), "{error}");
    assert!(error.contains("No such file") || error.contains("no such file"), "{error}");
    let error = error_of("/no/such/lib.so");
    assert!(error.contains("/no/such/lib.so"), "{error}");
    for name in ["", "a\0b", "libm.so.6\0"] {
        assert!(error_of(name).contains("this is not the name of a library"));
    }
}

#[test]
fn files_that_are_no_libraries_are_refused() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let error = error_of(file);
    assert!(error.contains("Cargo.toml") && !error.contains("No such file"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn bare_names_are_completed() {
    // SAFETY: the mathematics library is harmless.
    let library = unsafe { Library::open("m") }.expect("there is libm.so.6");
    let (name, signature) =
        Declarations::new().parse_function("double cos(double)").expect("it is a function");
    let cosine = library.function(&name, &signature).expect("it is there");
    assert_eq!(call(&cosine, &[Value::Double(0.0)]), Ok((Answer::Double(1.0), 0)));
    assert_eq!(library.name(), "m");
}

#[test]
fn missing_symbols_are_named() {
    let fixture = fixture!();
    for name in ["frobnicate", "", "add\0"] {
        let error = fixture.library.symbol(name).expect_err("there is no such symbol");
        assert!(
            matches!(&error, LibraryError::MissingSymbol { symbol, .. } if symbol == name),
            "{error}"
        );
    }
    let signature = fixture.header.function("add").expect("it is declared");
    let error =
        fixture.library.function("subtract", signature).expect_err("there is no such function");
    assert!(error.to_string().starts_with("there is no `subtract` in `"), "{error}");
}

#[test]
fn closed_libraries_are_not_used() {
    let Some(library) = load_text("int twice(int x) { return 2 * x; } int variable = 3;") else {
        return;
    };
    let (name, signature) =
        Declarations::new().parse_function("int twice(int)").expect("it is a function");
    let int = signature.result().clone();
    let twice = library.function(&name, &signature).expect("it is there");
    // SAFETY: the variable is an int.
    let variable = unsafe { library.variable("variable", &int) }.expect("it is there");
    assert_eq!(call(&twice, &[Value::Integer(4)]), Ok((Answer::Integer(8), 0)));
    assert!(!library.is_closed() && library.close() && !library.close() && library.is_closed());
    let error = call(&twice, &[Value::Integer(4)]).expect_err("it is closed");
    assert!(error.to_string().ends_with("has been closed"), "{error}");
    assert!(matches!(library.symbol("twice"), Err(LibraryError::Closed { .. })));
    // It stays mapped while a part of it is used.
    drop((library, twice));
    assert_eq!(variable.read(0, Primitive::I32), Ok(Value::Integer(3)));
}

#[test]
fn variables_are_memory() {
    let fixture = fixture!();
    let of = fixture.header.variable("counter").expect("it is declared");
    // SAFETY: the variable is an int, and only this test uses it.
    let counter = unsafe { fixture.library.variable("counter", of) }.expect("it is there");
    assert_eq!(counter.read(0, Primitive::I32), Ok(Value::Integer(10)));
    assert_eq!(fixture.call("count", &[]), Answer::Integer(11));
    counter.write(0, Primitive::I32, Value::Integer(20)).expect("it is within");
    assert_eq!(fixture.call("count", &[]), Answer::Integer(21));
    assert!(counter.write(4, Primitive::I8, Value::Integer(0)).is_err());
}

#[test]
fn linked_libraries_are_tables() {
    unsafe extern "C" {
        fn labs();
    }
    let library = Library::linked("arithmetic", &[("absolute", labs)]);
    let (_, signature) = Declarations::new().parse_function("long f(long)").expect("it is fine");
    let absolute = library.function("absolute", &signature).expect("it is in the table");
    assert_eq!(call(&absolute, &[Value::Integer(-8)]), Ok((Answer::Integer(8), 0)));
    let error = library.symbol("labs").expect_err("it is not in the table");
    assert_eq!(error.to_string(), "there is no `labs` in `arithmetic`");
    library.close();
    assert!(call(&absolute, &[Value::Integer(-8)]).is_err());
}
