//! A view of a dataset by form: conditions, order, columns, row count and price, and commands that query it.
//!
//! The whole state is in the address. The page charges nothing and shows rows of the free sample only; a signed-in customer buys
//! rows by a form (`sale`), at a price that the page states before (`running`). An address with a fault has no view: nothing is
//! counted, priced, shown or sold, because the rows without the faulty condition are not those that were asked for.

pub(super) mod address;
mod conditions;
mod filters;
mod form;
mod hints;
mod notation;
mod running;
pub(super) mod sale;
mod sample;
mod view;

use askama::Template;

use crate::limits::api::{QUERY_LIMIT_MAX, STREAM_LIMIT_MAX};
use crate::site::account::Customer;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::snippets;
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_catalog::{FormatError, Table};
use mercato_query::{QueryError, SortSupport};

use super::head::{Head, Tab, counted};
use super::picked::Picked;
use super::preview::{Pick, picker};
use super::usage::Snippet;
use super::{DatasetWords, Opened};
use address::KNOWN;
use form::{ConditionRow, SortOption};
use mercato_web::{ApiError, ErrorKind, Response};
use running::Running;
use sample::SampleRows;
use view::{Count, Order, View};

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
    /// Columns that a further condition may test by one click; none where there are enough conditions.
    addable: Vec<String>,
    /// Further ones, which are chosen from a list.
    more_addable: Vec<String>,
    sorts: Vec<SortOption>,
    descending: bool,
    has_order_fault: bool,
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
    sample: Option<SampleRows>,
    snippets: Vec<Snippet>,
}

/// Why rows could not be sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Problem {
    /// The account cannot pay.
    Credits,
    /// The address has a fault.
    Faulty,
    /// The shown view differs from the rows that would be sold.
    Stale,
    /// The same file is on its way.
    Busy,
    /// Finding the rows takes more work than one request may cause.
    TooExpensive,
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
            Problem::Faulty | Problem::Stale => ErrorKind::Unprocessable.status(),
            Problem::Busy => ErrorKind::Conflict.status(),
            Problem::TooExpensive => ErrorKind::Unavailable.status(),
        }
    }

    fn in_words(self, opened: &Opened<'_>) -> ProblemText {
        let words = opened.words;
        let buy = || opened.visit.link("/account/credits").to_string();
        match self {
            Problem::Credits => ProblemText { text: words.problem_credits, buy: Some(buy()) },
            Problem::Faulty => ProblemText { text: words.problem_faulty, buy: None },
            Problem::Stale => ProblemText { text: words.problem_stale, buy: None },
            Problem::Busy => ProblemText { text: words.problem_busy, buy: None },
            Problem::TooExpensive => ProblemText { text: words.problem_too_expensive, buy: None },
        }
    }
}

/// What an address means.
struct Reading {
    picked: Picked,
    rows: Vec<ConditionRow>,
    order: Option<Order>,
    has_order_fault: bool,
    /// Nothing where the address has a fault.
    view: Option<View>,
}

impl Reading {
    fn of(opened: &Opened<'_>) -> Result<Self, ApiError> {
        opened.verified()?;
        let broken = |error: FormatError| opened.damaged(&error);
        let table = &opened.dataset.current.table;
        let found = address::conditions(opened.visit.here(), table);
        let columns = table.columns().len();
        let picked = Picked::read(opened.visit.value("columns"), columns, columns);
        let rows = form::rows(opened, &found).map_err(broken)?;
        let (order, has_order_fault) = order(opened, table).map_err(broken)?;
        let applied = found.iter().filter_map(|condition| condition.applied(table));
        let columns = if picked.is_all() { Vec::new() } else { picked.numbers() };
        let name = |column: usize| table.columns().get(column).map(|meta| meta.name.clone());
        let view = View {
            conditions: applied.collect(),
            columns: columns.into_iter().filter_map(name).collect(),
            order: order.clone(),
        };
        let is_sound = !has_order_fault && rows.iter().all(|row| row.fault.is_none());
        Ok(Self { picked, rows, order, has_order_fault, view: is_sound.then_some(view) })
    }
}

/// How many rows a view has; nothing where it cannot be counted.
fn count(opened: &Opened<'_>, view: &View) -> Result<Option<Count>, ApiError> {
    let (dataset, selections) = (&opened.dataset, opened.app.selections.as_ref());
    match view.count(&dataset.current.table, dataset.slug(), selections, &opened.work) {
        Ok(count) => Ok(Some(count)),
        // Every condition was checked alone, so this is a fault of their number or of the order.
        Err(QueryError::Invalid(_)) => Ok(None),
        Err(QueryError::Format(error)) => Err(opened.damaged(&error)),
        Err(QueryError::Stopped(stop)) => Err(opened.work.refusal(stop)),
    }
}

/// Shows the view; redirects to its canonical address.
pub(super) fn page(opened: &Opened<'_>) -> Result<Response, ApiError> {
    match address::to_canonical(opened.visit.here(), &opened.dataset.current.table) {
        Some(url) => Ok(opened.visit.redirect(opened.request, &url)),
        None => respond(opened, None),
    }
}

/// The page of a view, with the reason why rows of it could not be sold.
fn respond(opened: &Opened<'_>, problem: Option<Problem>) -> Result<Response, ApiError> {
    let broken = |error: FormatError| opened.damaged(&error);
    let (words, dataset) = (opened.words, &opened.dataset);
    let (table, here) = (&dataset.current.table, opened.visit.here());
    let Reading { picked, rows, order, has_order_fault, view } = Reading::of(opened)?;
    let count = view.as_ref().map(|view| count(opened, view)).transpose()?.flatten();
    let sample = view.as_ref().map(|view| sample::rows(opened, view, &picked)).transpose()?.flatten();
    let (addable, more_addable) = form::addable(table, rows.len());
    let customer = Customer::of(opened.app, opened.request, opened.visit);
    let running = Running::of(opened, customer.as_ref(), view.as_ref(), count)?;
    let (frame, head) = opened.frame_and_head(Tab::Explore);
    let is_plain = KNOWN.iter().all(|name| here.values(name).next().is_none());
    let frame = if is_plain { frame } else { frame.no_index() };
    let hidden_columns = form::unpickable(table);
    let page = ExplorePage {
        action: opened.tab(Tab::Explore).bare(),
        hidden: form::hidden(opened),
        addable,
        more_addable,
        sorts: form::sorts(table, order.as_ref(), words).map_err(broken)?,
        descending: order.is_some_and(|order| order.descending),
        has_order_fault,
        picker: picker(table, &picked, here),
        unpickable: hidden_columns.map(|count| fill(words.picker_rest, opened.visit.numbers.integer(count))),
        all_columns_url: (!picked.is_all()).then(|| here.without("columns")),
        reset_url: (!is_plain).then(|| opened.tab(Tab::Explore)),
        said: if view.is_some() { said(opened, count) } else { words.view_faulty.to_owned() },
        cost: cost(opened, count),
        notes: notes(opened, count),
        running,
        problem: problem.map(|problem| problem.in_words(opened)),
        sample,
        snippets: view.zip(count).map_or_else(Vec::new, |(view, count)| commands(opened, &view, count)),
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

/// The order that the address asks for, and whether rows cannot be sorted so.
fn order(opened: &Opened<'_>, table: &Table) -> Result<(Option<Order>, bool), FormatError> {
    let descending = match opened.visit.value("direction") {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(_) => return Ok((None, true)),
    };
    let Some(name) = opened.visit.value("sort") else { return Ok((None, false)) };
    let Some(column) = table.column_index(name) else { return Ok((None, true)) };
    let order = Order { column: name.to_owned(), descending };
    let is_sortable = SortSupport::of(table, column)?.sortable;
    Ok((is_sortable.then_some(order), !is_sortable))
}

fn said(opened: &Opened<'_>, count: Option<Count>) -> String {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    match count {
        Some(Count::Exact(rows)) => {
            counted(words.view_holds_one, words.view_holds, rows, &numbers.integer(rows))
        }
        Some(Count::Many { above, .. }) => fill(words.view_holds_many, numbers.integer(above)),
        Some(Count::Unbounded) => words.view_uncounted.to_owned(),
        None => words.view_refused.to_owned(),
    }
}

fn cost(opened: &Opened<'_>, count: Option<Count>) -> Option<String> {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    if let Some(Count::Many { at_most, .. }) = count {
        let rows = at_most.min(STREAM_LIMIT_MAX);
        let credits = fill(words.view_costs_at_most, numbers.integer(rows));
        return Some(fill(&credits, opened.visit.price(rows)));
    }
    let Some(Count::Exact(rows)) = count else { return None };
    let credits = counted(words.view_costs_one, words.view_costs, rows, &numbers.integer(rows));
    Some(fill(&credits, opened.visit.price(rows)))
}

/// Notes for programs, by the number of rows.
fn notes(opened: &Opened<'_>, count: Option<Count>) -> Vec<String> {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    let (Some(Count::Exact(rows)) | Some(Count::Many { at_most: rows, .. })) = count else {
        return Vec::new();
    };
    let pages = (rows > QUERY_LIMIT_MAX).then(|| fill(words.note_pages, numbers.integer(QUERY_LIMIT_MAX)));
    let streams =
        (rows > STREAM_LIMIT_MAX).then(|| fill(words.note_streams, numbers.integer(STREAM_LIMIT_MAX)));
    pages.into_iter().chain(streams).collect()
}

fn commands(opened: &Opened<'_>, view: &View, count: Count) -> Vec<Snippet> {
    let (words, slug, base) = (opened.words, opened.dataset.slug(), opened.visit.base());
    let rows = match count {
        Count::Exact(rows) | Count::Many { at_most: rows, .. } => rows.clamp(1, STREAM_LIMIT_MAX),
        Count::Unbounded => STREAM_LIMIT_MAX,
    };
    let (page, whole) = (view.body(rows.min(QUERY_LIMIT_MAX)), view.body(rows));
    let (query, stream) = (opened.whole_api("query"), opened.whole_api("query/stream"));
    let at_once = if rows <= QUERY_LIMIT_MAX { &query } else { &stream };
    let estimate = snippets::curl(&opened.whole_api("query/estimate"), &view.estimate_body(rows));
    let csv = snippets::curl_file(&stream, &whole, "text/csv", &format!("{slug}.csv"));
    let estimate = (count == Count::Unbounded)
        .then(|| Snippet::new("estimate", words.snippet_estimate, snippets::with_key(&estimate)));
    estimate
        .into_iter()
        .chain([
            Snippet::new("curl", "curl", snippets::with_key(&snippets::curl(&query, &page))),
            Snippet::new("csv", "CSV", snippets::with_key(&csv)),
            Snippet::new("python", "Python", snippets::python_client(base, slug, &whole)),
            Snippet::new("pandas", "pandas", snippets::pandas(at_once, &whole)),
            Snippet::new("polars", "Polars", snippets::polars(at_once, &whole)),
            Snippet::new("r", "R", snippets::r(at_once, &whole)),
            Snippet::new("typescript", "TypeScript", snippets::typescript_client(base, slug, &whole)),
        ])
        .collect()
}
