//! A view of a dataset by form: conditions, order, columns, row count and price, and commands that query it.
//!
//! The whole state is in the address. The page charges nothing and shows no row; a signed-in customer buys rows by a form
//! (`sale`), at a price that the page states before (`running`).

mod conditions;
mod form;
mod running;
pub(super) mod sale;
mod view;

use askama::Template;

use crate::catalog::{FormatError, Table};
use crate::http::errors::{ApiError, ErrorKind};
use crate::http::response::Response;
use crate::limits::http::{QUERY_LIMIT_MAX, STREAM_LIMIT_MAX};
use crate::query::{QueryError, SortSupport};
use crate::site::account::Customer;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::snippets;
use crate::site::url::Url;
use crate::site::words::fill;

use super::head::{Head, Tab, counted};
use super::picked::Picked;
use super::preview::{Pick, picker};
use super::usage::Snippet;
use super::{DatasetWords, Opened};
use conditions::Condition;
use form::{ConditionRow, SortOption};
use running::Running;
use view::{Count, Order, View};

/// Names that the query of the page may have.
pub(super) const KNOWN: [&str; 7] = ["filter", "test", "value", "add", "sort", "direction", "columns"];

/// Columns that the selections of the form name.
const OFFERED_COLUMNS_MAX: usize = 500;

#[derive(Template)]
#[template(path = "dataset/explore.html")]
struct ExplorePage {
    frame: Frame,
    head: Head,
    words: &'static DatasetWords,
    action: Url,
    hidden: Vec<(&'static str, String)>,
    conditions: Vec<ConditionRow>,
    /// Columns that a further condition may test; none where there are enough conditions.
    addable: Vec<String>,
    sorts: Vec<SortOption>,
    descending: bool,
    picker: Vec<Pick>,
    unpickable: Option<String>,
    all_columns_url: Option<Url>,
    reset_url: Option<Url>,
    /// "This view holds …", or why it is not counted.
    said: String,
    cost: Option<String>,
    notes: Vec<String>,
    running: Running,
    problem: Option<ProblemText>,
    snippets: Vec<Snippet>,
}

/// Why rows could not be sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Problem {
    /// The account cannot pay.
    Credits,
    /// The shown view differs from the rows that would be sold.
    Stale,
    /// The same file is on its way.
    Busy,
}

/// The same in words.
struct ProblemText {
    text: &'static str,
    /// The page that sells credits.
    buy: Option<String>,
}

impl Problem {
    const fn status(self) -> u16 {
        match self {
            Problem::Credits => ErrorKind::NoCredits.status(),
            Problem::Stale => ErrorKind::Unprocessable.status(),
            Problem::Busy => ErrorKind::Conflict.status(),
        }
    }

    fn in_words(self, opened: &Opened<'_>) -> ProblemText {
        let words = opened.words;
        let buy = || opened.visit.link("/account/credits").to_string();
        match self {
            Problem::Credits => ProblemText { text: words.problem_credits, buy: Some(buy()) },
            Problem::Stale => ProblemText { text: words.problem_stale, buy: None },
            Problem::Busy => ProblemText { text: words.problem_busy, buy: None },
        }
    }
}

/// The view that an address means.
struct Reading {
    found: Vec<Condition>,
    picked: Picked,
    rows: Vec<ConditionRow>,
    view: View,
}

impl Reading {
    fn of(opened: &Opened<'_>) -> Result<Self, ApiError> {
        opened.verified()?;
        let broken = |error: FormatError| opened.damaged(&error);
        let table = &opened.dataset.current.table;
        let found = Condition::read(opened.visit.here(), table);
        let columns = table.columns().len();
        let picked = Picked::read(opened.visit.value("columns"), columns, columns);
        let rows = form::rows(opened, &found).map_err(broken)?;
        let view = view(opened, &found, &rows, &picked).map_err(broken)?;
        Ok(Self { found, picked, rows, view })
    }

    /// How many rows it has; nothing where it cannot be counted.
    fn count(&self, opened: &Opened<'_>) -> Result<Option<Count>, ApiError> {
        let (dataset, selections) = (&opened.dataset, opened.app.selections.as_ref());
        match self.view.count(&dataset.current.table, dataset.slug(), &self.found, selections) {
            Ok(count) => Ok(Some(count)),
            // Every condition was checked alone, so this is a fault of their number or of the order.
            Err(QueryError::Invalid(_)) => Ok(None),
            Err(QueryError::Format(error)) => Err(opened.damaged(&error)),
        }
    }
}

pub(super) fn page(opened: &Opened<'_>) -> Result<Response, ApiError> {
    respond(opened, None)
}

/// The page of a view, with the reason why rows of it could not be sold.
fn respond(opened: &Opened<'_>, problem: Option<Problem>) -> Result<Response, ApiError> {
    let broken = |error: FormatError| opened.damaged(&error);
    let (words, dataset) = (opened.words, &opened.dataset);
    let (table, here) = (&dataset.current.table, opened.visit.here());
    let reading = Reading::of(opened)?;
    let count = reading.count(opened)?;
    let Reading { found, picked, rows, view } = reading;
    let customer = Customer::of(opened.app, opened.request, opened.visit);
    let running = Running::of(opened, customer.as_ref(), count)?;
    let (frame, head) = opened.frame_and_head(Tab::Explore);
    let is_plain = KNOWN.iter().all(|name| here.values(name).next().is_none());
    let frame = if is_plain { frame } else { frame.no_index() };
    let kept = here.without("add");
    let hidden_columns = form::unpickable(table);
    let page = ExplorePage {
        action: opened.tab(Tab::Explore).bare(),
        hidden: form::hidden(opened),
        addable: form::addable(table, found.len()),
        sorts: form::sorts(table, view.order.as_ref(), words).map_err(broken)?,
        descending: view.order.as_ref().is_some_and(|order| order.descending),
        picker: picker(table, &picked, &kept),
        unpickable: hidden_columns.map(|count| fill(words.picker_rest, opened.visit.numbers.integer(count))),
        all_columns_url: (!picked.is_all()).then(|| kept.without("columns")),
        reset_url: (!is_plain).then(|| opened.tab(Tab::Explore)),
        said: said(opened, count),
        cost: cost(opened, count),
        notes: notes(opened, count),
        running,
        problem: problem.map(|problem| problem.in_words(opened)),
        snippets: count.map_or_else(Vec::new, |count| commands(opened, &view, count)),
        conditions: rows,
        frame,
        head,
        words,
    };
    // With a session the page has the price for one account.
    let cache = if customer.is_some() { Cache::NoStore } else { Cache::Revalidate(dataset.updated_at) };
    let response = opened.visit.answer(opened.request, &page, cache)?;
    Ok(match problem {
        Some(problem) => response.with_status(problem.status()),
        None => response,
    })
}

/// The view of the address, without incomplete and invalid conditions.
fn view(
    opened: &Opened<'_>,
    found: &[Condition],
    rows: &[ConditionRow],
    picked: &Picked,
) -> Result<View, FormatError> {
    let table = &opened.dataset.current.table;
    let applied = found.iter().zip(rows).filter(|(_, row)| row.is_applied);
    let conditions = applied.filter_map(|(condition, _)| {
        let meta = table.columns().get(condition.column)?;
        Some((meta.name.clone(), condition.literal(meta, opened.visit.language)))
    });
    let columns = if picked.is_all() { Vec::new() } else { picked.numbers() };
    let name = |column: usize| table.columns().get(column).map(|meta| meta.name.clone());
    Ok(View {
        conditions: conditions.collect(),
        columns: columns.into_iter().filter_map(name).collect(),
        order: order(opened, table)?,
    })
}

/// The order that the address asks for, where rows can be sorted by its column.
fn order(opened: &Opened<'_>, table: &Table) -> Result<Option<Order>, FormatError> {
    let Some((name, column)) =
        opened.visit.value("sort").and_then(|name| Some((name, table.column_index(name)?)))
    else {
        return Ok(None);
    };
    let order =
        Order { column: name.to_owned(), descending: opened.visit.value("direction") == Some("desc") };
    Ok(SortSupport::of(table, column)?.sortable.then_some(order))
}

fn said(opened: &Opened<'_>, count: Option<Count>) -> String {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    match count {
        Some(Count::Exact(rows)) => {
            counted(words.view_holds_one, words.view_holds, rows, &numbers.integer(rows))
        }
        Some(Count::Unbounded) => words.view_uncounted.to_owned(),
        None => words.view_refused.to_owned(),
    }
}

fn cost(opened: &Opened<'_>, count: Option<Count>) -> Option<String> {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    let Some(Count::Exact(rows)) = count else { return None };
    let credits = counted(words.view_costs_one, words.view_costs, rows, &numbers.integer(rows));
    Some(fill(&credits, opened.visit.price(rows)))
}

/// Notes for programs, by the number of rows.
fn notes(opened: &Opened<'_>, count: Option<Count>) -> Vec<String> {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    let Some(Count::Exact(rows)) = count else { return Vec::new() };
    let pages = (rows > QUERY_LIMIT_MAX).then(|| fill(words.note_pages, numbers.integer(QUERY_LIMIT_MAX)));
    let streams =
        (rows > STREAM_LIMIT_MAX).then(|| fill(words.note_streams, numbers.integer(STREAM_LIMIT_MAX)));
    pages.into_iter().chain(streams).collect()
}

/// The view as commands.
fn commands(opened: &Opened<'_>, view: &View, count: Count) -> Vec<Snippet> {
    let words = opened.words;
    let slug = opened.dataset.slug();
    let rows = match count {
        Count::Exact(rows) => rows.max(1),
        Count::Unbounded => u64::MAX,
    };
    let page = view.body(rows.min(QUERY_LIMIT_MAX));
    let stream = view.body(rows.min(STREAM_LIMIT_MAX));
    let (query, stream_url) = (opened.whole_api("query"), opened.whole_api("query/stream"));
    let file = |media_type: &str, ending: &str| {
        snippets::curl_file(&stream_url, &stream, media_type, &format!("{slug}.{ending}"))
    };
    let estimate =
        snippets::curl(&opened.whole_api("query/estimate"), &view.estimate_body(rows.min(STREAM_LIMIT_MAX)));
    let estimate =
        (count == Count::Unbounded).then(|| Snippet::new("estimate", words.snippet_estimate, estimate));
    estimate
        .into_iter()
        .chain([
            Snippet::new("curl", "curl", snippets::curl(&query, &page)),
            Snippet::new("python", "Python", snippets::python(&query, &page)),
            Snippet::new("typescript", "TypeScript", snippets::typescript(&query, &page)),
            Snippet::new("csv", words.snippet_csv, file("text/csv", "csv")),
            Snippet::new("ndjson", words.snippet_ndjson, file("application/x-ndjson", "ndjson")),
        ])
        .collect()
}
