//! Indices while the processor guesses: the code that checks an index of a guest calls [`confine`] before it uses it.
//!
//! A processor guesses the outcome of the comparison with the length, and goes on before it knows. What it then loads
//! from behind an array leaves traces in its caches, by which a guest could read any memory of the process (Kocher et al.,
//! "Spectre Attacks: Exploiting Speculative Execution", S&P 2019, section 4). A mask that is computed from the operands, and
//! not guessed, keeps the index below the length on all ways.

/// An index that is below the length; where it is not, which a processor may only guess, 0.
#[inline(always)]
pub fn confine(index: usize, length: usize) -> usize {
    debug_assert!(index < length);
    index & mask(index, length)
}

/// All bits if the index is below the length, otherwise none.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn mask(index: usize, length: usize) -> usize {
    let mask: usize;
    // SAFETY: both instructions read and write registers and flags only.
    unsafe {
        std::arch::asm!(
            "cmp {index}, {length}",
            "sbb {mask}, {mask}",
            index = in(reg) index,
            length = in(reg) length,
            // The register has any value before that: a number minus itself is 0.
            mask = out(reg) mask,
            options(pure, nomem, nostack),
        );
    }
    mask
}

/// All bits if the index is below the length, otherwise none.
#[cfg(any(not(target_arch = "x86_64"), miri))]
#[inline(always)]
fn mask(index: usize, length: usize) -> usize {
    // Without the black box, the compiler knows the result from the comparison before.
    let (index, length) = std::hint::black_box((index as u128, length as u128));
    (index.wrapping_sub(length) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_has_all_bits_for_indices_below_the_length() {
        for (index, length) in [(0, 1), (4, 5), (0, usize::MAX), (usize::MAX - 1, usize::MAX)] {
            assert_eq!(mask(index, length), usize::MAX, "{index} of {length}");
            assert_eq!(confine(index, length), index);
        }
        for (index, length) in [(0, 0), (1, 1), (5, 4), (usize::MAX, 0), (usize::MAX, usize::MAX)] {
            assert_eq!(mask(index, length), 0, "{index} of {length}");
        }
    }
}
