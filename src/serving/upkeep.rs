//! Upkeep of the datasets beside the requests: the watcher, the verification of store files, the scrubber, and their log
//! events.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{StartError, part};
use crate::config::Settings;
use mercato_base::clock::Clock;
use mercato_catalog::limits::SCRUB_BYTES_PER_SECOND;
use mercato_catalog::scrubber::{Finding, Scrubber};
use mercato_catalog::verification::{Progress, Verifier};
use mercato_catalog::{Catalog, CatalogError, Entry, ReloadReport, Snapshot, Watcher};
use mercato_search::Search;

/// How long the start waits for the verification, so that small store files are never seen unverified.
const VERIFICATION_START_WAIT: Duration = Duration::from_secs(2);
/// Poll interval of that wait.
const VERIFICATION_START_POLL: Duration = Duration::from_millis(2);

/// The threads; they end when this is dropped.
pub(super) struct Upkeep {
    _watcher: Watcher,
    _verifier: Verifier,
    _scrubber: Scrubber,
}

impl Upkeep {
    /// Starts them, and waits a moment for the verification.
    pub(super) fn start(
        settings: &Settings,
        catalog: &Arc<Catalog>,
        clock: &Arc<dyn Clock>,
        search: Arc<Search>,
    ) -> Result<Self, StartError> {
        let verifier =
            verify(settings, catalog, clock).map_err(|error| part("catalog verification", &error))?;
        let watcher = watch(Arc::clone(catalog), Arc::clone(clock), search);
        let scrubber = scrub(catalog, clock).map_err(|error| part("scrubber", &error))?;
        let deadline = Instant::now() + VERIFICATION_START_WAIT;
        while catalog.verification().is_busy() && Instant::now() < deadline {
            std::thread::sleep(VERIFICATION_START_POLL);
        }
        Ok(Self {
            _watcher: watcher.map_err(|error| part("catalog watcher", &error))?,
            _verifier: verifier,
            _scrubber: scrubber,
        })
    }
}

fn watch(catalog: Arc<Catalog>, clock: Arc<dyn Clock>, search: Arc<Search>) -> io::Result<Watcher> {
    let of = Arc::clone(&catalog);
    Watcher::start(catalog, clock, move |outcome| tell(&of, &search, outcome))
}

/// Tells search and log of a reload with a change or an error.
pub(super) fn tell(of: &Catalog, search: &Search, outcome: Result<&ReloadReport, &CatalogError>) {
    match outcome {
        Ok(report) => {
            search.notify();
            tracing::info!(
                changed = report.changed.join(","),
                serving = report.serving,
                quarantined = report.quarantined,
                "catalog reloaded"
            );
            log_faults(&of.snapshot(), |slug| report.changed.iter().any(|changed| changed == slug));
        }
        Err(error) => tracing::error!(%error, "the catalog cannot be reloaded"),
    }
}

/// Tells the log which datasets are out of service, or served with a fault, and why.
pub(super) fn log_faults(snapshot: &Snapshot, concerns: impl Fn(&str) -> bool) {
    for (slug, reason) in snapshot.quarantined() {
        if concerns(slug.as_str()) {
            tracing::error!(dataset = slug.as_str(), reason, "a dataset is out of service");
        }
    }
    for warning in snapshot.warnings() {
        if concerns(&warning.slug) {
            let (dataset, serves, reason) = (warning.slug, warning.serves, warning.reason);
            tracing::warn!(dataset, serves, reason, "a dataset is served with a fault");
        }
    }
}

fn verify(settings: &Settings, catalog: &Arc<Catalog>, clock: &Arc<dyn Clock>) -> io::Result<Verifier> {
    let counts = catalog.verification();
    if counts.is_busy() {
        tracing::info!(files = counts.files(), bytes = counts.bytes(), "store files are being verified");
    }
    let of = Arc::clone(catalog);
    Verifier::start(catalog, clock, settings.verification_bytes_per_second, move |progress| {
        let counts = of.verification();
        let (files, done) = (counts.files(), counts.files_done());
        match progress {
            Progress::Busy => tracing::info!(
                files,
                files_done = done,
                bytes = counts.bytes(),
                bytes_done = counts.bytes_done(),
                "store files are being verified"
            ),
            Progress::Done => {
                tracing::info!(files = done, bytes = counts.bytes_done(), "store files are verified");
            }
            Progress::Damaged(finding) => log_finding(&of, finding),
        }
    })
}

fn scrub(catalog: &Arc<Catalog>, clock: &Arc<dyn Clock>) -> io::Result<Scrubber> {
    let (of, clock) = (Arc::clone(catalog), Arc::clone(clock));
    Scrubber::start(Arc::clone(catalog), clock, SCRUB_BYTES_PER_SECOND, move |finding| {
        log_finding(&of, finding);
    })
}

fn log_finding(catalog: &Catalog, finding: &Finding) {
    let snapshot = catalog.snapshot();
    let serves = match snapshot.get(&finding.slug) {
        Some(Entry::Serving(dataset)) => dataset.current.version.to_string(),
        _ => "nothing".to_owned(),
    };
    let (dataset, version, reason) = (&finding.slug, &finding.version, &finding.reason);
    tracing::error!(dataset, version, reason, serves, "a store file is damaged");
}
