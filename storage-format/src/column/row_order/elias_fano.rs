//! Ascending rows in Elias-Fano form: the low bits of each row in an array, the high bits as ones in a bitmap whose
//! distances are the differences of the high parts. Samples of the bitmap make any place a short search.

use crate::column::bits::{BitArray, pack};
use crate::column::row_order::posting_list::{WORD_BYTES, fill_word, words};
use crate::layout::take;

/// Ones between two samples.
const SAMPLE_ROWS: u32 = 256;

/// The widths and lengths of a list, which follow from its number of rows and that of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    count: u32,
    /// Bits of the low part of a row.
    low_width: u32,
    sample_words: u64,
    low_words: u64,
    high_words: u64,
}

impl Shape {
    /// For `count` rows, at least one, of a table of `rows`.
    pub(super) fn of(count: u32, rows: u32) -> Shape {
        let low_width = (rows / count.max(1)).max(1).ilog2();
        let high_bits = u64::from(count) + u64::from(rows >> low_width) + 1;
        Shape {
            count,
            low_width,
            sample_words: words(u64::from(count.div_ceil(SAMPLE_ROWS)) * 32),
            low_words: words(u64::from(count) * u64::from(low_width)),
            high_words: words(high_bits),
        }
    }

    pub(super) fn words(&self) -> u64 {
        self.sample_words + self.low_words + self.high_words
    }
}

/// Appends the list of ascending `rows`.
pub(super) fn encode(shape: &Shape, rows: &[u32], out: &mut Vec<u8>) {
    let places = || (0u32..).zip(rows).map(|(number, row)| (row >> shape.low_width) + number);
    places().step_by(SAMPLE_ROWS as usize).for_each(|place| out.extend_from_slice(&place.to_le_bytes()));
    fill_word(out);
    pack(rows.iter().map(|row| u64::from(*row)), shape.low_width, out);
    fill_word(out);
    let mut high = vec![0u64; usize::try_from(shape.high_words).unwrap_or(0)];
    for place in places() {
        if let Some(word) = high.get_mut(place as usize / 64) {
            *word |= 1 << (place % 64);
        }
    }
    high.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

#[derive(Clone, Copy)]
pub(super) struct EliasFano<'a> {
    shape: Shape,
    samples: &'a [u8],
    low: BitArray<'a>,
    high: &'a [u8],
}

impl<'a> EliasFano<'a> {
    /// `bytes` has the words of the shape, and maybe more behind them.
    pub(super) fn new(shape: Shape, bytes: &'a [u8]) -> Option<EliasFano<'a>> {
        let len = |words: u64| usize::try_from(words).ok()?.checked_mul(WORD_BYTES);
        let (samples, rest) = bytes.split_at_checked(len(shape.sample_words)?)?;
        // There is at least one word of high bits, so that the last low bits can be loaded.
        let low = BitArray::new(rest, shape.low_width, shape.count as usize)?;
        let high = rest.get(len(shape.low_words)?..)?.get(..len(shape.high_words)?)?;
        Some(EliasFano { shape, samples, low, high })
    }

    /// The row at a place of the list.
    pub(super) fn get(&self, place: u32) -> Option<u32> {
        let (word, ones) = self.find(place)?;
        self.row(place, word * 64 + ones.trailing_zeros())
    }

    /// Appends the rows at `count` places from `first` on: first all low parts, then the high ones.
    pub(super) fn copy(&self, first: u32, count: u32, out: &mut Vec<u32>) -> Option<()> {
        let from = out.len();
        self.low.copy_range(first as usize, count as usize, out).then_some(())?;
        let mut rows = out.get_mut(from..)?.iter_mut();
        if count == 0 {
            return Some(());
        }
        let (mut word, mut ones) = self.find(first)?;
        // The place of a one in the bitmap, less the number of ones before it, is the high part. A damaged list may have
        // too few bits, and then gives rows that no table has.
        let mut before = word.wrapping_mul(64).wrapping_sub(first);
        loop {
            while ones != 0 {
                let Some(row) = rows.next() else { return Some(()) };
                *row |= before.wrapping_add(ones.trailing_zeros()) << self.shape.low_width;
                before = before.wrapping_sub(1);
                ones &= ones - 1;
            }
            if rows.len() == 0 {
                return Some(());
            }
            word += 1;
            before = before.wrapping_add(64);
            ones = self.word(word)?;
        }
    }

    /// The word of the bitmap with the one of this place, and the word without the ones before it.
    fn find(&self, place: u32) -> Option<(u32, u64)> {
        if place >= self.shape.count {
            return None;
        }
        let sample: u32 = take(self.samples, (place / SAMPLE_ROWS) as usize * 4).map(u32::from_le_bytes)?;
        let mut word = sample / 64;
        let mut ones = self.word(word)? & (u64::MAX << (sample % 64));
        let mut skipped = place % SAMPLE_ROWS;
        loop {
            let found = ones.count_ones();
            if found > skipped {
                break;
            }
            skipped -= found;
            word += 1;
            ones = self.word(word)?;
        }
        for _ in 0..skipped {
            ones &= ones - 1;
        }
        Some((word, ones))
    }

    fn word(&self, number: u32) -> Option<u64> {
        take(self.high, (number as usize).checked_mul(WORD_BYTES)?).map(u64::from_le_bytes)
    }

    /// The row of the one at `bit`, which is number `place`. In a damaged list there may be fewer bits than ones.
    #[inline]
    fn row(&self, place: u32, bit: u32) -> Option<u32> {
        let high = u64::from(bit.checked_sub(place)?) << self.shape.low_width;
        u32::try_from(high | u64::from(self.low.get(place as usize)?)).ok()
    }
}
