//! Rows of a view for a signed-in customer: pages as tables, and the whole view as a file.
//!
//! The account pays, and no key. Rows of a view that it has paid for are not paid again within a day, in whatever page, order or
//! format. The idempotency key, made of the dataset, the view, the version and the place of the page, is for forms that are sent
//! twice.

use askama::Template;
use sha2::{Digest, Sha256};

use crate::api::{
    Buyer, Charged, ProcessorLimit, QUERY_TOO_EXPENSIVE, Sold, from_books, render_page, sell_page,
    stream_rows, with_credits,
};
use crate::limits::api::{QUERY_LIMIT_MAX, STREAM_LIMIT_MAX};
use crate::limits::site::VIEW_ROWS_PER_PAGE;
use crate::site::account::{Customer, Form};
use crate::site::cache::Cache;
use crate::site::dataset::head::{Head, Tab, counted};
use crate::site::dataset::preview::{Cell, cells, is_number, values};
use crate::site::dataset::{DatasetWords, Opened, Outcome};
use crate::site::frame::Frame;
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_catalog::{DatasetVersion, FormatError};
use mercato_ledger::{Receipt, Spending};
use mercato_query::Page;
use mercato_query::render::{Format, Output};

use super::running::action;
use super::view::Count;
use super::{Problem, Reading, count};
use mercato_web::{ApiError, ErrorKind, Response, validation_error};

/// Columns that a page of a view shows; files have all of them.
const VIEW_COLUMNS_MAX: usize = 20;
/// Characters of a value on a page of a view; files have all of them.
const VIEW_CELL_CHARS_MAX: usize = 80;

/// Fields of the form for a page.
pub const PAGE_FIELDS: [&str; 3] = ["version", "cursor", "from"];
/// Fields of the form for a file.
pub const FILE_FIELDS: [&str; 3] = ["version", "rows", "format"];

#[derive(Template)]
#[template(path = "dataset/rows.html")]
struct RowsPage {
    frame: Frame,
    head: Head,
    words: &'static DatasetWords,
    paid: String,
    caption: String,
    headers: Vec<(String, bool)>,
    rows: Vec<Vec<Cell>>,
    hidden_columns: Option<String>,
    next: Option<NextPage>,
    view_url: Url,
}

/// The form for the next page.
struct NextPage {
    action: String,
    version: String,
    cursor: String,
    from: u64,
    text: String,
}

/// Rows as a table shows them.
struct Printed {
    headers: Vec<(String, bool)>,
    rows: Vec<Vec<Cell>>,
    hidden_columns: usize,
    next_cursor: Option<String>,
}

/// Sells a page of the view and shows it.
pub fn page(opened: &Opened<'_>, form: &Form, customer: &Customer) -> Result<Outcome, ApiError> {
    let Some(view) = Reading::of(opened)?.view else { return problem(opened, Problem::Faulty) };
    let (version, cursor) = (form.text("version"), form.text("cursor"));
    let body = view.body_of(version, cursor, VIEW_ROWS_PER_PAGE).line();
    let key = idempotency_key(opened.dataset.slug(), "page", &body);
    let sold = sell_page(
        opened.app,
        buyer(opened, customer, &key),
        &opened.dataset,
        body.as_bytes(),
        &opened.work,
        print,
    );
    let (Sold { printed, rows, receipt, durable, .. }, version) = match sold {
        Ok(sold) => sold,
        Err(error) => return refused(opened, error),
    };
    let (credits, from) = (receipt.charged, form.text("from").parse().unwrap_or(1_u64).max(1));
    let place = (from, rows, version.version.to_string());
    let answered = RowsPage::new(opened, customer, printed, &receipt, place)
        .and_then(|page| opened.visit.answer(opened.request, &page, Cache::NoStore));
    let response = match answered {
        Ok(response) => response.when(Charged(durable)),
        Err(error) => {
            Sold { printed: (), total: None, rows, receipt, durable }
                .give_back(opened.app, opened.request.now());
            return Err(error);
        }
    };
    Ok(Outcome { response, rows: Some(rows), credits: Some(credits) })
}

fn print(version: &DatasetVersion, columns: &[usize], page: &Page) -> Result<Printed, FormatError> {
    let table = &version.table;
    let shown: Vec<usize> = columns.iter().take(VIEW_COLUMNS_MAX).copied().collect();
    let values = values(table, &shown, &page.rows)?;
    let metas = shown.iter().filter_map(|column| table.columns().get(*column));
    Ok(Printed {
        headers: metas.map(|meta| (meta.name.clone(), is_number(meta.kind.logical()))).collect(),
        rows: values.iter().map(|row| cells(row, VIEW_CELL_CHARS_MAX)).collect(),
        hidden_columns: columns.len().saturating_sub(shown.len()),
        next_cursor: page.next_cursor.clone(),
    })
}

impl RowsPage {
    fn new(
        opened: &Opened<'_>,
        customer: &Customer,
        printed: Printed,
        receipt: &Receipt,
        (from, rows, version): (u64, u64, String),
    ) -> Result<Self, ApiError> {
        let (words, numbers) = (opened.words, opened.visit.numbers);
        let (frame, head) = opened.frame_and_head(Tab::Explore);
        let to = from.saturating_add(rows).saturating_sub(1);
        let caption = [numbers.integer(from), numbers.integer(to), version.clone()];
        let caption = caption.iter().fold(words.rows_caption.to_owned(), |text, value| fill(&text, value));
        let next = match printed.next_cursor {
            None => None,
            Some(cursor) => {
                let text = next_text(opened, customer)?;
                let from = to.saturating_add(1);
                Some(NextPage { action: action(opened, "query"), version, cursor, from, text })
            }
        };
        let hidden = printed.hidden_columns;
        Ok(Self {
            frame: frame.no_index(),
            head,
            words,
            paid: paid(opened, customer, receipt),
            caption: if rows == 0 { words.rows_none.to_owned() } else { caption },
            headers: printed.headers,
            rows: printed.rows,
            hidden_columns: (hidden > 0).then(|| fill(words.rows_columns_rest, hidden)),
            next,
            view_url: opened.visit.here().clone(),
        })
    }
}

/// The charge of the rows, in words.
fn paid(opened: &Opened<'_>, customer: &Customer, receipt: &Receipt) -> String {
    let (words, numbers) = (opened.words, opened.visit.numbers);
    let (charged, remaining) = (receipt.charged, numbers.integer(receipt.remaining));
    if receipt.replayed || (receipt.paid_before > 0 && charged == 0 && !receipt.is_free_query()) {
        return words.rows_paid_before.to_owned();
    }
    if receipt.is_free_query() {
        let left = opened.app.ledger.free_queries_remaining(&customer.account, opened.request.now());
        return fill(words.rows_free, numbers.integer(left.into()));
    }
    let cost =
        fill(&counted(words.rows_cost_one, words.rows_cost, charged, &numbers.integer(charged)), remaining);
    match receipt.paid_before {
        0 => cost,
        paid => format!("{cost} {}", fill(words.rows_paid_some, numbers.integer(paid))),
    }
}

/// The text of the button for the next page, with the most that it can cost.
fn next_text(opened: &Opened<'_>, customer: &Customer) -> Result<String, ApiError> {
    let (words, numbers, now) = (opened.words, opened.visit.numbers, opened.request.now());
    let ledger = &opened.app.ledger;
    let spending = Spending::Rows { limit: VIEW_ROWS_PER_PAGE };
    let estimate =
        ledger.estimate(&customer.account, None, VIEW_ROWS_PER_PAGE, spending, now).map_err(from_books)?;
    Ok(match estimate.credits_required {
        0 => words.rows_next_free.to_owned(),
        credits => fill(words.rows_next, numbers.integer(credits)),
    })
}

/// Sells the whole view as a file: in one piece as far as a page of the API reaches, else as a stream.
pub fn file(opened: &Opened<'_>, form: &Form, customer: &Customer) -> Result<Outcome, ApiError> {
    let Some(view) = Reading::of(opened)?.view else { return problem(opened, Problem::Faulty) };
    let version = opened.dataset.current.version.to_string();
    // The form names the version and the rows whose price was shown. Neither may differ from what is sold.
    let shown = form.text("rows").parse().unwrap_or(0);
    let rows = match count(opened, &view)? {
        Some(Count::Exact(rows)) if rows == shown => rows,
        Some(Count::Many { above, at_most }) if shown > above && shown <= at_most => shown,
        Some(Count::Unbounded) => return problem(opened, Problem::TooExpensive),
        _ => return problem(opened, Problem::Stale),
    };
    if form.text("version") != version {
        return problem(opened, Problem::Stale);
    }
    let (output, ending) = match form.text("format") {
        "csv" => (Output::Text(Format::Csv), "csv"),
        "xlsx" => (Output::Xlsx, "xlsx"),
        "ndjson" => (Output::Text(Format::Ndjson), "ndjson"),
        "json" if rows <= QUERY_LIMIT_MAX => (Output::Text(Format::Json), "json"),
        _ => {
            return Err(validation_error(
                "BODY_INVALID",
                "format",
                "no such format",
                "send the form of the page",
            ));
        }
    };
    let limit = rows.clamp(1, STREAM_LIMIT_MAX);
    let body = view.body_of(&version, "", limit).line();
    let key = idempotency_key(opened.dataset.slug(), "file", &body);
    let buyer = buyer(opened, customer, &key);
    let sold = if rows <= QUERY_LIMIT_MAX {
        whole(opened, buyer, &body, output)
    } else {
        let work = ProcessorLimit::of(opened.app, opened.request);
        let streamed = stream_rows(opened.app, buyer, &opened.dataset, body.as_bytes(), output, work);
        streamed.map(|response| Outcome { response, rows: None, credits: None })
    };
    let Outcome { response, rows, credits } = match sold {
        Ok(outcome) => outcome,
        Err(error) => return refused(opened, error),
    };
    let name = format!("attachment; filename=\"{}-{version}-view.{ending}\"", opened.dataset.slug());
    let response = response.with_header("Content-Disposition", name);
    Ok(Outcome { response: opened.visit.sent(response, opened.request, Cache::NoStore), rows, credits })
}

fn whole(opened: &Opened<'_>, buyer: Buyer<'_>, body: &str, output: Output) -> Result<Outcome, ApiError> {
    let slug = opened.dataset.slug();
    let print = |version: &DatasetVersion, columns: &[usize], page: &Page| {
        render_page(output, slug, version, columns, page)
    };
    let (sold, _) = sell_page(opened.app, buyer, &opened.dataset, body.as_bytes(), &opened.work, print)?;
    let Sold { printed, total, rows, receipt, durable } = sold;
    let response =
        with_credits(printed.finish(total), receipt.charged, receipt.remaining).when(Charged(durable));
    Ok(Outcome { response, rows: Some(rows), credits: Some(receipt.charged) })
}

fn buyer<'b>(opened: &'b Opened<'_>, customer: &'b Customer, key: &'b str) -> Buyer<'b> {
    Buyer {
        account: &customer.account,
        key: None,
        idempotency_key: Some(key),
        request_id: opened.request.request_id(),
        at: opened.request.now(),
    }
}

fn idempotency_key(slug: &str, what: &str, body: &str) -> String {
    let hash = Sha256::digest(body.as_bytes());
    hash.iter().fold(format!("site {what} {slug} "), |text, byte| format!("{text}{byte:02x}"))
}

/// A refusal as the page of the view with the reason; other refusals get the ordinary page.
fn refused(opened: &Opened<'_>, error: ApiError) -> Result<Outcome, ApiError> {
    let is_too_expensive = error.details().is_some_and(|details| details.reason() == QUERY_TOO_EXPENSIVE);
    match error.kind() {
        _ if is_too_expensive => problem(opened, Problem::TooExpensive),
        ErrorKind::NoCredits => problem(opened, Problem::Credits),
        ErrorKind::BadRequest | ErrorKind::Unprocessable => problem(opened, Problem::Stale),
        ErrorKind::Conflict => problem(opened, Problem::Busy),
        _ => Err(error),
    }
}

fn problem(opened: &Opened<'_>, problem: Problem) -> Result<Outcome, ApiError> {
    let response: Response = super::respond(opened, Some(problem))?;
    Ok(Outcome { response, rows: None, credits: None })
}
