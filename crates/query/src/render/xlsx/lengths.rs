//! The length of a whole table as a workbook, and the offset of each chunk of its rows. Every batch is made and measured,
//! so the lengths are those of the encoder; whoever serves them keeps them.

use mercato_format::{FormatError, RenderedLengths};
use rayon::prelude::*;

use crate::render::RENDER_CHUNK_ROWS;
use crate::render::xlsx::{Packed, Tally, XlsxEncoder};

/// The version of the encoding, which tags of downloads contain. Raise it whenever a byte changes, also by an update of
/// the library that deflates.
pub const XLSX_VERSION: u32 = 1;

/// The lengths of a workbook of all rows of the table, and what its end has to know. A batch ends where a chunk ends.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn xlsx_lengths(encoder: &XlsxEncoder<'_>) -> Result<(RenderedLengths<'static>, Tally), FormatError> {
    let rows = encoder.table().row_count();
    let chunks: Vec<Vec<Packed>> = (0..rows.div_ceil(RENDER_CHUNK_ROWS))
        .into_par_iter()
        .map(|chunk| {
            let start = chunk.saturating_mul(RENDER_CHUNK_ROWS);
            batches(encoder, start, start.saturating_add(RENDER_CHUNK_ROWS).min(rows))
        })
        .collect::<Result<_, _>>()?;
    let mut out = Vec::new();
    let mut tally = encoder.begin(&mut out);
    let mut at = out.len() as u64;
    let mut offsets = Vec::with_capacity(chunks.len().saturating_add(1));
    offsets.push(at);
    for batches in chunks {
        for packed in batches {
            at = at.saturating_add(packed.deflated);
            tally.add(packed);
        }
        offsets.push(at);
    }
    out.clear();
    encoder.end(tally.clone(), &mut out);
    let total = at.saturating_add(out.len() as u64);
    let lengths = RenderedLengths::new(XLSX_VERSION, RENDER_CHUNK_ROWS, rows, &offsets, total);
    Ok((lengths.ok_or_else(|| encoder.table().damaged(0))?, tally))
}

/// The batches of a chunk.
fn batches(encoder: &XlsxEncoder<'_>, start: u32, end: u32) -> Result<Vec<Packed>, FormatError> {
    let rows: Vec<u32> = (start..end).collect();
    let (mut rest, mut batches, mut out) = (rows.as_slice(), Vec::new(), Vec::new());
    let mut before = u64::from(start);
    while !rest.is_empty() {
        out.clear();
        let (done, packed, _) = encoder.batch(rest, before, &mut out)?;
        batches.push(packed);
        before = before.saturating_add(done as u64);
        rest = rest.get(done..).unwrap_or_default();
    }
    Ok(batches)
}
