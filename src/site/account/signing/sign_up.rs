//! `/account/sign-up`: a new account on the free plan. The answer does not reveal whether the address has one already.

use askama::Template;

use super::ask::Ask;
use super::mails::{self, Purpose};
use super::next::{NEXT, leading_on, linking_on};
use super::password::{self, Refused};
use super::same_origin;
use super::sign_in::with_status;
use crate::api::{App, Incoming, from_books};
use crate::site::account::done::Done;
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::{Frame, Section};
use crate::site::visit::Visit;
use crate::site::words::fill;
use mercato_ledger::{BooksError, Email, LoginError, SignUp, SignedUp};
use mercato_web::{ApiError, Response};

#[derive(Template)]
#[template(path = "account/sign_up.html")]
struct SignUpPage {
    frame: Frame,
    words: &'static AccountWords,
    said: String,
    /// The contact of the operator, on a server that opens no accounts.
    closed: Option<Ask>,
    form: FormView,
    sign_in: String,
}

/// The faults of a sign-up.
#[derive(Default)]
struct Faults {
    email: Option<String>,
    password: Option<String>,
    refused: Option<Refused>,
}

/// The form.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::of(app, request, &[NEXT])?;
    let next = visit.value(NEXT).unwrap_or_default();
    page(app, &visit, request, ("", next), Faults::default())
}

/// Opens an account, unless the address has one, and leads to the sign-in in both cases.
pub fn sign_up(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    same_origin::check(&visit, request)?;
    if !app.takes_sign_ups {
        return Ok(page(app, &visit, request, ("", ""), Faults::default())?.with_status(403));
    }
    let form = Form::read(request, &["email", "password", NEXT])?;
    let words = AccountWords::of(visit.language);
    let (typed, password, next) = (form.text("email"), form.raw("password"), form.text(NEXT));
    let refuse = |refused: Refused| {
        page(app, &visit, request, (typed, next), Faults { refused: Some(refused), ..Faults::default() })
    };
    let email = Email::parse(typed);
    let fault = password::fault(words, password, email.as_ref().ok());
    let email = match (email, fault) {
        (Ok(email), None) => email,
        (email, password) => {
            let email = email.err().map(|_| words.email_wrong.to_owned());
            return page(app, &visit, request, (typed, next), Faults { email, password, refused: None });
        }
    };
    let address = request.context.address;
    if let Err(throttled) = app.sign_ins.admit_sign_up(address, request.now()) {
        return refuse(Refused::throttled(words, throttled));
    }
    let hash = match password::hash(app, words, password, Some(&email))? {
        Ok(hash) => hash,
        Err(refused) => return refuse(refused),
    };
    let purpose = match app.ledger.commit(&SignUp { email: email.clone(), password: hash, at: request.now() })
    {
        Ok(SignedUp::Created(_)) => Purpose::Confirm,
        Ok(SignedUp::EmailTaken) => Purpose::Taken,
        Err(LoginError::Books(BooksError::Invalid { .. })) => {
            return refuse(Refused {
                status: 503,
                text: words.no_room.to_owned(),
                retry_after_seconds: None,
            });
        }
        Err(error) => return Err(from_books(error)),
    };
    let done = if app.mailer.is_some() { Done::SignedUpByMail } else { Done::SignedUp };
    // An address above its limit of mails gets none now; its owner requests one in the account area.
    if app.mailer.is_some() && app.sign_ins.admit_mail(&email, address, request.now()).is_ok() {
        mails::send(app, &visit, purpose, &email);
    }
    let sign_in = linking_on(&visit.link("/account/sign-in"), next);
    Ok(visit.redirect(request, &done.at(&sign_in)))
}

fn page(
    app: &App,
    visit: &Visit,
    request: &Incoming,
    (email, next): (&str, &str),
    faults: Faults,
) -> Result<Response, ApiError> {
    let words = AccountWords::of(visit.language);
    let has_fault = faults.email.is_some() || faults.password.is_some();
    let status = faults.refused.as_ref().map_or(if has_fault { 422 } else { 200 }, |refused| refused.status);
    let retry = faults.refused.as_ref().and_then(|refused| refused.retry_after_seconds);
    let plan = app.ledger.free_plan();
    let queries = visit.numbers.integer(plan.queries_per_month.into());
    let said = match plan.queries_per_month {
        0 => words.sign_up_paid.to_owned(),
        _ => fill(&fill(words.sign_up_said, queries), visit.numbers.integer(plan.rows_per_query)),
    };
    let form = FormView::new(&visit.link("/account/sign-up"), words.sign_up)
        .problem(faults.refused.map(|refused| refused.text))
        .input(
            Input::new("sign-up", "email", "email", words.email)
                .value(email)
                .autocomplete("username")
                .fault(faults.email)
                .required(),
        )
        .input(password::new_input("sign-up", words.password, words, faults.password));
    let page = SignUpPage {
        frame: visit.frame(Section::Account, words.sign_up, words.sign_in_said).no_index(),
        words,
        said,
        closed: (!app.takes_sign_ups).then(|| Ask::new(visit, words.closed, words.closed_operator)),
        form: leading_on(form, next),
        sign_in: linking_on(&visit.link("/account/sign-in"), next).to_string(),
    };
    Ok(with_status(visit.answer(request, &page, Cache::NoStore)?, status, retry))
}
