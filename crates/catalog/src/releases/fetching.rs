//! Fetches the versions that were asked for: room in the cache, the blobs, the place in the folder.
//!
//! One fetch for each version, because the catalogue hands each demand to one receiver and only once. Does not depend on the
//! database.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, select};

use super::cache::{Key, NoRoom};
use super::head::{Blob, VersionBlobs};
use super::layout::{FETCHING, LayoutError};
use super::mirror::{Reload, Shared};
use crate::objects::ObjectName;
use crate::{Catalog, Demand, Released, copy};
use mercato_base::clock::Clock;

/// Versions that are fetched at one time; each comes by several ranges at once.
const FETCHES_AT_ONCE: usize = 2;
/// Longest wait for readers of an evicted file that are about to leave it.
const READERS_WAIT: Duration = Duration::from_millis(200);
const READERS_POLL: Duration = Duration::from_millis(5);

/// Starts the threads. They end after the fetch that runs when `stopped` is disconnected, and nobody waits for them: a fetch
/// that is cut off leaves nothing but an unfinished file.
pub(super) fn start(
    shared: &Arc<Shared>,
    catalog: &Arc<Catalog>,
    clock: &Arc<dyn Clock>,
    reload: &Reload,
    stopped: &Receiver<()>,
) -> std::io::Result<()> {
    for _ in 0..FETCHES_AT_ONCE {
        let fetcher = Fetcher {
            shared: Arc::clone(shared),
            catalog: Arc::clone(catalog),
            clock: Arc::clone(clock),
            reload: Arc::clone(reload),
        };
        let stopped = stopped.clone();
        let run = move || fetcher.run(&stopped);
        thread::Builder::new().name("catalog-fetch".to_owned()).spawn(run)?;
    }
    Ok(())
}

struct Fetcher {
    shared: Arc<Shared>,
    catalog: Arc<Catalog>,
    clock: Arc<dyn Clock>,
    reload: Reload,
}

/// Why a version was not fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("it is {bytes} bytes long, and --cache-bytes is {most}")]
    TooLarge { bytes: u64, most: u64 },
    #[error("every other version in the cache is being read")]
    Full,
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("it is not published any more")]
    Gone,
}

impl Fetcher {
    fn run(&self, stopped: &Receiver<()>) {
        let demands = self.catalog.demands();
        loop {
            let demand = select! {
                recv(stopped) -> _ => return,
                recv(demands) -> demand => demand,
            };
            let Ok(demand) = demand else { return };
            self.carry_out(&demand);
        }
    }

    fn carry_out(&self, demand: &Demand) {
        let (slug, version) = (&demand.slug, &demand.version.version);
        let counts = &self.shared.counts;
        let began = Instant::now();
        match self.fetch(demand) {
            Ok(bytes) => {
                counts.fetched.fetch_add(1, Ordering::Relaxed);
                self.shared.faults().end_fetch(slug, version);
                counts.fetched_bytes.fetch_add(bytes, Ordering::Relaxed);
                let seconds = began.elapsed().as_secs_f64();
                tracing::info!(dataset = %slug, %version, bytes, seconds, "a version is fetched");
                (self.reload)();
                self.catalog.remember_fetched();
            }
            Err(error) => {
                counts.failed.fetch_add(1, Ordering::Relaxed);
                self.shared.faults().note_fetch(slug, version, &error, Instant::now());
                tracing::warn!(dataset = %slug, %version, %error, "a version cannot be fetched");
                demand.version.fetch_failed(matches!(error, FetchError::TooLarge { .. }));
                // Files may have been evicted.
                (self.reload)();
            }
        }
    }

    fn fetch(&self, demand: &Demand) -> Result<u64, FetchError> {
        let key = (demand.slug.clone(), demand.version.version.clone());
        let blobs = self.shared.blobs(&key.0, &key.1).ok_or(FetchError::Gone)?;
        if !demand.version.is_away() {
            return self.fetch_parquet(&key, &blobs);
        }
        let bytes = blobs.bytes();
        self.reserve(&key, bytes)?;
        let fetched = self.fetch_files(&key, &blobs);
        let mut cache = self.shared.cache();
        cache.end_reservation(bytes);
        fetched?;
        cache.insert(key, bytes, Instant::now());
        Ok(bytes)
    }

    fn reserve(&self, key: &Key, bytes: u64) -> Result<(), FetchError> {
        let mut cache = self.shared.cache();
        let most = cache.bytes_max();
        let reserved = cache.reserve(key, bytes, Instant::now(), |victim| self.evict(victim));
        reserved.map_err(|no_room| match no_room {
            NoRoom::Never => FetchError::TooLarge { bytes, most },
            NoRoom::Now => FetchError::Full,
        })
    }

    /// Fetches the Parquet file of a version that is here, in the place of a damaged one.
    fn fetch_parquet(&self, (slug, version): &Key, blobs: &VersionBlobs) -> Result<u64, FetchError> {
        let Some(parquet) = &blobs.parquet else { return Err(FetchError::Gone) };
        let folder = self.shared.layout.folder(slug);
        let beside = folder.versions().join(format!("{FETCHING}{version}.parquet-again"));
        self.reserve(&(slug.clone(), version.clone()), parquet.bytes)?;
        let fetched = self.fetch_blob(parquet, &beside);
        self.shared.cache().end_reservation(parquet.bytes);
        fetched?;
        let placed = copy::rename(&beside, &folder.parquet(version)).map_err(LayoutError::from);
        if !folder.store(version).exists() {
            // It was evicted meanwhile.
            drop(copy::remove_file(&folder.parquet(version)));
        }
        placed?;
        Ok(parquet.bytes)
    }

    /// The store file comes last: with it the version is here.
    fn fetch_files(&self, key: &Key, blobs: &VersionBlobs) -> Result<(), FetchError> {
        let (slug, version) = key;
        let folder = self.shared.layout.folder(slug);
        let beside = |kind| folder.versions().join(format!("{FETCHING}{version}.{kind}"));
        if let Some(parquet) = &blobs.parquet {
            self.fetch_blob(parquet, &beside("parquet"))?;
        }
        self.fetch_blob(&blobs.store, &beside("store"))?;
        if self.shared.blobs(slug, version).as_ref() != Some(blobs) {
            drop((copy::remove_file(&beside("parquet")), copy::remove_file(&beside("store"))));
            return Err(FetchError::Gone);
        }
        let placed = || {
            if blobs.parquet.is_some() {
                copy::rename(&beside("parquet"), &folder.parquet(version))?;
            }
            self.catalog.place_fetched(slug, version, &beside("store"))
        };
        Ok(placed().map_err(LayoutError::from)?)
    }

    fn fetch_blob(&self, blob: &Blob, to: &std::path::Path) -> Result<(), LayoutError> {
        let Some(store) = &self.shared.store else { return Ok(()) };
        let name = ObjectName::blob(&blob.sha256);
        Ok(store.fetch_file(&name, &blob.sha256, blob.bytes, to, &|_| ())?)
    }

    /// Removes a file for the sake of another one; `None` where a walk goes on in it.
    fn evict(&self, (slug, version): &Key) -> Option<Vec<Released>> {
        let released = match self.catalog.evict(slug, version, self.clock.now()) {
            Ok(released) => released?,
            Err(error) => {
                tracing::warn!(dataset = %slug, %version, %error, "a version cannot be evicted");
                return None;
            }
        };
        self.shared.counts.evictions.fetch_add(1, Ordering::Relaxed);
        tracing::info!(dataset = %slug, %version, "a version is evicted");
        (self.reload)();
        let began = Instant::now();
        while released.iter().any(|one| one.table.strong_count() > 0) && began.elapsed() < READERS_WAIT {
            thread::sleep(READERS_POLL);
        }
        Some(released)
    }
}
