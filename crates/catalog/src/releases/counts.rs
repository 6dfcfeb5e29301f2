//! What the mirror has done and seen, for the operator.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use super::faults::Faults;
use crate::CopyCause;
use mercato_base::sample::Sample;

/// The counters.
pub(super) struct Counts {
    since: Instant,
    pub(super) generation: AtomicI64,
    pub(super) loaded_generation: AtomicI64,
    /// Milliseconds from the start to the last poll that was answered.
    polled_at: AtomicU64,
    pub(super) cache_bytes: AtomicU64,
    pub(super) cache_bytes_max: AtomicU64,
    pub(super) fetched: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) fetched_bytes: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) versions_away: AtomicU64,
}

impl Counts {
    pub(super) fn new() -> Counts {
        Counts {
            since: Instant::now(),
            generation: AtomicI64::new(0),
            loaded_generation: AtomicI64::new(0),
            polled_at: AtomicU64::new(0),
            cache_bytes: AtomicU64::new(0),
            cache_bytes_max: AtomicU64::new(0),
            fetched: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            fetched_bytes: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            versions_away: AtomicU64::new(0),
        }
    }

    pub(super) fn note_poll(&self) {
        self.polled_at.store(self.millis(), Ordering::Relaxed);
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn samples(&self, has_cache: bool) -> Vec<Sample> {
        let of = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let generation = |value: &AtomicI64| u64::try_from(value.load(Ordering::Relaxed)).unwrap_or(0);
        let age = self.millis().saturating_sub(of(&self.polled_at)) / 1_000;
        let mut samples = vec![
            Sample::gauge(
                "mercato_catalog_generation",
                "Generation of the catalogue that was last seen in the database.",
                generation(&self.generation),
            ),
            Sample::gauge(
                "mercato_catalog_generation_loaded",
                "Generation of the catalogue that is served whole.",
                generation(&self.loaded_generation),
            ),
            Sample::gauge(
                "mercato_catalog_poll_age_seconds",
                "Seconds since the database last told the generation.",
                age,
            ),
        ];
        if has_cache {
            let fetches = |outcome, value| {
                let help = "Versions fetched from the object store, by outcome.";
                Sample::counter("mercato_cache_fetches_total", help, value).labelled("outcome", outcome)
            };
            let max = of(&self.cache_bytes_max);
            let (bytes, evictions) = (of(&self.cache_bytes), of(&self.evictions));
            let away = of(&self.versions_away);
            samples.extend([
                Sample::gauge("mercato_cache_bytes", "Store files in the cache.", bytes),
                Sample::gauge("mercato_cache_bytes_max", "Room of the cache.", max),
                fetches("fetched", of(&self.fetched)),
                fetches("failed", of(&self.failed)),
                Sample::counter(
                    "mercato_cache_fetched_bytes_total",
                    "Bytes of them.",
                    of(&self.fetched_bytes),
                ),
                Sample::counter(
                    "mercato_cache_evictions_total",
                    "Versions evicted from the cache.",
                    evictions,
                ),
                Sample::gauge("mercato_versions_away", "Kept versions that are not in the cache.", away),
            ]);
        }
        samples
    }
}

/// What cannot be copied to this server, by cause.
pub(super) fn fault_samples(faults: &Faults) -> [Sample; 4] {
    const HELP: &str = "Published datasets and versions that cannot be copied to this server, by cause.";
    let causes = [
        (CopyCause::Store, "store"),
        (CopyCause::Disk, "disk"),
        (CopyCause::Room, "room"),
        (CopyCause::Content, "content"),
    ];
    causes.map(|(cause, name)| {
        Sample::gauge("mercato_copy_faults", HELP, faults.count(cause)).labelled("cause", name)
    })
}
