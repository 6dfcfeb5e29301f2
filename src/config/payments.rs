//! Flags of payments: the provider, and what it needs.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::{ConfigError, TypedFlags, defaults};

/// How customers pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentSettings {
    /// Not at all: the pages name the contact.
    None,
    /// By a click, and no money moves.
    Demo,
    /// At Stripe.
    Stripe {
        /// The file of the secret key.
        secret_key_file: PathBuf,
        /// The file of the secret with which Stripe signs notifications.
        webhook_secret_file: PathBuf,
        /// Address of the interface, without a slash at the end.
        api: String,
    },
}

impl PaymentSettings {
    /// Checks what was typed. `listen` is the address of the public listener.
    pub(super) fn resolve(typed: &TypedFlags, listen: SocketAddr) -> Result<Self, ConfigError> {
        let found = typed.payments.as_deref().unwrap_or(defaults::PAYMENTS);
        match found {
            "none" => Ok(Self::None),
            "demo" if listen.ip().is_loopback() => Ok(Self::Demo),
            "demo" => Err(ConfigError::Value {
                flag: "payments",
                found: format!("demo` with `--listen {listen}"),
                expected: "a --listen of this machine alone (loopback) for payments by a click",
            }),
            "stripe" => Self::stripe(typed),
            other => Err(ConfigError::Value {
                flag: "payments",
                found: other.to_owned(),
                expected: "none, stripe or demo",
            }),
        }
    }

    fn stripe(typed: &TypedFlags) -> Result<Self, ConfigError> {
        let file = |path: &Option<PathBuf>, flag| path.clone().ok_or(ConfigError::Missing { flag });
        Ok(Self::Stripe {
            secret_key_file: file(&typed.stripe_secret_key_file, "stripe-secret-key-file")?,
            webhook_secret_file: file(&typed.stripe_webhook_secret_file, "stripe-webhook-secret-file")?,
            api: api(typed.stripe_api.as_deref().unwrap_or(defaults::STRIPE_API))?,
        })
    }
}

/// An address to which the secret key may be sent.
fn api(typed: &str) -> Result<String, ConfigError> {
    let address = typed.strip_suffix('/').unwrap_or(typed);
    let is_plain = |host: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        !host.is_empty() && host.bytes().all(allowed)
    };
    let is_safe = match address.split_once("://") {
        Some(("https", host)) => is_plain(host),
        Some(("http", host)) => is_plain(host) && is_loopback(host),
        _ => false,
    };
    if is_safe {
        return Ok(address.to_owned());
    }
    Err(ConfigError::Value {
        flag: "stripe-api",
        found: typed.to_owned(),
        expected: "https://HOST, or http://HOST of this machine alone (loopback)",
    })
}

fn is_loopback(host: &str) -> bool {
    let with_port = host.parse::<SocketAddr>().map(|address| address.ip().is_loopback());
    with_port.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(typed: &TypedFlags, listen: &str) -> Result<PaymentSettings, String> {
        PaymentSettings::resolve(typed, listen.parse().unwrap()).map_err(|error| error.to_string())
    }

    fn typed(payments: &str) -> TypedFlags {
        TypedFlags {
            payments: Some(payments.to_owned()),
            stripe_secret_key_file: Some(PathBuf::from("/k")),
            stripe_webhook_secret_file: Some(PathBuf::from("/w")),
            ..TypedFlags::default()
        }
    }

    #[test]
    fn takes_no_payments_by_default_and_demo_on_loopback_only() {
        assert_eq!(resolved(&TypedFlags::default(), "0.0.0.0:1"), Ok(PaymentSettings::None));
        for listen in ["127.0.0.1:80", "[::1]:80"] {
            assert_eq!(resolved(&typed("demo"), listen), Ok(PaymentSettings::Demo));
        }
        for listen in ["0.0.0.0:80", "[::]:80", "10.0.0.1:80"] {
            let error = resolved(&typed("demo"), listen).unwrap_err();
            assert!(error.contains("loopback") && error.contains(listen), "{error}");
        }
        assert!(resolved(&typed("paypal"), "127.0.0.1:80").unwrap_err().contains("none, stripe or demo"));
    }

    #[test]
    fn needs_both_files_and_safe_address_for_stripe() {
        let stripe = |api: Option<&str>| {
            resolved(&TypedFlags { stripe_api: api.map(str::to_owned), ..typed("stripe") }, "0.0.0.0:80")
        };
        let api_of = |settings| match settings {
            Ok(PaymentSettings::Stripe { api, .. }) => api,
            other => panic!("{other:?}"),
        };
        assert_eq!(api_of(stripe(None)), "https://api.stripe.com");
        for address in ["https://stripe.example/", "http://127.0.0.1:4242", "http://[::1]:4242/"] {
            assert_eq!(api_of(stripe(Some(address))), address.trim_end_matches('/'));
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
            assert!(stripe(Some(address)).unwrap_err().contains("--stripe-api"), "{address}");
        }
        for flag in ["stripe-secret-key-file", "stripe-webhook-secret-file"] {
            let mut typed = typed("stripe");
            if flag.contains("secret-key") {
                typed.stripe_secret_key_file = None
            } else {
                typed.stripe_webhook_secret_file = None
            }
            assert!(resolved(&typed, "127.0.0.1:80").unwrap_err().contains(flag));
        }
    }
}
