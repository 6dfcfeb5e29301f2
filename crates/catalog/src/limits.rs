//! Bounds of the catalog that are not tied to one file.

/// Default rate of the scrubber in bytes per second.
pub const SCRUB_BYTES_PER_SECOND: u64 = 8 * 1024 * 1024;
