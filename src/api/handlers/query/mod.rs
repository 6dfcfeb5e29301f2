//! Queries: pages of rows, their estimates and their charges.

pub mod checked_query;
pub(super) mod credits_warning;
pub mod estimate;
pub mod page_answer;
pub(super) mod pending_charge;
pub(super) mod price;
pub(super) mod query_input;
pub mod sale;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::credits::{self, Charged, with_credits};
use crate::api::handlers::catalog::dataset_answer::{find_for_key, no_parameters};
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::credits_warning::with_credits_warning;
use crate::api::handlers::query::query_input::{Asked, Wanted, claim, format, named_format};
use crate::api::handlers::query::sale::{Buyer, Offer, Sold};
use crate::api::processor_limit::ProcessorLimit;
use crate::api::route::{Guard, Route, Work};
use crate::limits::api::QUERY_LIMIT_MAX;
use mercato_catalog::DatasetVersion;
use mercato_ledger::Receipt;
use mercato_query::render::Output;
use mercato_web::{ApiError, Method, Response, refuse_tags};

/// Paths of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/datasets/{slug}/query", Guard::Key, get).by(Work::Page),
    Route::new(Method::Post, "/api/v1/datasets/{slug}/query", Guard::Key, post).by(Work::Page),
];

fn post(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let answered = posted(app, request);
    answered.map_err(|refusal| uncharged(refusal, request))
}

fn posted(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let body = request.read_json_body()?;
    let asked = Asked::json(&body, QUERY_LIMIT_MAX);
    answer(app, request, asked, None, &body)
}

/// Adds cost and balance to a refusal.
pub(super) fn uncharged(refusal: ApiError, request: &Incoming) -> ApiError {
    match request.context.caller() {
        Ok(caller) => credits::uncharged(refusal, caller.account.credits()),
        Err(_) => refusal,
    }
}

fn get(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let answered = got(app, request);
    answered.map_err(|refusal| uncharged(refusal, request))
}

fn got(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let (named, rest) = named_format(request.pairs());
    let asked = Asked::pairs(&rest, QUERY_LIMIT_MAX);
    let (asked, named) = match named {
        Ok(named) => (asked, named),
        Err(fault) => (asked.with_fault(fault), None),
    };
    // The format is not part of the request: like `Accept`, it may differ under one `Idempotency-Key`.
    let content: Vec<String> = rest.iter().map(|(name, value)| format!("{name}={value}")).collect();
    answer(app, request, asked, named, content.join("\n").as_bytes()).map_err(ApiError::naming_parameters)
}

/// The stops of a query, forward only: dataset, format, faults, credit, rows, charge, rendering, receipt.
fn answer(
    app: &App,
    request: &mut Incoming,
    asked: Asked,
    named: Option<Output>,
    content: &[u8],
) -> Result<Response, ApiError> {
    let dataset = find_for_key(app, request)?;
    let format = format(request, named)?;
    refuse_tags(request)?;
    let work = ProcessorLimit::of(app, request);
    let asked = asked.or_all_faults(&dataset, &work)?;
    let dataset = dataset_version::with_cursor(app, dataset, &asked);
    let version = dataset_version::of_query(&dataset, &asked, request.now(), &work)?;
    let buyer = Buyer::of(request)?;
    let account = buyer.account.clone();
    let claimed = claim(app, buyer, &dataset, version, Wanted::Page, content)?;
    let offer = Offer::new(app, buyer, dataset.slug(), &claimed, &asked, &work)?;
    if request.method() == Method::Head {
        return Ok(with_credits(described(format, &claimed.version), 0, account.credits()));
    }
    let Sold { printed, total, rows, receipt, durable } = offer
        .sell(|version, columns, page| page_answer::render(format, dataset.slug(), version, columns, page))?;
    let (notes, left_out, response) = (printed.notes, printed.groups_left_out, printed.finish(total));
    request.context.log.rows = Some(rows);
    request.context.log.credits = Some(receipt.charged);
    let response = labelled(with_receipt(response, &receipt), &claimed.version);
    let response = with_credits_warning(app, response, &account, &receipt.caps, receipt.remaining);
    let response = page_answer::with_left_out(response, left_out);
    Ok(page_answer::with_notes(response, &notes).when(Charged(durable)))
}

/// The response to `HEAD`. It is free, so it reveals nothing of the rows, not even their length.
fn described(format: Output, version: &DatasetVersion) -> Response {
    let response = Response::empty(200).with_header("Content-Type", page_answer::content_type(format));
    labelled(response, version)
}

fn labelled(response: Response, version: &DatasetVersion) -> Response {
    response.with_header("X-Dataset-Version", version.version.to_string()).with_header("Vary", "Accept")
}

fn with_receipt(response: Response, receipt: &Receipt) -> Response {
    let response = with_credits(response, receipt.charged, receipt.remaining);
    let response =
        if receipt.replayed { response.with_header("Idempotent-Replayed", "true") } else { response };
    match receipt.paid_before {
        0 => response,
        rows => response.with_warning(format!(
            "{} paid for on the site within the last 24 hours and not charged again",
            if rows == 1 { "1 row was".to_owned() } else { format!("{rows} rows were") }
        )),
    }
}
