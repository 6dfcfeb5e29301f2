//! Refuses what a foreign web page makes a browser send: requests with a foreign `Origin`, and names that an attacker's
//! DNS leads to this machine.
//!
//! Reads `Origin`, `Host` and the client's address. Does not depend on the message.

use crate::api::app::App;
use crate::api::content::public_url::PublicUrl;
use crate::api::context::Incoming;
use mercato_web::{ApiError, ErrorKind, address_of, is_loopback};

/// Refuses a request with 403 unless its origin, and on this machine its host, is one of our own.
pub(super) fn check(app: &App, request: &Incoming) -> Result<(), ApiError> {
    let public = app.documents.public_url();
    let host = request.list("Host").unwrap_or_default();
    if let Some(origin) = request.list("Origin")
        && !is_own_origin(&origin, &host, public)
    {
        return Err(ApiError::new(ErrorKind::Forbidden, "the request comes from a page of another site")
            .with_reason(
                "ORIGIN_FOREIGN",
                "call from a program, or from a page of this machine or this site",
            ));
    }
    let is_local = request.context.address.to_canonical().is_loopback();
    if is_local && !is_loopback(&host) && public.is_none_or(|url| !is_authority_of(&host, url)) {
        return Err(ApiError::new(ErrorKind::Forbidden, "the header Host does not name this server")
            .with_reason(
                "HOST_FOREIGN",
                "use the address of this machine, or have --public-url set to this name",
            ));
    }
    Ok(())
}

/// A page of this machine, of the public address, or of the very address that the client asks. A name could lead
/// anywhere, so that address counts only as a number.
fn is_own_origin(origin: &str, host: &str, public: Option<&PublicUrl>) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    if !matches!(scheme, "http" | "https") || authority.contains(['/', ',', '@']) {
        return false;
    }
    let is_asked = authority.eq_ignore_ascii_case(host) && address_of(host).is_some();
    let is_public = public.is_some_and(|url| {
        url.as_str().split_once("://").is_some_and(|(own, _)| own == scheme)
            && is_authority_of(authority, url)
    });
    is_loopback(authority) || is_asked || is_public
}

/// Whether a host with its port is that of the public address.
fn is_authority_of(authority: &str, url: &PublicUrl) -> bool {
    let Some((scheme, rest)) = url.as_str().split_once("://") else { return false };
    let own = rest.split('/').next().unwrap_or_default();
    let port = if scheme == "https" { ":443" } else { ":80" };
    let plain = |text: &str| text.strip_suffix(port).unwrap_or(text).to_ascii_lowercase();
    plain(own) == plain(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_origins_of_this_machine_and_this_site_only() {
        let public = PublicUrl::parse("https://data.example.org/market").unwrap();
        for (origin, host, expected) in [
            ("http://localhost:6274", "127.0.0.1:8080", true),
            ("http://127.0.0.1:8080", "127.0.0.1:8080", true),
            ("https://[::1]", "[::1]:8080", true),
            ("https://data.example.org", "data.example.org", true),
            ("https://DATA.example.org:443", "10.0.0.1", true),
            ("http://10.0.0.1:8080", "10.0.0.1:8080", true),
            ("http://data.example.org", "data.example.org", false),
            ("https://data.example.org:8443", "data.example.org", false),
            ("http://evil.test", "evil.test", false),
            ("http://10.0.0.2:8080", "10.0.0.1:8080", false),
            ("http://localhost.evil.test", "127.0.0.1", false),
            ("http://127.0.0.1.evil.test", "127.0.0.1", false),
            ("http://localhost@evil.test", "127.0.0.1", false),
            ("http://localhost,http://evil.test", "127.0.0.1", false),
            ("chrome-extension://localhost", "127.0.0.1", false),
            ("null", "127.0.0.1", false),
            ("", "", false),
        ] {
            assert_eq!(is_own_origin(origin, host, Some(&public)), expected, "{origin} at {host}");
        }
        assert!(!is_own_origin("https://data.example.org", "data.example.org", None));
    }

    #[test]
    fn recognises_loopback_hosts_with_and_without_port() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.8.9.1:1", "[::1]", "[::1]:8080"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "evil.test", "localhost.evil.test", "10.0.0.1", "[::2]:80", "127.0.0.1:x"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
