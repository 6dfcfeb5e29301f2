//! Reads the footer of a Parquet file with the Parquet library, with two things that it does not do: a leaf with an
//! unknown annotation is read as its physical type, as other readers do, and encryption is called by its name. Does
//! not depend on columns.

use parquet::errors::Result;
use parquet::file::metadata::{FooterTail, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader};

use crate::convert::chunk_offsets;
use crate::convert::plan::ErrorContext;
use crate::convert::source::Source;
use crate::convert::thrift::{Cursor, I32, LIST, STRUCT};
use crate::failure::Failure;

const TAIL_BYTES: usize = 8;

/// Field numbers of `parquet.thrift`.
const FIELD_SCHEMA: i64 = 2;
const FIELD_CONVERTED_TYPE: i64 = 6;
const FIELD_ENCRYPTION_ALGORITHM: i64 = 8;
/// `INTERVAL`, the highest known converted type.
const CONVERTED_TYPE_MAX: i64 = 21;

/// Reads the bytes of the footer, with unknown annotations taken out.
pub fn read(source: &Source, context: &ErrorContext) -> std::result::Result<Vec<u8>, Failure> {
    let mut footer = context.decode("Parquet footer", || {
        let start = source.byte_length().saturating_sub(TAIL_BYTES as u64);
        let tail = source.read_exactly(start, TAIL_BYTES)?;
        let tail = FooterTail::try_from(tail.as_slice())?;
        if tail.is_encrypted_footer() {
            return Ok(None);
        }
        let length = tail.metadata_length();
        Ok(Some(source.read_exactly(start.saturating_sub(length as u64), length)?))
    })?;
    let found = match &mut footer {
        None => "an encrypted footer",
        Some(bytes) => {
            if !forget_unknown_types(bytes) {
                return Ok(std::mem::take(bytes));
            }
            "a plain footer with encrypted columns"
        }
    };
    let expected = "a file without encryption".to_owned();
    Err(context.refusal("Parquet footer", expected, found.to_owned(), "decrypt it with its keys first"))
}

pub fn decode(footer: &[u8], options: Option<&ParquetMetaDataOptions>) -> Result<ParquetMetaData> {
    chunk_offsets::with_true_starts(ParquetMetaDataReader::decode_metadata_with_options(footer, options)?)
}

/// Sets unknown converted types to -1, which is none, in as many bytes. Returns whether columns are encrypted.
fn forget_unknown_types(footer: &mut [u8]) -> bool {
    let (mut unknown, mut is_encrypted) = (Vec::new(), false);
    // A footer that cannot be read to its end is the library's to refuse.
    let _ = Cursor::new(footer).each_field(|cursor, field| {
        is_encrypted |= (field.number, field.wire_type) == (FIELD_ENCRYPTION_ALGORITHM, STRUCT);
        if (field.number, field.wire_type) != (FIELD_SCHEMA, LIST) {
            return cursor.skip(field.wire_type);
        }
        let (count, wire_type) = cursor.list()?;
        if wire_type != STRUCT {
            return None;
        }
        (0..count).try_for_each(|_| {
            cursor.each_field(|cursor, field| {
                let start = cursor.position;
                if (field.number, field.wire_type) != (FIELD_CONVERTED_TYPE, I32) {
                    return cursor.skip(field.wire_type);
                }
                if !(0..=CONVERTED_TYPE_MAX).contains(&cursor.signed()?) {
                    unknown.push(start..cursor.position);
                }
                Some(())
            })
        })
    });
    for value in unknown {
        // Zigzag 1 is -1; the bytes before the last say that more follow.
        if let Some([first, rest @ ..]) = footer.get_mut(value) {
            *first = if rest.is_empty() { 1 } else { 0x81 };
            if let Some((last, between)) = rest.split_last_mut() {
                between.fill(0x80);
                *last = 0;
            }
        }
    }
    is_encrypted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer of version 1 with a schema of these elements and a number of rows.
    fn footer(elements: &[&[u8]]) -> Vec<u8> {
        let head = [0x15, 0x02, 0x19, (elements.len() as u8) << 4 | 0x0c];
        [&head, elements.concat().as_slice(), &[0x16, 0x08, 0x00]].concat()
    }

    #[test]
    fn forgets_only_unknown_converted_types() {
        // Name "a", then converted type 21, 24 or 1000, and scale 3.
        let known: &[u8] = &[0x48, 1, b'a', 0x25, 42, 0x15, 6, 0];
        let unknown: &[u8] = &[0x48, 1, b'a', 0x25, 48, 0x15, 6, 0];
        let large: &[u8] = &[0x48, 1, b'a', 0x25, 0xd0, 0x0f, 0x15, 6, 0];
        let none: &[u8] = &[0x48, 1, b'a', 0x25, 1, 0x15, 6, 0];
        let long_none: &[u8] = &[0x48, 1, b'a', 0x25, 0x81, 0, 0x15, 6, 0];
        let mut bytes = footer(&[known, unknown, large, known]);
        assert!(!forget_unknown_types(&mut bytes));
        assert_eq!(bytes, footer(&[known, none, long_none, known]));
        let mut cut = footer(&[unknown])[..9].to_vec();
        assert!(!forget_unknown_types(&mut cut));
    }
}
