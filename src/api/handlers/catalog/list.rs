//! The list of datasets and the header of one.

use std::sync::Arc;

use serde::Serialize;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::{find, language};
use crate::api::handlers::catalog::item::{Header, Item};
use crate::api::handlers::catalog::page_links::{page_bounds, page_links};
use crate::api::route::{Guard, Route};
use crate::limits::api::{LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX};
use mercato_catalog::{Dataset, Language, Order};
use mercato_web::{ApiError, Method, Response, percent_encode};

/// Paths of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/datasets", Guard::Public, list),
    Route::new(Method::Get, "/api/v1/datasets/{slug}", Guard::Public, header),
];

/// Caches may keep these responses but must revalidate them each time.
const REVALIDATE: &str = "public, no-cache";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListData<'a> {
    results: Vec<Item<'a>>,
    total: usize,
    limit: u64,
    offset: u64,
    next_offset: Option<u64>,
}

fn list(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let mut query = request.query();
    let limit = query.integer("limit", 1, LIST_LIMIT_MAX, LIST_LIMIT_DEFAULT);
    let offset = query.integer("offset", 0, u64::MAX, 0);
    let choice = Choice {
        tags: query.texts("tag").collect(),
        license: query.text("license"),
        order: query.choice("sort", &ORDERS).unwrap_or_default(),
        language: language(&mut query),
    };
    let search = app.documents.link("/api/v1/datasets/search");
    query.elsewhere("q", format!("the list takes no question; search with GET {search}?q=…"));
    query.finish()?;

    let snapshot = app.catalog.snapshot();
    let ordered = snapshot.in_order(choice.order, choice.language);
    let found: Vec<&Arc<Dataset>> = ordered.iter().filter(|dataset| choice.takes(dataset)).collect();
    let (page, next_offset) = page_bounds(limit, offset, found.len());
    let shown = found.get(page).unwrap_or_default();
    let results = shown.iter().map(|dataset| Item::of(dataset, choice.language)).collect();
    let data = ListData { results, total: found.len(), limit, offset, next_offset };
    let address = app.documents.link("/api/v1/datasets");
    let links = page_links(&address, limit, offset, next_offset, &choice.parameters());
    let response = Response::data(&data)?;
    Ok(response.public(request, snapshot.changed_at(), REVALIDATE).with_header("Link", links))
}

/// Words of `sort`.
const ORDERS: [(&str, Order); 4] = [
    ("featured", Order::Featured),
    ("updated", Order::Updated),
    ("title", Order::Title),
    ("rows", Order::Rows),
];

/// Which datasets of the list are wanted, and how.
struct Choice<'a> {
    tags: Vec<&'a str>,
    license: Option<&'a str>,
    order: Order,
    language: Option<Language>,
}

impl Choice<'_> {
    /// Whether the dataset has every tag and the license. Names of licenses are compared without regard to case.
    fn takes(&self, dataset: &Dataset) -> bool {
        let manifest = &dataset.manifest;
        let licensed = |wanted: &str| {
            manifest.license.as_ref().is_some_and(|license| license.eq_ignore_ascii_case(wanted))
        };
        self.tags.iter().all(|tag| manifest.tags.iter().any(|own| own == tag))
            && self.license.is_none_or(licensed)
    }

    /// The same as parameters of an address.
    fn parameters(&self) -> String {
        let mut text = String::new();
        let order = ORDERS.iter().find(|(_, order)| *order == self.order && *order != Order::default());
        let language = self.language.map(|language| match language {
            Language::English => "en",
            Language::Italian => "it",
        });
        let pairs =
            self.tags.iter().map(|tag| ("tag", *tag)).chain(self.license.map(|name| ("license", name)));
        let pairs =
            pairs.chain(order.map(|(word, _)| ("sort", *word))).chain(language.map(|code| ("lang", code)));
        for (name, value) in pairs {
            text.push('&');
            text.push_str(name);
            text.push('=');
            percent_encode(value, &mut text);
        }
        text
    }
}

fn header(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    let mut query = request.query();
    let language = language(&mut query);
    query.finish()?;
    Ok(Response::data(&Header::of(&dataset, language, app))?.public(request, dataset.updated_at, REVALIDATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_choice_for_page_links() {
        let mut choice = Choice { tags: Vec::new(), license: None, order: Order::Featured, language: None };
        assert_eq!(choice.parameters(), "");
        choice = Choice {
            tags: vec!["caffè & tè", "b"],
            license: Some("CC-BY-4.0"),
            order: Order::Rows,
            language: Some(Language::Italian),
        };
        assert_eq!(
            choice.parameters(),
            "&tag=caff%C3%A8%20%26%20t%C3%A8&tag=b&license=CC-BY-4.0&sort=rows&lang=it"
        );
    }
}
