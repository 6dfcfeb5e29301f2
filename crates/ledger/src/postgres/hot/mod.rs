//! Hot operations: jobs gather in a queue, and batchers carry many of them out at a time.

pub(super) mod batcher;
pub(super) mod charging;
pub(super) mod jobs;
pub(super) mod live;
pub(super) mod working;
