//! `/account/confirm`: a link from a mail shows that mail to an address arrives, once.
//!
//! Opening the page redeems nothing, because programs of mail open links too; a click does. Attempts with wrong tokens count
//! like failed sign-ins of the client's address.

use askama::Template;

use super::mails::{self, Purpose};
use super::password::Refused;
use super::same_origin;
use super::session;
use super::sign_in::with_status;
use crate::api::{App, Incoming, from_books};
use crate::site::account::area;
use crate::site::account::done::Done;
use crate::site::account::form::Form;
use crate::site::account::form_view::FormView;
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::{Frame, Section};
use crate::site::visit::Visit;
use mercato_ledger::{RedeemToken, Redeemed, Redemption, TokenHash};
use mercato_web::{ApiError, Response};

const TOKEN: &str = "token";

#[derive(Template)]
#[template(path = "account/confirm.html")]
struct ConfirmPage {
    frame: Frame,
    words: &'static AccountWords,
    form: FormView,
    account: String,
}

/// The button, with the token of the address.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::of(app, request, &[TOKEN])?;
    let token = visit.value(TOKEN).unwrap_or_default().to_owned();
    page(&visit, request, &token, None)
}

/// Confirms the address.
pub fn confirm(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    same_origin::check(&visit, request)?;
    let form = Form::read(request, &[TOKEN])?;
    let words = AccountWords::of(visit.language);
    let (typed, now) = (form.text(TOKEN), request.now());
    let wrong = || Some(Refused::unprocessable(words.confirm_wrong));
    let Some(token) = TokenHash::of_presented(typed) else {
        return page(&visit, request, typed, wrong());
    };
    let address = request.context.address;
    if let Err(throttled) = app.sign_ins.admit_reset(address, now) {
        return page(&visit, request, typed, Some(Refused::throttled(words, throttled)));
    }
    if app
        .ledger
        .commit(&RedeemToken { token, redemption: Redemption::ConfirmEmail, at: now })
        .map_err(from_books)?
        == Redeemed::Refused
    {
        return page(&visit, request, typed, wrong());
    }
    app.sign_ins.forgive_reset(address, now);
    let is_signed_in = session::of(app, request, &visit).is_some();
    let to = visit.link(if is_signed_in { "/account" } else { "/account/sign-in" });
    Ok(visit.redirect(request, &Done::Confirmed.at(&to)))
}

/// Has another mail sent to a signed-in customer.
pub fn send(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::change(app, request, |app, request, area| {
        let address = request.context.address;
        if let Err(throttled) = app.sign_ins.admit_mail(&area.login.email, address, request.now()) {
            let refused = Refused::throttled(area.words, throttled);
            return page(&area.visit, request, "", Some(refused));
        }
        mails::send(app, &area.visit, Purpose::Confirm, &area.login.email);
        Ok(area.visit.redirect(request, &Done::ConfirmSent.at(&area.visit.link("/account"))))
    })
}

fn page(
    visit: &Visit,
    request: &Incoming,
    token: &str,
    refused: Option<Refused>,
) -> Result<Response, ApiError> {
    let words = AccountWords::of(visit.language);
    let (status, retry) =
        refused.as_ref().map_or((200, None), |refused| (refused.status, refused.retry_after_seconds));
    let form = FormView::new(&visit.link("/account/confirm"), words.confirm)
        .problem(refused.map(|refused| refused.text))
        .hidden(TOKEN, token);
    let page = ConfirmPage {
        frame: visit.frame(Section::Account, words.confirm, words.confirm_said).no_index(),
        words,
        form,
        account: visit.link("/account").to_string(),
    };
    Ok(with_status(visit.answer(request, &page, Cache::NoStore)?, status, retry))
}
