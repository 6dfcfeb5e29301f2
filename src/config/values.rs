//! Values of flags that are more than a number or a word.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use mercato_net::ListenAddress;

/// Longest processor time of one search.
const WORK_SECONDS_MAX: f64 = 3600.0;

/// A text that may hold a password. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Secret, Infallible> {
        Ok(Secret(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// A size in bytes: `64GiB`, `500MB` or `1048576`; more than none.
pub fn byte_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        other => {
            return Err(format!("unknown unit `{other}`; expected B, KiB, MiB, GiB, TiB, KB, MB, GB or TB"));
        }
    };
    let number: u64 = number.parse().map_err(|_| "expected a size like 64GiB".to_owned())?;
    match number.checked_mul(factor) {
        Some(0) => Err("expected more than no byte".to_owned()),
        Some(bytes) => Ok(bytes),
        None => Err("the size is too large".to_owned()),
    }
}

/// The address of the operator's listener, which no other machine reaches.
pub(super) fn admin(text: &str) -> Result<ListenAddress, String> {
    match text.strip_prefix("unix:") {
        Some("") => Err("expected the path of a socket after `unix:`".to_owned()),
        Some(path) => Ok(ListenAddress::Unix(PathBuf::from(path))),
        None => match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(ListenAddress::Tcp(address)),
            _ => Err("expected a loopback ADDR:PORT or unix:PATH".to_owned()),
        },
    }
}

/// Seconds with decimals if need be.
pub(super) fn work_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=WORK_SECONDS_MAX).contains(&seconds) => Ok(seconds),
        _ => Err("expected 0 to 3600, such as 2 or 0.5".to_owned()),
    }
}

/// An address to which the secret key of a Stripe account may be sent, without a slash at its end.
pub(super) fn stripe_address(text: &str) -> Result<String, String> {
    let address = text.strip_suffix('/').unwrap_or(text);
    let is_plain = |host: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        !host.is_empty() && host.bytes().all(allowed)
    };
    let is_loopback = |host: &str| host.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
    let is_safe = match address.split_once("://") {
        Some(("https", host)) => is_plain(host),
        Some(("http", host)) => is_loopback(host),
        _ => false,
    };
    if is_safe {
        return Ok(address.to_owned());
    }
    Err("expected https://HOST, or http://HOST:PORT of this machine alone (loopback)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes_with_units() {
        assert_eq!(["2GiB", "512MB", "77"].map(byte_size), [Ok(2 << 30), Ok(512_000_000), Ok(77)]);
        for wrong in ["", "0", "0GiB", "GiB", "1.5GiB", "2 GiB", "2gib", "99999999999GiB"] {
            assert!(byte_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sends_stripe_key_to_safe_addresses_only() {
        for address in ["https://stripe.example/", "http://127.0.0.1:4242", "http://[::1]:4242/"] {
            assert_eq!(stripe_address(address).unwrap(), address.trim_end_matches('/'));
        }
        for address in [
            "http://api.stripe.com",
            "http://127.0.0.1",
            "http://127.0.0.1:1@evil.test:80",
            "http://localhost:1",
            "https://a.test/v1",
            "https://a@b.test",
            "https://",
            "ftp://127.0.0.1:1",
            "api.stripe.com",
        ] {
            assert!(stripe_address(address).is_err(), "{address}");
        }
    }
}
