//! Numbers in frame-of-reference encoding, by chunks of 65,536 rows. A value is the base of its chunk plus an unsigned
//! delta of 0 to 16 bytes; doubles are stored as eight bytes.

use crate::layout::{take, u64_at};

pub const CHUNK_ROWS: usize = 65_536;
/// Bytes of a chunk record: base (16), offset (8), width (1), zero (7).
pub const CHUNK_RECORD_SIZE: usize = 32;
/// Bytes that must follow the packed values, so that one sixteen-byte load reads any value.
pub const VALUES_PADDING: usize = 16;

/// The record of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// The smallest value of the chunk; 0 for doubles.
    pub base: i128,
    /// Position of the first delta in the section.
    pub offset: u64,
    /// Bytes of a delta, 0 to 16.
    pub width: u8,
}

impl Chunk {
    pub(crate) fn encode(&self) -> [u8; CHUNK_RECORD_SIZE] {
        let mut out = [0u8; CHUNK_RECORD_SIZE];
        crate::layout::put(&mut out, 0, &self.base.to_le_bytes());
        crate::layout::put(&mut out, 16, &self.offset.to_le_bytes());
        crate::layout::put(&mut out, 24, &[self.width]);
        out
    }

    fn decode(bytes: &[u8], at: usize) -> Option<Chunk> {
        let record = bytes.get(at..at + CHUNK_RECORD_SIZE)?;
        let base = i128::from_le_bytes(take(record, 0)?);
        let width = record.get(24).copied().filter(|width| *width <= 16)?;
        Some(Chunk { base, offset: u64_at(record, 16), width })
    }
}

/// Packed numbers of one column.
#[derive(Clone, Copy, Debug)]
pub struct PackedNumbers<'a> {
    values: &'a [u8],
    chunks: &'a [u8],
    len: usize,
}

impl<'a> PackedNumbers<'a> {
    /// `values` with its padding, `chunks` without.
    pub(crate) fn new(values: &'a [u8], chunks: &'a [u8], len: usize) -> Option<PackedNumbers<'a>> {
        let fits =
            chunks.len() == len.div_ceil(CHUNK_ROWS) * CHUNK_RECORD_SIZE && values.len() >= VALUES_PADDING;
        fits.then_some(PackedNumbers { values, chunks, len })
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all deltas.
    #[must_use]
    pub fn packed_bytes(&self) -> u64 {
        (self.values.len() - VALUES_PADDING) as u64
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The chunk that holds `row`.
    #[inline]
    #[must_use]
    pub fn chunk(&self, row: usize) -> Option<Chunk> {
        Chunk::decode(self.chunks, row / CHUNK_ROWS * CHUNK_RECORD_SIZE)
    }

    /// Whether the reserved bytes in the chunk record of `row` are zero.
    pub(crate) fn chunk_is_exact(&self, row: usize) -> bool {
        let at = row / CHUNK_ROWS * CHUNK_RECORD_SIZE;
        let record = self.chunks.get(at..at + CHUNK_RECORD_SIZE);
        self.chunk(row).is_some_and(|chunk| record == Some(&chunk.encode()))
    }

    /// The low 64 bits of the value of `row`, or the bits of a double.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> Option<i64> {
        if row >= self.len {
            return None;
        }
        let chunk = self.chunk(row)?;
        let at =
            usize::try_from(chunk.offset).ok()?.checked_add(row % CHUNK_ROWS * usize::from(chunk.width))?;
        let word = u64::from_le_bytes(take(self.values, at)?) & mask(chunk.width);
        #[expect(clippy::cast_possible_truncation, reason = "the column's numbers are 64 bits wide")]
        let base = chunk.base as i64;
        Some(base.wrapping_add(word.cast_signed()))
    }

    /// The value of `row` in 128 bits.
    #[must_use]
    pub fn get_wide(&self, row: usize) -> Option<i128> {
        if row >= self.len {
            return None;
        }
        let chunk = self.chunk(row)?;
        let at =
            usize::try_from(chunk.offset).ok()?.checked_add(row % CHUNK_ROWS * usize::from(chunk.width))?;
        let word = u128::from_le_bytes(take(self.values, at)?) & mask_wide(chunk.width);
        Some(chunk.base.wrapping_add(word.cast_signed()))
    }

    /// The chunk and the deltas of rows `start..start + count`, which must lie in one chunk.
    #[must_use]
    pub fn deltas(&self, start: usize, count: usize) -> Option<(Chunk, &'a [u8])> {
        let end = start.checked_add(count).filter(|end| *end <= self.len)?;
        if count > 0 && (end - 1) / CHUNK_ROWS != start / CHUNK_ROWS {
            return None;
        }
        let chunk = self.chunk(start)?;
        let width = usize::from(chunk.width);
        let at = usize::try_from(chunk.offset).ok()?.checked_add(start % CHUNK_ROWS * width)?;
        Some((chunk, self.values.get(at..at.checked_add(count * width)?)?))
    }

    /// Appends the 64-bit values of rows `start..start + count`. Returns false when they exceed the end.
    #[must_use]
    pub fn copy_range(&self, start: usize, count: usize, out: &mut Vec<i64>) -> bool {
        let mut row = start;
        let end = start.saturating_add(count);
        while row < end {
            let take = (CHUNK_ROWS - row % CHUNK_ROWS).min(end - row);
            let Some((chunk, deltas)) = self.deltas(row, take) else {
                return false;
            };
            copy_deltas(chunk, deltas, take, out);
            row += take;
        }
        true
    }
}

fn copy_deltas(chunk: Chunk, deltas: &[u8], count: usize, out: &mut Vec<i64>) {
    #[expect(clippy::cast_possible_truncation, reason = "the column's numbers are 64 bits wide")]
    let base = chunk.base as i64;
    match chunk.width {
        0 => out.extend(std::iter::repeat_n(base, count)),
        1 => out.extend(deltas.iter().map(|byte| base.wrapping_add(i64::from(*byte)))),
        2 => out.extend(
            deltas
                .as_chunks::<2>()
                .0
                .iter()
                .map(|pair| base.wrapping_add(i64::from(u16::from_le_bytes(*pair)))),
        ),
        3 => out.extend(
            deltas
                .as_chunks::<3>()
                .0
                .iter()
                .map(|[a, b, c]| base.wrapping_add(i64::from(u32::from_le_bytes([*a, *b, *c, 0])))),
        ),
        4 => out.extend(
            deltas
                .as_chunks::<4>()
                .0
                .iter()
                .map(|word| base.wrapping_add(i64::from(u32::from_le_bytes(*word)))),
        ),
        8 => out.extend(
            deltas.as_chunks::<8>().0.iter().map(|word| base.wrapping_add(i64::from_le_bytes(*word))),
        ),
        width => out.extend(deltas.chunks_exact(usize::from(width)).map(|bytes| {
            let mut word = [0u8; 8];
            crate::layout::put(&mut word, 0, bytes.get(..8).unwrap_or(bytes));
            base.wrapping_add(i64::from_le_bytes(word))
        })),
    }
}

#[inline]
fn mask(width: u8) -> u64 {
    if width >= 8 { u64::MAX } else { (1u64 << (u32::from(width) * 8)) - 1 }
}

fn mask_wide(width: u8) -> u128 {
    if width >= 16 { u128::MAX } else { (1u128 << (u32::from(width) * 8)) - 1 }
}

/// The width that holds every delta up to `largest`, bytes.
pub(crate) fn delta_width(largest: u128) -> u8 {
    u8::try_from((128 - largest.leading_zeros()).div_ceil(8)).unwrap_or(16)
}
