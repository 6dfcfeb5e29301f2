//! Plans a request against a schema, and returns all validation errors at once.

mod bounds;
pub(super) mod key_set;
pub(super) mod literal;
pub(super) mod matcher;
pub(super) mod position;
pub(super) mod predicate;
pub(super) mod resolve;
pub(super) mod sort_support;
pub(super) mod sort_value;

use mercato_format::{FormatError, Table};
use xxhash_rust::xxh3::xxh3_64;

use crate::groups::GroupRows;
use crate::groups::facets::public_columns;
use crate::groups::group_plan::{GroupPlan, plan_groups};
use crate::plan::matcher::Node;
use crate::plan::position::Position;
use crate::plan::predicate::Filter;
use crate::plan::resolve::{ResolveError, column_named, resolve};
use crate::plan::sort_support::SortSupport;
use crate::request::cursor::{Binding, Cursor, invalid};
use crate::request::validation_error::{Reason, VALIDATION_ERRORS_MAX, ValidationError, pointer_to};
use crate::request::{QueryRequest, SortDirection};
use crate::work_limit::{SearchError, Stop, WorkLimit};
use mercato_base::words::quoted;

/// Limit of rows sorted in memory for one page. A column without sort index cannot be paged deeper by offset.
pub const SORTED_ROWS_MAX: u64 = 1_000_000;

/// Why planning failed.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error("the request does not fit the dataset: {}", .0.first().map_or("", |error| error.message.as_str()))]
    Invalid(Vec<ValidationError>),
    /// The store file is damaged.
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error(transparent)]
    Stopped(#[from] Stop),
}

impl From<SearchError> for QueryError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Format(error) => error.into(),
            SearchError::Stopped(stop) => stop.into(),
        }
    }
}

/// The pagination mode of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaginationMode {
    /// By `offset`, which may be 0.
    Offset,
    Cursor,
}

impl PaginationMode {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PaginationMode::Offset => "offset",
            PaginationMode::Cursor => "cursor",
        }
    }
}

/// The start of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    /// After a number of rows.
    Offset(u64),
    /// After a row, in file order.
    Row(u32),
    /// After a position in the sort order.
    Position(Position),
}

/// A validated request for a table.
#[derive(Debug)]
pub struct Plan<'t> {
    pub(crate) table: &'t Table,
    /// Bounds planning and every search of the plan.
    pub(crate) work: &'t dyn WorkLimit,
    pub(crate) filter: Node<'t>,
    pub(crate) filter_text: String,
    pub(crate) sort: Option<usize>,
    pub(crate) direction: SortDirection,
    pub(crate) start: Start,
    pub(crate) limit: u64,
    pub(crate) counts_exactly: bool,
    /// The groups that are wanted instead of the rows that match.
    pub(crate) groups: Option<GroupPlan<'t>>,
    /// Columns whose public values are to be counted.
    pub(crate) facets: Vec<usize>,
    /// The groups whose table this is.
    cursors: Option<&'t GroupRows>,
    columns: Vec<usize>,
    query_hash: u64,
}

/// Plans a request. `identity` names the dataset and its version; cursors are bound to it. `work` bounds planning, which
/// may look at every entry of a dictionary, and every search of the plan.
///
/// # Errors
/// [`QueryError::Invalid`] with the first [`VALIDATION_ERRORS_MAX`] errors of the request, [`QueryError::Format`] when the file is damaged,
/// or [`QueryError::Stopped`].
pub fn plan<'t>(
    request: &QueryRequest,
    table: &'t Table,
    identity: &str,
    work: &'t dyn WorkLimit,
) -> Result<Plan<'t>, QueryError> {
    let mut errors = Vec::new();
    let groups = request.groups.as_ref();
    let groups = groups.map(|groups| plan_groups(request, groups, table, work, &mut errors)).transpose()?;
    let (columns, sort) = match &groups {
        Some(groups) => (Some((0..groups.column_count()).collect()), None),
        None => (
            keep(named_columns(request, table), &mut errors),
            keep(sort_column(request, table).map_err(|error| vec![error]), &mut errors),
        ),
    };
    let facets = public_columns(request, table, &mut errors)?;
    let filter = match request.filters.as_ref().map(|filters| resolve(table, filters, work)) {
        None => Filter::All,
        Some(Ok(filter)) => filter,
        Some(Err(ResolveError::Search(error))) => return Err(error.into()),
        Some(Err(ResolveError::Invalid(mut found))) => {
            errors.append(&mut found);
            Filter::Nothing
        }
    };
    if !errors.is_empty() {
        errors.truncate(VALIDATION_ERRORS_MAX);
        return Err(QueryError::Invalid(errors));
    }
    let filter_text = request.filter_text();
    let sort = sort.flatten();
    let mut query_hash = hash(identity, &filter_text, request, nan_moved(request, table, sort));
    if let Some(groups) = &groups {
        query_hash ^= xxh3_64(groups.canonical.as_bytes());
    }
    let start = start(request, table, sort, query_hash).map_err(|error| QueryError::Invalid(vec![error]))?;
    Ok(Plan {
        table,
        work,
        filter: Node::new(table, &filter, work)?,
        filter_text,
        sort,
        direction: request.direction,
        start,
        limit: request.limit,
        counts_exactly: request.counts_exactly,
        groups,
        facets,
        cursors: None,
        columns: columns.unwrap_or_default(),
        query_hash,
    })
}

fn keep<T>(result: Result<T, Vec<ValidationError>>, errors: &mut Vec<ValidationError>) -> Option<T> {
    result.map_err(|mut found| errors.append(&mut found)).ok()
}

/// The requested columns in order; all columns by default.
fn named_columns(request: &QueryRequest, table: &Table) -> Result<Vec<usize>, Vec<ValidationError>> {
    if request.columns.is_empty() {
        return Ok((0..table.columns().len()).collect());
    }
    let mut seen = vec![false; table.columns().len()];
    let mut columns = Vec::with_capacity(request.columns.len());
    let mut errors = Vec::new();
    for (number, name) in request.columns.iter().enumerate() {
        if errors.len() >= VALIDATION_ERRORS_MAX {
            break;
        }
        let pointer = pointer_to("/columns", &number.to_string());
        match column_named(table, name, &pointer) {
            Err(error) => errors.push(error),
            Ok(column) => match seen.get_mut(column) {
                Some(seen) if !*seen => {
                    *seen = true;
                    columns.push(column);
                }
                _ => {
                    let message = format!("column {} is asked for more than once", quoted(name));
                    errors.push(ValidationError::new(
                        Reason::DuplicateColumn,
                        &pointer,
                        message,
                        "name every column once",
                    ));
                }
            },
        }
    }
    if errors.is_empty() { Ok(columns) } else { Err(errors) }
}

fn sort_column(request: &QueryRequest, table: &Table) -> Result<Option<usize>, ValidationError> {
    let Some(name) = &request.sort_by else { return Ok(None) };
    let column = column_named(table, name, "/sortBy")?;
    let support = SortSupport::of(table, column).map_err(|_| invalid("the store file is damaged"))?;
    let depth = request.offset.saturating_add(request.limit).min(table.row_count().into());
    if !support.sortable || (!support.indexed && depth > SORTED_ROWS_MAX) {
        let message = format!("column {} was published without a sort index", quoted(name));
        let hint = "sort by another column, or leave the sorting out";
        return Err(ValidationError::new(Reason::SortNotIndexed, "/sortBy", message, hint));
    }
    Ok(Some(column))
}

/// Whether the position of NaN in this sort order differs from former releases, which put it first.
fn nan_moved(request: &QueryRequest, table: &Table, sort: Option<usize>) -> bool {
    let holds_nan =
        sort.and_then(|column| table.columns().get(column)).is_some_and(|meta| meta.nan_count > 0);
    holds_nan && request.direction == SortDirection::Descending
}

/// Binds cursors to dataset, version, filter and sort order; `limit` and `columns` may change between pages. The hash
/// differs from former releases where NaN has moved, because their cursors would skip or repeat rows.
fn hash(identity: &str, filter: &str, request: &QueryRequest, nan_moved: bool) -> u64 {
    let order = if nan_moved { "\nNaN last" } else { "" };
    let text = format!("{identity}\n{filter}\n{:?}\n{:?}{order}", request.sort_by, request.direction);
    xxh3_64(text.as_bytes())
}

fn start(
    request: &QueryRequest,
    table: &Table,
    sort: Option<usize>,
    query_hash: u64,
) -> Result<Start, ValidationError> {
    let Some(cursor) = &request.cursor else { return Ok(Start::Offset(request.offset)) };
    if let Some(binding) = cursor.binding() {
        if binding.query != query_hash {
            let message = "it belongs to another dataset, filter or order";
            let hint = "repeat the filters, sortBy and sortDirection of the first page, or begin again without a cursor";
            return Err(ValidationError::new(Reason::CursorQueryMismatch, "/cursor", message, hint));
        }
        if binding.fingerprint != table.fingerprint() {
            return Err(ValidationError::cursor_expired());
        }
    }
    if cursor.row >= table.row_count() {
        return Err(invalid(format!(
            "`lastId` is beyond the last row, {}",
            i64::from(table.row_count()) - 1
        )));
    }
    match sort {
        None => Ok(Start::Row(cursor.row)),
        Some(column) => Position::of_cursor(table, column, cursor).map(Start::Position),
    }
}

impl<'t> Plan<'t> {
    /// All rows of a table of groups.
    pub(crate) fn of_groups(groups: &'t GroupRows, work: &'t dyn WorkLimit) -> Plan<'t> {
        let table = groups.table();
        Plan {
            table,
            work,
            filter: Node::All,
            filter_text: String::new(),
            sort: None,
            direction: SortDirection::Ascending,
            start: Start::Offset(0),
            limit: groups.limit(),
            counts_exactly: false,
            groups: None,
            facets: Vec::new(),
            cursors: Some(groups),
            columns: (0..table.columns().len()).collect(),
            query_hash: 0,
        }
    }

    #[must_use]
    pub fn table(&self) -> &'t Table {
        self.table
    }

    /// Numbers of the requested columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Requested rows.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    #[must_use]
    pub fn mode(&self) -> PaginationMode {
        if matches!(self.start, Start::Offset(_)) { PaginationMode::Offset } else { PaginationMode::Cursor }
    }

    /// Whether the request has no filters. Then the number of its rows is that of the table, which is public.
    #[must_use]
    pub fn is_unfiltered(&self) -> bool {
        self.filter_text.is_empty()
    }

    /// Whether the answer has groups in the place of rows.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        self.groups.is_some()
    }

    /// Whether groups have to fulfil a condition, so that how many there are tells of aggregates.
    #[must_use]
    pub fn has_group_condition(&self) -> bool {
        self.groups.as_ref().is_some_and(|groups| groups.having.is_some())
    }

    /// What the answer is a view of: the filters in a canonical form, and the groups.
    #[must_use]
    pub fn view_text(&self) -> String {
        match &self.groups {
            Some(groups) => format!("{}\ngroups\n{}", self.filter_text, groups.canonical),
            None => self.filter_text.clone(),
        }
    }

    pub(crate) fn binding(&self) -> Binding {
        Binding { fingerprint: self.table.fingerprint(), query: self.query_hash }
    }

    /// Rows that the request passes over; none behind a cursor.
    #[must_use]
    pub fn offset(&self) -> u64 {
        if let Start::Offset(offset) = self.start { offset } else { 0 }
    }

    /// The filters in a canonical form.
    #[must_use]
    pub fn filter_text(&self) -> &str {
        &self.filter_text
    }

    /// Whether the rows begin with the first one that matches.
    #[must_use]
    pub fn is_from_start(&self) -> bool {
        matches!(self.start, Start::Offset(0))
    }

    /// Whether the request wants its matches counted at any cost.
    #[must_use]
    pub fn counts_exactly(&self) -> bool {
        self.counts_exactly
    }

    /// The total of matching rows, if the indexes give it. Depends on schema and query only.
    #[must_use]
    pub fn total_rows(&self) -> Option<u64> {
        match &self.filter {
            Node::All => Some(self.table.row_count().into()),
            Node::Nothing => Some(0),
            filter => filter.only_leaf()?.count(),
        }
    }

    /// Keeps the rows that match the filter, in their order.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the store file is damaged.
    pub fn retain(&self, rows: &mut Vec<u32>) -> Result<(), SearchError> {
        self.filter.retain(rows)
    }

    /// The cursor of the page after `row`.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the row's sort value cannot be read.
    pub fn cursor_after(&self, row: u32) -> Result<String, FormatError> {
        if let Some(groups) = self.cursors {
            return groups.cursor_after(row);
        }
        let value = match self.sort {
            None => crate::request::filter::Scalar::Null,
            Some(column) => sort_value::sort_value(self.table, column, row)?,
        };
        Ok(Cursor::new(value, row, self.binding()).encode())
    }
}
