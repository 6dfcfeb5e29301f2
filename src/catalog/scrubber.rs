//! Goes over all open store files again and again, slowly, and compares every block with its checksum.
//!
//! Opening a file reads little of it, so damage that a disk does later would be met by a client first. Reads through
//! ordinary calls, not through the memory map: a file that was cut short is an error here and no signal, and nothing
//! of it stays in the memory of the process. Knows no query and no status code.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use mercato_format::checksum::{BLOCK_SIZE_BYTES, checksum};

use super::file_identity::FileIdentity;
use super::verified_marks::Verdict;
use super::{Catalog, DatasetVersion, Entry};
use crate::clock::Clock;
use crate::limits::catalog::{SCRUB_COST_BYTES_MIN, SCRUB_FIRST_PAUSE, SCRUB_ROUND_PAUSE};

/// What the scrubber has done since the start.
#[derive(Debug, Default)]
pub struct ScrubCounts {
    bytes: AtomicU64,
    rounds: AtomicU64,
    damaged: AtomicU64,
}

impl ScrubCounts {
    /// Bytes that were compared with their checksums.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Times that every file was gone over.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Versions whose bytes did not fit.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }
}

/// A version whose bytes do not fit their checksums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The dataset.
    pub slug: String,
    /// The version.
    pub version: String,
    /// What does not fit, for the log.
    pub reason: String,
}

/// The background thread; it ends when this is dropped.
pub struct Scrubber {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Scrubber {
    /// Starts to go around at so many bytes a second, which must be above zero. `report` hears of every finding.
    pub fn start(
        catalog: Arc<Catalog>,
        clock: Arc<dyn Clock>,
        bytes_per_second: u64,
        report: impl Fn(&Finding) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = bounded::<()>(0);
        let thread = thread::Builder::new().name("scrubber".to_owned()).spawn(move || {
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
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Scrubber {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to end.
            drop(thread.join());
        }
    }
}

/// The scrubber was told to end.
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

    /// Waits as long as reading so many bytes may take. Small files cost as much as one of the least size.
    fn wait_for(&self, bytes: u64) -> Result<(), Stopped> {
        let micros = bytes.max(SCRUB_COST_BYTES_MIN).saturating_mul(1_000_000) / self.bytes_per_second;
        self.rest(Duration::from_micros(micros))
    }
}

/// Goes over every open version once. `wait` is told how many bytes were just read. A version that is damaged is taken
/// out of service, and nothing else is.
pub fn scrub_once(
    catalog: &Catalog,
    clock: &dyn Clock,
    wait: &mut dyn FnMut(u64) -> Result<(), Stopped>,
    report: &dyn Fn(&Finding),
) -> Result<(), Stopped> {
    let slugs: Vec<String> =
        catalog.snapshot().datasets().iter().map(|dataset| dataset.slug().to_owned()).collect();
    for slug in slugs {
        // Looked up anew, so that no version is kept open for the length of a round.
        let snapshot = catalog.snapshot();
        let Some(Entry::Serving(dataset)) = snapshot.get(&slug) else { continue };
        let dataset = Arc::clone(dataset);
        drop(snapshot);
        for version in &dataset.versions {
            // What is not verified yet is being read already.
            if !version.is_verified() {
                continue;
            }
            let check = verify_file(version, &mut |bytes| {
                catalog.scrub_counts().bytes.fetch_add(bytes, Ordering::Relaxed);
                wait(bytes)
            });
            let (verdict, reason) = match check? {
                FileCheck::Sound(_) | FileCheck::Replaced => continue,
                FileCheck::Damaged(reason) => (Verdict::Damaged(reason.clone()), reason),
                FileCheck::Unreadable(reason) => (Verdict::Doubtful, reason),
            };
            catalog.scrub_counts().damaged.fetch_add(1, Ordering::Relaxed);
            catalog.withdraw(version, &slug, &reason, verdict, clock.now());
            report(&Finding { slug: slug.clone(), version: version.version.to_string(), reason });
        }
    }
    catalog.scrub_counts().rounds.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// What a check of every block of a store file came to.
pub(super) enum FileCheck {
    /// Every block fits; the file looked like this all the while.
    Sound(FileIdentity),
    /// The file was removed or replaced meanwhile: the next look at its folder finds out.
    Replaced,
    /// A block does not fit its checksum.
    Damaged(String),
    /// The system could not read it.
    Unreadable(String),
}

/// Compares every block of a version with its checksum. `read` hears how many bytes were just read.
pub(super) fn verify_file(
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
    Ok(if identity_of(&file, version).is_some() { FileCheck::Sound(identity) } else { FileCheck::Replaced })
}

/// How the file looks, if it is the one that was opened and nobody wrote into it.
fn identity_of(file: &File, version: &DatasetVersion) -> Option<FileIdentity> {
    let mut head = vec![0; version.table.head().len()];
    file.read_exact_at(&mut head, 0).ok()?;
    let identity = FileIdentity::from(&file.metadata().ok()?);
    (head == version.table.head() && identity.mark == version.identity.mark).then_some(identity)
}
