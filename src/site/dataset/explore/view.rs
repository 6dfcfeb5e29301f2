//! A view: conditions, order and columns as a query of the API, and how many rows it has.
//!
//! Counts like the estimate of the API, with a bound on the values that are compared, because the page is public.

use crate::limits::api::{COUNT_TOLD_MAX, QUERY_LIMIT_MAX, SEARCHED_TEXTS_MAX, TESTED_VALUES_MAX};
use crate::site::snippets::Json;
use mercato_catalog::{FormatError, Table};
use mercato_query::{QueryError, QueryRequest, Selections, Stop, WorkLimit};

use super::filters::{Applied, filters};

/// The order of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) column: String,
    pub(super) descending: bool,
}

/// The query of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    pub(super) conditions: Vec<Applied>,
    /// The columns of each row; none for all.
    pub(super) columns: Vec<String>,
    pub(super) order: Option<Order>,
}

/// How many rows a view has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    Exact(u64),
    /// More than are counted for everybody.
    Many {
        /// More than so many.
        above: u64,
        /// At most so many: the rows of the dataset.
        at_most: u64,
    },
    /// Counting would take more work than a page may cause.
    Unbounded,
}

impl View {
    /// The body of a query, with this many rows a page.
    pub(super) fn body(&self, limit: u64) -> Json {
        let mut members = self.question();
        members.push(("limit".to_owned(), Json::Number(limit.to_string())));
        Json::Object(members)
    }

    /// The body of a query of one version, with this many rows, behind a cursor unless that is empty.
    pub(super) fn body_of(&self, version: &str, cursor: &str, limit: u64) -> Json {
        let mut members = self.question();
        members.push(("version".to_owned(), Json::Text(version.to_owned())));
        members.push(("limit".to_owned(), Json::Number(limit.to_string())));
        if !cursor.is_empty() {
            members.push(("cursor".to_owned(), Json::Text(cursor.to_owned())));
        }
        Json::Object(members)
    }

    /// The body of an estimate of a stream.
    pub(super) fn estimate_body(&self, limit: u64) -> Json {
        let mut members = self.question();
        members.push(("for".to_owned(), Json::Text("stream".to_owned())));
        members.push(("limit".to_owned(), Json::Number(limit.to_string())));
        Json::Object(members)
    }

    /// The rows among these that match, in their order; nothing where looking would take more work than a page may cause.
    ///
    /// # Errors
    /// As [`View::count`].
    pub(super) fn matching(
        &self,
        table: &Table,
        mut rows: Vec<u32>,
        work: &dyn WorkLimit,
    ) -> Result<Option<Vec<u32>>, QueryError> {
        if patterns(table, &self.conditions).flatten().sum::<u64>() > SEARCHED_TEXTS_MAX {
            return Ok(None);
        }
        let body = self.body(1).line();
        let request =
            QueryRequest::from_json(body.as_bytes(), QUERY_LIMIT_MAX).map_err(QueryError::Invalid)?;
        mercato_query::plan(&request, table, "", work)?.retain(&mut rows)?;
        Ok(Some(rows))
    }

    /// The filters in their canonical form; nothing where they are refused.
    pub(super) fn filter_text(&self) -> Option<String> {
        let request = QueryRequest::from_json(self.body(1).line().as_bytes(), QUERY_LIMIT_MAX);
        request.ok().map(|request| request.filter_text())
    }

    fn question(&self) -> Vec<(String, Json)> {
        let mut members = Vec::with_capacity(5);
        if !self.conditions.is_empty() {
            members.push(("filters".to_owned(), filters(&self.conditions)));
        }
        if !self.columns.is_empty() {
            let names = self.columns.iter().map(|name| Json::Text(name.clone())).collect();
            members.push(("columns".to_owned(), Json::List(names)));
        }
        if let Some(order) = &self.order {
            members.push(("sortBy".to_owned(), Json::Text(order.column.clone())));
            if order.descending {
                members.push(("sortDirection".to_owned(), Json::Text("desc".to_owned())));
            }
        }
        members
    }

    /// Counts the rows.
    ///
    /// # Errors
    /// The faults of the query, or the damage of the store file.
    pub(super) fn count(
        &self,
        table: &Table,
        slug: &str,
        selections: &dyn Selections,
        work: &dyn WorkLimit,
    ) -> Result<Count, QueryError> {
        if searched_texts(table, &self.conditions) > SEARCHED_TEXTS_MAX {
            return Ok(Count::Unbounded);
        }
        match self.counted(table, slug, selections, work) {
            Err(QueryError::Stopped(Stop::TooExpensive)) => Ok(Count::Unbounded),
            counted => counted,
        }
    }

    fn counted(
        &self,
        table: &Table,
        slug: &str,
        selections: &dyn Selections,
        work: &dyn WorkLimit,
    ) -> Result<Count, QueryError> {
        let body = self.body(1).line();
        let request =
            QueryRequest::from_json(body.as_bytes(), QUERY_LIMIT_MAX).map_err(QueryError::Invalid)?;
        let plan = mercato_query::plan(&request, table, slug, work)?;
        let tested = u64::from(table.row_count()).saturating_mul(self.conditions.len() as u64);
        if plan.total_rows().is_none() && tested > TESTED_VALUES_MAX {
            return Ok(Count::Unbounded);
        }
        Ok(match mercato_query::count_up_to(&plan, COUNT_TOLD_MAX, selections)? {
            mercato_query::Count::Exact(rows) => Count::Exact(rows),
            mercato_query::Count::AtLeast(above) => Count::Many { above, at_most: table.row_count().into() },
        })
    }
}

/// Texts that patterns are looked for in.
fn searched_texts(table: &Table, conditions: &[Applied]) -> u64 {
    let texts = patterns(table, conditions);
    texts.map(|entries| entries.unwrap_or(table.row_count().into())).fold(0, u64::saturating_add)
}

/// For each pattern, the entries of its column's dictionary, in which a plan looks for it; nothing where each row has a text of
/// its own.
fn patterns<'c>(table: &'c Table, conditions: &'c [Applied]) -> impl Iterator<Item = Option<u64>> + 'c {
    let patterns = conditions.iter().filter(|condition| condition.is_pattern);
    patterns.filter_map(|condition| {
        let entries = table.columns().get(condition.column)?.entries;
        Some((entries > 0).then_some(entries.into()))
    })
}

/// Whether a condition alone would be refused, because its literal is none of its column. One that cannot be looked at within
/// `work` is left to the count.
///
/// # Errors
/// The damage of the store file.
pub(super) fn is_refused(
    condition: Applied,
    table: &Table,
    work: &dyn WorkLimit,
) -> Result<bool, FormatError> {
    let view = View { conditions: vec![condition], ..View::default() };
    if searched_texts(table, &view.conditions) > SEARCHED_TEXTS_MAX {
        return Ok(false);
    }
    let body = view.body(1).line();
    let Ok(request) = QueryRequest::from_json(body.as_bytes(), QUERY_LIMIT_MAX) else { return Ok(true) };
    match mercato_query::plan(&request, table, "", work) {
        Ok(_) | Err(QueryError::Stopped(_)) => Ok(false),
        Err(QueryError::Invalid(_)) => Ok(true),
        Err(QueryError::Format(error)) => Err(error),
    }
}
