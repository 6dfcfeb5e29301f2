//! Names by which a request may ask for this machine. An attacker's DNS can lead any other name here, and a browser then sends
//! it as `Host`.
//!
//! Compares texts and resolves no name. Does not depend on routes.

use std::net::IpAddr;

/// Whether a `Host` names this machine itself: `localhost` or a loopback address, with any port, because tunnels choose theirs.
pub fn is_loopback(authority: &str) -> bool {
    host_of(authority).eq_ignore_ascii_case("localhost")
        || address_of(authority).is_some_and(|address| address.to_canonical().is_loopback())
}

/// The address in a `Host`, if it is no name.
pub fn address_of(authority: &str) -> Option<IpAddr> {
    host_of(authority).trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// The host of `host:port`.
pub fn host_of(authority: &str) -> &str {
    let has_port = |(_, port): &(&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    authority.rsplit_once(':').filter(has_port).map_or(authority, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_names_of_this_machine_with_any_port() {
        for own in ["localhost", "LOCALHOST:9000", "127.0.0.1", "127.8.8.8:1", "[::1]", "[::1]:8081"] {
            assert!(is_loopback(own), "{own}");
        }
        for foreign in [
            "",
            "evil.test",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "localhost@evil.test",
            "0.0.0.0",
            "10.0.0.1:8081",
            "[::]",
            "localhost:8081:x",
        ] {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }
}
