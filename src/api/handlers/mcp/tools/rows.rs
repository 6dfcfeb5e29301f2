//! Rows as JSON inside a bound of bytes: as many as fit. A row that is longer alone is refused.
//!
//! Does not depend on prices or arguments.

use crate::api::handlers::query::page_answer::non_finite_warning;
use crate::limits::mcp::ROWS_BYTES_MAX;
use mercato_base::words::{counted, grouped};
use mercato_catalog::{FormatError, Table};
use mercato_query::render::{Format, RenderNotes, render_rows};
use mercato_web::{ApiError, ErrorKind};

/// Rows that are encoded before the bound is looked at.
const BATCH_ROWS: usize = 64;

/// Encoded rows.
pub(super) struct Rows {
    /// A JSON list.
    json: Vec<u8>,
    /// The number of rows in it.
    pub(super) count: usize,
    non_finite: u64,
    /// Bytes of the row that did not fit; 0 where all did.
    longest: usize,
}

impl Rows {
    /// Encodes the first of `rows`, as many as fit; `damaged` makes the refusal of a damaged file.
    pub(super) fn encode(
        table: &Table,
        columns: &[usize],
        rows: &[u32],
        damaged: impl Fn(&FormatError) -> ApiError,
    ) -> Result<Self, ApiError> {
        let encoded = Self::encode_fitting(table, columns, rows).map_err(|error| damaged(&error))?;
        if encoded.count == 0 && encoded.longest > 0 {
            return Err(too_long(encoded.longest));
        }
        Ok(encoded)
    }

    fn encode_fitting(table: &Table, columns: &[usize], rows: &[u32]) -> Result<Self, FormatError> {
        let mut encoded = Self { json: vec![b'['], count: 0, non_finite: 0, longest: 0 };
        let mut lines = Vec::new();
        for batch in rows.chunks(BATCH_ROWS) {
            lines.clear();
            let notes = render_rows(Format::Ndjson, table, columns, batch, &mut lines)?;
            let taken = encoded.append(&lines);
            let notes = match batch.get(..taken).filter(|shown| shown.len() < batch.len()) {
                None => notes,
                // Rows that were cut off give no warning.
                Some(shown) => render_rows(Format::Ndjson, table, columns, shown, &mut Vec::new())?,
            };
            encoded.non_finite = encoded.non_finite.saturating_add(notes.non_finite);
            if taken < batch.len() {
                break;
            }
        }
        encoded.json.push(b']');
        Ok(encoded)
    }

    /// Appends lines while they fit. Returns how many did.
    fn append(&mut self, lines: &[u8]) -> usize {
        let mut taken = 0_usize;
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if self.json.len().saturating_add(line.len()) > ROWS_BYTES_MAX {
                self.longest = line.len();
                break;
            }
            if self.count > 0 {
                self.json.push(b',');
            }
            self.json.extend_from_slice(line);
            self.count = self.count.saturating_add(1);
            taken = taken.saturating_add(1);
        }
        taken
    }

    /// Warnings about the rows.
    pub(super) fn warnings(&self) -> Vec<String> {
        non_finite_warning(&RenderNotes { non_finite: self.non_finite, ..RenderNotes::default() })
            .into_iter()
            .collect()
    }

    /// A JSON object that begins with the rows; `rest` is another object, whose members follow.
    pub(super) fn before(self, rest: &[u8]) -> Vec<u8> {
        let rest = rest.strip_prefix(b"{").unwrap_or(rest);
        [br#"{"rows":"#, self.json.as_slice(), b",", rest].concat()
    }
}

/// The refusal of a row that no result can hold.
fn too_long(bytes: usize) -> ApiError {
    let bytes = counted(bytes.try_into().unwrap_or(u64::MAX), "byte");
    let most = grouped(ROWS_BYTES_MAX.try_into().unwrap_or(u64::MAX));
    let message = format!("the next row has {bytes}, and a result holds {most}; nothing was charged");
    ApiError::new(ErrorKind::Unprocessable, message)
        .with_reason("ROW_TOO_LONG", "name fewer columns; the HTTP API has no such bound")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_rows_while_they_fit() {
        let empty = || Rows { json: vec![b'['], count: 0, non_finite: 0, longest: 0 };
        let mut rows = empty();
        let huge = format!("{{\"a\":\"{}\"}}\n{{\"a\":1}}\n", "x".repeat(ROWS_BYTES_MAX));
        assert_eq!((rows.append(huge.as_bytes()), rows.count), (0, 0));
        assert_eq!(rows.longest, ROWS_BYTES_MAX + 8);
        let refusal = too_long(rows.longest);
        assert!(refusal.message().contains("1,048,584 bytes"), "{}", refusal.message());
        let mut rows = empty();
        assert_eq!((rows.append(b"{\"a\":1}\n{\"a\":2}\n"), rows.count), (2, 2));
        rows.json.push(b']');
        assert_eq!(rows.before(b"{\"b\":1}"), br#"{"rows":[{"a":1},{"a":2}],"b":1}"#);
    }
}
