//! The pages of one dataset, each under an address of its own.
//!
//! A page is a struct with all that its template says, beside the handler that fills it. Rows are read as the sample of
//! the API reads them, figures as the store file keeps them; nothing is counted for a page but the view of `explore`, which also
//! sells rows.

mod columns;
mod explore;
mod facts;
mod head;
mod missing;
mod overview;
mod picked;
mod preview;
mod relations;
mod statistics;
mod texts;
mod usage;
mod values;
mod words;

use std::sync::Arc;

use crate::api::route::{Guard, Route, Work};
use crate::api::{App, Incoming, ProcessorLimit, from_books};
use crate::site::account::{self, Customer, Form};
use crate::site::frame::{Frame, Section};
use crate::site::url::Url;
use crate::site::visit::Visit;
use mercato_catalog::{Dataset, FormatError};
use mercato_people::RequestKind;

use head::{Head, Tab};
use mercato_web::{ApiError, Method, Response};
pub(super) use words::DatasetWords;

/// Paths of this folder. The last one is for tabs that do not exist.
pub(super) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/datasets/{slug}", Guard::Public, overview),
    Route::new(Method::Get, "/datasets/{slug}/columns", Guard::Public, columns),
    Route::new(Method::Get, "/datasets/{slug}/preview", Guard::Public, preview),
    Route::new(Method::Get, "/datasets/{slug}/explore", Guard::Public, explore),
    Route::new(Method::Get, "/datasets/{slug}/explore/query", Guard::Public, explore_again).by(Work::Page),
    Route::new(Method::Post, "/datasets/{slug}/explore/query", Guard::Public, explore_page).by(Work::Page),
    Route::new(Method::Get, "/datasets/{slug}/explore/download", Guard::Public, explore_again).by(Work::Long),
    Route::new(Method::Post, "/datasets/{slug}/explore/download", Guard::Public, explore_file).by(Work::Long),
    Route::new(Method::Get, "/datasets/{slug}/relations", Guard::Public, relations),
    Route::new(Method::Get, "/datasets/{slug}/methodology", Guard::Public, methodology),
    Route::new(Method::Get, "/datasets/{slug}/changelog", Guard::Public, changelog),
    Route::new(Method::Get, "/datasets/{slug}/use", Guard::Public, usage),
    Route::new(Method::Get, "/datasets/{slug}/{tab}", Guard::Public, unknown_tab),
];

/// A served dataset and the visit to it.
struct Opened<'a> {
    app: &'a App,
    request: &'a Incoming,
    visit: &'a Visit,
    dataset: Arc<Dataset>,
    words: &'static DatasetWords,
    /// Bounds all searches for the page together.
    work: ProcessorLimit,
}

impl Opened<'_> {
    /// The title in the language of the page.
    fn title(&self) -> &str {
        self.dataset.manifest.title.choose(Some(self.visit.language)).unwrap_or(self.dataset.slug())
    }

    /// The description in the language of the page.
    fn description(&self) -> &str {
        self.dataset.manifest.description.choose(Some(self.visit.language)).unwrap_or("")
    }

    /// The address of a page of the dataset.
    fn tab(&self, tab: Tab) -> Url {
        self.visit.link(&tab.path(self.dataset.slug()))
    }

    /// The address of a path of the API below the dataset.
    fn api(&self, part: &str) -> String {
        format!("{}/api/v1/datasets/{}/{part}", self.app.documents.path_prefix(), self.dataset.slug())
    }

    /// The same as a whole address, for commands.
    fn whole_api(&self, part: &str) -> String {
        self.visit.absolute(&Url::of_path("", &format!("/api/v1/datasets/{}/{part}", self.dataset.slug())))
    }

    /// The frame of a tab, and the head of the dataset.
    fn frame_and_head(&self, tab: Tab) -> (Frame, Head) {
        let title = match tab {
            Tab::Overview => self.title().to_owned(),
            other => format!("{} · {}", other.label(self.words), self.title()),
        };
        let frame =
            self.visit.frame(Section::Datasets, title, summary(self.description())).og_type("article");
        (frame, Head::of(self, tab))
    }

    /// Refuses to read values of a store file that is still being verified or fetched.
    fn verified(&self) -> Result<(), ApiError> {
        crate::api::refuse_unverified(&self.app.catalog, self.dataset.slug(), &self.dataset.current)
    }

    /// Takes the version out of service whose store file turned out to be damaged.
    fn damaged(&self, error: &FormatError) -> ApiError {
        crate::api::withdraw_damaged(self.app, self.dataset.slug(), &self.dataset.current, &error.to_string())
    }
}

/// Characters of a description that search engines and previews show.
const SUMMARY_CHARACTERS_MAX: usize = 200;

/// The beginning of a description on one line.
fn summary(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    values::shortened(&line, SUMMARY_CHARACTERS_MAX)
}

type Page = fn(&Opened<'_>) -> Result<Response, ApiError>;

/// The page of the dataset in the path, or a page with the reason of its absence. `known` are the names of its query.
fn page_of_dataset(
    app: &App,
    request: &mut Incoming,
    known: &[&str],
    page: Page,
) -> Result<Response, ApiError> {
    let found = crate::api::find_dataset(app, request);
    let visit = Visit::of(app, request, known)?;
    let words = DatasetWords::of(visit.language);
    let answered = found.and_then(|dataset| {
        let work = ProcessorLimit::of(app, request);
        page(&Opened { app, request, visit: &visit, dataset, words, work })
    });
    answered.or_else(|refusal| missing::answer(app, request, &visit, refusal))
}

fn overview(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &[], overview::page)
}

fn columns(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &columns::KNOWN, columns::page)
}

fn preview(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &preview::KNOWN, preview::page)
}

fn explore(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &explore::address::KNOWN, explore::page)
}

/// Redirects a GET of the target of a form to the view itself.
fn explore_again(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = crate::api::find_dataset(app, request)?;
    let visit = view_of(Visit::of(app, request, &explore::address::KNOWN)?, &dataset);
    Ok(visit.redirect(request, visit.here()))
}

fn explore_page(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    sell(app, request, RequestKind::Page, &explore::sale::PAGE_FIELDS, explore::sale::page)
}

fn explore_file(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    sell(app, request, RequestKind::Stream, &explore::sale::FILE_FIELDS, explore::sale::file)
}

/// A visit to a form as one to the view that it is about, at its canonical address.
fn view_of(visit: Visit, dataset: &Dataset) -> Visit {
    let page = visit.link(&Tab::Explore.path(dataset.slug())).bare();
    let view = visit.here().pairs().iter().fold(page, |url, (name, value)| url.and(name, value));
    let canonical = explore::address::to_canonical(&view, &dataset.current.table);
    visit.at_address(canonical.unwrap_or(view))
}

/// An answer that may have been paid for.
struct Outcome {
    response: Response,
    rows: Option<u64>,
    credits: Option<u64>,
}

type Sale = fn(&Opened<'_>, &Form, &Customer) -> Result<Outcome, ApiError>;

/// Answers a form by which a signed-in customer buys rows of a view. Others are led to the sign-in.
fn sell(
    app: &App,
    request: &mut Incoming,
    kind: RequestKind,
    fields: &[&str],
    sale: Sale,
) -> Result<Response, ApiError> {
    let dataset = crate::api::find_dataset(app, request)?;
    let visit = view_of(Visit::of(app, request, &explore::address::KNOWN)?, &dataset);
    account::check_origin(&visit, request)?;
    let Some(customer) = Customer::of(app, request, &visit) else {
        let next = visit.here().absolute("");
        return Ok(visit.redirect(request, &visit.link("/account/sign-in").with("next", next)));
    };
    app.ledger.touch(&customer.session, request.now()).map_err(from_books)?;
    if customer.must_confirm(app) {
        return Ok(visit.redirect(request, &visit.link("/account")));
    }
    let form = Form::read(request, fields)?;
    crate::api::hold_for_account(app, request, customer.account.id(), kind)?;
    let words = DatasetWords::of(visit.language);
    let work = ProcessorLimit::of(app, request);
    let opened = Opened { app, request, visit: &visit, dataset, words, work };
    let Outcome { response, rows, credits } = sale(&opened, &form, &customer)?;
    request.context.log.rows = rows;
    request.context.log.credits = credits;
    Ok(response)
}

fn relations(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &[], relations::page)
}

fn methodology(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &[], texts::methodology)
}

fn changelog(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &[], texts::changelog)
}

fn usage(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &[], usage::page)
}

/// The page of a tab that no dataset has.
fn unknown_tab(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    page_of_dataset(app, request, &[], missing::unknown_tab)
}
