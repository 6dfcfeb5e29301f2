//! The sale of one page of rows: version, credit, rows, charge, printing.
//!
//! The same for the API and for pages. Depends on who pays, not on how they were recognised or what the rows are printed as.

use crate::api::app::App;
use crate::api::books_errors::from_books;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_version;
use crate::api::handlers::query::checked_query::CheckedQuery;
use crate::api::handlers::query::pending_charge::PendingCharge;
use crate::api::handlers::query::query_input::{Asked, Claimed, Wanted, claim};
use crate::api::processor_limit::ProcessorLimit;
use crate::limits::api::QUERY_LIMIT_MAX;
use mercato_base::clock::Moment;
use mercato_catalog::{Dataset, DatasetVersion, FormatError};
use mercato_ledger::{
    AccountHandle, ChargeError, ChargeRequest, Durable, KeyHandle, Pending, Receipt, Spending, ViewRows,
    Viewed,
};
use mercato_people::Caller;
use mercato_query::{Count, Page, QueryRequest};
use mercato_web::ApiError;

/// The payer of rows: account, key and idempotency key.
#[derive(Clone, Copy)]
pub struct Buyer<'b> {
    pub account: &'b AccountHandle,
    /// The key of a program; nothing for a person who is signed in.
    pub key: Option<&'b KeyHandle>,
    /// Under which the same request is paid once.
    pub idempotency_key: Option<&'b str>,
    pub request_id: &'b str,
    pub at: Moment,
}

impl<'b> Buyer<'b> {
    /// The caller of a route that requires a key.
    pub fn of(request: &'b Incoming) -> Result<Self, ApiError> {
        let Caller { account, key } = request.context.caller()?;
        Ok(Self {
            account,
            key: Some(key),
            idempotency_key: request.header("Idempotency-Key"),
            request_id: request.request_id(),
            at: request.now(),
        })
    }

    /// The charge of so many rows, under the claim of the key, with the free queries that are for its `limit`.
    pub fn charge(
        &self,
        rows: u64,
        free_queries: u32,
        slug: &str,
        claimed: &Claimed,
        view: Option<Viewed>,
    ) -> ChargeRequest {
        ChargeRequest {
            account: self.account.clone(),
            key: self.key.map(KeyHandle::id),
            rows,
            free_queries,
            dataset: slug.to_owned(),
            request_id: self.request_id.to_owned(),
            claim: claimed.claim,
            view,
            at: self.at,
        }
    }

    /// The view as the books need it for so many of its rows: always on the site, whose payments are remembered, and elsewhere
    /// where some of the rows were paid there.
    pub fn view_of(&self, app: &App, viewed: Viewed, rows: u64) -> Result<Option<Viewed>, ChargeError> {
        if self.key.is_none() {
            return Ok(Some(viewed.on_site()));
        }
        let paid = app.ledger.paid_before(self.account, &viewed, rows, self.at)?;
        Ok(Some(viewed).filter(|_| paid > 0))
    }

    /// Refuses a buyer who can afford no row of a query and has paid for none of its view.
    pub fn refuse_poor(
        &self,
        app: &App,
        query: &CheckedQuery<'_>,
        claimed: &Claimed,
    ) -> Result<(), ApiError> {
        let spending = Spending::Rows { limit: query.plan().limit() };
        let claim = claimed.claim.as_ref();
        let Err(refusal) = app.ledger.can_afford_anything(self.account, self.key, spending, claim, self.at)
        else {
            return Ok(());
        };
        match app.ledger.paid_before(self.account, &query.viewed(ViewRows::All), u64::MAX, self.at) {
            Ok(1..) => Ok(()),
            _ => Err(from_books(refusal)),
        }
    }
}

/// A page that can be had. Nothing is charged yet.
pub struct Offer<'o> {
    app: &'o App,
    buyer: Buyer<'o>,
    slug: &'o str,
    claimed: &'o Claimed,
    query: CheckedQuery<'o>,
}

/// A page that was sold.
pub struct Sold<T> {
    /// The rows, as they were printed.
    pub printed: T,
    /// All rows that match, as far as the payment tells them.
    pub total: Option<Count>,
    /// How many.
    pub rows: u64,
    /// The receipt of their charge.
    pub receipt: Receipt,
    /// Nothing may be sent before this.
    pub durable: Durable,
}

impl<'o> Offer<'o> {
    /// Checks a request against the schema, and that the buyer can afford anything at all.
    pub fn new(
        app: &'o App,
        buyer: Buyer<'o>,
        slug: &'o str,
        claimed: &'o Claimed,
        asked: &QueryRequest,
        work: &'o ProcessorLimit,
    ) -> Result<Self, ApiError> {
        let query = CheckedQuery::new(app, slug, &claimed.version, asked, work)?;
        buyer.refuse_poor(app, &query, claimed)?;
        Ok(Self { app, buyer, slug, claimed, query })
    }

    /// Finds the rows, charges them and prints them. The charge becomes durable while they are printed, or afterwards.
    pub fn sell<T>(
        &self,
        print: impl FnOnce(&DatasetVersion, &[usize], &Page) -> Result<T, FormatError>,
    ) -> Result<Sold<T>, ApiError> {
        self.refuse_unaffordable()?;
        let page = self.query.page()?;
        let rows = page.rows.len().try_into().unwrap_or(u64::MAX);
        let pending = self.charge(&page, page.rows.len())?;
        let printed = print(&self.claimed.version, self.query.plan().columns(), &page)
            .map_err(|error| self.query.damaged(&error))?;
        let (receipt, durable) = pending.complete()?;
        let total = self.query.total_of(&page, &receipt);
        Ok(Sold { printed, total, rows, receipt, durable })
    }

    /// Refuses a page far behind the start unless all rows that it can have are affordable. Otherwise 402 for one row, and an
    /// empty page for nothing, would tell how many rows match.
    pub fn refuse_unaffordable(&self) -> Result<(), ApiError> {
        let Some(rows) = self.query.rows_behind_told().filter(|_| !self.claimed.is_paid) else {
            return Ok(());
        };
        let Buyer { account, key, at, .. } = self.buyer;
        let viewed = self.query.viewed(ViewRows::Some);
        if self.app.ledger.paid_before(account, &viewed, rows, at).map_err(from_books)? == rows {
            return Ok(());
        }
        let spending = Spending::Rows { limit: self.query.plan().limit() };
        if self.app.ledger.estimate(account, key, rows, spending, at).map_err(from_books)?.affordable {
            return Ok(());
        }
        // Refused, because it cannot be paid. Where credits were bought in this moment, it is given back at once.
        self.submit(rows, None)?.give_back()
    }

    /// The query that the page answers.
    pub fn query(&self) -> &CheckedQuery<'o> {
        &self.query
    }

    /// Charges the first rows of a page.
    pub fn charge(&self, page: &Page, count: usize) -> Result<PendingCharge, ApiError> {
        let rows = count.try_into().unwrap_or(u64::MAX);
        let shown = page.rows.get(..count).unwrap_or(&page.rows);
        let is_whole =
            self.query.plan().is_from_start() && page.next_cursor.is_none() && shown.len() == page.rows.len();
        let of_view = if is_whole { ViewRows::All } else { ViewRows::These(shown.into()) };
        let view = self.buyer.view_of(self.app, self.query.viewed(of_view), rows).map_err(from_books)?;
        self.submit(rows, view)
    }

    fn submit(&self, rows: u64, view: Option<Viewed>) -> Result<PendingCharge, ApiError> {
        let ledger = &self.app.ledger;
        let free_queries = ledger.free_plan().queries_for(self.query.plan().limit());
        PendingCharge::submit(ledger, &self.buyer.charge(rows, free_queries, self.slug, self.claimed, view))
    }
}

impl<T> Sold<T> {
    /// Gives the credits back for rows that cannot be shown after all.
    pub fn give_back(self, app: &App, at: Moment) {
        let refund = app.ledger.refund(self.receipt, at).and_then(Pending::durable);
        if let Err(error) = refund {
            tracing::error!(%error, "the charge of a failed answer is not refunded");
        }
    }
}

/// Sells a page to somebody who asks with the JSON of the API. Gives the version that was read beside it.
pub fn sell_page<T>(
    app: &App,
    buyer: Buyer<'_>,
    dataset: &Dataset,
    body: &[u8],
    work: &ProcessorLimit,
    print: impl FnOnce(&DatasetVersion, &[usize], &Page) -> Result<T, FormatError>,
) -> Result<(Sold<T>, DatasetVersion), ApiError> {
    let asked = Asked::json(body, QUERY_LIMIT_MAX).or_all_faults(dataset, work)?;
    let version = dataset_version::of_query(dataset, &asked, buyer.at, work)?;
    let claimed = claim(app, buyer, dataset, version, Wanted::Page, body)?;
    let sold = Offer::new(app, buyer, dataset.slug(), &claimed, &asked, work)?.sell(print)?;
    Ok((sold, claimed.version))
}
