//! `/operator`: whether everything works, what the server has done since its start, and plots of its last hour.

use askama::Template;

use super::operator_visit::{self, Head, OperatorVisit, Page};
use super::words::OperatorWords;
use crate::api::{App, HistorySample, Incoming, Totals};
use crate::site::cache::Cache;
use crate::site::entry::whole;
use crate::site::frame::Frame;
use crate::site::plots::{Labels, Line, Point};
use crate::site::words::fill;
use mercato_catalog::Snapshot;
use mercato_ledger::Health;
use mercato_web::{ApiError, Response};

const MINUTE_MILLIS: u64 = 60_000;

#[derive(Template)]
#[template(path = "operator/overview.html")]
struct OverviewPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    tone: &'static str,
    summary: String,
    reasons: Vec<String>,
    datasets: Vec<(&'static str, String)>,
    books: Vec<(&'static str, String)>,
    server: Vec<(&'static str, String)>,
    plots: Vec<Line>,
    rates: Vec<Rate>,
}

/// A counter as text.
struct Rate {
    name: &'static str,
    minute: String,
    hour: String,
    most: String,
    total: String,
}

/// A counter of the history.
struct Series {
    id: &'static str,
    name: &'static str,
    of: fn(&Totals) -> u64,
}

/// The page.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[], |app, request, operator| {
        let words = operator.words;
        let snapshot = app.catalog.snapshot();
        let (tone, summary, reasons) = health(app, &operator, &snapshot);
        let history = app.metrics.history();
        let totals = app.metrics.totals();
        let series = series(words);
        let page = OverviewPage {
            frame: operator.frame(Page::Overview, words.overview),
            head: operator.head(words.overview),
            words,
            tone,
            summary,
            reasons,
            datasets: datasets(app, &operator, &snapshot),
            books: books(app, &operator),
            server: server(app, &operator, &totals, history.last()),
            plots: plots(&operator, &series, &history),
            rates: series.iter().map(|one| rate(&operator, one, &history, &totals)).collect(),
        };
        operator.visit.answer(request, &page, Cache::NoStore)
    })
}

fn health(app: &App, operator: &OperatorVisit, snapshot: &Snapshot) -> (&'static str, String, Vec<String>) {
    let words = operator.words;
    match app.ledger.health() {
        Health::NeedsRestart { reason } => ("bad", words.needs_restart.to_owned(), vec![reason]),
        Health::Down { reason } => ("bad", words.books_down.to_owned(), vec![reason]),
        Health::Serving => {
            let faulty = snapshot.quarantined().len().saturating_add(snapshot.warnings().len());
            let tone = if faulty > 0 { "warn" } else { "good" };
            let summary = match (faulty, snapshot.verifying().len()) {
                (0, 0) => words.ready.to_owned(),
                (0, waiting) => fill(words.ready_verifying, operator.visit.numbers.integer(whole(waiting))),
                (faulty, _) => fill(words.ready_faulty, operator.visit.numbers.integer(whole(faulty))),
            };
            (tone, summary, Vec::new())
        }
    }
}

fn datasets(app: &App, operator: &OperatorVisit, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let (words, numbers) = (operator.words, operator.visit.numbers);
    let versions = snapshot.datasets().iter().flat_map(|dataset| &dataset.versions);
    let (count, bytes) = versions.fold((0_u64, 0_u64), |(count, bytes), version| {
        (count.saturating_add(1), bytes.saturating_add(version.table.file_bytes()))
    });
    let (scrubber, verification) = (app.catalog.scrub_counts(), app.catalog.verification());
    let integer = |count: usize| numbers.integer(whole(count));
    vec![
        (words.served_datasets, integer(snapshot.datasets().len())),
        (words.quarantined_datasets, integer(snapshot.quarantined().len())),
        (words.fallen_back_datasets, integer(snapshot.fallen_back())),
        (words.verifying_datasets, integer(snapshot.verifying().len())),
        (words.versions, format!("{} ({})", numbers.integer(count), numbers.bytes(bytes))),
        (words.rows, numbers.integer(snapshot.row_count())),
        (
            words.scrubber,
            fill(
                &fill(words.scrubber_text, numbers.integer(scrubber.rounds())),
                numbers.bytes(scrubber.bytes()),
            ),
        ),
        (words.damaged_found, numbers.integer(scrubber.damaged().saturating_add(verification.damaged()))),
    ]
}

fn books(app: &App, operator: &OperatorVisit) -> Vec<(&'static str, String)> {
    let (words, numbers, stats) = (operator.words, operator.visit.numbers, app.ledger.stats());
    vec![
        (words.accounts, numbers.integer(whole(stats.accounts))),
        (words.keys, numbers.integer(whole(stats.keys))),
        (words.entries, numbers.integer(stats.entries)),
        (words.reservations, numbers.integer(stats.open_reservations)),
    ]
}

fn server(
    app: &App,
    operator: &OperatorVisit,
    totals: &Totals,
    newest: Option<&HistorySample>,
) -> Vec<(&'static str, String)> {
    let (words, numbers) = (operator.words, operator.visit.numbers);
    let memory = newest.map_or_else(|| "–".to_owned(), |sample| numbers.bytes(sample.memory_bytes));
    vec![
        (words.program, env!("CARGO_PKG_VERSION").to_owned()),
        (words.started, numbers.minute(app.documents.started_at())),
        (words.uptime, duration(operator, app.metrics.uptime_seconds())),
        (words.memory, memory),
        (words.panics, numbers.integer(totals.panics)),
    ]
}

/// Days, hours and minutes.
fn duration(operator: &OperatorVisit, seconds: u64) -> String {
    let minutes = seconds / 60;
    let text = fill(operator.words.days_hours_minutes, operator.visit.numbers.integer(minutes / 1_440));
    fill(&fill(&text, minutes / 60 % 24), minutes % 60)
}

fn series(words: &'static OperatorWords) -> [Series; 5] {
    [
        Series { id: "requests", name: words.requests, of: |totals| totals.requests },
        Series { id: "refused", name: words.refused, of: |totals| totals.refused },
        Series { id: "failed", name: words.failed, of: |totals| totals.failed },
        Series { id: "rows", name: words.rows_delivered, of: |totals| totals.rows },
        Series { id: "credits", name: words.credits_spent, of: |totals| totals.credits },
    ]
}

/// How much a counter grew in the minute up to each sample. Fewer seconds are not extrapolated to a minute, so no value
/// exceeds the counter itself.
fn per_minute(series: &Series, history: &[HistorySample]) -> Vec<Point> {
    history
        .iter()
        .skip(1)
        .map(|after| {
            let millis = millis(after);
            let before = sample_before(history, millis.saturating_sub(MINUTE_MILLIS));
            let took = millis.saturating_sub(self::millis(&before)).max(MINUTE_MILLIS);
            let grown = (series.of)(&after.totals).saturating_sub((series.of)(&before.totals));
            let value = u128::from(grown).saturating_mul(MINUTE_MILLIS.into()) / u128::from(took);
            Point { millis, value: u64::try_from(value).unwrap_or(u64::MAX) }
        })
        .collect()
}

/// The last sample up to a moment, else the first of all.
fn sample_before(history: &[HistorySample], elapsed_millis: u64) -> HistorySample {
    let before = history.iter().rfind(|sample| millis(sample) <= elapsed_millis);
    before.or(history.first()).copied().unwrap_or_default()
}

fn millis(sample: &HistorySample) -> u64 {
    u64::try_from(sample.elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// The plots of the last hour; none before there are two points.
fn plots(operator: &OperatorVisit, series: &[Series], history: &[HistorySample]) -> Vec<Line> {
    let (words, numbers) = (operator.words, operator.visit.numbers);
    let (Some(first), Some(last)) = (history.get(1), history.last()) else { return Vec::new() };
    if history.len() <= 2 {
        return Vec::new();
    }
    let ago = fill(words.minutes_ago, millis(last).saturating_sub(millis(first)).div_ceil(MINUTE_MILLIS));
    let line = |id: &str, name: &str, most: String, points: &[Point]| {
        let description = fill(&fill(words.plot_text, name), &most);
        let labels = Labels {
            title: name.to_owned(),
            description,
            first: ago.clone(),
            last: words.now.to_owned(),
            most,
        };
        Line::new(id.to_owned(), labels, points)
    };
    let mut plots: Vec<Line> = series
        .iter()
        .map(|one| {
            let points = per_minute(one, history);
            let most = fill(words.a_minute, numbers.integer(highest(&points)));
            line(one.id, one.name, most, &points)
        })
        .collect();
    let memory: Vec<Point> =
        history.iter().map(|sample| Point { millis: millis(sample), value: sample.memory_bytes }).collect();
    plots.push(line("memory", words.memory, numbers.bytes(highest(&memory)), &memory));
    plots
}

fn highest(points: &[Point]) -> u64 {
    points.iter().map(|point| point.value).max().unwrap_or(0)
}

fn rate(operator: &OperatorVisit, series: &Series, history: &[HistorySample], totals: &Totals) -> Rate {
    let numbers = operator.visit.numbers;
    let newest = history.last().copied().unwrap_or_default();
    let since = |span: u64| {
        let before = sample_before(history, millis(&newest).saturating_sub(span));
        numbers.integer((series.of)(&newest.totals).saturating_sub((series.of)(&before.totals)))
    };
    Rate {
        name: series.name,
        minute: since(MINUTE_MILLIS),
        hour: since(60 * MINUTE_MILLIS),
        most: numbers.integer(highest(&per_minute(series, history))),
        total: numbers.integer((series.of)(totals)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn most_in_a_minute_never_exceeds_what_was_counted() {
        let series = Series { id: "x", name: "x", of: |totals| totals.requests };
        let sample = |seconds, requests| HistorySample {
            elapsed: Duration::from_secs(seconds),
            totals: Totals { requests, ..Totals::default() },
            memory_bytes: 0,
        };
        let history =
            [sample(1, 0), sample(11, 10), sample(41, 10), sample(61, 16), sample(71, 17), sample(191, 37)];
        let points = per_minute(&series, &history);
        let values: Vec<(u64, u64)> = points.iter().map(|point| (point.millis, point.value)).collect();
        assert_eq!(values, [(11_000, 10), (41_000, 10), (61_000, 16), (71_000, 7), (191_000, 10)]);
        assert!(per_minute(&series, &history[..1]).is_empty());
    }
}
