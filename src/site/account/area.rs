//! A visit to the account area by a signed-in customer; other visits are redirected to the sign-in.
//!
//! Depends on the session and the frame of the area, not on its pages.

use std::sync::Arc;

use super::customer::Customer;
use super::done::Done;
use super::same_origin;
use super::words::AccountWords;
use crate::api::{App, Incoming, from_books};
use crate::site::frame::{Frame, NavLink, Section};
use crate::site::url::Url;
use crate::site::visit::Visit;
use crate::site::words::fill;
use mercato_ledger::{AccountHandle, Login, SessionHandle};
use mercato_web::{ApiError, Response};

/// A visit of a signed-in customer to a page of the area.
pub struct Area {
    pub visit: Visit,
    /// The words of the area.
    pub words: &'static AccountWords,
    /// By which they are signed in.
    pub session: SessionHandle,
    pub account: AccountHandle,
    pub login: Arc<Login>,
    /// Whether the free plan waits for the confirmation of their address.
    pub must_confirm: bool,
}

/// The pages of the area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// `/account`
    Overview,
    /// `/account/keys`
    Keys,
    /// `/account/usage`
    Usage,
    /// `/account/credits`
    Credits,
    /// `/account/settings`
    Settings,
}

/// The head of every page of the area.
pub struct Head {
    /// Title of the page.
    pub title: String,
    /// The sentence that names the signed-in customer.
    pub signed_in: String,
    /// The target of the form that signs out.
    pub sign_out: String,
    /// The pages.
    pub tabs: Vec<NavLink>,
    /// The target of the form that requests another mail, while the address is to be confirmed.
    pub confirm: Option<String>,
    /// The outcome of the last form.
    pub notice: Option<&'static str>,
    /// The words of the area.
    pub words: &'static AccountWords,
}

type Then = fn(&App, &mut Incoming, Area) -> Result<Response, ApiError>;

/// Answers a page of a signed-in customer. `known` are the names of its query.
pub fn read(app: &App, request: &mut Incoming, known: &[&str], then: Then) -> Result<Response, ApiError> {
    let visit = Visit::of(app, request, known)?;
    enter(app, request, visit, then)
}

/// Answers a form of a signed-in customer, sent from a page of this site.
pub fn change(app: &App, request: &mut Incoming, then: Then) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    same_origin::check(&visit, request)?;
    enter(app, request, visit, then)
}

fn enter(app: &App, request: &mut Incoming, visit: Visit, then: Then) -> Result<Response, ApiError> {
    let Some(customer) = Customer::of(app, request, &visit) else {
        let next = Url::of_segments("", request.segments());
        return Ok(visit.redirect(request, &visit.link("/account/sign-in").with("next", next)));
    };
    let must_confirm = customer.must_confirm(app);
    let Customer { session, account, login } = customer;
    app.ledger.touch(&session, request.now()).map_err(from_books)?;
    let words = AccountWords::of(visit.language);
    then(app, request, Area { visit, words, session, account, login, must_confirm })
}

impl Area {
    /// The layout of a page.
    pub fn frame(&self, title: &str) -> Frame {
        self.visit.frame(Section::Account, title, title).no_index()
    }

    /// The head of a page. Of `notices` the one that the query names is shown.
    pub fn head(&self, tab: Tab, title: &str, notices: &[Done]) -> Head {
        let words = self.words;
        let named = [
            (Tab::Overview, words.overview, "/account"),
            (Tab::Keys, words.keys, "/account/keys"),
            (Tab::Usage, words.usage, "/account/usage"),
            (Tab::Credits, words.credits, "/account/credits"),
            (Tab::Settings, words.settings, "/account/settings"),
        ];
        Head {
            title: title.to_owned(),
            signed_in: fill(words.signed_in_as, self.login.email.as_str()),
            sign_out: self.visit.link("/account/sign-out").to_string(),
            tabs: self.visit.nav_links(named, tab),
            confirm: self.must_confirm.then(|| self.visit.link("/account/confirm/send").to_string()),
            notice: Done::notice(&self.visit, words, notices),
            words,
        }
    }

    /// A number of credits in words.
    pub fn credits(&self, credits: u64) -> String {
        match credits {
            1 => self.words.one_credit.to_owned(),
            _ => fill(self.words.many_credits, self.visit.numbers.integer(credits)),
        }
    }
}
