//! The status page: the same facts as `/readyz`.
//!
//! Names datasets that are out of service, never files.

use askama::Template;

use super::cache::Cache;
use super::entry::whole;
use super::frame::{Frame, Section};
use super::visit::Visit;
use super::words::fill;
use crate::api::route::{Guard, Route};
use crate::api::{App, Incoming};
use mercato_base::clock::Moment;
use mercato_ledger::Health;
use mercato_web::{ApiError, Method, Response};

/// Slugs that one list of the status page names.
const STATUS_SLUGS_MAX: usize = 50;

/// Paths of this file.
pub(super) const ROUTES: &[Route] = &[Route::new(Method::Get, "/status", Guard::Public, status)];

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage {
    frame: Frame,
    summary: &'static str,
    /// Class of the summary.
    tone: &'static str,
    parts: Vec<Part>,
    served: String,
    lists: Vec<SlugList>,
    checked: String,
}

struct Part {
    name: &'static str,
    state: &'static str,
    tone: &'static str,
}

/// Datasets that are not as usual.
struct SlugList {
    title: &'static str,
    text: Option<&'static str>,
    count: String,
    slugs: Vec<String>,
    more: Option<String>,
}

fn status(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    visit.answer(request, &StatusPage::new(app, &visit), Cache::NoStore)
}

impl StatusPage {
    fn new(app: &App, visit: &Visit) -> Self {
        let words = visit.words;
        let snapshot = app.catalog.snapshot();
        let pays = matches!(app.ledger.health(), Health::Serving);
        let damaged = snapshot.quarantined().into_iter().map(|(slug, _)| slug.as_str()).collect();
        let fallen_back = snapshot.datasets().iter().filter(|dataset| dataset.falls_back());
        let lists = [
            SlugList::of(visit, words.verifying_datasets, Some(words.verifying_text), snapshot.verifying()),
            SlugList::of(visit, words.damaged_datasets, Some(words.damaged_text), damaged),
            SlugList::of(visit, words.fallen_back, None, fallen_back.map(|dataset| dataset.slug()).collect()),
        ];
        let lists: Vec<SlugList> = lists.into_iter().flatten().collect();
        let (summary, tone) = match (pays, lists.is_empty()) {
            (false, _) => (words.status_down, "bad"),
            (true, false) => (words.status_partly, "warn"),
            (true, true) => (words.status_good, "good"),
        };
        let has_meaning = app.search.neural().embedder().is_some();
        let search = if has_meaning { words.search_with_meaning } else { words.search_words_only };
        let (paid, paid_tone) = if pays { (words.works, "good") } else { (words.works_not, "bad") };
        Self {
            frame: visit.frame(Section::Status, words.status_title, words.status_description).no_index(),
            summary,
            tone,
            parts: vec![
                Part { name: words.part_catalogue, state: words.works, tone: "good" },
                Part { name: words.part_search, state: search, tone: "good" },
                Part { name: words.part_paid, state: paid, tone: paid_tone },
            ],
            served: visit.numbers.integer(whole(snapshot.datasets().len())),
            lists,
            checked: fill(words.status_checked, second(visit.now)),
        }
    }
}

impl SlugList {
    fn of(visit: &Visit, title: &'static str, text: Option<&'static str>, slugs: Vec<&str>) -> Option<Self> {
        let more = slugs.len().saturating_sub(STATUS_SLUGS_MAX);
        let number = |count: usize| visit.numbers.integer(whole(count));
        (!slugs.is_empty()).then(|| Self {
            title,
            text,
            count: number(slugs.len()),
            more: (more > 0).then(|| fill(visit.words.and_more, number(more))),
            slugs: slugs.into_iter().take(STATUS_SLUGS_MAX).map(str::to_owned).collect(),
        })
    }
}

/// Day and time to the second, in UTC.
fn second(now: Moment) -> String {
    let text = now.rfc3339().replace('T', " ");
    text.split_once('.').map_or(text.clone(), |(seconds, _)| seconds.to_owned())
}
