//! Arrays of unsigned integers of 0 to 32 bits, packed without gaps, least significant bit first. The width is not
//! stored. Does not depend on sections.

use crate::layout::take;

/// Readable bytes behind an array, so that one load reads any item.
pub const BITS_PADDING: usize = 8;
/// Items that are copied together, and the most bytes that are loaded for them.
const GROUP_ITEMS: usize = 8;
const GROUP_BYTES_MAX: usize = 40;
/// Most bits of an item.
pub const BIT_WIDTH_MAX: u32 = 32;

/// The bits that hold every value up to `largest`.
#[must_use]
pub fn bit_width(largest: u32) -> u32 {
    32 - largest.leading_zeros()
}

/// Bytes of an array.
pub(crate) fn packed_bytes(items: u64, width: u32) -> u64 {
    (items * u64::from(width)).div_ceil(8)
}

/// Unsigned integers of one width in bits.
#[derive(Clone, Copy, Debug)]
pub struct BitArray<'a> {
    /// Items and padding.
    bytes: &'a [u8],
    width: usize,
    mask: u64,
    len: usize,
}

impl<'a> BitArray<'a> {
    /// An array of `len` items of `width` bits; `None` when the width is above 32, or the bytes with padding are too
    /// short.
    pub(crate) fn new(padded: &'a [u8], width: u32, len: usize) -> Option<BitArray<'a>> {
        if width > BIT_WIDTH_MAX {
            return None;
        }
        let needed = usize::try_from(packed_bytes(len as u64, width)).ok()?.checked_add(BITS_PADDING)?;
        let bytes = padded.get(..needed)?;
        Some(BitArray { bytes, width: width as usize, mask: (1 << width) - 1, len })
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The item at `index`, or `None` beyond the end.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u32> {
        if index < self.len { self.load(index) } else { None }
    }

    /// At most 7 + 32 of the 64 bits at a byte are needed.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the mask keeps at most 32 bits")]
    fn load(&self, index: usize) -> Option<u32> {
        let bit = index * self.width;
        let word = take(self.bytes, bit / 8).map(u64::from_le_bytes)?;
        Some((word >> (bit % 8) & self.mask) as u32)
    }

    /// Whether the bits behind the last item are 0.
    pub(crate) fn ends_in_zeros(&self) -> bool {
        let bits = self.len * self.width;
        bits.is_multiple_of(8) || self.bytes.get(bits / 8).is_some_and(|last| last >> (bits % 8) == 0)
    }

    /// Appends items `start..start + count`. Returns false when they exceed the end.
    #[must_use]
    pub fn copy_range(&self, start: usize, count: usize, out: &mut Vec<u32>) -> bool {
        let Some(end) = start.checked_add(count).filter(|end| *end <= self.len) else {
            return false;
        };
        let from = out.len();
        out.resize(from + count, 0);
        let Some(items) = out.get_mut(from..) else { return false };
        // Eight items from a multiple of eight on begin at a byte.
        let (head, items) = items.split_at_mut((start.next_multiple_of(GROUP_ITEMS) - start).min(count));
        let groups = (start + head.len()).div_ceil(GROUP_ITEMS);
        let (whole, tail) = items.as_chunks_mut::<GROUP_ITEMS>();
        let first_of_tail = end - tail.len();
        self.copy_groups(groups, whole);
        for (index, item) in (start..).zip(head).chain((first_of_tail..).zip(tail)) {
            *item = self.load(index).unwrap_or(0);
        }
        true
    }

    /// Copies groups of eight items. Their places in a group are the same for all groups.
    #[expect(clippy::cast_possible_truncation, reason = "the mask keeps at most 32 bits")]
    fn copy_groups(&self, first: usize, groups: &mut [[u32; GROUP_ITEMS]]) {
        let places: [(usize, usize); GROUP_ITEMS] =
            std::array::from_fn(|item| (item * self.width / 8, item * self.width % 8));
        for (number, group) in (first..).zip(groups) {
            let start = number * self.width;
            match self.bytes.get(start..).and_then(<[u8]>::first_chunk::<GROUP_BYTES_MAX>) {
                Some(bytes) => {
                    for (item, (at, shift)) in group.iter_mut().zip(places) {
                        *item = (take(bytes, at).map_or(0, u64::from_le_bytes) >> shift & self.mask) as u32;
                    }
                }
                // The last groups have fewer bytes behind them.
                None => {
                    for (index, item) in (number * GROUP_ITEMS..).zip(group) {
                        *item = self.load(index).unwrap_or(0);
                    }
                }
            }
        }
    }
}

/// Packs integers of one width.
pub(crate) struct BitPacker {
    width: u32,
    /// Bits that do not fill a word yet, and how many.
    word: u64,
    used: u32,
}

impl BitPacker {
    /// `width` is at most [`BIT_WIDTH_MAX`].
    pub(crate) fn new(width: u32) -> BitPacker {
        BitPacker { width, word: 0, used: 0 }
    }

    /// Appends `value`, whose bits above the width are 0, to `out`, a word at a time.
    #[inline]
    pub(crate) fn push(&mut self, value: u32, out: &mut Vec<u8>) {
        let value = u64::from(value);
        self.word |= value << self.used;
        self.used += self.width;
        if self.used >= 64 {
            out.extend_from_slice(&self.word.to_le_bytes());
            self.used -= 64;
            // What did not fit are the `used` highest bits of the value.
            self.word = value >> (self.width - self.used);
        }
    }

    /// Appends the last bits, filled up to a byte.
    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        let bytes = self.word.to_le_bytes();
        out.extend_from_slice(bytes.get(..self.used.div_ceil(8) as usize).unwrap_or_default());
    }
}

/// Packs values of `width` bits.
pub(crate) fn pack(values: impl Iterator<Item = u32>, width: u32, out: &mut Vec<u8>) {
    let mut packer = BitPacker::new(width);
    values.for_each(|value| packer.push(value, out));
    packer.finish(out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packs_as_in_the_example_of_the_format() {
        let mut bytes = Vec::new();
        pack([5, 2, 0].into_iter(), 3, &mut bytes);
        assert_eq!(bytes, [0x15, 0x00]);
    }

    #[test]
    fn bit_width_holds_largest_value() {
        assert_eq!([0, 1, 2, 3, 4, 255, 256, u32::MAX].map(bit_width), [0, 1, 2, 2, 3, 8, 9, 32]);
    }

    #[test]
    fn rejects_array_without_padding_or_of_33_bits() {
        assert!(BitArray::new(&[0; 9], 3, 3).is_none());
        assert!(BitArray::new(&[0; 10], 3, 3).is_some());
        assert!(BitArray::new(&[0; 99], 33, 1).is_none());
        assert!(BitArray::new(&[0; 8], 0, usize::MAX).is_some());
    }

    proptest! {
        #[test]
        fn reads_back_values_of_every_width(width in 0u32..=32, seed in prop::collection::vec(any::<u32>(), 0..200)) {
            let mask = u32::try_from((1u64 << width) - 1).unwrap();
            let values: Vec<u32> = seed.iter().map(|value| value & mask).collect();
            let mut bytes = Vec::new();
            pack(values.iter().copied(), width, &mut bytes);
            prop_assert_eq!(bytes.len() as u64, packed_bytes(values.len() as u64, width));
            bytes.extend_from_slice(&[0xEE; BITS_PADDING]);
            let array = BitArray::new(&bytes, width, values.len()).unwrap();
            for (index, value) in values.iter().enumerate() {
                prop_assert_eq!(array.get(index), Some(*value));
            }
            prop_assert_eq!(array.get(values.len()), None);
            let middle = values.len() / 7;
            let mut copied = vec![7];
            prop_assert!(array.copy_range(middle, values.len() - middle, &mut copied));
            prop_assert_eq!(&copied[1..], &values[middle..]);
            prop_assert!(!array.copy_range(middle, values.len() - middle + 1, &mut copied));
        }
    }
}
