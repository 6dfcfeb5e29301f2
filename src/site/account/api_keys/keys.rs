//! `/account/keys`: the keys of an account, and a form for a new one.

use askama::Template;

use super::created;
use super::key_form::{FIELDS, KeyFaults, NewKey, TypedKey};
use crate::clock::Moment;
use crate::http::errors::ApiError;
use crate::http::incoming::Incoming;
use crate::http::response::Response;
use crate::http::{App, random_bytes};
use crate::ledger::{CapPeriod, ChargeError, KeyView};
use crate::limits::ledger::KEYS_PER_ACCOUNT_MAX;
use crate::limits::site::ACCOUNT_LINES_MAX;
use crate::site::account::area::{self, Area, Head, Tab};
use crate::site::account::done::{DONE, Done};
use crate::site::account::form::Form;
use crate::site::account::form_view::FormView;
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::words::fill;

#[derive(Template)]
#[template(path = "account/keys.html")]
struct KeysPage {
    frame: Frame,
    head: Head,
    words: &'static AccountWords,
    keys: Vec<KeyLine>,
    more: Option<String>,
    /// Nothing while the address is to be confirmed.
    form: Option<FormView>,
}

/// A key in the list.
struct KeyLine {
    name: String,
    prefix: String,
    limits: Vec<String>,
    last_used: String,
    state: String,
    url: String,
    manage: String,
}

/// Whether a key is accepted at a moment.
pub fn is_valid(key: &KeyView, now: Moment) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|end| now < end)
}

/// The shown name of a key: its label, or else its first characters.
pub fn name(key: &KeyView) -> String {
    if key.label.is_empty() { format!("{}…", key.prefix) } else { key.label.clone() }
}

/// Whether a key is accepted, in words.
pub fn state(area: &Area, key: &KeyView, now: Moment) -> String {
    let words = area.words;
    match (key.revoked_at, key.expires_at) {
        (Some(_), _) => words.revoked.to_owned(),
        (None, Some(end)) if end <= now => words.expired.to_owned(),
        (None, Some(end)) => fill(words.ends, area.visit.numbers.minute(end)),
        (None, None) => words.valid.to_owned(),
    }
}

/// The limits of a key and its spending against them, in words. Without a cap, does not read the books.
pub fn limits(app: &App, area: &Area, key: &KeyView, now: Moment) -> Vec<String> {
    let (words, numbers) = (area.words, area.visit.numbers);
    let standings = app.ledger.cap_standings(key.account, key.id, &key.limits, now).unwrap_or_default();
    let mut told: Vec<String> = standings
        .iter()
        .map(|cap| {
            let text = if cap.period == CapPeriod::Day { words.spent_day } else { words.spent_month };
            fill(&fill(text, numbers.integer(cap.spent)), numbers.integer(cap.cap))
        })
        .collect();
    match key.limits.datasets.len() {
        0 => {}
        1 => told.push(words.one_dataset_only.to_owned()),
        count => told
            .push(fill(words.many_datasets_only, numbers.integer(u64::try_from(count).unwrap_or(u64::MAX)))),
    }
    if told.is_empty() { vec![words.unlimited.to_owned()] } else { told }
}

/// The list.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[DONE], |app, request, area| {
        page(app, request, &area, &TypedKey::default(), KeyFaults::default())
    })
}

/// Makes a key and shows it, once.
pub fn create(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::change(app, request, |app, request, area| {
        let form = Form::read(request, &FIELDS)?;
        let typed = TypedKey::of(&form);
        let now = request.now();
        if area.must_confirm {
            let page = page(app, request, &area, &typed, KeyFaults::default())?;
            return Ok(page.with_status(403));
        }
        let NewKey { label, limits } = match typed.check(app, &area, now) {
            Ok(new) => new,
            Err(faults) => return page(app, request, &area, &typed, faults),
        };
        match app.ledger.create_limited_key(area.account.id(), &label, random_bytes()?, limits, now) {
            Ok(key) => created::page(request, &area, &key),
            Err(ChargeError::Invalid { .. }) => {
                let full = fill(area.words.key_full, area.visit.numbers.integer(KEYS_PER_ACCOUNT_MAX as u64));
                page(app, request, &area, &typed, KeyFaults::whole(full))
            }
            Err(error) => Err(error.into()),
        }
    })
}

fn page(
    app: &App,
    request: &Incoming,
    area: &Area,
    typed: &TypedKey,
    faults: KeyFaults,
) -> Result<Response, ApiError> {
    let (words, now) = (area.words, request.now());
    let mut keys = app.ledger.keys(area.account.id());
    // Valid ones first, and the newest of them.
    keys.sort_by_key(|key| (!is_valid(key, now), std::cmp::Reverse(key.id)));
    let more = keys.len().saturating_sub(ACCOUNT_LINES_MAX);
    let line = |key: &KeyView| KeyLine {
        name: name(key),
        prefix: format!("{}…", key.prefix),
        limits: limits(app, area, key, now),
        last_used: key
            .last_used_at
            .map_or_else(|| words.never.to_owned(), |at| area.visit.numbers.minute(at)),
        state: state(area, key, now),
        url: area.visit.link(&format!("/account/keys/{}", key.id)).to_string(),
        manage: fill(words.manage_key, name(key)),
    };
    let status = if faults.is_empty() { 200 } else { 422 };
    let page = KeysPage {
        frame: area.frame(words.keys),
        head: area.head(Tab::Keys, words.keys, &[Done::Revoked]),
        words,
        keys: keys.iter().take(ACCOUNT_LINES_MAX).map(line).collect(),
        more: (more > 0).then(|| fill(words.and_more, more)),
        form: (!area.must_confirm).then(|| typed.form(area, faults)),
    };
    Ok(area.visit.answer(request, &page, Cache::NoStore)?.with_status(status))
}
