//! The headers that every response of the site carries, which restrict what browsers do with a page.

use mercato_web::Response;
use std::borrow::Cow;

/// Everything from here, nothing inline, no frame around it, no other base, forms to here only.
const PAGE_POLICY: &str = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
/// A file that is opened by itself runs and loads nothing. Pictures may hold styles.
const FILE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

/// The headers of a page. Its forms may lead on to another origin: browsers hold a redirect behind a form to the policy, too.
pub fn of_page(response: Response, forms_to: Option<&str>) -> Response {
    // The directive for forms is the last one.
    let policy =
        forms_to.map_or(Cow::Borrowed(PAGE_POLICY), |origin| Cow::Owned(format!("{PAGE_POLICY} {origin}")));
    common(response).with_header("Content-Security-Policy", policy)
}

/// The headers of a file that pages load.
pub fn of_file(response: Response) -> Response {
    common(response).with_header("Content-Security-Policy", FILE_POLICY)
}

fn common(response: Response) -> Response {
    response.with_header("X-Frame-Options", "DENY").with_header("Referrer-Policy", "same-origin")
}
