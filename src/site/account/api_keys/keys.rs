//! `/account/keys`: the keys of an account, and a form for a new one.

use askama::Template;

use super::created;
use super::key_form::{FIELDS, KeyFaults, NewKey, TypedKey};
use super::key_view::{is_valid, limits, name, state};
use super::once::{self, ONCE};
use crate::api::{App, Incoming, from_books};
use crate::limits::site::ACCOUNT_LINES_MAX;
use crate::site::account::area::{self, Area, Head, Tab};
use crate::site::account::done::{DONE, Done};
use crate::site::account::form::Form;
use crate::site::account::form_view::FormView;
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_ledger::limits::KEYS_PER_ACCOUNT_MAX;
use mercato_ledger::{BooksError, KeyView};
use mercato_web::{ApiError, Response};

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

/// The list.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[DONE], |app, request, area| {
        page(app, request, &area, &TypedKey::default(), KeyFaults::default())
    })
}

/// Makes a key and shows it, once.
pub fn create(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::change(app, request, |app, request, area| {
        let known: Vec<&str> = FIELDS.into_iter().chain([ONCE]).collect();
        let form = Form::read(request, &known)?;
        let typed = TypedKey::of(&form);
        let now = request.now();
        let random = once::random(&area, form.raw(ONCE))?;
        if let Some(shown) = once::made_before(app, request, &area, random)? {
            return Ok(shown);
        }
        if area.must_confirm {
            let page = page(app, request, &area, &typed, KeyFaults::default())?;
            return Ok(page.with_status(403));
        }
        let NewKey { label, limits } = match typed.check(app, &area, now) {
            Ok(new) => new,
            Err(faults) => return page(app, request, &area, &typed, faults),
        };
        match app.ledger.create_limited_key(area.account.id(), &label, random, limits, now) {
            Ok(key) => created::page(request, &area, &key),
            Err(BooksError::Invalid { .. }) => {
                // The same form may have made it at the same time.
                if let Some(shown) = once::made_before(app, request, &area, random)? {
                    return Ok(shown);
                }
                let full = fill(area.words.key_full, area.visit.numbers.integer(KEYS_PER_ACCOUNT_MAX as u64));
                page(app, request, &area, &typed, KeyFaults::whole(full))
            }
            Err(error) => Err(from_books(error)),
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
    let (words, numbers, now) = (area.words, area.visit.numbers, request.now());
    let mut keys = app.ledger.keys(area.account.id());
    // Valid ones first, and the newest of them.
    keys.sort_by_key(|key| (!is_valid(key, now), std::cmp::Reverse(key.id)));
    let more = keys.len().saturating_sub(ACCOUNT_LINES_MAX);
    let line = |key: &KeyView| KeyLine {
        name: name(key),
        prefix: format!("{}…", key.prefix),
        limits: limits(words, numbers, app, key, now),
        last_used: key.last_used_at.map_or_else(|| words.never.to_owned(), |at| numbers.minute(at)),
        state: state(words, numbers, key, now),
        url: area.visit.link(&format!("/account/keys/{}", key.id)).to_string(),
        manage: fill(words.manage_key, name(key)),
    };
    let status = if faults.is_empty() { 200 } else { 422 };
    let once = once::text()?;
    let page = KeysPage {
        frame: area.frame(words.keys),
        head: area.head(Tab::Keys, words.keys, &[Done::Revoked]),
        words,
        keys: keys.iter().take(ACCOUNT_LINES_MAX).map(line).collect(),
        more: (more > 0).then(|| fill(words.and_more, more)),
        form: (!area.must_confirm).then(|| typed.form(app, area, faults).hidden(ONCE, once)),
    };
    Ok(area.visit.answer(request, &page, Cache::NoStore)?.with_status(status))
}
