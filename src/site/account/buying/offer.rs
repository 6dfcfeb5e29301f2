//! The packs of credits on `/account/credits`, the form that buys one, and the list of purchases.
//!
//! A form makes a checkout in the books first. Then the provider opens its page for it, to which the browser is led. Does not
//! depend on the kind of provider.

use askama::Template;

use super::words::BuyingWords;
use crate::api::{App, Incoming, from_books, unknown_path};
use crate::branding::Pack;
use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use crate::site::account::area::{self, Area};
use crate::site::account::credits;
use crate::site::account::done::Done;
use crate::site::account::form::Form;
use crate::site::visit::Visit;
use crate::site::words::fill;
use mercato_ledger::{BeginCheckout, BooksError, Checkout, CheckoutState, Price, PurchasesQuery};
use mercato_payments::{CheckoutPage, Provider, ProviderError};
use mercato_web::{ApiError, Response, random_bytes};

/// Purchases of one page of an account.
const PURCHASES_PER_PAGE: usize = 20;
/// The field that names a pack by its credits.
const CREDITS: &str = "credits";
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
fn price(visit: &Visit, pack: Pack) -> Option<Price> {
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

/// Begins a purchase, and leads to the page on which it is paid.
pub fn buy(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::change(app, request, |app, request, area| {
        let form = Form::read(request, &[CREDITS])?;
        let words = BuyingWords::of(area.visit.language);
        let Some(provider) = app.payments.provider() else { return Err(unknown_path(app)) };
        let chosen = form.text(CREDITS).parse().ok();
        let pack = chosen.and_then(|credits| area.visit.branding.sale.pack(credits));
        let Some((pack, price)) = pack.and_then(|pack| Some((pack, price(&area.visit, pack)?))) else {
            return credits::page(app, request, &area, Some(words.none_chosen));
        };
        let new = BeginCheckout {
            account: area.account.id(),
            provider: provider.name().to_owned(),
            credits: pack.credits,
            price,
            random: random_bytes()?,
            at: request.now(),
        };
        let checkout = match app.ledger.commit(&new) {
            Ok(checkout) => checkout,
            Err(BooksError::Invalid { .. }) => {
                return credits::page(app, request, &area, Some(words.too_many));
            }
            Err(error) => return Err(from_books(error)),
        };
        let to = open(app, &area, words, &checkout)?;
        Ok(area.visit.redirect_to(request, to))
    })
}

/// The address of the page on which a checkout is paid.
fn open(app: &App, area: &Area, words: &BuyingWords, checkout: &Checkout) -> Result<String, ApiError> {
    let visit = &area.visit;
    let own = visit.link(&super::purchase::path(checkout));
    let title = fill(words.credits_item, visit.numbers.integer(checkout.credits));
    let page = CheckoutPage {
        checkout,
        title: &format!("{}: {title}", visit.branding.name),
        email: area.login.email.as_str(),
        language: visit.code(),
        success_url: &visit.absolute(&Done::Paying.at(&own)),
        cancel_url: &visit.absolute(&Done::Cancelled.at(&visit.link("/account/credits"))),
        confirm_url: &own.to_string(),
    };
    let provider = app.payments.provider().ok_or_else(|| unknown_path(app))?;
    provider.open(&page).map_err(|error| unavailable(&error, checkout))
}

/// The customer learns that nothing was paid; the log learns why.
fn unavailable(error: &ProviderError, checkout: &Checkout) -> ApiError {
    tracing::error!(%error, account = %checkout.account, checkout = checkout.id.number(), "a payment cannot begin");
    ApiError::unavailable("the payment cannot begin right now; nothing was paid", RETRY_AFTER_BUSY_SECONDS)
        .with_reason("PAYMENT_UNAVAILABLE", "try again in a minute")
}
