//! The indexer: a thread that rebuilds the search index after catalog changes; readers switch to it at once.
//!
//! Reuses documents of unchanged datasets. Does not depend on questions.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::lexical::{Document, DocumentAnalyzer, DocumentText, LexicalIndex, Vocabulary};
use super::lexicon::Lexicon;
use mercato_catalog::{Catalog, Dataset, Snapshot};

/// How long a question waits for the first index after the start.
const FIRST_INDEX_WAIT: Duration = Duration::from_secs(2);
/// How long a question waits for a new index when building is quick.
const FRESH_INDEX_WAIT: Duration = Duration::from_millis(100);
/// Poll interval for catalog changes.
const INDEX_POLL: Duration = Duration::from_millis(200);
/// The pause after a build, as a multiple of its duration.
const INDEX_REST_FACTOR: u32 = 3;
/// The longest pause after a build.
const INDEX_REST_MAX: Duration = Duration::from_secs(5);

/// The vocabulary is rebuilt when it has this many times its initial words.
const STALE_WORDS_FACTOR: usize = 3;
/// Minimum size for a rebuild of the vocabulary.
const STALE_WORDS_MIN: usize = 100_000;

/// A catalog by the words of its datasets.
pub struct CatalogIndex {
    pub lexical: LexicalIndex,
    pub datasets: Vec<Arc<Dataset>>,
    catalog: Arc<Snapshot>,
}

/// The index of a catalog that changes.
pub struct Indexer {
    catalog: Arc<Catalog>,
    current: Arc<CurrentIndex>,
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The current index and its build time.
#[derive(Default)]
struct CurrentIndex {
    index: Mutex<(Option<Arc<CatalogIndex>>, Duration)>,
    changed: Condvar,
}

impl Indexer {
    /// Starts to index; the first index comes as soon as it can.
    pub fn start(catalog: Arc<Catalog>) -> io::Result<Self> {
        let current = Arc::new(CurrentIndex::default());
        let (wake, woken) = bounded(1);
        let (own_catalog, own_current) = (Arc::clone(&catalog), Arc::clone(&current));
        let thread = thread::Builder::new()
            .name("search-index".to_owned())
            .spawn(move || run(&own_catalog, &own_current, &woken))?;
        Ok(Self { catalog, current, wake: Some(wake), thread: Some(thread) })
    }

    /// Says that the catalog may have changed.
    pub fn notify(&self) {
        if let Some(wake) = &self.wake {
            // A full channel means that the thread is already notified.
            let _told_already = wake.try_send(());
        }
    }

    /// The current index. If it lags behind the catalog, waits for the new one when building is quick, else returns the
    /// old one. `None` if the first index is not ready in time.
    pub fn index(&self) -> Option<Arc<CatalogIndex>> {
        let wanted = self.catalog.snapshot();
        let is_fresh = |index: &CatalogIndex| Arc::ptr_eq(&index.catalog, &wanted);
        let mut present = self.current.index.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = match &present.0 {
            Some(index) if is_fresh(index) => return Some(Arc::clone(index)),
            Some(_) if present.1 > FRESH_INDEX_WAIT / 2 => Duration::ZERO,
            Some(_) => FRESH_INDEX_WAIT,
            None => FIRST_INDEX_WAIT,
        };
        self.notify();
        if !patience.is_zero() {
            let lags = |(index, _): &mut (Option<Arc<CatalogIndex>>, Duration)| {
                !index.as_ref().is_some_and(|index| is_fresh(index))
            };
            let waited = self.current.changed.wait_timeout_while(present, patience, lags);
            present = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        present.0.clone()
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to end.
            drop(thread.join());
        }
    }
}

/// Rebuilds the index after each catalog change, with pauses that bound its share of a core.
fn run(catalog: &Catalog, current: &CurrentIndex, woken: &Receiver<()>) {
    let mut builder = IndexBuilder::new();
    let mut indexed: Option<Arc<Snapshot>> = None;
    loop {
        let snapshot = catalog.snapshot();
        let mut rest = Duration::ZERO;
        if !indexed.as_ref().is_some_and(|indexed| Arc::ptr_eq(indexed, &snapshot)) {
            let began = Instant::now();
            let index = Arc::new(builder.index(Arc::clone(&snapshot)));
            let took = began.elapsed();
            *current.index.lock().unwrap_or_else(PoisonError::into_inner) = (Some(index), took);
            current.changed.notify_all();
            indexed = Some(snapshot);
            rest = took.saturating_mul(INDEX_REST_FACTOR).min(INDEX_REST_MAX);
        }
        // Resting ends early only when the server stops.
        if woken.recv_timeout(INDEX_POLL) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let until = Instant::now() + rest;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if woken.recv_timeout(left) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }
}

/// Builds indexes from cached documents and a shared vocabulary.
struct IndexBuilder {
    vocabulary: Arc<Vocabulary>,
    words_at_first: usize,
    /// By the address of the dataset, which is kept so that no other one gets that address.
    documents: HashMap<usize, (Arc<Dataset>, Arc<Document>)>,
}

impl IndexBuilder {
    fn new() -> Self {
        let vocabulary = Vocabulary::new(Lexicon::builtin());
        Self { words_at_first: vocabulary.len(), vocabulary: Arc::new(vocabulary), documents: HashMap::new() }
    }

    fn index(&mut self, catalog: Arc<Snapshot>) -> CatalogIndex {
        // Words of datasets that are gone stay until there are too many of them.
        let stale_words = self.words_at_first.saturating_mul(STALE_WORDS_FACTOR).max(STALE_WORDS_MIN);
        let is_new = self.vocabulary.len() > stale_words;
        if is_new {
            *self = Self::new();
        }
        let datasets = catalog.datasets().to_vec();
        let mut documents = HashMap::with_capacity(datasets.len());
        let mut ordered = Vec::with_capacity(datasets.len());
        let unknown = |dataset: &&Arc<Dataset>| !self.documents.contains_key(&address(dataset));
        if datasets.iter().any(|dataset| unknown(&dataset)) {
            // Readers of the former index keep their words; new ones go into a copy.
            let mut analyzer = DocumentAnalyzer::new(Arc::make_mut(&mut self.vocabulary));
            for dataset in &datasets {
                let known = self.documents.entry(address(dataset));
                known.or_insert_with(|| {
                    let document = analyzer.read(&DocumentText::from(dataset.as_ref()));
                    (Arc::clone(dataset), Arc::new(document))
                });
            }
        }
        for dataset in &datasets {
            if let Some((dataset, document)) = self.documents.remove(&address(dataset)) {
                ordered.push(Arc::clone(&document));
                documents.insert(address(&dataset), (dataset, document));
            }
        }
        self.documents = documents;
        if is_new {
            self.words_at_first = self.vocabulary.len();
        }
        let lexical = LexicalIndex::new(Arc::clone(&self.vocabulary), ordered);
        CatalogIndex { lexical, datasets, catalog }
    }
}

fn address(dataset: &Arc<Dataset>) -> usize {
    Arc::as_ptr(dataset).addr()
}
