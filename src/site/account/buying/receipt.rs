//! `/account/purchases/{id}/receipt`: the receipt of a paid purchase, to print: seller, customer, net, tax and gross.
//!
//! Prices and the rate are those of the purchase; the seller is the one of today.

use askama::Template;

use super::purchase::{of_owner, path};
use super::words::BuyingWords;
use crate::api::{App, Incoming, unknown_path};
use crate::site::account::area::{self, Area};
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_ledger::{Checkout, Paid};
use mercato_web::{ApiError, Response};

/// The provider through which no money moves.
const DEMO: &str = "demo";

#[derive(Template)]
#[template(path = "account/buying/receipt.html")]
struct ReceiptPage {
    frame: Frame,
    words: &'static BuyingWords,
    title: String,
    seller: Vec<String>,
    buyer: Vec<String>,
    facts: [(&'static str, String); 3],
    item: String,
    net: String,
    vat: String,
    vat_amount: String,
    gross: String,
    refunded: Option<String>,
    warning: Option<&'static str>,
    back: String,
}

/// The page.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[], |app, request, area| {
        let checkout = of_owner(app, request, &area)?;
        let Some(paid) = &checkout.paid else { return Err(unknown_path(app)) };
        area.visit.answer(request, &page(&area, &checkout, paid), Cache::NoStore)
    })
}

fn page(area: &Area, checkout: &Checkout, paid: &Paid) -> ReceiptPage {
    let (words, visit) = (BuyingWords::of(area.visit.language), &area.visit);
    let (numbers, price) = (visit.numbers, &checkout.price);
    let title = fill(words.receipt_of, checkout.id.number());
    let seller = &visit.branding.sale.seller;
    let vat_number = seller.vat_number.as_ref().map(|number| fill(words.vat_number, number));
    let name = seller.name.clone().unwrap_or_else(|| visit.branding.name.clone());
    ReceiptPage {
        frame: area.frame(&title),
        words,
        title,
        seller: std::iter::once(name).chain(seller.address.iter().cloned()).chain(vat_number).collect(),
        buyer: vec![area.login.email.as_str().to_owned(), checkout.account.to_string()],
        facts: [
            (words.number, checkout.id.number().to_string()),
            (words.paid_on, numbers.minute(paid.at)),
            (words.payment, format!("{} {}", checkout.provider, paid.payment)),
        ],
        item: fill(words.credits_item, numbers.integer(checkout.credits)),
        net: numbers.cents(price.net),
        vat: fill(words.vat, numbers.percent(price.vat_basis_points)),
        vat_amount: numbers.cents(price.vat),
        gross: numbers.cents(price.gross),
        refunded: (checkout.refunded > 0).then(|| numbers.cents(checkout.refunded)),
        warning: (checkout.provider == DEMO).then_some(words.no_money),
        back: visit.link(&path(checkout)).to_string(),
    }
}
