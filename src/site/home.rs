//! The home page: description of the site, search box, featured datasets, tags, and new versions.
//!
//! Depends on the catalogue, not on pages of a dataset.

use askama::Template;

use super::cache::Cache;
use super::entry::{Entry, datasets_in_words, rows_in_words, tag_link};
use super::frame::{Frame, Link, Section};
use super::visit::Visit;
use super::words::fill;
use crate::api::route::{Guard, Route};
use crate::api::{App, Incoming, unknown_path};
use crate::limits::site::NEWEST_MAX;
use mercato_catalog::{NewVersion, Snapshot};
use mercato_web::{ApiError, Method, Response};

/// Featured datasets on the home page.
const FEATURED_MAX: usize = 6;
/// Tags on the home page.
const HOME_TAGS_MAX: usize = 30;

/// Paths of this file.
pub(super) const ROUTES: &[Route] = &[Route::new(Method::Get, "/", Guard::Public, home)];

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    heading: String,
    about: Vec<String>,
    counts: Option<String>,
    featured: Vec<Entry>,
    tags: Vec<(Link, String)>,
    newest: Vec<NewLine>,
    datasets: String,
}

/// A version that was published lately.
struct NewLine {
    title: String,
    url: String,
    version: String,
    rows: String,
    day: String,
    machine_day: String,
}

fn home(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    if request.prefers_json() {
        request.query().finish()?;
        return Err(unknown_path(app).with_header("Vary", "Accept"));
    }
    let visit = Visit::plain(app, request);
    let snapshot = app.catalog.snapshot();
    let page = HomePage::new(&visit, &snapshot);
    let response = visit.answer(request, &page, Cache::Revalidate(snapshot.changed_at()))?;
    Ok(response.with_header("Vary", "Accept"))
}

impl HomePage {
    fn new(visit: &Visit, snapshot: &Snapshot) -> Self {
        let (words, branding) = (visit.words, &visit.branding);
        let heading = branding.tagline.choose(Some(visit.language)).unwrap_or(words.home_title);
        let about = branding.about.choose(Some(visit.language)).unwrap_or(words.home_text);
        let paragraphs = about.split("\n\n").map(str::trim).filter(|text| !text.is_empty());
        let counts = || {
            let datasets = datasets_in_words(visit, snapshot.datasets().len());
            fill(&fill(words.home_counts, datasets), rows_in_words(visit, snapshot.row_count()))
        };
        // The default order has the featured ones first.
        let featured =
            snapshot.datasets().iter().take_while(|dataset| dataset.manifest.featured).take(FEATURED_MAX);
        let tags = snapshot.tags().iter().take(HOME_TAGS_MAX);
        let tags = tags
            .map(|tag| (tag_link(visit, &tag.tag), visit.numbers.integer(super::entry::whole(tag.count))));
        Self {
            frame: visit.frame(Section::Home, heading, super::entry::summary(about)),
            heading: heading.to_owned(),
            about: paragraphs.map(str::to_owned).collect(),
            counts: (!snapshot.datasets().is_empty()).then(counts),
            featured: featured.map(|dataset| Entry::of(visit, dataset)).collect(),
            tags: tags.collect(),
            newest: snapshot
                .newest_versions()
                .iter()
                .take(NEWEST_MAX)
                .map(|new| NewLine::of(visit, new))
                .collect(),
            datasets: visit.link("/datasets").to_string(),
        }
    }
}

impl NewLine {
    fn of(visit: &Visit, new: &NewVersion) -> Self {
        let (dataset, version) = (&new.dataset, &new.version);
        let title = dataset.manifest.title.choose(Some(visit.language)).unwrap_or(dataset.slug());
        Self {
            title: title.to_owned(),
            url: visit.link(&format!("/datasets/{}", dataset.slug())).to_string(),
            version: fill(visit.words.version, &version.version),
            rows: rows_in_words(visit, version.table.row_count().into()),
            day: visit.numbers.day(version.published_at),
            machine_day: version.published_at.rfc3339(),
        }
    }
}
