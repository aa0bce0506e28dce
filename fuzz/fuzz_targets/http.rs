//! Any bytes are the beginning of a head, a head, or refused; and what is found in them is there. All of them have a
//! text and parameters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_system::http::{self, Head, Parsed};
use squall_system::url;

const FIELDS: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    for parse in [http::parse_request, http::parse_response] {
        match parse(bytes, FIELDS) {
            Parsed::Head(head) => check(&head, bytes, parse),
            // A head that could still come does not depend on where the bytes were cut.
            Parsed::Partial => {
                let half = parse(&bytes[..bytes.len() / 2], FIELDS);
                assert_eq!(half, Parsed::Partial);
            }
            Parsed::Refused(status) => assert!((400..600).contains(&status)),
        }
    }
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if let Some(size) = http::chunk_size(line) {
        assert!(size < 1 << 48);
    }
    let text = url::decoded(bytes);
    assert_eq!(url::decoded(url::encoded(&text).as_bytes()), text);
    assert!(url::parameters(bytes).len() <= bytes.len());
    if let Some(url) = url::parse(&text) {
        assert!(!url.host.is_empty() && url.target.is_ascii());
    }
});

fn check(head: &Head, bytes: &[u8], parse: fn(&[u8], usize) -> Parsed) {
    assert!(head.length <= bytes.len() && head.fields.len() <= FIELDS && head.minor_version <= 1);
    // What follows a head, the next request for instance, does not change it.
    assert_eq!(parse(&bytes[..head.length], FIELDS), Parsed::Head(head.clone()));
    for [name, value] in &head.fields {
        assert!(!name.is_empty() && !name.iter().any(u8::is_ascii_uppercase));
        assert!(!value.contains(&b'\n') && !value.contains(&b'\r'));
    }
}
