//! The public URL of the server: configured by the operator, or else from the `Host` of the request, after a check.
//!
//! Parses addresses and resolves none.

use std::net::Ipv6Addr;

/// Longest address that is taken, in bytes.
pub const PUBLIC_URL_SIZE_BYTES_MAX: usize = 1024;
/// Longest `Host` that is believed: a name of 253 bytes, a colon and a port.
pub const HOST_SIZE_BYTES_MAX: usize = 259;

/// The address in front of every path, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(String);

/// Why a text cannot be the public address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`, expected http:// or https:// with a host and, if need be, a port and a path")]
pub struct PublicUrlError {
    found: String,
}

impl PublicUrl {
    /// Parses a configured URL. Drops a trailing slash; refuses query and fragment.
    pub fn parse(text: &str) -> Result<Self, PublicUrlError> {
        let refused = || PublicUrlError { found: text.chars().take(100).collect() };
        let trimmed = text.trim_end_matches('/');
        let rest = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
        let rest = rest.filter(|_| text.len() <= PUBLIC_URL_SIZE_BYTES_MAX).ok_or_else(refused)?;
        let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%".contains(&byte);
        if !is_host(host) || !path.bytes().all(plain) {
            return Err(refused());
        }
        Ok(Self(trimmed.to_owned()))
    }

    /// The URL of a `Host` header, if it is a valid host.
    pub fn of_host(host: &str) -> Option<Self> {
        is_host(host).then(|| Self(format!("http://{host}")))
    }

    /// The path in it, which stands in front of every path that the outside sees: `/market`, or nothing.
    pub fn path(&self) -> &str {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("")
    }

    /// The text, without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name, an IPv4 address or a bracketed IPv6 address, and a port if need be.
fn is_host(text: &str) -> bool {
    if text.is_empty() || text.len() > HOST_SIZE_BYTES_MAX {
        return false;
    }
    if let Some(rest) = text.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        return address.parse::<Ipv6Addr>().is_ok()
            && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let label = |label: &str| {
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(inside) && !label.starts_with('-')
    };
    name.split('.').all(label) && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_public_url_without_trailing_slash() {
        for (typed, expected) in [
            ("https://data.example.org", "https://data.example.org"),
            ("https://data.example.org/", "https://data.example.org"),
            ("http://127.0.0.1:8080/market/", "http://127.0.0.1:8080/market"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(PublicUrl::parse(typed).unwrap().as_str(), expected);
        }
        assert_eq!(PublicUrl::parse("https://a.test/b/c/").unwrap().path(), "/b/c");
        assert_eq!(PublicUrl::parse("https://a.test").unwrap().path(), "");
        for refused in [
            "",
            "data.example.org",
            "ftp://a",
            "https://",
            "https://a b",
            "https://a?x=1",
            "https://a#b",
            "https://user@host",
            "https://a/\"><script>",
            "javascript:alert(1)",
            "https://a:0",
            "https://a:99999",
        ] {
            assert!(PublicUrl::parse(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn accepts_valid_hosts_only() {
        for host in
            ["localhost", "127.0.0.1:8080", "data.example.org", "[2001:db8::1]", "[::1]:443", "a_b.test"]
        {
            assert!(PublicUrl::of_host(host).is_some(), "{host}");
        }
        let long = "a".repeat(64);
        for host in [
            "", " ", "a b", "a/b", "a@b", "a:b", "a:", "a:1:2", "a..b", ".a", "-a", "[::1", "[zz]", "[::1]x",
            "<script>", "a\"b", "a:65536", &long, "ä.de", "a%2Fb", "a\r\nb",
        ] {
            assert!(PublicUrl::of_host(host).is_none(), "{host:?}");
        }
    }
}
