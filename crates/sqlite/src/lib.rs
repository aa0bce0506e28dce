//! SQLite for guest programs: a table of the C functions that `lib/Sqlite.ns` calls by name. The command line gives it
//! to the machine.
//!
//! SQLite is built from source and linked into the program, so databases work wherever the program does. The build
//! takes a while: only crates that make a whole program depend on this one.

use libsqlite3_sys as sqlite;
use squall_foreign::LinkedFunction;

/// The name by which programs load the library.
pub const NAME: &str = "sqlite3";

/// Makes a table of functions by their own names.
macro_rules! functions {
    ($($name:ident,)*) => {
        &[$((stringify!($name), untyped(sqlite::$name as *const ())),)*]
    };
}

/// SQLite's functions.
pub static FUNCTIONS: &[LinkedFunction] = functions! {
    sqlite3_libversion,
    sqlite3_open_v2,
    sqlite3_close,
    sqlite3_errmsg,
    sqlite3_errstr,
    sqlite3_extended_errcode,
    sqlite3_extended_result_codes,
    sqlite3_busy_timeout,
    sqlite3_interrupt,
    sqlite3_get_autocommit,
    sqlite3_changes64,
    sqlite3_last_insert_rowid,
    sqlite3_prepare_v2,
    sqlite3_finalize,
    sqlite3_step,
    sqlite3_reset,
    sqlite3_clear_bindings,
    sqlite3_bind_parameter_count,
    sqlite3_bind_parameter_index,
    sqlite3_bind_null,
    sqlite3_bind_int64,
    sqlite3_bind_double,
    sqlite3_bind_text,
    sqlite3_bind_blob,
    sqlite3_column_count,
    sqlite3_column_name,
    sqlite3_column_type,
    sqlite3_column_int64,
    sqlite3_column_double,
    sqlite3_column_text,
    sqlite3_column_blob,
    sqlite3_column_bytes,
};

/// The address of a function, with one type for all functions. No code calls it with this type.
const fn untyped(function: *const ()) -> unsafe extern "C" fn() {
    // SAFETY: pointers to functions are all of one kind, and this one is not null.
    unsafe { std::mem::transmute::<*const (), unsafe extern "C" fn()>(function) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_foreign::{CallSpace, Declarations, Library, Value, text_at};

    #[test]
    fn sqlite_can_be_called_by_name() {
        let library = Library::linked(NAME, FUNCTIONS);
        let declaration = "const char *sqlite3_libversion(void)";
        let (name, signature) = Declarations::new().parse_function(declaration).expect("it is C");
        let function = library.function(&name, &signature).expect("it is in the table");
        let mut space = CallSpace::new();
        let call = function.prepare(&mut space, &[]).expect("it has no parameters");
        // SAFETY: this is the declaration in <sqlite3.h>.
        let call = unsafe { call.invoke() };
        let Value::Pointer(version) = call.value() else { panic!("{:?}", call.value()) };
        // SAFETY: SQLite answers a string that lasts.
        let version = unsafe { text_at(version, 100) };
        assert!(version.starts_with(b"3."), "{}", String::from_utf8_lossy(&version));
    }
}
