//! Begins a purchase: makes a checkout in the books, has the provider open its page for it, and leads the browser there. Does not
//! depend on the kind of provider.

use super::offer::price;
use super::words::BuyingWords;
use crate::api::{App, Incoming, from_books, unknown_path};
use crate::limits::api::RETRY_AFTER_BUSY_SECONDS;
use crate::site::account::area::{self, Area};
use crate::site::account::credits;
use crate::site::account::done::Done;
use crate::site::account::form::Form;
use crate::site::words::fill;
use mercato_ledger::{BeginCheckout, BooksError, Checkout};
use mercato_payments::{CheckoutPage, ProviderError};
use mercato_web::{ApiError, Response, random_bytes};

/// The field that names a pack by its credits.
const CREDITS: &str = "credits";

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
