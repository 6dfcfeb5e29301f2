//! The length of a whole table as a stream, and the offset of each chunk of its rows. Every batch is made and measured,
//! so the lengths are those of the encoder; whoever serves them keeps them.

use mercato_format::{FormatError, RenderedLengths};
use rayon::prelude::*;

use crate::render::RENDER_CHUNK_ROWS;
use crate::render::arrow::{ArrowEncoder, message};
use crate::render::limits::{ARROW_BATCH_BYTES, ARROW_BATCH_ROWS_MAX};

/// The version of the encoding, which tags of downloads contain. Raise it whenever a byte changes.
pub const ARROW_VERSION: u32 = 1;

/// The lengths of a stream of all rows of the table. A batch ends where a chunk ends.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn arrow_lengths(encoder: &ArrowEncoder<'_>) -> Result<RenderedLengths<'static>, FormatError> {
    let rows = encoder.table().row_count();
    let chunk_rows = chunk_rows(encoder)?;
    let lengths: Vec<u64> = (0..rows.div_ceil(chunk_rows))
        .into_par_iter()
        .map(|chunk| {
            let start = chunk.saturating_mul(chunk_rows);
            chunk_bytes(encoder, start, start.saturating_add(chunk_rows).min(rows))
        })
        .collect::<Result<_, _>>()?;
    let mut begin = Vec::new();
    encoder.begin(&mut begin)?;
    let mut at = begin.len() as u64;
    let mut offsets = Vec::with_capacity(lengths.len().saturating_add(1));
    offsets.push(at);
    for length in lengths {
        at = at.saturating_add(length);
        offsets.push(at);
    }
    let total = at.saturating_add(message::END.len() as u64);
    RenderedLengths::new(ARROW_VERSION, chunk_rows, rows, &offsets, total)
        .ok_or_else(|| encoder.table().damaged(0))
}

fn chunk_bytes(encoder: &ArrowEncoder<'_>, start: u32, end: u32) -> Result<u64, FormatError> {
    let rows: Vec<u32> = (start..end).collect();
    let (mut rest, mut bytes, mut out) = (rows.as_slice(), 0_u64, Vec::new());
    while !rest.is_empty() {
        out.clear();
        let done = encoder.batch(rest, &mut out)?;
        bytes = bytes.saturating_add(out.len() as u64);
        rest = rest.get(done..).unwrap_or_default();
    }
    Ok(bytes)
}

/// Rows of a chunk: a power of two, as many as one batch of average rows holds.
fn chunk_rows(encoder: &ArrowEncoder<'_>) -> Result<u32, FormatError> {
    let table = encoder.table();
    let rows = u64::from(table.row_count()).max(1);
    let mut texts = 0_u64;
    for column in &encoder.columns {
        texts = texts.saturating_add(column.all_text_bytes().ok_or_else(|| table.damaged(column.number()))?);
    }
    let each = (encoder.row_bytes as u64).saturating_add(texts.div_ceil(rows)).max(1);
    let fitting = (ARROW_BATCH_BYTES as u64).checked_div(each).unwrap_or(1).max(1);
    let power = 1_u64 << fitting.ilog2();
    let most = u64::try_from(ARROW_BATCH_ROWS_MAX).unwrap_or(u64::MAX);
    Ok(u32::try_from(power.min(most)).unwrap_or(RENDER_CHUNK_ROWS).max(RENDER_CHUNK_ROWS))
}
