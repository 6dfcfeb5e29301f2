//! The payload of a batch of the log: the entries and the records of one operation.
//!
//! ```text
//! payload: number of entries │ entry… │ changes (`changes.rs`)
//! ```
//!
//! The position of an entry in the batch gives its number. Does not depend on operations.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::changes::{Change, Changes, split};
use crate::codec::{DecodeError, Record};
use crate::entry::Entry;
use crate::error::OpenError;
use crate::log::Batch;

/// The records written by one operation.
#[derive(Default)]
pub struct Written {
    entries: u64,
    encoded: Vec<u8>,
    pub changes: Changes,
}

impl Written {
    pub fn push<Text: Serialize>(&mut self, entry: &Entry<Text>) {
        self.encoded = entry.append_to(std::mem::take(&mut self.encoded));
        self.entries += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.entries == 0 && self.changes.is_empty()
    }

    pub const fn entries(&self) -> u64 {
        self.entries
    }

    /// Sequence numbers that it takes: one for each entry, and at least one.
    pub fn count(&self) -> u64 {
        self.entries.max(1)
    }

    /// The entries, numbered from `first` on, and the changes.
    pub fn into_parts(self, first: u64) -> Result<(Vec<Entry>, Changes), DecodeError> {
        let (mut entries, mut rest) = (Vec::new(), self.encoded.as_slice());
        for place in 0..self.entries {
            let (mut entry, behind) = Entry::<String>::take(rest)?;
            entry.sequence = first.saturating_add(place);
            entries.push(entry);
            rest = behind;
        }
        Ok((entries, self.changes))
    }

    /// Appends the payload to `out`. Gives the length of a record that is too long.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), usize> {
        *out = postcard::to_extend(&self.entries, std::mem::take(out)).unwrap_or_default();
        out.extend_from_slice(&self.encoded);
        self.changes.encode(out)
    }
}

/// A decoded batch of the log.
pub enum Read<'b, Text> {
    Entry(Entry<Text>),
    Record(Change<'b>),
}

/// Reads a batch of the log, entries in their order.
pub fn read_batch<'b, Text: Serialize + Deserialize<'b>>(
    path: &Path,
    batch: &'b Batch,
    mut take: impl FnMut(Read<'b, Text>),
) -> Result<(), OpenError> {
    let unreadable = || contradiction(path, format!("batch {} of the log cannot be read", batch.first));
    let (entries, mut rest) = postcard::take_from_bytes::<u64>(&batch.payload).map_err(|_| unreadable())?;
    for place in 0..entries {
        let (mut entry, behind) = Entry::take(rest).map_err(|source| record_error(path, source))?;
        entry.sequence = batch.first.saturating_add(place);
        take(Read::Entry(entry));
        rest = behind;
    }
    for change in split(rest) {
        take(Read::Record(change.ok_or_else(unreadable)?));
    }
    Ok(())
}

pub fn record_error(path: &Path, source: DecodeError) -> OpenError {
    OpenError::Record { directory: path.to_owned(), source }
}

pub fn contradiction(path: &Path, finding: String) -> OpenError {
    OpenError::Unbalanced { directory: path.to_owned(), finding }
}
