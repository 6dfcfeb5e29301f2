//! Verifies new and changed store files before their first row is served, several files in parallel, as fast as the
//! disk reads.
//!
//! Files verified by their publication or by an earlier run are skipped. Later disk damage is the scrubber's task. Does
//! not depend on queries or status codes.

pub mod scrubber;
pub(super) mod verified_marks;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, select};

use crate::background::BackgroundThreads;
use crate::verification::scrubber::{FileCheck, Finding, SCRUB_COST_BYTES_MIN, Stopped, verify_file};
use crate::verification::verified_marks::Verdict;
use crate::{Catalog, DatasetVersion};
use mercato_base::clock::Clock;

/// Store files verified in parallel.
const VERIFICATION_FILES_AT_ONCE: usize = 4;
/// Interval of progress reports in the log.
const VERIFICATION_REPORT_PAUSE: Duration = Duration::from_secs(5);

/// A store file to verify.
pub(super) struct Task {
    slug: String,
    version: DatasetVersion,
}

impl Task {
    pub(super) fn new(slug: &str, version: &DatasetVersion) -> Self {
        Self { slug: slug.to_owned(), version: version.clone() }
    }
}

/// Progress of the verification.
#[derive(Debug, Default)]
pub struct VerificationCounts {
    files: AtomicU64,
    files_done: AtomicU64,
    bytes: AtomicU64,
    bytes_done: AtomicU64,
    damaged: AtomicU64,
}

impl VerificationCounts {
    /// Files queued since the start.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Verified files.
    pub fn files_done(&self) -> u64 {
        self.files_done.load(Ordering::Relaxed)
    }

    /// Bytes queued since the start.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Verified bytes.
    pub fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Damaged files.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Whether any file waits or is being verified.
    pub fn is_busy(&self) -> bool {
        self.files_done() < self.files()
    }

    pub(super) fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.files.fetch_add(1, Ordering::Relaxed);
    }
}

/// Events for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Files wait; reported at intervals.
    Busy,
    Done,
    Damaged(Finding),
}

/// The handle of the background threads, which end when this is dropped.
pub struct Verifier {
    _threads: BackgroundThreads,
}

impl Verifier {
    /// Starts to verify the queue of the catalog at the given rate in bytes per second, or as fast as the disk reads.
    pub fn start(
        catalog: &Arc<Catalog>,
        clock: &Arc<dyn Clock>,
        bytes_per_second: Option<u64>,
        report: impl Fn(&Progress) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            catalog: Arc::clone(catalog),
            clock: Arc::clone(clock),
            bytes_per_second,
            free_at: Mutex::new(Instant::now()),
            reported_at: Mutex::new(Instant::now()),
            report: Box::new(report),
        });
        let works = (0..VERIFICATION_FILES_AT_ONCE).map(|_| {
            let shared = Arc::clone(&shared);
            move |stopped| shared.work(&stopped)
        });
        Ok(Self { _threads: BackgroundThreads::start("catalog-verify", works)? })
    }
}

/// State shared by the threads.
struct Shared {
    catalog: Arc<Catalog>,
    clock: Arc<dyn Clock>,
    bytes_per_second: Option<u64>,
    /// Earliest time of the next read, if a rate is set.
    free_at: Mutex<Instant>,
    reported_at: Mutex<Instant>,
    report: Box<dyn Fn(&Progress) + Send + Sync>,
}

impl Shared {
    fn work(&self, stopped: &Receiver<()>) {
        loop {
            let task = select! {
                recv(self.catalog.verification_queue.1) -> task => task,
                recv(stopped) -> _ => return,
            };
            let Ok(task) = task else { return };
            let Ok(check) = verify_file(&task.version, &mut |bytes| self.note_block(bytes, stopped)) else {
                return;
            };
            self.conclude(&task, check);
        }
    }

    fn conclude(&self, task: &Task, check: FileCheck) {
        let (catalog, counts) = (&self.catalog, &self.catalog.verification);
        let (version, now) = (&task.version, self.clock.now());
        let damage = match check {
            FileCheck::Sound(identity) => {
                catalog.verified_marks.note(&task.slug, &version.version, identity, Verdict::Sound);
                catalog.admit(version, &task.slug, now);
                None
            }
            // The next reload of the folder queues the new file.
            FileCheck::Replaced => None,
            FileCheck::Damaged(reason) => Some((Verdict::Damaged(reason.clone()), reason)),
            FileCheck::Unreadable(reason) => Some((Verdict::Doubtful, reason)),
        };
        if let Some((verdict, reason)) = damage {
            counts.damaged.fetch_add(1, Ordering::Relaxed);
            catalog.withdraw(version, &task.slug, &reason, verdict, now);
            let version = version.version.to_string();
            (self.report)(&Progress::Damaged(Finding { slug: task.slug.clone(), version, reason }));
        }
        // Refill before counting this file as done, so that an empty queue means the end.
        if catalog.verification_queue.1.is_empty() {
            catalog.enqueue_deferred();
        }
        let done = counts.files_done.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if done >= counts.files() {
            catalog.save_verified_marks();
            (self.report)(&Progress::Done);
        }
    }

    fn note_block(&self, bytes: u64, stopped: &Receiver<()>) -> Result<(), Stopped> {
        self.catalog.verification.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        if self.is_report_due() {
            self.catalog.save_verified_marks();
            (self.report)(&Progress::Busy);
        }
        match stopped.recv_timeout(self.turn(bytes)) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Err(Stopped),
        }
    }

    /// The pause that keeps all threads together within the rate.
    fn turn(&self, bytes: u64) -> Duration {
        let Some(rate) = self.bytes_per_second else { return Duration::ZERO };
        let micros = bytes.max(SCRUB_COST_BYTES_MIN).saturating_mul(1_000_000) / rate.max(1);
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        *free_at = (*free_at).max(now) + Duration::from_micros(micros);
        free_at.duration_since(now)
    }

    fn is_report_due(&self) -> bool {
        let mut reported_at = self.reported_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = reported_at.elapsed() >= VERIFICATION_REPORT_PAUSE;
        if is_time {
            *reported_at = Instant::now();
        }
        is_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataDirectory, Slug, publish::publish};
    use crossbeam_channel::bounded;
    use mercato_base::clock::SystemClock;
    use mercato_format::ColumnKind;
    use mercato_format::writer::{Column, ColumnValues, write_table};
    use semver::Version;
    use std::fs;

    /// Datasets with store files copied by hand.
    fn copied(count: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(folder.path());
        let version = Version::new(1, 0, 0);
        let columns = [Column::new("id", ColumnKind::Integer, ColumnValues::Integers(vec![Some(1)]))];
        for number in 0..count {
            let slug = format!("set-{number}");
            let source = tempfile::tempdir().unwrap();
            fs::write(source.path().join("dataset.toml"), format!("slug = \"{slug}\"\n")).unwrap();
            publish(&data, source.path(), &version, |path| write_table(path, &columns).map(drop)).unwrap();
            let path = data.dataset(&Slug::parse(&slug).unwrap()).store(&version);
            fs::copy(&path, path.with_extension("copy")).unwrap();
            fs::rename(path.with_extension("copy"), &path).unwrap();
        }
        folder
    }

    #[test]
    fn verifies_files_beyond_queue_limit() {
        let folder = copied(7);
        let catalog = Arc::new(Catalog::open_with_queue(DataDirectory::new(folder.path()), 2).unwrap());
        assert_eq!((catalog.verification_queue.0.len(), catalog.verification().files()), (2, 2));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (reports, ends) = bounded(16);
        let report = move |progress: &Progress| drop(reports.send(progress.clone()));
        let _verifier = Verifier::start(&catalog, &clock, None, report).unwrap();
        assert_eq!(ends.recv_timeout(Duration::from_secs(20)), Ok(Progress::Done));
        assert_eq!((catalog.verification().files(), catalog.verification().files_done()), (7, 7));
        let snapshot = catalog.snapshot();
        assert!(snapshot.datasets().iter().all(|dataset| dataset.current.is_verified()));
        assert!(ends.try_recv().is_err(), "it ends once");
    }
}
