//! The store file as a black box: round trips of random tables, damage, and the golden file.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod corruption;
mod golden;
mod orders;
mod outline;
mod random_table;
mod round_trip;
mod statistics;
