//! Row blocks: all cells of up to 64 rows of a group of columns, with a checksum that is compared whenever rows are
//! printed. A row that is printed lies in one place for each group, and no damaged cell leaves the file.

pub(crate) mod encode;
mod row_reader;

use std::ops::Range;
use std::sync::OnceLock;

use crate::checksum::checksum;
use crate::column::ColumnData;
use crate::column::bits::{self, WIDE_PADDING, bit_width, code_width, packed_bytes};
use crate::column::view::ColumnSections;
use crate::column_record::{ColumnMeta, Storage};
use crate::error::{FormatError, Place, corrupt};
use crate::layout::{take, u32_at, u64_at};
use crate::order::number_of;
use crate::reader::{Table, get_or_try_init};
use crate::section::{SectionKind, SectionRecord};

pub use row_reader::{CellValues, RowReader};

/// Most rows of a block.
pub const BLOCK_ROWS_MAX: u32 = 64;
/// Bytes of a record of `block_columns`: base (16), width (1), width of the block base (1), zero (14).
pub(crate) const BLOCK_COLUMN_SIZE: usize = 32;
/// Bytes of the checksum in front of a block.
pub(crate) const CHECKSUM_SIZE: usize = 8;
/// Bytes in front of a block for each column of texts: start (4), width of lengths (1), zero (3).
pub(crate) const TEXT_HEAD_SIZE: usize = 8;
/// Bytes of the start of a block.
pub(crate) const PLACE_SIZE: usize = 8;

/// Neighbouring columns that share blocks.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) columns: Range<usize>,
    /// Rows of a block; a power of two.
    pub(crate) block_rows: u32,
    blocks: SectionRecord,
    places: SectionRecord,
    layout: SectionRecord,
    /// Decoded, and compared with its checksum, at the first access.
    decoded: OnceLock<Box<BlockLayout>>,
}

/// Where the cells of each column lie in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockLayout {
    pub(crate) columns: Vec<BlockColumn>,
    /// Bytes before the texts.
    pub(crate) fixed_len: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockColumn {
    pub(crate) form: CellForm,
    pub(crate) packing: Packing,
    /// Position of the validity bits of a column of numbers with nulls.
    pub(crate) validity: Option<usize>,
    /// Position of the items, or of the head of the texts.
    pub(crate) at: usize,
}

/// How the codes or numbers of a column are packed. An item and the bases add up to the code or number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Packing {
    /// The smallest number; 0 for doubles, codes and texts.
    pub(crate) base: i128,
    /// Bits of an item; 0 for texts.
    pub(crate) width: u32,
    /// Bits of the base of each block; 0 where blocks have none.
    pub(crate) block_base_width: u32,
}

impl Packing {
    /// Bytes of the items of a block.
    fn bytes(self, block_rows: u32) -> usize {
        packed_bytes(1, self.block_base_width) + packed_bytes(block_rows as usize, self.width)
    }
}

/// The form of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellForm {
    Codes,
    Numbers,
    /// Numbers of 128 bits.
    Wide,
    Texts,
}

impl CellForm {
    pub(crate) fn of(meta: &ColumnMeta) -> CellForm {
        match meta.storage {
            Storage::Dictionary => CellForm::Codes,
            Storage::Numbers if meta.number_width == 16 => CellForm::Wide,
            Storage::Numbers => CellForm::Numbers,
            Storage::Texts => CellForm::Texts,
        }
    }

    fn width_max(self) -> u32 {
        match self {
            CellForm::Codes => 32,
            CellForm::Numbers => 64,
            CellForm::Wide => 128,
            CellForm::Texts => 0,
        }
    }
}

impl BlockLayout {
    /// The layout of columns with these bases and widths; `None` for a width that the form does not have.
    pub(crate) fn of(
        metas: &[ColumnMeta],
        packings: impl Iterator<Item = Packing>,
        block_rows: u32,
    ) -> Option<BlockLayout> {
        let rows = block_rows as usize;
        let texts = metas.iter().filter(|meta| meta.storage == Storage::Texts).count();
        let (mut head, mut at) = (CHECKSUM_SIZE, CHECKSUM_SIZE + texts * TEXT_HEAD_SIZE);
        let mut columns = Vec::with_capacity(metas.len());
        for (meta, packing) in metas.iter().zip(packings) {
            let form = CellForm::of(meta);
            let has_base = matches!(form, CellForm::Numbers | CellForm::Wide);
            if packing.width.max(packing.block_base_width) > form.width_max()
                || (packing.base != 0 && !has_base)
            {
                return None;
            }
            if form == CellForm::Texts {
                columns.push(BlockColumn { form, packing, validity: None, at: head });
                head += TEXT_HEAD_SIZE;
                continue;
            }
            let validity = (has_base && meta.null_count > 0).then_some(at);
            at += validity.map_or(0, |_| packed_bytes(rows, 1));
            columns.push(BlockColumn { form, packing, validity, at });
            at += packing.bytes(block_rows);
        }
        Some(BlockLayout { columns, fixed_len: at })
    }

    fn decode(section: &[u8], metas: &[ColumnMeta], block_rows: u32) -> Option<BlockLayout> {
        let records = section.chunks_exact(BLOCK_COLUMN_SIZE);
        let width = |record: &[u8], at: usize| record.get(at).map_or(u32::MAX, |width| u32::from(*width));
        let packings = records.map(|record| Packing {
            base: take(record, 0).map_or(0, i128::from_le_bytes),
            width: width(record, 16),
            block_base_width: width(record, 17),
        });
        let layout = BlockLayout::of(metas, packings, block_rows)?;
        (layout.columns.len() == metas.len() && layout.encode() == section).then_some(layout)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.columns.len() * BLOCK_COLUMN_SIZE);
        for column in &self.columns {
            let Packing { base, width, block_base_width } = column.packing;
            out.extend_from_slice(&base.to_le_bytes());
            out.extend([width, block_base_width].map(|width| u8::try_from(width).unwrap_or(u8::MAX)));
            out.extend_from_slice(&[0; 14]);
        }
        out
    }
}

/// The packing without block bases: the smallest number, and the bits that hold all.
pub(crate) fn plain_packing(data: &ColumnData<'_>, has_nulls: bool) -> Packing {
    let (base, width) = match data {
        ColumnData::Dictionary(data) => (0, code_width(data.entries, has_nulls)),
        ColumnData::Numbers(data) if data.is_float() => (0, 64),
        ColumnData::Numbers(data) => data.zones.extremes().map_or((0, 0), |(smallest, largest)| {
            (number_of(smallest, data.width).unwrap_or(0), bit_width(largest.saturating_sub(smallest)))
        }),
        ColumnData::Texts(_) => (0, 0),
    };
    Packing { base, width, block_base_width: 0 }
}

#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    /// With [`WIDE_PADDING`] bytes behind it.
    pub(crate) padded: &'a [u8],
    pub(crate) len: usize,
}

impl Group {
    /// Position in the file of the first section.
    pub(crate) fn start(&self) -> u64 {
        self.layout.offset.min(self.places.offset).min(self.blocks.offset)
    }

    /// Position in the file behind the blocks.
    pub(crate) fn end(&self) -> u64 {
        self.blocks.offset.saturating_add(self.blocks.len)
    }

    /// The number of a row's block.
    #[inline]
    pub(crate) fn block_of(&self, row: u32) -> u32 {
        // The rows of a block are a power of two.
        row >> self.block_rows.trailing_zeros()
    }

    /// Fetches the blocks of distant rows before they are read one by one: first their places, then themselves.
    pub(crate) fn fetch(&self, table: &Table, rows: &[u32]) {
        let block_of = |row: &u32| self.block_of(*row);
        let mut before = u32::MAX;
        let numbers = rows.iter().map(block_of).filter(move |number| {
            let is_distant = *number != before && *number != before.wrapping_add(1);
            before = *number;
            is_distant
        });
        let start = |section: &SectionRecord| usize::try_from(section.offset).unwrap_or(usize::MAX);
        let block = |number: u32| {
            let (place, start) = (table.block_place(self, number)?, start(&self.blocks));
            Some(start.checked_add(place.start)?..start.checked_add(place.end)?)
        };
        if numbers.clone().nth(1).is_none() {
            let first = rows.first().and_then(|row| block(block_of(row)));
            let last = rows.last().and_then(|row| block(block_of(row)));
            if let Some((first, last)) = first.zip(last) {
                table.fetch_ahead(first.start..last.end, usize::try_from(self.end()).unwrap_or(usize::MAX));
            }
            return;
        }
        table.fetch(numbers.clone().map(|number| {
            let start = start(&self.places).saturating_add(number as usize * PLACE_SIZE);
            start..start.saturating_add(2 * PLACE_SIZE)
        }));
        table.fetch(numbers.filter_map(block));
    }
}

/// The packed texts of a column in a block, of which only lengths are known: a text is found from the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockTexts<'a> {
    block: &'a [u8],
    /// With bytes behind them.
    lengths: &'a [u8],
    /// Bits of a length.
    width: u32,
    /// Position of the first text.
    start: usize,
    /// The text behind the one that was read last, and its position.
    next: (usize, usize),
}

impl<'a> BlockTexts<'a> {
    /// The packed text at a place of the block; `None` when the block is damaged.
    #[inline]
    pub(crate) fn get(&mut self, place: usize) -> Option<&'a [u8]> {
        let (mut next, mut from) = if place < self.next.0 { (0, self.start) } else { self.next };
        while next < place {
            from += self.len(next)?;
            next += 1;
        }
        let to = from + self.len(place)?;
        self.next = (place + 1, to);
        self.block.get(from..to)
    }

    #[inline]
    fn len(&self, place: usize) -> Option<usize> {
        bits::get(self.lengths, place, self.width).map(|length| length as usize)
    }
}

impl<'a> Block<'a> {
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.padded.get(..self.len).unwrap_or_default()
    }

    /// The texts of a column; `None` when the block is damaged.
    #[inline]
    pub(crate) fn texts(&self, column: &BlockColumn, block_rows: u32) -> Option<BlockTexts<'a>> {
        let head = u32_at(self.padded, column.at) as usize;
        let width =
            self.padded.get(column.at + 4).map(|width| u32::from(*width)).filter(|width| *width <= 32)?;
        let start = head + packed_bytes(block_rows as usize, width);
        let lengths = self.padded.get(head..)?;
        Some(BlockTexts { block: self.bytes(), lengths, width, start, next: (0, start) })
    }
}

/// What the checksum of a block is changed by, so that no block passes for another one.
#[must_use]
pub fn block_salt(first_column: usize, number: u32) -> u64 {
    (first_column as u64) << 32 | u64::from(number)
}

/// Finds the groups by the directory alone, and checks the lengths of their sections.
pub(crate) fn find_groups(
    records: &[SectionRecord],
    sections: &[ColumnSections],
    rows: u64,
) -> Result<Vec<Group>, FormatError> {
    let mut groups = Vec::new();
    let mut first = 0;
    while first < sections.len() {
        let group = group_at(records, sections, rows, first)?;
        first = group.columns.end;
        groups.push(group);
    }
    let of_blocks = |record: &&SectionRecord| {
        let kinds = [SectionKind::RowBlocks, SectionKind::BlockPlaces, SectionKind::BlockColumns];
        kinds.iter().any(|kind| *kind as u16 == record.kind)
    };
    let (expected, found) = (groups.len() * 3, records.iter().filter(of_blocks).count());
    if expected != found {
        let place = Place::Column(SectionKind::RowBlocks, 0);
        return Err(corrupt(place, "sections of row blocks", expected as u64, found as u64));
    }
    Ok(groups)
}

fn group_at(
    records: &[SectionRecord],
    sections: &[ColumnSections],
    rows: u64,
    first: usize,
) -> Result<Group, FormatError> {
    let number = u32::try_from(first).unwrap_or(u32::MAX);
    let refuse =
        |kind, what, expected, found| Err(corrupt(Place::Column(kind, number), what, expected, found));
    let find = |kind: SectionKind| {
        let record = sections.get(first).and_then(|column| column.record_number(kind));
        let record = record.and_then(|record| records.get(record as usize)).copied();
        record.ok_or_else(|| corrupt(Place::Column(kind, number), "number of such sections", 1, 0))
    };
    let blocks = find(SectionKind::RowBlocks)?;
    let places = find(SectionKind::BlockPlaces)?;
    let layout = find(SectionKind::BlockColumns)?;
    let block_rows = u32::from(blocks.width);
    if !block_rows.is_power_of_two() || block_rows > BLOCK_ROWS_MAX {
        return refuse(SectionKind::RowBlocks, "rows of a block", BLOCK_ROWS_MAX.into(), block_rows.into());
    }
    let expected = (rows.div_ceil(block_rows.into()) + 1) * PLACE_SIZE as u64;
    if places.len != expected {
        return refuse(SectionKind::BlockPlaces, "length", expected, places.len);
    }
    let left = (sections.len() - first) as u64;
    let columns = layout.len / BLOCK_COLUMN_SIZE as u64;
    if columns == 0 || columns > left || !layout.len.is_multiple_of(BLOCK_COLUMN_SIZE as u64) {
        return refuse(SectionKind::BlockColumns, "length", left * BLOCK_COLUMN_SIZE as u64, layout.len);
    }
    let end = first + usize::try_from(columns).unwrap_or(0);
    Ok(Group { columns: first..end, block_rows, blocks, places, layout, decoded: OnceLock::new() })
}

impl Table {
    /// The group of a column.
    pub(crate) fn group_of(&self, column: usize) -> Option<&Group> {
        let at = self.groups.partition_point(|group| group.columns.end <= column);
        self.groups.get(at)
    }

    /// The layout of the blocks of a group.
    ///
    /// # Errors
    /// [`FormatError::ChecksumMismatch`] or [`FormatError::Corrupt`] when it is damaged.
    pub(crate) fn block_layout<'t>(&'t self, group: &'t Group) -> Result<&'t BlockLayout, FormatError> {
        get_or_try_init(&group.decoded, || {
            let section = self.sound_copy(&group.layout)?;
            let metas = self.columns().get(group.columns.clone()).unwrap_or_default();
            let layout = BlockLayout::decode(&section, metas, group.block_rows);
            layout.ok_or_else(|| self.damaged(group.columns.start))
        })
    }

    /// Start and end of a block in its section; `None` when the file is damaged.
    #[inline]
    pub(crate) fn block_place(&self, group: &Group, number: u32) -> Option<Range<usize>> {
        let places = self.section(&group.places, 0)?;
        let at = number as usize * PLACE_SIZE;
        let pair = places.get(at..at + 2 * PLACE_SIZE)?;
        let (start, end) = (u64_at(pair, 0), u64_at(pair, PLACE_SIZE));
        Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// The start of the first block.
    pub(crate) fn first_place(&self, group: &Group) -> Option<u64> {
        self.section(&group.places, 0).and_then(|places| take(places, 0)).map(u64::from_le_bytes)
    }

    /// Bytes of all blocks of a group.
    pub(crate) fn block_bytes(&self, group: &Group) -> u64 {
        group.blocks.len
    }

    /// A block, not compared with its checksum; `None` when it lies outside its section.
    #[inline]
    pub(crate) fn block(&self, group: &Group, number: u32) -> Option<Block<'_>> {
        let place = self.block_place(group, number)?;
        let section = self.section(&group.blocks, WIDE_PADDING)?;
        let len = place.end.checked_sub(place.start)?;
        let padded = section.get(place.start..place.end.checked_add(WIDE_PADDING)?)?;
        Some(Block { padded, len })
    }

    /// Appends a copy of a block that is as it was written, with [`WIDE_PADDING`] bytes behind it, and returns its
    /// length. The copy is compared, so that it stays so whatever happens to the file meanwhile.
    #[inline]
    pub(crate) fn copy_sound_block(
        &self,
        group: &Group,
        number: u32,
        copies: &mut Vec<u8>,
    ) -> Result<usize, FormatError> {
        let first = group.columns.start;
        let place = Place::Column(SectionKind::RowBlocks, u32::try_from(first).unwrap_or(u32::MAX));
        let Some(Block { padded, len }) =
            self.block(group, number).filter(|block| block.len >= CHECKSUM_SIZE)
        else {
            return Err(corrupt(place, "place of a block", group.blocks.len, number.into()));
        };
        let start = copies.len();
        copies.extend_from_slice(padded);
        let copy = Block { padded: copies.get(start..).unwrap_or_default(), len };
        let expected = u64_at(copy.padded, 0);
        let body = copy.bytes().get(CHECKSUM_SIZE..).unwrap_or_default();
        let found = checksum(body) ^ block_salt(first, number);
        if found == expected {
            return Ok(len);
        }
        let within = self.block_place(group, number).map_or(0, |place| place.start as u64);
        Err(FormatError::ChecksumMismatch { place, offset: group.blocks.offset + within, expected, found })
    }
}
