//! Far references: the test for one, and its target. Messages, isolation and traces call these functions.

use squall_heap::{Object, Word};

use crate::model::known;
use crate::state::vat::VatRef;

/// The slots of a far reference.
pub mod slots {
    /// The object of the vat that the target belongs to.
    pub const VAT: usize = 0;
    /// The target.
    pub const TARGET: usize = 1;

    const _: () = crate::model::known::assert_slots(crate::model::known::FAR_REFERENCE, TARGET + 1);
}

/// The far reference in a word, if it is one.
#[inline]
pub fn far_reference(word: Word) -> Option<Object> {
    word.as_object().filter(|object| object.layout() == known::FAR_REFERENCE)
}

/// The vat that a far reference leads to.
pub fn vat_of(far: Object) -> VatRef {
    VatRef::of_object(far.slot(slots::VAT).object())
}

/// The object that a far reference leads to, for its own vat.
pub fn target_of(far: Object) -> Word {
    far.slot(slots::TARGET)
}

/// The object at the end of a far reference, for hash codes and reports.
pub fn final_target(mut far: Object) -> Word {
    loop {
        let target = target_of(far);
        match far_reference(target) {
            Some(next) => far = next,
            None => return target,
        }
    }
}
