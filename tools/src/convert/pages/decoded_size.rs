//! Computes the decoded size of a page from its levels and text lengths. Where the exact size would need a pass over the
//! values, an upper bound is used. Does not depend on batches.

use bytes::Bytes;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

use crate::convert::pages::batch_budget::PageValues;
use crate::convert::pages::delta_binary_packed;
use crate::convert::pages::repetition_levels::{RowStarts, exceeds};

/// Pages with more text are scanned for their longest text; a bound suffices for smaller pages.
const SEARCHED_TEXT_BYTES_MIN: u64 = 256 * 1024;

/// The properties that all pages of a leaf share.
#[derive(Clone, Debug)]
pub struct LeafProperties {
    /// Greatest repetition and definition levels.
    levels_max: [i16; 2],
    /// Whether texts are plain values.
    has_texts: bool,
    /// Bytes of the longest text of the dictionary.
    longest_entry: u64,
}

impl LeafProperties {
    /// The properties of a leaf. `as_keys` reads texts as dictionary keys.
    #[must_use]
    pub fn of(leaf: &ColumnDescriptor, as_keys: bool) -> LeafProperties {
        LeafProperties {
            levels_max: [leaf.max_rep_level(), leaf.max_def_level()],
            has_texts: leaf.physical_type() == PhysicalType::BYTE_ARRAY && !as_keys,
            longest_entry: 0,
        }
    }

    /// Whether repetition and definition levels precede the values.
    fn has_levels(&self) -> [bool; 2] {
        self.levels_max.map(|level| level > 0)
    }

    /// Measures a data page; `None` for a dictionary page, whose longest text is recorded.
    ///
    /// # Errors
    /// When a level is above its maximum. The decoder would take it for another one.
    pub fn measure(&mut self, page: &Page) -> Result<Option<PageValues>> {
        let (values, levels) = match page {
            Page::DictionaryPage { buf, .. } => {
                if self.has_texts {
                    self.longest_entry = longest_text(buf);
                }
                return Ok(None);
            }
            Page::DataPage { buf, def_level_encoding, rep_level_encoding, .. } => {
                self.split(buf, [*rep_level_encoding, *def_level_encoding])
            }
            Page::DataPageV2 { buf, rep_levels_byte_len, def_levels_byte_len, .. } => {
                let repetition = *rep_levels_byte_len as usize;
                let levels = repetition.saturating_add(*def_levels_byte_len as usize).min(buf.len());
                let repetition = repetition.min(levels);
                let split = [buf.slice(..repetition), buf.slice(repetition..levels)];
                (buf.slice(levels..), split.map(Some))
            }
        };
        let count = u64::from(page.num_values());
        self.check(count, &levels)?;
        let [repetition, _] = levels;
        let starts = self.starts(count, repetition);
        let (text_bytes_max, text_bytes) = self.texts(page.encoding(), &values);
        Ok(Some(PageValues { starts, text_bytes_max, text_bytes }))
    }

    fn check(&self, count: u64, levels: &[Option<Bytes>; 2]) -> Result<()> {
        for ((name, most), levels) in ["repetition", "definition"].iter().zip(self.levels_max).zip(levels) {
            if most > 0 && levels.as_ref().is_some_and(|levels| exceeds(levels, count, most)) {
                return Err(ParquetError::General(format!("a {name} level above the maximum of {most}")));
            }
        }
        Ok(())
    }

    /// The values of a version 1 page, and its repetition and definition levels if they are readable.
    fn split(&self, buffer: &Bytes, encodings: [Encoding; 2]) -> (Bytes, [Option<Bytes>; 2]) {
        let (mut rest, mut found) = (buffer.clone(), [None, None]);
        for ((has_levels, encoding), found) in self.has_levels().into_iter().zip(encodings).zip(&mut found) {
            let length = rest.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize);
            let end = length.and_then(|length| length.checked_add(4)).filter(|end| *end <= rest.len());
            match end {
                _ if !has_levels => {}
                Some(end) if encoding == Encoding::RLE => {
                    *found = Some(rest.split_to(end).slice(4..));
                }
                // Levels without a length: they are measured together with the values.
                _ => break,
            }
        }
        (rest, found)
    }

    /// The row starts of a page. Without readable repetition levels, a page of a repeated leaf counts as one row.
    fn starts(&self, count: u64, repetition: Option<Bytes>) -> RowStarts {
        match self.levels_max {
            [0, _] => RowStarts::flat(count),
            [level_max, _] => RowStarts::repeated(count, level_max, repetition.unwrap_or_default()),
        }
    }

    /// Upper bounds for the bytes of the longest text and of all texts.
    fn texts(&self, encoding: Encoding, values: &[u8]) -> (u64, u64) {
        let stored = values.len() as u64;
        match encoding {
            _ if !self.has_texts => (0, 0),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => (self.longest_entry, u64::MAX),
            Encoding::PLAIN if stored >= SEARCHED_TEXT_BYTES_MIN => (longest_text(values), stored),
            Encoding::DELTA_LENGTH_BYTE_ARRAY => (longest_length(values).unwrap_or(stored), stored),
            Encoding::DELTA_BYTE_ARRAY => delta_texts(values).unwrap_or((u64::MAX, u64::MAX)),
            _ => (stored, stored),
        }
    }
}

/// Bytes of the longest text, where each text follows its length.
fn longest_text(texts: &[u8]) -> u64 {
    let (mut rest, mut longest) = (texts, 0);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(u64::from(length).min(after.len() as u64));
        rest = after.get(length as usize..).unwrap_or_default();
    }
    longest
}

/// Bytes of the longest text of DELTA_LENGTH_BYTE_ARRAY, whose lengths come first.
fn longest_length(values: &[u8]) -> Option<u64> {
    let mut longest = 0;
    delta_binary_packed::visit(values, u64::MAX, |length| longest = length.max(longest)).ok()?;
    Some(longest)
}

/// Upper bounds for the bytes of the longest text and of all texts of DELTA_BYTE_ARRAY: the lengths of the prefixes,
/// then those of the suffixes.
fn delta_texts(values: &[u8]) -> Option<(u64, u64)> {
    let (mut prefix, mut shared) = (0_u64, 0_u64);
    let suffixes = delta_binary_packed::visit(values, u64::MAX, |length| {
        prefix = prefix.max(length);
        shared = shared.saturating_add(length);
    });
    let suffix = longest_length(suffixes.ok()?)?;
    Some((prefix.saturating_add(suffix), shared.saturating_add(values.len() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_text_is_bounded_by_page() {
        let texts = [3_u32.to_le_bytes().as_slice(), b"abc", &5_u32.to_le_bytes(), b"abcde"].concat();
        assert_eq!(longest_text(&texts), 5);
        assert_eq!(longest_text(&texts[..13]), 3, "a text that is cut");
        assert_eq!(longest_text(&u32::MAX.to_le_bytes()), 0);
    }
}
