//! `/account/usage`: requests, rows and credits of an account's keys, by day, dataset and key.

use std::collections::BTreeMap;

use askama::Template;

use super::api_keys::key_view::name;
use super::area::{self, Area, Head, Tab};
use super::words::AccountWords;
use crate::api::{App, Incoming, from_books};
use crate::limits::site::ACCOUNT_LINES_MAX;
use crate::site::cache::Cache;
use crate::site::frame::{Frame, NavLink};
use crate::site::plots::{Bin, Histogram};
use crate::site::words::fill;
use mercato_base::clock::UtcDay;
use mercato_ledger::{BooksError, KeyId, UsageLine, UsageQuery};
use mercato_web::{ApiError, Response, validation_error};

/// Name of the parameter.
const DAYS: &str = "days";
/// Days that can be chosen; the second is the default.
const CHOICES: [(&str, u32); 3] = [("7", 7), ("30", 30), ("90", 90)];
const DAYS_DEFAULT: u32 = 30;

#[derive(Template)]
#[template(path = "account/usage.html")]
struct UsagePage {
    frame: Frame,
    head: Head,
    words: &'static AccountWords,
    choices: Vec<Choice>,
    plot: Option<Histogram>,
    tables: Vec<Table>,
    csv: String,
}

struct Choice {
    text: String,
    link: NavLink,
}

/// Sums by one thing.
struct Table {
    id: &'static str,
    caption: &'static str,
    what: &'static str,
    lines: Vec<Line>,
    more: Option<String>,
    total: Line,
}

struct Line {
    name: String,
    requests: String,
    rows: String,
    credits: String,
}

/// Requests, rows and credits.
#[derive(Default, Clone, Copy)]
struct Sum {
    requests: u64,
    rows: u64,
    credits: u64,
}

impl Sum {
    fn add(&mut self, line: &UsageLine) {
        self.requests = self.requests.saturating_add(line.requests);
        self.rows = self.rows.saturating_add(line.rows);
        self.credits = self.credits.saturating_add(line.credits);
    }
}

/// The days of a page, and their usage, key by key.
pub fn selected(app: &App, area: &Area, request: &Incoming) -> Result<(u32, Vec<UsageLine>), ApiError> {
    let typed = area.visit.value(DAYS).unwrap_or_default();
    let chosen = CHOICES.iter().find(|(text, _)| *text == typed);
    let days = chosen.map_or(DAYS_DEFAULT, |(_, days)| *days);
    let query = UsageQuery { account: area.account.id(), days, key: None, by_key: true };
    match app.ledger.usage(&query, request.now()) {
        Ok(lines) => Ok((days, lines)),
        Err(BooksError::Invalid { rule, .. }) => {
            Err(validation_error("OUT_OF_RANGE", DAYS, rule, "choose fewer days"))
        }
        Err(error) => Err(from_books(error)),
    }
}

/// The page.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    area::read(app, request, &[DAYS], |app, request, area| {
        let (days, lines) = selected(app, &area, request)?;
        let words = area.words;
        let by_day = of_days(request.now().day(), days, &lines);
        let page = UsagePage {
            frame: area.frame(words.usage),
            head: area.head(Tab::Usage, words.usage, &[]),
            words,
            choices: choices(&area, days),
            plot: (!lines.is_empty()).then(|| plot(&area, &by_day)),
            tables: if lines.is_empty() { Vec::new() } else { tables(app, &area, &by_day, &lines) },
            csv: area.visit.link("/account/usage.csv").with(DAYS, days).to_string(),
        };
        area.visit.answer(request, &page, Cache::NoStore)
    })
}

fn choices(area: &Area, days: u32) -> Vec<Choice> {
    let choice = |(text, count): (&'static str, u32)| Choice {
        text: fill(area.words.last_days, count),
        link: NavLink {
            text,
            url: area.visit.link("/account/usage").with(DAYS, count).to_string(),
            is_current: count == days,
        },
    };
    CHOICES.into_iter().map(choice).collect()
}

/// Every day, also one without requests, oldest first.
fn of_days(today: UtcDay, days: u32, lines: &[UsageLine]) -> BTreeMap<UtcDay, Sum> {
    let ago = |days: u32| today.plus_days(0_i32.saturating_sub_unsigned(days));
    let mut sums: BTreeMap<UtcDay, Sum> = (0..days).map(|days| (ago(days), Sum::default())).collect();
    for line in lines {
        sums.entry(line.day).or_default().add(line);
    }
    sums
}

fn plot(area: &Area, by_day: &BTreeMap<UtcDay, Sum>) -> Histogram {
    let (words, numbers) = (area.words, area.visit.numbers);
    let bin = |(day, sum): (&UtcDay, &Sum)| Bin {
        from: numbers.day(day.start()),
        to: numbers.day(day.start()),
        count: sum.rows,
        count_text: numbers.integer(sum.rows),
    };
    let rows: u64 = by_day.values().map(|sum| sum.rows).fold(0, u64::saturating_add);
    let said = fill(&fill(words.rows_by_day_said, numbers.integer(rows)), by_day.len());
    Histogram::new("usage".to_owned(), words.rows_by_day.to_owned(), said, by_day.iter().map(bin).collect())
}

fn tables(app: &App, area: &Area, by_day: &BTreeMap<UtcDay, Sum>, lines: &[UsageLine]) -> Vec<Table> {
    let words = area.words;
    let mut datasets: BTreeMap<&str, Sum> = BTreeMap::new();
    let mut keys: BTreeMap<Option<KeyId>, Sum> = BTreeMap::new();
    let mut total = Sum::default();
    for line in lines {
        datasets.entry(&line.dataset).or_default().add(line);
        keys.entry(line.key).or_default().add(line);
        total.add(line);
    }
    let names: BTreeMap<KeyId, String> =
        app.ledger.keys(area.account.id()).iter().map(|key| (key.id, name(key))).collect();
    let key_name = |key: &Option<KeyId>| match key {
        Some(key) => names.get(key).cloned().unwrap_or_else(|| "–".to_owned()),
        None => words.on_this_site.to_owned(),
    };
    let days = by_day.iter().rev().filter(|(_, sum)| sum.requests > 0);
    let days = days.map(|(day, sum)| (area.visit.numbers.day(day.start()), *sum)).collect();
    let datasets = most_first(datasets.into_iter().map(|(slug, sum)| (slug.to_owned(), sum)).collect());
    let keys = most_first(keys.iter().map(|(key, sum)| (key_name(key), *sum)).collect());
    [
        ("by-day", words.by_day, words.day, days),
        ("by-dataset", words.by_dataset, words.dataset, datasets),
        ("by-key", words.by_key, words.key, keys),
    ]
    .into_iter()
    .map(|(id, caption, what, sums)| Table::new(area, (id, caption, what), &sums, total))
    .collect()
}

fn most_first(mut sums: Vec<(String, Sum)>) -> Vec<(String, Sum)> {
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.rows));
    sums
}

impl Table {
    fn new(
        area: &Area,
        (id, caption, what): (&'static str, &'static str, &'static str),
        sums: &[(String, Sum)],
        total: Sum,
    ) -> Self {
        let more = sums.len().saturating_sub(ACCOUNT_LINES_MAX);
        let numbers = area.visit.numbers;
        let line = |name: &str, sum: &Sum| Line {
            name: name.to_owned(),
            requests: numbers.integer(sum.requests),
            rows: numbers.integer(sum.rows),
            credits: numbers.integer(sum.credits),
        };
        Self {
            id,
            caption,
            what,
            lines: sums.iter().take(ACCOUNT_LINES_MAX).map(|(name, sum)| line(name, sum)).collect(),
            more: (more > 0).then(|| fill(area.words.and_more, more)),
            total: line(area.words.total, &total),
        }
    }
}
