//! Checks the sizes that a message names against its body and the memory limit, before the library allocates by them.
//! Does not depend on values.

use arrow_buffer::Buffer;
use arrow_ipc::{Field, RecordBatch, Schema};
use mercato_format::limits::{COLUMNS_MAX, ROWS_MAX};

use crate::convert::plan::{DAMAGED, ErrorContext};
use crate::failure::Failure;

/// The body of a message, what is decompressed or copied out of it, and all dictionaries may each take one part in this
/// many of the memory.
pub(super) const BATCH_SHARE: u64 = 6;
/// Fields of a schema, with those inside structs and lists.
const FIELDS_MAX: usize = 65_536;
/// Bytes of all names and notes of a schema.
const NAMES_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Values of one array.
const VALUES_MAX: i64 = 1 << 32;
/// Buffers at other multiples than this are copied.
const ALIGNMENT_BYTES: i64 = 16;
/// The decompressed length in front of a compressed buffer.
const PREFIX_BYTES: usize = 8;
/// The prefix of a buffer that is not compressed.
const NOT_COMPRESSED: i64 = -1;

/// Refuses a schema with too many fields or names before it is built.
pub(super) fn check_fields(schema: Schema<'_>, context: &ErrorContext) -> Result<(), Failure> {
    let columns = schema.fields().map_or(0, |fields| fields.len());
    if columns > COLUMNS_MAX {
        let expected = format!("at most {COLUMNS_MAX} columns");
        return Err(context.refusal("schema", expected, columns.to_string(), "split the file"));
    }
    let mut tally = Tally { fields: 0, bytes: 0 };
    tally.notes(schema.custom_metadata().into_iter().flatten().map(|note| (note.key(), note.value())));
    let fields = schema.fields();
    if fields.into_iter().flatten().all(|field| tally.add(field)) && tally.fits() {
        return Ok(());
    }
    let expected = format!("at most {FIELDS_MAX} fields and {NAMES_BYTES_MAX} bytes of names");
    Err(context.refusal("schema", expected, "more".to_owned(), "split the file, or shorten its metadata"))
}

struct Tally {
    fields: usize,
    bytes: usize,
}

impl Tally {
    /// Counts a field and those below it; false beyond the bounds. The library bounds the depth.
    fn add(&mut self, field: Field<'_>) -> bool {
        self.fields += 1;
        self.bytes = self.bytes.saturating_add(field.name().map_or(0, str::len));
        self.notes(field.custom_metadata().into_iter().flatten().map(|note| (note.key(), note.value())));
        self.fits() && field.children().into_iter().flatten().all(|child| self.add(child))
    }

    fn notes<'m>(&mut self, notes: impl Iterator<Item = (Option<&'m str>, Option<&'m str>)>) {
        for (key, value) in notes {
            let bytes = key.map_or(0, str::len).saturating_add(value.map_or(0, str::len));
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }

    fn fits(&self) -> bool {
        self.fields <= FIELDS_MAX && self.bytes <= NAMES_BYTES_MAX
    }
}

/// Checks lengths, places and decompressed sizes of a batch. Returns the bytes that decoding allocates.
pub(super) fn check_batch(
    batch: RecordBatch<'_>,
    body: &Buffer,
    most: u64,
    section: &str,
    context: &ErrorContext,
) -> Result<u64, Failure> {
    let damaged = |expected: String, found: String| Err(context.refusal(section, expected, found, DAMAGED));
    if !u64::try_from(batch.length()).is_ok_and(|rows| rows <= ROWS_MAX) {
        return damaged(format!("0 to {ROWS_MAX} rows"), batch.length().to_string());
    }
    for node in batch.nodes().into_iter().flatten() {
        let (values, nulls) = (node.length(), node.null_count());
        if !(0..=VALUES_MAX).contains(&values) || !(0..=values).contains(&nulls) {
            let expected = format!("arrays of at most {VALUES_MAX} values");
            return damaged(expected, format!("one of {values} values and {nulls} nulls"));
        }
    }
    let is_compressed = batch.compression().is_some();
    let mut allocated = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (offset, length) = (buffer.offset(), buffer.length());
        let Some(bytes) = part(body, offset, length) else {
            let expected = format!("buffers inside the {} bytes of the body", body.len());
            return damaged(expected, format!("one of {length} bytes at {offset}"));
        };
        allocated = match allocation(bytes, offset, is_compressed) {
            Some(bytes) => allocated.saturating_add(bytes),
            None => return damaged("a decompressed size".to_owned(), "none, or a negative one".to_owned()),
        };
    }
    if allocated > most {
        return Err(refuse_size(context, section, allocated, most));
    }
    Ok(allocated)
}

fn part(body: &Buffer, offset: i64, length: i64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    body.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}

/// The bytes that the library allocates for a buffer: those decompressed, and those copied to a better address.
fn allocation(bytes: &[u8], offset: i64, is_compressed: bool) -> Option<u64> {
    if bytes.is_empty() {
        return Some(0);
    }
    let whole = bytes.len() as u64;
    if !is_compressed {
        return Some(if offset % ALIGNMENT_BYTES == 0 { 0 } else { whole });
    }
    match i64::from_le_bytes(*bytes.first_chunk::<PREFIX_BYTES>()?) {
        NOT_COMPRESSED => Some(whole),
        decompressed => u64::try_from(decompressed).ok(),
    }
}

/// The refusal of a message beyond the memory limit.
pub(super) fn refuse_size(context: &ErrorContext, section: &str, bytes: u64, most: u64) -> Failure {
    let limit = bytes.saturating_mul(BATCH_SHARE).div_ceil(1 << 20);
    let remedy = format!(
        "pass --memory-limit {limit}MiB, or write the file with fewer rows a batch (pyarrow: max_chunksize)"
    );
    context.refusal(
        section,
        format!("at most {most} bytes under this --memory-limit"),
        bytes.to_string(),
        &remedy,
    )
}
