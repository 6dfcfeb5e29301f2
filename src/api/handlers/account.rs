//! The caller's account: credits, plan, limits, keys and usage.
//!
//! Costs no credits, and is answered from memory except for the usage. Never shows another account.

use crate::api::books_errors::from_books;
use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::route::{Guard, Route, Work};
use crate::operator::{Key, UsageDay};
use mercato_base::clock::Moment;
use mercato_base::words::{placed, quoted};
use mercato_ledger::limits::USAGE_DAYS_MAX;
use mercato_ledger::{AccountId, AccountView, BooksError, KeyId, Ledger, UsageQuery};
use mercato_people::{Admission, LimitStatus, Subject};
use mercato_web::{ApiError, ErrorKind, Method, Parameters, Response, validation_error};

const USAGE_DAYS_DEFAULT: u64 = 30;

/// Paths of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/account", Guard::Key, overview).by(Work::Page),
    Route::new(Method::Get, "/api/v1/account/usage", Guard::Key, usage).by(Work::Page),
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Overview {
    id: String,
    name: String,
    plan: &'static str,
    credits: u64,
    reserved: u64,
    free_queries_remaining: u32,
    free_rows_per_query: u64,
    free_queries_reset_at: String,
    created_at: String,
    quota: Quota,
    keys: Vec<Key>,
}

/// Limits of the key that asks. A limit that is lifted is null.
#[derive(Serialize)]
struct Quota {
    scope: &'static str,
    minute: Option<Limit>,
    day: Option<Limit>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Limit {
    limit: u32,
    remaining: u32,
    reset_at: String,
}

fn overview(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let (caller, now) = (request.context.caller()?, request.now());
    let view = app.ledger.account_view(&caller.account, now);
    let admission = app.access.peek(Subject::Key(caller), now);
    Response::data(&Overview::new(&app.ledger, &view, &admission, now))
}

impl Overview {
    fn new(books: &Ledger, view: &AccountView, admission: &Admission, now: Moment) -> Self {
        Self {
            id: view.id.to_string(),
            name: view.name.clone(),
            plan: view.plan.as_str(),
            credits: view.credits,
            reserved: view.reserved,
            free_queries_remaining: view.free_queries_remaining,
            free_rows_per_query: books.free_plan().rows_per_query,
            free_queries_reset_at: view.free_queries_reset_at.rfc3339(),
            created_at: view.created_at.rfc3339(),
            quota: Quota {
                scope: admission.scope.as_str(),
                minute: admission.minute.map(|standing| Limit::new(standing, now)),
                day: admission.day.map(|standing| Limit::new(standing, now)),
            },
            keys: view.keys.iter().map(|key| Key::new(books, key, now)).collect(),
        }
    }
}

impl Limit {
    fn new(standing: LimitStatus, now: Moment) -> Self {
        let seconds = i64::try_from(standing.reset_seconds).unwrap_or(0);
        let reset_at = Moment::from_unix_millis(now.unix_seconds() * 1_000).plus_seconds(seconds);
        Self { limit: standing.limit, remaining: standing.remaining, reset_at: reset_at.rfc3339() }
    }
}

#[derive(Serialize)]
struct Usage {
    days: u32,
    from: String,
    to: String,
    totals: Totals,
    usage: Vec<UsageDay>,
}

#[derive(Serialize, Default)]
struct Totals {
    requests: u64,
    rows: u64,
    credits: u64,
}

fn usage(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let account = request.context.caller()?.account.id();
    let mut query = request.query();
    let days = query.integer("days", 1, u64::from(USAGE_DAYS_MAX), USAGE_DAYS_DEFAULT);
    let by_key = query.choice("by", &[("dataset", false), ("key", true)]).unwrap_or(false);
    let key = key_id(&mut query);
    query.finish()?;
    if let Some(key) = key {
        check_own(app, account, key)?;
    }
    let days = u32::try_from(days).unwrap_or(USAGE_DAYS_MAX);
    let today = request.now().day();
    let query = UsageQuery { account, days, key, by_key };
    let lines = app.ledger.usage(&query, request.now()).map_err(too_long)?;
    let mut totals = Totals::default();
    for line in &lines {
        totals.requests = totals.requests.saturating_add(line.requests);
        totals.rows = totals.rows.saturating_add(line.rows);
        totals.credits = totals.credits.saturating_add(line.credits);
    }
    let first = today.plus_days(1_i32.saturating_sub_unsigned(days));
    Response::data(&Usage {
        days,
        from: first.to_string(),
        to: today.to_string(),
        totals,
        usage: lines.iter().map(UsageDay::from).collect(),
    })
}

const KEYS_ARE_LISTED: &str = "GET /api/v1/account lists the keys with their ids";

/// The id in the parameter `key`.
fn key_id(query: &mut Parameters<'_>) -> Option<KeyId> {
    let text = query.text("key")?;
    let key = text.parse().ok();
    if key.is_none() {
        let message = format!("expected the id of a key, like key_5, found {}", quoted(text));
        query.refuse("UNKNOWN_VALUE", "key", message, KEYS_ARE_LISTED);
    }
    key
}

/// Refuses a key that the account does not have. Keys of other accounts look like unknown ones.
fn check_own(app: &App, account: AccountId, key: KeyId) -> Result<(), ApiError> {
    if app.ledger.key_view(key).is_ok_and(|view| view.account == account) {
        return Ok(());
    }
    let message = format!("this account has no key {}", quoted(&key.to_string()));
    Err(ApiError::new(ErrorKind::NotFound, message).with_reason("KEY_UNKNOWN", KEYS_ARE_LISTED))
}

fn too_long(error: BooksError) -> ApiError {
    match error {
        BooksError::Invalid { field, rule } => {
            validation_error("OUT_OF_RANGE", field, placed(field, &rule), "send a smaller number of days")
        }
        other => from_books(other),
    }
}
