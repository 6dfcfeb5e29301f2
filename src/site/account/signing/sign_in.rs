//! `/account/sign-in` and `/account/sign-out`.
//!
//! Every sign-in opens a session with a new token and ends the session of the cookie, so a token planted before it is void.
//! The answer to a wrong password is the same for addresses with and without an account, and, where mail is sent, for an address
//! that is not confirmed.

use askama::Template;

use super::ask::{LostWay, SignUpWay};
use super::customer;
use super::device;
use super::mails::{self, Purpose};
use super::next::{NEXT, leading_on, target};
use super::password::Refused;
use super::same_origin;
use super::session;
use crate::api::{App, Incoming, from_books};
use crate::site::account::done::{DONE, Done};
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::{Frame, Section};
use crate::site::visit::Visit;
use mercato_base::clock::Moment;
use mercato_ledger::{BooksError, Email, EndSession, Login, LoginError, PlainToken};
use mercato_people::SignInRefusal;
use mercato_web::{ApiError, Response, random_bytes};

const NOTICES: [Done; 7] = [
    Done::SignedUp,
    Done::SignedUpByMail,
    Done::Confirmed,
    Done::ForgotSent,
    Done::SignedOut,
    Done::Reset,
    Done::Deleted,
];

#[derive(Template)]
#[template(path = "account/sign_in.html")]
struct SignInPage {
    frame: Frame,
    words: &'static AccountWords,
    notice: Option<&'static str>,
    form: FormView,
    sign_up: SignUpWay,
    lost: LostWay,
}

/// Shows the form; redirects a signed-in customer.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::of(app, request, &[NEXT, DONE])?;
    let next = visit.value(NEXT).unwrap_or_default().to_owned();
    if session::of(app, request, &visit).is_some() {
        return Ok(visit.redirect(request, &target(&visit, &next)));
    }
    page(app, &visit, request, "", &next, None)
}

/// Opens a session.
pub fn sign_in(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    same_origin::check(&visit, request)?;
    let form = Form::read(request, &["email", "password", NEXT])?;
    let (email, next, now) = (form.text("email"), form.text(NEXT), request.now());
    let words = AccountWords::of(visit.language);
    let address = request.context.address;
    let wrong = if app.mailer.is_some() { words.credentials_wrong_mail } else { words.credentials_wrong };
    let mark = device::of(request, &visit);
    let login = match app.sign_ins.check(email, form.raw("password"), address, mark, now) {
        Ok(login) => login,
        Err(refusal) => {
            if matches!(refusal, SignInRefusal::Guessing(_)) {
                warn(app, &visit, email, now);
            }
            let refused = Refused::of_sign_in(words, refusal, wrong)?;
            return page(app, &visit, request, email, next, Some(refused));
        }
    };
    if customer::awaits_confirmation(app, &login) {
        remind(app, &visit, &login, request);
        let refused = Refused::unprocessable(wrong);
        return page(app, &visit, request, email, next, Some(refused));
    }
    let Some(token) = open(app, &login, request)? else {
        let refused = Refused::unprocessable(wrong);
        return page(app, &visit, request, email, next, Some(refused));
    };
    if let Some(before) = session::of(app, request, &visit) {
        app.ledger.commit(&EndSession { token: before.token(), at: now }).map_err(from_books)?;
    }
    let response = visit.redirect(request, &target(&visit, next));
    let response = response.with_header("Set-Cookie", session::opened(&visit, &token));
    Ok(match device::remembered(&visit, &login)? {
        Some(cookie) => response.with_header("Set-Cookie", cookie),
        None => response,
    })
}

/// Has another mail sent to an address that is not confirmed yet. The attempt counts like one with a wrong password, so that
/// nothing tells the two apart.
fn remind(app: &App, visit: &Visit, login: &Login, request: &Incoming) {
    let (address, now) = (request.context.address, request.now());
    app.sign_ins.count_failure(&login.email, address, now);
    if app.sign_ins.admit_mail(&login.email, address, now).is_ok() {
        mails::send(app, visit, Purpose::Confirm, &login.email);
    }
}

/// Tells the owner of an address once a day that somebody guesses passwords. Nothing is sent where it has no account.
fn warn(app: &App, visit: &Visit, typed: &str, now: Moment) {
    if let Ok(email) = Email::parse(typed)
        && app.mailer.is_some()
        && app.sign_ins.admit_warning(&email, now).is_ok()
    {
        mails::send(app, visit, Purpose::Guessed, &email);
    }
}

/// Ends the session of the cookie. The answer is the same without one.
pub fn sign_out(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    same_origin::check(&visit, request)?;
    if let Some(session) = session::of(app, request, &visit) {
        app.ledger.commit(&EndSession { token: session.token(), at: request.now() }).map_err(from_books)?;
    }
    let to = Done::SignedOut.at(&visit.link("/account/sign-in"));
    Ok(visit.redirect(request, &to).with_header("Set-Cookie", session::ended(&visit)))
}

/// A session, unless the login is another one by now.
fn open(app: &App, login: &Login, request: &Incoming) -> Result<Option<PlainToken>, ApiError> {
    match app.ledger.open_session(login, random_bytes()?, request.now()) {
        Ok(token) => Ok(Some(token)),
        Err(LoginError::Books(error @ BooksError::Unavailable { .. })) => Err(from_books(error)),
        Err(_) => Ok(None),
    }
}

fn page(
    app: &App,
    visit: &Visit,
    request: &Incoming,
    email: &str,
    next: &str,
    refused: Option<Refused>,
) -> Result<Response, ApiError> {
    let words = AccountWords::of(visit.language);
    let (status, retry) =
        refused.as_ref().map_or((200, None), |refused| (refused.status, refused.retry_after_seconds));
    let form = FormView::new(&visit.link("/account/sign-in"), words.sign_in)
        .problem(refused.map(|refused| refused.text))
        .input(
            Input::new("sign-in", "email", "email", words.email)
                .value(email)
                .autocomplete("username")
                .required(),
        )
        .input(
            Input::new("sign-in", "password", "password", words.password)
                .autocomplete("current-password")
                .required(),
        );
    let page = SignInPage {
        frame: visit.frame(Section::Account, words.sign_in, words.sign_in_said).no_index(),
        words,
        notice: Done::notice(visit, words, &NOTICES),
        form: leading_on(form, next),
        sign_up: SignUpWay::of(app, visit, words, next),
        lost: LostWay::of(app, visit, words),
    };
    Ok(with_status(visit.answer(request, &page, Cache::NoStore)?, status, retry))
}

/// The answer to a form that comes back.
pub fn with_status(response: Response, status: u16, retry_after_seconds: Option<u64>) -> Response {
    let response = response.with_status(status);
    match retry_after_seconds {
        Some(seconds) => response.with_header("Retry-After", seconds.to_string()),
        None => response,
    }
}
