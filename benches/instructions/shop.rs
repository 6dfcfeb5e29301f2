//! A server without its event loop: request parser, service and books, called by whoever wants an answer.
//!
//! A request takes the way that it takes in a server, with one gap: tiny_http, which hands over the name of the slot. The
//! answer goes through a pair of sockets.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mercato::api::{AdminToken, App, Documents, Service, public_service};
use mercato::logging::{self, LogGuard};
use mercato::selections::{SELECTION_CACHE_BYTES, SelectionCache};
use mercato_base::clock::{Moment, TestClock, UtcDay};
use mercato_catalog::{Catalog, DataDirectory};
use mercato_ledger::{
    AccountHandle, ChargeDurability, ChargeRequest, FreePlan, Ledger, LedgerOptions, Pending,
};
use mercato_net::{
    Assignment, BodyMemory, Bound, ClassPlan, Head, ListenAddress, NetLimits, Request, RequestFacts,
    RequestParser, Slots, Step,
};
use mercato_people::{AccessControl, InFlight, InFlightLimits, RateLimits, TrustedProxies};
use mercato_query::render::ParallelEncoder;
use mercato_search::Search;
use mercato_web::Pipeline;
use socket2::Socket;
use tempfile::TempDir;

use crate::site;

/// A request each second stays below every limit, so that the limits are in force and let everything in.
const PAUSE_SECONDS: i64 = 1;

/// A server of which one part is missing: the event loop.
pub struct Shop {
    pipeline: Arc<Pipeline<Service>>,
    ledger: Arc<Ledger>,
    account: AccountHandle,
    key: String,
    clock: Arc<TestClock>,
    now: Moment,
    parser: RequestParser,
    slots: Arc<Slots>,
    socket: Arc<Socket>,
    _bound: Bound,
    client: UnixStream,
    received: Vec<u8>,
    _log: LogGuard,
    _data: TempDir,
}

/// A request as bytes.
pub struct Ask {
    bytes: Vec<u8>,
}

impl Shop {
    /// Serves one store file.
    pub fn open(store: &Path) -> Shop {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let data = DataDirectory::new(folder.path());
        site::offer(&data, store);
        let now = UtcDay::from_civil(2026, 1, 2).start();
        let clock = Arc::new(TestClock::at(now));
        let options = LedgerOptions { durability: ChargeDurability::Process };
        // Every page is paid, from the first on.
        let free_plan = FreePlan { queries_per_month: 0, rows_per_query: 0 };
        let ledger = Ledger::open(&data.ledger(), options, now).unwrap().with_free_plan(free_plan);
        let ledger = Arc::new(ledger);
        let (account, key) = site::customer(&ledger, now);
        let limits = RateLimits::default();
        let catalog = Arc::new(Catalog::open(data.clone()).unwrap());
        let app = Arc::new(App {
            search: Arc::new(Search::by_words(Arc::clone(&catalog)).unwrap()),
            catalog,
            access: Arc::new(AccessControl::open(Arc::clone(&ledger), limits, now).unwrap()),
            sign_ins: mercato_people::SignInControl::new(Arc::clone(&ledger)),
            mailer: None,
            takes_sign_ups: true,
            ledger: Arc::clone(&ledger),
            in_flight: InFlight::new(InFlightLimits { requests: 0, streams: 0 }),
            clock: clock.clone(),
            low_balance_credits: 0,
            selections: Arc::new(SelectionCache::new(SELECTION_CACHE_BYTES)),
            metrics: mercato::api::Metrics::default(),
            documents: Documents::new(None, now),
            trusted_proxies: TrustedProxies::parse(&[]).unwrap(),
            admin_token: AdminToken::load_or_create(&data.admin_token(), |_| Ok(())).unwrap(),
            graph: mercato::api::GraphCache::default(),
            encoder: Arc::new(ParallelEncoder::new(1).unwrap()),
            exports: Arc::default(),
            payments: Arc::default(),
            branding: Arc::default(),
            work_limit: None,
        });
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let bodies = BodyMemory::new(1 << 20);
        let (server, client) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        let anywhere = ListenAddress::Tcp(([127, 0, 0, 1], 0).into());
        let classes = vec![ClassPlan { name: "bench", workers: 1 }];
        let bound = Bound::new(&anywhere, NetLimits::default(), classes).unwrap();
        let slots = Arc::clone(bound.slots());
        let service = public_service(app, &limits, mercato::site::PAGES, |_, _| 0);
        let pipeline = Arc::new(Pipeline::new(service, Arc::clone(&slots)));
        let classifying = Arc::clone(&pipeline);
        let classifier = Arc::new(move |head: &Head<'_, '_>, peer| classifying.classify(head, peer));
        Shop {
            pipeline,
            ledger,
            account,
            key,
            clock,
            now,
            parser: RequestParser::new(peer, &NetLimits::default(), bodies, classifier),
            slots,
            socket: Arc::new(server.into()),
            _bound: bound,
            client,
            received: vec![0; 1 << 20],
            _log: logging::start(std::io::sink()).unwrap(),
            _data: folder,
        }
    }

    /// Credits that are left.
    pub fn credits(&self) -> u64 {
        self.account.credits()
    }

    /// Charges one row, and nothing else.
    pub fn charge(&self) {
        let order = ChargeRequest {
            account: self.account.clone(),
            key: None,
            rows: 1,
            free_queries: 0,
            dataset: site::SLUG.to_owned(),
            request_id: String::from("a-request"),
            claim: None,
            view: None,
            at: self.now,
        };
        self.ledger.charge(&order).and_then(Pending::durable).unwrap();
    }

    /// A query of the customer.
    pub fn ask(&self, body: &str) -> Ask {
        let path = format!("/api/v1/datasets/{}/query", site::SLUG);
        Ask { bytes: site::post(&path, &self.key, body).into_bytes() }
    }

    /// From the bytes of a request to the bytes of its answer, charge and log line included.
    pub fn answer(&mut self, ask: &Ask) {
        self.now = self.now.plus_seconds(PAUSE_SECONDS);
        self.clock.set(self.now);
        self.parser.room().get_mut(..ask.bytes.len()).unwrap().copy_from_slice(&ask.bytes);
        self.parser.received(ask.bytes.len());
        assert_eq!(self.parser.advance(), Step::Ready);
        let facts = RequestFacts {
            peer: Ipv4Addr::LOCALHOST.into(),
            arrived: Instant::now(),
            is_head: false,
            is_http_1_1: true,
            closes: false,
        };
        let Request { head, note, body, .. } = self.parser.request().unwrap();
        let assignment = Assignment { socket: Arc::clone(&self.socket), facts, head, note, body };
        let generation = self.slots.assign(0, assignment, false);
        self.parser.next();
        self.pipeline.answer(self.slots.claim(&format!("0-{generation}")).unwrap());
        let mut received = 0;
        while let Ok(length @ 1..) = self.client.read(&mut self.received) {
            received += length;
        }
        assert!(received > 0, "nothing came");
    }
}
