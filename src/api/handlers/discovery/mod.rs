//! Discovery documents: OpenAPI, sitemap, robots.txt, llms.txt and Croissant.

pub mod croissant;
mod llms;

use std::fmt::Write;

use crate::api::app::App;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::route::{Guard, Route};
use mercato_base::clock::Moment;
use mercato_catalog::Snapshot;
use mercato_web::{ApiError, ErrorKind, Method, Response, ResponseBuffer};

/// Addresses of one file of the site map, as its standard allows.
const SITEMAP_ADDRESSES_MAX: usize = 50_000;

/// Paths of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/openapi.json", Guard::Public, openapi),
    Route::new(Method::Get, "/sitemap.xml", Guard::Public, sitemap),
    Route::new(Method::Get, "/robots.txt", Guard::Public, robots),
    Route::new(Method::Get, "/llms.txt", Guard::Public, language_models),
];

const REVALIDATE: &str = "public, no-cache";
const AN_HOUR: &str = "public, max-age=3600";
const XML: &str = "application/xml; charset=utf-8";
const NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

/// No route has this path.
pub fn unknown_path(app: &App) -> ApiError {
    let (console, document) = (app.documents.link("/docs"), app.documents.link("/api/v1/openapi.json"));
    ApiError::new(ErrorKind::NotFound, "no such path")
        .with_reason("UNKNOWN_PATH", format!("open {console}, or read {document}, for the paths of the API"))
}

fn openapi(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    Ok(app.documents.openapi().answer(request, REVALIDATE))
}

/// Pages for people that are not about one dataset.
const PAGES: [&str; 4] = ["/", "/datasets", "/graph", "/pricing"];

/// The addresses of the pages for people and of the datasets, by slug. More of them than one file may hold are spread
/// over numbered parts.
fn sitemap(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let mut query = request.query();
    let part = query.integer("part", 1, u64::MAX, 0);
    query.finish()?;
    let base = app.documents.base_url(request)?;
    let snapshot = app.catalog.snapshot();
    let pages = addresses(&snapshot);
    let text = match (part, pages.len() <= SITEMAP_ADDRESSES_MAX) {
        (0, true) => address_list(base.as_str(), &pages),
        (0, false) => part_list(base.as_str(), pages.len()),
        (part, _) => {
            let number = usize::try_from(part).unwrap_or(usize::MAX).saturating_sub(1);
            let chunk = pages.chunks(SITEMAP_ADDRESSES_MAX).nth(number);
            address_list(base.as_str(), chunk.ok_or_else(|| no_such_part(app))?)
        }
    };
    let response = Response::bytes(XML, text.as_bytes());
    Ok(response.public(request, snapshot.changed_at(), AN_HOUR))
}

/// Paths and the times of their last changes.
fn addresses(snapshot: &Snapshot) -> Vec<(String, Moment)> {
    let mut datasets: Vec<_> = snapshot.datasets().iter().collect();
    datasets.sort_unstable_by_key(|dataset| dataset.slug());
    let of_dataset = datasets.into_iter().flat_map(|dataset| {
        ["/datasets", "/api/v1/datasets"]
            .map(|folder| (format!("{folder}/{}", dataset.slug()), dataset.updated_at))
    });
    let pages = PAGES.map(|path| (path.to_owned(), snapshot.changed_at()));
    pages.into_iter().chain(of_dataset).collect()
}

fn no_such_part(app: &App) -> ApiError {
    let map = app.documents.link("/sitemap.xml");
    ApiError::new(ErrorKind::NotFound, "the map of the site has no such part")
        .with_reason("UNKNOWN_PART", format!("read {map}, which lists the parts"))
}

// Slugs and addresses were checked and have no character that XML would have to escape; writing into a String cannot fail.
fn address_list(base: &str, pages: &[(String, Moment)]) -> String {
    let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"{NAMESPACE}\">\n");
    for (path, changed) in pages {
        let _infallible =
            writeln!(text, "<url><loc>{base}{path}</loc><lastmod>{}</lastmod></url>", changed.rfc3339());
    }
    text.push_str("</urlset>\n");
    text
}

fn part_list(base: &str, pages: usize) -> String {
    let mut text =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"{NAMESPACE}\">\n");
    for part in 1..=pages.div_ceil(SITEMAP_ADDRESSES_MAX) {
        let _infallible = writeln!(text, "<sitemap><loc>{base}/sitemap.xml?part={part}</loc></sitemap>");
    }
    text.push_str("</sitemapindex>\n");
    text
}

/// Robots may read the catalog and need no account.
fn robots(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let base = app.documents.base_url(request)?;
    let (base, path) = (base.as_str(), base.path());
    let text = format!(
        "User-agent: *\nAllow: {path}/\nDisallow: {path}/api/v1/account\n\
         Disallow: {path}/api/v1/datasets/*/query\nDisallow: {path}/api/v1/datasets/*/download\n\n\
         Sitemap: {base}/sitemap.xml\n"
    );
    let response = Response::raw("text/plain; charset=utf-8", ResponseBuffer::from_body(text.as_bytes()));
    Ok(response.public(request, Moment::from_unix_millis(0), AN_HOUR))
}

/// Language models read this first.
fn language_models(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    llms::answer(app, request, AN_HOUR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_large_sitemap_into_parts() {
        let list = part_list("https://a.test", SITEMAP_ADDRESSES_MAX * 2 + 1);
        assert_eq!(list.matches("<sitemap>").count(), 3);
        assert!(list.contains("<loc>https://a.test/sitemap.xml?part=3</loc>"));
        assert_eq!(part_list("https://a.test", SITEMAP_ADDRESSES_MAX + 1).matches("<sitemap>").count(), 2);
    }
}
