//! Arrays of unsigned integers of at most 32 bits: codes and ranks of rows. Does not depend on sections.

use crate::column::lanes::Lanes;

/// Unsigned integers of one width of at most 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct UintArray<'a> {
    lanes: Lanes<'a>,
}

#[expect(clippy::cast_possible_truncation, reason = "an item has at most 32 bits")]
impl<'a> UintArray<'a> {
    /// An array of `len` items of `width` bits; `None` when the width is above 32, or the bytes with padding are too
    /// short.
    pub(crate) fn new(padded: &'a [u8], width: u32, len: usize) -> Option<UintArray<'a>> {
        let lanes = Lanes::new(padded, width, len)?;
        (width <= u32::BITS).then_some(UintArray { lanes })
    }

    /// The packed items.
    #[must_use]
    pub fn lanes(&self) -> &Lanes<'a> {
        &self.lanes
    }

    /// Number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Whether the array is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// The item at `index`, or `None` beyond the end.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u32> {
        self.lanes.get(index).map(|item| item as u32)
    }

    /// Appends items `start..start + count`. Returns false when they exceed the end.
    #[must_use]
    pub fn copy_range(&self, start: usize, count: usize, out: &mut Vec<u32>) -> bool {
        self.lanes.append(start, count, out, |item| item as u32).is_some()
    }

    /// Appends the items at `rows`. Returns false when one of them is beyond the end; the appended items are then
    /// invalid.
    #[must_use]
    pub fn gather(&self, rows: &[u32], out: &mut Vec<u32>) -> bool {
        let mut complete = true;
        out.extend(rows.iter().map(|row| {
            self.get(*row as usize).unwrap_or_else(|| {
                complete = false;
                0
            })
        }));
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::bits::bit_width;
    use crate::column::lanes::{LANES_PADDING, pack};

    #[test]
    fn reads_back_values_in_any_order() {
        for largest in [0u32, 1, 7, 0xFF, 0x100, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000, u32::MAX] {
            let values = [0, largest / 3, largest, largest.min(1), largest.saturating_sub(1)];
            let mut bytes = Vec::new();
            pack(&values, bit_width(largest), &mut bytes);
            bytes.extend_from_slice(&[0xEE; LANES_PADDING]);
            let array = UintArray::new(&bytes, bit_width(largest), values.len()).unwrap();
            assert_eq!((0..5).map(|index| array.get(index).unwrap()).collect::<Vec<_>>(), values);
            assert_eq!(array.get(5), None);
            let mut copied = Vec::new();
            assert!(array.copy_range(1, 3, &mut copied));
            assert_eq!(copied, values[1..4]);
            assert!(!array.copy_range(3, 3, &mut copied));
            copied.clear();
            assert!(array.gather(&[2, 0], &mut copied) && !array.gather(&[5], &mut copied));
            assert_eq!(copied[..2], [largest, 0]);
        }
    }

    #[test]
    fn rejects_array_without_padding_or_of_33_bits() {
        assert!(UintArray::new(&[0; 135], 8, 128).is_none());
        assert!(UintArray::new(&[0; 136], 8, 128).is_some());
        assert!(UintArray::new(&[0; 999], 33, 1).is_none());
        assert!(UintArray::new(&[0; 8], 0, usize::MAX).is_some());
    }
}
