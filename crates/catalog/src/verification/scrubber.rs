//! The scrubber: verifies the checksums of all open store files, and of the Parquet files beside them, in slow, repeated
//! passes.
//!
//! Opening a file reads little of it, so without the scrubber a client would be the first to meet disk damage. It reads
//! by system calls, not through the memory map: a truncated file is an error instead of a signal, and no pages stay in
//! the memory of the process. Does not depend on queries or status codes.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use mercato_format::checksum::{BLOCK_SIZE_BYTES, checksum};

use crate::background::BackgroundThreads;
use crate::files::file_identity::FileIdentity;
use crate::verification::verified_marks::Verdict;
use crate::{Catalog, DatasetVersion, Entry};
use mercato_base::clock::Clock;

/// Minimum cost of a block, so that many small files take no longer than few large ones.
pub const SCRUB_COST_BYTES_MIN: u64 = 64 * 1024;
/// Pause before the first pass.
const SCRUB_FIRST_PAUSE: Duration = Duration::from_secs(60);
/// Pause between passes.
const SCRUB_ROUND_PAUSE: Duration = Duration::from_secs(3600);

/// Counters of the scrubber since the start.
#[derive(Debug, Default)]
pub struct ScrubCounts {
    bytes: AtomicU64,
    rounds: AtomicU64,
    damaged: AtomicU64,
}

impl ScrubCounts {
    /// Verified bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Completed passes over all files.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Damaged versions.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub slug: String,
    pub version: String,
    /// The reason, for the log.
    pub reason: String,
}

/// The handle of the background thread, which ends when this is dropped.
pub struct Scrubber {
    _threads: BackgroundThreads,
}

impl Scrubber {
    /// Starts to scrub at `bytes_per_second`, which must be above zero. Each finding goes to `report`.
    pub fn start(
        catalog: Arc<Catalog>,
        clock: Arc<dyn Clock>,
        bytes_per_second: u64,
        report: impl Fn(&Finding) + Send + 'static,
    ) -> std::io::Result<Self> {
        let work = move |stopped| {
            let pace = Pace { stopped, bytes_per_second: bytes_per_second.max(1) };
            if pace.rest(SCRUB_FIRST_PAUSE).is_err() {
                return;
            }
            loop {
                let done = scrub_once(&catalog, clock.as_ref(), &mut |bytes| pace.wait_for(bytes), &report);
                if done.is_err() || pace.rest(SCRUB_ROUND_PAUSE).is_err() {
                    return;
                }
            }
        };
        Ok(Self { _threads: BackgroundThreads::start("scrubber", [work])? })
    }
}

#[derive(Debug)]
pub struct Stopped;

struct Pace {
    stopped: Receiver<()>,
    bytes_per_second: u64,
}

impl Pace {
    fn rest(&self, time: Duration) -> Result<(), Stopped> {
        match self.stopped.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Err(Stopped),
        }
    }

    /// Waits for as long as the rate grants to `bytes`. Small blocks count as the minimum size.
    fn wait_for(&self, bytes: u64) -> Result<(), Stopped> {
        let micros = bytes.max(SCRUB_COST_BYTES_MIN).saturating_mul(1_000_000) / self.bytes_per_second;
        self.rest(Duration::from_micros(micros))
    }
}

/// Verifies every open version once and withdraws damaged ones. `wait` receives the number of bytes just read.
pub fn scrub_once(
    catalog: &Catalog,
    clock: &dyn Clock,
    wait: &mut dyn FnMut(u64) -> Result<(), Stopped>,
    report: &dyn Fn(&Finding),
) -> Result<(), Stopped> {
    let slugs: Vec<String> =
        catalog.snapshot().datasets().iter().map(|dataset| dataset.slug().to_owned()).collect();
    for slug in slugs {
        // Looked up again, so that no version is held open for a whole pass.
        let snapshot = catalog.snapshot();
        let Some(Entry::Serving(dataset)) = snapshot.get(&slug) else { continue };
        let dataset = Arc::clone(dataset);
        drop(snapshot);
        for version in &dataset.versions {
            // The verification already reads these versions.
            if !version.is_verified() {
                continue;
            }
            let mut read = |bytes| {
                catalog.scrub_counts().bytes.fetch_add(bytes, Ordering::Relaxed);
                wait(bytes)
            };
            let found = |reason| {
                catalog.scrub_counts().damaged.fetch_add(1, Ordering::Relaxed);
                report(&Finding { slug: slug.clone(), version: version.version.to_string(), reason });
            };
            let damage = match verify_file(version, &mut read)? {
                FileCheck::Sound(_) | FileCheck::Replaced => None,
                FileCheck::Damaged(reason) => Some((Verdict::Damaged(reason.clone()), reason)),
                FileCheck::Unreadable(reason) => Some((Verdict::Doubtful, reason)),
            };
            if let Some((verdict, reason)) = damage {
                catalog.withdraw(version, &slug, &reason, verdict, clock.now());
                found(reason);
            } else if let Some(reason) = check_parquet(version, &mut read)? {
                found(reason);
            }
        }
    }
    catalog.scrub_counts().rounds.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Compares the Parquet file of a version with its checksums. Returns why it is withheld from now on: the rows of the store
/// file are sound.
fn check_parquet(
    version: &DatasetVersion,
    read: &mut dyn FnMut(u64) -> Result<(), Stopped>,
) -> Result<Option<String>, Stopped> {
    let Some(parquet) = version.offered_parquet() else { return Ok(None) };
    let outcome = parquet.check(read)?;
    // Its version may have been removed meanwhile.
    let fault = outcome.err().filter(|error| error.kind() != ErrorKind::NotFound);
    Ok(fault.map(|error| format!("{}: {error}", parquet.path().display())))
}

/// The result of verifying a store file.
pub enum FileCheck {
    /// Every block matches; the file kept this identity.
    Sound(FileIdentity),
    /// The file was removed or replaced; the next reload of its folder handles that.
    Replaced,
    /// A block does not match its checksum.
    Damaged(String),
    /// The file cannot be read.
    Unreadable(String),
}

/// Compares every block of a version with its checksum. `read` receives the number of bytes just read.
pub fn verify_file(
    version: &DatasetVersion,
    read: &mut dyn FnMut(u64) -> Result<(), Stopped>,
) -> Result<FileCheck, Stopped> {
    let Ok(file) = File::open(&version.path) else { return Ok(FileCheck::Replaced) };
    let Some(identity) = identity_of(&file, version) else { return Ok(FileCheck::Replaced) };
    let blocks = match version.table.blocks() {
        Ok(blocks) => blocks,
        Err(error) => return Ok(FileCheck::Damaged(error.to_string())),
    };
    let mut buffer = vec![0; BLOCK_SIZE_BYTES];
    for block in blocks {
        let Some(bytes) = buffer.get_mut(..block.len) else { continue };
        if let Err(error) = file.read_exact_at(bytes, block.offset) {
            let reason = format!("{} bytes at {} cannot be read: {error}", block.len, block.offset);
            return Ok(FileCheck::Unreadable(reason));
        }
        if let Err(error) = block.check(checksum(bytes)) {
            return Ok(FileCheck::Damaged(error.to_string()));
        }
        read(u64::try_from(block.len).unwrap_or(u64::MAX))?;
    }
    // A file that changes while it is read may be sound in no moment.
    let is_unchanged = identity_of(&file, version) == Some(identity);
    Ok(if is_unchanged { FileCheck::Sound(identity) } else { FileCheck::Replaced })
}

/// The identity of the file, if it is still the opened one and not known to be written.
fn identity_of(file: &File, version: &DatasetVersion) -> Option<FileIdentity> {
    let mut head = vec![0; version.table.head().len()];
    file.read_exact_at(&mut head, 0).ok()?;
    let identity = FileIdentity::from(&file.metadata().ok()?);
    (head == version.table.head() && identity.is_moved(&version.identity)).then_some(identity)
}
