//! Groups of rows and aggregates of their values: the answer to a group query, as a small table of its own in memory. So
//! everything behind it, from JSON to streams, works as for rows.
//!
//! `group_plan` checks a group query against the schema. `scan` puts the rows into groups, whose `measure`s go by; `from_order`
//! does without rows where a column's order knows. `answer` sorts the groups and makes the table. `facets` counts values that are
//! public anyway.

mod answer;
mod block;
mod bucket;
mod cells;
mod coded;
pub(crate) mod facets;
mod float_sum;
mod from_order;
pub(crate) mod group_plan;
mod measure;
mod scan;
mod value_counts;

use crate::work_limit::{SearchError, Stop};
use mercato_format::FormatError;

pub use answer::{GroupRows, count_groups, group};
pub use facets::{ValueCount, facets};

/// Limit of groups of a query.
pub const GROUPS_MAX: u32 = 1_000_000;
/// Limit of the memory of a group query.
pub const GROUP_MEMORY_BYTES_MAX: usize = 256 << 20;

/// Why a group query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The store file is damaged, or the search was stopped.
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error("there are more than {GROUPS_MAX} groups")]
    TooManyGroups,
    #[error("the groups and what is counted of them take more than {GROUP_MEMORY_BYTES_MAX} bytes")]
    TooMuchMemory,
    /// An aggregate of exact numbers has more than 38 digits.
    #[error("`{0}` has more than 38 digits")]
    Overflow(String),
}

impl From<FormatError> for GroupError {
    fn from(error: FormatError) -> GroupError {
        GroupError::Search(error.into())
    }
}

impl From<Stop> for GroupError {
    fn from(stop: Stop) -> GroupError {
        GroupError::Search(stop.into())
    }
}
