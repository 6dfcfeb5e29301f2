//! The log of the books: batches of records, appended to segments and never taken from the front again.
//!
//! ```text
//! folder:  0000000001.log  0000000002.log  …      a batch lies in one segment; the last segment grows
//! segment: header │ frame │ frame │ …
//! header:  `MRCLOG01` │ number │ first │ chain │ previous length │ XXH3-64 of all before
//! frame:   length (u32) │ checksum │ first │ last │ synced │ payload (length bytes)
//! ```
//!
//! Integers are big-endian and have eight bytes unless stated otherwise. `first` and `last` number the records of a
//! batch, which has at most as many records as its frame has bytes. The numbers rise without a gap; only a new
//! segment may begin at a higher one. The checksum covers the length and everything after it, and is seeded with the
//! segment's number, so that a frame is valid in its own segment only. The chain folds all checksums since segment 1.
//! Each header records the chain and the length of the segment before, so that archived segments can still be
//! verified.
//!
//! `synced` is the last record that was safe from a power loss when the frame was appended. It distinguishes a torn
//! tail from damage (`verdict.rs`): an unreadable frame is damage when a later frame calls it synced. A frame that no
//! later frame calls synced looks like one that was never synced, so the caller must remember the newest acknowledged
//! record elsewhere.
//!
//! One owner appends ([`Log`]); any number of threads sync ([`Commits`]) and read ([`LogReader`]). The caller locks
//! the folder against other processes. Does not depend on accounts or credits.

mod archive;
mod commits;
mod error;
mod files;
mod format;
mod opening;
mod reader;
mod scan;
mod segment;
#[cfg(test)]
pub mod simulated;
#[cfg(test)]
mod tests;
mod verdict;
mod writer;

pub use archive::archive;
pub use commits::{Commits, Observer as SyncObserver, Synced};
pub use error::LogError;
pub use files::{DiskFolder, Folder};
pub use opening::{OpenOptions, open_log};
pub use reader::{Batch, LogReader};
pub use segment::{Segment, file_name as segment_name};
pub use writer::Log;

/// Length of a segment from which on the next one is begun.
pub const SEGMENT_BYTES: u64 = 32 * 1024 * 1024;
/// Zeros that are written behind the last frame at a time.
pub const ROOM_BYTES: u64 = 256 * 1024;
/// Length of the payload of one batch.
pub const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of a frame beside its payload. A batch has at most as many records as its frame has bytes.
pub const BATCH_HEAD_BYTES: usize = format::FRAME_HEAD_BYTES;
/// Bytes read or copied in one step.
const BUFFER_BYTES: usize = 256 * 1024;
