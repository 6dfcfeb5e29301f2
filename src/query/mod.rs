//! The query engine: parses requests, plans them against a schema and finds the rows.
//!
//! Makes no I/O calls and takes no locks. Does not depend on accounts, sockets or the clock.

mod bounds;
mod cursor;
mod execute;
mod file_scan;
mod filter;
mod index_scan;
mod json;
mod key_set;
mod literal;
mod matcher;
mod plan;
mod position;
mod predicate;
mod probe;
mod request;
mod resolve;
mod selection;
mod sort_support;
mod sort_value;
mod stream;
mod synonyms;
mod top_k;
mod validation_error;
mod zone_scan;

pub use cursor::{Binding, CURSOR_BYTES_MAX, Cursor};
pub use execute::{NoSelections, Page, Selections, count_matches, count_rows, execute, total_rows};
pub use filter::{CONDITIONS_MAX, DEPTH_MAX, LIST_VALUES_MAX, Scalar};
pub use plan::{PaginationMode, Plan, QueryError, plan};
pub use request::{COLUMNS_NAMED_MAX, LIMIT_DEFAULT, Purpose, QueryRequest, SortDirection};
pub use selection::Selection;
pub use sort_support::SortSupport;
pub use stream::RowStream;
pub use validation_error::{Reason, VALIDATION_ERRORS_MAX, ValidationError};
