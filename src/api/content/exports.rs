//! Lengths of downloadable files, and hashes of small ones.
//!
//! Most store files keep their lengths. For others they are computed once and cached. Does not depend on routes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use sha2::{Digest, Sha256};

use mercato_catalog::{FormatError, Table};
use mercato_query::render::{
    ArrowEncoder, Document, Labels, Output, RenderedLengths, Tally, Unit, XlsxEncoder, arrow_lengths,
    count_lengths, stored_lengths, xlsx_lengths,
};

/// Largest downloaded file that is hashed before it is sent.
const DIGEST_BYTES_MAX: u64 = 1024 * 1024;
/// Most rows of a table whose export length is computed on request when the store file does not keep it.
const COUNTED_AT_ONCE_ROWS_MAX: u32 = 100_000;
/// The same for Arrow and Excel, whose length is found by encoding.
const ENCODED_AT_ONCE_ROWS_MAX: u32 = 4_096;
/// Files whose lengths and hashes are cached.
const EXPORTS_REMEMBERED_MAX: usize = 256;

/// Lengths and hashes by content of the table and format, and for Arrow and Excel, which name them, also by dataset and
/// version.
#[derive(Default)]
pub struct Exports {
    remembered: Mutex<HashMap<Key, Shared>>,
}

type Key = (String, Output, String);

type Shared = Arc<Mutex<Remembered>>;

#[derive(Default)]
struct Remembered {
    /// With what the end of a workbook has to know.
    lengths: Option<(RenderedLengths<'static>, Tally)>,
    digest: Option<String>,
}

impl Exports {
    /// The table as a file in that format. Its lengths are counted where the store file does not keep them.
    pub fn open<'t>(
        &self,
        table: &'t Table,
        output: Output,
        labels: Labels<'_>,
    ) -> Result<Document<'t>, FormatError> {
        let stored = |format| stored_lengths(table, format);
        Ok(match output {
            Output::Text(format) => {
                let counted = || self.counted(table, output, labels).map(|(lengths, _)| lengths);
                Document::new(table, format, stored(format).map_or_else(counted, Ok)?)
            }
            Output::Arrow => Document::arrow(arrow(table, labels)?, self.counted(table, output, labels)?.0),
            Output::Xlsx => {
                let (lengths, tally) = self.counted(table, output, labels)?;
                Document::xlsx(xlsx(table, labels)?, lengths, tally)
            }
        })
    }

    /// Bytes of the download, if they are known or soon counted.
    pub fn bytes(&self, table: &Table, output: Output, labels: Labels<'_>) -> Option<u64> {
        let counted_rows_max = match output {
            Output::Text(format) => match stored_lengths(table, format) {
                Some(stored) => return Some(stored.total_bytes()),
                None => COUNTED_AT_ONCE_ROWS_MAX,
            },
            Output::Arrow | Output::Xlsx => ENCODED_AT_ONCE_ROWS_MAX,
        };
        if table.row_count() <= counted_rows_max {
            return Some(self.counted(table, output, labels).ok()?.0.total_bytes());
        }
        let remembered = lock(&self.remembered).get(&key(table, output, labels)).cloned()?;
        let remembered = lock(&remembered);
        remembered.lengths.as_ref().map(|(lengths, _)| lengths.total_bytes())
    }

    /// `Repr-Digest` of a small download.
    pub fn digest(&self, document: &Document<'_>, labels: Labels<'_>) -> Result<Option<String>, FormatError> {
        if document.bytes() > DIGEST_BYTES_MAX {
            return Ok(None);
        }
        let remembered = self.remembered(key(document.table(), document.output(), labels));
        let mut remembered = lock(&remembered);
        if remembered.digest.is_none() {
            remembered.digest = Some(digest(document)?);
        }
        Ok(remembered.digest.clone())
    }

    fn counted(
        &self,
        table: &Table,
        output: Output,
        labels: Labels<'_>,
    ) -> Result<(RenderedLengths<'static>, Tally), FormatError> {
        let remembered = self.remembered(key(table, output, labels));
        // A request that comes while another one counts them waits for that count.
        let mut remembered = lock(&remembered);
        if let Some(lengths) = &remembered.lengths {
            return Ok(lengths.clone());
        }
        let lengths = match output {
            Output::Text(format) => (count_lengths(table, format)?, Tally::default()),
            Output::Arrow => (arrow_lengths(&arrow(table, labels)?)?, Tally::default()),
            Output::Xlsx => xlsx_lengths(&xlsx(table, labels)?)?,
        };
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

fn key(table: &Table, output: Output, labels: Labels<'_>) -> Key {
    let named = match output {
        Output::Text(_) => String::new(),
        Output::Arrow | Output::Xlsx => format!("{} {}", labels.dataset, labels.version),
    };
    (table.fingerprint().to_string(), output, named)
}

/// All columns of the table.
fn arrow<'t>(table: &'t Table, labels: Labels<'_>) -> Result<ArrowEncoder<'t>, FormatError> {
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    ArrowEncoder::new(table, &columns, labels, u64::MAX)
}

/// All columns of the table.
fn xlsx<'t>(table: &'t Table, labels: Labels<'_>) -> Result<XlsxEncoder<'t>, FormatError> {
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    XlsxEncoder::new(table, &columns, labels)
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
