//! The mirror: what other servers and tools published, laid out on this machine and loaded by the catalogue.
//!
//! ```text
//! every 250 ms   polls the generation; lays out the heads that changed, has the catalogue load them, asks for their versions
//! every 2 s      tries again what failed; tells the database which generation is served whole
//! ```
//!
//! One thread with a connection of its own. While the database is away everything goes on as it was, and the thread connects
//! again by itself. Without an object store all servers share one directory, and only the generation counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, bounded};
use semver::Version;

use super::cache::Cache;
use super::counts::{Counts, fault_samples};
use super::faults::Faults;
use super::fetching;
use super::follower::Follower;
use super::head::Head;
use super::layout::{Blobs, Layout};
use super::table;
use crate::objects::ObjectStore;
use crate::{Catalog, CopyFault, DataDirectory, Slug, copy};
use mercato_base::clock::{Clock, Moment};
use mercato_base::sample::Sample;
use mercato_database::{Connection, DatabaseAddress, Trouble};

/// Longest wait of a request for a poll.
const REFRESH_TIME: Duration = Duration::from_secs(1);
/// Requests that wait for a poll at most; others go on without it.
const REFRESHES_MAX: usize = 256;
/// Heads that are laid out at one time at the start.
const LAYOUTS_AT_ONCE: usize = 8;

/// Which versions are fetched before anybody asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefetch {
    /// Current versions, featured datasets first, while they fit.
    All,
    /// Current versions of featured datasets, while they fit.
    Featured,
    /// Only those whose dataset has an earlier version here.
    None,
}

impl std::str::FromStr for Prefetch {
    type Err = String;

    fn from_str(text: &str) -> Result<Prefetch, String> {
        match text {
            "all" => Ok(Prefetch::All),
            "featured" => Ok(Prefetch::Featured),
            "none" => Ok(Prefetch::None),
            _ => Err(format!("expected `all`, `featured` or `none`, found `{text}`")),
        }
    }
}

/// Has the catalogue load what changed.
pub type Reload = Arc<dyn Fn() + Send + Sync>;

/// What a mirror needs.
pub struct MirrorOptions {
    /// The database of the heads.
    pub database: DatabaseAddress,
    /// The store of the blobs; nothing where all servers share one directory.
    pub store: Option<ObjectStore>,
    /// The directory that the catalogue loads.
    pub directory: DataDirectory,
    /// Most bytes of store files and Parquet files in it.
    pub cache_bytes: u64,
    /// What is fetched ahead.
    pub prefetch: Prefetch,
}

/// A directory that is laid out, for the catalogue to open.
pub struct Prepared {
    shared: Arc<Shared>,
    connection: Option<Connection>,
}

/// The running mirror; its thread ends when this is dropped.
pub struct Mirror {
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the threads share.
pub(super) struct Shared {
    database: DatabaseAddress,
    pub(super) store: Option<ObjectStore>,
    pub(super) layout: Layout,
    pub(super) prefetch: Prefetch,
    pub(super) counts: Counts,
    known: Mutex<Known>,
    pub(super) cache: Mutex<Cache>,
    faults: Mutex<Faults>,
}

#[derive(Default)]
pub(super) struct Known {
    /// The generation up to which heads were read.
    pub(super) seen: i64,
    pub(super) blobs: BTreeMap<Slug, Blobs>,
    /// Heads that could not be laid out.
    pub(super) failed: BTreeMap<Slug, Head>,
    /// Published datasets that could not be laid out at once. They count only while the catalogue does not serve them.
    missing: BTreeSet<Slug>,
    /// Datasets whose heads this program cannot read.
    pub(super) refused: BTreeMap<String, String>,
}

impl Prepared {
    /// Reads all heads and lays them out. Where the database or the store is away, what was laid out before is served.
    pub fn new(options: MirrorOptions) -> std::io::Result<Prepared> {
        let shared = Arc::new(Shared {
            database: options.database,
            layout: Layout { directory: options.directory },
            prefetch: options.prefetch,
            counts: Counts::new(),
            known: Mutex::default(),
            cache: Mutex::new(Cache::new(options.cache_bytes)),
            store: options.store,
            faults: Mutex::default(),
        });
        std::fs::create_dir_all(shared.layout.directory.datasets())?;
        if shared.store.is_some() {
            std::fs::create_dir_all(shared.layout.records())?;
        }
        let mut connection = None;
        if let Err(trouble) = shared.poll(&mut connection, None) {
            tracing::warn!(%trouble, "the catalogue cannot be compared with the database; serving what is here");
        }
        let bytes_max = shared.cache().bytes_max();
        shared.counts.cache_bytes_max.store(bytes_max, Ordering::Relaxed);
        Ok(Prepared { shared, connection })
    }

    /// Follows publications from now on. `server` is the number of this server in the database; `reload` has the catalogue load
    /// what changed.
    pub fn start(
        self,
        catalog: &Arc<Catalog>,
        clock: &Arc<dyn Clock>,
        server: Option<i64>,
        reload: Reload,
    ) -> std::io::Result<Mirror> {
        let Prepared { shared, connection } = self;
        let (stop, stopped) = bounded(0);
        let (refreshes, asked) = bounded::<Sender<()>>(REFRESHES_MAX);
        let known = Arc::clone(&shared);
        let is_missing = Box::new(move |slug: &Slug| known.known().missing.contains(slug));
        catalog.follow(Box::new(move || refresh(&refreshes)), is_missing, shared.tells_faults());
        if shared.store.is_some() {
            fetching::start(&shared, catalog, clock, &reload, &stopped)?;
        }
        let mut follower = Follower::new(&shared, catalog, server, reload, connection);
        follower.begin();
        let run = move || follower.run(&stopped, &asked);
        let thread = thread::Builder::new().name("catalog-mirror".to_owned()).spawn(run)?;
        Ok(Mirror { shared, stop: Some(stop), thread: Some(thread) })
    }
}

/// Has the mirror poll, and waits for that.
fn refresh(refreshes: &Sender<Sender<()>>) {
    let (done, wait) = bounded(1);
    if refreshes.try_send(done).is_ok() {
        // A slow database is no reason to refuse the request.
        let _ = wait.recv_timeout(REFRESH_TIME);
    }
}

impl Mirror {
    /// Hands out what the metrics show.
    pub fn sampler(&self) -> impl Fn() -> Vec<Sample> + Send + Sync + use<> {
        let shared = Arc::clone(&self.shared);
        move || {
            let mut samples = shared.counts.samples(shared.store.is_some());
            if shared.store.is_some() {
                samples.extend(fault_samples(&shared.faults()));
            }
            samples
        }
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panicked thread needs no further cleanup.
            drop(thread.join());
        }
    }
}

impl Shared {
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tells_faults(self: &Arc<Shared>) -> Option<Box<dyn Fn() -> Vec<CopyFault> + Send + Sync>> {
        self.store.as_ref()?;
        let shared = Arc::clone(self);
        Some(Box::new(move || shared.faults().list()))
    }

    /// The blobs of a version that is published.
    pub(super) fn blobs(&self, slug: &Slug, version: &Version) -> Option<super::VersionBlobs> {
        self.known().blobs.get(slug)?.get(version).cloned()
    }

    /// Reads the generation and lays out the heads that changed. Says which datasets did; all of them where nobody knows.
    pub(super) fn poll(
        &self,
        connection: &mut Option<Connection>,
        catalog: Option<&Catalog>,
    ) -> Result<Vec<Slug>, Trouble> {
        let mut open = match connection.take().filter(|connection| !connection.is_lost()) {
            Some(open) => open,
            None => Connection::open(&self.database)?,
        };
        let generation = table::generation(&mut open)?;
        self.counts.note_poll();
        self.counts.generation.store(generation, Ordering::Relaxed);
        let seen = self.known().seen;
        if generation == seen && (seen != 0 || catalog.is_some()) {
            *connection = Some(open);
            return Ok(Vec::new());
        }
        let Some(store) = &self.store else {
            self.known().seen = generation;
            *connection = Some(open);
            return Ok(Vec::new());
        };
        // A database that was restored from a backup may have an earlier generation.
        let is_whole = catalog.is_none() || generation < seen;
        let mut heads = Vec::new();
        let mut refused = BTreeMap::new();
        let mut changed_at = Moment::from_unix_millis(0);
        table::changed(&mut open, if is_whole { -1 } else { seen }, |row| {
            changed_at = changed_at.max(row.at);
            match read(&row) {
                Ok(head) => heads.push(head),
                Err(reason) => drop(refused.insert(row.slug, reason)),
            }
        })?;
        *connection = Some(open);
        for (slug, reason) in &refused {
            tracing::error!(dataset = slug, reason, "the head of a dataset cannot be read");
        }
        if is_whole {
            self.keep_only(&heads, &refused, catalog);
        }
        let changed = self.lay_out(&heads, store, catalog);
        let mut known = self.known();
        known.refused.retain(|slug, _| !changed.iter().any(|changed| changed.as_str() == slug));
        known.refused.extend(refused);
        known.seen = generation;
        drop(known);
        if let Err(error) = copy::note_changed(&self.layout.directory, changed_at) {
            tracing::warn!(%error, "the time of the last change cannot be noted");
        }
        Ok(changed)
    }

    /// Removes folders of datasets that no head names.
    fn keep_only(
        &self,
        heads: &[(Slug, Head)],
        refused: &BTreeMap<String, String>,
        catalog: Option<&Catalog>,
    ) {
        let _not_loaded_meanwhile = catalog.map(Catalog::hold);
        let is_known =
            |name: &str| refused.contains_key(name) || heads.iter().any(|(slug, _)| slug.as_str() == name);
        if let Err(error) = self.layout.prepare(is_known) {
            tracing::error!(%error, "the cache cannot be prepared");
        }
        let mut known = self.known();
        known.blobs.retain(|slug, _| is_known(slug.as_str()));
        known.missing.retain(|slug| is_known(slug.as_str()));
        known.failed.clear();
        known.refused.clear();
    }

    /// Lays heads out, several at a time. What fails is kept for later. Says which datasets were laid out.
    pub(super) fn lay_out(
        &self,
        heads: &[(Slug, Head)],
        store: &ObjectStore,
        catalog: Option<&Catalog>,
    ) -> Vec<Slug> {
        let next = AtomicUsize::new(0);
        let changed = Mutex::new(Vec::new());
        let work = || {
            while let Some((slug, head)) = heads.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.lay_out_one(slug, head, store, catalog) {
                    changed.lock().unwrap_or_else(PoisonError::into_inner).push(slug.clone());
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..LAYOUTS_AT_ONCE.min(heads.len()) {
                scope.spawn(work);
            }
            work();
        });
        changed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn lay_out_one(&self, slug: &Slug, head: &Head, store: &ObjectStore, catalog: Option<&Catalog>) -> bool {
        match self.layout.apply(slug, head, store, catalog) {
            Ok(gone) => {
                let mut cache = self.cache();
                for version in gone {
                    let released =
                        catalog.map(|catalog| catalog.released(slug, &version)).unwrap_or_default();
                    cache.remove(&(slug.clone(), version), released);
                }
                self.take_stock(slug, head, &mut cache);
                self.faults().end_layout(slug);
                let mut known = self.known();
                known.blobs.insert(slug.clone(), head.versions.clone());
                known.failed.remove(slug);
                if !head.is_published() {
                    known.missing.remove(slug);
                }
                true
            }
            Err(error) => {
                tracing::warn!(dataset = %slug, %error, "a publication cannot be laid out; trying again");
                self.faults().note_layout(slug, &error);
                let mut known = self.known();
                known.failed.insert(slug.clone(), head.clone());
                if head.is_published() {
                    known.missing.insert(slug.clone());
                } else {
                    known.missing.remove(slug);
                }
                false
            }
        }
    }

    /// Counts the store files of a dataset that are here. One that is not whole is removed.
    fn take_stock(&self, slug: &Slug, head: &Head, cache: &mut Cache) {
        let folder = self.layout.folder(slug);
        for (version, blobs) in &head.versions {
            let Ok(metadata) = std::fs::metadata(folder.store(version)) else { continue };
            let key = (slug.clone(), version.clone());
            if metadata.len() != blobs.store.bytes {
                drop(copy::remove_file(&folder.store(version)));
            } else if !cache.has(&key) {
                cache.insert(key, blobs.bytes(), Instant::now());
            }
        }
    }
}

fn read(row: &table::Row) -> Result<(Slug, Head), String> {
    let slug = Slug::parse(&row.slug).map_err(|error| error.to_string())?;
    let bytes = row.head.as_deref().ok_or("it is too long")?;
    Ok((slug, Head::decode(bytes).map_err(|error| error.to_string())?))
}
