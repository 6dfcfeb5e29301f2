//! Texts as Arrow arrays, out of their JSON forms; those without escapes are copied as they are.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use mercato_format::text::json_string_text;
use mercato_format::{Dictionary, Texts};

use crate::render::limits::ARROW_BATCH_BYTES;

/// The JSON form of a missing text.
const NULL: &[u8] = b"null";

/// An array of texts under construction.
struct Builder {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    /// Bytes of the JSON forms of all texts. More come from a damaged file, whose spans overlap.
    bytes_max: usize,
    valid: Vec<bool>,
    has_nulls: bool,
}

impl Builder {
    fn new(count: usize, bytes_max: usize) -> Builder {
        let mut offsets = Vec::with_capacity(count.saturating_add(1));
        offsets.push(0);
        let (bytes, valid) =
            (Vec::with_capacity(bytes_max.min(ARROW_BATCH_BYTES)), Vec::with_capacity(count));
        Builder { offsets, bytes, bytes_max, valid, has_nulls: false }
    }

    /// Appends a text in its JSON form; `None` when it is none or too much.
    fn push(&mut self, json: &[u8]) -> Option<()> {
        if json == NULL {
            self.has_nulls = true;
            self.valid.push(false);
        } else {
            let inner = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            if memchr::memchr(b'\\', inner).is_none() {
                self.bytes.extend_from_slice(inner);
            } else {
                self.bytes.extend_from_slice(&json_string_text(json)?);
            }
            self.valid.push(true);
        }
        self.offsets.push(i32::try_from(self.bytes.len()).ok()?);
        (self.bytes.len() <= self.bytes_max).then_some(())
    }

    /// The array; `None` when the texts are not UTF-8.
    fn finish(self) -> Option<ArrayRef> {
        let nulls = self.has_nulls.then(|| self.valid.into_iter().collect::<NullBuffer>());
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Some(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(self.bytes), nulls).ok()?))
    }
}

/// Unpacked texts; `None` when the file is damaged.
pub(super) fn unpacked(json: &[u8], spans: &[(usize, usize)]) -> Option<ArrayRef> {
    let mut builder = Builder::new(spans.len(), json.len());
    for (start, end) in spans {
        builder.push(json.get(*start..*end)?)?;
    }
    builder.finish()
}

/// Bytes of the JSON forms of rows; `None` when the file is damaged.
pub(super) fn stored_bytes(column: &Texts<'_>, rows: impl Iterator<Item = u32>) -> Option<usize> {
    let mut reader = column.reader();
    let mut lengths = rows.map(|row| reader.json_len(row));
    lengths.try_fold(0_usize, |sum, length| sum.checked_add(length?))
}

/// The texts of codes; `None` when the file is damaged.
pub(super) fn of_codes(column: &Dictionary<'_>, codes: &[u32]) -> Option<ArrayRef> {
    let mut builder = Builder::new(codes.len(), entry_bytes(column, codes)?);
    for code in codes {
        builder.push(if *code == column.entries { NULL } else { column.json.get(*code)? })?;
    }
    builder.finish()
}

/// Bytes of the JSON forms of codes; `None` when the file is damaged.
pub(super) fn entry_bytes(column: &Dictionary<'_>, codes: &[u32]) -> Option<usize> {
    codes.iter().try_fold(0_usize, |sum, code| {
        let (start, end) = column.json.span(*code)?;
        sum.checked_add(end.checked_sub(start)? as usize)
    })
}

/// The entries of codes as the values of a dictionary; `None` when the file is damaged.
pub(super) fn entries(column: &Dictionary<'_>, codes: impl Iterator<Item = u32>) -> Option<ArrayRef> {
    let mut builder = Builder::new(0, column.json.bytes().len());
    for code in codes {
        builder.push(column.json.get(code)?)?;
    }
    (!builder.has_nulls).then_some(())?;
    builder.finish()
}

/// Which codes are values; `None` where all are.
pub(super) fn valid_codes(column: &Dictionary<'_>, codes: &[u32]) -> Option<NullBuffer> {
    let is_null = |code: &u32| *code == column.entries;
    codes.iter().any(is_null).then(|| codes.iter().map(|code| !is_null(code)).collect())
}
