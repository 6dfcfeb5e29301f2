//! Refuses forms that other sites send in the name of a visitor.
//!
//! Reads headers and no session, so it protects the sign-in too.

use crate::api::Incoming;
use crate::site::visit::Visit;
use mercato_web::{ApiError, ErrorKind};

/// Refuses a form that another site may have sent. Browsers say where a request comes from, by a header that no page can set;
/// those that lack it name the origin of the page.
pub fn check(visit: &Visit, request: &Incoming) -> Result<(), ApiError> {
    let is_own = match request.list("Sec-Fetch-Site") {
        Some(site) => matches!(&*site, "same-origin" | "none"),
        None => request.list("Origin").is_some_and(|origin| is_same(&origin, visit.base())),
    };
    if is_own {
        return Ok(());
    }
    Err(ApiError::new(ErrorKind::Forbidden, "the form was not sent from a page of this site")
        .with_reason("FOREIGN_FORM", "send it from the page that shows it"))
}

/// Whether an origin is that of the address of the site.
fn is_same(origin: &str, base: &str) -> bool {
    let own = origin_of(base);
    own.is_some() && origin.matches('/').count() == 2 && own == origin_of(origin)
}

/// Scheme, host and port of an address, in one form.
fn origin_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let authority = rest.split('/').next().filter(|authority| !authority.is_empty())?;
    let port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    Some(format!("{scheme}://{}", authority.strip_suffix(port).unwrap_or(authority).to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_scheme_host_and_port() {
        for (origin, base, expected) in [
            ("https://a.test", "https://a.test", true),
            ("https://a.test", "https://A.test:443/market", true),
            ("http://a.test:80", "http://a.test", true),
            ("http://[::1]:8080", "http://[::1]:8080", true),
            ("http://a.test", "https://a.test", false),
            ("https://a.test:8443", "https://a.test", false),
            ("https://a.test.evil.test", "https://a.test", false),
            ("https://evil.test/https://a.test", "https://a.test", false),
            ("https://a.test/", "https://a.test", false),
            ("https://a.test,https://a.test", "https://a.test", false),
            ("null", "https://a.test", false),
            ("", "https://a.test", false),
            ("null", "/market", false),
            ("", "", false),
            ("://", "", false),
        ] {
            assert_eq!(is_same(origin, base), expected, "{origin} {base}");
        }
    }
}
