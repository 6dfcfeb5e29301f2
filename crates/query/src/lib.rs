//! The query engine: parses requests, plans them against a schema and finds the rows.
//!
//! Makes no I/O calls and takes no locks. Does not depend on accounts, sockets or the clock.

mod execute;
mod groups;
mod plan;
pub mod render;
mod request;
mod scan;
mod stream;
mod work_limit;

pub use execute::{
    Count, NoSelections, Page, Selections, count_matches, count_rows, count_up_to, execute, total_rows,
};
pub use groups::{
    GROUP_MEMORY_BYTES_MAX, GROUPS_MAX, GroupError, GroupRows, ValueCount, count_groups, facets, group,
};
pub use plan::literal::whole_number;
pub use plan::sort_support::SortSupport;
pub use plan::{PaginationMode, Plan, QueryError, plan};
pub use request::cursor::{Binding, CURSOR_BYTES_MAX, Cursor};
pub use request::filter::{CONDITIONS_MAX, DEPTH_MAX, LIST_VALUES_MAX, Scalar};
pub use request::groups::{AGGREGATES_MAX, GROUP_COLUMNS_MAX};
pub use request::validation_error::{Reason, VALIDATION_ERRORS_MAX, ValidationError};
pub use request::{COLUMNS_NAMED_MAX, FACETS_MAX, LIMIT_DEFAULT, Purpose, QueryRequest, SortDirection};
pub use scan::selection::Selection;
pub use stream::RowStream;
pub use work_limit::{SearchError, Stop, Unlimited, WorkLimit};
