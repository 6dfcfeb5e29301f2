//! Flags of the public socket: limits of sizes, times and numbers.

use std::str::FromStr;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{ConfigError, within};
use crate::limits::access::{REQUESTS_IN_FLIGHT_PER_KEY_MAX, STREAMS_PER_KEY_MAX};
use crate::limits::http::WORK_SECONDS;
use mercato_net::limits::{HEADER_COUNT_CEILING, HeadLimits, NetLimits};

/// Flags as typed; `[limits]` in the configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Limits")]
pub struct LimitFlags {
    /// Connections at one time; one more is answered 503.
    #[arg(long, value_name = "N")]
    pub max_connections: Option<usize>,

    /// Connections of one client address at one time; one more is answered 429. 0 lifts it.
    #[arg(long, value_name = "N")]
    pub max_connections_per_address: Option<usize>,

    /// Longest request line; above it 414.
    #[arg(long, value_name = "BYTES")]
    pub max_request_line_bytes: Option<usize>,

    /// All header lines of a request together; above it 431.
    #[arg(long, value_name = "BYTES")]
    pub max_header_bytes: Option<usize>,

    /// Header lines of a request; above it 431.
    #[arg(long, value_name = "N")]
    pub max_headers: Option<usize>,

    /// Largest body of a request; above it 413.
    #[arg(long, value_name = "BYTES")]
    pub max_body_bytes: Option<usize>,

    /// From the first byte of a head to its last; above it 408.
    #[arg(long, value_name = "SECONDS")]
    pub head_seconds: Option<u64>,

    /// From the end of a head to the end of its body; above it 408.
    #[arg(long, value_name = "SECONDS")]
    pub body_seconds: Option<u64>,

    /// How long a connection stays open between requests.
    #[arg(long, value_name = "SECONDS")]
    pub idle_seconds: Option<u64>,

    /// How long a client may take to accept 256 KiB of an answer; above it the connection is cut.
    #[arg(long, value_name = "SECONDS")]
    pub write_seconds: Option<u64>,

    /// How long a request waits for a free worker; above it 503.
    #[arg(long, value_name = "MILLISECONDS")]
    pub queue_wait_millis: Option<u64>,

    /// Requests that may wait for a worker; one more is answered 503.
    #[arg(long, value_name = "N")]
    pub queue_length: Option<usize>,

    /// Streams and downloads of one key at one time; one more is answered 429. 0 lifts it.
    #[arg(long, value_name = "N")]
    pub streams_per_key: Option<usize>,

    /// Requests of one key that are worked on at one time; one more is answered 429. 0 lifts it.
    #[arg(long, value_name = "N")]
    pub requests_in_flight_per_key: Option<usize>,

    /// Processor time that the search for one page, count or next piece of a stream may take; above it 503. 0 lifts it.
    #[arg(long, value_name = "SECONDS")]
    pub work_seconds: Option<Seconds>,
}

/// Seconds, with decimals if need be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(Duration);

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Seconds, String> {
        let time = Duration::try_from_secs_f64(seconds);
        time.map(Seconds).map_err(|_| format!("expected seconds such as 2 or 0.5, found `{seconds}`"))
    }
}

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seconds, String> {
        let number =
            text.parse::<f64>().map_err(|_| format!("expected seconds such as 2 or 0.5, found `{text}`"));
        Seconds::try_from(number?)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        Seconds::try_from(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The resolved limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetSettings {
    /// The bounds of the listeners on connections and requests.
    pub net: NetLimits,
    /// Streams of one key, 0 for no limit.
    pub streams_per_key: usize,
    /// Requests of one key that are worked on, 0 for no limit.
    pub requests_in_flight_per_key: usize,
    /// Processor time of one search, nothing for no limit.
    pub work: Option<Duration>,
}

impl LimitFlags {
    /// Fills absent flags from `other`.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            max_connections: self.max_connections.or(other.max_connections),
            max_connections_per_address: self
                .max_connections_per_address
                .or(other.max_connections_per_address),
            max_request_line_bytes: self.max_request_line_bytes.or(other.max_request_line_bytes),
            max_header_bytes: self.max_header_bytes.or(other.max_header_bytes),
            max_headers: self.max_headers.or(other.max_headers),
            max_body_bytes: self.max_body_bytes.or(other.max_body_bytes),
            head_seconds: self.head_seconds.or(other.head_seconds),
            body_seconds: self.body_seconds.or(other.body_seconds),
            idle_seconds: self.idle_seconds.or(other.idle_seconds),
            write_seconds: self.write_seconds.or(other.write_seconds),
            queue_wait_millis: self.queue_wait_millis.or(other.queue_wait_millis),
            queue_length: self.queue_length.or(other.queue_length),
            streams_per_key: self.streams_per_key.or(other.streams_per_key),
            requests_in_flight_per_key: self.requests_in_flight_per_key.or(other.requests_in_flight_per_key),
            work_seconds: self.work_seconds.or(other.work_seconds),
        }
    }

    /// Checks the flags and fills in defaults.
    pub(super) fn resolve(&self) -> Result<NetSettings, ConfigError> {
        let default = NetLimits::default();
        let wait = self.queue_wait_millis.unwrap_or(millis(default.queue_wait));
        let net = NetLimits {
            connections: number("max-connections", self.max_connections, default.connections)?.max(1),
            connections_per_address: number(
                "max-connections-per-address",
                self.max_connections_per_address,
                default.connections_per_address,
            )?,
            head: self.head(default.head)?,
            body_bytes: size("max-body-bytes", self.max_body_bytes, default.body_bytes)?,
            head_time: time("head-seconds", self.head_seconds, default.head_time)?,
            body_time: time("body-seconds", self.body_seconds, default.body_time)?,
            idle_time: time("idle-seconds", self.idle_seconds, default.idle_time)?,
            write_time: time("write-seconds", self.write_seconds, default.write_time)?,
            queue_wait: Duration::from_millis(within("queue-wait-millis", wait, 1..=60_000, "1 to 60000")?),
            queue_length: number("queue-length", self.queue_length, default.queue_length)?,
            answer_wait: default.answer_wait,
        };
        Ok(NetSettings {
            net,
            streams_per_key: number("streams-per-key", self.streams_per_key, STREAMS_PER_KEY_MAX)?,
            requests_in_flight_per_key: number(
                "requests-in-flight-per-key",
                self.requests_in_flight_per_key,
                REQUESTS_IN_FLIGHT_PER_KEY_MAX,
            )?,
            work: work_limit(self.work_seconds)?,
        })
    }

    fn head(&self, default: HeadLimits) -> Result<HeadLimits, ConfigError> {
        let line = size("max-request-line-bytes", self.max_request_line_bytes, default.request_line_bytes)?;
        let count = self.max_headers.unwrap_or(default.header_count);
        Ok(HeadLimits {
            request_line_bytes: line,
            header_bytes: size("max-header-bytes", self.max_header_bytes, default.header_bytes)?,
            header_count: within("max-headers", count, 1..=HEADER_COUNT_CEILING, "1 to 256")?,
        })
    }
}

/// Processor time of a search; nothing where the limit is lifted.
fn work_limit(typed: Option<Seconds>) -> Result<Option<Duration>, ConfigError> {
    let time = typed.map_or(Duration::from_secs(WORK_SECONDS), |seconds| seconds.0);
    let millis = within("work-seconds", millis(time), 0..=3_600_000, "0 to 3600")?;
    Ok((millis > 0).then(|| Duration::from_millis(millis)))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Bytes; the default is never the least, and 1 MiB is the most.
fn size(flag: &'static str, typed: Option<usize>, default: usize) -> Result<usize, ConfigError> {
    within(flag, typed.unwrap_or(default), 256..=1024 * 1024, "256 to 1048576")
}

fn time(flag: &'static str, typed: Option<u64>, default: Duration) -> Result<Duration, ConfigError> {
    within(flag, typed.unwrap_or(default.as_secs()), 1..=3600, "1 to 3600").map(Duration::from_secs)
}

fn number(flag: &'static str, typed: Option<usize>, default: usize) -> Result<usize, ConfigError> {
    within(flag, typed.unwrap_or(default), 0..=1_000_000, "0 to 1000000")
}
