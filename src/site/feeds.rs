//! Atom feeds of versions: of all datasets and of each.
//!
//! Depends on versions and changelogs, not on pages.

use askama::Template;

use super::cache::Cache;
use super::entry::rows_in_words;
use super::visit::Visit;
use super::words::fill;
use crate::api::route::{Guard, Route};
use crate::api::{App, Incoming, find_dataset};
use mercato_base::clock::Moment;
use mercato_catalog::{Dataset, DatasetVersion, parse_changelog};
use mercato_web::{ApiError, Method, Response};

const FEED_ENTRIES_MAX: usize = 50;
/// Characters of the text of an entry of a feed.
const FEED_TEXT_CHARS_MAX: usize = 2_000;

/// Paths of this file.
pub(super) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/feed.atom", Guard::Public, of_all),
    Route::new(Method::Get, "/datasets/{slug}/feed.atom", Guard::Public, of_dataset),
];

const ATOM: &str = "application/atom+xml; charset=utf-8";

#[derive(Template)]
#[template(path = "feed.xml")]
struct Feed {
    lang: &'static str,
    title: String,
    author: String,
    id: String,
    own: String,
    page: String,
    updated: String,
    entries: Vec<FeedEntry>,
}

struct FeedEntry {
    id: String,
    title: String,
    page: String,
    published: String,
    summary: String,
    text: Option<String>,
}

fn of_all(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let visit = Visit::plain(app, request);
    let snapshot = app.catalog.snapshot();
    let newest = snapshot.newest_versions().iter().take(FEED_ENTRIES_MAX);
    let entries = newest.map(|new| FeedEntry::new(&visit, &new.dataset, &new.version, None)).collect();
    let title = fill(visit.words.feed_title, &visit.branding.name);
    let feed = Feed::new(&visit, &title, "/datasets", snapshot.changed_at(), entries);
    send(&visit, request, &feed, snapshot.changed_at())
}

fn of_dataset(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find_dataset(app, request)?;
    let visit = Visit::plain(app, request);
    let changes = parse_changelog(&dataset.changelog);
    let text = |version: &DatasetVersion| {
        let change = changes.iter().find(|change| change.version == version.version)?;
        let text: String = change.markdown.chars().take(FEED_TEXT_CHARS_MAX).collect();
        (!text.is_empty()).then_some(text)
    };
    let versions = dataset.versions.iter().take(FEED_ENTRIES_MAX);
    let entries = versions.map(|version| FeedEntry::new(&visit, &dataset, version, text(version))).collect();
    let title = fill(visit.words.feed_of, title_of(&visit, &dataset));
    let page = format!("/datasets/{}", dataset.slug());
    let feed = Feed::new(&visit, &title, &page, dataset.updated_at, entries);
    send(&visit, request, &feed, dataset.updated_at)
}

fn send(visit: &Visit, request: &Incoming, feed: &Feed, changed_at: Moment) -> Result<Response, ApiError> {
    let xml = feed.render().map_err(|error| ApiError::internal(format!("a feed: {error}")))?;
    Ok(visit.sent(Response::bytes(ATOM, xml.as_bytes()), request, Cache::Revalidate(changed_at)))
}

impl Feed {
    fn new(visit: &Visit, title: &str, page: &str, changed_at: Moment, entries: Vec<FeedEntry>) -> Self {
        Self {
            lang: visit.code(),
            title: xml_text(title),
            author: xml_text(&visit.branding.name),
            id: visit.absolute(&visit.here().bare()),
            own: visit.absolute(visit.here()),
            page: visit.absolute(&visit.link(page)),
            updated: changed_at.rfc3339(),
            entries,
        }
    }
}

impl FeedEntry {
    fn new(visit: &Visit, dataset: &Dataset, version: &DatasetVersion, text: Option<String>) -> Self {
        let page = visit.link(&format!("/datasets/{}", dataset.slug()));
        let rows = rows_in_words(visit, version.table.row_count().into());
        Self {
            id: format!("{}#{}", visit.absolute(&page.bare()), version.version),
            title: xml_text(&format!("{} {}", title_of(visit, dataset), version.version)),
            page: visit.absolute(&page),
            published: version.published_at.rfc3339(),
            summary: fill(&fill(visit.words.feed_entry, &version.version), rows),
            text: text.map(|text| xml_text(&text)),
        }
    }
}

fn title_of<'d>(visit: &Visit, dataset: &'d Dataset) -> &'d str {
    dataset.manifest.title.choose(Some(visit.language)).unwrap_or(dataset.slug())
}

/// A text without the characters that XML 1.0 cannot hold, escaped or not.
fn xml_text(text: &str) -> String {
    let is_allowed = |letter: &char| {
        matches!(letter, '\t' | '\n' | '\r') || (*letter >= ' ' && !matches!(letter, '\u{fffe}' | '\u{ffff}'))
    };
    text.chars().filter(is_allowed).collect()
}
