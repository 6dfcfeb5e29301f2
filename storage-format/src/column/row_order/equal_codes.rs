//! Finds the rows that have a code, by comparing 64 codes at a time.

use crate::array::UintArray;
use crate::column::lanes::Lane;
use crate::with_lane;

/// Codes compared at a time: one for each bit of a mask.
const BLOCK_CODES: usize = 64;
/// Codes unpacked at a time.
const UNPACKED_CODES: usize = 256;
/// Multiplied with eight bytes of 0 or 1, gathers them in the highest byte.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// The rows with one code, from some row on.
pub(super) struct EqualCodes<'a> {
    codes: UintArray<'a>,
    code: u32,
    row: usize,
}

impl<'a> EqualCodes<'a> {
    /// From row `start` on. `None` beyond the end.
    pub(super) fn new(codes: &UintArray<'a>, code: u32, start: usize) -> Option<EqualCodes<'a>> {
        (start <= codes.len()).then_some(EqualCodes { codes: *codes, code, row: start })
    }

    /// Skips `skipped` rows and appends the next `count`; `None` when there are fewer.
    pub(super) fn take(&self, skipped: u32, count: u32, out: &mut Vec<u32>) -> Option<()> {
        let (mut skipped, mut left) = (skipped, count);
        let complete = self.masks(self.codes.len(), |row, mut mask| {
            // Most blocks have no row of a rare code.
            let found = mask.count_ones();
            if found <= skipped {
                skipped -= found;
                return true;
            }
            for _ in 0..std::mem::take(&mut skipped) {
                mask &= mask - 1;
            }
            while mask != 0 && left > 0 {
                out.push(row + mask.trailing_zeros());
                left -= 1;
                mask &= mask - 1;
            }
            left > 0
        });
        complete.filter(|()| left == 0)
    }

    /// The number of rows below `end`.
    pub(super) fn count_until(&self, end: usize) -> Option<u32> {
        let mut count = 0;
        self.masks(end, |_, mask| {
            count += mask.count_ones();
            true
        })?;
        Some(count)
    }

    /// Calls `take` with the first row and a mask of each block, until it returns false. `None` when `end` is beyond the
    /// last row.
    fn masks(&self, end: usize, mut take: impl FnMut(u32, u64) -> bool) -> Option<()> {
        (self.row <= end && end <= self.codes.len()).then_some(())?;
        with_lane!(self.codes.lanes().width(), Word => {
            let code = Word::truncated(self.code.into());
            // A code that is too wide for a word is not there.
            let fits = Lane::wide(code) == u128::from(self.code);
            let mut unpacked = [Word::default(); UNPACKED_CODES];
            for start in (self.row..end).step_by(UNPACKED_CODES) {
                let codes = unpacked.get_mut(..UNPACKED_CODES.min(end - start))?;
                self.codes.lanes().unpack(start, codes)?;
                for (number, block) in codes.chunks(BLOCK_CODES).enumerate() {
                    let row = u32::try_from(start + number * BLOCK_CODES).ok()?;
                    if !take(row, if fits { mask_of(block, code) } else { 0 }) {
                        return Some(());
                    }
                }
            }
            Some(())
        })
    }
}

/// A bit for each of at most 64 codes: 1 where it is the wanted one. The compiler compares a whole block as vectors.
#[inline]
fn mask_of<T: Lane>(block: &[T], code: T) -> u64 {
    let Ok(block) = <&[T; BLOCK_CODES]>::try_from(block) else {
        let tests = block.iter().enumerate();
        return tests.fold(0, |mask, (bit, found)| mask | u64::from(*found == code) << bit);
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
    use crate::column::lanes::{LANES_PADDING, pack};

    proptest! {
        #[test]
        fn finds_what_a_plain_loop_finds(
            codes in prop::collection::vec(0u32..6, 0..1_200),
            width in 3u32..=32,
            code in 0u32..7,
            start in 0usize..1_200,
            skipped in 0u32..60,
            count in 1u32..60,
        ) {
            // Codes with all bits of an item. The last one may be too wide.
            let spread = |code: u32| code << (width - 3) | code;
            let mut bytes = Vec::new();
            pack(&codes.iter().map(|code| spread(*code)).collect::<Vec<_>>(), width, &mut bytes);
            bytes.extend_from_slice(&[0xEE; LANES_PADDING]);
            let array = UintArray::new(&bytes, width, codes.len()).unwrap();
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
