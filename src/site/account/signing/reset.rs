//! `/account/reset`: a token from a mail, or from the operator, sets a new password, once.
//!
//! Opening the page does not redeem the token. Attempts with wrong tokens count like failed sign-ins of the client's address.

use askama::Template;

use super::ask::LostWay;
use super::mails::{self, Purpose};
use super::password::{self, Refused};
use super::same_origin;
use super::session;
use super::sign_in::with_status;
use crate::api::{App, Incoming, from_books};
use crate::site::account::done::Done;
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::{Frame, Section};
use crate::site::visit::Visit;
use mercato_ledger::{ConfirmEmail, RedeemToken, Redeemed, Redemption, TokenHash};
use mercato_web::{ApiError, Response};

const TOKEN: &str = "token";

#[derive(Template)]
#[template(path = "account/reset.html")]
struct ResetPage {
    frame: Frame,
    words: &'static AccountWords,
    said: &'static str,
    form: FormView,
    lost: LostWay,
}

/// The fault of a new password.
#[derive(Default)]
struct Faults {
    token: Option<String>,
    password: Option<String>,
    refused: Option<Refused>,
}

/// The form, with the token of the address.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::of(app, request, &[TOKEN])?;
    let token = visit.value(TOKEN).unwrap_or_default().to_owned();
    page(app, &visit, request, &token, Faults::default())
}

/// Sets the password. Every session of the account ends.
pub fn reset(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    same_origin::check(&visit, request)?;
    let form = Form::read(request, &[TOKEN, "password"])?;
    let words = AccountWords::of(visit.language);
    let (typed, password, now) = (form.text(TOKEN), form.raw("password"), request.now());
    let wrong = || Faults { token: Some(words.token_wrong.to_owned()), ..Faults::default() };
    let refuse = |refused: Refused| {
        page(app, &visit, request, typed, Faults { refused: Some(refused), ..Faults::default() })
    };
    let token = match (TokenHash::of_presented(typed), password::fault(words, password, None)) {
        (Some(token), None) => token,
        (None, password) => return page(app, &visit, request, typed, Faults { password, ..wrong() }),
        (_, password) => return page(app, &visit, request, typed, Faults { password, ..Faults::default() }),
    };
    let address = request.context.address;
    if let Err(throttled) = app.sign_ins.admit_reset(address, now) {
        return refuse(Refused::throttled(words, throttled));
    }
    let hash = match password::hash(app, words, password, None)? {
        Ok(hash) => hash,
        Err(refused) => {
            app.sign_ins.forgive_reset(address, now);
            return refuse(refused);
        }
    };
    let Redeemed::By(account) = app
        .ledger
        .commit(&RedeemToken { token, redemption: Redemption::ResetPassword(hash), at: now })
        .map_err(from_books)?
    else {
        return page(app, &visit, request, typed, wrong());
    };
    app.sign_ins.forgive_reset(address, now);
    // The token came by mail, or from the operator, who knows whom they gave it to.
    if app.mailer.is_some() {
        app.ledger.commit(&ConfirmEmail { account, at: now }).map_err(from_books)?;
    }
    if let Some(login) = app.ledger.login(account) {
        mails::send(app, &visit, Purpose::Changed, &login.email);
    }
    let to = Done::Reset.at(&visit.link("/account/sign-in"));
    Ok(visit.redirect(request, &to).with_header("Set-Cookie", session::ended(&visit)))
}

fn page(
    app: &App,
    visit: &Visit,
    request: &Incoming,
    token: &str,
    faults: Faults,
) -> Result<Response, ApiError> {
    let words = AccountWords::of(visit.language);
    let has_fault = faults.token.is_some() || faults.password.is_some();
    let status = faults.refused.as_ref().map_or(if has_fault { 422 } else { 200 }, |refused| refused.status);
    let retry = faults.refused.as_ref().and_then(|refused| refused.retry_after_seconds);
    let form = FormView::new(&visit.link("/account/reset"), words.reset)
        .problem(faults.refused.map(|refused| refused.text))
        .input(Input::new("reset", TOKEN, "text", words.token).value(token).fault(faults.token).required())
        .input(password::new_input("reset", words.new_password, words, faults.password));
    let said = if app.mailer.is_some() { words.reset_said_mail } else { words.reset_said };
    let page = ResetPage {
        frame: visit.frame(Section::Account, words.reset, said).no_index(),
        words,
        said,
        form,
        lost: LostWay::of(app, visit, words),
    };
    Ok(with_status(visit.answer(request, &page, Cache::NoStore)?, status, retry))
}
