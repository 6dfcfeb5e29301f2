//! The interactive console: a page of our own around Swagger UI, whose release comes as an archive in a crate.
//!
//! Loads nothing from other hosts, and works behind a path: everything it names is relative to itself.

use std::io::{Cursor, Read};

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

use crate::api::app::App;
use crate::api::content::prepared::Prepared;
use crate::api::context::Incoming;
use crate::api::handlers::catalog::dataset_answer::no_parameters;
use crate::api::route::{Guard, Route};
use mercato_base::clock::Moment;
use mercato_web::{ApiError, ErrorKind, Method, Response};

/// Paths of this file.
pub const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/docs", Guard::Uncounted, page),
    Route::new(Method::Get, "/docs/", Guard::Uncounted, page_in_folder),
    Route::new(Method::Get, "/docs/{file}", Guard::Uncounted, file),
];

const PAGE: &str = include_str!("index.html");
const INITIALIZER: &str = include_str!("initializer.js");

/// The page at `/docs`, beside the folder of its files. No file can be asked for by an empty name.
const PAGE_BESIDE: &str = "";
/// The page inside the folder of its files.
const PAGE_INSIDE: &str = "index.html";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Files of the release that the page names.
const RELEASED_FILES: [(&str, &str); 5] = [
    ("swagger-ui-bundle.js", SCRIPT),
    ("swagger-ui.css", STYLE),
    ("index.css", STYLE),
    ("favicon-32x32.png", "image/png"),
    ("favicon-16x16.png", "image/png"),
];

/// Nothing from elsewhere, nothing inline but styles, which Swagger UI sets on its elements; nobody may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
    font-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'";
/// Names of files stay the same over versions of the server, so caches ask after an hour.
const AN_HOUR: &str = "public, max-age=3600";

fn page(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    send(app, request, PAGE_BESIDE)
}

fn page_in_folder(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    send(app, request, PAGE_INSIDE)
}

fn file(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let name = request.path_parameter(0).to_owned();
    send(app, request, &name)
}

fn send(app: &App, request: &mut Incoming, name: &str) -> Result<Response, ApiError> {
    no_parameters(request)?;
    let Some(file) = app.documents.console_file(name, build) else {
        return Err(ApiError::new(ErrorKind::NotFound, "the console has no such file")
            .with_reason("UNKNOWN_PATH", format!("open {}", app.documents.link("/docs"))));
    };
    Ok(file
        .answer(request, AN_HOUR)
        .with_header("Content-Security-Policy", POLICY)
        .with_header("Referrer-Policy", "no-referrer"))
}

fn build(last_modified: Moment) -> Vec<(&'static str, Prepared)> {
    let own = |name, content_type, text: String| {
        (name, Prepared::new(content_type, text.into_bytes(), last_modified))
    };
    let mut files = vec![
        own(PAGE_BESIDE, HTML, PAGE.replace("{base}", "<base href=\"docs/\">")),
        own(PAGE_INSIDE, HTML, PAGE.replace("{base}", "")),
        own("initializer.js", SCRIPT, INITIALIZER.to_owned()),
    ];
    // A test finds all of them in the archive.
    if let Ok(mut archive) = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)) {
        let released = RELEASED_FILES.into_iter().filter_map(|(name, content_type)| {
            let bytes = unpacked(&mut archive, name)?;
            Some((name, Prepared::new(content_type, bytes, last_modified)))
        });
        files.extend(released);
    }
    files
}

/// A file of the folder `dist` of the release.
fn unpacked(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Option<Vec<u8>> {
    let is_meant =
        |path: &str| path.split_once('/').and_then(|(_, path)| path.strip_prefix("dist/")) == Some(name);
    let path = archive.file_names().filter_map(Result::ok).find(|path| is_meant(path))?.into_owned();
    let mut bytes = Vec::new();
    archive.by_name(&path).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_every_released_file() {
        let files = build(Moment::from_unix_millis(0));
        assert_eq!(files.len(), RELEASED_FILES.len() + 3);
    }

    #[test]
    fn links_served_files_only() {
        let files = build(Moment::from_unix_millis(0));
        let named: Vec<&str> = ["href=\"", "src=\""]
            .iter()
            .flat_map(|mark| PAGE.split(mark).skip(1))
            .map(|rest| rest.split('"').next().unwrap())
            .filter(|name| !name.starts_with("../"))
            .collect();
        assert_eq!(named.len(), 6);
        for name in named {
            assert!(files.iter().any(|(present, _)| *present == name), "{name}");
        }
    }
}
