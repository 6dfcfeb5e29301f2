//! Numbers in frame-of-reference encoding, by zones. A value is the base of its zone plus an unsigned delta of 0 to 128
//! bits; doubles are stored in 64 bits.

use crate::column::ZONE_ROWS;
use crate::column::bits::bit_width;
use crate::column::lanes::{LANE_BITS_MAX, LANES_PADDING, Lanes, interleaved_bytes, item_at};
use crate::layout::{take, u64_at};

/// Bytes of a record: base (16), offset (8), width (1), zero (7).
pub const FRAME_RECORD_SIZE: usize = 32;

/// The frame of the numbers of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The smallest number; 0 for doubles.
    pub base: i128,
    /// Position of the deltas in the section.
    pub(crate) offset: u64,
    /// Bits of a delta, 0 to 128.
    pub(crate) width: u32,
}

impl Frame {
    pub(crate) fn encode(&self) -> [u8; FRAME_RECORD_SIZE] {
        let mut out = [0u8; FRAME_RECORD_SIZE];
        crate::layout::put(&mut out, 0, &self.base.to_le_bytes());
        crate::layout::put(&mut out, 16, &self.offset.to_le_bytes());
        crate::layout::put(&mut out, 24, &[u8::try_from(self.width).unwrap_or(u8::MAX)]);
        out
    }

    #[inline]
    fn decode(bytes: &[u8], at: usize) -> Option<Frame> {
        let record = bytes.get(at..at + FRAME_RECORD_SIZE)?;
        let base = i128::from_le_bytes(take(record, 0)?);
        let width = record.get(24).map(|width| u32::from(*width)).filter(|width| *width <= LANE_BITS_MAX)?;
        Some(Frame { base, offset: u64_at(record, 16), width })
    }
}

/// Packed numbers of one column.
#[derive(Clone, Copy, Debug)]
pub struct PackedNumbers<'a> {
    values: &'a [u8],
    frames: &'a [u8],
    len: usize,
}

impl<'a> PackedNumbers<'a> {
    /// `values` with [`LANES_PADDING`] bytes more, `frames` without.
    pub(crate) fn new(values: &'a [u8], frames: &'a [u8], len: usize) -> Option<PackedNumbers<'a>> {
        let fits =
            frames.len() == len.div_ceil(ZONE_ROWS) * FRAME_RECORD_SIZE && values.len() >= LANES_PADDING;
        fits.then_some(PackedNumbers { values, frames, len })
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all deltas.
    pub(crate) fn packed_bytes(&self) -> u64 {
        (self.values.len() - LANES_PADDING) as u64
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The frame and the deltas of a zone.
    #[inline]
    #[must_use]
    pub fn zone(&self, zone: usize) -> Option<(Frame, Lanes<'a>)> {
        let frame = Frame::decode(self.frames, zone * FRAME_RECORD_SIZE)?;
        let rows = self.len.checked_sub(zone * ZONE_ROWS)?.min(ZONE_ROWS);
        let deltas = self.values.get(usize::try_from(frame.offset).ok()?..)?;
        Some((frame, Lanes::new(deltas, frame.width, rows)?))
    }

    /// Whether the reserved bytes in the record of a zone, and the bits behind its last delta, are zero.
    pub(crate) fn is_exact(&self, zone: usize) -> bool {
        let at = zone * FRAME_RECORD_SIZE;
        let record = self.frames.get(at..at + FRAME_RECORD_SIZE);
        self.zone(zone)
            .is_some_and(|(frame, deltas)| record == Some(&frame.encode()) && deltas.ends_in_zeros())
    }

    /// The low 64 bits of the value of `row`, or the bits of a double.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> Option<i64> {
        let frame = Frame::decode(self.frames, row / ZONE_ROWS * FRAME_RECORD_SIZE)?;
        if row >= self.len || frame.width > u64::BITS {
            return self.get_wide(row).map(narrow);
        }
        let delta =
            item_at(self.values.get(usize::try_from(frame.offset).ok()?..)?, frame.width, row % ZONE_ROWS)?;
        Some(narrow(frame.base).wrapping_add(delta.cast_signed()))
    }

    /// The value of `row` in 128 bits.
    #[must_use]
    pub fn get_wide(&self, row: usize) -> Option<i128> {
        let (frame, deltas) = self.zone(row / ZONE_ROWS)?;
        let delta = deltas.get_wide(row % ZONE_ROWS)?;
        Some(frame.base.wrapping_add(delta.cast_signed()))
    }

    /// Appends the 64-bit values of rows `start..start + count`. Returns false when they exceed the end.
    #[must_use]
    pub fn copy_range(&self, start: usize, count: usize, out: &mut Vec<i64>) -> bool {
        let mut row = start;
        let end = start.saturating_add(count);
        while row < end {
            let now = (ZONE_ROWS - row % ZONE_ROWS).min(end - row);
            let copied = self.zone(row / ZONE_ROWS).and_then(|(frame, deltas)| {
                let base = narrow(frame.base);
                let value = |delta: u128| base.wrapping_add(narrow(delta.cast_signed()));
                deltas.append(row % ZONE_ROWS, now, out, value)
            });
            if copied.is_none() {
                return false;
            }
            row += now;
        }
        true
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the column's numbers are 64 bits wide")]
fn narrow(value: i128) -> i64 {
    value as i64
}

/// Packs the numbers of a zone whose deltas begin at `offset`. Nulls become the base.
pub(crate) fn pack_zone(numbers: &[Option<i128>], is_float: bool, offset: u64, out: &mut Vec<u8>) -> Frame {
    let present = || numbers.iter().flatten();
    let (base, width) = if is_float {
        (0, u64::BITS)
    } else {
        let base = present().min().copied().unwrap_or(0);
        let largest = present().max().copied().unwrap_or(0);
        (base, bit_width(largest.wrapping_sub(base).cast_unsigned()))
    };
    let delta = |number: &Option<i128>| number.unwrap_or(base).wrapping_sub(base).cast_unsigned();
    let deltas: Vec<u128> = numbers.iter().map(delta).collect();
    crate::column::lanes::pack(&deltas, width, out);
    debug_assert_eq!(out.len(), interleaved_bytes(numbers.len(), width));
    Frame { base, offset, width }
}
