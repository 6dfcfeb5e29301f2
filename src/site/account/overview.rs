//! `/account`: balance, plan, remaining free queries, and the newest entries.

use askama::Template;

use super::api_keys::key_view::is_valid;
use super::area::{self, Area, Head, Tab};
use super::done::{DONE, Done};
use super::entries::{self, EntryLine};
use super::words::AccountWords;
use crate::api::{App, Incoming};
use crate::site::cache::Cache;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_ledger::{AccountView, Plan};
use mercato_web::{ApiError, Response};

/// Newest entries on the first page of an account.
const NEWEST_ENTRIES_MAX: usize = 5;

#[derive(Template)]
#[template(path = "account/overview.html")]
struct OverviewPage {
    frame: Frame,
    head: Head,
    words: &'static AccountWords,
    balance: String,
    facts: Vec<(&'static str, String)>,
    lacks_key: bool,
    keys: String,
    entries: Vec<EntryLine>,
    credits: String,
}

/// The first page of the area.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[DONE], |app, request, area| {
        let view = app.ledger.account_view(&area.account, request.now());
        let newest = entries::newest(app, &area, NEWEST_ENTRIES_MAX)?;
        let words = area.words;
        let valid = view.keys.iter().filter(|key| is_valid(key, request.now())).count();
        let page = OverviewPage {
            frame: area.frame(words.area),
            head: area.head(Tab::Overview, words.area, &[Done::Confirmed, Done::ConfirmSent]),
            words,
            balance: area.credits(view.credits),
            facts: facts(app, &area, &view, valid),
            lacks_key: valid == 0 && !area.must_confirm,
            keys: area.visit.link("/account/keys").to_string(),
            entries: newest.iter().map(|entry| EntryLine::of(&area.visit, area.words, entry)).collect(),
            credits: area.visit.link("/account/credits").to_string(),
        };
        area.visit.answer(request, &page, Cache::NoStore)
    })
}

fn facts(app: &App, area: &Area, view: &AccountView, valid: usize) -> Vec<(&'static str, String)> {
    let (words, numbers) = (area.words, area.visit.numbers);
    let plan = if view.plan == Plan::Free { words.plan_free } else { words.plan_prepaid };
    let mut facts = vec![(words.plan, plan.to_owned())];
    let last_day = numbers.day(view.free_queries_reset_at.plus_millis(-1));
    let left = fill(words.free_until, numbers.integer(view.free_queries_remaining.into()));
    facts.push((words.free_left, fill(&left, last_day)));
    if view.reserved > 0 {
        facts.push((words.reserved, area.credits(view.reserved)));
    }
    facts.push((words.valid_keys, numbers.integer(u64::try_from(valid).unwrap_or(u64::MAX))));
    let limits = app.access.limits();
    let named =
        [(area.visit.words.limits_minute, limits.per_minute), (area.visit.words.limits_day, limits.per_day)];
    let in_force = named.into_iter().filter(|(_, limit)| *limit > 0);
    facts.extend(in_force.map(|(text, limit)| (words.per_key, fill(text, numbers.integer(limit.into())))));
    facts
}
