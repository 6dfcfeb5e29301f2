//! Builds missing vectors of datasets in small rounds and publishes them.
//!
//! Runs in the background. Does not depend on requests.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::{Neural, PassageTexts};
use crate::models::{Embedder, InferenceError};
use crate::vectors::{TextKey, VectorFile, VectorIndex, normalise};
use mercato_catalog::{Dataset, Snapshot};

/// Length of a round, after which new vectors are stored and published.
const ROUND: Duration = Duration::from_secs(2);
/// Longest wait for an inference thread.
const WAIT: Duration = Duration::from_secs(60);
/// Limit of datasets with vectors.
const DATASETS_MAX: usize = 200_000;
/// Limit of texts of one dataset.
const TEXTS_PER_DATASET_MAX: usize = 16;
/// Stale records, beyond as many as are live, before the file is compacted.
const STALE_RECORDS_MAX: usize = 1_024;

/// Builds and stores the vectors of one model.
pub(super) struct VectorBuilder {
    embedder: Arc<dyn Embedder>,
    texts: Arc<dyn PassageTexts>,
    neural: Arc<Neural>,
    file: VectorFile,
    known: HashMap<TextKey, Arc<[f32]>>,
    /// Texts that the model cannot encode; not retried until they change or the server restarts.
    failed: HashSet<TextKey>,
    seen: HashMap<String, Seen>,
    last: Option<Arc<Snapshot>>,
}

/// A dataset with the key of its texts.
struct Seen {
    dataset: Arc<Dataset>,
    key: Option<TextKey>,
}

impl VectorBuilder {
    /// Opens the stored vectors.
    pub(super) fn open(
        folder: &Path,
        embedder: Arc<dyn Embedder>,
        texts: Arc<dyn PassageTexts>,
        neural: Arc<Neural>,
    ) -> io::Result<Self> {
        let (file, stored) = VectorFile::open(folder, embedder.fingerprint().0, embedder.dimensions())?;
        if stored.damaged > 0 {
            tracing::warn!(records = stored.damaged, "damaged vectors on disk are made again");
        }
        let known = stored.vectors.into_iter().map(|(key, vector)| (key, vector.into())).collect();
        let (failed, seen) = (HashSet::new(), HashMap::new());
        Ok(Self { embedder, texts, neural, file, known, failed, seen, last: None })
    }

    /// Builds missing vectors for at most one round, until `stopped`. Returns whether more are missing.
    pub(super) fn follow(&mut self, snapshot: &Arc<Snapshot>, stopped: &dyn Fn() -> bool) -> bool {
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, snapshot)) {
            return false;
        }
        self.look(snapshot);
        let missing = self.missing(snapshot);
        if self.neural.vectors().is_empty() || missing.is_empty() {
            self.publish(snapshot);
        }
        let made = self.make(&missing, stopped);
        let complete = made.len() == missing.len();
        if !made.is_empty() {
            if let Err(error) = self.file.append(&made) {
                tracing::warn!(%error, "vectors cannot be written: the next start makes them again");
            }
            self.known.extend(made.into_iter().map(|(key, vector)| (key, vector.into())));
            self.publish(snapshot);
        }
        if complete {
            self.compact_file();
            self.last = Some(Arc::clone(snapshot));
        }
        !complete
    }

    /// Updates the keys of new and changed datasets, and removes the others.
    fn look(&mut self, snapshot: &Snapshot) {
        let multilingual = self.embedder.is_multilingual();
        let mut seen = HashMap::with_capacity(snapshot.datasets().len());
        for dataset in snapshot.datasets().iter().take(DATASETS_MAX) {
            let present = match self.seen.remove(dataset.slug()) {
                Some(present) if Arc::ptr_eq(&present.dataset, dataset) => present,
                _ => {
                    let key = key_of(&self.texts.passages(dataset, multilingual));
                    Seen { dataset: Arc::clone(dataset), key }
                }
            };
            seen.insert(dataset.slug().to_owned(), present);
        }
        self.seen = seen;
    }

    /// Datasets without a vector, in list order, one for each text.
    fn missing(&self, snapshot: &Snapshot) -> Vec<(TextKey, Arc<Dataset>)> {
        let mut asked = HashSet::new();
        let seen = snapshot.datasets().iter().filter_map(|dataset| self.seen.get(dataset.slug()));
        seen.filter_map(|seen| Some((seen.key?, Arc::clone(&seen.dataset))))
            .filter(|(key, _)| !self.known.contains_key(key) && !self.failed.contains(key))
            .filter(|(key, _)| asked.insert(*key))
            .collect()
    }

    /// Builds vectors until the round ends. A failed text counts as done.
    fn make(
        &mut self,
        missing: &[(TextKey, Arc<Dataset>)],
        stopped: &dyn Fn() -> bool,
    ) -> Vec<(TextKey, Vec<f32>)> {
        let end = Instant::now() + ROUND;
        let mut made = Vec::new();
        for (key, dataset) in missing {
            if stopped() || Instant::now() >= end {
                break;
            }
            match self.vector(dataset) {
                Ok(vector) => {
                    self.neural.counters.vector_made();
                    made.push((*key, vector));
                }
                Err(error) => {
                    self.neural.count_failure(&error);
                    tracing::warn!(slug = dataset.slug(), %error, "no vector for this dataset");
                    self.failed.insert(*key);
                }
            }
        }
        made
    }

    fn vector(&self, dataset: &Dataset) -> Result<Vec<f32>, InferenceError> {
        let mut sum = vec![0.0_f32; self.embedder.dimensions()];
        let texts = self.texts.passages(dataset, self.embedder.is_multilingual());
        for text in texts.iter().take(TEXTS_PER_DATASET_MAX) {
            let vector = self.embedder.embed_passage(text, Instant::now() + WAIT)?;
            sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
        }
        normalise(&mut sum);
        if sum.iter().all(|number| *number == 0.0) {
            return Err(InferenceError::Computation("the vector has no direction".to_owned()));
        }
        Ok(sum)
    }

    fn publish(&self, snapshot: &Snapshot) {
        let vectors = snapshot.datasets().iter().filter_map(|dataset| {
            let vector = self.known.get(&self.seen.get(dataset.slug())?.key?)?;
            Some((dataset.slug().to_owned(), Arc::clone(vector)))
        });
        self.neural.set_vectors(Arc::new(VectorIndex::new(self.embedder.dimensions(), vectors)));
    }

    /// Compacts the file when most of its records are stale.
    fn compact_file(&mut self) {
        let live: HashSet<TextKey> = self.seen.values().filter_map(|seen| seen.key).collect();
        if self.file.records() <= live.len().saturating_mul(2).saturating_add(STALE_RECORDS_MAX) {
            return;
        }
        self.known.retain(|key, _| live.contains(key));
        let vectors = self.known.iter().map(|(key, vector)| (key, vector.as_ref()));
        if let Err(error) = self.file.compact(vectors) {
            tracing::warn!(%error, "the file of vectors cannot be written anew");
        }
    }
}

/// The key of texts; `None` for empty texts.
fn key_of(texts: &[String]) -> Option<TextKey> {
    let mut hash = Sha256::new();
    for text in texts.iter().take(TEXTS_PER_DATASET_MAX) {
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(text);
    }
    (!texts.iter().all(|text| text.trim().is_empty())).then(|| hash.finalize().into())
}
