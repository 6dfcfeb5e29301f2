//! Where requests go: an address, what `Host` says, and a path before all paths. Knows no request.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long an address may take to be tried before the run.
const TRY_WAIT: Duration = Duration::from_secs(2);

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What was typed.
    pub url: String,
    /// Host and port as `Host` has them.
    pub host: String,
    /// What stands before every path; empty, or begins with `/` and does not end with one.
    pub prefix: String,
    /// Where to connect.
    pub address: SocketAddr,
}

impl Target {
    /// Reads `http://HOST[:PORT][/PREFIX]` and looks the host up. Of several addresses the first is taken that
    /// accepts a connection.
    ///
    /// # Errors
    /// What a URL looks like, or why the host has no address.
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
    fn a_url_is_a_host_a_port_and_a_prefix() {
        let target = Target::resolve("http://127.0.0.1:8080").unwrap();
        assert_eq!((target.host.as_str(), target.prefix.as_str()), ("127.0.0.1:8080", ""));
        assert_eq!(target.address.to_string(), "127.0.0.1:8080");
        let target = Target::resolve("http://127.0.0.1/market/").unwrap();
        assert_eq!((target.prefix.as_str(), target.address.port()), ("/market", 80));
        assert_eq!(Target::resolve("http://[::1]:99").unwrap().address.to_string(), "[::1]:99");
        assert_eq!(Target::resolve("http://[::1]").unwrap().address.to_string(), "[::1]:80");
    }

    #[test]
    fn what_is_no_url_of_a_server_is_refused() {
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
