//! Rows of a stream that are encoded together, and the event ids among them.

use std::sync::Arc;

use mercato_catalog::FormatError;
use mercato_query::Plan;
use mercato_query::render::limits::UNIT_BYTES_MAX;
use mercato_query::render::{
    BatchEncoder, Combinations, Format, Progress, RowMark, RowWriter, Unit, encode_some,
};

/// Rows between two event ids of a stream.
const STREAM_ID_INTERVAL_ROWS: u64 = 1_000;

/// Rows in the order of the stream.
pub(super) struct RowUnit<'p, 't> {
    pub(super) plan: &'p Plan<'t>,
    pub(super) printer: Printer<'t>,
    pub(super) rows: Vec<u32>,
    /// Rows of the stream before these.
    pub(super) before: u64,
    /// Whether the stream ends with these.
    pub(super) is_last: bool,
}

/// The encoder of the rows of a stream.
#[derive(Clone)]
pub(super) enum Printer<'t> {
    Text(Format, Arc<Combinations>),
    /// Batches of Arrow or of a workbook.
    Batches(Arc<dyn BatchEncoder + 't>),
}

impl Unit for RowUnit<'_, '_> {
    fn encode(&self, done: usize, out: &mut Vec<u8>) -> Result<Progress, FormatError> {
        let rest = self.rows.get(done..).unwrap_or_default();
        match &self.printer {
            Printer::Text(format, combinations) => self.print(*format, combinations, rest, out),
            Printer::Batches(encoder) => {
                let count = encoder.batch(rest, self.before.saturating_add(done as u64), out)?;
                let rows = done.saturating_add(count);
                // A batch can be read only as a whole.
                let mark = RowMark { end: out.len(), rows: count };
                Ok(Progress { rows, complete: rows >= self.rows.len(), marks: vec![mark] })
            }
        }
    }
}

impl RowUnit<'_, '_> {
    fn print(
        &self,
        format: Format,
        combinations: &Combinations,
        mut rest: &[u32],
        out: &mut Vec<u8>,
    ) -> Result<Progress, FormatError> {
        let (table, columns) = (self.plan.table(), self.plan.columns());
        let mut writer = RowWriter::for_unit(format, table, columns, self.rows.len(), combinations)?;
        let mut marks: Vec<RowMark> = Vec::new();
        while !rest.is_empty() {
            let number = self.before.saturating_add((self.rows.len().saturating_sub(rest.len())) as u64);
            let plain = match format {
                Format::Sse => rows_before_id(number, rest.len(), self.is_last).min(rest.len()),
                _ => rest.len(),
            };
            let (head, tail) = rest.split_at(plain);
            if head.is_empty() {
                self.print_with_id(&mut writer, tail, out)?;
                let rows = marks.last().map_or(0, |mark| mark.rows).saturating_add(1);
                marks.push(RowMark { end: out.len(), rows });
                rest = tail.get(1..).unwrap_or_default();
            } else {
                let encoded = encode_some(&mut writer, head, out, &mut marks)?;
                rest = rest.get(encoded..).unwrap_or_default();
            }
            if out.len() >= UNIT_BYTES_MAX {
                break;
            }
        }
        Ok(Progress::new(self.rows.len().saturating_sub(rest.len()), rest.is_empty(), marks))
    }

    /// The first of the rows, with its id.
    fn print_with_id(
        &self,
        writer: &mut RowWriter<'_>,
        rows: &[u32],
        out: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        let Some(row) = rows.first() else { return Ok(()) };
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(self.plan.cursor_after(*row)?.as_bytes());
        out.push(b'\n');
        writer.rows(&[*row], out)
    }
}

/// How many of the next `count` rows come before the first that carries an id: the first row of the stream, every
/// thousandth, and the last one.
fn rows_before_id(before: u64, count: usize, last: bool) -> usize {
    if before == 0 {
        return 0;
    }
    let to_interval =
        STREAM_ID_INTERVAL_ROWS.saturating_sub(before % STREAM_ID_INTERVAL_ROWS).saturating_sub(1);
    let to_interval = usize::try_from(to_interval).unwrap_or(usize::MAX);
    if last { to_interval.min(count.saturating_sub(1)) } else { to_interval.min(count) }
}

#[cfg(test)]
mod tests {
    use super::rows_before_id;

    #[test]
    fn places_ids_on_first_every_thousandth_and_last_row() {
        assert_eq!(rows_before_id(0, 10, false), 0);
        assert_eq!(rows_before_id(1, 10, false), 10);
        assert_eq!(rows_before_id(1, 10, true), 9);
        assert_eq!(rows_before_id(998, 10, false), 1);
        assert_eq!(rows_before_id(999, 10, false), 0);
        assert_eq!(rows_before_id(1000, 10, false), 10);
        assert_eq!(rows_before_id(1000, 1, true), 0);
    }
}
