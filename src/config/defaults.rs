//! Default values of flags, defined once for [`Settings`](super::Settings) and for `--help`. A test compares the
//! documents with the help.
//!
//! Depends on constants only.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Arg;

use super::{STREAM_WORKERS_PER_WORKER, WORKERS_DEFAULT_MIN, WORKERS_PER_CORE};
use crate::limits::access::{
    REQUESTS_IN_FLIGHT_PER_KEY_MAX, REQUESTS_PER_DAY, REQUESTS_PER_MINUTE, STREAMS_PER_KEY_MAX,
};
use crate::limits::http::{LOW_BALANCE_CREDITS, WORK_SECONDS};
use mercato_catalog::limits::SCRUB_BYTES_PER_SECOND;
use mercato_ledger::limits::{FREE_QUERIES_PER_MONTH, FREE_ROWS_PER_QUERY};
use mercato_net::limits;

/// Address of the public listener.
pub(super) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// Address of the admin listener.
pub(super) const ADMIN: &str = "127.0.0.1:8081";
/// How durable a charge is.
pub(super) const CHARGE_DURABILITY: &str = "power";
/// How customers pay.
pub(super) const PAYMENTS: &str = "none";
/// Base address of Stripe's API.
pub(super) const STRIPE_API: &str = "https://api.stripe.com";
/// Whether people open accounts themselves.
pub(super) const SIGN_UP: &str = "open";
/// What is fetched ahead of requests.
pub(super) const PREFETCH: &str = "all";
/// Most bytes of fetched versions.
pub(super) const CACHE_BYTES: u64 = 64 << 30;
/// Longest wait for requests that run at the end.
pub(super) const DRAIN_SECONDS: u64 = 30;

/// Appends the default value to the help of a flag.
pub(super) fn with_default(flag: Arg) -> Arg {
    let Some(default) = default_text(flag.get_id().as_str()) else { return flag };
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    flag.help(format!("{help} [default: {default}]"))
}

/// The default value by field name; `None` for flags without a default.
fn default_text(field: &str) -> Option<String> {
    let text = match field {
        "listen" => LISTEN.to_string(),
        "admin" => ADMIN.to_owned(),
        "workers" => format!("{WORKERS_PER_CORE} for each core, at least {WORKERS_DEFAULT_MIN}"),
        "stream_workers" => format!("{STREAM_WORKERS_PER_WORKER} for each of --workers"),
        "requests_per_minute" => REQUESTS_PER_MINUTE.to_string(),
        "requests_per_day" => REQUESTS_PER_DAY.to_string(),
        "charge_durability" => CHARGE_DURABILITY.to_owned(),
        "free_queries_per_month" => FREE_QUERIES_PER_MONTH.to_string(),
        "free_rows_per_query" => FREE_ROWS_PER_QUERY.to_string(),
        "low_balance_credits" => LOW_BALANCE_CREDITS.to_string(),
        "payments" => PAYMENTS.to_owned(),
        "prefetch" => PREFETCH.to_owned(),
        "cache_bytes" => format!("{}GiB", CACHE_BYTES >> 30),
        "sign_up" => SIGN_UP.to_owned(),
        "drain_seconds" => DRAIN_SECONDS.to_string(),
        "checksum_rate" => (SCRUB_BYTES_PER_SECOND >> 20).to_string(),
        "verification_rate" => "0".to_owned(),
        "max_connections" => format!(
            "{}, or what the file descriptors allow less {}",
            limits::CONNECTIONS_MAX,
            limits::DESCRIPTORS_RESERVED
        ),
        "max_connections_per_address" => limits::CONNECTIONS_PER_ADDRESS_MAX.to_string(),
        "max_request_line_bytes" => limits::REQUEST_LINE_BYTES_MAX.to_string(),
        "max_header_bytes" => limits::HEADER_BYTES_MAX.to_string(),
        "max_headers" => limits::HEADER_COUNT_MAX.to_string(),
        "max_body_bytes" => limits::BODY_BYTES_MAX.to_string(),
        "head_seconds" => limits::HEAD_TIME.as_secs().to_string(),
        "body_seconds" => limits::BODY_TIME.as_secs().to_string(),
        "idle_seconds" => limits::IDLE_TIME.as_secs().to_string(),
        "write_seconds" => limits::WRITE_TIME.as_secs().to_string(),
        "queue_wait_millis" => limits::QUEUE_WAIT.as_millis().to_string(),
        "queue_length" => limits::QUEUE_LENGTH_MAX.to_string(),
        "work_seconds" => WORK_SECONDS.to_string(),
        "streams_per_key" => STREAMS_PER_KEY_MAX.to_string(),
        "requests_in_flight_per_key" => REQUESTS_IN_FLIGHT_PER_KEY_MAX.to_string(),
        _ => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use crate::config::{Command, CommandLine, Settings};

    /// The settings with a flag given, or why there are none.
    fn with(flags: &[&str]) -> Result<Settings, String> {
        let words = ["mercato", "serve", "--data", "/d"].iter().chain(flags);
        let line = CommandLine::try_parse_from(words).map_err(|error| error.to_string())?;
        let Command::Serve(typed) = line.command;
        Settings::resolve(typed, 2).map_err(|error| error.to_string())
    }

    #[test]
    fn help_shows_effective_defaults() {
        let mut line = CommandLine::command();
        line.build();
        let without = with(&[]).unwrap();
        let (mut compared, mut in_words) = (0, Vec::new());
        for flag in line.find_subcommand("serve").unwrap().get_arguments() {
            let (Some(name), Some(help)) = (flag.get_long(), flag.get_help()) else { continue };
            let help = help.to_string();
            let Some((_, default)) = help.rsplit_once("[default: ") else { continue };
            match with(&[&format!("--{name}"), default.trim_end_matches(']')]) {
                Ok(settings) => assert_eq!(settings, without, "--{name}"),
                Err(_) => in_words.push(name.to_owned()),
            }
            compared += 1;
        }
        assert!(compared >= 20, "{compared}");
        assert_eq!(in_words, ["cache-bytes", "prefetch", "workers", "stream-workers", "max-connections"]);
    }
}
