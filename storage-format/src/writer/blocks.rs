//! Writes the row blocks of finished columns. Codes and numbers are read back from the file, packed texts from where
//! their column left them. Groups follow one another; the blocks of a piece are made in parallel.

use std::path::Path;

use crate::blocks::encode::{Cells, Piece, packing};
use crate::blocks::{BLOCK_ROWS_MAX, BlockLayout, Packing, plain_packing};
use crate::column::ColumnData;
use crate::column_record::ColumnMeta;
use crate::error::FormatError;
use crate::reader::Table;
use crate::section::SectionKind;
use crate::writer::segment::SectionData;
use crate::writer::spool::Spool;

/// Bytes of the rows of one group, on average: with more, a page of three columns would read too much.
const GROUP_ROW_BYTES_MAX: u64 = 256;
/// Bytes of a block, on average: all of it is read for a row, and eight cache lines come together. With fewer than
/// `BLOCK_ROWS_MIN` rows, its place and checksum would weigh more than that, up to a page of the page cache.
const BLOCK_BYTES: u64 = 512;
const BLOCK_ROWS_MIN: u32 = 8;
const WIDE_BLOCK_BYTES: u64 = 4_096;
/// Bytes of the longest texts of a group; a longer one stands alone.
const GROUP_TEXTS_BYTES_MAX: u64 = 4 << 20;
/// Rows, and bytes of packed texts, that are made at a time.
const PIECE_ROWS: u64 = 16_384;
const PIECE_TEXT_BYTES: u64 = 4 << 20;
/// Memory of a section before it spills, and of sections before they go into the file.
const SECTION_MEMORY_BYTES: u64 = 2 << 20;
const SECTIONS_MEMORY_BYTES: u64 = 8 << 20;
/// Memory of the packed texts of all columns before they spill.
const TEXTS_MEMORY_BYTES: u64 = 4 << 20;

/// The packed texts of a column, and the length of each in four bytes.
pub(crate) struct PackedTexts {
    pub(crate) bytes: Spool,
    pub(crate) lengths: Spool,
    pub(crate) longest: u32,
}

impl PackedTexts {
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes.memory_bytes() + self.lengths.memory_bytes()
    }

    /// Moves the texts to temporary files.
    pub(crate) fn spill(&mut self) -> Result<(), FormatError> {
        self.bytes.spill()?;
        self.lengths.spill()
    }
}

/// The packed texts of all columns until their blocks are written. One temporary file holds what memory does not.
pub(crate) struct PendingTexts {
    spool: Spool,
    columns: Vec<Option<TextPlace>>,
}

/// Where the texts of a column lie.
#[derive(Clone, Copy)]
struct TextPlace {
    lengths: u64,
    bytes: u64,
    /// Bytes in all, and of the longest text.
    len: u64,
    longest: u32,
}

impl PendingTexts {
    pub(crate) fn new(folder: &Path) -> PendingTexts {
        PendingTexts { spool: Spool::new(TEXTS_MEMORY_BYTES, folder), columns: Vec::new() }
    }

    /// Takes the texts of the next column.
    pub(crate) fn push(&mut self, texts: Option<PackedTexts>) -> Result<(), FormatError> {
        let Some(PackedTexts { bytes, lengths, longest }) = texts else {
            self.columns.push(None);
            return Ok(());
        };
        let place = TextPlace {
            lengths: self.spool.len(),
            bytes: self.spool.len() + lengths.len(),
            len: bytes.len(),
            longest,
        };
        lengths.read(1, &mut |piece| self.spool.push(piece))?;
        bytes.read(1, &mut |piece| self.spool.push(piece))?;
        self.columns.push(Some(place));
        Ok(())
    }

    fn of(&self, column: usize) -> Option<TextPlace> {
        self.columns.get(column).copied().flatten()
    }

    fn lengths(&self, place: TextPlace, row: u64, count: u64) -> Result<Vec<u32>, FormatError> {
        let mut bytes = vec![0u8; usize::try_from(count * 4).unwrap_or(0)];
        self.spool.read_at(place.lengths + row * 4, &mut bytes)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|length| u32::from_le_bytes(*length)).collect())
    }
}

/// What is known of a column before its blocks are written.
struct Item {
    row_bits: u64,
    longest: u64,
}

/// The sections of a group of columns.
pub(crate) struct GroupSections {
    pub(crate) first: u32,
    pub(crate) sections: [SectionData; 3],
}

/// Makes blocks of the columns from `first` on of a table that has none yet: of all of them, or as many as memory holds.
/// Returns the first column without blocks.
pub(crate) fn write(
    table: &Table,
    texts: &PendingTexts,
    mut first: usize,
    folder: &Path,
) -> Result<(usize, Vec<GroupSections>), FormatError> {
    let items = (first..table.columns().len()).map(|column| item(table, column, texts));
    let items: Vec<Item> = items.collect::<Result<_, _>>()?;
    let (mut groups, mut rest) = (Vec::new(), items.as_slice());
    let mut memory = 0;
    while !rest.is_empty() && memory < SECTIONS_MEMORY_BYTES {
        let (group, behind) = rest.split_at_checked(columns_of_group(rest)).unwrap_or((rest, &[]));
        let written = write_group(table, texts, first, group, folder)?;
        memory += written.sections.iter().map(|section| section.bytes.memory_bytes()).sum::<u64>();
        groups.push(written);
        first += group.len();
        rest = behind;
    }
    Ok((first, groups))
}

fn item(table: &Table, column: usize, texts: &PendingTexts) -> Result<Item, FormatError> {
    let rows = u64::from(table.row_count()).max(1);
    if let Some(place) = texts.of(column) {
        let (row_bits, longest) = ((place.len / rows + 1) * 8, place.longest.into());
        return Ok(Item { row_bits, longest });
    }
    let packing = plain_packing(&table.stored_column(column)?, has_nulls(table, column));
    Ok(Item { row_bits: packing.width.into(), longest: 0 })
}

fn has_nulls(table: &Table, column: usize) -> bool {
    table.columns().get(column).is_some_and(|meta| meta.null_count > 0)
}

/// As many neighbours as make rows of a good size, at least one.
fn columns_of_group(items: &[Item]) -> usize {
    let (mut bits, mut longest) = (0, 0);
    let fits = items.iter().take_while(|item| {
        bits += item.row_bits;
        longest += item.longest;
        bits <= GROUP_ROW_BYTES_MAX * 8 && longest <= GROUP_TEXTS_BYTES_MAX
    });
    fits.count().max(1)
}

/// The largest power of two whose rows make a block of a good size, and whose longest possible texts stay within bounds.
fn rows_of_block(items: &[Item]) -> u32 {
    let bits: u64 = items.iter().map(|item| item.row_bits).sum();
    let longest: u64 = items.iter().map(|item| item.longest).sum();
    let fits = |rows: u32| {
        let bytes = u64::from(rows) * bits / 8;
        let most = if rows > BLOCK_ROWS_MIN { BLOCK_BYTES } else { WIDE_BLOCK_BYTES };
        bytes <= most && u64::from(rows) * longest <= GROUP_TEXTS_BYTES_MAX
    };
    let mut rows = BLOCK_ROWS_MAX;
    while rows > 1 && !fits(rows) {
        rows /= 2;
    }
    rows
}

fn write_group(
    table: &Table,
    texts: &PendingTexts,
    first: usize,
    items: &[Item],
    folder: &Path,
) -> Result<GroupSections, FormatError> {
    let block_rows = rows_of_block(items);
    let metas: &[ColumnMeta] = table.columns().get(first..first + items.len()).unwrap_or_default();
    let rows = u64::from(table.row_count());
    let mut sources: Vec<Source<'_>> = Vec::with_capacity(items.len());
    let mut packings = Vec::with_capacity(items.len());
    for column in first..first + items.len() {
        let Some(place) = texts.of(column) else {
            let data = table.stored_column(column)?;
            let packing = packing(&data, has_nulls(table, column), rows, block_rows);
            packings.push(packing.ok_or_else(|| table.damaged(column))?);
            sources.push(Source::Column(data));
            continue;
        };
        packings.push(Packing::default());
        sources.push(Source::Texts { texts, place, at: 0 });
    }
    let layout = BlockLayout::of(metas, packings.into_iter(), block_rows);
    let layout = layout.ok_or_else(|| table.damaged(first))?;
    let (mut blocks, mut places) =
        (Spool::new(SECTION_MEMORY_BYTES, folder), Spool::new(SECTION_MEMORY_BYTES, folder));
    let (mut row, mut number, mut at) = (0u64, 0u32, 0u64);
    places.push(&at.to_le_bytes())?;
    while row < rows {
        let most = (rows - row).min(PIECE_ROWS);
        let count =
            sources.iter().try_fold(most, |count, source| source.fitting(row, count, block_rows.into()))?;
        let cells = sources.iter_mut().map(|source| source.read(row, count));
        let cells: Vec<Cells> =
            cells.collect::<Option<Result<_, _>>>().ok_or_else(|| table.damaged(first))??;
        let piece = Piece {
            layout: &layout,
            cells: &cells,
            first,
            block_rows,
            rows: usize::try_from(count).unwrap_or(0),
        };
        for (bytes, lengths) in piece.encode(number) {
            blocks.push(&bytes)?;
            for length in lengths {
                at += length;
                number += 1;
                places.push(&at.to_le_bytes())?;
            }
        }
        row += count;
    }
    let mut columns = Spool::new(SECTION_MEMORY_BYTES, folder);
    columns.push(&layout.encode())?;
    let width = u16::try_from(block_rows).unwrap_or(0);
    let number = u64::from(number);
    let count = items.len() as u64;
    Ok(GroupSections {
        first: u32::try_from(first).unwrap_or(u32::MAX),
        sections: [
            SectionData { kind: SectionKind::BlockColumns, width: 32, items: count, bytes: columns },
            SectionData { kind: SectionKind::BlockPlaces, width: 8, items: number + 1, bytes: places },
            SectionData { kind: SectionKind::RowBlocks, width, items: number, bytes: blocks },
        ],
    })
}

/// Where the cells of a column come from, in row order.
enum Source<'a> {
    Column(ColumnData<'a>),
    /// Texts, of which `at` bytes have been read.
    Texts {
        texts: &'a PendingTexts,
        place: TextPlace,
        at: u64,
    },
}

impl Source<'_> {
    /// How many of the next `count` rows fit a piece: whole blocks, at least one.
    fn fitting(&self, row: u64, count: u64, block_rows: u64) -> Result<u64, FormatError> {
        let Source::Texts { texts, place, .. } = self else { return Ok(count) };
        let lengths = texts.lengths(*place, row, count)?;
        let (mut bytes, mut fits) = (0, 0);
        for block in lengths.chunks(usize::try_from(block_rows).unwrap_or(1)) {
            bytes += block.iter().map(|length| u64::from(*length)).sum::<u64>();
            if bytes > PIECE_TEXT_BYTES && fits > 0 {
                break;
            }
            fits += block.len() as u64;
        }
        Ok(fits)
    }

    /// The cells of the next rows, which begin at `row`; `None` when there are fewer.
    fn read(&mut self, row: u64, count: u64) -> Option<Result<Cells, FormatError>> {
        Some(Ok(match self {
            Source::Column(data) => Cells::of(data, row, count)?,
            Source::Texts { texts, place, at } => match read_texts(texts, *place, row, count, *at) {
                Ok((places, bytes)) => {
                    *at += bytes.len() as u64;
                    Cells::Texts(places, bytes)
                }
                Err(error) => return Some(Err(error)),
            },
        }))
    }
}

fn read_texts(
    texts: &PendingTexts,
    place: TextPlace,
    row: u64,
    count: u64,
    at: u64,
) -> Result<(Vec<usize>, Vec<u8>), FormatError> {
    let mut places = vec![0usize];
    let mut end = 0usize;
    for length in texts.lengths(place, row, count)? {
        end += length as usize;
        places.push(end);
    }
    let mut bytes = vec![0u8; end];
    texts.spool.read_at(place.bytes + at, &mut bytes)?;
    Ok((places, bytes))
}
