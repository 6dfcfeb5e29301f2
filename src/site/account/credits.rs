//! `/account/credits`: the balance, its entries page by page, and how to buy credits.

use askama::Template;

use super::area::{self, Area, Head, Tab};
use super::ask::Ask;
use super::buying::offer::{BOUGHT, Offer};
use super::done::{DONE, Done};
use super::entries::{self, EntryLine};
use super::words::AccountWords;
use crate::http::App;
use crate::http::errors::ApiError;
use crate::http::incoming::Incoming;
use crate::http::response::Response;
use crate::limits::site::ENTRIES_PER_PAGE;
use crate::site::cache::Cache;
use crate::site::frame::{Frame, NavLink};
use crate::site::words::fill;

/// Name of the parameter that says which entries are shown.
const KIND: &str = "kind";
/// Its only value.
const PURCHASES: &str = "purchases";
/// Name of the parameter that says where a page begins.
const BEFORE: &str = "before";

#[derive(Template)]
#[template(path = "account/credits.html")]
struct CreditsPage {
    frame: Frame,
    head: Head,
    words: &'static AccountWords,
    balance: String,
    kinds: [NavLink; 2],
    entries: Vec<EntryLine>,
    nothing: &'static str,
    older: Option<String>,
    newest: Option<String>,
    /// Whom to ask, where nobody can pay here.
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

/// The page, with what is wrong with the form that was sent.
pub fn page(
    app: &App,
    request: &Incoming,
    area: &Area,
    problem: Option<&'static str>,
) -> Result<Response, ApiError> {
    let words = area.words;
    let only_credited = area.visit.value(KIND) == Some(PURCHASES);
    let before = area.visit.value(BEFORE).and_then(|text| text.parse().ok());
    let history = entries::newest(app, area, only_credited, before, ENTRIES_PER_PAGE)?;
    let all = area.visit.link("/account/credits");
    let credited = all.with(KIND, PURCHASES);
    let here = if only_credited { &credited } else { &all };
    let kind = |text, url: &dyn ToString, is_current| NavLink { text, url: url.to_string(), is_current };
    let provider = app.payments.provider();
    let page = CreditsPage {
        frame: area.frame(words.credits),
        head: area.head(Tab::Credits, words.credits, &[Done::Cancelled]),
        words,
        balance: area.credits(area.account.credits()),
        kinds: [
            kind(words.everything, &all, !only_credited),
            kind(words.purchases, &credited, only_credited),
        ],
        entries: history.entries.iter().map(|entry| EntryLine::of(area, entry)).collect(),
        nothing: if history.before.is_some() { words.no_entries_yet } else { words.no_entries },
        older: history.before.map(|before| here.with(BEFORE, before).to_string()),
        newest: before.map(|_| here.to_string()),
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
