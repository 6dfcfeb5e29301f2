//! The target server: its address, the value of `Host`, and a path prefix. Does not depend on requests.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Timeout of a test connection before the run.
const TRY_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub url: String,
    /// Host and port, for the `Host` header.
    pub host: String,
    /// The prefix of every path: empty, or with a leading `/` and without a trailing one.
    pub prefix: String,
    pub address: SocketAddr,
}

impl Target {
    /// Parses `http://HOST[:PORT][/PREFIX]` and resolves the host. Of several addresses, the first one that accepts a
    /// connection is used.
    pub fn resolve(url: &str) -> Result<Target, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| {
            format!("`{url}`: expected http://HOST:PORT; TLS is measured at the proxy that ends it")
        })?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let plain = |text: &str| text.chars().all(|c| ('!'..='~').contains(&c) && !"@?#".contains(c));
        if host.is_empty() || !plain(host) || !plain(path) {
            return Err(format!("`{url}`: expected http://HOST:PORT, at most with a path behind it"));
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let lookup = if has_port { host.to_owned() } else { format!("{host}:80") };
        let addresses: Vec<SocketAddr> = lookup
            .to_socket_addrs()
            .map_err(|error| format!("`{url}`: cannot look `{lookup}` up: {error}"))?
            .collect();
        let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, TRY_WAIT).is_ok();
        let address = match addresses.as_slice() {
            [only] => Some(only),
            several => several.iter().find(answers).or(several.first()),
        };
        let address = *address.ok_or_else(|| format!("`{url}`: `{lookup}` has no address"))?;
        let prefix = path.trim_end_matches('/').to_owned();
        Ok(Target { url: url.to_owned(), host: host.to_owned(), prefix, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_host_port_and_prefix() {
        let target = Target::resolve("http://127.0.0.1:8080").unwrap();
        assert_eq!((target.host.as_str(), target.prefix.as_str()), ("127.0.0.1:8080", ""));
        assert_eq!(target.address.to_string(), "127.0.0.1:8080");
        let target = Target::resolve("http://127.0.0.1/market/").unwrap();
        assert_eq!((target.prefix.as_str(), target.address.port()), ("/market", 80));
        assert_eq!(Target::resolve("http://[::1]:99").unwrap().address.to_string(), "[::1]:99");
        assert_eq!(Target::resolve("http://[::1]").unwrap().address.to_string(), "[::1]:80");
    }

    #[test]
    fn rejects_invalid_urls() {
        for wrong in [
            "https://x",
            "127.0.0.1:80",
            "http://",
            "http://a b",
            "http://u:p@h",
            "http://h/?q",
            "http://127.0.0.1:x",
        ] {
            assert!(Target::resolve(wrong).is_err(), "{wrong}");
        }
    }
}
