//! A visit to the operator's pages by a signed-in browser; others are redirected to the sign-in.
//!
//! Depends on the sign-in and the frame, not on pages.

use super::done::{DONE, Done};
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::limits::operator::SIGN_IN_SECONDS;
use crate::site::account::form::Form;
use crate::site::account::signing::same_origin;
use crate::site::account::words::AccountWords;
use crate::site::cookies;
use crate::site::frame::{Frame, Section};
use crate::site::url::Url;
use crate::site::visit::Visit;
use crate::site::words::fill;
use mercato_ledger::{PlainToken, TokenHash};
use mercato_web::{ApiError, Response, random_bytes, validation_error};

/// Length of the number of a form.
const FORM_NUMBER_BYTES_MAX: usize = 64;
const COOKIE: &str = "operator";
/// Name of the parameter with the page behind a sign-in.
pub const NEXT: &str = "next";
/// Name of the field that distinguishes the forms of a page.
pub const ACTION: &str = "action";
/// Name of the field that confirms an irreversible form.
pub const CONFIRM: &str = "confirm";
/// Name of the field with the number of a form.
pub const ONCE: &str = "once";

/// A visit of the operator.
pub struct OperatorVisit {
    pub visit: Visit,
    /// The words of these pages.
    pub words: &'static OperatorWords,
    /// The words for entries, keys and usage, as customers read them.
    pub common: &'static AccountWords,
    /// Begins the numbers of the forms of this page.
    pub once: String,
    own: TokenHash,
}

/// The pages, as the navigation names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// `/operator`
    Overview,
    /// `/operator/datasets`
    Datasets,
    /// `/operator/accounts`
    Accounts,
    /// `/operator/payments`
    Payments,
    /// `/operator/publications`
    Publications,
}

/// The head of every page.
pub struct Head {
    /// Title of the page.
    pub title: String,
    /// The page above this one: its name and address.
    pub above: Option<(&'static str, String)>,
    /// The target of the form that signs out.
    pub sign_out: String,
    /// The outcome of the last form.
    pub notice: Option<&'static str>,
    /// The fault of a refused form that the page no longer shows.
    pub problem: Option<String>,
    pub words: &'static OperatorWords,
}

type Then = fn(&App, &mut Incoming, OperatorVisit) -> Result<Response, ApiError>;

/// Answers a page. `known` are the names of its query.
pub fn read(app: &App, request: &mut Incoming, known: &[&str], then: Then) -> Result<Response, ApiError> {
    let visit = Visit::private(app, request, &[known, &[DONE]].concat())?;
    enter(app, request, visit, then)
}

/// Answers a form, sent from a page of this listener.
pub fn change(app: &App, request: &mut Incoming, then: Then) -> Result<Response, ApiError> {
    let visit = Visit::private_plain(app, request);
    same_origin::check(&visit, request)?;
    enter(app, request, visit, then)
}

fn enter(app: &App, request: &mut Incoming, visit: Visit, then: Then) -> Result<Response, ApiError> {
    let Some(own) = signed_in(app, request) else {
        let next = Url::of_segments("", request.segments());
        return Ok(visit.redirect(request, &visit.link("/operator/sign-in").with(NEXT, next)));
    };
    let words = OperatorWords::of(visit.language);
    let common = AccountWords::of(visit.language);
    let once = PlainToken::from_random(random_bytes()?).reveal().to_owned();
    then(app, request, OperatorVisit { visit, words, common, once, own })
}

/// The own token of a browser that is signed in.
pub fn signed_in(app: &App, request: &Incoming) -> Option<TokenHash> {
    let header = request.header("Cookie")?;
    let mut presented = cookies::values(header, COOKIE).filter_map(TokenHash::of_presented);
    presented.find(|own| app.admin_token.has_signed_in(*own, request.now()))
}

/// The value of `Set-Cookie` that signs a browser in.
pub fn opened(token: &PlainToken) -> String {
    cookie(token.reveal(), SIGN_IN_SECONDS)
}

/// The value of `Set-Cookie` that signs a browser out.
pub fn ended() -> String {
    cookie("", 0)
}

/// It is not `Secure`: the listener itself has no TLS, and browsers would drop it on the loopback address.
fn cookie(value: &str, seconds: i64) -> String {
    format!("{COOKIE}={value}; Path=/operator; Max-Age={seconds}; HttpOnly; SameSite=Strict")
}

/// The layout of a page of this listener: without the links of the public site, which are not here.
pub fn frame(visit: &Visit, title: &str) -> Frame {
    let words = OperatorWords::of(visit.language);
    let mut frame = visit.frame(Section::Other, title, words.area).nowhere();
    frame.name = format!("{} · {}", frame.name, words.area);
    frame.home = visit.link("/operator").to_string();
    frame.navigation.clear();
    frame.feeds.clear();
    frame.search.clear();
    frame.console.clear();
    frame.document.clear();
    frame
}

impl OperatorVisit {
    /// The layout of a page.
    pub fn frame(&self, page: Page, title: &str) -> Frame {
        let words = self.words;
        let named = [
            (Page::Overview, words.overview, "/operator"),
            (Page::Datasets, words.datasets, "/operator/datasets"),
            (Page::Accounts, words.accounts, "/operator/accounts"),
            (Page::Payments, words.payments, "/operator/payments"),
            (Page::Publications, words.publications, "/operator/publications"),
        ];
        Frame { navigation: self.visit.nav_links(named, page), ..frame(&self.visit, title) }
    }

    /// The head of a page.
    pub fn head(&self, title: &str) -> Head {
        Head {
            title: title.to_owned(),
            above: None,
            sign_out: self.visit.link("/operator/sign-out").to_string(),
            notice: Done::notice(&self.visit, self.words),
            problem: None,
            words: self.words,
        }
    }

    /// The head of a page below another.
    pub fn head_below(&self, title: &str, name: &'static str, above: &Url) -> Head {
        Head { above: Some((name, above.to_string())), ..self.head(title) }
    }

    /// The fields of a form of this page; nothing if that form was sent before.
    pub fn form(&self, app: &App, request: &mut Incoming, fields: &[&str]) -> Result<Option<Form>, ApiError> {
        let form = Form::read(request, &[fields, &[ACTION, CONFIRM, ONCE]].concat())?;
        let number = form.raw(ONCE);
        if number.is_empty() || number.len() > FORM_NUMBER_BYTES_MAX {
            let message = "the form has no number";
            return Err(validation_error("BODY_INVALID", ONCE, message, "send the form of the page"));
        }
        Ok(app.admin_token.is_first(self.own, number).then_some(form))
    }

    /// Redirects to a page with the notice that the form was sent before.
    pub fn repeated(&self, request: &Incoming, to: &Url) -> Response {
        self.done(request, Done::Repeated, to)
    }

    /// Redirects to a page with the outcome of a form.
    pub fn done(&self, request: &Incoming, done: Done, to: &Url) -> Response {
        self.visit.redirect(request, &done.at(to))
    }

    /// A number of credits in words.
    pub fn credits(&self, credits: u64) -> String {
        match credits {
            1 => self.common.one_credit.to_owned(),
            _ => fill(self.common.many_credits, self.visit.numbers.integer(credits)),
        }
    }
}

/// The refusal of a form whose action no page offers.
pub fn no_such_action() -> ApiError {
    validation_error("BODY_INVALID", ACTION, "no such action", "send the form of the page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_cookie_to_pages_and_hides_it_from_scripts_and_sites() {
        assert_eq!(cookie("x", 9), "operator=x; Path=/operator; Max-Age=9; HttpOnly; SameSite=Strict");
    }
}
