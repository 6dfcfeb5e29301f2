//! Watches the catalog's files and reloads the catalog after a change.
//!
//! A publication touches one file, which is polled often. A full scan also finds files that were copied or changed by hand;
//! it runs seldom enough to cost a small part of one core.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::{Catalog, CatalogError, ReloadReport};
use crate::background::BackgroundThreads;
use mercato_base::clock::Clock;

/// Poll interval of the touched file.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Shortest pause between full scans.
pub const FULL_SCAN_INTERVAL_MIN: Duration = Duration::from_secs(2);
/// The pause after a full scan, as a multiple of its duration.
pub const FULL_SCAN_PAUSE_FACTOR: u32 = 50;

/// The handle of the background thread, which ends when this is dropped.
pub struct Watcher {
    _threads: BackgroundThreads,
}

impl Watcher {
    /// Starts to watch. Each reload with a change or an error goes to `report`.
    pub fn start(
        catalog: Arc<Catalog>,
        clock: Arc<dyn Clock>,
        report: impl Fn(Result<&ReloadReport, &CatalogError>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let work = move |stopped: Receiver<()>| {
            let mut seen = mark(&catalog.directory().changed());
            let mut next_full_scan = Instant::now() + FULL_SCAN_INTERVAL_MIN;
            while matches!(stopped.recv_timeout(POLL_INTERVAL), Err(RecvTimeoutError::Timeout)) {
                let present = mark(&catalog.directory().changed());
                if present == seen && Instant::now() < next_full_scan {
                    continue;
                }
                seen = present;
                let began = Instant::now();
                match catalog.reload(clock.now()) {
                    Ok(found) if found.changed.is_empty() => {}
                    Ok(found) => report(Ok(&found)),
                    Err(error) => report(Err(&error)),
                }
                let pause =
                    began.elapsed().saturating_mul(FULL_SCAN_PAUSE_FACTOR).max(FULL_SCAN_INTERVAL_MIN);
                next_full_scan = Instant::now() + pause;
            }
        };
        Ok(Self { _threads: BackgroundThreads::start("catalog-watch", [work])? })
    }
}

fn mark(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
