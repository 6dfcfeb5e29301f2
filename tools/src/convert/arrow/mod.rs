//! Arrow IPC inputs: files and streams. Record batches are read one by one inside the memory limit, decoded with every
//! check of the library, and spilled as Parquet, from which the conversion goes on. Does not depend on other inputs.

mod checks;
mod columns;
mod decimals;
mod decoder;
mod frames;
mod spill;
mod unfolded;

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use arrow_schema::ArrowError;
use indicatif::ProgressBar;

use crate::convert::isolation::channel;
use crate::convert::plan::{DAMAGED, ErrorContext};
use crate::convert::source::Source;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::panic_guard::catch_panic;
use columns::Kept;
use decoder::Decoder;
use frames::Frames;
use spill::Spill;

pub struct ArrowSettings<'a> {
    pub drop: &'a HashSet<String>,
    pub directory: &'a Path,
    /// Memory limit, bytes.
    pub memory_limit: u64,
    pub interruption: &'a Interruption,
}

pub struct SpilledArrow {
    /// The rows, in a file without a name.
    pub file: File,
    /// The columns with their types, one a line.
    pub schema: String,
    /// The names to leave out that the input has.
    pub matched_drops: HashSet<String>,
    /// Size of the input, bytes.
    pub bytes_in: u64,
}

/// Reads an Arrow IPC file or stream to its end and spills its rows.
///
/// # Errors
/// A refusal that names file and place when the input is damaged, unsupported or beyond the memory limit; a failure of
/// the system; after an interruption.
pub fn spill(path: &Path, settings: &ArrowSettings<'_>, bar: &ProgressBar) -> Result<SpilledArrow, Failure> {
    let source = Source::open(path, settings.interruption)?;
    let bytes_in = source.byte_length();
    let context = ErrorContext::of(&source);
    let (mut frames, schema) = Frames::open(source, settings.memory_limit)?;
    let kept = Kept::of(&schema, settings.drop, settings.memory_limit, &context)?;
    let mut spill = Spill::create(&kept, settings, &context)?;
    let mut decoder = Decoder::new(schema, &kept, frames.is_file(), settings.memory_limit, &context);
    while let Some(frame) = frames.next()? {
        if let Some(batch) = decoder.decode(&frame)? {
            spill.write(&batch, frames.position())?;
        }
        bar.set_position(frames.position());
    }
    Ok(SpilledArrow { file: spill.finish()?, schema: kept.text(), matched_drops: kept.matched, bytes_in })
}

/// Runs a decoder of the Arrow library. Its error or panic becomes a refusal.
fn decode<T>(
    context: &ErrorContext,
    section: &str,
    work: impl FnOnce() -> Result<T, ArrowError>,
) -> Result<T, Failure> {
    let reason = match channel::reading(&context.file, section, || catch_panic(work)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("bytes that the decoder gave up on ({panic})"),
    };
    Err(context.refusal(section, "valid Arrow".to_owned(), reason, DAMAGED))
}
