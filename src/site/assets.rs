//! The files that pages load: style sheet, icons, scripts. Their names contain a hash of the content, so caches keep them
//! for ever.
//!
//! Does not depend on pages.

use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

use super::cache::Cache;
use super::security;
use crate::api::route::{Guard, Route};
use crate::api::{App, Incoming, Prepared};
use crate::branding::{Accent, Branding, Picture};
use mercato_base::clock::Moment;
use mercato_web::{ApiError, ErrorKind, Method, Response};

/// Paths of this file.
pub(super) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/assets/{file}", Guard::Uncounted, asset),
    Route::new(Method::Get, "/favicon.ico", Guard::Uncounted, favicon),
];

const CSS: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";
const PNG: &str = "image/png";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const STYLE: &str = concat!(
    include_str!("assets/base.css"),
    include_str!("assets/dataset.css"),
    include_str!("assets/account.css"),
    include_str!("assets/operator.css")
);

/// The parts of D3 that draw the graph, each after those that it needs.
const D3: &str = concat!(
    include_str!("assets/vendor/d3-dispatch-3.0.2.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-quadtree-3.0.2.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-timer-3.0.2.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-force-3.0.1.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-selection-3.0.1.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-color-3.1.1.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-interpolate-3.0.2.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-ease-3.0.2.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-transition-3.0.2.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-drag-3.0.1.min.js"),
    ";\n",
    include_str!("assets/vendor/d3-zoom-3.0.1.min.js"),
    ";\n",
);

/// Name, ending, media type, content.
const SOURCES: [(&str, &str, &str, &[u8]); 6] = [
    ("style", "css", CSS, STYLE.as_bytes()),
    ("icon", "svg", SVG, include_bytes!("assets/icon.svg")),
    // Drawn from `card.svg` by a browser, because services that preview links show no SVG.
    ("card", "png", PNG, include_bytes!("assets/card.png")),
    ("copy", "js", SCRIPT, include_bytes!("assets/copy.js")),
    ("d3", "js", SCRIPT, D3.as_bytes()),
    ("graph", "js", SCRIPT, include_bytes!("assets/graph.js")),
];

struct Asset {
    /// `style.css`
    name: String,
    /// `style.0123456789abcdef.css`
    file: String,
    prepared: Prepared,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |(name, ending, content_type, content): (&str, &str, &'static str, &[u8])| Asset {
        name: format!("{name}.{ending}"),
        file: format!("{name}.{:016x}.{ending}", xxh3_64(content)),
        prepared: Prepared::new(content_type, content.to_vec(), Moment::from_unix_millis(0)),
    };
    SOURCES.into_iter().map(asset).collect()
});

/// The path of one of our files, such as `style.css`.
pub fn path(name: &str) -> String {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    debug_assert!(found.is_some(), "{name} is not among the assets");
    found.map_or_else(String::new, |asset| format!("/assets/{}", asset.file))
}

/// The path of a picture of the place.
pub fn picture_path(picture: &Picture) -> String {
    format!("/assets/{}", picture.file())
}

/// The path of the colour of the place.
pub fn accent_path(accent: &Accent) -> String {
    format!("/assets/{}", accent.file())
}

fn asset(app: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let file = request.path_parameter(0);
    if let Some(asset) = ASSETS.iter().find(|asset| asset.file == file) {
        return Ok(security::of_file(asset.prepared.answer(request, Cache::Forever.control())));
    }
    let Some((content_type, bytes)) = of_place(&app.branding, file) else {
        return Err(ApiError::new(ErrorKind::NotFound, "no such file")
            .with_reason("UNKNOWN_PATH", "load the page again: it names the files of this version"));
    };
    let response = Response::bytes(content_type, bytes);
    Ok(security::of_file(Cache::Forever.apply(response, request)))
}

/// A file of the place itself.
fn of_place<'b>(branding: &'b Branding, file: &str) -> Option<(&'static str, &'b [u8])> {
    let mut pictures = [&branding.logo, &branding.card].into_iter().flatten();
    let picture = pictures.find(|picture| picture.file() == file);
    let accent = branding.accent.as_ref().filter(|accent| accent.file() == file);
    picture
        .map(|picture| (picture.content_type(), picture.bytes()))
        .or_else(|| accent.map(|accent| (CSS, accent.css().as_bytes())))
}

/// The icon that browsers ask for when a document names none.
fn favicon(_: &App, request: &mut Incoming) -> Result<Response, ApiError> {
    let icon = ASSETS.iter().find(|asset| asset.name == "icon.svg");
    let icon = icon.ok_or_else(|| ApiError::internal("the icon is not among the assets"))?;
    let day = Cache::Revalidate(Moment::from_unix_millis(0));
    Ok(security::of_file(icon.prepared.answer(request, day.control())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_style_sheet_small_and_self_contained() {
        assert!(STYLE.len() <= 20 * 1024, "{} bytes", STYLE.len());
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
        assert_eq!(STYLE.matches('{').count(), STYLE.matches('}').count());
    }

    #[test]
    fn names_files_by_hash_of_content() {
        for (name, ending, _, content) in SOURCES {
            let path = path(&format!("{name}.{ending}"));
            assert!(path.starts_with(&format!("/assets/{name}.")) && path.ends_with(&format!(".{ending}")));
            assert!(path.contains(&format!("{:016x}", xxh3_64(content))));
        }
    }
}
