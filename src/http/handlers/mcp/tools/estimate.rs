//! `estimate_cost`: the cost of `query_rows` with the same arguments.
//!
//! Charges nothing and shows no row. Without a key the work is bounded, because the tool is open to everybody.

use serde::Serialize;

use super::query::QUERY;
use super::{Arguments, Output};
use crate::access::Caller;
use crate::http::app::App;
use crate::http::errors::{ApiError, ErrorKind};
use crate::http::handlers::catalog::dataset_answer::may_read;
use crate::http::handlers::catalog::dataset_version;
use crate::http::handlers::query::checked_query::CheckedQuery;
use crate::http::handlers::query::price::Price;
use crate::http::handlers::query::query_input::Asked;
use crate::http::incoming::Incoming;
use crate::ledger::Spending;
use crate::limits::http::QUERY_LIMIT_MAX;
use crate::limits::http::{SEARCHED_TEXTS_MAX, TESTED_VALUES_MAX};
use crate::limits::mcp::QUERY_ROWS_DEFAULT;
use crate::query::QueryRequest;
use crate::words::counted;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Estimated<'a> {
    slug: &'a str,
    version: String,
    matching_rows: u64,
    rows: u64,
    credits_required: u64,
    price: Price,
    price_of_all_matches: Price,
    credits_available: Option<u64>,
    affordable: Option<bool>,
}

pub(super) fn run(app: &App, request: &mut Incoming, mut arguments: Arguments) -> Result<Output, ApiError> {
    let slug = arguments.slug();
    let body = arguments.body(&QUERY, QUERY_ROWS_DEFAULT);
    arguments.finish()?;
    let dataset = super::dataset(app, request, &slug)?;
    let caller = request.caller().ok().cloned();
    if let Some(caller) = &caller {
        may_read(&dataset, caller)?;
    }
    let asked = Asked::json(body.as_bytes(), QUERY_LIMIT_MAX).or_all_faults(&dataset)?;
    let dataset = dataset_version::with_cursor(app, dataset, &asked);
    let version = dataset_version::of_query(&dataset, &asked, request.now())?;
    if caller.is_none() && is_costly(&asked, version.table.row_count()) {
        return Err(too_costly(app, request));
    }
    let query = CheckedQuery::new(app, dataset.slug(), &version, &asked)?;
    let (matching_rows, rows) = (query.match_count()?, query.row_count()?);
    let spending = Spending::Rows { limit: query.plan().limit() };
    let spent = match &caller {
        None => None,
        Some(Caller { account, key }) => {
            Some(app.ledger.estimate(account, Some(key), rows, spending, request.now())?)
        }
    };
    let credits_required = spent.map_or(rows, |estimate| estimate.credits_required);
    let estimated = Estimated {
        slug: dataset.slug(),
        version: version.version.to_string(),
        matching_rows,
        rows,
        credits_required,
        price: Price::of(credits_required),
        price_of_all_matches: Price::of(matching_rows),
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
    format!(
        "{} of `{}` {} match. query_rows with these arguments returns {} for {} ({} EUR without VAT); all matches \
         cost {} EUR.{standing}",
        counted(estimated.matching_rows, "row"),
        estimated.slug,
        estimated.version,
        counted(estimated.rows, "row"),
        credits(estimated.credits_required),
        estimated.price.eur(),
        estimated.price_of_all_matches.eur(),
    )
}
