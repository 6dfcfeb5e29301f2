//! `estimate_cost`: the cost of `query_rows` with the same arguments.
//!
//! Charges nothing and shows no row. Without a key the work is bounded, because the tool is open to everybody.

use crate::api::books_errors::from_books;
use serde::Serialize;

use super::query::QUERY;
use super::{Arguments, Output};
use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::may_read;
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::checked_query::CheckedQuery;
use crate::api::handlers::query::price::Price;
use crate::api::handlers::query::query_input::Asked;
use crate::api::processor_limit::ProcessorLimit;
use crate::limits::api::QUERY_LIMIT_MAX;
use crate::limits::api::{SEARCHED_TEXTS_MAX, TESTED_VALUES_MAX};
use crate::limits::mcp::QUERY_ROWS_DEFAULT;
use mercato_base::words::counted;
use mercato_ledger::Spending;
use mercato_people::Caller;
use mercato_query::QueryRequest;
use mercato_web::{ApiError, ErrorKind};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Estimated<'a> {
    slug: &'a str,
    version: String,
    matching_rows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matching_rows_at_least: Option<u64>,
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_at_least: Option<u64>,
    credits_required: u64,
    price: Price,
    price_of_all_matches: Option<Price>,
    credits_available: Option<u64>,
    affordable: Option<bool>,
}

pub(super) fn run(app: &App, request: &mut Incoming, mut arguments: Arguments) -> Result<Output, ApiError> {
    let slug = arguments.slug();
    let body = arguments.body(&QUERY, QUERY_ROWS_DEFAULT);
    arguments.finish()?;
    let dataset = super::dataset(app, request, &slug)?;
    let caller = request.context.caller().ok().cloned();
    if let Some(caller) = &caller {
        may_read(&dataset, caller)?;
    }
    let work = ProcessorLimit::of(app, request);
    let asked = Asked::json(body.as_bytes(), QUERY_LIMIT_MAX).or_all_faults(&dataset, &work)?;
    let dataset = dataset_version::with_cursor(app, dataset, &asked);
    let version = dataset_version::of_query(&dataset, &asked, request.now(), &work)?;
    if caller.is_none() && is_costly(&asked, version.table.row_count()) {
        return Err(too_costly(app, request));
    }
    let query = CheckedQuery::new(app, dataset.slug(), &version, &asked, &work)?;
    let (matches, rows) = (query.told_matches()?, query.told_rows()?);
    let spending = Spending::Rows { limit: query.plan().limit() };
    let spent = match &caller {
        None => None,
        Some(Caller { account, key }) => Some(
            app.ledger
                .estimate(account, Some(key), rows.at_most, spending, request.now())
                .map_err(from_books)?,
        ),
    };
    let credits_required = spent.map_or(rows.at_most, |estimate| estimate.credits_required);
    let estimated = Estimated {
        slug: dataset.slug(),
        version: version.version.to_string(),
        matching_rows: matches.exact(),
        matching_rows_at_least: matches.at_least(),
        rows: rows.at_most,
        rows_at_least: rows.at_least,
        credits_required,
        price: Price::of(credits_required),
        price_of_all_matches: matches.exact().map(Price::of),
        credits_available: spent.map(|estimate| estimate.credits_available),
        affordable: spent.map(|estimate| estimate.affordable),
    };
    Output::free(&estimated, in_words(&estimated))
}

/// Whether counting takes more work than anybody may cause.
fn is_costly(asked: &QueryRequest, rows: u32) -> bool {
    let (comparisons, patterns) = asked.comparisons();
    let times = |count: u64| u64::from(rows).saturating_mul(count);
    times(comparisons) > TESTED_VALUES_MAX || times(patterns) > SEARCHED_TEXTS_MAX
}

fn too_costly(app: &App, request: &Incoming) -> ApiError {
    let without_key = super::caller(app, request).err();
    let hint = without_key.and_then(|error| error.details().map(|details| details.hint().to_owned()));
    ApiError::new(
        ErrorKind::Unauthorized,
        "counting these rows takes more work than is done without an API key",
    )
    .with_reason("API_KEY_MISSING", hint.unwrap_or_default())
}

fn in_words(estimated: &Estimated<'_>) -> String {
    let credits = |count: u64| counted(count, "credit");
    let standing = match (estimated.credits_available, estimated.affordable) {
        (Some(available), Some(true)) => format!(" The account has {}, which suffices.", credits(available)),
        (Some(available), _) => format!(" The account has {}, which does not suffice.", credits(available)),
        (None, _) => String::new(),
    };
    let matching = match (estimated.matching_rows, estimated.matching_rows_at_least) {
        (Some(rows), _) => counted(rows, "row"),
        (None, least) => format!("More than {}", counted(least.unwrap_or_default(), "row")),
    };
    let all = estimated.price_of_all_matches.as_ref();
    let all = all.map(|price| format!("; all matches cost {} EUR", price.eur())).unwrap_or_default();
    let at_most = if estimated.rows_at_least.is_some() { "at most " } else { "" };
    format!(
        "{matching} of `{}` {} match. query_rows with these arguments returns {at_most}{} for {at_most}{} ({} EUR without \
         VAT){all}.{standing}",
        estimated.slug,
        estimated.version,
        counted(estimated.rows, "row"),
        credits(estimated.credits_required),
        estimated.price.eur(),
    )
}
