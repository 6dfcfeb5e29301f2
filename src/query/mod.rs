//! From a request to rows: what a client may ask, what it means for a table, and which rows that are, in which order.
//! Makes no I/O call, takes no lock, and knows no account, no socket and no clock.

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
