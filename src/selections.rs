//! A cache of complete selections between requests, so that the pages of a query share one scan. LRU, bounded by bytes;
//! concurrent requests for the same selection build it once.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mercato_format::Fingerprint;

use mercato_query::{SearchError, Selection, Selections, Stop, WorkLimit};

/// Default memory limit of the cache.
pub const SELECTION_CACHE_BYTES: usize = 256 * 1024 * 1024;
/// Share of the limit that one selection may take.
const LARGEST_SHARE: usize = 4;
/// How long a search waits for the selection of another before it asks whether to wait on.
const WAIT_STEP: Duration = Duration::from_millis(20);

type Key = (Fingerprint, Box<str>);

/// The selections of recent filters.
pub struct SelectionCache {
    bytes_max: usize,
    state: Mutex<State>,
    built: Condvar,
}

#[derive(Default)]
struct State {
    entries: HashMap<Key, Entry>,
    bytes: usize,
    clock: u64,
    hits: u64,
    misses: u64,
}

enum Entry {
    Building,
    Ready { selection: Arc<Selection>, bytes: usize, used: u64 },
}

/// Statistics of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectionCounts {
    pub hits: u64,
    pub misses: u64,
    /// Memory in use.
    pub bytes: usize,
}

impl SelectionCache {
    /// A cache of at most `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> SelectionCache {
        SelectionCache { bytes_max, state: Mutex::default(), built: Condvar::new() }
    }

    /// The statistics.
    #[must_use]
    pub fn counts(&self) -> SelectionCounts {
        let state = self.lock();
        SelectionCounts { hits: state.hits, misses: state.misses, bytes: state.bytes }
    }

    /// A poisoned lock is safe: every change of the state is one assignment or one map operation.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the selection, or claims to build it. When the other search is stopped, this one builds it.
    fn find_or_claim(&self, key: &Key, work: &dyn WorkLimit) -> Result<Option<Arc<Selection>>, Stop> {
        let mut state = self.lock();
        loop {
            state.clock += 1;
            let now = state.clock;
            match state.entries.get_mut(key) {
                Some(Entry::Ready { selection, used, .. }) => {
                    *used = now;
                    let found = Arc::clone(selection);
                    state.hits += 1;
                    return Ok(Some(found));
                }
                Some(Entry::Building) => {
                    work.check()?;
                    let waited = self.built.wait_timeout(state, WAIT_STEP);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    state.misses += 1;
                    state.entries.insert(key.clone(), Entry::Building);
                    return Ok(None);
                }
            }
        }
    }

    fn keep(&self, key: Key, selection: &Arc<Selection>) {
        let bytes = selection.memory_bytes() + key.1.len() + size_of::<Entry>();
        let mut state = self.lock();
        state.entries.remove(&key);
        if bytes <= self.bytes_max / LARGEST_SHARE {
            while state.bytes + bytes > self.bytes_max && state.evict() {}
            state.clock += 1;
            let used = state.clock;
            state.bytes += bytes;
            state.entries.insert(key, Entry::Ready { selection: Arc::clone(selection), bytes, used });
        }
    }
}

impl State {
    /// Evicts the least recently used entry; false when the cache is empty.
    fn evict(&mut self) -> bool {
        let used = |entry: &Entry| if let Entry::Ready { used, .. } = entry { Some(*used) } else { None };
        let oldest = self
            .entries
            .iter()
            .filter_map(|(key, entry)| Some((used(entry)?, key)))
            .min_by_key(|(used, _)| *used);
        let oldest = oldest.map(|(_, key)| key.clone());
        let Some(Entry::Ready { bytes, .. }) = oldest.and_then(|key| self.entries.remove(&key)) else {
            return false;
        };
        self.bytes -= bytes;
        true
    }
}

/// Releases a claim when building fails, is stopped or panics, so that others do not wait forever.
struct Claim<'c> {
    cache: &'c SelectionCache,
    key: Key,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.lock();
        if matches!(state.entries.get(&self.key), Some(Entry::Building)) {
            state.entries.remove(&self.key);
        }
        drop(state);
        self.cache.built.notify_all();
    }
}

impl Selections for SelectionCache {
    fn get(
        &self,
        table: Fingerprint,
        filter: &str,
        work: &dyn WorkLimit,
        build: &mut dyn FnMut() -> Result<Selection, SearchError>,
    ) -> Result<Arc<Selection>, SearchError> {
        let key = (table, filter.into());
        if let Some(found) = self.find_or_claim(&key, work)? {
            return Ok(found);
        }
        let claim = Claim { cache: self, key };
        let selection = Arc::new(build()?);
        self.keep(claim.key.clone(), &selection);
        Ok(selection)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Instant;

    use super::*;
    use mercato_query::Unlimited;

    const TABLE: Fingerprint = Fingerprint([7; 16]);

    fn selection() -> Result<Selection, SearchError> {
        Ok(Selection::from_words(Vec::new(), 0))
    }

    #[derive(Debug, Default)]
    struct Client(AtomicBool);

    impl WorkLimit for Client {
        fn check(&self) -> Result<(), Stop> {
            if self.0.load(Ordering::Relaxed) { Err(Stop::ClientLeft) } else { Ok(()) }
        }
    }

    /// Runs `other` while a search builds the selection, which is stopped when `other` says so.
    fn beside_building(cache: &SelectionCache, other: impl FnOnce(&dyn Fn())) {
        let (built, stopped) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let building = scope.spawn(|| {
                cache.get(TABLE, "a", &Unlimited, &mut || {
                    built.store(true, Ordering::Relaxed);
                    while !stopped.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    }
                    Err(Stop::TooExpensive.into())
                })
            });
            while !built.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            other(&|| stopped.store(true, Ordering::Relaxed));
            assert!(matches!(building.join().unwrap(), Err(SearchError::Stopped(Stop::TooExpensive))));
        });
    }

    #[test]
    fn waiting_search_builds_selection_of_stopped_one() {
        let cache = SelectionCache::new(1 << 20);
        beside_building(&cache, |stop| {
            thread::scope(|scope| {
                let waiting = scope.spawn(|| cache.get(TABLE, "a", &Unlimited, &mut selection).map(drop));
                thread::sleep(Duration::from_millis(50));
                assert!(!waiting.is_finished());
                stop();
                assert!(waiting.join().unwrap().is_ok());
            });
        });
        let mut build = || panic!("it is kept");
        assert!(cache.get(TABLE, "a", &Unlimited, &mut build).is_ok());
    }

    #[test]
    fn waiting_search_stops_when_its_client_leaves() {
        let cache = SelectionCache::new(1 << 20);
        let client = Client::default();
        beside_building(&cache, |stop| {
            thread::scope(|scope| {
                let waiting = scope.spawn(|| cache.get(TABLE, "a", &client, &mut selection).map(drop));
                thread::sleep(Duration::from_millis(50));
                assert!(!waiting.is_finished());
                let left = Instant::now();
                client.0.store(true, Ordering::Relaxed);
                assert!(matches!(waiting.join().unwrap(), Err(SearchError::Stopped(Stop::ClientLeft))));
                assert!(left.elapsed() < Duration::from_secs(1), "{:?}", left.elapsed());
            });
            stop();
        });
    }
}
