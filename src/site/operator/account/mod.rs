//! `/operator/accounts/{account}`: one account with its keys, login, entries and usage, and the forms that change it.

pub(super) mod changes;
mod entries;

use std::collections::BTreeMap;

use askama::Template;
use entries::OperatorLine;

use super::forms::{Forms, Refused};
use super::key::KeyLine;
use super::limits;
use super::operator_visit::{self, Head, OperatorVisit, Page};
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::limits::site::OPERATOR_LINES_PER_PAGE;
use crate::site::account::dataset_field::{DATASETS, DatasetField, names};
use crate::site::account::entries::{BEFORE, EntryPage, KIND};
use crate::site::account::form_view::FormView;
use crate::site::cache::Cache;
use crate::site::entry::whole;
use crate::site::frame::Frame;
use crate::site::plots::{Bin, Histogram};
use crate::site::words::fill;
use mercato_base::clock::UtcDay;
use mercato_ledger::{AccountHandle, AccountView, Plan, UsageLine, UsageQuery};
use mercato_web::{ApiError, ErrorKind, Response};

/// Days of the usage that the page shows.
const USAGE_DAYS: u32 = 30;
const ENTRIES_PER_PAGE: usize = 20;
/// Datasets of the usage that the page shows.
const USAGE_LINES_MAX: usize = 20;

/// The actions of the page.
pub const GRANT: &str = "grant";
pub const BUY: &str = "buy";
pub const KEY: &str = "key";
pub const RESET: &str = "reset";
pub const SESSIONS: &str = "sessions";
pub const CLOSE: &str = "close";

#[derive(Template)]
#[template(path = "operator/account.html")]
struct AccountPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    balance: String,
    facts: Vec<(&'static str, String)>,
    keys: Vec<KeyLine>,
    more_keys: Option<String>,
    entries: Vec<OperatorLine>,
    pages: EntryPage,
    plot: Option<Histogram>,
    usage: Vec<Used>,
    sessions: Vec<Session>,
    /// Nothing for a closed account.
    open: Option<OpenForms>,
}

struct OpenForms {
    grant: FormView,
    buy: FormView,
    key: FormView,
    /// Nothing without a login.
    reset: Option<FormView>,
    /// Nothing without a session.
    sessions: Option<FormView>,
    close: FormView,
}

struct Session {
    opened: String,
    last_seen: String,
    ends: String,
}

struct Used {
    dataset: String,
    requests: String,
    rows: String,
    credits: String,
}

impl AccountPage {
    /// The name of the link to a key.
    fn manage(&self, key: &KeyLine) -> String {
        fill(self.words.manage_key, &key.name)
    }
}

/// The account that the path names.
pub fn of_path(app: &App, request: &Incoming) -> Result<AccountHandle, ApiError> {
    let named = request.path_parameter(0).parse().ok();
    let account = named.and_then(|id| app.ledger.account(id));
    account.ok_or_else(|| ApiError::new(ErrorKind::NotFound, "there is no such account"))
}

/// The account.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[KIND, BEFORE], |app, request, operator| {
        let account = of_path(app, request)?;
        page(app, request, &operator, &account, None)
    })
}

/// The page, with a form that was refused.
pub fn page(
    app: &App,
    request: &Incoming,
    operator: &OperatorVisit,
    account: &AccountHandle,
    refused: Option<Refused<'_>>,
) -> Result<Response, ApiError> {
    let (words, now) = (operator.words, request.now());
    let view = app.ledger.account_view(account, now);
    let title = title(app, &view);
    let here = operator.visit.link(&format!("/operator/accounts/{}", view.id));
    let query = EntryPage::query(&operator.visit, view.id, view.created_at, ENTRIES_PER_PAGE);
    // While the books are down, the rest of the page is still of use.
    let history = app.ledger.history(&query).unwrap_or_default();
    let pages = EntryPage::of(&operator.visit, operator.common, &here, history);
    let forms = Forms::new(operator, here, refused);
    let sessions = app.ledger.sessions(view.id, now);
    let more = view.keys.len().saturating_sub(OPERATOR_LINES_PER_PAGE);
    let usage =
        app.ledger.usage(&UsageQuery { account: view.id, days: USAGE_DAYS, key: None, by_key: false }, now);
    let usage = usage.unwrap_or_default();
    let has_login = app.ledger.login(view.id).is_some();
    let open = view.closed_at.is_none().then(|| {
        let chosen = names(forms.typed(KEY, DATASETS));
        let datasets = DatasetField::new(&operator.visit, &app.catalog.snapshot(), &chosen);
        OpenForms::new(&forms, words, datasets, has_login, !sessions.is_empty())
    });
    let head = operator.head_below(&title, words.accounts, &operator.visit.link("/operator/accounts"));
    let page = AccountPage {
        frame: operator.frame(Page::Accounts, &title),
        head: Head { problem: forms.unplaced_problem(), ..head },
        words,
        balance: operator.credits(view.credits),
        facts: facts(app, operator, &view),
        keys: view
            .keys
            .iter()
            .rev()
            .take(OPERATOR_LINES_PER_PAGE)
            .map(|key| KeyLine::new(app, operator, key, now))
            .collect(),
        more_keys: (more > 0).then(|| fill(operator.common.and_more, more)),
        entries: pages.entries.iter().map(|entry| OperatorLine::of(operator, entry)).collect(),
        pages,
        plot: (!usage.is_empty()).then(|| plot(operator, now.day(), &usage)),
        usage: used(operator, &usage),
        open,
        sessions: sessions
            .iter()
            .rev()
            .map(|session| Session {
                opened: operator.visit.numbers.minute(session.created_at),
                last_seen: operator.visit.numbers.minute(session.last_seen_at),
                ends: operator.visit.numbers.minute(session.ends_at),
            })
            .collect(),
    };
    Ok(operator.visit.answer(request, &page, Cache::NoStore)?.with_status(forms.status()))
}

/// The name of an account, or else its address, or its id.
fn title(app: &App, view: &AccountView) -> String {
    if !view.name.is_empty() {
        return view.name.clone();
    }
    app.ledger.login(view.id).map_or_else(|| view.id.to_string(), |login| login.email.as_str().to_owned())
}

fn facts(app: &App, operator: &OperatorVisit, view: &AccountView) -> Vec<(&'static str, String)> {
    let (words, common, numbers) = (operator.words, operator.common, operator.visit.numbers);
    let plan = if view.plan == Plan::Free { common.plan_free } else { common.plan_prepaid };
    let mut facts = vec![
        (words.id, view.id.to_string()),
        (words.created, numbers.minute(view.created_at)),
        (common.plan, plan.to_owned()),
    ];
    let last_day = numbers.day(view.free_queries_reset_at.plus_millis(-1));
    let left = fill(common.free_until, numbers.integer(view.free_queries_remaining.into()));
    facts.push((common.free_left, fill(&left, last_day)));
    if view.reserved > 0 {
        facts.push((common.reserved, operator.credits(view.reserved)));
    }
    if let Some(login) = app.ledger.login(view.id) {
        facts.push((common.email, login.email.as_str().to_owned()));
        let confirmed = login.confirmed_at.map_or_else(|| words.no.to_owned(), |at| numbers.minute(at));
        facts.push((words.confirmed, confirmed));
    } else {
        facts.push((common.email, words.no_login.to_owned()));
    }
    if let Some(at) = view.closed_at {
        facts.push((words.closed, numbers.minute(at)));
    }
    facts
}

impl OpenForms {
    fn new(
        forms: &Forms<'_>,
        words: &'static OperatorWords,
        datasets: DatasetField,
        has_login: bool,
        has_session: bool,
    ) -> Self {
        let field = |action, name, kind, label| forms.input(action, name, kind, label);
        let close = forms.form(CLOSE, words.close).input(forms.confirmation(CLOSE)).dangerous();
        Self {
            grant: forms
                .form(GRANT, words.grant)
                .input(field(GRANT, "credits", "number", words.credits).required())
                .input(field(GRANT, "note", "text", words.note).hint(words.note_hint)),
            buy: forms
                .form(BUY, words.buy)
                .input(field(BUY, "credits", "number", words.credits).required())
                .input(field(BUY, "cents", "number", words.cents).hint(words.cents_hint))
                .input(field(BUY, "reference", "text", words.reference).hint(words.reference_hint))
                .input(field(BUY, "note", "text", words.note).hint(words.note_hint)),
            key: limits::add_fields(
                forms.form(KEY, words.create_key).input(field(KEY, "label", "text", words.label)),
                words,
                datasets,
                |name, kind, label| forms.input(KEY, name, kind, label),
            ),
            reset: has_login.then(|| forms.form(RESET, words.reset)),
            sessions: has_session.then(|| forms.form(SESSIONS, words.end_sessions)),
            close,
        }
    }
}

fn plot(operator: &OperatorVisit, today: UtcDay, lines: &[UsageLine]) -> Histogram {
    let (common, numbers) = (operator.common, operator.visit.numbers);
    let ago = |days: u32| today.plus_days(0_i32.saturating_sub_unsigned(days));
    let mut rows: BTreeMap<UtcDay, u64> = (0..USAGE_DAYS).map(|days| (ago(days), 0)).collect();
    for line in lines {
        let sum = rows.entry(line.day).or_default();
        *sum = sum.saturating_add(line.rows);
    }
    let bin = |(day, rows): (&UtcDay, &u64)| Bin {
        from: numbers.day(day.start()),
        to: numbers.day(day.start()),
        count: *rows,
        count_text: numbers.integer(*rows),
    };
    let total = rows.values().copied().fold(0, u64::saturating_add);
    let said = fill(&fill(common.rows_by_day_said, numbers.integer(total)), whole(rows.len()));
    Histogram::new("usage".to_owned(), common.rows_by_day.to_owned(), said, rows.iter().map(bin).collect())
}

/// By dataset, most rows first.
fn used(operator: &OperatorVisit, lines: &[UsageLine]) -> Vec<Used> {
    let numbers = operator.visit.numbers;
    let mut sums: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for line in lines {
        let sum = sums.entry(&line.dataset).or_default();
        let more = [line.requests, line.rows, line.credits];
        for (sum, more) in sum.iter_mut().zip(more) {
            *sum = sum.saturating_add(more);
        }
    }
    let mut sums: Vec<(&str, [u64; 3])> = sums.into_iter().collect();
    sums.sort_by_key(|(_, [_, rows, _])| std::cmp::Reverse(*rows));
    let used = |(dataset, [requests, rows, credits]): (&str, [u64; 3])| Used {
        dataset: dataset.to_owned(),
        requests: numbers.integer(requests),
        rows: numbers.integer(rows),
        credits: numbers.integer(credits),
    };
    sums.into_iter().take(USAGE_LINES_MAX).map(used).collect()
}
