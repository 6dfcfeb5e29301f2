//! Settings of the server: flags, and a TOML file with the same names. A flag wins over the file.
//!
//! Reads the file; opens nothing else.

mod error;
mod file;
#[cfg(test)]
mod tests;
mod values;

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

pub use error::ConfigError;
pub use values::{Secret, byte_size};

use crate::limits::api::{LOW_BALANCE_CREDITS, STREAM_LIMIT_MAX, WORK_SECONDS};
use mercato_catalog::releases::Prefetch;
use mercato_ledger::ChargeDurability;
use mercato_ledger::limits::{FREE_QUERIES_PER_MONTH, FREE_ROWS_PER_QUERY};
use mercato_net::limits::{CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, QUEUE_WAIT, WRITE_TIME};
use mercato_net::{ListenAddress, NetLimits};
use mercato_people::limits::{
    REQUESTS_IN_FLIGHT_PER_KEY_MAX, REQUESTS_PER_DAY, REQUESTS_PER_MINUTE, STREAMS_PER_KEY_MAX,
};

const WORKERS_MAX: usize = 4096;
/// Fewest workers by default: most of them wait for the books.
const WORKERS_DEFAULT_MIN: usize = 8;
/// Workers for each core by default.
const WORKERS_PER_CORE: usize = 4;
/// Workers for streams and downloads for each other worker; they mostly wait for their clients.
const STREAM_WORKERS_PER_WORKER: usize = 3;
const FREE_QUERIES_MAX: u64 = 1_000_000;
const DRAIN_SECONDS_MAX: u64 = 3600;
/// Most connections, streams or requests that a flag may allow.
const COUNT_MAX: u64 = 1_000_000;

const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

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
    Serve(Box<Settings>),
}

/// The settings of a server.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// Directory that holds everything: datasets and ledger. Required, here or in the file.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,

    /// TOML file with the same names as these flags. Flags win over the file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Books in a database that speaks PostgreSQL's protocol, shared with other servers: `postgres://user@host/database`, the
    /// password in PGPASSWORD or PGPASSFILE. Default: books in the data directory.
    #[arg(long, value_name = "URL")]
    pub books: Option<Secret>,

    /// Versions in object storage, shared with other servers: `s3://bucket/prefix`. Endpoint, region and credentials come from
    /// the variables AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or the files of AWS_PROFILE.
    /// Default: versions in the data directory.
    #[arg(long, value_name = "URL", requires = "books")]
    pub store: Option<String>,

    /// Directory that holds fetched versions. Default: `cache` in the data directory.
    #[arg(long, value_name = "DIR", requires = "store")]
    pub cache: Option<PathBuf>,

    /// Most bytes of fetched versions: `500GB`, `64GiB`.
    #[arg(long, value_name = "BYTES", requires = "store", default_value = "64GiB", value_parser = byte_size)]
    pub cache_bytes: u64,

    /// Which current versions are fetched before somebody asks for them, while they fit. A dataset with an earlier version in
    /// the cache is always fetched.
    #[arg(long, requires = "store", default_value = "all", value_parser = words::<Prefetch>(["all", "featured", "none"]))]
    pub prefetch: Prefetch,

    /// Where the public API listens.
    #[arg(long, value_name = "ADDR:PORT", default_value_t = LISTEN)]
    pub listen: SocketAddr,

    /// Where the operator's side listens: `ADDR:PORT` of this machine alone (loopback), or `unix:PATH`.
    #[arg(long, value_name = "ADDR:PORT|unix:PATH", default_value = "127.0.0.1:8081", value_parser = values::admin)]
    pub admin: ListenAddress,

    /// A name under which a proxy reaches the operator's side, beside those of this machine; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub admin_host: Vec<String>,

    /// Where Prometheus reads metrics and health, and nothing else is answered: for a Prometheus that reaches no socket file or
    /// runs on another machine. Without TLS, so keep it private. Default: none, metrics are on the operator's side alone.
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<SocketAddr>,

    /// Threads that answer requests. Default: 4 for each core, at least 8.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=WORKERS_MAX as u64))]
    pub workers: Option<usize>,

    /// Further threads that run streams and downloads, which are as many as can run at one time. Default: 3 for each of
    /// --workers.
    #[arg(
        long,
        value_name = "N",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=(WORKERS_MAX * STREAM_WORKERS_PER_WORKER) as u64)
    )]
    pub stream_workers: Option<usize>,

    /// Requests of one key or client address in any 60 seconds; 0 lifts the limit.
    #[arg(long, value_name = "N", default_value_t = REQUESTS_PER_MINUTE)]
    pub requests_per_minute: u32,

    /// Requests of one key or client address in a UTC day; 0 lifts the limit.
    #[arg(long, value_name = "N", default_value_t = REQUESTS_PER_DAY)]
    pub requests_per_day: u32,

    /// `power`: a charge is on disk before the answer. `process`: it survives a kill of the process at once and a power
    /// loss within 100 ms.
    #[arg(long, default_value = "power", value_parser = words::<ChargeDurability>(["power", "process"]))]
    pub charge_durability: ChargeDurability,

    /// Queries that every account has free in a calendar month (UTC); 0 for none. Servers that share books need the same.
    #[arg(
        long,
        value_name = "N",
        default_value_t = FREE_QUERIES_PER_MONTH,
        value_parser = RangedU64ValueParser::<u32>::new().range(0..=FREE_QUERIES_MAX)
    )]
    pub free_queries_per_month: u32,

    /// Greatest `limit` of a free query. Servers that share books need the same.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = FREE_ROWS_PER_QUERY,
        value_parser = clap::value_parser!(u64).range(1..=STREAM_LIMIT_MAX)
    )]
    pub free_rows_per_query: u64,

    /// Credits below which answers warn that those of a prepaid account run out; 0 never warns.
    #[arg(long, value_name = "N", default_value_t = LOW_BALANCE_CREDITS)]
    pub low_balance_credits: u64,

    /// Folder of a sentence-transformers model (BERT or XLM-RoBERTa) for search by meaning. Needs a program with the feature
    /// `models`, as in packages (`cargo build --features models`). Default: none, search by words.
    #[arg(long, value_name = "DIR")]
    pub embedding_model: Option<PathBuf>,

    /// Folder of a cross-encoder (BERT or XLM-RoBERTa) that re-ranks the best results of a search. Default: none.
    #[arg(long, value_name = "DIR")]
    pub cross_encoder: Option<PathBuf>,

    /// Network of a proxy whose X-Forwarded-For names the client; may be given several times. Default: none.
    #[arg(long, value_name = "CIDR")]
    pub trusted_proxy: Vec<String>,

    /// Public address of the API, such as `https://data.example.org`. Default: the Host of each request, with http.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,

    /// Server of mail for people who sign up: `smtps://HOST`, `smtp+starttls://HOST`, or `smtp://HOST:PORT` without TLS, with
    /// `USER@` where it wants one. Default: none, no mail is sent.
    // Links in mails begin with the public URL, since the `Host` of a request is whatever its sender wants.
    #[arg(long, value_name = "URL", requires_all = ["mail_from", "public_url"])]
    pub smtp: Option<Secret>,

    /// File with the password of that user. Default: none.
    #[arg(long, value_name = "FILE", requires = "smtp")]
    pub smtp_password_file: Option<PathBuf>,

    /// Sender of mails: `noreply@example.org` or `Name <noreply@example.org>`. Default: none.
    #[arg(long, value_name = "ADDRESS", requires = "smtp")]
    pub mail_from: Option<String>,

    /// Whether people open accounts on the site themselves.
    #[arg(long, value_enum, default_value_t = SignUp::Open)]
    pub sign_up: SignUp,

    /// Longest wait at SIGTERM for requests that run.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(0..=DRAIN_SECONDS_MAX)
    )]
    pub drain_seconds: u64,

    /// How customers buy credits. `none`: the pages name the contact. `stripe`: at Stripe. `demo`: by a click, and no money
    /// moves; only where --listen is of this machine alone.
    #[arg(long, value_enum, default_value_t = PaymentProvider::None)]
    pub payments: PaymentProvider,

    /// File with the secret key of the Stripe account, `sk_…` or `rk_…`. Default: none.
    #[arg(long, value_name = "FILE", required_if_eq("payments", "stripe"))]
    pub stripe_secret_key_file: Option<PathBuf>,

    /// File with the secret of the webhook, `whsec_…`. Default: none.
    #[arg(long, value_name = "FILE", required_if_eq("payments", "stripe"))]
    pub stripe_webhook_secret_file: Option<PathBuf>,

    /// Address of the interface of Stripe; another one is for tests.
    #[arg(
        long,
        value_name = "URL",
        hide = true,
        default_value = "https://api.stripe.com",
        value_parser = values::stripe_address
    )]
    pub stripe_api: String,

    /// Connections that are open at one time, as far as file descriptors allow; one more is answered 503.
    #[arg(
        long,
        value_name = "N",
        default_value_t = CONNECTIONS_MAX,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=COUNT_MAX)
    )]
    pub max_connections: usize,

    /// Connections of one client address at one time; one more is answered 429. 0 lifts it.
    #[arg(
        long,
        value_name = "N",
        default_value_t = CONNECTIONS_PER_ADDRESS_MAX,
        value_parser = RangedU64ValueParser::<usize>::new().range(0..=COUNT_MAX)
    )]
    pub max_connections_per_address: usize,

    /// How long a client may take to accept 256 KiB of an answer; above it the connection is cut.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = WRITE_TIME.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub write_seconds: u64,

    /// How long a request waits for a free worker; above it 503.
    #[arg(
        long,
        value_name = "MILLISECONDS",
        default_value_t = u64::from(QUEUE_WAIT.subsec_millis()) + QUEUE_WAIT.as_secs() * 1000,
        value_parser = clap::value_parser!(u64).range(1..=60_000)
    )]
    pub queue_wait_millis: u64,

    /// Streams and downloads of one key at one time; one more is answered 429. 0 lifts it.
    #[arg(
        long,
        value_name = "N",
        default_value_t = STREAMS_PER_KEY_MAX,
        value_parser = RangedU64ValueParser::<usize>::new().range(0..=COUNT_MAX)
    )]
    pub streams_per_key: usize,

    /// Requests of one key that are worked on at one time; one more is answered 429. 0 lifts it.
    #[arg(
        long,
        value_name = "N",
        default_value_t = REQUESTS_IN_FLIGHT_PER_KEY_MAX,
        value_parser = RangedU64ValueParser::<usize>::new().range(0..=COUNT_MAX)
    )]
    pub requests_in_flight_per_key: usize,

    /// Processor time that the search for one page, count or next piece of a stream may take; above it 503. 0 lifts it.
    #[arg(long, value_name = "SECONDS", default_value_t = WORK_SECONDS, value_parser = values::work_seconds)]
    pub work_seconds: f64,

    /// Bounds of the listeners without a flag; tests shorten their times.
    #[arg(skip)]
    pub net: NetLimits,

    /// Bytes a second at which store files are verified before they are served; none for as fast as the disk reads.
    #[arg(skip)]
    pub verification_bytes_per_second: Option<u64>,
}

/// Whether people open accounts themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SignUp {
    Open,
    Closed,
}

/// How customers buy credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaymentProvider {
    None,
    Stripe,
    Demo,
}

impl Settings {
    /// Reads the command line of the program, and the configuration file that it names.
    ///
    /// # Errors
    /// When a flag or a line of the file is wrong, the file cannot be read, or help is asked for.
    pub fn read(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Settings, ConfigError> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let mut command = CommandLine::command();
        let typed = command.clone().ignore_errors(true).try_get_matches_from(&words);
        let file = match typed.as_ref().ok().and_then(clap::ArgMatches::subcommand) {
            Some((_, flags)) => file::read(flags, &command)?,
            None => file::Lines::default(),
        };
        let command_words = words.len().min(2);
        let (program, flags) = words.split_at(command_words);
        let words = program.iter().chain(file.words()).chain(flags);
        let line = command
            .try_get_matches_from_mut(words)
            .and_then(|mut matches| CommandLine::from_arg_matches_mut(&mut matches))
            .map_err(|error| file.place(error))?;
        let Command::Serve(settings) = line.command;
        settings.checked()
    }

    fn checked(self) -> Result<Settings, ConfigError> {
        if self.payments == PaymentProvider::Demo && !self.listen.ip().is_loopback() {
            return Err(ConfigError::DemoPayments { listen: self.listen });
        }
        Ok(self)
    }

    /// Threads that answer requests.
    pub fn worker_count(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.workers.unwrap_or_else(|| cores.saturating_mul(WORKERS_PER_CORE).max(WORKERS_DEFAULT_MIN))
    }

    /// Threads that run streams and downloads.
    pub fn stream_worker_count(&self) -> usize {
        self.stream_workers.unwrap_or_else(|| self.worker_count().saturating_mul(STREAM_WORKERS_PER_WORKER))
    }

    /// Directory of fetched versions.
    pub fn cache_directory(&self) -> PathBuf {
        self.cache.clone().unwrap_or_else(|| self.data.join("cache"))
    }

    /// Processor time of one search; none where the limit is lifted.
    pub fn work_limit(&self) -> Option<Duration> {
        (self.work_seconds > 0.0).then(|| Duration::from_secs_f64(self.work_seconds))
    }

    /// Bounds of a listener.
    pub fn net_limits(&self) -> NetLimits {
        NetLimits {
            connections: self.max_connections,
            connections_per_address: self.max_connections_per_address,
            write_time: Duration::from_secs(self.write_seconds),
            queue_wait: Duration::from_millis(self.queue_wait_millis),
            ..self.net.clone()
        }
    }
}

/// A value with a fixed set of words.
fn words<T>(words: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>())
}
