//! Content that is made once and served many times.

pub(super) mod documents;
pub(super) mod exports;
pub(super) mod graph_cache;
pub(super) mod prepared;
pub(super) mod public_url;
