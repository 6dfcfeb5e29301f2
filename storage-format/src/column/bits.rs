//! Unsigned integers of one width of 0 to 128 bits, packed without gaps, least significant bit first. The width is not
//! stored. Does not depend on sections.

use crate::layout::take;

/// Readable bytes behind items of at most 32 bits, so that one load reads any of them.
pub const BITS_PADDING: usize = 8;
/// Readable bytes behind wider items.
pub(crate) const WIDE_PADDING: usize = 32;
/// Items of any width that end with a byte, which are unpacked together.
pub(crate) const GROUP_ITEMS: usize = 8;
/// Most bits of an item of an array.
pub const BIT_WIDTH_MAX: u32 = 32;

/// The bits that hold every value up to `largest`.
#[must_use]
pub fn bit_width(largest: impl Into<u128>) -> u32 {
    u128::BITS - largest.into().leading_zeros()
}

/// The bits of a code; null has the code behind the last entry.
pub(crate) fn code_width(entries: u32, has_nulls: bool) -> u32 {
    bit_width(if has_nulls { entries } else { entries.saturating_sub(1) })
}

/// Bytes of so many items.
pub(crate) fn packed_bytes(items: usize, width: u32) -> usize {
    (items * width as usize).div_ceil(8)
}

/// The item at `index`, of at most 64 bits; `None` when the bytes end before.
#[inline]
pub(crate) fn get(padded: &[u8], index: usize, width: u32) -> Option<u64> {
    let bit = index * width as usize;
    let (byte, shift) = (bit / 8, bit % 8);
    let word = if width as usize + shift <= 64 {
        u64::from_le_bytes(take(padded, byte)?) >> shift
    } else {
        #[expect(clippy::cast_possible_truncation, reason = "the mask takes what is left")]
        let low = (u128::from_le_bytes(take(padded, byte)?) >> shift) as u64;
        low
    };
    Some(word & mask(width))
}

/// The item at `index`, of at most 128 bits; `None` when the bytes end before.
pub(crate) fn get_wide(padded: &[u8], index: usize, width: u32) -> Option<u128> {
    let bit = index * width as usize;
    let (byte, shift) = (bit / 8, (bit % 8) as u32);
    let mut word = u128::from_le_bytes(take(padded, byte)?) >> shift;
    if width + shift > 128 {
        let [last] = take(padded, byte + 16)?;
        word |= u128::from(last) << (128 - shift);
    }
    Some(word & u128::MAX.checked_shr(128_u32.saturating_sub(width)).unwrap_or(0))
}

#[inline]
fn mask(width: u32) -> u64 {
    u64::MAX.checked_shr(64_u32.saturating_sub(width)).unwrap_or(0)
}

/// The first items, of at most 64 bits each, by whole groups. Each width has its own loop, whose positions are constants.
#[inline]
pub(crate) fn unpack<T>(padded: &[u8], width: u32, out: &mut [T], convert: impl Fn(u64) -> T) -> Option<()> {
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                $($width => unpack_width::<$width, T>(padded, out, convert),)*
                _ => {
                    for (index, slot) in out.iter_mut().enumerate() {
                        *slot = convert(get(padded, index, width)?);
                    }
                    Some(())
                }
            }
        };
    }
    by_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

/// A group of items is `WIDTH` bytes.
#[inline]
fn unpack_width<const WIDTH: usize, T>(
    padded: &[u8],
    out: &mut [T],
    convert: impl Fn(u64) -> T,
) -> Option<()> {
    let mask = (1u64 << WIDTH) - 1;
    let (groups, _) = out.as_chunks_mut::<GROUP_ITEMS>();
    for (number, group) in groups.iter_mut().enumerate() {
        let bytes = padded.get(number * WIDTH..)?.get(..WIDTH + 8)?;
        for (index, slot) in group.iter_mut().enumerate() {
            let bit = index * WIDTH;
            *slot = convert((u64::from_le_bytes(take(bytes, bit / 8)?) >> (bit % 8)) & mask);
        }
    }
    Some(())
}

/// An array of items of at most 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct BitArray<'a> {
    /// With [`BITS_PADDING`] bytes behind the items.
    bytes: &'a [u8],
    width: u32,
    len: usize,
}

impl<'a> BitArray<'a> {
    /// An array of `len` items of `width` bits; `None` when the width is above 32, or the bytes with padding are too
    /// short.
    pub(crate) fn new(padded: &'a [u8], width: u32, len: usize) -> Option<BitArray<'a>> {
        if width > BIT_WIDTH_MAX {
            return None;
        }
        let needed = len.checked_mul(width as usize)?.div_ceil(8).checked_add(BITS_PADDING)?;
        Some(BitArray { bytes: padded.get(..needed)?, width, len })
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
    #[expect(clippy::cast_possible_truncation, reason = "an item has at most 32 bits")]
    pub fn get(&self, index: usize) -> Option<u32> {
        if index < self.len { get(self.bytes, index, self.width).map(|item| item as u32) } else { None }
    }

    /// Whether the bits behind the last item are 0.
    pub(crate) fn ends_in_zeros(&self) -> bool {
        let bits = self.len * self.width as usize;
        bits.is_multiple_of(8) || self.bytes.get(bits / 8).is_some_and(|last| last >> (bits % 8) == 0)
    }

    /// Appends items `start..start + count`. Returns false when they exceed the end.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "an item has at most 32 bits")]
    pub fn copy_range(&self, start: usize, count: usize, out: &mut Vec<u32>) -> bool {
        let Some(end) = start.checked_add(count).filter(|end| *end <= self.len) else {
            return false;
        };
        let from = out.len();
        out.resize(from + count, 0);
        let Some(items) = out.get_mut(from..) else { return false };
        let (head, items) = items.split_at_mut((start.next_multiple_of(GROUP_ITEMS) - start).min(count));
        let groups = (start + head.len()) / GROUP_ITEMS * self.width as usize;
        let (whole, tail) = items.split_at_mut(items.len() / GROUP_ITEMS * GROUP_ITEMS);
        let first_of_tail = end - tail.len();
        for (index, item) in (start..).zip(head).chain((first_of_tail..).zip(tail)) {
            *item = self.get(index).unwrap_or(0);
        }
        let padded = self.bytes.get(groups..).unwrap_or_default();
        unpack(padded, self.width, whole, |item| item as u32).is_some()
    }
}

/// Packs items, a word at a time.
#[derive(Default)]
pub(crate) struct BitPacker {
    /// Bits that do not fill a word yet, and how many.
    word: u64,
    used: u32,
}

impl BitPacker {
    /// Appends an item of at most 64 bits.
    #[inline]
    pub(crate) fn push(&mut self, item: u64, width: u32, out: &mut Vec<u8>) {
        let item = item & mask(width);
        self.word |= item << self.used;
        let filled = self.used + width;
        if filled < 64 {
            self.used = filled;
            return;
        }
        out.extend_from_slice(&self.word.to_le_bytes());
        // What did not fit.
        self.word = item.checked_shr(64 - self.used).unwrap_or(0);
        self.used = filled - 64;
    }

    /// Appends an item of at most 128 bits.
    #[inline]
    pub(crate) fn push_wide(&mut self, item: u128, width: u32, out: &mut Vec<u8>) {
        #[expect(clippy::cast_possible_truncation, reason = "the halves of an item")]
        let (low, high) = (item as u64, (item >> 64) as u64);
        self.push(low, width.min(64), out);
        self.push(high, width.saturating_sub(64), out);
    }

    /// Appends the last bits, filled up to a byte.
    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        let bytes = self.word.to_le_bytes();
        out.extend_from_slice(bytes.get(..self.used.div_ceil(8) as usize).unwrap_or_default());
    }
}

/// Appends items of at most 64 bits, filled up to a byte.
pub(crate) fn pack(items: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let mut packer = BitPacker::default();
    items.for_each(|item| packer.push(item, width, out));
    packer.finish(out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin: bit by bit.
    fn get_slowly(bytes: &[u8], index: usize, width: u32) -> u128 {
        let bit = |at: usize| u128::from(bytes[at / 8] >> (at % 8) & 1);
        let width = width as usize;
        (0..width).map(|number| bit(index * width + number) << number).sum()
    }

    #[test]
    fn packs_as_in_the_example_of_the_format() {
        let mut bytes = Vec::new();
        pack([5, 2, 0].into_iter(), 3, &mut bytes);
        assert_eq!(bytes, [0x15, 0x00]);
    }

    #[test]
    fn bit_width_holds_largest_value() {
        assert_eq!([0, 1, 2, 3, 4, 255, 256, u32::MAX].map(bit_width), [0, 1, 2, 2, 3, 8, 9, 32]);
        assert_eq!([0, 1, 2, 255, 256, u128::MAX].map(bit_width), [0, 1, 2, 8, 9, 128]);
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
        fn reads_back_every_width(items in prop::collection::vec(any::<u128>(), 0..130), width in 0u32..=128) {
            let mut bytes = Vec::new();
            let mut packer = BitPacker::default();
            let items: Vec<u128> =
                items.iter().map(|item| if width == 128 { *item } else { item & ((1 << width) - 1) }).collect();
            items.iter().for_each(|item| packer.push_wide(*item, width, &mut bytes));
            packer.finish(&mut bytes);
            prop_assert_eq!(bytes.len(), packed_bytes(items.len(), width));
            bytes.extend([0xEE; WIDE_PADDING]);
            for (index, item) in items.iter().enumerate() {
                prop_assert_eq!(get_slowly(&bytes, index, width), *item);
                prop_assert_eq!(get_wide(&bytes, index, width), Some(*item));
                if width <= 64 {
                    prop_assert_eq!(get(&bytes, index, width).map(u128::from), Some(*item));
                }
            }
            if width <= 64 {
                let mut first = vec![0; items.len() / GROUP_ITEMS * GROUP_ITEMS];
                unpack(&bytes, width, &mut first, |item| item).unwrap();
                prop_assert!(first.iter().zip(&items).all(|(found, item)| u128::from(*found) == *item));
            }
        }

        #[test]
        fn reads_back_values_of_every_width(width in 0u32..=32, seed in prop::collection::vec(any::<u32>(), 0..200)) {
            let mask = u32::try_from((1u64 << width) - 1).unwrap();
            let values: Vec<u32> = seed.iter().map(|value| value & mask).collect();
            let mut bytes = Vec::new();
            pack(values.iter().map(|value| u64::from(*value)), width, &mut bytes);
            prop_assert_eq!(bytes.len(), packed_bytes(values.len(), width));
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
