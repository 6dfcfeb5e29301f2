//! `query_rows`, and the sale that `aggregate_rows` shares: a page, charged once, never above the caller's ceiling.

use crate::api::books_errors::from_books;
use serde::Serialize;

use super::rows::Rows;
use super::{Arguments, Output};
use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::may_read;
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::checked_query::CheckedQuery;
use crate::api::handlers::query::credits_warning::credits_warnings;
use crate::api::handlers::query::page_answer::left_out_warning;
use crate::api::handlers::query::price::Price;
use crate::api::handlers::query::query_input::{Asked, Wanted, claim};
use crate::api::handlers::query::sale::{Buyer, Offer};
use crate::api::processor_limit::ProcessorLimit;
use crate::limits::api::QUERY_LIMIT_MAX;
use crate::limits::mcp::{CREDITS_DEFAULT, QUERY_ROWS_DEFAULT, ROWS_BYTES_MAX};
use mercato_base::words::{counted, grouped};
use mercato_ledger::{Receipt, Spending};
use mercato_people::Caller;
use mercato_query::{Count, GroupRows, Page, Unlimited};
use mercato_web::{ApiError, ErrorKind};

/// The arguments that are fields of a query.
pub(super) const QUERY: [&str; 8] =
    ["filters", "columns", "sortBy", "sortDirection", "limit", "offset", "cursor", "version"];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tail<'a> {
    slug: &'a str,
    version: String,
    rows_returned: usize,
    next_cursor: Option<String>,
    total_rows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_rows_at_least: Option<u64>,
    credits_charged: u64,
    credits_remaining: u64,
    free_queries_remaining: u32,
    replayed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// What a tool sells.
pub(super) struct Goods {
    /// The arguments that are fields of a query.
    pub(super) fields: &'static [&'static str],
    /// The word for one of them.
    pub(super) unit: &'static str,
}

pub(super) fn run(app: &App, request: &mut Incoming, arguments: Arguments) -> Result<Output, ApiError> {
    sell(app, request, arguments, &Goods { fields: &QUERY, unit: "row" })
}

/// The stops of a query, forward only: arguments, key, dataset, credit, rows, ceiling, encoding, charge.
pub(super) fn sell(
    app: &App,
    request: &mut Incoming,
    mut arguments: Arguments,
    goods: &Goods,
) -> Result<Output, ApiError> {
    let slug = arguments.slug();
    let ceiling = arguments.integer("maxCredits", 0, u64::MAX, CREDITS_DEFAULT);
    let once = arguments.text("idempotencyKey");
    let body = arguments.body(goods.fields, QUERY_ROWS_DEFAULT);
    arguments.finish()?;
    let caller = super::caller(app, request)?;
    let dataset = super::dataset(app, request, &slug)?;
    may_read(&dataset, &caller)?;
    let work = ProcessorLimit::of(app, request);
    let asked = Asked::json(body.as_bytes(), QUERY_LIMIT_MAX).or_all_faults(&dataset, &work)?;
    let dataset = dataset_version::with_cursor(app, dataset, &asked);
    let version = dataset_version::of_query(&dataset, &asked, request.now(), &work)?;
    let Caller { account, key } = caller;
    let buyer = Buyer {
        account: &account,
        key: Some(&key),
        idempotency_key: once.as_deref(),
        request_id: request.request_id(),
        at: request.now(),
    };
    let claimed = claim(app, buyer, &dataset, version, Wanted::Page, body.as_bytes())
        .map_err(|error| error.pointing("Idempotency-Key", "idempotencyKey"))?;
    let version = &claimed.version;
    let offer = Offer::new(app, buyer, dataset.slug(), &claimed, &asked, &work)?;
    let (query, plan) = (offer.query(), offer.query().plan());
    let page = below_ceiling(app, buyer, &offer, claimed.is_paid, ceiling)?;
    let table = page.table(&version.table);
    let rows = Rows::encode(table, plan.columns(), &page.rows, |error| query.damaged(error))?;
    let next_cursor = cursor_after(query, &page, rows.count)?;
    let charged_rows = rows.count.try_into().unwrap_or(u64::MAX);
    let (receipt, durable) = offer.charge(&page, rows.count)?.complete()?;
    let total = query.total_of(&page, &receipt);
    request.context.log.rows = Some(charged_rows);
    request.context.log.credits = Some(receipt.charged);
    let left_out = left_out_warning(page.groups.as_deref().map_or(0, GroupRows::left_out));
    let credits_warnings = credits_warnings(app, &account, &receipt.caps, receipt.remaining);
    let tail = Tail {
        slug: dataset.slug(),
        version: version.version.to_string(),
        rows_returned: rows.count,
        next_cursor,
        total_rows: total.and_then(Count::exact),
        total_rows_at_least: total.and_then(Count::at_least),
        credits_charged: receipt.charged,
        credits_remaining: receipt.remaining,
        free_queries_remaining: app.ledger.free_queries_remaining(&account, request.now()),
        replayed: receipt.replayed,
        warnings: rows.warnings().into_iter().chain(left_out).chain(credits_warnings).collect(),
    };
    let output = Output::free(&tail, in_words(&tail, goods.unit, page.rows.len(), &receipt))?;
    let credits = Some((receipt.charged, receipt.remaining));
    Ok(Output { structured: rows.before(&output.structured), durable: Some(durable), credits, ..output })
}

/// The page, unless it costs more than the ceiling. A refusal is free, so it tells of groups only what an estimate tells:
/// how many fulfil `having` or follow a cursor depends on aggregates, which are for sale.
fn below_ceiling(
    app: &App,
    buyer: Buyer<'_>,
    offer: &Offer<'_>,
    is_paid: bool,
    ceiling: u64,
) -> Result<Page, ApiError> {
    let query = offer.query();
    let spending = Spending::Rows { limit: query.plan().limit() };
    let cost = |rows: u64| {
        let cost = app.ledger.estimate(buyer.account, buyer.key, rows, spending, buyer.at);
        cost.map(|cost| cost.credits_required).map_err(from_books)
    };
    if !is_paid {
        if let Some(rows) = query.rows_behind_told() {
            refuse_above(ceiling, cost(rows)?, query.plan().has_group_condition())?;
        }
        if query.plan().is_grouped() && cost(query.rows_at_most())? > ceiling {
            let told = query.told_rows()?;
            refuse_above(ceiling, cost(told.at_most)?, told.at_least.is_some())?;
        }
    }
    offer.refuse_unaffordable()?;
    let page = query.page()?;
    if !is_paid {
        refuse_above(ceiling, cost(page.rows.len().try_into().unwrap_or(u64::MAX))?, false)?;
    }
    Ok(page)
}

/// The cursor behind the rows that are sent, which may be fewer than were found.
fn cursor_after(query: &CheckedQuery<'_>, page: &Page, sent: usize) -> Result<Option<String>, ApiError> {
    match page.rows.get(..sent).and_then(<[u32]>::last) {
        Some(last) if sent < page.rows.len() => {
            let cursor = match &page.groups {
                Some(groups) => groups.plan(&Unlimited).cursor_after(*last),
                None => query.plan().cursor_after(*last),
            };
            cursor.map(Some).map_err(|error| query.damaged(&error))
        }
        _ => Ok(page.next_cursor.clone()),
    }
}

/// Refuses a call that would cost more than its caller wants to pay.
fn refuse_above(ceiling: u64, cost: u64, is_bound: bool) -> Result<(), ApiError> {
    if cost <= ceiling {
        return Ok(());
    }
    let message = format!(
        "this call would cost {}{} ({} EUR without VAT), above maxCredits {}; nothing was charged for it",
        if is_bound { "up to " } else { "" },
        counted(cost, "credit"),
        Price::of(cost).eur(),
        grouped(ceiling),
    );
    let hint =
        format!("lower limit, narrow the filters, or set maxCredits to {cost} or more if the user agrees");
    Err(ApiError::new(ErrorKind::NoCredits, message)
        .with_reason("MAX_CREDITS", hint)
        .with_fact("required", cost)
        .with_fact("maxCredits", ceiling))
}

fn in_words(tail: &Tail<'_>, unit: &str, found: usize, receipt: &Receipt) -> String {
    let rows = counted(tail.rows_returned.try_into().unwrap_or(u64::MAX), unit);
    let total = match (tail.total_rows, tail.total_rows_at_least) {
        (Some(total), _) => format!(" ({} match)", grouped(total)),
        (None, Some(least)) => format!(" (more than {} match)", grouped(least)),
        (None, None) => String::new(),
    };
    let (charged, left) = (counted(receipt.charged, "credit"), counted(receipt.remaining, "credit"));
    let free = match tail.free_queries_remaining {
        0 if !receipt.is_free_query() => String::new(),
        free => format!("; free queries left this month: {}", grouped(free.into())),
    };
    let cut = if tail.rows_returned < found {
        format!(
            " Cut to {} bytes of {unit}s: name fewer columns for more of them.",
            grouped(ROWS_BYTES_MAX as u64)
        )
    } else {
        String::new()
    };
    let more = if tail.next_cursor.is_some() {
        " There are more: call again with cursor set to nextCursor, or with a higher limit."
    } else {
        " That is all."
    };
    format!(
        "{rows} of `{}` {}{total}. {charged} charged, {left} left{free}.{cut}{more}",
        tail.slug, tail.version
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_cost_above_ceiling_and_names_it() {
        assert!(refuse_above(10, 10, false).is_ok() && refuse_above(0, 0, true).is_ok());
        let refusal = refuse_above(1_000, 2_500, false).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::NoCredits);
        assert!(refusal.message().contains("2,500 credits (12.50 EUR"), "{}", refusal.message());
        assert_eq!(refusal.details().unwrap().reason(), "MAX_CREDITS");
        assert!(refuse_above(0, 9, true).unwrap_err().message().contains("would cost up to 9 credits"));
    }
}
