//! Unsigned integers of one width of 0 to 128 bits, one behind the other, least significant bit first. Does not depend on
//! blocks.

use crate::layout::take;

/// Bytes that must follow the items, so that whole words are loaded.
pub(crate) const BITS_PADDING: usize = 32;

/// Items of any width that end with a byte, which are unpacked together.
pub(crate) const GROUP_ITEMS: usize = 8;

/// Bytes of `count` items.
pub(crate) fn packed_len(count: usize, width: u8) -> usize {
    (count * usize::from(width)).div_ceil(8)
}

/// The width that holds every item up to `largest`.
pub(crate) fn width_of(largest: u128) -> u8 {
    u8::try_from(u128::BITS - largest.leading_zeros()).unwrap_or(u8::MAX)
}

/// The item at `index`, of at most 64 bits.
#[inline]
pub(crate) fn get(padded: &[u8], index: usize, width: u8) -> Option<u64> {
    let bit = index * usize::from(width);
    let (byte, shift) = (bit / 8, bit % 8);
    let word = if usize::from(width) + shift <= 64 {
        u64::from_le_bytes(take(padded, byte)?) >> shift
    } else {
        #[expect(clippy::cast_possible_truncation, reason = "the mask takes what is left")]
        let low = (u128::from_le_bytes(take(padded, byte)?) >> shift) as u64;
        low
    };
    Some(word & mask(width))
}

/// The item at `index`, of at most 128 bits.
pub(crate) fn get_wide(padded: &[u8], index: usize, width: u8) -> Option<u128> {
    let bit = index * usize::from(width);
    let (byte, shift) = (bit / 8, (bit % 8) as u32);
    let mut word = u128::from_le_bytes(take(padded, byte)?) >> shift;
    if u32::from(width) + shift > 128 {
        let [last] = take(padded, byte + 16)?;
        word |= u128::from(last) << (128 - shift);
    }
    Some(word & u128::MAX.checked_shr(128_u32.saturating_sub(width.into())).unwrap_or(0))
}

#[inline]
fn mask(width: u8) -> u64 {
    u64::MAX.checked_shr(64_u32.saturating_sub(width.into())).unwrap_or(0)
}

/// Calls `take` with the items of `range`, of at most 64 bits each; `None` when the bytes end before.
#[inline]
pub(crate) fn each(
    padded: &[u8],
    range: std::ops::Range<usize>,
    width: u8,
    mut take: impl FnMut(u64),
) -> Option<()> {
    for index in range {
        take(get(padded, index, width)?);
    }
    Some(())
}

/// The first items, of at most 64 bits each, by whole groups. Each width has its own loop, whose positions are constants.
#[inline]
pub(crate) fn unpack<T>(padded: &[u8], width: u8, out: &mut [T], convert: impl Fn(u64) -> T) -> Option<()> {
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

/// Appends items to bytes.
pub(crate) struct BitWriter<'o> {
    out: &'o mut Vec<u8>,
    pending: u128,
    bits: u32,
}

impl<'o> BitWriter<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>) -> BitWriter<'o> {
        BitWriter { out, pending: 0, bits: 0 }
    }

    /// Appends an item below 2^width.
    #[inline]
    pub(crate) fn push(&mut self, item: u128, width: u8) {
        #[expect(clippy::cast_possible_truncation, reason = "the halves of an item")]
        let (low, high) = (item as u64, (item >> 64) as u64);
        self.push_word(low, width.min(64));
        self.push_word(high, width.saturating_sub(64));
    }

    /// Appends an item below 2^width, of at most 64 bits.
    #[inline]
    pub(crate) fn push_word(&mut self, item: u64, width: u8) {
        self.pending |= u128::from(item & mask(width)) << self.bits;
        self.bits += u32::from(width);
        while self.bits >= 8 {
            let [byte, ..] = self.pending.to_le_bytes();
            self.out.push(byte);
            self.pending >>= 8;
            self.bits -= 8;
        }
    }

    /// Fills the last byte up with zeros.
    pub(crate) fn finish(self) {
        if self.bits > 0 {
            let [byte, ..] = self.pending.to_le_bytes();
            self.out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin: bit by bit.
    fn get_slowly(bytes: &[u8], index: usize, width: u8) -> u128 {
        let bit = |at: usize| u128::from(bytes[at / 8] >> (at % 8) & 1);
        (0..usize::from(width)).map(|number| bit(index * usize::from(width) + number) << number).sum()
    }

    proptest! {
        #[test]
        fn reads_back_every_width(items in prop::collection::vec(any::<u128>(), 0..130), width in 0u8..=128) {
            let mut bytes = Vec::new();
            let mut writer = BitWriter::new(&mut bytes);
            let items: Vec<u128> =
                items.iter().map(|item| if width == 128 { *item } else { item & ((1 << width) - 1) }).collect();
            items.iter().for_each(|item| writer.push(*item, width));
            writer.finish();
            prop_assert_eq!(bytes.len(), packed_len(items.len(), width));
            bytes.extend([0xEE; BITS_PADDING]);
            for (index, item) in items.iter().enumerate() {
                prop_assert_eq!(get_slowly(&bytes, index, width), *item);
                prop_assert_eq!(get_wide(&bytes, index, width), Some(*item));
                if width <= 64 {
                    prop_assert_eq!(get(&bytes, index, width).map(u128::from), Some(*item));
                }
            }
            if width <= 64 {
                let mut found = Vec::new();
                let mut first = vec![0; items.len() / GROUP_ITEMS * GROUP_ITEMS];
                unpack(&bytes, width, &mut first, |item| item).unwrap();
                prop_assert!(first.iter().zip(&items).all(|(found, item)| u128::from(*found) == *item));
                each(&bytes, 0..items.len(), width, |item| found.push(u128::from(item))).unwrap();
                prop_assert_eq!(found, items);
            }
        }
    }

    #[test]
    fn widths_hold_their_largest() {
        assert_eq!([0, 1, 2, 255, 256, u128::MAX].map(width_of), [0, 1, 2, 8, 9, 128]);
    }
}
