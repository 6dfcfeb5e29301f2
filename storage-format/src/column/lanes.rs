//! Unsigned integers of one width of 0 to 128 bits, interleaved over the lanes of a vector, so that plain loops unpack
//! many of them at a time. The layout is that of FastLanes (Afroozeh and Boncz, VLDB 2023) without its transposition.
//! Does not depend on sections.

use crate::layout::take;

/// Bytes of a vector: one word of each lane.
const VECTOR_BYTES: usize = 128;
/// Items of any width that fill whole vectors.
pub(crate) const UNIT_ITEMS: usize = 1_024;
/// Readable bytes behind the vectors, so that one load reads a word of any lane.
pub const LANES_PADDING: usize = 8;
/// Most bits of an item.
pub(crate) const LANE_BITS_MAX: u32 = 128;

/// The word of a lane, and an unpacked item.
pub trait Lane: Copy + Ord + Default + 'static {
    /// Bits of a word.
    const BITS: u32;

    /// The number as it is.
    fn wide(self) -> u128;

    /// The low bits of a number.
    fn truncated(number: u128) -> Self;

    /// The difference, which wraps around.
    #[must_use]
    fn wrapping_sub(self, other: Self) -> Self;

    /// The items of `width` bits, at least 1, that begin at bit `shift` of the words of a vector. `next` are the words
    /// behind it.
    fn unpack(vector: Vector<'_>, next: Vector<'_>, shift: u32, width: u32, out: &mut [Self]);

    /// Sets those items, which are 0 before.
    fn pack(items: &[Self], shift: u32, width: u32, vector: &mut [u8], next: &mut [u8]);
}

type Vector<'a> = &'a [u8; VECTOR_BYTES];

macro_rules! lanes {
    ($($word:ty)*) => {$(
        impl Lane for $word {
            const BITS: u32 = <$word>::BITS;

            #[inline]
            fn wide(self) -> u128 {
                self as u128
            }

            #[inline]
            fn truncated(number: u128) -> Self {
                (number & u128::MAX >> (u128::BITS - Self::BITS)) as $word
            }

            #[inline]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline]
            fn unpack(vector: Vector<'_>, next: Vector<'_>, shift: u32, width: u32, out: &mut [Self]) {
                let mask = <$word>::MAX >> (Self::BITS - width);
                let words = vector.as_chunks().0.iter().map(|word| <$word>::from_le_bytes(*word) >> shift);
                if shift + width <= Self::BITS {
                    out.iter_mut().zip(words).for_each(|(slot, low)| *slot = low & mask);
                    return;
                }
                let left = Self::BITS - shift;
                let next = next.as_chunks().0.iter().map(|word| <$word>::from_le_bytes(*word) << left);
                out.iter_mut().zip(words.zip(next)).for_each(|(slot, (low, high))| *slot = (low | high) & mask);
            }

            fn pack(items: &[Self], shift: u32, width: u32, vector: &mut [u8], next: &mut [u8]) {
                for (word, item) in vector.as_chunks_mut().0.iter_mut().zip(items) {
                    *word = (<$word>::from_le_bytes(*word) | item << shift).to_le_bytes();
                }
                if shift + width > Self::BITS {
                    for (word, item) in next.as_chunks_mut().0.iter_mut().zip(items) {
                        *word = (item >> (Self::BITS - shift)).to_le_bytes();
                    }
                }
            }
        }
    )*};
}

lanes!(u8 u16 u32 u64 u128);

/// Runs an expression with the word of a width's lanes as a type.
#[macro_export]
macro_rules! with_lane {
    ($width:expr, $lane:ident => $body:expr) => {
        match $width {
            0..=8 => {
                type $lane = u8;
                $body
            }
            9..=16 => {
                type $lane = u16;
                $body
            }
            17..=32 => {
                type $lane = u32;
                $body
            }
            33..=64 => {
                type $lane = u64;
                $body
            }
            _ => {
                type $lane = u128;
                $body
            }
        }
    };
}

/// Bits of a word for items of this width, 8 to 128, as a power of two.
#[inline]
fn log_word_bits(width: u32) -> u32 {
    u32::BITS - width.saturating_sub(1).leading_zeros().min(29)
}

/// The lanes of words of so many bits, both as powers of two.
#[inline]
fn log_lanes(log_word_bits: u32) -> u32 {
    (VECTOR_BYTES * 8).trailing_zeros() - log_word_bits
}

/// Bytes of so many items.
#[inline]
pub(crate) fn interleaved_bytes(items: usize, width: u32) -> usize {
    let log = log_word_bits(width);
    let ceil_shift = |number: usize, log: u32| (number >> log) + usize::from(number & ((1 << log) - 1) != 0);
    ceil_shift(ceil_shift(items, log_lanes(log)) * width as usize, log) * VECTOR_BYTES
}

/// The item at `index`, of at most 64 bits; `None` when the bytes end before.
#[inline]
pub(crate) fn item_at(padded: &[u8], width: u32, index: usize) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    let log = log_word_bits(width);
    let (word_bits, log_lanes) = (1 << log, log_lanes(log));
    let (round, lane) = (index >> log_lanes, index & ((1 << log_lanes) - 1));
    let bit = round * width as usize;
    let (word, shift) = (bit >> log, (bit & (word_bits - 1)) as u32);
    let at = word * VECTOR_BYTES + (lane << log) / 8;
    let word_bits = 1 << log;
    let mask = |bits: u32| u64::MAX >> (u64::BITS - bits);
    let low = (u64::from_le_bytes(take(padded, at)?) & mask(word_bits)) >> shift;
    if shift + width <= word_bits {
        return Some(low & mask(width));
    }
    let high = u64::from_le_bytes(take(padded, at + VECTOR_BYTES)?) << (word_bits - shift);
    Some((low | high) & mask(width))
}

/// Items of one width.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// With [`LANES_PADDING`] bytes behind the vectors.
    padded: &'a [u8],
    width: u32,
    len: usize,
}

impl<'a> Lanes<'a> {
    /// `len` items of `width` bits; `None` when the width is above 128, or the bytes with padding are too short.
    pub(crate) fn new(padded: &'a [u8], width: u32, len: usize) -> Option<Lanes<'a>> {
        let needed = interleaved_bytes(len, width).checked_add(LANES_PADDING)?;
        let padded = padded.get(..needed)?;
        (width <= LANE_BITS_MAX).then_some(Lanes { padded, width, len })
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bits of an item.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The low 64 bits of the item at `index`, or `None` beyond the end.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u64> {
        if self.width > u64::BITS {
            #[expect(clippy::cast_possible_truncation, reason = "only low bits are wanted")]
            return self.get_wide(index).map(|item| item as u64);
        }
        if index < self.len { item_at(self.padded, self.width, index) } else { None }
    }

    /// The item at `index`, or `None` beyond the end.
    #[must_use]
    pub fn get_wide(&self, index: usize) -> Option<u128> {
        if self.width <= u64::BITS {
            return self.get(index).map(u128::from);
        }
        let mut item = [0u128];
        self.unpack(index, &mut item)?;
        Some(item[0])
    }

    /// Unpacks consecutive items from `start` on; `None` when they exceed the end, or `T` is not the word of the width's
    /// lanes.
    pub fn unpack<T: Lane>(&self, start: usize, out: &mut [T]) -> Option<()> {
        start.checked_add(out.len()).filter(|end| *end <= self.len)?;
        if T::BITS != 1 << log_word_bits(self.width) {
            return None;
        }
        if self.width == 0 {
            out.fill(T::default());
            return Some(());
        }
        let items = VECTOR_BYTES * 8 / T::BITS as usize;
        let skipped = start % items;
        let (head, whole) = out.split_at_mut(if skipped == 0 { 0 } else { (items - skipped).min(out.len()) });
        if !head.is_empty() {
            let mut round = [T::default(); VECTOR_BYTES];
            self.unpack_round(start / items, round.get_mut(..items)?)?;
            head.copy_from_slice(round.get(skipped..skipped + head.len())?);
        }
        (start.div_ceil(items)..)
            .zip(whole.chunks_mut(items))
            .try_for_each(|(number, round)| self.unpack_round(number, round))
    }

    /// Unpacks the items that stand at the same place of their lanes.
    #[inline]
    fn unpack_round<T: Lane>(&self, number: usize, out: &mut [T]) -> Option<()> {
        let bit = number * self.width as usize;
        let (word, shift) = (bit / T::BITS as usize, (bit % T::BITS as usize) as u32);
        let vectors = self.padded.get(word * VECTOR_BYTES..)?;
        let vector = vectors.first_chunk()?;
        let crosses = shift + self.width > T::BITS;
        let next = if crosses { vectors.get(VECTOR_BYTES..)?.first_chunk()? } else { vector };
        T::unpack(vector, next, shift, self.width, out);
        Some(())
    }

    /// Calls `take` with all of `count` items from `start` on, up to 1,024 at a time; `None` as [`Lanes::unpack`].
    pub fn each<T: Lane>(&self, start: usize, count: usize, mut take: impl FnMut(&[T])) -> Option<()> {
        let end = start.checked_add(count)?;
        let mut buffer = [T::default(); UNIT_ITEMS];
        let mut at = start;
        while at < end {
            let items = buffer.get_mut(..(UNIT_ITEMS - at % UNIT_ITEMS).min(end - at))?;
            self.unpack(at, items)?;
            take(items);
            at += items.len();
        }
        Some(())
    }

    /// Appends `count` items from `start` on; `None` when they exceed the end.
    pub(crate) fn append<T>(
        &self,
        start: usize,
        count: usize,
        out: &mut Vec<T>,
        convert: impl Fn(u128) -> T,
    ) -> Option<()> {
        with_lane!(self.width, Word => self.each(start, count, |items: &[Word]| {
            out.extend(items.iter().map(|item| convert(Lane::wide(*item))));
        }))
    }

    /// Whether all bits that belong to no item are 0.
    pub(crate) fn ends_in_zeros(&self) -> bool {
        let bytes = interleaved_bytes(self.len, self.width);
        let from = self.len / UNIT_ITEMS * UNIT_ITEMS;
        let (mut items, mut packed) = (Vec::new(), Vec::new());
        let read = self.append(from, self.len - from, &mut items, |item| item);
        pack(&items, self.width, &mut packed);
        read.is_some() && self.padded.get(bytes - packed.len()..bytes) == Some(&packed)
    }
}

/// Appends the vectors of items. What is appended piece by piece must be whole units of [`UNIT_ITEMS`], but for the last.
pub(crate) fn pack<T: Copy + Into<u128>>(items: &[T], width: u32, out: &mut Vec<u8>) {
    with_lane!(width, Word => {
        let words: Vec<Word> = items.iter().map(|item| Word::truncated((*item).into())).collect();
        pack_words(&words, width, out);
    });
}

fn pack_words<T: Lane>(items: &[T], width: u32, out: &mut Vec<u8>) {
    let start = out.len();
    // What an item may cross into, even behind the last vector.
    out.resize(start + interleaved_bytes(items.len(), width) + VECTOR_BYTES, 0);
    if width > 0 {
        for (number, round) in items.chunks(VECTOR_BYTES * 8 / T::BITS as usize).enumerate() {
            let bit = number * width as usize;
            let at = start + bit / T::BITS as usize * VECTOR_BYTES;
            let vectors = out.get_mut(at..at + 2 * VECTOR_BYTES).unwrap_or_default();
            let (vector, next) = vectors.split_at_mut(vectors.len() / 2);
            T::pack(round, (bit % T::BITS as usize) as u32, width, vector, next);
        }
    }
    out.truncate(out.len() - VECTOR_BYTES);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The naive twin: each bit at its place in FORMAT.md.
    fn get_slowly(bytes: &[u8], index: usize, width: usize) -> u128 {
        let word = width.next_power_of_two().max(8);
        let lanes = 1_024 / word;
        let bit = |number: usize| {
            let at = index / lanes * width + number;
            let byte = at / word * 128 + index % lanes * (word / 8) + at % word / 8;
            u128::from(bytes[byte] >> (at % 8) & 1)
        };
        (0..width).map(|number| bit(number) << number).sum()
    }

    #[test]
    fn takes_vectors_as_they_are_needed() {
        assert_eq!(interleaved_bytes(0, 9), 0);
        assert_eq!(interleaved_bytes(1, 0), 0);
        assert_eq!(interleaved_bytes(1, 1), 128);
        assert_eq!(interleaved_bytes(1_024, 1), 128);
        assert_eq!(interleaved_bytes(1_025, 1), 256);
        assert_eq!(interleaved_bytes(1_024, 23), 23 * 128);
        assert_eq!(interleaved_bytes(64, 9), 128);
        assert_eq!(interleaved_bytes(65, 9), 256);
    }

    #[test]
    fn packs_as_in_the_example_of_the_format() {
        let mut bytes = Vec::new();
        let items: Vec<u8> = (0..130).map(|item| [5, 2, 0][item % 3]).collect();
        pack(&items, 3, &mut bytes);
        assert_eq!(bytes.len(), 128);
        assert_eq!(bytes[..3], [0x05, 0x2a, 0x00]);
    }

    proptest! {
        #[test]
        fn reads_back_every_width(
            items in prop::collection::vec(any::<u128>(), 0..2_300),
            width in 0u32..=128,
            start in 0usize..2_300,
            count in 0usize..2_300,
        ) {
            let mask = u128::MAX.checked_shr(128 - width).unwrap_or(0);
            let items: Vec<u128> = items.iter().map(|item| item & mask).collect();
            let mut bytes = Vec::new();
            items.chunks(UNIT_ITEMS).for_each(|unit| pack(unit, width, &mut bytes));
            prop_assert_eq!(bytes.len(), interleaved_bytes(items.len(), width));
            let vectors = bytes.len();
            bytes.extend([0xEE; LANES_PADDING]);
            let lanes = Lanes::new(&bytes, width, items.len()).unwrap();
            for (index, item) in items.iter().enumerate() {
                prop_assert_eq!(get_slowly(&bytes, index, width as usize), *item);
                prop_assert_eq!(lanes.get_wide(index), Some(*item));
                prop_assert_eq!(lanes.get(index), Some(*item as u64));
            }
            prop_assert_eq!(lanes.get(items.len()), None);
            let start = start.min(items.len());
            let count = count.min(items.len() - start);
            let mut copied = vec![7];
            prop_assert!(lanes.append(start, count, &mut copied, |item| item).is_some());
            prop_assert_eq!(&copied[1..], &items[start..start + count]);
            prop_assert!(lanes.append(start, items.len() - start + 1, &mut copied, |item| item).is_none());
            prop_assert!(lanes.ends_in_zeros());
            if !items.len().is_multiple_of(UNIT_ITEMS) && vectors > 0 && width == 3 {
                let mut odd = bytes.clone();
                odd[vectors - 1] |= 0x80;
                prop_assert!(!Lanes::new(&odd, width, items.len()).unwrap().ends_in_zeros());
            }
        }
    }
}
