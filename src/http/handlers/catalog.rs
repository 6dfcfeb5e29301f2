//! The list of datasets and the header of one.

use std::sync::Arc;

use serde::Serialize;

use super::dataset_answer::{find, language};
use super::item::{Header, Item};
use super::percent::percent_encode;
use crate::catalog::{Dataset, Language};
use crate::http::app::App;
use crate::http::errors::ApiError;
use crate::http::incoming::{Incoming, Method};
use crate::http::response::Response;
use crate::http::router::{Guard, Route};
use crate::limits::http::{LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX};

/// Paths of this file.
pub(in crate::http) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/datasets", Guard::Public, list),
    Route::new(Method::Get, "/api/v1/datasets/{slug}", Guard::Public, header),
];

/// Caches may keep these answers but ask each time whether they still hold.
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
    let tag = query.text("tag");
    let language = language(&mut query);
    query.finish()?;

    let snapshot = app.catalog.snapshot();
    let carries =
        |dataset: &&Arc<Dataset>| tag.is_none_or(|tag| dataset.manifest.tags.iter().any(|own| own == tag));
    let found: Vec<&Arc<Dataset>> = snapshot.datasets().iter().filter(carries).collect();
    let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(found.len());
    let end = begin.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX)).min(found.len());
    let next_offset = (end < found.len()).then_some(offset.saturating_add(limit));
    let results =
        found.get(begin..end).unwrap_or_default().iter().map(|dataset| Item::of(dataset, language)).collect();
    let data = ListData { results, total: found.len(), limit, offset, next_offset };
    let link = link_header(limit, offset, next_offset, tag, language);
    let response = Response::data(&data)?;
    Ok(response.public(request, snapshot.changed_at(), REVALIDATE).with_header("Link", link))
}

/// First, previous and next page (RFC 8288).
fn link_header(
    limit: u64,
    offset: u64,
    next: Option<u64>,
    tag: Option<&str>,
    language: Option<Language>,
) -> String {
    let mut kept = String::new();
    if let Some(tag) = tag {
        kept.push_str("&tag=");
        percent_encode(tag, &mut kept);
    }
    match language {
        Some(Language::English) => kept.push_str("&lang=en"),
        Some(Language::Italian) => kept.push_str("&lang=it"),
        None => {}
    }
    let link = |offset: u64, relation: &str| {
        format!("</api/v1/datasets?limit={limit}&offset={offset}{kept}>; rel=\"{relation}\"")
    };
    let mut links = vec![link(0, "first")];
    if offset > 0 {
        links.push(link(offset.saturating_sub(limit), "prev"));
    }
    links.extend(next.map(|next| link(next, "next")));
    links.join(", ")
}

fn header(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let dataset = find(app, request)?;
    let mut query = request.query();
    let language = language(&mut query);
    query.finish()?;
    Ok(Response::data(&Header::of(&dataset, language, &app.exports))?.public(
        request,
        dataset.updated_at,
        REVALIDATE,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_neighbouring_pages_and_keep_the_choice() {
        assert_eq!(
            link_header(20, 0, None, None, None),
            "</api/v1/datasets?limit=20&offset=0>; rel=\"first\""
        );
        let middle = link_header(10, 5, Some(15), Some("caffè & tè"), Some(Language::Italian));
        let kept = "&tag=caff%C3%A8%20%26%20t%C3%A8&lang=it";
        assert_eq!(
            middle,
            format!(
                "</api/v1/datasets?limit=10&offset=0{kept}>; rel=\"first\", \
                 </api/v1/datasets?limit=10&offset=0{kept}>; rel=\"prev\", \
                 </api/v1/datasets?limit=10&offset=15{kept}>; rel=\"next\""
            )
        );
    }
}
