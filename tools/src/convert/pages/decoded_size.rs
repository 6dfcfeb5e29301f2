//! Computes the decoded size of a page from its levels and text lengths. Where the exact size would need a pass over the
//! values, an upper bound is used. Does not depend on batches.

use bytes::Bytes;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

use crate::convert::pages::batch_budget::PageValues;
use crate::convert::pages::repetition_levels::RowStarts;

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
    pub fn measure(&mut self, page: &Page) -> Option<PageValues> {
        let (values, starts) = match page {
            Page::DictionaryPage { buf, .. } => {
                if self.has_texts {
                    self.longest_entry = longest_text(buf);
                }
                return None;
            }
            Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
                let encodings = [*rep_level_encoding, *def_level_encoding];
                let (values, repetition) = self.split(buf, encodings);
                (values, self.starts(u64::from(*num_values), repetition))
            }
            Page::DataPageV2 { buf, num_values, rep_levels_byte_len, def_levels_byte_len, .. } => {
                let repetition = *rep_levels_byte_len as usize;
                let levels = repetition.saturating_add(*def_levels_byte_len as usize).min(buf.len());
                let repetition = buf.slice(..repetition.min(levels));
                (buf.slice(levels..), self.starts(u64::from(*num_values), Some(repetition)))
            }
        };
        let (text_bytes_max, text_bytes) = self.texts(page.encoding(), &values);
        Some(PageValues { starts, text_bytes_max, text_bytes })
    }

    /// The values of a version 1 page, and its repetition levels if they are readable.
    fn split(&self, buffer: &Bytes, encodings: [Encoding; 2]) -> (Bytes, Option<Bytes>) {
        let (mut rest, mut repetition) = (buffer.clone(), None);
        for (number, (has_levels, encoding)) in self.has_levels().into_iter().zip(encodings).enumerate() {
            let length = rest.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize);
            let end = length.and_then(|length| length.checked_add(4)).filter(|end| *end <= rest.len());
            match end {
                _ if !has_levels => {}
                Some(end) if encoding == Encoding::RLE => {
                    let levels = rest.split_to(end);
                    repetition = (number == 0).then(|| levels.slice(4..)).or(repetition);
                }
                // Levels without a length: they are measured together with the values.
                _ => return (rest, repetition),
            }
        }
        (rest, repetition)
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
            Encoding::DELTA_BYTE_ARRAY => {
                let bytes = shared_bytes(values).unwrap_or(u64::MAX).saturating_add(stored);
                (bytes, bytes)
            }
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

/// Bytes of the shared prefixes: the sum of the prefix lengths of DELTA_BYTE_ARRAY.
fn shared_bytes(values: &[u8]) -> Option<u64> {
    let mut sum = 0_u64;
    crate::convert::pages::delta_binary_packed::visit(values, u64::MAX, |length| {
        sum = sum.saturating_add(length)
    })
    .ok()?;
    Some(sum)
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
