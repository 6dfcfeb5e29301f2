//! Lengths of downloadable files of text, and hashes of small ones.
//!
//! Most store files keep their lengths. For others they are computed once and cached. Does not depend on routes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use sha2::{Digest, Sha256};

use mercato_catalog::{FormatError, Table};
use mercato_query::render::{Document, Format, RenderedLengths, Unit, count_lengths, stored_lengths};

/// Largest downloaded file that is hashed before it is sent.
const DIGEST_BYTES_MAX: u64 = 1024 * 1024;
/// Most rows of a table whose export length is computed on request when the store file does not keep it.
const COUNTED_AT_ONCE_ROWS_MAX: u32 = 100_000;
/// Files whose lengths and hashes are cached.
const EXPORTS_REMEMBERED_MAX: usize = 256;

/// Lengths and hashes by content of the table and format.
#[derive(Default)]
pub struct Exports {
    remembered: Mutex<HashMap<Key, Shared>>,
}

type Key = (String, Format);

type Shared = Arc<Mutex<Remembered>>;

#[derive(Default)]
struct Remembered {
    lengths: Option<RenderedLengths<'static>>,
    digest: Option<String>,
}

impl Exports {
    /// The table as a file in that format. Its lengths are counted where the store file does not keep them.
    pub fn open<'t>(&self, table: &'t Table, format: Format) -> Result<Document<'t>, FormatError> {
        let lengths = stored_lengths(table, format).map_or_else(|| self.counted(table, format), Ok)?;
        Ok(Document::new(table, format, lengths))
    }

    /// Bytes of the download, if they are known or soon counted.
    pub fn bytes(&self, table: &Table, format: Format) -> Option<u64> {
        if let Some(stored) = stored_lengths(table, format) {
            return Some(stored.total_bytes());
        }
        if table.row_count() <= COUNTED_AT_ONCE_ROWS_MAX {
            return Some(self.counted(table, format).ok()?.total_bytes());
        }
        let remembered = lock(&self.remembered).get(&key(table, format)).cloned()?;
        let remembered = lock(&remembered);
        remembered.lengths.as_ref().map(RenderedLengths::total_bytes)
    }

    /// `Repr-Digest` of a small download.
    pub fn digest(&self, document: &Document<'_>) -> Result<Option<String>, FormatError> {
        if document.bytes() > DIGEST_BYTES_MAX {
            return Ok(None);
        }
        let remembered = self.remembered(key(document.table(), document.format()));
        let mut remembered = lock(&remembered);
        if remembered.digest.is_none() {
            remembered.digest = Some(digest(document)?);
        }
        Ok(remembered.digest.clone())
    }

    fn counted(&self, table: &Table, format: Format) -> Result<RenderedLengths<'static>, FormatError> {
        let remembered = self.remembered(key(table, format));
        // A request that comes while another one counts them waits for that count.
        let mut remembered = lock(&remembered);
        if let Some(lengths) = &remembered.lengths {
            return Ok(lengths.clone());
        }
        let lengths = count_lengths(table, format)?;
        remembered.lengths = Some(lengths.clone());
        Ok(lengths)
    }

    fn remembered(&self, key: Key) -> Shared {
        let mut all = lock(&self.remembered);
        if all.len() >= EXPORTS_REMEMBERED_MAX && !all.contains_key(&key) {
            all.clear();
        }
        Arc::clone(all.entry(key).or_default())
    }
}

fn key(table: &Table, format: Format) -> Key {
    (table.fingerprint().to_string(), format)
}

fn digest(document: &Document<'_>) -> Result<String, FormatError> {
    let mut hash = Sha256::new();
    let mut bytes = Vec::new();
    for unit in document.units(0..document.bytes()) {
        let mut done = 0;
        loop {
            bytes.clear();
            let progress = unit.encode(done, &mut bytes)?;
            hash.update(&bytes);
            done = progress.rows;
            if progress.complete {
                break;
            }
        }
    }
    let hash = base64::engine::general_purpose::STANDARD.encode(hash.finalize());
    Ok(format!("sha-256=:{hash}:"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
