//! Scans: they find the rows of a plan in file order, along an index, zone by zone or among the rows of an index, and
//! keep the first of them or all.

pub(super) mod file_scan;
pub(super) mod helpers;
pub(super) mod index_scan;
mod probe;
pub(super) mod selection;
pub(super) mod top_k;
mod zone_scan;
