//! `/account/purchases/{id}`: one purchase, its state, and, where a click pays, the button for it.
//!
//! A purchase is shown to its owner only.

use askama::Template;

use super::offer::state;
use super::words::BuyingWords;
use crate::api::{App, Incoming, from_books, unknown_path};
use crate::site::account::area::{self, Area, Head, Tab};
use crate::site::account::done::{DONE, Done};
use crate::site::account::form::Form;
use crate::site::account::form_view::FormView;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_base::clock::Moment;
use mercato_ledger::{CancelCheckout, Checkout, CheckoutId};
use mercato_payments::News;
use mercato_web::{ApiError, Response};

/// The field that says what a form does, and its value in the one that cancels.
const ACTION: &str = "action";
const CANCEL: &str = "cancel";

#[derive(Template)]
#[template(path = "account/buying/purchase.html")]
struct PurchasePage {
    frame: Frame,
    head: Head,
    words: &'static BuyingWords,
    facts: Vec<(&'static str, String)>,
    said: Option<&'static str>,
    click: Option<FormView>,
    cancel: Option<FormView>,
    receipt: Option<String>,
    back: String,
}

/// The path of a purchase.
pub fn path(checkout: &Checkout) -> String {
    format!("/account/purchases/{}", checkout.id)
}

/// The purchase that the path names, if the signed-in customer made it.
pub fn of_owner(app: &App, request: &Incoming, area: &Area) -> Result<Checkout, ApiError> {
    let id = request.path_parameter(0).parse::<CheckoutId>().ok();
    let found = match id {
        Some(id) => app.ledger.checkout(id).map_err(from_books)?,
        None => None,
    };
    found.filter(|checkout| checkout.account == area.account.id()).ok_or_else(|| unknown_path(app))
}

/// The page.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[DONE], |app, request, area| {
        let checkout = of_owner(app, request, &area)?;
        let words = BuyingWords::of(area.visit.language);
        let title = fill(words.purchase_of, area.visit.numbers.integer(checkout.credits));
        let click = is_paid_by_click(app, &checkout).then(|| click(&area, words, &checkout));
        let (is_paid, is_cancelled) = (checkout.paid.is_some(), checkout.cancelled_at.is_some());
        let notices: &[Done] = match (is_paid, is_cancelled) {
            (true, _) => &[Done::Paying],
            (false, true) => &[Done::GivenUp],
            (false, false) => &[],
        };
        let receipt = area.visit.link(&format!("{}/receipt", path(&checkout)));
        let page = PurchasePage {
            frame: area.frame(&title),
            head: area.head(Tab::Credits, &title, notices),
            words,
            facts: facts(&area, words, &checkout),
            said: match (&click, is_paid) {
                (Some(_), _) => Some(words.click_said),
                (None, false) if is_cancelled => Some(words.cancelled_said),
                (None, false) => Some(words.open_said),
                (None, true) => None,
            },
            click,
            cancel: (!is_paid && !is_cancelled).then(|| cancel_form(&area, words, &checkout)),
            receipt: is_paid.then(|| receipt.to_string()),
            back: area.visit.link("/account/credits").to_string(),
        };
        area.visit.answer(request, &page, Cache::NoStore)
    })
}

/// Pays by a click, where no money moves, or cancels what is not paid.
pub fn change(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::change(app, request, |app, request, area| {
        let form = Form::read(request, &[ACTION])?;
        let checkout = of_owner(app, request, &area)?;
        let page = area.visit.link(&path(&checkout));
        if checkout.paid.is_some() {
            return Ok(area.visit.redirect(request, &Done::Paying.at(&page)));
        }
        if form.raw(ACTION) == CANCEL {
            let done = cancel(app, &checkout, request.now())?;
            return Ok(area.visit.redirect(request, &done.at(&page)));
        }
        if checkout.cancelled_at.is_some() {
            return Ok(area.visit.redirect(request, &page));
        }
        let Some(provider) = app.payments.provider().filter(|_| is_paid_by_click(app, &checkout)) else {
            return Err(unknown_path(app));
        };
        News::of_click(&checkout, provider.name(), request.now()).apply(&app.ledger).map_err(from_books)?;
        Ok(area.visit.redirect(request, &Done::Paying.at(&page)))
    })
}

/// Cancels a purchase, unless it was paid meanwhile. A provider that cannot close its page is no obstacle: a payment that
/// arrives all the same gives its credits.
fn cancel(app: &App, checkout: &Checkout, now: Moment) -> Result<Done, ApiError> {
    let found = app
        .ledger
        .commit(&CancelCheckout { account: checkout.account, id: checkout.id, at: now })
        .map_err(from_books)?;
    if found.is_none_or(|found| found.paid.is_some()) {
        return Ok(Done::Paying);
    }
    let provider = app.payments.provider().filter(|provider| provider.name() == checkout.provider);
    if let Some(Err(error)) = provider.map(|provider| provider.cancel(checkout)) {
        tracing::warn!(%error, checkout = checkout.id.number(), "the page of a cancelled payment stays open");
    }
    Ok(Done::GivenUp)
}

fn is_paid_by_click(app: &App, checkout: &Checkout) -> bool {
    let provider = app.payments.provider();
    let is_meant =
        provider.is_some_and(|provider| provider.is_paid_by_click() && provider.name() == checkout.provider);
    is_meant && checkout.paid.is_none() && checkout.cancelled_at.is_none()
}

fn click(area: &Area, words: &'static BuyingWords, checkout: &Checkout) -> FormView {
    FormView::new(&area.visit.link(&path(checkout)), words.click)
}

fn cancel_form(area: &Area, words: &'static BuyingWords, checkout: &Checkout) -> FormView {
    FormView::new(&area.visit.link(&path(checkout)), words.cancel).hidden(ACTION, CANCEL).dangerous()
}

fn facts(area: &Area, words: &'static BuyingWords, checkout: &Checkout) -> Vec<(&'static str, String)> {
    let numbers = area.visit.numbers;
    let mut facts = vec![
        (words.state, state(words, checkout.state(area.visit.now)).to_owned()),
        (words.to_pay, numbers.cents(checkout.price.gross)),
        (words.asked_on, numbers.minute(checkout.created_at)),
    ];
    if let Some(at) = checkout.cancelled_at {
        facts.push((words.cancelled_on, numbers.minute(at)));
    }
    if let Some(paid) = &checkout.paid {
        facts.push((words.paid_on, numbers.minute(paid.at)));
        facts.push((words.payment, paid.payment.clone()));
    }
    let amounts = [(words.refunded_amount, checkout.refunded), (words.disputed_amount, checkout.disputed)];
    let amounts = amounts.into_iter().filter(|(_, cents)| *cents > 0);
    facts.extend(amounts.map(|(name, cents)| (name, numbers.cents(cents))));
    if checkout.taken > 0 {
        facts.push((words.taken_back, numbers.integer(checkout.taken)));
    }
    facts.push((words.number, checkout.id.number().to_string()));
    facts
}
