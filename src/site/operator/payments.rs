//! `/operator/payments`: the checkouts of all accounts at the payment provider, paid or not, newest first.
//!
//! A purchase that the operator entered by hand has no checkout. It stands among the entries of its account.

use askama::Template;

use super::operator_visit::{self, Head, OperatorVisit, Page};
use super::words::OperatorWords;
use crate::api::{App, Incoming, from_books};
use crate::limits::site::OPERATOR_LINES_PER_PAGE;
use crate::site::account::buying::offer::state;
use crate::site::account::buying::words::BuyingWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use mercato_ledger::{Checkout, PurchasesQuery};
use mercato_web::{ApiError, Response};

/// Name of the parameter with the number of the checkout before which a page begins.
const BEFORE: &str = "before";

#[derive(Template)]
#[template(path = "operator/payments.html")]
struct PaymentsPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    buying: &'static BuyingWords,
    checkouts: Vec<CheckoutLine>,
    newest: Option<String>,
    older: Option<String>,
}

struct CheckoutLine {
    number: String,
    at: String,
    account: String,
    account_url: String,
    state: &'static str,
    credits: String,
    price: String,
    /// Empty if nothing was refunded.
    refunded: String,
    /// Empty if nothing is disputed.
    disputed: String,
    provider: String,
    /// The provider's id of the payment; empty before it.
    payment: String,
}

impl CheckoutLine {
    fn of(operator: &OperatorVisit, buying: &'static BuyingWords, checkout: &Checkout) -> Self {
        let visit = &operator.visit;
        let numbers = visit.numbers;
        let amount = |cents| if cents == 0 { String::new() } else { numbers.cents(cents) };
        Self {
            number: checkout.id.number().to_string(),
            at: numbers.minute(checkout.created_at),
            account: checkout.account.to_string(),
            account_url: visit.link(&format!("/operator/accounts/{}", checkout.account)).to_string(),
            state: state(buying, checkout.state(visit.now)),
            credits: numbers.integer(checkout.credits),
            price: numbers.cents(checkout.price.gross),
            refunded: amount(checkout.refunded),
            disputed: amount(checkout.disputed),
            provider: checkout.provider.clone(),
            payment: checkout.paid.as_ref().map_or_else(String::new, |paid| paid.payment.clone()),
        }
    }
}

/// The list.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[BEFORE], |app, request, operator| {
        let (visit, words) = (&operator.visit, operator.words);
        let buying = BuyingWords::of(visit.language);
        let before = visit.value(BEFORE).and_then(|text| text.parse().ok());
        let query = PurchasesQuery { account: None, before, limit: OPERATOR_LINES_PER_PAGE };
        let found = app.ledger.purchases(&query).map_err(from_books)?;
        let all = visit.link("/operator/payments");
        let line = |checkout| CheckoutLine::of(&operator, buying, checkout);
        let page = PaymentsPage {
            frame: operator.frame(Page::Payments, words.payments),
            head: operator.head(words.payments),
            words,
            buying,
            checkouts: found.purchases.iter().map(line).collect(),
            newest: before.map(|_| all.to_string()),
            older: found.before.map(|before| all.with(BEFORE, before).to_string()),
        };
        visit.answer(request, &page, Cache::NoStore)
    })
}
