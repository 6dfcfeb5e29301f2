//! The finished sections of a column, and its report.

use std::path::Path;

use crate::array::UintArray;
use crate::column::bits::{BIT_WIDTH_MAX, BITS_PADDING, BitArray, BitPacker};
use crate::column::lanes::{self, LANES_PADDING, UNIT_ITEMS, interleaved_bytes};
use crate::column::{ZONE_ROWS, Zone};
use crate::column_record::ColumnMeta;
use crate::error::FormatError;
use crate::section::SectionKind;
use crate::writer::blocks::PackedTexts;
use crate::writer::spool::Spool;

/// The report of a column: its encoding and the reason.
#[derive(Debug, Clone)]
pub struct ColumnReport {
    /// Name of the column.
    pub name: String,
    pub kind: &'static str,
    /// `dictionary`, `numbers` or `texts`.
    pub encoding: &'static str,
    /// Reason for the encoding.
    pub reason: String,
    /// `none`, `file order`, `permutation` or `posting lists`.
    pub sort_index: &'static str,
    /// Distinct values, if known.
    pub distinct: Option<u64>,
    /// Rows without a value.
    pub null_count: u64,
    /// Rows with NaN.
    pub nan_count: u64,
    pub data_bytes: u64,
    pub index_bytes: u64,
}

/// A section without a position in a file.
pub(crate) struct SectionData {
    pub(crate) kind: SectionKind,
    pub(crate) width: u16,
    pub(crate) items: u64,
    pub(crate) bytes: Spool,
}

/// The finished sections of one column.
pub struct ColumnSegment {
    pub(crate) meta: ColumnMeta,
    pub(crate) rows: u64,
    pub(crate) sections: Vec<SectionData>,
    /// Texts that become part of the row blocks.
    pub(crate) texts: Option<PackedTexts>,
    pub(crate) report: ColumnReport,
}

impl ColumnSegment {
    /// The encoding chosen for the column.
    #[must_use]
    pub fn report(&self) -> &ColumnReport {
        &self.report
    }

    /// Bytes that the segment holds in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let sections: u64 = self.sections.iter().map(|section| section.bytes.memory_bytes()).sum();
        sections + self.texts.as_ref().map_or(0, PackedTexts::memory_bytes)
    }

    /// Spills the segment to temporary files while it waits.
    ///
    /// # Errors
    /// [`FormatError::Io`] when the disk is full.
    pub fn spill(&mut self) -> Result<(), FormatError> {
        self.sections.iter_mut().try_for_each(|section| section.bytes.spill())?;
        self.texts.as_mut().map_or(Ok(()), PackedTexts::spill)
    }
}

/// Creates the sections of a column, each within its share of the memory budget.
pub(crate) struct SectionSet<'a> {
    pub(crate) sections: Vec<SectionData>,
    pub(crate) texts: Option<PackedTexts>,
    memory_max: u64,
    directory: &'a Path,
}

impl<'a> SectionSet<'a> {
    pub(crate) fn new(memory_max: u64, directory: &'a Path) -> SectionSet<'a> {
        SectionSet { sections: Vec::new(), texts: None, memory_max, directory }
    }

    /// A spool for a section, with the remaining memory.
    pub(crate) fn spool(&self) -> Spool {
        let used: u64 = self.sections.iter().map(|section| section.bytes.memory_bytes()).sum();
        let used = used + self.texts.as_ref().map_or(0, PackedTexts::memory_bytes);
        Spool::new(self.memory_max.saturating_sub(used), self.directory)
    }

    /// Adds a section of items of `width` bytes (0: no fixed width).
    pub(crate) fn add(&mut self, kind: SectionKind, width: u16, items: u64, mut bytes: Spool) {
        bytes.shrink();
        self.sections.push(SectionData { kind, width, items, bytes });
    }

    /// Adds a section that is small enough for memory.
    pub(crate) fn add_bytes(
        &mut self,
        kind: SectionKind,
        width: u16,
        items: u64,
        bytes: &[u8],
    ) -> Result<(), FormatError> {
        let mut spool = self.spool();
        spool.push(bytes)?;
        self.add(kind, width, items, spool);
        Ok(())
    }

    /// Adds the zone map.
    pub(crate) fn add_zones(&mut self, zones: &[Zone]) -> Result<(), FormatError> {
        let bytes: Vec<u8> = zones.iter().flat_map(Zone::encode).collect();
        self.add_bytes(SectionKind::Zones, 40, zones.len() as u64, &bytes)
    }

    pub(crate) fn bytes_of(&self, index: bool) -> u64 {
        self.sections
            .iter()
            .filter(|section| section.kind.is_index() == index)
            .map(|section| section.bytes.len())
            .sum::<u64>()
            + self.texts.as_ref().filter(|_| !index).map_or(0, |texts| texts.bytes.len())
    }
}

/// Receives each integer.
pub(crate) type TakeUint<'a> = dyn FnMut(u32) -> Result<(), FormatError> + 'a;

/// Writes unsigned integers of one width, interleaved.
pub(crate) struct UintWriter {
    spool: Spool,
    width: u32,
    unit: Vec<u32>,
    packed: Vec<u8>,
    items: u64,
}

impl UintWriter {
    pub(crate) fn new(spool: Spool, width: u32) -> UintWriter {
        UintWriter { spool, width, unit: Vec::with_capacity(UNIT_ITEMS), packed: Vec::new(), items: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: u32) -> Result<(), FormatError> {
        self.unit.push(value);
        if self.unit.len() == UNIT_ITEMS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), FormatError> {
        self.packed.clear();
        lanes::pack(&self.unit, self.width, &mut self.packed);
        self.items += self.unit.len() as u64;
        self.unit.clear();
        self.spool.push(&self.packed)
    }

    pub(crate) fn finish(mut self) -> Result<Uints, FormatError> {
        self.flush()?;
        Ok(Uints { spool: self.spool, width: self.width, items: self.items })
    }
}

/// What a [`UintWriter`] wrote.
pub(crate) struct Uints {
    pub(crate) spool: Spool,
    width: u32,
    pub(crate) items: u64,
}

impl Uints {
    /// Reads the integers in order.
    pub(crate) fn read(
        &self,
        mut take: impl FnMut(u32) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut left = self.items;
        let unit_bytes = interleaved_bytes(UNIT_ITEMS, self.width);
        if unit_bytes == 0 {
            return (0..left).try_for_each(|_| take(0));
        }
        let (mut padded, mut items) = (Vec::with_capacity(unit_bytes + LANES_PADDING), Vec::new());
        self.spool.read(unit_bytes, &mut |piece| {
            piece.chunks(unit_bytes).try_for_each(|unit| {
                padded.clear();
                padded.extend_from_slice(unit);
                padded.extend_from_slice(&[0; LANES_PADDING]);
                let count = left.min(UNIT_ITEMS as u64);
                left -= count;
                items.clear();
                let count = usize::try_from(count).unwrap_or(0);
                let copied = UintArray::new(&padded, self.width, count)
                    .is_some_and(|unit| unit.copy_range(0, count, &mut items));
                debug_assert!(copied, "the spool holds what was written");
                items.iter().try_for_each(|item| take(*item))
            })
        })
    }
}

/// Size of the buffer in front of a spool, bytes.
const BUFFER_BYTES: usize = 16 * 1024;
/// Items that fill whole words at any width.
const BIT_BLOCK_ITEMS: usize = 64;
/// Bytes of so many items of the largest width.
const BIT_BLOCK_BYTES_MAX: usize = BIT_BLOCK_ITEMS * BIT_WIDTH_MAX as usize / 8;

/// Writes unsigned integers of one width in bits.
pub(crate) struct BitWriter {
    spool: Spool,
    width: u32,
    packer: BitPacker,
    buffer: Vec<u8>,
    items: u64,
}

impl BitWriter {
    pub(crate) fn new(spool: Spool, width: u32) -> BitWriter {
        let buffer = Vec::with_capacity(BUFFER_BYTES + BIT_BLOCK_BYTES_MAX);
        BitWriter { spool, width, packer: BitPacker::default(), buffer, items: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: u32) -> Result<(), FormatError> {
        self.packer.push(value.into(), self.width, &mut self.buffer);
        self.items += 1;
        if self.buffer.len() >= BUFFER_BYTES && self.items.is_multiple_of(BIT_BLOCK_ITEMS as u64) {
            self.spool.push(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub(crate) fn push_all(&mut self, values: &[u32]) -> Result<(), FormatError> {
        values.iter().try_for_each(|value| self.push(*value))
    }

    pub(crate) fn finish(mut self) -> Result<Bits, FormatError> {
        self.packer.finish(&mut self.buffer);
        self.spool.push(&self.buffer)?;
        Ok(Bits { spool: self.spool, width: self.width, items: self.items })
    }
}

/// What a [`BitWriter`] wrote.
pub(crate) struct Bits {
    pub(crate) spool: Spool,
    width: u32,
    pub(crate) items: u64,
}

impl Bits {
    /// Reads the integers in order.
    pub(crate) fn read(
        &self,
        mut take: impl FnMut(u32) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut left = self.items;
        let block_bytes = BIT_BLOCK_ITEMS * self.width as usize / 8;
        if block_bytes == 0 {
            return (0..left).try_for_each(|_| take(0));
        }
        self.spool.read(block_bytes, &mut |piece| {
            piece.chunks(block_bytes).try_for_each(|block| {
                let mut padded = [0u8; BIT_BLOCK_BYTES_MAX + BITS_PADDING];
                crate::layout::put(&mut padded, 0, block);
                let count = left.min(BIT_BLOCK_ITEMS as u64);
                left -= count;
                let Some(items) = BitArray::new(&padded, self.width, BIT_BLOCK_ITEMS) else { return Ok(()) };
                (0..usize::try_from(count).unwrap_or(0))
                    .filter_map(|at| items.get(at))
                    .try_for_each(&mut take)
            })
        })
    }
}

/// Builds the zone map row by row.
pub(crate) struct ZoneBuilder {
    zones: Vec<Zone>,
    current: Zone,
    rows: usize,
}

impl ZoneBuilder {
    pub(crate) fn new() -> ZoneBuilder {
        ZoneBuilder { zones: Vec::new(), current: Zone::EMPTY, rows: 0 }
    }

    #[inline]
    pub(crate) fn value(&mut self, key: u128) {
        self.current.include(key);
        self.step();
    }

    /// A value whose key is unknown.
    pub(crate) fn widest(&mut self) {
        self.current.include(0);
        self.value(u128::MAX);
    }

    #[inline]
    pub(crate) fn null(&mut self) {
        self.current.null_count += 1;
        self.step();
    }

    #[inline]
    pub(crate) fn nan(&mut self) {
        self.current.nan_count += 1;
        self.step();
    }

    #[inline]
    fn step(&mut self) {
        self.rows += 1;
        if self.rows == ZONE_ROWS {
            self.zones.push(std::mem::replace(&mut self.current, Zone::EMPTY));
            self.rows = 0;
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Zone> {
        if self.rows > 0 {
            self.zones.push(self.current);
        }
        self.zones
    }
}
