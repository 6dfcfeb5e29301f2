//! `/account/credits`: the balance, its entries page by page, and how to buy credits.

use askama::Template;

use super::area::{self, Area, Head, Tab};
use super::ask::Ask;
use super::buying::offer::{BOUGHT, Offer};
use super::done::{DONE, Done};
use super::entries::{BEFORE, EntryLine, EntryPage, KIND};
use super::words::AccountWords;
use crate::api::{App, Incoming, from_books};
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_web::{ApiError, Response};

/// Entries of one page of an account.
const ENTRIES_PER_PAGE: usize = 50;

#[derive(Template)]
#[template(path = "account/credits.html")]
struct CreditsPage {
    frame: Frame,
    head: Head,
    words: &'static AccountWords,
    balance: String,
    entries: Vec<EntryLine>,
    pages: EntryPage,
    /// The contact of the operator, on a server without payments.
    buy: Option<Ask>,
    offer: Offer,
    prices: String,
}

/// The page.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[KIND, BEFORE, BOUGHT, DONE], |app, request, area| {
        page(app, request, &area, None)
    })
}

/// The page, with the fault of the form that was sent.
pub fn page(
    app: &App,
    request: &Incoming,
    area: &Area,
    problem: Option<&'static str>,
) -> Result<Response, ApiError> {
    let words = area.words;
    let (visit, account) = (&area.visit, &area.account);
    let query = EntryPage::query(visit, account.id(), account.created_at(), ENTRIES_PER_PAGE);
    let history = app.ledger.history(&query).map_err(from_books)?;
    let pages = EntryPage::of(visit, words, &visit.link("/account/credits"), history);
    let provider = app.payments.provider();
    let page = CreditsPage {
        frame: area.frame(words.credits),
        head: area.head(Tab::Credits, words.credits, &[Done::Cancelled]),
        words,
        balance: area.credits(area.account.credits()),
        entries: pages.entries.iter().map(|entry| EntryLine::of(visit, words, entry)).collect(),
        pages,
        buy: provider.is_none().then(|| buy(area)),
        offer: Offer::of(app, area, problem)?,
        prices: area.visit.link("/pricing").to_string(),
    };
    let origin = provider.and_then(|provider| provider.origin());
    let status = if problem.is_none() { 200 } else { 422 };
    Ok(area.visit.answer_leading_to(request, &page, Cache::NoStore, origin)?.with_status(status))
}

/// The address of the account stands behind the contact, so it is filled in there.
fn buy(area: &Area) -> Ask {
    let (words, email) = (area.words, area.login.email.as_str());
    let ask = Ask::new(&area.visit, words.buy_ask, fill(words.buy_operator, email));
    Ask { behind: fill(&ask.behind, email), ..ask }
}
