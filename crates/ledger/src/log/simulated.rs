//! A disk in memory that tears writes, loses power and fails on command.
//!
//! It keeps the visible content, the safe content and the ordered changes between both. So it can enumerate the
//! states that a power loss may leave. Deterministic, for tests only.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::files::{Folder, LogFile};
use super::format::FRAME_HEAD_BYTES;

/// The part of a failing operation that is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing. A sync also drops its data, which then counts as written.
    Nothing,
    /// The first half of the bytes or changes; an indivisible operation is done.
    Half,
    /// Everything.
    All,
}

pub type Files = BTreeMap<String, Vec<u8>>;

/// A folder on such a disk. Clones are the same folder.
#[derive(Clone, Default)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

#[derive(Clone, Default)]
struct State {
    files: Vec<Content>,
    names: BTreeMap<String, usize>,
    safe_names: BTreeMap<String, usize>,
    /// The file that a name was given; none when the name was removed.
    name_changes: Vec<(String, Option<usize>)>,
    changes: Vec<(usize, Change)>,
    operations: u64,
    fault: Option<(u64, Fault)>,
    sync_time: Duration,
    syncs: u64,
}

#[derive(Clone, Default)]
struct Content {
    seen: Vec<u8>,
    safe: Vec<u8>,
}

#[derive(Clone)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl SimulatedDisk {
    /// A disk on which these files are safe.
    pub fn with_files(files: &Files) -> SimulatedDisk {
        let disk = SimulatedDisk::default();
        let mut state = disk.state();
        for (name, bytes) in files {
            let inode = state.files.len();
            state.files.push(Content { seen: bytes.clone(), safe: bytes.clone() });
            state.names.insert(name.clone(), inode);
        }
        state.safe_names = state.names.clone();
        drop(state);
        disk
    }

    /// The files as the running system sees them.
    pub fn files(&self) -> Files {
        let state = self.state();
        named(&state.names, |inode| &state.files[inode].seen)
    }

    /// The safe content: no unsynced change has reached the disk.
    pub fn safe_files(&self) -> Files {
        let state = self.state();
        state
            .safe_names
            .iter()
            .map(|(name, inode)| (name.clone(), state.files[*inode].safe.clone()))
            .collect()
    }

    /// The folder for a log.
    pub fn folder(&self) -> Arc<dyn Folder> {
        Arc::new(self.clone())
    }

    /// Another disk in the same state.
    pub fn fork(&self) -> SimulatedDisk {
        SimulatedDisk(Arc::new(Mutex::new(self.state().clone())))
    }

    /// Lets the operation after the next `after` fail, once.
    pub fn fail(&self, after: u64, fault: Fault) {
        let mut state = self.state();
        state.fault = Some((state.operations + after, fault));
    }

    /// Whether the failure has not come yet; it is called off.
    pub fn take_fault(&self) -> bool {
        self.state().fault.take().is_some()
    }

    /// Sets how long a sync of a file takes.
    pub fn set_sync_time(&self, time: Duration) {
        self.state().sync_time = time;
    }

    /// Syncs of files so far.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Disks that a loss of power may leave behind now: each prefix of the changes, the next one torn in several
    /// places, one change lost before others or done before others; and each prefix of the changes of names.
    pub fn crash_states(&self) -> Vec<SimulatedDisk> {
        let state = self.state();
        let count = state.changes.len();
        let mut contents = BTreeSet::new();
        for whole in 0..=count {
            contents.insert(state.contents(0..whole, &[]));
            if let Some((inode, Change::Write { at, bytes })) = state.changes.get(whole) {
                for cut in [1, FRAME_HEAD_BYTES, bytes.len() / 2, bytes.len().saturating_sub(1)] {
                    let begun = Change::Write { at: *at, bytes: bytes[..cut.min(bytes.len())].to_vec() };
                    // The length may grow before the bytes are there.
                    let end = Change::Write { at: at + bytes.len(), bytes: Vec::new() };
                    let torn = [(*inode, begun), (*inode, end)];
                    contents.insert(state.contents(0..whole, &torn[..1]));
                    contents.insert(state.contents(0..whole, &torn));
                }
                contents.insert(state.contents((0..count).filter(|change| *change != whole), &[]));
                contents.insert(state.contents(whole..whole + 1, &[]));
            }
        }
        let mut states = Vec::new();
        for count in 0..=state.name_changes.len() {
            let names = state.names_after(count);
            let disk =
                |files: &Vec<Vec<u8>>| SimulatedDisk::with_files(&named(&names, |inode| &files[inode]));
            states.extend(contents.iter().map(disk));
        }
        states
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn named<'c>(names: &BTreeMap<String, usize>, content: impl Fn(usize) -> &'c Vec<u8>) -> Files {
    names.iter().map(|(name, inode)| (name.clone(), content(*inode).clone())).collect()
}

fn failure() -> io::Error {
    io::Error::other("the simulated disk fails")
}

/// How much of an operation is done.
fn done(fault: Option<Fault>, all: usize) -> usize {
    match fault {
        Some(Fault::Nothing) => 0,
        Some(Fault::Half) => all / 2,
        Some(Fault::All) | None => all,
    }
}

/// The error of a failing operation.
fn told(fault: Option<Fault>) -> io::Result<()> {
    fault.map_or(Ok(()), |_| Err(failure()))
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Change::Write { at, bytes } => {
                let end = at + bytes.len();
                content.resize(content.len().max(end), 0);
                content[*at..end].copy_from_slice(bytes);
            }
            Change::SetLen(length) => content.resize(*length, 0),
        }
    }
}

impl State {
    /// Counts an operation and returns whether it fails.
    fn begin(&mut self) -> Option<Fault> {
        self.operations += 1;
        self.fault.take_if(|(at, _)| *at < self.operations).map(|(_, fault)| fault)
    }

    fn change(&mut self, inode: usize, change: Change) {
        change.apply(&mut self.files[inode].seen);
        self.changes.push((inode, change));
    }

    /// The first `count` changes of a file become safe; all of the first `of` are forgotten.
    fn make_safe(&mut self, inode: usize, count: usize, of: usize) {
        let mut place = 0;
        let files = &mut self.files;
        self.changes.retain(|(other, change)| {
            if *other != inode {
                return true;
            }
            place += 1;
            if place <= count {
                change.apply(&mut files[inode].safe);
            }
            place > of
        });
    }

    fn pending(&self, inode: usize) -> usize {
        self.changes.iter().filter(|(other, _)| *other == inode).count()
    }

    fn contents(&self, kept: impl Iterator<Item = usize>, torn: &[(usize, Change)]) -> Vec<Vec<u8>> {
        let mut contents: Vec<Vec<u8>> = self.files.iter().map(|content| content.safe.clone()).collect();
        for (inode, change) in kept.map(|change| &self.changes[change]).chain(torn) {
            change.apply(&mut contents[*inode]);
        }
        contents
    }

    fn names_after(&self, count: usize) -> BTreeMap<String, usize> {
        let mut names = self.safe_names.clone();
        for (name, inode) in self.name_changes.iter().take(count) {
            match inode {
                Some(inode) => names.insert(name.clone(), *inode),
                None => names.remove(name),
            };
        }
        names
    }
}

impl Folder for SimulatedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn LogFile>> {
        let mut state = self.state();
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let fault = state.begin();
        if fault == Some(Fault::Nothing) {
            return Err(failure());
        }
        let inode = state.files.len();
        state.files.push(Content::default());
        state.names.insert(name.to_owned(), inode);
        state.name_changes.push((name.to_owned(), Some(inode)));
        told(fault)?;
        Ok(Arc::new(SimulatedFile { disk: self.clone(), inode, is_writable: true }))
    }

    fn open(&self, name: &str, writable: bool) -> io::Result<Arc<dyn LogFile>> {
        let inode = *self.state().names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(SimulatedFile { disk: self.clone(), inode, is_writable: writable }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        let fault = state.begin();
        if fault == Some(Fault::Nothing) {
            return Err(failure());
        }
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.name_changes.push((name.to_owned(), None));
        told(fault)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        let fault = state.begin();
        let count = done(fault, state.name_changes.len());
        state.safe_names = state.names_after(count);
        state.name_changes.drain(..count);
        told(fault)
    }

    fn describe(&self, name: &str) -> PathBuf {
        PathBuf::from("simulated").join(name)
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    inode: usize,
    is_writable: bool,
}

impl LogFile for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[self.inode].seen.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let state = self.disk.state();
        let rest = state.files[self.inode].seen.get(at as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        assert!(self.is_writable, "a file that was opened for reading is written");
        let mut state = self.disk.state();
        let fault = state.begin();
        let bytes = bytes[..done(fault, bytes.len())].to_vec();
        state.change(self.inode, Change::Write { at: at as usize, bytes });
        told(fault)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        assert!(self.is_writable, "a file that was opened for reading is cut");
        let mut state = self.disk.state();
        let fault = state.begin();
        if fault != Some(Fault::Nothing) {
            state.change(self.inode, Change::SetLen(length as usize));
        }
        told(fault)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let fault = state.begin();
        let (pending, time) = (state.pending(self.inode), state.sync_time);
        state.syncs += 1;
        if !time.is_zero() {
            drop(state);
            thread::sleep(time);
            state = self.disk.state();
        }
        state.make_safe(self.inode, done(fault, pending), pending);
        told(fault)
    }
}
