//! `/operator/publications`: files that are being written, store files that wait for their verification, datasets that are not
//! published, and the newest versions.
//!
//! A publication runs in another program and reports to nobody: the page says what lies on the disk, and no more.

use askama::Template;

use super::dataset::not_a_copy;
use super::done::Done;
use super::forms::{Forms, Refused};
use super::operator_visit::{self, ACTION, Head, ONCE, OperatorVisit, Page};
use super::words::OperatorWords;
use crate::api::{App, Incoming};
use crate::limits::site::{ACCOUNT_LINES_MAX, NEWEST_MAX};
use crate::site::account::form_view::FormView;
use crate::site::cache::Cache;
use crate::site::entry::whole;
use crate::site::frame::Frame;
use crate::site::words::fill;
use mercato_catalog::publish::{Rows, republish};
use mercato_catalog::{Incoming as IncomingFiles, IncomingFile, Slug, Unpublished};
use mercato_web::{ApiError, Response};

/// Folders of datasets that the page scans.
const FOLDERS_SCANNED_MAX: usize = 20_000;
const SCAN: &str = "scan";
const REPUBLISH: &str = "republish";
/// Name of the field with a dataset.
const DATASET: &str = "dataset";
/// A file that nothing was written to for so long was probably left by an interrupted publication.
const IDLE_SECONDS: u64 = 600;

#[derive(Template)]
#[template(path = "operator/publications.html")]
struct PublicationsPage {
    frame: Frame,
    head: Head,
    words: &'static OperatorWords,
    is_whole: bool,
    files: Vec<FileLine>,
    more_files: Option<String>,
    verification: Vec<(&'static str, String)>,
    verifying: Vec<String>,
    more_verifying: Option<String>,
    unpublished: Vec<UnpublishedLine>,
    more_unpublished: Option<String>,
    newest: Vec<Version>,
    scan: FormView,
}

struct FileLine {
    slug: String,
    name: String,
    bytes: String,
    written: String,
    state: &'static str,
    tone: &'static str,
}

struct UnpublishedLine {
    slug: String,
    why: &'static str,
    republish: Option<FormView>,
}

struct Version {
    slug: String,
    url: String,
    version: String,
    published: String,
}

/// The page.
pub fn show(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::read(app, request, &[], |app, request, operator| page(app, request, &operator, None))
}

/// Scans all folders now, or publishes a dataset again.
pub fn change(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    operator_visit::change(app, request, |app, request, operator| {
        let here = operator.visit.link("/operator/publications");
        let Some(form) = operator.form(app, request, &[DATASET])? else {
            return Ok(operator.repeated(request, &here));
        };
        let (outcome, done) = match form.raw(ACTION) {
            SCAN => (Ok(()), Done::Scanned),
            REPUBLISH => (publish_again(app, &operator, form.raw(DATASET)), Done::Republished),
            _ => return Err(operator_visit::no_such_action()),
        };
        if let Err(text) = outcome {
            return page(app, request, &operator, Some(Refused { form: &form, text }));
        }
        app.catalog.reload(request.now()).map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(operator.done(request, done, &here))
    })
}

fn publish_again(app: &App, operator: &OperatorVisit, slug: &str) -> Result<(), String> {
    not_a_copy(app, operator)?;
    let slug = Slug::parse(slug).map_err(|error| error.to_string())?;
    republish(app.catalog.directory(), &slug, Rows::Here).map(drop).map_err(|error| error.to_string())
}

fn page(
    app: &App,
    request: &Incoming,
    operator: &OperatorVisit,
    refused: Option<Refused<'_>>,
) -> Result<Response, ApiError> {
    let words = operator.words;
    let found: IncomingFiles =
        app.catalog.incoming(FOLDERS_SCANNED_MAX).map_err(|error| ApiError::internal(error.to_string()))?;
    let snapshot = app.catalog.snapshot();
    let verifying = snapshot.verifying();
    let here = operator.visit.link("/operator/publications");
    let forms = Forms::new(operator, here.clone(), refused);
    // One form for each dataset, all under one number: the page is made anew after each.
    let again = |slug: &str| {
        FormView::new(&here, words.republish)
            .hidden(ACTION, REPUBLISH)
            .hidden(ONCE, forms.number(REPUBLISH))
            .hidden(DATASET, slug)
    };
    let line = |(slug, why): (String, Unpublished)| match why {
        Unpublished::Withdrawn => {
            UnpublishedLine { republish: Some(again(&slug)), why: words.withdrawn, slug }
        }
        Unpublished::Incomplete => UnpublishedLine { republish: None, why: words.incomplete, slug },
    };
    let scan = forms.form(SCAN, words.scan);
    let page = PublicationsPage {
        frame: operator.frame(Page::Publications, words.publications),
        head: Head { problem: forms.unplaced_problem(), ..operator.head(words.publications) },
        words,
        is_whole: found.is_whole,
        files: found.files.iter().take(ACCOUNT_LINES_MAX).map(|file| file_line(operator, file)).collect(),
        more_files: more(operator, found.files.len()),
        verification: verification(app, operator),
        more_verifying: more(operator, verifying.len()),
        verifying: verifying.into_iter().take(ACCOUNT_LINES_MAX).map(str::to_owned).collect(),
        more_unpublished: more(operator, found.unpublished.len()),
        unpublished: found.unpublished.into_iter().take(ACCOUNT_LINES_MAX).map(line).collect(),
        newest: snapshot
            .newest_versions()
            .iter()
            .take(NEWEST_MAX)
            .map(|new| Version {
                slug: new.dataset.slug().to_owned(),
                url: operator.visit.link(&format!("/operator/datasets/{}", new.dataset.slug())).to_string(),
                version: new.version.version.to_string(),
                published: operator.visit.numbers.minute(new.version.published_at),
            })
            .collect(),
        scan,
    };
    Ok(operator.visit.answer(request, &page, Cache::NoStore)?.with_status(forms.status()))
}

fn more(operator: &OperatorVisit, count: usize) -> Option<String> {
    let more = count.saturating_sub(ACCOUNT_LINES_MAX);
    (more > 0).then(|| fill(operator.common.and_more, operator.visit.numbers.integer(whole(more))))
}

fn file_line(operator: &OperatorVisit, file: &IncomingFile) -> FileLine {
    let (words, numbers) = (operator.words, operator.visit.numbers);
    let idle = file.modified_at.map(|at| at.seconds_until(operator.visit.now));
    let is_idle = idle.is_none_or(|seconds| seconds >= IDLE_SECONDS);
    FileLine {
        slug: file.slug.clone(),
        name: file.name.clone(),
        bytes: numbers.bytes(file.bytes),
        written: file.modified_at.map_or_else(|| "–".to_owned(), |at| numbers.minute(at)),
        state: if is_idle { words.file_idle } else { words.file_written },
        tone: if is_idle { "warn" } else { "good" },
    }
}

/// Progress of the verification of new and changed store files since the start.
fn verification(app: &App, operator: &OperatorVisit) -> Vec<(&'static str, String)> {
    let (words, numbers, counts) = (operator.words, operator.visit.numbers, app.catalog.verification());
    let left = (
        counts.files().saturating_sub(counts.files_done()),
        counts.bytes().saturating_sub(counts.bytes_done()),
    );
    vec![
        (words.files_waiting, format!("{} ({})", numbers.integer(left.0), numbers.bytes(left.1))),
        (
            words.files_verified,
            format!("{} ({})", numbers.integer(counts.files_done()), numbers.bytes(counts.bytes_done())),
        ),
        (words.files_damaged, numbers.integer(counts.damaged())),
    ]
}
