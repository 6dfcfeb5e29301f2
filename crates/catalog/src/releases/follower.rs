//! The thread of the mirror: polls, asks for versions, tells the database what is served whole.
//!
//! Does not depend on how heads are laid out, or on how versions are fetched.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, select};

use super::cache::Key;
use super::head::Head;
use super::live::{self, Loaded};
use super::mending::{Mending, Part};
use super::mirror::{Prefetch, Reload, Shared};
use crate::{Catalog, Dataset, DatasetVersion, Entry, Slug};
use mercato_database::{Connection, Trouble};

/// Pause between two polls.
const POLL_PAUSE: Duration = Duration::from_millis(250);
/// Pause between two attempts at what failed, and between two reports.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// Pause between two attempts to fetch a version.
const FETCH_PAUSE: Duration = Duration::from_secs(5);
/// Versions that the mirror asks for ahead of requests; the rest of the queue is for those.
const AHEAD_MAX: usize = 64;

/// The thread of the mirror.
pub(super) struct Follower {
    shared: Arc<Shared>,
    catalog: Arc<Catalog>,
    server: Option<i64>,
    reload: Reload,
    connection: Option<Connection>,
    /// Whether the database did not answer the last time.
    is_away: bool,
    /// Versions that belong to the present generation and are not here yet, and when they may be asked for again.
    awaited: HashMap<Key, Instant>,
    mending: Mending,
    tried_at: Instant,
    /// What the database was told last, and when.
    reported: Option<(Loaded, Instant)>,
}

impl Follower {
    pub(super) fn new(
        shared: &Arc<Shared>,
        catalog: &Arc<Catalog>,
        server: Option<i64>,
        reload: Reload,
        connection: Option<Connection>,
    ) -> Follower {
        Follower {
            shared: Arc::clone(shared),
            catalog: Arc::clone(catalog),
            server,
            reload,
            connection,
            is_away: false,
            awaited: HashMap::new(),
            mending: Mending::default(),
            tried_at: Instant::now(),
            reported: None,
        }
    }

    /// Asks for what should be here at the start, and tells the database what is.
    pub(super) fn begin(&mut self) {
        self.require_all();
        self.report();
    }

    pub(super) fn run(mut self, stopped: &Receiver<()>, asked: &Receiver<Sender<()>>) {
        loop {
            let waiting = select! {
                recv(stopped) -> _ => return,
                recv(asked) -> waiting => waiting.ok(),
                default(POLL_PAUSE) => None,
            };
            let also: Vec<Sender<()>> = asked.try_iter().collect();
            self.turn();
            for waiting in waiting.into_iter().chain(also) {
                let _ = waiting.try_send(());
            }
        }
    }

    fn turn(&mut self) {
        let before = self.shared.known().seen;
        match self.shared.poll(&mut self.connection, Some(&self.catalog)) {
            Ok(changed) => {
                if std::mem::take(&mut self.is_away) {
                    tracing::info!("the database of the catalogue answers again");
                }
                if self.shared.known().seen != before {
                    (self.reload)();
                    self.require(&changed);
                }
            }
            Err(trouble) => self.note_failure(&trouble),
        }
        if self.tried_at.elapsed() >= RETRY_PAUSE {
            self.tried_at = Instant::now();
            self.try_failed();
            self.mend();
            self.take_count();
        }
        self.demand();
        self.report();
    }

    fn note_failure(&mut self, trouble: &Trouble) {
        self.connection = None;
        if !std::mem::replace(&mut self.is_away, true) {
            tracing::warn!(%trouble, "the catalogue cannot be compared with the database; it goes on as it is");
        }
    }

    /// Lays out what could not be laid out before.
    fn try_failed(&mut self) {
        let failed: Vec<(Slug, Head)> = std::mem::take(&mut self.shared.known().failed).into_iter().collect();
        let Some(store) = self.shared.store.as_ref().filter(|_| !failed.is_empty()) else { return };
        let changed = self.shared.lay_out(&failed, store, Some(&self.catalog));
        if !changed.is_empty() {
            (self.reload)();
            self.require(&changed);
        }
    }

    /// Has damaged files fetched again.
    fn mend(&mut self) {
        if self.shared.store.is_none() {
            return;
        }
        let now = Instant::now();
        let mut discarded = Vec::new();
        for key @ (slug, version) in &self.catalog.damaged() {
            if self.shared.blobs(slug, version).is_none() || !self.mending.is_due(key, Part::Store, now) {
                continue;
            }
            match self.catalog.discard(slug, version) {
                Ok(true) => discarded.push(key.clone()),
                Ok(false) => {}
                Err(error) => {
                    tracing::error!(dataset = %slug, %version, %error, "a damaged version cannot be removed");
                }
            }
        }
        if !discarded.is_empty() {
            (self.reload)();
        }
        let snapshot = self.catalog.snapshot();
        for key in discarded {
            let (slug, version) = &key;
            tracing::warn!(dataset = %slug, %version, "a damaged version is fetched again");
            self.shared.cache().remove(&key, Vec::new());
            let Some(Entry::Serving(dataset)) = snapshot.get(slug.as_str()) else { continue };
            if let Some(away) = dataset.versions.iter().find(|one| one.version == *version && one.is_away()) {
                self.catalog.demand(slug.as_str(), away);
                self.awaited.insert(key.clone(), now + FETCH_PAUSE);
            }
        }
        self.mend_parquet(now);
    }

    fn mend_parquet(&mut self, now: Instant) {
        let snapshot = self.catalog.snapshot();
        for dataset in snapshot.datasets() {
            let slug = &dataset.manifest.slug;
            for version in dataset.versions.iter().filter(|version| !version.is_away()) {
                let is_damaged = version.parquet.is_some() && version.offered_parquet().is_none();
                if is_damaged
                    && self.mending.is_due(&(slug.clone(), version.version.clone()), Part::Parquet, now)
                {
                    tracing::warn!(dataset = %slug, version = %version.version, "a damaged Parquet file is fetched again");
                    self.catalog.demand_parquet(slug, version);
                }
            }
        }
    }

    /// Asks for the current versions of all datasets that should be here.
    fn require_all(&mut self) {
        let snapshot = self.catalog.snapshot();
        let slugs: Vec<Slug> =
            snapshot.datasets().iter().map(|dataset| dataset.manifest.slug.clone()).collect();
        self.require(&slugs);
        self.demand();
    }

    /// Asks for the current versions of datasets that changed.
    fn require(&mut self, changed: &[Slug]) {
        if self.shared.store.is_none() {
            return;
        }
        let snapshot = self.catalog.snapshot();
        let mut room = self.shared.cache().free();
        for key in self.awaited.keys() {
            room = room.saturating_sub(self.bytes(key));
        }
        for slug in changed {
            let Some(Entry::Serving(dataset)) = snapshot.get(slug.as_str()) else { continue };
            let Some(target) = target(dataset).filter(|target| target.is_away()) else { continue };
            let key = (slug.clone(), target.version.clone());
            let bytes = self.bytes(&key);
            let has_earlier = dataset.versions.iter().any(|version| !version.is_away());
            let is_ahead = match self.shared.prefetch {
                Prefetch::All => bytes <= room,
                Prefetch::Featured => dataset.manifest.featured && bytes <= room,
                Prefetch::None => false,
            };
            if has_earlier || is_ahead {
                room = room.saturating_sub(bytes);
                self.awaited.insert(key, Instant::now());
            }
        }
    }

    fn bytes(&self, (slug, version): &Key) -> u64 {
        self.shared.blobs(slug, version).map_or(0, |blobs| blobs.bytes())
    }

    /// Asks for what is awaited, again after a while, and forgets what has come or is not wanted any more.
    fn demand(&mut self) {
        let snapshot = self.catalog.snapshot();
        let now = Instant::now();
        let mut room = AHEAD_MAX.saturating_sub(self.catalog.demands().len());
        self.awaited.retain(|(slug, version), due| {
            let Some(Entry::Serving(dataset)) = snapshot.get(slug.as_str()) else { return false };
            let wanted = target(dataset).filter(|target| target.version == *version && target.is_away());
            let Some(wanted) = wanted.filter(|wanted| !wanted.is_too_large()) else { return false };
            if *due <= now && room > 0 {
                room = room.saturating_sub(1);
                *due = now + FETCH_PAUSE;
                self.catalog.demand(slug.as_str(), wanted);
            }
            true
        });
    }

    /// Counts uses and bytes.
    fn take_count(&self) {
        let Shared { counts, .. } = &*self.shared;
        let (snapshot, now) = (self.catalog.snapshot(), Instant::now());
        let mut cache = self.shared.cache();
        let mut away = 0_u64;
        for dataset in snapshot.datasets() {
            for version in &dataset.versions {
                away = away.saturating_add(u64::from(version.is_away()));
                let uses = version.take_uses();
                cache.note_uses((dataset.manifest.slug.clone(), version.version.clone()), uses, now);
            }
        }
        let known = self.shared.known();
        cache.keep_values(|(slug, version)| {
            known.blobs.get(slug).is_some_and(|kept| kept.contains_key(version))
        });
        self.shared.faults().keep(now, |slug, version| match version {
            Some(version) => known.blobs.get(slug).is_some_and(|kept| kept.contains_key(version)),
            None => known.failed.contains_key(slug),
        });
        counts.versions_away.store(away, Ordering::Relaxed);
        counts.cache_bytes.store(cache.used(), Ordering::Relaxed);
    }

    /// Tells the database what is served whole.
    fn report(&mut self) {
        let Some(server) = self.server else { return };
        let known = self.shared.known();
        let seen = known.seen;
        let lacking = {
            let failed = known.failed.keys().map(Slug::as_str);
            let refused = known.refused.keys().map(String::as_str);
            let awaited = self.awaited.keys().map(|(slug, _)| slug.as_str());
            failed.chain(refused).chain(awaited).collect::<BTreeSet<&str>>().len()
        };
        let lacking = i32::try_from(lacking).unwrap_or(i32::MAX);
        drop(known);
        // In a shared directory, files that another machine wrote are verified first.
        let is_verified = self.shared.store.is_some() || !self.catalog.verification().is_busy();
        let before = self.reported;
        let is_whole = lacking == 0 && is_verified;
        let generation = if is_whole { seen } else { before.map_or(0, |(loaded, _)| loaded.generation) };
        let loaded = Loaded { generation, lacking };
        if before.is_some_and(|(told, at)| told == loaded && at.elapsed() < RETRY_PAUSE) {
            return;
        }
        self.shared.counts.loaded_generation.store(generation, Ordering::Relaxed);
        let Some(connection) = &mut self.connection else { return };
        match live::note_loaded(connection, server, loaded) {
            Ok(()) => self.reported = Some((loaded, Instant::now())),
            Err(trouble) => self.note_failure(&trouble),
        }
    }
}

/// The version of a dataset that should be served.
fn target(dataset: &Dataset) -> Option<&DatasetVersion> {
    dataset.versions.iter().find(|version| version.version <= dataset.wanted)
}
