//! Prices of rows and of whole datasets, free queries, and limits, from the numbers in force.
//!
//! Does not depend on accounts.

use askama::Template;

use super::cache::Cache;
use super::frame::{Frame, Link, Section};
use super::visit::Visit;
use super::words::fill;
use crate::api::route::{Guard, Route};
use crate::api::{App, Incoming};
use crate::branding::Pack;
use mercato_catalog::Snapshot;
use mercato_ledger::Price;
use mercato_ledger::limits::DOWNLOAD_GRANT_HOURS;
use mercato_web::{ApiError, Method, Response};

/// Datasets in the table of prices.
const PRICED_MAX: usize = 10;

/// Paths of this file.
pub(super) const ROUTES: &[Route] = &[Route::new(Method::Get, "/pricing", Guard::Public, pricing)];

/// Numbers of rows whose prices are shown.
const AMOUNTS: [u64; 6] = [1, 100, 1_000, 10_000, 100_000, 1_000_000];

#[derive(Template)]
#[template(path = "pricing.html")]
struct PricingPage {
    frame: Frame,
    text: String,
    amounts: Vec<Amount>,
    /// Whether prices with tax stand beside those without.
    has_gross: bool,
    packs: Vec<PackLine>,
    packs_text: Option<String>,
    /// The page that sells credits, if they can be bought here.
    buy: Option<String>,
    datasets: Vec<Amount>,
    credits: Vec<String>,
    free: Vec<String>,
    limits: Vec<String>,
    contact: Option<Link>,
    /// The text before and behind the contact.
    ask: (String, String),
    list: String,
}

/// A number of rows and its price.
struct Amount {
    dataset: Option<Link>,
    rows: String,
    price: String,
    gross: Option<String>,
}

/// A pack of credits and its price.
struct PackLine {
    credits: String,
    net: String,
    gross: String,
}

fn pricing(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    let snapshot = app.catalog.snapshot();
    let page = PricingPage::new(app, &visit, &snapshot);
    visit.answer(request, &page, Cache::Revalidate(snapshot.changed_at()))
}

impl PricingPage {
    fn new(app: &App, visit: &Visit, snapshot: &Snapshot) -> Self {
        let (words, numbers) = (visit.words, visit.numbers);
        let vat = visit.branding.sale.vat_basis_points;
        let amount = |rows: u64| Amount {
            dataset: None,
            rows: numbers.integer(rows),
            price: numbers.price(rows),
            gross: (vat > 0).then(|| numbers.price_with_vat(rows, vat)),
        };
        let datasets = snapshot.datasets().iter().take(PRICED_MAX).map(|dataset| {
            let title = dataset.manifest.title.choose(Some(visit.language)).unwrap_or(dataset.slug());
            let url = visit.link(&format!("/datasets/{}", dataset.slug())).to_string();
            let rows = dataset.current.table.row_count().into();
            Amount {
                dataset: Some(Link { text: title.to_owned(), url }),
                rows: numbers.integer(rows),
                price: numbers.price_to_the_cent(rows),
                gross: visit.gross(rows),
            }
        });
        let contact = visit.branding.contact.as_ref();
        let (before, behind) = words.buy_ask.split_once("{}").unwrap_or((words.buy_ask, ""));
        Self {
            frame: visit.frame(Section::Pricing, words.pricing_title, words.pricing_description),
            text: fill(words.pricing_text, visit.price(1_000)),
            amounts: AMOUNTS.into_iter().map(amount).collect(),
            packs: packs(visit),
            has_gross: vat > 0,
            packs_text: (vat > 0).then(|| fill(words.packs_vat, numbers.percent(vat))),
            buy: app.payments.provider().map(|_| visit.link("/account/credits").to_string()),
            datasets: datasets.collect(),
            credits: vec![
                words.credits_rows.to_owned(),
                words.credits_first.to_owned(),
                words.credits_failed.to_owned(),
                fill(words.credits_whole, DOWNLOAD_GRANT_HOURS),
            ],
            free: free(app, visit),
            limits: limits(app, visit),
            contact: contact.map(|contact| Link { text: contact.text.clone(), url: contact.address.clone() }),
            ask: (before.to_owned(), behind.to_owned()),
            list: visit.link("/datasets").with("sort", "rows").to_string(),
        }
    }
}

/// What costs nothing.
fn free(app: &App, visit: &Visit) -> Vec<String> {
    let (words, numbers, plan) = (visit.words, visit.numbers, app.ledger.free_plan());
    let mut lines = vec![words.free_catalogue.to_owned()];
    if plan.queries_per_month > 0 {
        lines.push(fill(words.free_queries, numbers.integer(plan.queries_per_month.into())));
        lines.push(fill(words.free_rows, numbers.integer(plan.rows_per_query)));
        lines.push(words.free_not.to_owned());
    }
    lines
}

/// The packs that the place sells.
fn packs(visit: &Visit) -> Vec<PackLine> {
    let (numbers, sale) = (visit.numbers, &visit.branding.sale);
    let line = |pack: &Pack| {
        let price = Price::with_vat(pack.cents, sale.vat_basis_points)?;
        let (net, gross) = (numbers.cents(price.net), numbers.cents(price.gross));
        Some(PackLine { credits: numbers.integer(pack.credits), net, gross })
    };
    sale.packs.iter().filter_map(line).collect()
}

/// The limits that are in force.
fn limits(app: &App, visit: &Visit) -> Vec<String> {
    let (words, limits) = (visit.words, app.access.limits());
    let named = [(words.limits_minute, limits.per_minute), (words.limits_day, limits.per_day)];
    let in_force = named.into_iter().filter(|(_, limit)| *limit > 0);
    in_force.map(|(text, limit)| fill(text, visit.numbers.integer(limit.into()))).collect()
}
