//! Settings of the server, in two steps: typed flags, then checked values.
//!
//! Reads flags and the configuration file; opens nothing else.

mod cluster;
mod defaults;
mod error;
mod file;
mod mail;
mod net;
mod payments;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use serde::Deserialize;

pub use cluster::{ByteSize, StoreSettings};
pub use error::ConfigError;
pub use mail::{MailSettings, Secret};
pub use net::{LimitFlags, NetSettings};
pub use payments::PaymentSettings;

use crate::limits::access::{REQUESTS_PER_DAY, REQUESTS_PER_MINUTE};
use crate::limits::http::{LOW_BALANCE_CREDITS, STREAM_LIMIT_MAX};
use file::read_file;
use mercato_catalog::limits::SCRUB_BYTES_PER_SECOND;
use mercato_ledger::limits::{FREE_QUERIES_PER_MONTH, FREE_ROWS_PER_QUERY};

/// Most workers.
const WORKERS_MAX: usize = 4096;
/// Fewest workers by default: most of them wait for the books.
const WORKERS_DEFAULT_MIN: usize = 8;
/// Workers for each core by default.
const WORKERS_PER_CORE: usize = 4;
/// Workers for streams and downloads for each other worker; they mostly wait for their clients.
const STREAM_WORKERS_PER_WORKER: usize = 3;
/// Most free queries of a month.
const FREE_QUERIES_MAX: u32 = 1_000_000;
/// Longest drain.
const DRAIN_SECONDS_MAX: u64 = 3600;
/// Highest rate of the scrubber and of the verification, in MiB per second.
const SCRUB_MEBIBYTES_MAX: u64 = 4096;

/// Serves the datasets of a marketplace.
#[derive(Debug, Parser)]
#[command(name = "mercato", version, about, max_term_width = 110)]
pub struct CommandLine {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the datasets of a data directory until SIGTERM.
    #[command(mut_args = defaults::with_default)]
    Serve(TypedFlags),
}

/// Flags as typed. The configuration file fills absent flags, and defaults fill the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TypedFlags {
    /// Directory that holds everything: datasets and ledger. Required, here or in the file.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Books in a database that speaks PostgreSQL's protocol, shared with other servers: `postgres://user@host/database`, the
    /// password in PGPASSWORD or PGPASSFILE. Default: books in the data directory.
    #[arg(long, value_name = "URL")]
    pub books: Option<Secret>,

    /// Versions in object storage, shared with other servers: `s3://bucket/prefix`. Endpoint, region and credentials come from
    /// the variables AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or the files of AWS_PROFILE.
    /// Needs --books. Default: versions in the data directory.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,

    /// Directory that holds fetched versions. Default: `cache` in the data directory.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Most bytes of fetched versions: `500GB`, `64GiB`.
    #[arg(long, value_name = "BYTES")]
    pub cache_bytes: Option<ByteSize>,

    /// Which current versions are fetched before somebody asks for them, while they fit. A dataset with an earlier version in
    /// the cache is always fetched.
    #[arg(long, value_name = "all|featured|none")]
    pub prefetch: Option<String>,

    /// Where the public API listens.
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,

    /// Where the operator's side listens: `ADDR:PORT` of this machine alone (loopback), or `unix:PATH`.
    #[arg(long, value_name = "ADDR:PORT|unix:PATH")]
    pub admin: Option<String>,

    /// A name under which a proxy reaches the operator's side, beside those of this machine; may be repeated.
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    pub admin_host: Vec<String>,

    /// Threads that answer requests.
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,

    /// Further threads that run streams and downloads, which are as many as can run at one time.
    #[arg(long, value_name = "N")]
    pub stream_workers: Option<usize>,

    /// TOML file with the same names as these flags. Flags win over the file.
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,

    /// Requests of one key or client address in any 60 seconds; 0 lifts the limit.
    #[arg(long, value_name = "N")]
    pub requests_per_minute: Option<u32>,

    /// Requests of one key or client address in a UTC day; 0 lifts the limit.
    #[arg(long, value_name = "N")]
    pub requests_per_day: Option<u32>,

    /// `power`: a charge is on disk before the answer. `process`: it survives a kill of the process at once and a power
    /// loss within 100 ms.
    #[arg(long, value_name = "power|process")]
    pub charge_durability: Option<String>,

    /// Queries that every account has free in a calendar month (UTC); 0 for none. Servers that share books need the same.
    #[arg(long, value_name = "N")]
    pub free_queries_per_month: Option<u32>,

    /// Greatest `limit` of a free query. Servers that share books need the same.
    #[arg(long, value_name = "ROWS")]
    pub free_rows_per_query: Option<u64>,

    /// Credits below which answers warn that those of a prepaid account run out; 0 never warns.
    #[arg(long, value_name = "N")]
    pub low_balance_credits: Option<u64>,

    /// Folder of a sentence-transformers model (BERT or XLM-RoBERTa) for search by meaning. Default: none, search by words.
    #[arg(long, value_name = "DIR")]
    pub embedding_model: Option<PathBuf>,

    /// Folder of a cross-encoder (BERT or XLM-RoBERTa) that re-ranks the best results of a search. Default: none.
    #[arg(long, value_name = "DIR")]
    pub cross_encoder: Option<PathBuf>,

    /// Network of a proxy whose X-Forwarded-For names the client; may be given several times. Default: none.
    #[arg(long, value_name = "CIDR")]
    #[serde(default)]
    pub trusted_proxy: Vec<String>,

    /// Public address of the API, such as `https://data.example.org`. Default: the Host of each request, with http.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,

    /// Server of mail for people who sign up: `smtps://HOST`, `smtp+starttls://HOST`, or `smtp://HOST:PORT` without TLS, with
    /// `USER@` where it wants one. Needs --mail-from and --public-url. Default: none, no mail is sent.
    #[arg(long, value_name = "URL")]
    pub smtp: Option<Secret>,

    /// File with the password of that user. Default: none.
    #[arg(long, value_name = "FILE")]
    pub smtp_password_file: Option<PathBuf>,

    /// Sender of mails: `noreply@example.org` or `Name <noreply@example.org>`. Default: none.
    #[arg(long, value_name = "ADDRESS")]
    pub mail_from: Option<String>,

    /// Whether people open accounts on the site themselves.
    #[arg(long, value_name = "open|closed")]
    pub sign_up: Option<String>,

    /// Longest wait at SIGTERM for requests that run.
    #[arg(long, value_name = "SECONDS")]
    pub drain_seconds: Option<u64>,

    /// MiB a second at which store files are compared with their checksums in the background; 0 turns that off.
    #[arg(long, value_name = "MIB")]
    pub checksum_rate: Option<u64>,

    /// MiB a second at which new and changed store files are verified before they are served; 0 is as fast as the disk
    /// reads.
    #[arg(long, value_name = "MIB")]
    pub verification_rate: Option<u64>,

    /// How customers buy credits. `none`: the pages name the contact. `stripe`: at Stripe. `demo`: by a click, and no money
    /// moves; only where --listen is of this machine alone.
    #[arg(long, value_name = "none|stripe|demo")]
    pub payments: Option<String>,

    /// File with the secret key of the Stripe account, `sk_…` or `rk_…`. Default: none.
    #[arg(long, value_name = "FILE")]
    pub stripe_secret_key_file: Option<PathBuf>,

    /// File with the secret of the webhook, `whsec_…`. Default: none.
    #[arg(long, value_name = "FILE")]
    pub stripe_webhook_secret_file: Option<PathBuf>,

    /// Address of the interface of Stripe; another one is for tests.
    #[arg(long, value_name = "URL", hide = true)]
    pub stripe_api: Option<String>,

    /// Limits of the public socket.
    #[command(flatten)]
    #[serde(default)]
    pub limits: LimitFlags,
}

/// The address of the operator's listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminPlace {
    /// An address and port.
    Tcp(SocketAddr),
    /// A socket file.
    Unix(PathBuf),
}

/// The resolved settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Directory that holds everything.
    pub data: PathBuf,
    /// The database of the books; nothing for books in the data directory.
    pub books: Option<Secret>,
    /// The object store of the versions; nothing for versions in the data directory.
    pub store: Option<StoreSettings>,
    /// Address of the public listener.
    pub listen: SocketAddr,
    /// Address of the admin listener.
    pub admin: AdminPlace,
    /// Names by which the admin listener may be asked, beside those of this machine.
    pub admin_hosts: Vec<String>,
    /// Threads that answer requests.
    pub workers: usize,
    /// Threads that run streams and downloads.
    pub stream_workers: usize,
    /// Requests a minute, 0 for no limit.
    pub requests_per_minute: u32,
    /// Requests a UTC day, 0 for no limit.
    pub requests_per_day: u32,
    /// `power` or `process`; the books read it.
    pub charge_durability: String,
    /// Free queries of an account in a calendar month, 0 for none.
    pub free_queries_per_month: u32,
    /// Greatest `limit` of a free query.
    pub free_rows_per_query: u64,
    /// Credits below which answers warn that those of a prepaid account run out, 0 for never.
    pub low_balance_credits: u64,
    /// Folder of the sentence encoder for search.
    pub embedding_model: Option<PathBuf>,
    /// Folder of the cross-encoder for search.
    pub cross_encoder: Option<PathBuf>,
    /// Networks of trusted proxies.
    pub trusted_proxies: Vec<String>,
    /// Address under which the outside reaches the public API; pages and documents print it.
    pub public_url: Option<String>,
    /// How mail is sent, if at all.
    pub mail: Option<MailSettings>,
    /// Whether people open accounts themselves.
    pub takes_sign_ups: bool,
    /// Longest wait for requests that run at the end.
    pub drain: Duration,
    /// Bytes a second of the background pass over the store files, 0 for none.
    pub checksum_bytes_per_second: u64,
    /// Bytes a second of the verification of new and changed store files; none for as fast as the disk reads.
    pub verification_bytes_per_second: Option<u64>,
    /// How customers pay.
    pub payments: PaymentSettings,
    /// Limits of the public socket.
    pub net: NetSettings,
}

impl Settings {
    /// Reads the configuration file if given and resolves all settings. `cores` is the number of cores.
    pub fn resolve(typed: TypedFlags, cores: usize) -> Result<Self, ConfigError> {
        let file = match &typed.config {
            Some(path) => read_file(path)?,
            None => TypedFlags::default(),
        };
        let typed = typed.or(file);
        let workers =
            typed.workers.unwrap_or(cores.saturating_mul(WORKERS_PER_CORE).max(WORKERS_DEFAULT_MIN));
        let listen = typed.listen.unwrap_or(defaults::LISTEN);
        let payments = PaymentSettings::resolve(&typed, listen)?;
        Ok(Self {
            mail: MailSettings::resolve(&typed)?,
            store: StoreSettings::resolve(&typed)?,
            data: typed.data.ok_or(ConfigError::Missing { flag: "data" })?,
            books: typed.books,
            listen,
            payments,
            admin: admin_place(typed.admin.as_deref())?,
            admin_hosts: typed.admin_host,
            workers: within("workers", workers, 1..=WORKERS_MAX, "1 to 4096")?,
            stream_workers: within(
                "stream-workers",
                typed.stream_workers.unwrap_or(workers.saturating_mul(STREAM_WORKERS_PER_WORKER)),
                1..=WORKERS_MAX.saturating_mul(STREAM_WORKERS_PER_WORKER),
                "1 to 12288",
            )?,
            requests_per_minute: typed.requests_per_minute.unwrap_or(REQUESTS_PER_MINUTE),
            requests_per_day: typed.requests_per_day.unwrap_or(REQUESTS_PER_DAY),
            charge_durability: durability(typed.charge_durability)?,
            free_queries_per_month: within(
                "free-queries-per-month",
                typed.free_queries_per_month.unwrap_or(FREE_QUERIES_PER_MONTH),
                0..=FREE_QUERIES_MAX,
                "0 to 1000000",
            )?,
            free_rows_per_query: within(
                "free-rows-per-query",
                typed.free_rows_per_query.unwrap_or(FREE_ROWS_PER_QUERY),
                1..=STREAM_LIMIT_MAX,
                "1 to 1000000",
            )?,
            low_balance_credits: typed.low_balance_credits.unwrap_or(LOW_BALANCE_CREDITS),
            embedding_model: typed.embedding_model,
            cross_encoder: typed.cross_encoder,
            trusted_proxies: typed.trusted_proxy,
            checksum_bytes_per_second: match typed.checksum_rate {
                None => SCRUB_BYTES_PER_SECOND,
                Some(rate) => within("checksum-rate", rate, 0..=SCRUB_MEBIBYTES_MAX, "0 to 4096")? << 20,
            },
            verification_bytes_per_second: match typed.verification_rate {
                None | Some(0) => None,
                Some(rate) => {
                    Some(within("verification-rate", rate, 0..=SCRUB_MEBIBYTES_MAX, "0 to 4096")? << 20)
                }
            },
            public_url: typed.public_url,
            takes_sign_ups: mail::takes_sign_ups(typed.sign_up)?,
            drain: Duration::from_secs(within(
                "drain-seconds",
                typed.drain_seconds.unwrap_or(defaults::DRAIN_SECONDS),
                0..=DRAIN_SECONDS_MAX,
                "0 to 3600",
            )?),
            net: typed.limits.resolve()?,
        })
    }
}

impl TypedFlags {
    /// Fills absent flags from `other`.
    fn or(self, other: Self) -> Self {
        let own_proxies = !self.trusted_proxy.is_empty();
        let own_admin_hosts = !self.admin_host.is_empty();
        Self {
            data: self.data.or(other.data),
            books: self.books.or(other.books),
            store: self.store.or(other.store),
            cache: self.cache.or(other.cache),
            cache_bytes: self.cache_bytes.or(other.cache_bytes),
            prefetch: self.prefetch.or(other.prefetch),
            listen: self.listen.or(other.listen),
            admin: self.admin.or(other.admin),
            admin_host: if own_admin_hosts { self.admin_host } else { other.admin_host },
            workers: self.workers.or(other.workers),
            stream_workers: self.stream_workers.or(other.stream_workers),
            config: self.config,
            requests_per_minute: self.requests_per_minute.or(other.requests_per_minute),
            requests_per_day: self.requests_per_day.or(other.requests_per_day),
            charge_durability: self.charge_durability.or(other.charge_durability),
            free_queries_per_month: self.free_queries_per_month.or(other.free_queries_per_month),
            free_rows_per_query: self.free_rows_per_query.or(other.free_rows_per_query),
            low_balance_credits: self.low_balance_credits.or(other.low_balance_credits),
            embedding_model: self.embedding_model.or(other.embedding_model),
            cross_encoder: self.cross_encoder.or(other.cross_encoder),
            trusted_proxy: if own_proxies { self.trusted_proxy } else { other.trusted_proxy },
            public_url: self.public_url.or(other.public_url),
            smtp: self.smtp.or(other.smtp),
            smtp_password_file: self.smtp_password_file.or(other.smtp_password_file),
            mail_from: self.mail_from.or(other.mail_from),
            sign_up: self.sign_up.or(other.sign_up),
            drain_seconds: self.drain_seconds.or(other.drain_seconds),
            checksum_rate: self.checksum_rate.or(other.checksum_rate),
            verification_rate: self.verification_rate.or(other.verification_rate),
            payments: self.payments.or(other.payments),
            stripe_secret_key_file: self.stripe_secret_key_file.or(other.stripe_secret_key_file),
            stripe_webhook_secret_file: self.stripe_webhook_secret_file.or(other.stripe_webhook_secret_file),
            stripe_api: self.stripe_api.or(other.stripe_api),
            limits: self.limits.or(&other.limits),
        }
    }
}

fn admin_place(typed: Option<&str>) -> Result<AdminPlace, ConfigError> {
    let text = typed.unwrap_or(defaults::ADMIN);
    if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
        return Ok(AdminPlace::Unix(PathBuf::from(path)));
    }
    let address = text.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback());
    address.map(AdminPlace::Tcp).ok_or_else(|| ConfigError::Value {
        flag: "admin",
        found: text.to_owned(),
        expected: "a loopback ADDR:PORT or unix:PATH",
    })
}

fn durability(typed: Option<String>) -> Result<String, ConfigError> {
    let text = typed.unwrap_or_else(|| defaults::CHARGE_DURABILITY.to_owned());
    if matches!(text.as_str(), "power" | "process") {
        return Ok(text);
    }
    Err(ConfigError::Value { flag: "charge-durability", found: text, expected: "power or process" })
}

fn within<T: PartialOrd + ToString>(
    flag: &'static str,
    value: T,
    accepted: RangeInclusive<T>,
    expected: &'static str,
) -> Result<T, ConfigError> {
    if accepted.contains(&value) {
        return Ok(value);
    }
    Err(ConfigError::Value { flag, found: value.to_string(), expected })
}
