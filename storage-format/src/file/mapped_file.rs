//! The memory map of a file. It contains the only unsafe code of the workspace, behind a safe type.
//!
//! Access to a page that the system cannot read, because the file was truncated or its disk failed, raises SIGBUS, which
//! would end the server. A signal handler therefore maps a page of zeros in its place and records the loss in the slot
//! of the map. Readers check that the map is intact before they return data. Does not depend on contents.
#![expect(unsafe_code, reason = "mapping a file is the one unsafe operation of the workspace")]

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::mem;
use std::ops::Range;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memmap2::{Advice, Mmap, MmapOptions, UncheckedAdvice};

use crate::error::FormatError;

/// Most maps with protection against lost pages. Further maps are not protected.
pub const PROTECTED_MAPS_MAX: usize = 16_384;

/// A whole file, mapped read-only.
pub struct MappedFile {
    map: Mmap,
    slot: Option<&'static Slot>,
}

impl MappedFile {
    /// Maps a file that no process writes to.
    ///
    /// Store files are made under another name, synced, renamed and never written again; they carry mode 0444.
    ///
    /// # Errors
    /// [`FormatError::Io`] when the file cannot be opened or mapped, [`FormatError::WrongLength`] when it is empty.
    pub fn open(path: &Path) -> Result<MappedFile, FormatError> {
        let file = File::open(path).map_err(FormatError::io("open"))?;
        let length = file.metadata().map_err(FormatError::io("read the file's length"))?.len();
        if length == 0 {
            return Err(FormatError::WrongLength { expected: crate::layout::FILE_SIZE_MIN as u64, found: 0 });
        }
        // SAFETY: The map is read-only and private to this value. What Rust demands is that the bytes keep their
        // value while the map is alive. Store files are complete before they get their name, have mode 0444, are
        // replaced by rename and removed by unlink, and both of these leave the mapped inode alone. Nothing read
        // from the map is trusted: every index and every string is checked where it is used, so that even a file
        // that an operator overwrites in place can lead to a wrong answer or an error, but not to a wild access. A
        // file that is cut short in place loses pages, which `on_lost_page` bears.
        let map = unsafe { MmapOptions::new().map(&file) }.map_err(FormatError::io("map"))?;
        let slot = claim_slot(&map);
        Ok(MappedFile { map, slot })
    }

    /// Whether all pages read so far came from the file. A lost page is never recovered.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.slot.is_none_or(|slot| !slot.lost.load(Ordering::Acquire))
    }

    /// All bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Releases the memory of a range. Its pages are read again on the next access.
    pub fn release(&self, range: Range<usize>) {
        let (Some(len), true) = (range.end.checked_sub(range.start), range.end <= self.map.len()) else {
            return;
        };
        // SAFETY: What makes this advice unsafe is that it drops changes to private pages. The map is read-only, so no
        // page of it was ever changed, and the next access brings back the same bytes of the same immutable file.
        let released =
            unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, len) };
        // A refused advice changes no result, so the error is ignored.
        drop(released);
    }

    /// Asks the kernel to read a range, without waiting for it.
    pub fn advise_will_need(&self, range: &Range<usize>) {
        if range.end <= self.map.len() {
            // A refused advice changes no result, so the error is ignored.
            let _ = self.map.advise_range(Advice::WillNeed, range.start, range.len());
        }
    }

    /// Tells the kernel that a range is read here and there, so that it reads nothing ahead.
    pub fn advise_random(&self, range: &Range<usize>) {
        if range.start < range.end && range.end <= self.map.len() {
            // A refused advice changes no result, so the error is ignored.
            let _ = self.map.advise_range(Advice::Random, range.start, range.len());
        }
    }

    /// Bytes of the pages that are in memory; `None` when the system does not tell.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        let page_size = page_size()?;
        let mut pages = vec![0u8; self.map.len().div_ceil(page_size)];
        // SAFETY: The range is this map, which lives through the call and begins with a page. `mincore` reads nothing of
        // it, and writes one byte for each of its pages, for which `pages` has room.
        let told = unsafe {
            libc::mincore(self.map.as_ptr().cast_mut().cast(), self.map.len(), pages.as_mut_ptr().cast())
        };
        let resident = pages.iter().filter(|page| **page & 1 == 1).count() as u64;
        (told == 0).then_some(resident.saturating_mul(page_size as u64))
    }

    /// Tells the kernel that the file will be read from start to end.
    pub fn advise_sequential(&self) {
        // A refused advice changes no result, so the error is ignored.
        let _ = self.map.advise(Advice::Sequential);
    }
}

/// Pages that this thread had to wait for since it began.
pub(crate) fn major_faults() -> i64 {
    // SAFETY: `rusage` is a plain struct of integers, for which zeros are a value, and `getrusage` only fills the one
    // that it is given, which lives through the call.
    unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        if libc::getrusage(libc::RUSAGE_THREAD, &mut usage) == 0 { usage.ru_majflt } else { 0 }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            slot.start.store(FREE, Ordering::Release);
        }
    }
}

/// The address range of a map, and whether a page was lost. The handler reads it without a lock.
struct Slot {
    /// Address of the first byte, or [`FREE`] or [`CLAIMED`], which are no valid addresses.
    start: AtomicUsize,
    len: AtomicUsize,
    lost: AtomicBool,
}

const FREE: usize = 0;
const CLAIMED: usize = 1;

static SLOTS: [Slot; PROTECTED_MAPS_MAX] = [const {
    Slot { start: AtomicUsize::new(FREE), len: AtomicUsize::new(0), lost: AtomicBool::new(false) }
}; PROTECTED_MAPS_MAX];

/// Claims a slot for a map; `None` when all are used or the handler cannot be installed.
fn claim_slot(map: &Mmap) -> Option<&'static Slot> {
    if !install_handler() {
        return None;
    }
    let claim = |slot: &&Slot| {
        slot.start.compare_exchange(FREE, CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let slot = SLOTS.iter().find(claim)?;
    slot.lost.store(false, Ordering::Relaxed);
    slot.len.store(map.len(), Ordering::Relaxed);
    slot.start.store(map.as_ptr().addr(), Ordering::Release);
    Some(slot)
}

impl Slot {
    fn covers(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        let len = self.len.load(Ordering::Acquire);
        // A slot that was reused meanwhile belongs to a map that this thread does not read.
        let is_steady = self.start.load(Ordering::Acquire) == start;
        is_steady && start > CLAIMED && address.checked_sub(start).is_some_and(|offset| offset < len)
    }
}

/// The previous action of SIGBUS, which still applies to addresses outside these maps.
static PREVIOUS_ACTION: OnceLock<PreviousAction> = OnceLock::new();

/// The previous action; `None` when the handler could not be installed.
struct PreviousAction(Option<libc::sigaction>);

/// Installs the handler once, and returns whether it is installed.
fn install_handler() -> bool {
    let install = || {
        // SAFETY: A `sigaction` of zeros is a valid value: no handler, no flags, an empty mask.
        let (mut ours, mut before): (libc::sigaction, libc::sigaction) = unsafe { mem::zeroed() };
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_lost_page;
        ours.sa_sigaction = handler as libc::sighandler_t;
        // The handler runs on the alternate stack, which every thread of the standard library has.
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: Both pointers are to values of this frame. The handler has the signature that `SA_SIGINFO` asks for
        // and does only what may be done in a signal handler: it reads atomics and calls `mmap`, `sigaction` and
        // `raise`, which are plain system calls that take no lock and allocate nothing.
        let installed = unsafe { libc::sigaction(libc::SIGBUS, &ours, &mut before) } == 0;
        PreviousAction(installed.then_some(before))
    };
    PREVIOUS_ACTION.get_or_init(install).0.is_some()
}

extern "C" fn on_lost_page(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: The kernel hands a valid `siginfo_t` to a handler that was installed with `SA_SIGINFO`. The address in it
    // means something only where the kernel itself sent the signal, which positive codes say.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let is_fault = code > 0;
    let slot = SLOTS.iter().find(|slot| is_fault && slot.covers(address));
    if slot.is_some_and(|slot| replace_page(slot, address)) {
        return;
    }
    let before =
        PREVIOUS_ACTION.get().and_then(|before| before.0.as_ref()).map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `before` is null or what the kernel gave when the handler was installed. With a null pointer nothing is
    // changed, and then the default action is set instead. Returning repeats the faulting access, which now meets that
    // action; a signal that a process sent is raised again, because nothing would repeat it.
    unsafe {
        if before.is_null() {
            libc::signal(signal, libc::SIG_DFL);
        } else {
            libc::sigaction(signal, before, ptr::null_mut());
        }
        if !is_fault {
            libc::raise(signal);
        }
    }
}

/// Bytes of a page. Allowed in a signal handler.
fn page_size() -> Option<usize> {
    // SAFETY: `sysconf` only reads a constant of the system.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|size| *size > 0)
}

/// Maps a page of zeros over a lost page, and returns whether it succeeded.
fn replace_page(slot: &Slot, address: usize) -> bool {
    // Recorded first, so that every reader of a zero also finds the loss.
    slot.lost.store(true, Ordering::Release);
    let Some(page_size) = page_size() else { return false };
    let Some(page) = address.checked_rem(page_size).map(|offset| address - offset) else { return false };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: The page lies inside a live map of this process: the slot says so, a map is page-aligned and holds whole
    // pages, and the map cannot go away, because the thread that was interrupted is reading it. What is replaced is a
    // page that could not be read, with one that can, and that the map's end unmaps with the rest. Readers meet zeros,
    // which they check like any other byte of a file.
    let placed = unsafe {
        let at = ptr::with_exposed_provenance_mut::<c_void>(page);
        libc::mmap(at, page_size, libc::PROT_READ, flags, -1, 0)
    };
    placed != libc::MAP_FAILED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_file_reads_zeros_and_is_not_intact() {
        let folder = tempfile::tempdir().unwrap();
        let (cut, whole) = (folder.path().join("cut"), folder.path().join("whole"));
        for path in [&cut, &whole] {
            std::fs::write(path, vec![7; 64 * 1024]).unwrap();
        }
        let (map, other) = (MappedFile::open(&cut).unwrap(), MappedFile::open(&whole).unwrap());
        File::options().write(true).open(&cut).unwrap().set_len(10_000).unwrap();
        assert!(map.bytes()[..10_000].iter().all(|byte| *byte == 7));
        assert!(map.is_intact(), "nothing was asked for that is not there");
        assert!(map.bytes()[16_384..].iter().all(|byte| *byte == 0));
        assert!(!map.is_intact());
        assert!(other.bytes().iter().all(|byte| *byte == 7) && other.is_intact());
        drop(map);
        assert!(MappedFile::open(&cut).unwrap().is_intact(), "a slot is handed on clean");
    }

    #[test]
    fn bears_any_advice_and_counts_faults() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole");
        std::fs::write(&path, vec![7; 64 * 1024]).unwrap();
        let map = MappedFile::open(&path).unwrap();
        let before = major_faults();
        for range in [0..1, 5_000..5_001, 65_535..65_536, 65_535..70_000, usize::MAX - 1..usize::MAX, 9..9] {
            map.advise_will_need(&range);
        }
        assert!(map.bytes().iter().all(|byte| *byte == 7) && map.is_intact());
        assert!(major_faults() >= before);
        assert_eq!(map.resident_bytes(), Some(64 * 1024));
    }

    #[test]
    fn handles_lost_pages_on_many_threads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut");
        std::fs::write(&path, vec![7; 1024 * 1024]).unwrap();
        let map = MappedFile::open(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert!(map.bytes().iter().all(|byte| *byte == 0)));
            }
        });
        assert!(!map.is_intact());
    }
}
