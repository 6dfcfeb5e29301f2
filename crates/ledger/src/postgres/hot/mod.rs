//! Hot operations: jobs gather in a queue, and batchers carry many of them out at a time.

pub mod batcher;
pub mod charging;
pub mod jobs;
pub mod live;
pub mod working;
