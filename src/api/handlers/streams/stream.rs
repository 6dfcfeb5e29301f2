//! Streams of up to a million rows as Server-Sent Events, NDJSON, CSV, Arrow or an Excel workbook.

use crate::api::app::App;
use crate::api::books_errors::from_books;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::find_for_key;
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::checked_query::CheckedQuery;
use crate::api::handlers::query::credits_warning::with_credits_warning;
use crate::api::handlers::query::page_answer::{
    ARROW_MEDIA_TYPE, XLSX_MEDIA_TYPE, content_type, with_left_out, with_total,
};
use crate::api::handlers::query::query_input::{Asked, Claimed, Wanted, claim, none_acceptable, refuse};
use crate::api::handlers::query::sale::Buyer;
use crate::api::handlers::query::uncharged;
use crate::api::handlers::streams::row_stream::RowEvents;
use crate::api::handlers::streams::stream_end::TRAILERS;
use crate::api::processor_limit::ProcessorLimit;
use crate::api::route::{Guard, Route, Work};
use crate::limits::api::{COUNT_TOLD_MAX, STREAM_LIMIT_MAX};
use mercato_base::words::placed;
use mercato_catalog::Dataset;
use mercato_ledger::{Reservation, Spending, ViewRows};
use mercato_query::render::{Format, Output};
use mercato_query::{Count, GroupRows, QueryRequest};
use mercato_web::{
    ApiError, ErrorKind, Method, Response, ValidationErrorBody, choose,
    coding::{self, Coding},
    refuse_tags,
};

/// Paths of this file.
pub const ROUTES: &[Route] =
    &[Route::new(Method::Post, "/api/v1/datasets/{slug}/query/stream", Guard::Key, stream).by(Work::Long)];

/// The place of the cursor in the body, as faults name it.
const CURSOR: &str = "/cursor";

const OFFERS: [&[&str]; 5] = [
    &["text/event-stream"],
    &["application/x-ndjson", "application/ndjson", "application/jsonl"],
    &["text/csv", "application/csv"],
    &[ARROW_MEDIA_TYPE],
    &[XLSX_MEDIA_TYPE],
];
const FORMATS: [Output; 5] = [
    Output::Text(Format::Sse),
    Output::Text(Format::Ndjson),
    Output::Text(Format::Csv),
    Output::Arrow,
    Output::Xlsx,
];

/// Refuses invalid requests before the first byte, and reserves the highest price of the stream.
fn stream(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let answered = begin(app, request);
    answered.map_err(|refusal| uncharged(refusal, request))
}

fn begin(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let mut parameters = request.query();
    let summary = parameters.choice("summary", &[("0", false), ("1", true)]).unwrap_or(false);
    let passed_over = parameters.integer("afterRows", 0, STREAM_LIMIT_MAX, 0);
    parameters.finish()?;
    let body = request.read_json_body()?;
    let dataset = find_for_key(app, request)?;
    let output = stream_format(request, summary)?;
    refuse_tags(request)?;
    let work = ProcessorLimit::of(app, request);
    let mut asked = Asked::json(&body, STREAM_LIMIT_MAX).or_all_faults(&dataset, &work)?;
    let last_event = request.header("Last-Event-ID");
    let of_header = |refusal: ApiError| {
        if last_event.is_some() { refusal.pointing(CURSOR, "Last-Event-ID") } else { refusal }
    };
    if let Some(last_event) = last_event {
        asked.resume_at(last_event).map_err(|fault| of_header(refuse(vec![fault])))?;
    }
    let dataset = dataset_version::with_cursor(app, dataset, &asked);
    let version = dataset_version::of_query(&dataset, &asked, request.now(), &work)?;
    let wanted = content_under_a_key(request, &body);
    let buyer = Buyer::of(request)?;
    let claimed = claim(app, buyer, &dataset, version, Wanted::Stream, &wanted)?;
    let claimed = claimed.resumed_behind(passed_over)?;
    let set_aside = SetAside::of(app, buyer, dataset.slug(), &claimed, &asked, &work).map_err(of_header)?;
    let SetAside { reservation, total, groups } = set_aside;
    let left_out = groups.as_ref().map_or(0, GroupRows::left_out);
    let (is_replayed, reserved, remaining) =
        (reservation.is_replayed(), reservation.reserved(), reservation.remaining());
    let caps = reservation.caps().to_vec();
    let version = claimed.version;
    let number = version.version.to_string();
    let events = RowEvents {
        app: app.long_work(),
        slug: dataset.slug().to_owned(),
        version,
        asked,
        groups,
        output,
        summary,
        passed_over,
        reservation,
        work,
        request_id: request.request_id().to_owned(),
    };
    let coding = coding_of(request, output);
    let response = with_replay(Response::stream(content_type(output), Box::new(events)), is_replayed)
        .with_coding(coding)
        .with_header("Trailer", TRAILERS)
        .with_header("X-Credits-Reserved", reserved.to_string())
        .with_header("X-Credits-Remaining", remaining.to_string())
        .with_header("X-Dataset-Version", number)
        .with_header("X-Accel-Buffering", "no")
        .with_header("Vary", "Accept");
    let response = with_credits_warning(app, response, buyer.account, &caps, remaining);
    Ok(with_total(with_left_out(response, left_out), total))
}

/// The reservation of a stream that can begin.
struct SetAside {
    reservation: Reservation,
    /// All rows that match, where an index tells them or the request wants them counted. The head of a stream is sent before
    /// its rows are paid.
    total: Option<Count>,
    /// The groups of a group query: they are found before the head is sent.
    groups: Option<GroupRows>,
}

impl SetAside {
    /// Checks a request against the schema, and reserves the highest price of its rows.
    fn of(
        app: &App,
        buyer: Buyer<'_>,
        slug: &str,
        claimed: &Claimed,
        asked: &QueryRequest,
        work: &ProcessorLimit,
    ) -> Result<Self, ApiError> {
        let query = CheckedQuery::new(app, slug, &claimed.version, asked, work)?;
        let Buyer { account, key, at, .. } = buyer;
        let limit = query.plan().limit();
        let spending = Spending::Rows { limit };
        if !claimed.is_paid {
            buyer.refuse_poor(app, &query, claimed)?;
        }
        let free_queries = app.ledger.free_plan().queries_for(limit);
        if query.plan().is_grouped() {
            let groups = query.groups()?;
            // Neither a refusal nor the head tells how many groups fulfil a condition.
            let is_told = !query.plan().has_group_condition();
            let most = if is_told { groups.count() } else { query.rows_at_most() };
            let view = buyer.view_of(app, query.viewed(ViewRows::Some), most).map_err(from_books)?;
            let charge = buyer.charge(most, free_queries, slug, claimed, view);
            let reservation = app.ledger.reserve(&charge).map_err(from_books)?;
            let total = is_told.then(|| Count::up_to(groups.total(), COUNT_TOLD_MAX));
            return Ok(Self { reservation, total, groups: Some(groups) });
        }
        let total = query.told_total()?;
        let known = total.and_then(Count::exact).unwrap_or(u64::MAX).saturating_sub(query.plan().offset());
        let most = query.rows_at_most().min(known);
        // An account that can pay for the largest possible result does not wait for a count.
        let rows = if app.ledger.estimate(account, key, most, spending, at).map_err(from_books)?.affordable {
            most
        } else {
            query.told_rows()?.at_most
        };
        // The whole view, if its rows cannot be more than the limit.
        let matches = known.min(query.plan().table().row_count().into());
        let is_whole = query.plan().is_from_start() && matches <= limit;
        let of_view = if is_whole { ViewRows::All } else { ViewRows::Some };
        let view = buyer.view_of(app, query.viewed(of_view), rows).map_err(from_books)?;
        let reservation =
            app.ledger.reserve(&buyer.charge(rows, free_queries, slug, claimed, view)).map_err(from_books)?;
        Ok(Self { reservation, total, groups: None })
    }
}

/// Streams rows to somebody who asks with the JSON of the API, in a format without comments. Reserves the highest price.
pub fn stream_rows(
    app: &App,
    buyer: Buyer<'_>,
    dataset: &Dataset,
    body: &[u8],
    output: Output,
    work: ProcessorLimit,
) -> Result<Response, ApiError> {
    let asked = Asked::json(body, STREAM_LIMIT_MAX).or_all_faults(dataset, &work)?;
    let version = dataset_version::of_query(dataset, &asked, buyer.at, &work)?;
    let claimed = claim(app, buyer, dataset, version, Wanted::Stream, body)?;
    let SetAside { reservation, groups, .. } =
        SetAside::of(app, buyer, dataset.slug(), &claimed, &asked, &work)?;
    let events = RowEvents {
        app: app.long_work(),
        slug: dataset.slug().to_owned(),
        version: claimed.version,
        asked,
        groups,
        output,
        summary: false,
        passed_over: 0,
        reservation,
        work,
        request_id: buyer.request_id.to_owned(),
    };
    let response = Response::stream(content_type(output), Box::new(events));
    Ok(response.with_header("X-Accel-Buffering", "no"))
}

/// The body, and with it the event behind which it begins, must not differ under one key.
fn content_under_a_key(request: &Incoming, body: &[u8]) -> Vec<u8> {
    let last_event = request.header("Last-Event-ID").unwrap_or_default();
    [last_event.as_bytes(), b"\n", body].concat()
}

impl Claimed {
    /// Only a response that was begun before can skip rows.
    fn resumed_behind(self, passed_over: u64) -> Result<Self, ApiError> {
        if self.is_paid || passed_over == 0 {
            return Ok(self);
        }
        let message = "nothing was charged for this request under this Idempotency-Key";
        Err(ApiError::new(ErrorKind::Unprocessable, message)
            .with_reason("NOTHING_TO_RESUME", "send the request without afterRows"))
    }
}

/// Marks a response that was paid before, in full or in part.
pub(super) fn with_replay(response: Response, is_replayed: bool) -> Response {
    if is_replayed { response.with_header("Idempotent-Replayed", "true") } else { response }
}

/// Events are encoded only for a client that refuses the plain form, because proxies often hold encoded events back.
fn coding_of(request: &Incoming, output: Output) -> Option<Coding> {
    let wanted = coding::wanted(&request.accept_encoding());
    // A workbook is deflated already.
    let fits = !matches!(output, Output::Text(Format::Sse) | Output::Xlsx) || wanted.refuses_plain;
    wanted.coding.filter(|_| fits)
}

fn stream_format(request: &Incoming, summary: bool) -> Result<Output, ApiError> {
    let offer = choose(&request.accept(), &OFFERS).ok_or_else(|| none_acceptable(&OFFERS))?;
    match FORMATS.get(offer).copied().unwrap_or(Output::Text(Format::Sse)) {
        output @ (Output::Arrow | Output::Xlsx) if summary => Err(no_summary(output)),
        output => Ok(output),
    }
}

/// An Arrow stream and a workbook have no place for a summary.
fn no_summary(output: Output) -> ApiError {
    let name = if output == Output::Xlsx { "a workbook" } else { "an Arrow stream" };
    ApiError::bad_request(vec![ValidationErrorBody::parameter(
        "SUMMARY_NOT_OFFERED",
        "summary",
        placed("summary", &format!("{name} has no place for it")),
        "read the trailers X-Rows-Returned, X-Next-Cursor and X-Credits-Charged, or leave `summary` out",
    )])
}
