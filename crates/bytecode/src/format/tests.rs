//! The binary format: round trips, and images that are not modules.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::module::Module;
use crate::testing::{Entropy, arbitrary_module};

fn check_error(bytes: &[u8], expected: Expect) {
    let error = decode(bytes).expect_err("the bytes are no module");
    expected.assert_eq(&error.to_string());
}

/// A file with this content after a correct header.
fn file(content: &[u8]) -> Vec<u8> {
    let mut bytes = encode(&Module::default()).unwrap()[..HEADER_LENGTH].to_vec();
    bytes.extend(content);
    seal(&mut bytes);
    bytes
}

/// A file with one function and this content as its entry.
fn function_file(function: &[u8]) -> Vec<u8> {
    let length = function.len() as u8;
    let mut content = vec![1, 4, 0, 0, 0, 0, 2, 1, 0, 3, length + 2, 1, length];
    content.extend(function);
    content.extend(NO_CLASSES);
    file(&content)
}

/// The sections after the functions, without entries.
const NO_CLASSES: [u8; 10] = [4, 1, 0, 5, 1, 0, 6, 2, 0, 0];

/// A file with this content as its type table.
fn types_file(types: &[u8]) -> Vec<u8> {
    let mut content = vec![1, 4, 0, 0, 0, 0, 2, 1, 0, 3, 1, 0, 4, 1, 0, 5, types.len() as u8];
    content.extend(types);
    content.extend([6, 2, 0, 0]);
    file(&content)
}

/// A function without code: name, kind, parameters, captured, registers, result, home.
const EMPTY_FUNCTION: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn the_empty_module() {
    let bytes = encode(&Module::default()).unwrap();
    assert_eq!(bytes[..8], [0x89, b'S', b'Q', b'B', 2, 0, 0, 0]);
    assert_eq!(bytes[12..], [&[1, 4, 0, 0, 0, 0, 2, 1, 0, 3, 1, 0], &NO_CLASSES[..]].concat());
    assert_eq!(decode(&bytes), Ok(Module::default()));
}

#[test]
fn errors_in_the_header() {
    check_error(b"", expect!["this is no Squall module (byte 0)"]);
    check_error(b"\x89SQB", expect!["the header is cut off (byte 4)"]);
    let good = encode(&Module::default()).unwrap();
    let with = |index: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[index] = byte;
        bytes
    };
    check_error(&with(1, b's'), expect!["this is no Squall module (byte 0)"]);
    check_error(
        &with(4, 9),
        expect![
            "this module has format version 9, but only version 2 is supported: compile it again (byte 4)"
        ],
    );
    check_error(&with(7, 1), expect!["the header is not in its shortest form (byte 6)"]);
    check_error(
        &with(8, 1),
        expect!["this module is damaged: its checksum is 14d7cc38 instead of 14d7cc01 (byte 8)"],
    );
    check_error(
        &with(14, 1),
        expect!["this module is damaged: its checksum is 71b0f77e instead of 14d7cc38 (byte 8)"],
    );
}

#[test]
fn errors_in_sections() {
    check_error(&file(&[]), expect!["the section here is cut off (byte 12)"]);
    check_error(&file(&[2]), expect!["2 stands for no section here (byte 12)"]);
    check_error(&file(&[1, 5, 0, 0, 0, 0]), expect!["the section is cut off (byte 14)"]);
    check_error(
        &file(&[1, 0x80, 0]),
        expect!["a number is encoded in more bytes than allowed (byte 13)"],
    );
    check_error(
        &file(&[1, 5, 0, 0, 0, 0, 0, 2, 1, 0, 3, 1, 0, 4, 1, 0]),
        expect!["the end should be here, 1 bytes earlier (byte 18 in section `module`)"],
    );
    check_error(
        &file(&[1, 4, 0, 0, 0, 0, 2, 1, 0, 3, 1, 0, 4, 1, 0, 5, 1, 0, 6, 2, 0, 0, 7]),
        expect!["the end should be here, 1 bytes earlier (byte 34)"],
    );
    check_error(
        &file(&[1, 4, 0, 0, 0, 0, 2, 3, 1, 1, 0x80, 3, 1, 0, 4, 1, 0, 5, 1, 0, 6, 2, 0, 0]),
        expect!["the string is not valid UTF-8 (byte 22 in section `strings`, str0)"],
    );
    // A table that claims 2^63 entries, and an entry of that length.
    let many = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let content = [&[1, 4, 0, 0, 0, 0, 2, 9], &many[..]].concat();
    check_error(&file(&content), expect!["the string is cut off (byte 20 in section `strings`)"]);
    let content = [&[1, 4, 0, 0, 0, 0, 2, 10, 1], &many[..]].concat();
    check_error(&file(&content), expect!["the string is cut off (byte 30 in section `strings`)"]);
}

#[test]
fn errors_in_functions() {
    assert!(decode(&function_file(&EMPTY_FUNCTION)).is_ok());
    let with = |index: usize, bytes: &[u8]| {
        let mut function = EMPTY_FUNCTION.to_vec();
        function.splice(index..=index, bytes.iter().copied());
        function_file(&function)
    };
    check_error(
        &with(1, &[9]),
        expect!["9 stands for no function kind (byte 26 in section `functions`, fn0)"],
    );
    check_error(
        &with(4, &[0x81, 2]),
        expect!["the number of registers is larger than 256 (byte 29 in section `functions`, fn0)"],
    );
    check_error(
        &with(4, &[2, 0, 1, 0, 1]),
        expect![
            "the list of registers is not in its shortest form (byte 32 in section `functions`, fn0)"
        ],
    );
    check_error(
        &with(4, &[2, 0, 3]),
        expect!["the run of registers is larger than 2 (byte 31 in section `functions`, fn0)"],
    );
    check_error(
        &with(7, &[1, 1, 8, 1, 1, 1, 1, 1, 1, 1, 1]),
        expect!["the integer is not in its shortest form (byte 35 in section `functions`, fn0)"],
    );
    check_error(
        &with(10, &[1, 1, 0, 0]),
        expect![
            "the line entry's pc is larger than 4294967295 (byte 36 in section `functions`, fn0)"
        ],
    );
    check_error(
        &with(11, &[1, 0, 0, 0]),
        expect!["the code is cut off (byte 36 in section `functions`, fn0)"],
    );
    check_error(
        &with(11, &[0, 0]),
        expect!["the end should be here, 1 bytes earlier (byte 37 in section `functions`, fn0)"],
    );
}

#[test]
fn errors_in_types() {
    let tuple = [1, 4, 0, 2, 5, 12];
    assert!(decode(&types_file(&tuple)).is_ok());
    check_error(
        &types_file(&[1, 1, 10]),
        expect!["10 stands for no kind of type (byte 31 in section `types`, type0)"],
    );
    check_error(
        &types_file(&[1, 2, 6, 0]),
        expect!["the end should be here, 1 bytes earlier (byte 32 in section `types`, type0)"],
    );
    check_error(
        &types_file(&[1, 3, 0, 9, 5]),
        expect!["the type is cut off (byte 32 in section `types`, type0)"],
    );
    check_error(
        &types_file(&[1, 4, 1, 0x8c, 0x80, 4]),
        expect!["the type is larger than 65547 (byte 32 in section `types`, type0)"],
    );
}

#[test]
fn functions_are_decoded_only_when_asked_for() {
    let bytes = function_file(&[0, 9]);
    let image = ModuleImage::open(&bytes[..]).unwrap();
    assert_eq!((image.function_count(), image.class_count(), image.string_count()), (1, 0, 0));
    assert!(image.function(crate::entities::FunctionId(0)).is_err());
    let error = image.class(crate::entities::ClassId(0)).unwrap_err();
    expect!["the table has no such entry (byte 37 in section `classes`, class0)"]
        .assert_eq(&error.to_string());
}

#[test]
fn too_many_registers() {
    let bytes = function_file(&EMPTY_FUNCTION);
    let mut module = decode(&bytes).unwrap();
    module.functions[0].registers = vec![crate::types::RegisterType::Any; 257];
    let error = encode(&module).unwrap_err();
    expect!["fn0 has more than 256 registers"].assert_eq(&error.to_string());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn modules_survive_the_round_trip(mut random in Entropy::up_to(600)) {
        let module = arbitrary_module(&mut random);
        let bytes = encode(&module).unwrap();
        let decoded = decode(&bytes).unwrap();
        // Not every double equals itself, but each has one encoding.
        prop_assert_eq!(format!("{decoded:?}"), format!("{module:?}"));
        prop_assert_eq!(encode(&decoded).unwrap(), bytes);
    }

    #[test]
    fn the_checksum_notices_every_flipped_bit(mut random in Entropy::up_to(300), place: prop::sample::Index) {
        let mut bytes = encode(&arbitrary_module(&mut random)).unwrap();
        let bit = place.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn damaged_files_are_rejected_or_canonical(mut random in Entropy::up_to(600), flips: [prop::sample::Index; 2]) {
        let mut bytes = encode(&arbitrary_module(&mut random)).unwrap();
        for place in flips {
            let bit = place.index((bytes.len() - HEADER_LENGTH) * 8);
            bytes[HEADER_LENGTH + bit / 8] ^= 1 << (bit % 8);
        }
        seal(&mut bytes);
        if let Ok(module) = decode(&bytes) {
            prop_assert_eq!(encode(&module).unwrap(), bytes);
        }
    }

    #[test]
    fn any_bytes_are_safe(content: Vec<u8>) {
        let bytes = file(&content);
        if let Ok(module) = decode(&bytes) {
            prop_assert_eq!(encode(&module).unwrap(), bytes);
        }
    }
}
