//! The packs of credits on `/account/credits`, the form that buys one, and the list of purchases. Does not depend on the kind
//! of provider.

use askama::Template;

use super::words::BuyingWords;
use crate::api::{App, from_books};
use crate::branding::Pack;
use crate::site::account::area::Area;
use crate::site::visit::Visit;
use crate::site::words::fill;
use mercato_ledger::{Checkout, CheckoutState, Price, PurchasesQuery};
use mercato_payments::Provider;
use mercato_web::ApiError;

/// Purchases of one page of an account.
const PURCHASES_PER_PAGE: usize = 20;
/// Name of the parameter that says where the list of purchases begins.
pub const BOUGHT: &str = "bought";

/// The form and the purchases.
#[derive(Template)]
#[template(path = "account/buying/offer.html")]
pub struct Offer {
    words: &'static BuyingWords,
    action: String,
    packs: Vec<PackLine>,
    said: &'static str,
    /// What becomes of the free queries.
    free: Option<String>,
    problem: Option<&'static str>,
    is_open: bool,
    purchases: Vec<PurchaseLine>,
    older: Option<String>,
}

/// A pack to choose.
struct PackLine {
    credits: u64,
    text: String,
}

/// A purchase in the list.
struct PurchaseLine {
    at: String,
    credits: String,
    price: String,
    state: &'static str,
    url: String,
    show: String,
}

impl Offer {
    /// The part of the page of credits about buying. A server without payments shows earlier purchases only.
    pub fn of(app: &App, area: &Area, problem: Option<&'static str>) -> Result<Self, ApiError> {
        let (words, visit) = (BuyingWords::of(area.visit.language), &area.visit);
        let before = visit.value(BOUGHT).and_then(|text| text.parse().ok());
        let query = PurchasesQuery { account: Some(area.account.id()), before, limit: PURCHASES_PER_PAGE };
        let page = app.ledger.purchases(&query).map_err(from_books)?;
        let provider = app.payments.provider();
        let is_click = provider.is_some_and(Provider::is_paid_by_click);
        let sale = &visit.branding.sale;
        let left = app.ledger.free_queries_remaining(&area.account, visit.now);
        Ok(Self {
            words,
            action: visit.link("/account/credits").to_string(),
            packs: sale.packs.iter().filter_map(|pack| PackLine::of(visit, words, *pack)).collect(),
            said: if is_click { words.demo_said } else { words.pay_said },
            free: (left > 0).then(|| fill(words.free_stays, visit.numbers.integer(left.into()))),
            problem,
            is_open: provider.is_some(),
            purchases: page.purchases.iter().map(|bought| PurchaseLine::of(area, words, bought)).collect(),
            older: page.before.map(|before| visit.link("/account/credits").with(BOUGHT, before).to_string()),
        })
    }
}

impl PackLine {
    fn of(visit: &Visit, words: &BuyingWords, pack: Pack) -> Option<Self> {
        let price = price(visit, pack)?;
        let numbers = visit.numbers;
        let (credits, net) = (numbers.integer(pack.credits), numbers.cents(price.net));
        let text = if price.vat == 0 {
            fill(&fill(words.pack, credits), net)
        } else {
            fill(&fill(&fill(words.pack_plus_vat, credits), net), numbers.cents(price.gross))
        };
        Some(Self { credits: pack.credits, text })
    }
}

impl PurchaseLine {
    fn of(area: &Area, words: &'static BuyingWords, checkout: &Checkout) -> Self {
        let numbers = area.visit.numbers;
        let at = numbers.minute(checkout.created_at);
        Self {
            credits: numbers.integer(checkout.credits),
            price: numbers.cents(checkout.price.gross),
            state: state(words, checkout.state(area.visit.now)),
            url: area.visit.link(&super::purchase::path(checkout)).to_string(),
            show: fill(words.show_purchase, &at),
            at,
        }
    }
}

/// The price of a pack with the tax of the place.
pub(super) fn price(visit: &Visit, pack: Pack) -> Option<Price> {
    Price::with_vat(pack.cents, visit.branding.sale.vat_basis_points)
}

/// The state of a purchase in words.
pub fn state(words: &'static BuyingWords, state: CheckoutState) -> &'static str {
    match state {
        CheckoutState::Open => words.open,
        CheckoutState::Lapsed => words.lapsed,
        CheckoutState::Cancelled => words.cancelled,
        CheckoutState::Paid => words.paid,
        CheckoutState::PartlyRefunded => words.partly_refunded,
        CheckoutState::Refunded => words.refunded,
        CheckoutState::Disputed => words.disputed,
    }
}
