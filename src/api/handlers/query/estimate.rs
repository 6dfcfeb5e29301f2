//! Estimates the price of a page, a stream or a download: counts rows and charges nothing.

use crate::api::books_errors::from_books;
use crate::api::credits::with_credits;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::{find_for_key, no_parameters, verified};
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::checked_query::{CheckedQuery, ToldRows, viewed};
use crate::api::handlers::query::query_input::Asked;
use crate::api::handlers::query::uncharged;
use crate::api::processor_limit::ProcessorLimit;
use crate::api::route::{Guard, Route, Work};
use mercato_ledger::{Spending, ViewRows};
use mercato_people::Caller;
use mercato_query::{Purpose, ValueCount};
use mercato_web::{ApiError, Method, Response};

/// Paths of this file.
pub const ROUTES: &[Route] =
    &[Route::new(Method::Post, "/api/v1/datasets/{slug}/query/estimate", Guard::Key, estimate)
        .by(Work::Page)];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EstimateData {
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_at_least: Option<u64>,
    credits_required: u64,
    credits_available: u64,
    affordable: bool,
    #[serde(skip_serializing_if = "Facets::is_empty")]
    facets: Facets,
}

/// Columns with the counts of their public values, in the order of the request.
#[derive(Default)]
struct Facets(Vec<(String, Vec<Facet>)>);

/// A value with its count, or the fewest that it can be.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Facet {
    value: Box<RawValue>,
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count_at_least: Option<u64>,
}

fn estimate(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let answered = estimated(app, request);
    answered.map_err(|refusal| uncharged(refusal, request))
}

fn estimated(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let body = request.read_json_body()?;
    let asked = Asked::estimate(&body);
    let dataset = find_for_key(app, request)?;
    let work = ProcessorLimit::of(app, request);
    let asked = asked.or_all_faults(&dataset, &work)?;
    let dataset = dataset_version::with_cursor(app, dataset, &asked);
    let version = dataset_version::of_query(&dataset, &asked, request.now(), &work)?;
    let (rows, spending, view, facets) = match asked.purpose() {
        Purpose::Download => {
            verified(&app.catalog, dataset.slug(), &version)?;
            let rows = ToldRows { at_most: version.table.row_count().into(), at_least: None };
            (rows, Spending::Download, viewed(dataset.slug(), &version, "", ViewRows::All), Facets::default())
        }
        Purpose::Page | Purpose::Stream => {
            let query = CheckedQuery::new(app, dataset.slug(), &version, &asked, &work)?;
            let (rows, limit) = (query.told_rows()?, query.plan().limit());
            let is_whole = query.plan().is_from_start() && rows.at_least.is_none() && rows.at_most < limit;
            let of_view = if is_whole { ViewRows::All } else { ViewRows::Some };
            (rows, Spending::Rows { limit }, query.viewed(of_view), Facets::of(query.told_facets()?)?)
        }
    };
    let Caller { account, key } = request.context.caller()?;
    let paid = app.ledger.paid_before(account, &view, rows.at_most, request.now()).map_err(from_books)?;
    let unpaid = rows.at_most.saturating_sub(paid);
    let mut estimate =
        app.ledger.estimate(account, Some(key), unpaid, spending, request.now()).map_err(from_books)?;
    // Rows that were paid on the site are not paid again, by whatever means.
    estimate.affordable |= paid > 0 && unpaid == 0;
    let response = Response::data(&EstimateData {
        rows: rows.at_most,
        rows_at_least: rows.at_least,
        credits_required: estimate.credits_required,
        credits_available: estimate.credits_available,
        affordable: estimate.affordable,
        facets,
    })?;
    Ok(with_credits(response, 0, account.credits()))
}

impl Facets {
    fn of(told: Vec<(String, Vec<ValueCount>)>) -> Result<Self, ApiError> {
        let facet = |ValueCount { json, count }| -> serde_json::Result<Facet> {
            let value = serde_json::from_slice(&json)?;
            Ok(Facet { value, count: count.exact(), count_at_least: count.at_least() })
        };
        let of_column = |(name, values): (String, Vec<ValueCount>)| {
            Ok((name, values.into_iter().map(facet).collect::<serde_json::Result<_>>()?))
        };
        let columns: serde_json::Result<_> = told.into_iter().map(of_column).collect();
        columns.map(Self).map_err(|error| ApiError::internal(error.to_string()))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Facets {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, values)| (name, values)))
    }
}
