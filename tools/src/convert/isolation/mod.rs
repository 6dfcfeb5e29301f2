//! Conversion in a process of its own. The parsers of foreign files may ask for any amount of memory, never return, or
//! crash; here they only end the worker, and the supervisor reports it in one line and removes what is unfinished. The
//! worker is the same program; both talk in JSON lines over a socket, which is the worker's standard output.
//!
//! Does not know formats. Begin at [`supervisor::convert`] and [`worker::run`].

pub mod channel;
mod death;
mod messages;
pub mod supervisor;
pub mod worker;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::convert::Conversion;

/// The hidden command of the worker.
pub const WORKER_COMMAND: &str = "convert-worker";

/// Memory of the worker beside the conversion's own limit, bytes: code, stacks, allocator, and what a decoder takes
/// before its size is known.
const MEMORY_BESIDE_BYTES: u64 = 256 * 1024 * 1024;
/// Memory of each thread, bytes: stack and allocator.
const THREAD_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes of a file that the worker may always write, and for each byte of its inputs.
const FILE_FREE_BYTES: u64 = 16 * 1024 * 1024 * 1024;
const FILE_RATIO_MAX: u64 = 1_000;

/// How a conversion is isolated.
#[derive(Debug, Clone)]
pub struct Isolation {
    /// The program whose hidden command is the worker.
    pub program: PathBuf,
    /// How long a decoder may run without reading a byte or returning.
    pub decoder_time_max: Duration,
}

impl Isolation {
    /// In a process of the running program.
    #[must_use]
    pub fn in_this_program() -> Isolation {
        // On Linux, this link leads to the running program even after its file was replaced.
        let link = Path::new("/proc/self/exe");
        let identity = |path: &Path| path.metadata().ok().map(|facts| (facts.dev(), facts.ino()));
        let named = std::env::current_exe().ok();
        let named = named.filter(|path| !link.exists() || identity(path) == identity(link));
        let program = named.unwrap_or_else(|| link.to_path_buf());
        Isolation { program, decoder_time_max: Duration::from_secs(120) }
    }
}

/// What the worker may take.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Limits {
    pub memory_bytes: u64,
    /// Bytes of each file that it writes; none when the size of the inputs is unknown.
    file_bytes: Option<u64>,
    decoder_time_max: Duration,
}

impl Limits {
    fn of(conversion: &Conversion, isolation: &Isolation) -> Limits {
        let threads = (conversion.threads as u64).saturating_mul(THREAD_BYTES);
        let limit = conversion.memory_limit.saturating_add(conversion.memory_limit / 4);
        let memory_bytes = limit.saturating_add(MEMORY_BESIDE_BYTES).saturating_add(threads);
        let sizes = conversion.inputs.iter().map(|input| {
            let facts = input.metadata().ok()?;
            facts.is_file().then_some(facts.len())
        });
        let file_bytes = sizes.sum::<Option<u64>>().filter(|_| conversion.append_to.is_none());
        Limits {
            memory_bytes,
            file_bytes: file_bytes
                .map(|bytes| bytes.saturating_mul(FILE_RATIO_MAX).saturating_add(FILE_FREE_BYTES)),
            decoder_time_max: isolation.decoder_time_max,
        }
    }
}
