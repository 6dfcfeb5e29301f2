//! The query engine against a naive twin over random tables and random requests.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod arrow;
mod damage;
mod floats;
mod groups;
mod naive;
mod pagination;
mod rendering;
mod requests;
mod stored;
mod tables;
mod work_limit;
