//! `/operator/sign-in` and `/operator/sign-out`, and the page of a refusal.
//!
//! The token stands in the form alone: it is compared and not kept. Every sign-in makes a new cookie.

use askama::Template;

use super::done::{DONE, Done};
use super::operator_visit::{self, NEXT};
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::limits::site::NEXT_BYTES_MAX;
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::account::signing::same_origin;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::refusal::title_and_text;
use crate::site::url::Url;
use crate::site::visit::{HTML, Visit, html_of};
use crate::site::words::fill;
use mercato_web::{ApiError, ErrorKind, Response, random_bytes};

/// First segments of paths that have no pages.
const FOR_MACHINES: [&str; 4] = ["admin", "healthz", "readyz", "metrics"];
/// Name of the field with the operator's token.
const TOKEN: &str = "token";

#[derive(Template)]
#[template(path = "operator/sign_in.html")]
struct SignInPage {
    frame: Frame,
    words: &'static OperatorWords,
    notice: Option<&'static str>,
    form: FormView,
}

#[derive(Template)]
#[template(path = "operator/refusal.html")]
struct RefusalPage {
    frame: Frame,
    status: u16,
    title: &'static str,
    text: &'static str,
    detail: Option<String>,
    request: String,
    overview: String,
    words: &'static OperatorWords,
}

/// Leads to the pages.
pub fn root(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::private_plain(app, request);
    Ok(visit.redirect(request, &visit.link("/operator")))
}

/// Shows the form; redirects a browser that is signed in.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::private(app, request, &[NEXT, DONE])?;
    let next = visit.value(NEXT).unwrap_or_default().to_owned();
    if operator_visit::signed_in(app, request).is_some() {
        return Ok(visit.redirect(request, &target(&visit, &next)));
    }
    page(&visit, request, &next, None)
}

/// Signs a browser in that sends the operator's token.
pub fn sign_in(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::private_plain(app, request);
    same_origin::check(&visit, request)?;
    let form = Form::read(request, &[TOKEN, NEXT])?;
    let next = form.text(NEXT);
    let address = request.context.address;
    let signed_in = app.admin_token.sign_in(form.raw(TOKEN), address, random_bytes()?, request.now())?;
    let Some(own) = signed_in else {
        let words = OperatorWords::of(visit.language);
        return page(&visit, request, next, Some(words.token_wrong));
    };
    if let Some(before) = operator_visit::signed_in(app, request) {
        app.admin_token.sign_out(before);
    }
    tracing::info!(request_id = request.request_id(), "the operator signed in to the pages");
    let to = target(&visit, next);
    Ok(visit.redirect(request, &to).with_header("Set-Cookie", operator_visit::opened(&own)))
}

/// Ends the sign-in of the cookie. The answer is the same without one.
pub fn sign_out(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::private_plain(app, request);
    same_origin::check(&visit, request)?;
    if let Some(own) = operator_visit::signed_in(app, request) {
        app.admin_token.sign_out(own);
    }
    let to = Done::SignedOut.at(&visit.link("/operator/sign-in"));
    Ok(visit.redirect(request, &to).with_header("Set-Cookie", operator_visit::ended()))
}

/// The page behind a sign-in: always one of the operator's pages.
fn target(visit: &Visit, next: &str) -> Url {
    let short = (next.len() <= NEXT_BYTES_MAX && next.starts_with("/operator")).then_some(next);
    short.and_then(|next| visit.own_page(next)).unwrap_or_else(|| visit.link("/operator"))
}

fn page(
    visit: &Visit,
    request: &Incoming,
    next: &str,
    problem: Option<&'static str>,
) -> Result<Response, ApiError> {
    let words = OperatorWords::of(visit.language);
    let token = Input::new("sign-in", TOKEN, "password", words.token)
        .hint(words.token_hint)
        .autocomplete("current-password")
        .fault(problem.map(str::to_owned))
        .required();
    let form = FormView::new(&visit.link("/operator/sign-in"), words.sign_in).input(token);
    let short = (1..=NEXT_BYTES_MAX).contains(&next.len());
    let page = SignInPage {
        frame: operator_visit::frame(visit, words.sign_in),
        words,
        notice: Done::notice(visit, words),
        form: if short { form.hidden(NEXT, next) } else { form },
    };
    let status = if problem.is_some() { 422 } else { 200 };
    Ok(visit.answer(request, &page, Cache::NoStore)?.with_status(status))
}

/// The page of a refusal; nothing for clients that do not want one.
pub fn refusal(app: &App, request: &Incoming, error: &ApiError) -> Option<Response> {
    let first = request.segments().first().map(String::as_str).unwrap_or_default();
    if !request.has_target() || FOR_MACHINES.contains(&first) || !request.prefers_html() {
        return None;
    }
    let visit = Visit::private_plain(app, request);
    let words = OperatorWords::of(visit.language);
    let (title, text) = title_and_text(visit.words, error.kind());
    let is_detailed = !matches!(error.kind(), ErrorKind::Internal | ErrorKind::Forbidden);
    let page = RefusalPage {
        frame: operator_visit::frame(&visit, title),
        status: error.kind().status(),
        title,
        text: if error.kind() == ErrorKind::NotFound { words.not_found } else { text },
        detail: is_detailed.then(|| error.message().to_owned()),
        request: fill(visit.words.request_number, request.request_id()),
        overview: visit.link("/operator").to_string(),
        words,
    };
    let html = html_of(&page).ok()?;
    let response = Response::refusal(error, HTML, html.as_bytes());
    Some(visit.sent(response, request, Cache::NoStore).with_header("Vary", "Accept"))
}
