//! The pages of one column chunk, looked at before the Parquet reader believes them.
//!
//! Texts whose lengths are packed by their differences (DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY) say themselves how
//! many they are, and the reader makes room for as many at once; a page of 30 bytes could ask for any amount of memory.
//! The layout is that of the "Encodings" document of the Parquet format. Knows no value.

use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::source::Source;

/// Bytes of a number of 64 bits, seven bits a byte.
const NUMBER_BYTES_MAX: usize = 10;

/// One row group of a file.
pub struct CheckedGroup<'f> {
    /// The file.
    pub source: &'f Source,
    /// Its footer.
    pub metadata: &'f ParquetMetaData,
    /// The row group.
    pub group: &'f RowGroupMetaData,
}

impl RowGroups for CheckedGroup<'_> {
    fn num_rows(&self) -> usize {
        usize::try_from(self.group.num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let chunk = self.group.columns().get(column);
        let chunk = chunk.ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        let pages = SerializedPageReader::new(Arc::new(self.source.clone()), chunk, self.num_rows(), None)?;
        let description = chunk.column_descr();
        let has_levels = [description.max_rep_level() > 0, description.max_def_level() > 0];
        Ok(Box::new(OneChunk { pages: Some(Box::new(CheckedPages { pages, has_levels })) }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.group))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

struct OneChunk {
    pages: Option<Box<dyn PageReader>>,
}

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pages.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}

struct CheckedPages {
    pages: SerializedPageReader<Source>,
    /// Whether repetition and definition levels stand before the values.
    has_levels: [bool; 2],
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            check(page, self.has_levels).map_err(|fault| ParquetError::General(fault.to_owned()))?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

type Checked<T> = std::result::Result<T, &'static str>;

fn check(page: &Page, has_levels: [bool; 2]) -> Checked<()> {
    let is_packed =
        |encoding| matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY);
    let most = u64::from(page.num_values());
    match page {
        Page::DataPage { buf, encoding, def_level_encoding, rep_level_encoding, .. }
            if is_packed(*encoding) =>
        {
            let levels = [(has_levels[0], *rep_level_encoding), (has_levels[1], *def_level_encoding)];
            let values = levels.into_iter().try_fold(buf.as_ref(), |rest, (present, encoding)| {
                if present { behind_levels(rest, encoding) } else { Ok(rest) }
            })?;
            check_lengths(values, *encoding, most)
        }
        Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, .. }
            if is_packed(*encoding) =>
        {
            check_lengths(behind_both(buf, *rep_levels_byte_len, *def_levels_byte_len)?, *encoding, most)
        }
        _ => Ok(()),
    }
}

fn behind_both(page: &Bytes, repetition: u32, definition: u32) -> Checked<&[u8]> {
    let levels = usize::try_from(u64::from(repetition) + u64::from(definition)).ok();
    levels.and_then(|levels| page.get(levels..)).ok_or("the levels of a page are longer than the page")
}

/// What follows levels, which begin with their length.
fn behind_levels(bytes: &[u8], encoding: Encoding) -> Checked<&[u8]> {
    if encoding != Encoding::RLE {
        return Err("levels without their length before packed texts are not supported");
    }
    let found = bytes.split_first_chunk::<4>();
    let found = found.and_then(|(length, rest)| rest.get(u32::from_le_bytes(*length) as usize..));
    found.ok_or("the levels of a page are longer than the page")
}

/// The lengths that stand before packed texts: one list, or those of the shared beginnings and those of the rest.
fn check_lengths(values: &[u8], encoding: Encoding, most: u64) -> Checked<()> {
    let rest = skip_packed(values, most)?;
    if encoding == Encoding::DELTA_BYTE_ARRAY {
        skip_packed(rest, most)?;
    }
    Ok(())
}

/// What follows numbers that are packed by their differences, at most `most` of them.
fn skip_packed(bytes: &[u8], most: u64) -> Checked<&[u8]> {
    const CUT: &str = "the lengths of texts are cut";
    let (block, rest) = number(bytes).ok_or(CUT)?;
    let (parts, rest) = number(rest).ok_or(CUT)?;
    let (count, rest) = number(rest).ok_or(CUT)?;
    if count > most {
        return Err("a page has more lengths than values");
    }
    let each = block.checked_div(parts).filter(|each| *each > 0).ok_or("a block of lengths is empty")?;
    let (_, mut rest) = number(rest).ok_or(CUT)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let (_, after) = number(rest).ok_or(CUT)?;
        let parts = usize::try_from(parts).map_err(|_| CUT)?;
        let (widths, after) = after.split_at_checked(parts).ok_or(CUT)?;
        rest = after;
        for width in widths {
            if left == 0 {
                break;
            }
            let bytes = each.checked_mul(u64::from(*width)).map(|bits| bits / 8);
            let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
            rest = bytes.and_then(|bytes| rest.get(bytes..)).ok_or(CUT)?;
            left = left.saturating_sub(each);
        }
    }
    Ok(rest)
}

/// A number of seven bits a byte, the lowest first.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(NUMBER_BYTES_MAX).enumerate() {
        value |= u64::from(byte & 0x7F).checked_shl(u32::try_from(index * 7).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(index + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_skipped_to_their_end_and_counted() {
        // A block of 128 in four parts, three numbers; the first is 2, the differences are packed into one part of 8 bits.
        let mut packed = vec![0x80, 0x01, 4, 3, 4, 0, 8, 0, 0, 0];
        packed.extend([1; 32]);
        packed.extend(b"behind");
        assert_eq!(skip_packed(&packed, 3), Ok(b"behind".as_slice()));
        assert!(skip_packed(&packed, 2).unwrap_err().contains("more lengths than values"));
        for end in 0..packed.len() - b"behind".len() {
            assert!(skip_packed(&packed[..end], 3).is_err(), "{end}");
        }
        assert_eq!(skip_packed(&[0x80, 0x01, 4, 0, 0, 9], 0), Ok([9].as_slice()));
        assert_eq!(skip_packed(&[0, 0, 1, 0], 1), Err("a block of lengths is empty"));
    }

    #[test]
    fn a_claim_of_many_lengths_is_refused_in_both_kinds_of_page() {
        let claim = [0x80, 0x01, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0];
        let encoding = Encoding::DELTA_LENGTH_BYTE_ARRAY;
        let page = Page::DataPage {
            buf: [[2, 0, 0, 0, 7, 7].as_slice(), &claim].concat().into(),
            num_values: 9,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        assert_eq!(check(&page, [false, true]), Err("a page has more lengths than values"));
        let page = Page::DataPageV2 {
            buf: [[7, 7].as_slice(), &claim].concat().into(),
            num_values: 9,
            encoding,
            num_nulls: 0,
            num_rows: 9,
            def_levels_byte_len: 2,
            rep_levels_byte_len: 0,
            is_compressed: false,
            statistics: None,
        };
        assert_eq!(check(&page, [false, true]), Err("a page has more lengths than values"));
    }
}
