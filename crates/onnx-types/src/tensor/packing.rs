//! Elements narrower than a byte, as raw data packs them.
//!
//! All widths follow one rule: codes follow each other without gap from the lowest bit of the first byte on. Two 4-bit
//! codes make a byte, low half first; four 2-bit codes make a byte; four 6-bit codes make three bytes. What is left of
//! the last byte is zero.

#![cfg_attr(
    not(test),
    expect(
        clippy::arithmetic_side_effects,
        reason = "a code has 2, 4 or 6 bits, and positions are those of codes and bytes in memory"
    )
)]

/// Code number `index` of `bits` bits each; `None` beyond the end of the bytes.
#[inline]
pub(super) fn code_at(bytes: &[u8], bits: u32, index: usize) -> Option<u8> {
    let position = (index as u64).checked_mul(u64::from(bits))?;
    let at = usize::try_from(position / 8).ok()?;
    let shift = (position % 8) as u32;
    let low = u16::from(*bytes.get(at)?);
    // A 6-bit code may reach into the next byte.
    let word = if shift + bits > 8 { low | u16::from(*bytes.get(at + 1)?) << 8 } else { low };
    Some((word >> shift) as u8 & mask(bits))
}

/// The bytes of the given codes; bits of a code above the width are ignored.
pub(super) fn pack(codes: impl ExactSizeIterator<Item = u8>, bits: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(codes.len() / 8 * bits as usize + bits as usize);
    let mut word = 0_u32;
    let mut filled = 0;
    for code in codes {
        word |= u32::from(code & mask(bits)) << filled;
        filled += bits;
        while filled >= 8 {
            bytes.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        bytes.push(word as u8);
    }
    bytes
}

/// The bits of the last byte that belong to no code when `count` codes are packed; 0 if there are none.
pub(super) fn padding_mask(bits: u32, count: u64) -> u8 {
    // Only the remainder of the bits counts, and widths below a byte are 2, 4 and 6: eight codes fill whole bytes.
    let used = (count % 8 * u64::from(bits) % 8) as u32;
    if used == 0 { 0 } else { 0xff << used }
}

const fn mask(bits: u32) -> u8 {
    (0xff_u16 >> (8 - bits)) as u8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packing_is_undone(
            codes in prop::collection::vec(any::<u8>(), 0..70),
            bits in prop::sample::select(vec![2_u32, 4, 6]),
        ) {
            let bytes = pack(codes.iter().copied(), bits);
            prop_assert_eq!(bytes.len(), (codes.len() * bits as usize).div_ceil(8));
            for (index, code) in codes.iter().enumerate() {
                prop_assert_eq!(code_at(&bytes, bits, index), Some(code & mask(bits)));
            }
            let padding = padding_mask(bits, codes.len() as u64);
            prop_assert_eq!(bytes.last().map_or(0, |last| last & padding), 0);
            prop_assert_eq!(code_at(&bytes, bits, bytes.len() * 8 / bits as usize), None);
        }
    }

    #[test]
    fn low_bits_come_first() {
        assert_eq!(pack([1, 2, 3].into_iter(), 4), [0x21, 0x03]);
        assert_eq!(pack([1, 2, 3, 0, 1].into_iter(), 2), [0b00_11_10_01, 0b01]);
        assert_eq!(pack([0x01, 0x02, 0x03, 0x3f].into_iter(), 6), [0x81, 0x30, 0xfc]);
        assert_eq!(padding_mask(6, 3), 0b1111_1100);
        assert_eq!(padding_mask(4, 1), 0xf0);
        assert_eq!(padding_mask(2, u64::MAX), 0b1100_0000);
        assert_eq!(code_at(&[1], 6, usize::MAX), None);
    }
}
