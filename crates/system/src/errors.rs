//! The errors of the operating system, for the runtime's network and process primitives: a reason that programs can
//! compare, and a text for people.

use std::io::{self, ErrorKind};

/// The name of the error's reason.
pub fn reason_of(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::ConnectionRefused => "ConnectionRefused",
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            "ConnectionReset"
        }
        ErrorKind::AddrInUse => "AddressInUse",
        ErrorKind::AddrNotAvailable => "AddressNotAvailable",
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => "Unreachable",
        ErrorKind::NotConnected => "NotConnected",
        ErrorKind::TimedOut => "TimedOut",
        ErrorKind::NotFound => "NotFound",
        ErrorKind::PermissionDenied => "AccessDenied",
        ErrorKind::UnexpectedEof => "UnexpectedEnd",
        ErrorKind::InvalidData => "TlsFailure",
        _ if is_shortage(error) => "TooManyOpenFiles",
        _ => "SystemError",
    }
}

/// The error as a part of a sentence.
pub fn text_of(error: &io::Error) -> String {
    let known = match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused",
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            "the other side has reset the connection"
        }
        ErrorKind::BrokenPipe => "the other side does not read any more",
        ErrorKind::AddrInUse => "the address is in use",
        ErrorKind::AddrNotAvailable => "the address is not one of this machine",
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => "no way leads there",
        ErrorKind::NotConnected => "not connected",
        ErrorKind::NotFound => "not found",
        ErrorKind::UnexpectedEof => "the stream ends without saying so, and may be cut",
        _ if is_shortage(error) => "too many open files and connections",
        _ => return without_number(&error.to_string()),
    };
    known.to_owned()
}

/// The system's text without its error number.
fn without_number(text: &str) -> String {
    let end = text.find(" (os error").unwrap_or(text.len());
    let mut characters = text[..end].chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}

/// Whether the process, or the system, has reached its limit of descriptors.
pub fn is_shortage(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_no_numbers() {
        let refused = io::Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(
            (reason_of(&refused), &*text_of(&refused)),
            ("ConnectionRefused", "connection refused")
        );
        let shortage = io::Error::from_raw_os_error(24);
        assert_eq!(reason_of(&shortage), "TooManyOpenFiles");
        let other = io::Error::from_raw_os_error(22);
        assert_eq!((reason_of(&other), &*text_of(&other)), ("SystemError", "invalid argument"));
    }
}
