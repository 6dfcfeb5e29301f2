//! `/account/keys/{key}`: one key of an account. Keys of other accounts answer 404.

use askama::Template;

use super::created;
use super::key_form::{FIELDS, KeyFaults, TypedKey, label_fault};
use super::key_view::{is_valid, limits, name, state};
use super::once::{self, ONCE};
use crate::api::{App, Incoming, from_books};
use crate::site::account::area::{self, Area, Head, Tab};
use crate::site::account::done::{DONE, Done};
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_ledger::limits::KEYS_PER_ACCOUNT_MAX;
use mercato_ledger::{BooksError, KeyId, KeyView};
use mercato_web::{ApiError, ErrorKind, Response, validation_error};

#[derive(Template)]
#[template(path = "account/key.html")]
struct KeyPage {
    frame: Frame,
    head: Head,
    words: &'static AccountWords,
    facts: Vec<(&'static str, String)>,
    datasets: Vec<String>,
    forms: Option<Forms>,
    keys: String,
}

struct Forms {
    rename: FormView,
    limit: FormView,
    rotate: FormView,
    revoke: FormView,
}

/// The faults of a form.
#[derive(Default)]
struct Faults {
    typed: Option<String>,
    label: Option<String>,
    rotate: Option<String>,
    limits: Option<(TypedKey, KeyFaults)>,
}

/// The key.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[DONE], |app, request, area| {
        let key = own_key(app, &area, request)?;
        page(app, request, &area, &key, Faults::default())
    })
}

/// Renames, limits, replaces or revokes it.
pub fn change(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::change(app, request, |app, request, area| {
        let key = own_key(app, &area, request)?;
        let known: Vec<&str> = ["action", "grace", ONCE].into_iter().chain(FIELDS).collect();
        let form = Form::read(request, &known)?;
        match form.raw("action") {
            "rename" => rename(app, request, &area, &key, form.text("label")),
            "limit" => limit(app, request, &area, &key, TypedKey::of(&form)),
            "rotate" => rotate(app, request, &area, &key, &form),
            "revoke" => {
                app.ledger.revoke_key(key.id, request.now()).map_err(from_books)?;
                Ok(area.visit.redirect(request, &Done::Revoked.at(&area.visit.link("/account/keys"))))
            }
            _ => {
                Err(validation_error("BODY_INVALID", "action", "no such action", "send the form of the page"))
            }
        }
    })
}

fn rename(
    app: &App,
    request: &Incoming,
    area: &Area,
    key: &KeyView,
    label: &str,
) -> Result<Response, ApiError> {
    if let Some(fault) = label_fault(area, label) {
        let faults = Faults { typed: Some(label.to_owned()), label: Some(fault), ..Faults::default() };
        return page(app, request, area, key, faults);
    }
    app.ledger.rename_key(key.id, label).map_err(from_books)?;
    Ok(area.visit.redirect(request, &Done::Renamed.at(&own_url(area, key.id))))
}

fn limit(
    app: &App,
    request: &Incoming,
    area: &Area,
    key: &KeyView,
    typed: TypedKey,
) -> Result<Response, ApiError> {
    if !is_valid(key, request.now()) {
        return page(app, request, area, key, Faults::default());
    }
    match typed.change(app, area, &key.limits, request.now()) {
        Ok(change) => {
            app.ledger.limit_key(key.id, &change, request.now()).map_err(from_books)?;
            Ok(area.visit.redirect(request, &Done::Limited.at(&own_url(area, key.id))))
        }
        Err(faults) => {
            let faults = Faults { limits: Some((typed, faults)), ..Faults::default() };
            page(app, request, area, key, faults)
        }
    }
}

fn rotate(
    app: &App,
    request: &Incoming,
    area: &Area,
    key: &KeyView,
    form: &Form,
) -> Result<Response, ApiError> {
    let grace_seconds = match form.raw("grace") {
        "none" => 0,
        "hour" => 3_600,
        "day" => 86_400,
        "week" => 604_800,
        _ => {
            return Err(validation_error(
                "BODY_INVALID",
                "grace",
                "no such grace",
                "send the form of the page",
            ));
        }
    };
    let random = once::random(area, form.raw(ONCE))?;
    if let Some(shown) = once::made_before(app, request, area, random)? {
        return Ok(shown);
    }
    if !is_valid(key, request.now()) {
        return page(app, request, area, key, Faults::default());
    }
    match app.ledger.rotate_key(key.id, "", grace_seconds, random, request.now()) {
        Ok(created) => created::page(request, area, &created),
        Err(BooksError::Invalid { .. }) => {
            // The same form may have made it at the same time.
            if let Some(shown) = once::made_before(app, request, area, random)? {
                return Ok(shown);
            }
            let full = fill(area.words.key_full, area.visit.numbers.integer(KEYS_PER_ACCOUNT_MAX as u64));
            page(app, request, area, key, Faults { rotate: Some(full), ..Faults::default() })
        }
        Err(error) => Err(from_books(error)),
    }
}

/// The key that the path names, if it belongs to the signed-in customer.
fn own_key(app: &App, area: &Area, request: &Incoming) -> Result<KeyView, ApiError> {
    let named = request.path_parameter(0).parse::<KeyId>().ok();
    let key = named.and_then(|id| app.ledger.key_view(id).ok());
    key.filter(|key| key.account == area.account.id())
        .ok_or_else(|| ApiError::new(ErrorKind::NotFound, "this account has no such key"))
}

fn own_url(area: &Area, key: KeyId) -> Url {
    area.visit.link(&format!("/account/keys/{key}"))
}

fn page(
    app: &App,
    request: &Incoming,
    area: &Area,
    key: &KeyView,
    faults: Faults,
) -> Result<Response, ApiError> {
    let (words, numbers, now) = (area.words, area.visit.numbers, request.now());
    let (title, once) = (fill(words.key_of, name(key)), once::text()?);
    let has_fault = faults.label.is_some() || faults.rotate.is_some() || faults.limits.is_some();
    let used = key.last_used_at.map_or_else(|| words.never.to_owned(), |at| numbers.minute(at));
    let mut facts = vec![
        (words.key, format!("{}…", key.prefix)),
        (words.state, state(words, numbers, key, now)),
        (words.created, numbers.minute(key.created_at)),
        (words.last_used, used),
    ];
    facts.extend(limits(words, numbers, app, key, now).into_iter().map(|limit| (words.limits, limit)));
    let page = KeyPage {
        frame: area.frame(&title),
        head: area.head(Tab::Keys, &title, &[Done::Renamed, Done::Limited]),
        words,
        facts,
        datasets: key.limits.datasets.to_vec(),
        forms: is_valid(key, now).then(|| Forms::new(app, area, key, faults, once)),
        keys: area.visit.link("/account/keys").to_string(),
    };
    let status = if has_fault { 422 } else { 200 };
    Ok(area.visit.answer(request, &page, Cache::NoStore)?.with_status(status))
}

impl Forms {
    fn new(app: &App, area: &Area, key: &KeyView, faults: Faults, once: String) -> Self {
        let (words, here) = (area.words, own_url(area, key.id));
        let grace = [
            ("none", words.grace_none),
            ("hour", words.grace_hour),
            ("day", words.grace_day),
            ("week", words.grace_week),
        ];
        let (limits, limit_faults) =
            faults.limits.unwrap_or_else(|| (TypedKey::of_limits(&key.limits), KeyFaults::default()));
        let label = faults.typed.as_deref().unwrap_or(&key.label);
        Self {
            rename: FormView::new(&here, words.rename)
                .hidden("action", "rename")
                .input(Input::new("rename", "label", "text", words.label).value(label).fault(faults.label)),
            limit: limits.limits_form(app, area, &here, limit_faults),
            rotate: FormView::new(&here, words.rotate)
                .hidden("action", "rotate")
                .hidden(ONCE, once)
                .problem(faults.rotate)
                .input(Input::new("rotate", "grace", "select", words.grace).choices(&grace)),
            revoke: FormView::new(&here, words.revoke).hidden("action", "revoke").dangerous(),
        }
    }
}
