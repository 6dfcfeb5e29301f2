//! `/operator/keys/{key}`: one key of any account: its limits, its replacement and its end.

use askama::Template;

use super::account::changes::{Secret, secret};
use super::done::Done;
use super::forms::{Forms, Refused, confirmed, number, optional_number};
use super::operator_visit::{self, ACTION, Head, OperatorVisit, Page};
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::operator::{CommandOutput, OperatorCommand};
use crate::site::account::api_keys::key_view::{is_valid, limits, state};
use crate::site::account::dataset_field::{DATASETS, DatasetField, names};
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::account::words::AccountWords;
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_base::clock::Moment;
use mercato_ledger::{Change, KeyId, KeyView};
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
    pub fn of(app: &App, operator: &OperatorVisit, key: &KeyView, now: Moment) -> Self {
        let (common, numbers) = (operator.common, operator.visit.numbers);
        Self {
            name: name(key),
            prefix: format!("{}…", key.prefix),
            state: state(common, numbers, key, now),
            limits: limits(common, numbers, app, key, now).join("; "),
            last_used: key.last_used_at.map_or_else(|| common.never.to_owned(), |at| numbers.minute(at)),
            url: operator.visit.link(&format!("/operator/keys/{}", key.id)).to_string(),
        }
    }
}

fn name(key: &KeyView) -> String {
    if key.label.is_empty() { key.id.to_string() } else { key.label.clone() }
}

/// The limits of a form.
pub struct TypedLimits {
    /// Credits for each UTC day.
    pub credits_per_day: Option<u64>,
    /// Credits for each UTC calendar month.
    pub credits_per_month: Option<u64>,
    /// The datasets that the key may read; all when empty.
    pub datasets: Vec<String>,
    /// When it ends: RFC 3339 or a day.
    pub expires_at: Option<String>,
}

/// Reads the limits of a form. The command checks them.
pub fn typed_limits(operator: &OperatorVisit, form: &Form) -> Result<TypedLimits, String> {
    let end = form.text("end");
    Ok(TypedLimits {
        credits_per_day: optional_number(operator, form.text("day"))?,
        credits_per_month: optional_number(operator, form.text("month"))?,
        datasets: names(form.text(DATASETS)),
        expires_at: (!end.is_empty()).then(|| end.to_owned()),
    })
}

/// A form with the fields of limits.
pub fn key_fields(
    form: FormView,
    words: &'static OperatorWords,
    datasets: DatasetField,
    input: impl Fn(&'static str, &'static str, &'static str) -> Input,
) -> FormView {
    form.input(input("day", "number", words.cap_day).hint(words.cap_hint))
        .input(input("month", "number", words.cap_month).hint(words.cap_hint))
        .input(input(DATASETS, "text", words.only_datasets).datasets(datasets).hint(words.only_datasets_hint))
        .input(input("end", "text", words.end).hint(words.end_hint))
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
        let refuse = |text: String| page(app, request, &operator, &key, Some(Refused { form: &form, text }));
        let (command, done) = match form.raw(ACTION) {
            LIMIT => (limit(&operator, &form, key.id), Done::Limited),
            ROTATE => (rotate(&operator, &form, key.id), Done::Limited),
            REVOKE => (
                confirmed(&operator, &form).map(|()| OperatorCommand::RevokeKey { key: key.id.to_string() }),
                Done::Revoked,
            ),
            _ => return Err(operator_visit::no_such_action()),
        };
        let command = match command {
            Ok(command) => command,
            Err(text) => return refuse(text),
        };
        match operator_visit::execute(app, request, &command)? {
            Ok(CommandOutput::CreatedKey(created)) => {
                let back = operator.visit.link(&format!("/operator/accounts/{}", key.account));
                secret(request, &operator, &back, &Secret::key(&operator, &name(&key), &created.key))
            }
            Ok(_) => Ok(operator.done(request, done, &here)),
            Err(text) => refuse(text),
        }
    })
}

/// Every limit of the form holds from now on; an empty field lifts its limit.
fn limit(operator: &OperatorVisit, form: &Form, key: KeyId) -> Result<OperatorCommand, String> {
    fn change<T>(typed: Option<T>) -> Change<T> {
        typed.map_or(Change::Lift, Change::Set)
    }
    let limits = typed_limits(operator, form)?;
    Ok(OperatorCommand::LimitKey {
        key: key.to_string(),
        credits_per_day: change(limits.credits_per_day),
        credits_per_month: change(limits.credits_per_month),
        datasets: change(Some(limits.datasets).filter(|datasets| !datasets.is_empty())),
        expires_at: change(limits.expires_at),
    })
}

fn rotate(operator: &OperatorVisit, form: &Form, key: KeyId) -> Result<OperatorCommand, String> {
    let grace_seconds = number(operator, form.text("grace"))?;
    Ok(OperatorCommand::RotateKey { key: key.to_string(), grace_seconds, label: String::new() })
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
    let line = KeyLine::of(app, operator, key, now);
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
        key_fields(forms.form(LIMIT, words.limit), words, datasets, input),
        forms
            .form(ROTATE, common.rotate)
            .input(forms.input(ROTATE, "grace", "select", common.grace).choices(&grace)),
        forms.form(REVOKE, common.revoke).input(forms.confirmation(REVOKE)).dangerous(),
    ]
}
