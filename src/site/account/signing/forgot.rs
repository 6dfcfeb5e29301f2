//! `/account/forgot`: requests a mail with a link to set a new password. The answer is the same for addresses without an
//! account. Where no mail is sent, the operator hands out the link.

use askama::Template;

use super::mails::{self, Purpose};
use super::password::Refused;
use super::same_origin;
use super::sign_in::with_status;
use crate::api::{App, Incoming};
use crate::site::account::done::Done;
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::{Frame, Section};
use crate::site::visit::Visit;
use mercato_ledger::Email;
use mercato_web::{ApiError, Response};

#[derive(Template)]
#[template(path = "account/forgot.html")]
struct ForgotPage {
    frame: Frame,
    words: &'static AccountWords,
    form: FormView,
    sign_in: String,
}

/// The form.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    if app.mailer.is_none() {
        return Ok(visit.redirect(request, &visit.link("/account/reset")));
    }
    page(&visit, request, "", None, None)
}

/// Has the mail sent.
pub fn send(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    same_origin::check(&visit, request)?;
    let form = Form::read(request, &["email"])?;
    let words = AccountWords::of(visit.language);
    let typed = form.text("email");
    let Ok(email) = Email::parse(typed) else {
        return page(&visit, request, typed, Some(words.email_wrong.to_owned()), None);
    };
    if app.mailer.is_none() {
        return Ok(visit.redirect(request, &visit.link("/account/reset")));
    }
    let address = request.context.address;
    if let Err(throttled) = app.sign_ins.admit_mail(&email, address, request.now()) {
        return page(&visit, request, typed, None, Some(Refused::throttled(words, throttled)));
    }
    mails::send(app, &visit, Purpose::Reset, &email);
    Ok(visit.redirect(request, &Done::ForgotSent.at(&visit.link("/account/sign-in"))))
}

fn page(
    visit: &Visit,
    request: &Incoming,
    email: &str,
    fault: Option<String>,
    refused: Option<Refused>,
) -> Result<Response, ApiError> {
    let words = AccountWords::of(visit.language);
    let status = if fault.is_some() { 422 } else { 200 };
    let (status, retry) =
        refused.as_ref().map_or((status, None), |refused| (refused.status, refused.retry_after_seconds));
    let form = FormView::new(&visit.link("/account/forgot"), words.forgot_send)
        .problem(refused.map(|refused| refused.text))
        .input(
            Input::new("forgot", "email", "email", words.email)
                .value(email)
                .autocomplete("username")
                .fault(fault)
                .required(),
        );
    let page = ForgotPage {
        frame: visit.frame(Section::Account, words.forgot, words.forgot_said).no_index(),
        words,
        form,
        sign_in: visit.link("/account/sign-in").to_string(),
    };
    Ok(with_status(visit.answer(request, &page, Cache::NoStore)?, status, retry))
}
