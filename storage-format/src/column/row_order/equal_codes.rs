//! Finds the rows that have a code, by comparing 64 codes at a time.

use crate::array::UintArray;

/// Codes compared at a time: one for each bit of a mask.
const BLOCK_CODES: usize = 64;
/// Multiplied with eight bytes of 0 or 1, gathers them in the highest byte.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// The rows with one code, from some row on.
pub(super) struct EqualCodes<'a> {
    /// The codes from `row` on.
    raw: &'a [u8],
    width: usize,
    code: u32,
    row: usize,
}

impl<'a> EqualCodes<'a> {
    /// From row `start` on. `None` beyond the end, and for an array without bytes: its codes are all 0.
    pub(super) fn new(codes: &UintArray<'a>, code: u32, start: usize) -> Option<EqualCodes<'a>> {
        let raw = codes.raw(start, codes.len().checked_sub(start)?)?;
        (codes.width() > 0).then_some(EqualCodes { raw, width: codes.width(), code, row: start })
    }

    /// Skips `skipped` rows and appends the next `count`; `None` when there are fewer.
    pub(super) fn take(&self, skipped: u32, count: u32, out: &mut Vec<u32>) -> Option<()> {
        let (mut skipped, mut left) = (skipped, count);
        for (number, block) in self.raw.chunks(BLOCK_CODES * self.width).enumerate() {
            let mut mask = self.mask(block);
            // Most blocks have no row of a rare code.
            if mask == 0 {
                continue;
            }
            let found = mask.count_ones();
            if found <= skipped {
                skipped -= found;
                continue;
            }
            for _ in 0..std::mem::take(&mut skipped) {
                mask &= mask - 1;
            }
            let first = u32::try_from(self.row + number * BLOCK_CODES).ok()?;
            while mask != 0 {
                out.push(first + mask.trailing_zeros());
                left -= 1;
                if left == 0 {
                    return Some(());
                }
                mask &= mask - 1;
            }
        }
        None
    }

    /// The number of rows below `end`.
    pub(super) fn count_until(&self, end: usize) -> Option<u32> {
        let raw = self.raw.get(..end.checked_sub(self.row)? * self.width)?;
        Some(raw.chunks(BLOCK_CODES * self.width).map(|block| self.mask(block).count_ones()).sum())
    }

    /// A bit for each of at most 64 codes: 1 where it is the wanted one.
    fn mask(&self, block: &[u8]) -> u64 {
        match self.width {
            1 => u8::try_from(self.code).map_or(0, |code| mask_of_bytes(block, code)),
            2 => {
                let codes = block.as_chunks::<2>().0.iter();
                mask_of(codes.map(|code| u32::from(u16::from_le_bytes(*code)) == self.code))
            }
            3 => {
                let codes = block.as_chunks::<3>().0.iter();
                mask_of(codes.map(|[a, b, c]| u32::from_le_bytes([*a, *b, *c, 0]) == self.code))
            }
            _ => {
                let codes = block.as_chunks::<4>().0.iter();
                mask_of(codes.map(|code| u32::from_le_bytes(*code) == self.code))
            }
        }
    }
}

/// A bit for each test.
fn mask_of(tests: impl Iterator<Item = bool>) -> u64 {
    tests.enumerate().fold(0, |mask, (bit, test)| mask | u64::from(test) << bit)
}

/// The compiler compares a whole block as vectors.
#[inline]
fn mask_of_bytes(block: &[u8], code: u8) -> u64 {
    let Ok(block) = <&[u8; BLOCK_CODES]>::try_from(block) else {
        return mask_of(block.iter().map(|found| *found == code));
    };
    let marks = block.map(|found| u8::from(found == code));
    let gathered =
        marks.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56);
    (0..).step_by(8).zip(gathered).fold(0, |mask, (bit, byte)| mask | byte << bit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::array::{ARRAY_PADDING, push_uint};

    proptest! {
        #[test]
        fn finds_what_a_plain_loop_finds(
            codes in prop::collection::vec(0u32..6, 0..400),
            width in 1u8..=4,
            code in 0u32..7,
            start in 0usize..400,
            skipped in 0u32..60,
            count in 1u32..60,
        ) {
            // Codes in every byte of an item, also above 127.
            let spread = |code: u32| code * if width == 1 { 51 } else { (1 << (u32::from(width) * 8 - 3)) - 1 };
            let mut bytes = Vec::new();
            codes.iter().for_each(|code| push_uint(&mut bytes, spread(*code), width));
            bytes.extend_from_slice(&[0xEE; ARRAY_PADDING]);
            let array = UintArray::new(&bytes, width.into(), codes.len()).unwrap();
            let start = start.min(codes.len());
            let expected: Vec<u32> =
                (0u32..).zip(&codes).skip(start).filter(|(_, found)| **found == code).map(|(row, _)| row).collect();
            let equal = EqualCodes::new(&array, spread(code), start).unwrap();
            let wanted: Vec<u32> =
                expected.iter().copied().skip(skipped as usize).take(count as usize).collect();
            let mut found = Vec::new();
            let complete = equal.take(skipped, count, &mut found).is_some();
            prop_assert_eq!(complete, wanted.len() == count as usize);
            prop_assert_eq!(found, wanted);
            prop_assert_eq!(equal.count_until(codes.len()), Some(expected.len() as u32));
            prop_assert_eq!(equal.count_until(codes.len() + 1), None);
        }
    }
}
