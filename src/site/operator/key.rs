//! `/operator/keys/{key}`: one key of any account: its limits, its replacement and its end.

use askama::Template;

use super::done::Done;
use super::execute::{FormError, FormOutcome, execute};
use super::forms::{Forms, Refused, confirmed, number};
use super::limits;
use super::operator_visit::{self, ACTION, Head, OperatorVisit, Page};
use super::secret::Secret;
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::operator::{LimitKey, RevokeKey, RotateKey};
use crate::site::account::api_keys::key_view::{is_valid, limits as limit_texts, state};
use crate::site::account::dataset_field::{DATASETS, DatasetField, names};
use crate::site::account::form::Form;
use crate::site::account::form_view::FormView;
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_base::clock::Moment;
use mercato_ledger::{KeyId, KeyView};
use mercato_web::{ApiError, ErrorKind, Response};

const LIMIT: &str = "limit";
const ROTATE: &str = "rotate";
const REVOKE: &str = "revoke";
const FIELDS: [&str; 5] = ["day", "month", DATASETS, "end", "grace"];

#[derive(Template)]
#[template(path = "operator/key.html")]
struct KeyPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    common: &'static AccountWords,
    account: String,
    account_url: String,
    facts: Vec<(&'static str, String)>,
    /// Nothing for a key that has ended.
    forms: Option<[FormView; 3]>,
}

/// A key in a list.
pub struct KeyLine {
    /// Its label, or its id.
    pub name: String,
    /// Its first characters.
    pub prefix: String,
    /// Whether it is accepted.
    pub state: String,
    /// Its limits, and its spending against them.
    pub limits: String,
    /// When it was used last.
    pub last_used: String,
    /// Its page.
    pub url: String,
}

impl KeyLine {
    pub fn new(app: &App, operator: &OperatorVisit, key: &KeyView, now: Moment) -> Self {
        let (common, numbers) = (operator.common, operator.visit.numbers);
        Self {
            name: name(key),
            prefix: format!("{}…", key.prefix),
            state: state(common, numbers, key, now),
            limits: limit_texts(common, numbers, app, key, now).join("; "),
            last_used: key.last_used_at.map_or_else(|| common.never.to_owned(), |at| numbers.minute(at)),
            url: operator.visit.link(&format!("/operator/keys/{}", key.id)).to_string(),
        }
    }
}

fn name(key: &KeyView) -> String {
    if key.label.is_empty() { key.id.to_string() } else { key.label.clone() }
}

/// The key.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[], |app, request, operator| {
        let key = of_path(app, request)?;
        page(app, request, &operator, &key, None)
    })
}

/// Limits, replaces or revokes it.
pub fn change(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::change(app, request, |app, request, operator| {
        let key = of_path(app, request)?;
        let here = operator.visit.link(&format!("/operator/keys/{}", key.id));
        let Some(form) = operator.form(app, request, &FIELDS)? else {
            return Ok(operator.repeated(request, &here));
        };
        match submit(app, request, &operator, &form, &key) {
            Ok(outcome) => {
                let account = operator.visit.link(&format!("/operator/accounts/{}", key.account));
                outcome.answer(request, &operator, &here, &account)
            }
            Err(FormError::Refused(text)) => {
                page(app, request, &operator, &key, Some(Refused { form: &form, text }))
            }
            Err(FormError::Failed(error)) => Err(error),
        }
    })
}

fn submit(
    app: &App,
    request: &Incoming,
    operator: &OperatorVisit,
    form: &Form,
    view: &KeyView,
) -> Result<FormOutcome, FormError> {
    let key = view.id.to_string();
    match form.raw(ACTION) {
        LIMIT => {
            // Every limit of the form holds from now on; an empty field lifts its limit.
            execute(app, request, &LimitKey::replace(view.id, limits::read(operator, form)?))?;
            Ok(FormOutcome::Done(Done::Limited))
        }
        ROTATE => {
            let grace_seconds = number(operator, form.text("grace"))?;
            let created = execute(app, request, &RotateKey { key, grace_seconds, label: String::new() })?;
            let notice = operator.words.key_text;
            Ok(FormOutcome::Secret(Secret { notice, name: name(view), text: created.key, link: None }))
        }
        REVOKE => {
            confirmed(operator, form)?;
            execute(app, request, &RevokeKey { key })?;
            Ok(FormOutcome::Done(Done::Revoked))
        }
        _ => Err(operator_visit::no_such_action().into()),
    }
}

fn of_path(app: &App, request: &Incoming) -> Result<KeyView, ApiError> {
    let named = request.path_parameter(0).parse::<KeyId>().ok();
    let key = named.and_then(|id| app.ledger.key_view(id).ok());
    key.ok_or_else(|| ApiError::new(ErrorKind::NotFound, "there is no such key"))
}

fn page(
    app: &App,
    request: &Incoming,
    operator: &OperatorVisit,
    key: &KeyView,
    refused: Option<Refused<'_>>,
) -> Result<Response, ApiError> {
    let (words, common, numbers, now) =
        (operator.words, operator.common, operator.visit.numbers, request.now());
    let title = fill(common.key_of, name(key));
    let account = operator.visit.link(&format!("/operator/accounts/{}", key.account));
    let forms = Forms::new(operator, operator.visit.link(&format!("/operator/keys/{}", key.id)), refused);
    let line = KeyLine::new(app, operator, key, now);
    let mut facts = vec![
        (words.id, key.id.to_string()),
        (common.key, line.prefix),
        (common.state, line.state),
        (common.created, numbers.minute(key.created_at)),
        (common.last_used, line.last_used),
        (common.limits, line.limits),
    ];
    if !key.limits.datasets.is_empty() {
        facts.push((words.only_datasets, key.limits.datasets.join(", ")));
    }
    let valid = is_valid(key, now).then(|| key_forms(app, operator, &forms, key));
    let head = operator.head_below(&title, words.accounts, &operator.visit.link("/operator/accounts"));
    let page = KeyPage {
        frame: operator.frame(Page::Accounts, &title),
        head: Head { problem: forms.unplaced_problem(), ..head },
        words,
        common,
        account: key.account.to_string(),
        account_url: account.to_string(),
        facts,
        forms: valid,
    };
    Ok(operator.visit.answer(request, &page, Cache::NoStore)?.with_status(forms.status()))
}

/// The forms for limits, replacement and end.
fn key_forms(app: &App, operator: &OperatorVisit, forms: &Forms<'_>, key: &KeyView) -> [FormView; 3] {
    let (words, common) = (operator.words, operator.common);
    let is_refused = forms.is_refused(LIMIT);
    let present = |name: &str| match name {
        "day" => key.limits.credits_per_day.map(|cap| cap.to_string()),
        "month" => key.limits.credits_per_month.map(|cap| cap.to_string()),
        "end" => key.limits.expires_at.map(Moment::rfc3339),
        _ => None,
    };
    let chosen = if is_refused { names(forms.typed(LIMIT, DATASETS)) } else { key.limits.datasets.to_vec() };
    let datasets = DatasetField::new(&operator.visit, &app.catalog.snapshot(), &chosen);
    let input = |name, kind, label| {
        let input = forms.input(LIMIT, name, kind, label);
        if is_refused { input } else { input.value(&present(name).unwrap_or_default()) }
    };
    let grace = [
        ("0", common.grace_none),
        ("3600", common.grace_hour),
        ("86400", common.grace_day),
        ("604800", common.grace_week),
    ];
    [
        limits::add_fields(forms.form(LIMIT, words.limit), words, datasets, input),
        forms
            .form(ROTATE, common.rotate)
            .input(forms.input(ROTATE, "grace", "select", common.grace).choices(&grace)),
        forms.form(REVOKE, common.revoke).input(forms.confirmation(REVOKE)).dangerous(),
    ]
}
