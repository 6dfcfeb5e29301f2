//! A running server: its parts put together in the order in which they need each other, and taken apart in reverse.
//!
//! Holds the order of the parts. Does not depend on their work.

mod front;
mod mail;
mod mirror;
mod payments;
mod refusals;
mod search;
mod upkeep;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::api::{
    AdminHosts, AdminToken, App, Documents, GraphCache, Metrics, PublicUrl, Service, Work, admin_service,
    metrics_service, public_service,
};
use crate::branding::{Branding, BrandingError};
use crate::config::{Secret, Settings, SignUp};
use crate::selections::{SELECTION_CACHE_BYTES, SelectionCache};
use crate::site;
use front::{Front, FrontPlan};
use mercato_base::clock::{Clock, Moment};
use mercato_catalog::releases::{Mirror, Prepared};
use mercato_catalog::{Catalog, CatalogError, DataDirectory};
use mercato_database::DatabaseAddress;
use mercato_ledger::{FreePlan, Ledger, LedgerOptions};
use mercato_net::{ClassPlan, ListenAddress};
use mercato_payments::Reconciler;
use mercato_people::mail::MailThread;
use mercato_people::{
    AccessControl, CounterFlusher, InFlight, InFlightLimits, RateLimits, SignInControl, TrustedProxies,
};
use mercato_query::render::ParallelEncoder;
use mercato_search::neural::NeuralWorker;
use upkeep::Upkeep;

/// Worker threads of the admin listener.
const ADMIN_WORKER_COUNT: usize = 4;
/// Workers that answer only health, readiness and metrics.
const VITAL_WORKER_COUNT: usize = 2;

/// Why the server did not start: what was being done, and what came of it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be read.
    #[error("catalog: {0}")]
    Catalog(#[from] CatalogError),
    /// `site.toml` cannot be used.
    #[error("{0}")]
    Branding(#[from] BrandingError),
    /// There is nothing to serve from, which is more often a typing error than a wish.
    #[error(
        "{}: no such directory; `mercato-tools demo` or `mercato-tools publish` make one, or create it empty",
        path.display()
    )]
    NoData {
        /// The path of `--data`.
        path: PathBuf,
    },
    /// A part cannot be had.
    #[error("{part}: {reason}")]
    Part { part: &'static str, reason: String },
    /// A listener cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: ListenAddress,
        /// The error of the system.
        source: io::Error,
    },
}

/// A server that answers.
pub struct Running {
    public: Front,
    admin: Front,
    /// With `--metrics`.
    metrics: Option<Front>,
    app: Arc<App>,
    upkeep: Upkeep,
    flusher: CounterFlusher,
    neural: NeuralWorker,
    mail: Option<MailThread>,
    /// Nothing where no provider is asked.
    reconciler: Option<Reconciler>,
    /// Nothing where no other server publishes.
    mirror: Option<Mirror>,
}

/// Starts everything that the settings ask for.
pub fn start(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Running, StartError> {
    let directory = data_directory(settings)?;
    let branding = Arc::new(Branding::load(&directory.site(), directory.root())?);
    let payments = Arc::new(payments::open(settings)?);
    let now = clock.now();
    let (catalog, prepared, ledger) = open_both(settings, &directory, now)?;
    let limits = RateLimits { per_minute: settings.requests_per_minute, per_day: settings.requests_per_day };
    let access = Arc::new(
        AccessControl::open(Arc::clone(&ledger), limits, now)
            .map_err(|error| part("access control", &error))?,
    );
    let (mailer, mail) = mail::start(settings)?;
    let (search, neural) = search::start(settings, &directory, &catalog)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let app = Arc::new(App {
        catalog: Arc::clone(&catalog),
        search: Arc::clone(&search),
        sign_ins: SignInControl::new(Arc::clone(&ledger)),
        mailer,
        takes_sign_ups: settings.sign_up == SignUp::Open,
        ledger,
        access,
        in_flight: InFlight::new(InFlightLimits {
            requests: settings.requests_in_flight_per_key,
            streams: settings.streams_per_key,
        }),
        clock,
        low_balance_credits: settings.low_balance_credits,
        work_limit: settings.work_limit(),
        selections: Arc::new(SelectionCache::new(SELECTION_CACHE_BYTES)),
        metrics: Metrics::default(),
        documents: Documents::new(public_url(settings.public_url.as_deref())?, now),
        trusted_proxies: TrustedProxies::parse(&settings.trusted_proxy)
            .map_err(|error| part("trusted proxies", &error))?,
        admin_token: admin_token(&directory.admin_token())?,
        graph: GraphCache::default(),
        encoder: Arc::new(ParallelEncoder::new(threads).map_err(|error| part("printing threads", &error))?),
        exports: Arc::default(),
        payments,
        branding,
    });
    // The history of metrics takes a sample every ten seconds: too little work for a thread of its own.
    let of = Arc::clone(&app);
    let flusher = app
        .access
        .start_flusher(Arc::clone(&app.clock), move || of.metrics.keep_history())
        .map_err(|error| part("counter flusher", &error))?;
    let upkeep = Upkeep::start(settings, &catalog, &app.clock, Arc::clone(&search))?;
    let mirror = prepared.map(|prepared| mirror::start(prepared, &app, search)).transpose()?;
    let reconciler = payments::look_after(&app.payments, &app.ledger, &app.clock)
        .map_err(|error| part("payments", &error))?;
    let (admin, public) =
        rayon::join(|| start_operator(settings, &app), || start_public(settings, &app, &limits));
    let ((admin, metrics), public) = (admin?, public?);
    std::fs::write(directory.admin_address(), format!("{}\n", admin.net().address()))
        .map_err(|error| part("admin address", &error))?;
    app.metrics.add_source(public.net().sampler());
    if let Some(mailer) = &app.mailer {
        app.metrics.add_source(mailer.sampler());
    }
    let datasets = app.catalog.snapshot();
    tracing::info!(
        address = %public.net().address(),
        admin = %admin.net().address(),
        serving = datasets.datasets().len(),
        quarantined = datasets.quarantined().len(),
        "listening"
    );
    upkeep::log_faults(&datasets, |_| true);
    Ok(Running { public, admin, metrics, app, upkeep, flusher, neural, mail, reconciler, mirror })
}

fn data_directory(settings: &Settings) -> Result<DataDirectory, StartError> {
    let directory = DataDirectory::new(&settings.data);
    if directory.root().is_dir() {
        Ok(directory)
    } else {
        Err(StartError::NoData { path: settings.data.clone() })
    }
}

/// The catalogue, what lays it out where other servers publish, and the books.
type Opened = (Arc<Catalog>, Option<Prepared>, Arc<Ledger>);

/// The catalogue and the books, which do not know each other and are read at the same time.
fn open_both(settings: &Settings, directory: &DataDirectory, now: Moment) -> Result<Opened, StartError> {
    let (opened, ledger) =
        rayon::join(|| mirror::open_catalog(settings, directory), || open_books(settings, directory, now));
    let (catalog, prepared) = opened?;
    Ok((Arc::new(catalog), prepared, Arc::new(ledger?)))
}

/// The books of the data directory, or those of a database.
fn open_books(settings: &Settings, directory: &DataDirectory, now: Moment) -> Result<Ledger, StartError> {
    let durability = settings.charge_durability;
    let opened = match &settings.books {
        None => Ledger::open(&directory.ledger(), LedgerOptions { durability }, now),
        Some(url) => Ledger::open_server(&database(url)?, &directory.unsettled_charges(), now),
    };
    let free_plan = FreePlan {
        queries_per_month: settings.free_queries_per_month,
        rows_per_query: settings.free_rows_per_query,
    };
    opened.map(|ledger| ledger.with_free_plan(free_plan)).map_err(|error| part("ledger", &error))
}

/// The database that `--books` names.
fn database(url: &Secret) -> Result<DatabaseAddress, StartError> {
    let variable = |name: &str| std::env::var(name).ok();
    DatabaseAddress::parse(url.reveal(), variable).map_err(|error| part("--books", &error))
}

impl Running {
    /// The address and port of the public API.
    pub fn public_socket(&self) -> Option<SocketAddr> {
        match self.public.net().address() {
            ListenAddress::Tcp(address) => Some(*address),
            ListenAddress::Unix(_) => None,
        }
    }

    /// The bound address of the admin listener.
    pub fn admin_address(&self) -> &ListenAddress {
        self.admin.net().address()
    }

    /// The bound address of the listener for Prometheus.
    pub fn metrics_address(&self) -> Option<&ListenAddress> {
        self.metrics.as_ref().map(|metrics| metrics.net().address())
    }

    /// The parts, for a program that embeds the server.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Stops accepting, finishes what runs within `drain`, and closes the books. Says whether everything was finished.
    pub fn stop(self, drain: Duration) -> bool {
        let deadline = Instant::now() + drain;
        self.public.net().stop_accepting();
        self.admin.net().stop_accepting();
        self.metrics.iter().for_each(|metrics| metrics.net().stop_accepting());
        drop(self.mirror);
        drop(self.upkeep);
        drop(self.reconciler);
        let public_ended = self.public.drain(deadline);
        let admin_ended = self.admin.drain(deadline);
        let metrics_ended = self.metrics.is_none_or(|metrics| metrics.drain(deadline));
        drop(self.neural);
        // Mails are written out of the books.
        drop(self.mail);
        drop(self.flusher);
        self.app.ledger.shutdown();
        public_ended && admin_ended && metrics_ended
    }
}

fn public_url(typed: Option<&str>) -> Result<Option<PublicUrl>, StartError> {
    typed.map(PublicUrl::parse).transpose().map_err(|error| part("--public-url", &error))
}

fn part(name: &'static str, error: &dyn std::fmt::Display) -> StartError {
    StartError::Part { part: name, reason: error.to_string() }
}

/// The public API: pages, what needs no key, long work and health have workers of their own, so that none of them takes
/// those of others.
fn start_public(settings: &Settings, app: &Arc<App>, limits: &RateLimits) -> Result<Front, StartError> {
    let plan = FrontPlan {
        address: ListenAddress::Tcp(settings.listen),
        limits: settings.net_limits(),
        classes: vec![
            ClassPlan { name: "page", workers: settings.worker_count() },
            ClassPlan { name: "public", workers: settings.worker_count() },
            ClassPlan { name: "stream", workers: settings.stream_worker_count() },
            ClassPlan { name: "vital", workers: VITAL_WORKER_COUNT },
        ],
        is_public: true,
    };
    let class_of = |work, has_key| match work {
        Work::Page => 0,
        Work::Agent if has_key => 0,
        Work::Public | Work::Agent => 1,
        Work::Long => 2,
        Work::Vital => 3,
    };
    listen(plan, app, public_service(Arc::clone(app), limits, site::PAGES, class_of))
}

/// The operator's side, and the listener for Prometheus where one is wanted.
fn start_operator(settings: &Settings, app: &Arc<App>) -> Result<(Front, Option<Front>), StartError> {
    let metrics = settings.metrics.map(|address| start_metrics(address, settings, app)).transpose()?;
    Ok((start_admin(settings, app)?, metrics))
}

fn start_metrics(address: SocketAddr, settings: &Settings, app: &Arc<App>) -> Result<Front, StartError> {
    let plan = FrontPlan {
        address: ListenAddress::Tcp(address),
        limits: settings.net_limits(),
        classes: vec![ClassPlan { name: "vital", workers: VITAL_WORKER_COUNT }],
        is_public: false,
    };
    listen(plan, app, metrics_service(Arc::clone(app)))
}

fn start_admin(settings: &Settings, app: &Arc<App>) -> Result<Front, StartError> {
    let plan = FrontPlan {
        address: settings.admin.clone(),
        limits: settings.net_limits(),
        classes: vec![
            ClassPlan { name: "operator", workers: ADMIN_WORKER_COUNT },
            ClassPlan { name: "vital", workers: VITAL_WORKER_COUNT },
        ],
        is_public: false,
    };
    let hosts = match &settings.admin {
        ListenAddress::Tcp(_) => AdminHosts::Own(settings.admin_host.clone()),
        ListenAddress::Unix(_) => AdminHosts::Any,
    };
    let class_of = |work, _| usize::from(work == Work::Vital);
    listen(plan, app, admin_service(Arc::clone(app), hosts, site::OPERATOR_PAGES, class_of))
}

fn listen(plan: FrontPlan, app: &Arc<App>, service: Service) -> Result<Front, StartError> {
    let address = plan.address.clone();
    Front::start(plan, app, service).map_err(|source| StartError::Listen { address, source })
}

fn admin_token(path: &Path) -> Result<AdminToken, StartError> {
    let fill = |bytes: &mut [u8]| getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()));
    AdminToken::load_or_create(path, fill).map_err(|error| part("admin token", &error))
}
