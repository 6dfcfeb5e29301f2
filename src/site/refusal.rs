//! Refusals as pages for browsers, with links to go on.
//!
//! Clients of the API get JSON. Does not depend on routes.

use askama::Template;

use super::cache::Cache;
use super::frame::{Frame, Link, Section};
use super::visit::{HTML, Visit, html_of};
use super::words::{Words, fill};
use crate::api::{App, Incoming};
use mercato_web::{ApiError, ErrorKind, Response};

/// First segments of paths of the API and the operator, which have no pages.
const FOR_MACHINES: [&str; 4] = ["api", "healthz", "readyz", "metrics"];

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalView {
    frame: Frame,
    status: u16,
    title: &'static str,
    text: &'static str,
    detail: Option<String>,
    meant: Option<Link>,
    /// The text before and behind the link.
    meant_words: (&'static str, &'static str),
    request: String,
    home: String,
    datasets: String,
}

/// The page of a refusal; nothing for clients that do not want one.
pub(super) fn page(app: &App, request: &Incoming, error: &ApiError) -> Option<Response> {
    let is_for_machines =
        request.segments().first().is_some_and(|first| FOR_MACHINES.contains(&first.as_str()));
    if !request.has_target() || is_for_machines || !request.prefers_html() {
        return None;
    }
    let visit = Visit::plain(app, request);
    let html = html_of(&RefusalView::new(&visit, request, error)).ok()?;
    let response = Response::refusal(error, HTML, html.as_bytes()).encoded_for(request);
    Some(visit.sent(response, request, Cache::NoStore).with_header("Vary", "Accept"))
}

impl RefusalView {
    fn new(visit: &Visit, request: &Incoming, error: &ApiError) -> Self {
        let words = visit.words;
        let (title, text) = title_and_text(words, error.kind());
        let meant = error
            .details()
            .and_then(|details| details.suggestion())
            .filter(|_| request.segments().first().is_some_and(|first| first == "datasets"));
        let is_detailed =
            matches!(error.kind(), ErrorKind::BadRequest | ErrorKind::Unavailable | ErrorKind::RateLimited);
        Self {
            frame: visit.frame(Section::Other, title, text).nowhere(),
            status: error.kind().status(),
            title,
            text,
            detail: is_detailed.then(|| error.message().to_owned()),
            meant: meant.map(|slug| Link {
                text: slug.to_owned(),
                url: visit.link(&format!("/datasets/{slug}")).to_string(),
            }),
            meant_words: words.did_you_mean.split_once("{}").unwrap_or((words.did_you_mean, "")),
            request: fill(words.request_number, request.request_id()),
            home: visit.link("/").to_string(),
            datasets: visit.link("/datasets").to_string(),
        }
    }
}

/// Title and text of a refusal.
pub(super) fn title_and_text(words: &'static Words, kind: ErrorKind) -> (&'static str, &'static str) {
    match kind {
        ErrorKind::NotFound => (words.not_found_title, words.not_found_text),
        ErrorKind::BadRequest => (words.bad_request_title, words.bad_request_text),
        ErrorKind::RateLimited => (words.busy_title, words.busy_text),
        ErrorKind::Unavailable => (words.unavailable_title, words.unavailable_text),
        ErrorKind::Internal => (words.failed_title, words.failed_text),
        ErrorKind::Forbidden => (words.refused_title, words.foreign_text),
        ErrorKind::PayloadTooLarge | ErrorKind::UnsupportedMediaType => {
            (words.refused_title, words.form_text)
        }
        _ => (words.refused_title, words.bad_request_text),
    }
}
