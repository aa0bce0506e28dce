//! The disassembler: golden texts, and texts that assemble to the same module.

use proptest::prelude::*;

use super::*;
use crate::assembler::assemble;
use crate::testing::{Entropy, arbitrary_module};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_module_survives_the_round_trip(mut random in Entropy::up_to(800)) {
        let module = arbitrary_module(&mut random);
        let text = disassemble(&module);
        match assemble(&text) {
            // Not every double equals itself, but each is printed differently.
            Ok(assembled) => {
                let (assembled, module) = (crate::format::encode(&assembled), crate::format::encode(&module));
                prop_assert_eq!(assembled, module, "{}", text);
            }
            Err(problems) => prop_assert!(false, "{}\n{}", problems[0], text),
        }
    }
}
