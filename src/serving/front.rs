//! One listener with everything behind it: event loop, private socket, workers.
//!
//! Joins the event loop, which knows no status code and no account, with the service, which knows no public socket.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::refusals::meaning;
use crate::access::client_block;
use crate::http::{App, Service, Workers};
use crate::net::{
    Bound, ClassPlan, Client, Head, ListenAddress, NetLimits, NetParts, NetServer, PrivateDoor, Refusal,
    Slots,
};

/// What a listener serves.
pub(super) struct FrontPlan {
    pub(super) address: ListenAddress,
    pub(super) limits: NetLimits,
    pub(super) classes: Vec<ClassPlan>,
    /// Which of the classes answers a target.
    pub(super) class_of: fn(&str) -> usize,
    /// Whether addresses are counted behind proxies, and connections of one address bounded.
    pub(super) is_public: bool,
}

/// A listener that answers.
pub(super) struct Front {
    net: NetServer,
    workers: Workers,
}

impl Front {
    /// Takes the address, starts the workers, then accepts.
    pub(super) fn start(
        plan: FrontPlan,
        app: &Arc<App>,
        service: impl FnOnce(Arc<Slots>) -> Service,
    ) -> io::Result<Self> {
        let count = plan.classes.iter().map(|class| class.workers).sum();
        let bound = Bound::new(&plan.address, plan.limits, plan.classes)?;
        let service = Arc::new(service(Arc::clone(bound.slots())));
        let (listener, door) = PrivateDoor::open(random()?)?;
        let workers = Workers::start(count, listener, &service)?;
        let refuse = move |refusal: &Refusal, address: IpAddr, with_body: bool| {
            service.refusal(&meaning(refusal), address, with_body)
        };
        let net = bound.start(NetParts {
            door,
            classifier: classifier(plan.class_of, Arc::clone(app)),
            refuse: Arc::new(refuse),
            counted_as: counted_as(plan.is_public, Arc::clone(app)),
        })?;
        Ok(Self { net, workers })
    }

    /// The event loop.
    pub(super) fn net(&self) -> &NetServer {
        &self.net
    }

    /// Waits for what runs, at most until `deadline`. Says whether everything was answered.
    pub(super) fn drain(self, deadline: Instant) -> bool {
        let (ended, door) = self.net.drain(deadline);
        self.workers.stop(ended, || door.knock()) && ended
    }
}

/// Requests of one account take turns as one client, from however many addresses they come; requests without a valid key
/// do so by address.
fn classifier(
    class_of: fn(&str) -> usize,
    app: Arc<App>,
) -> Arc<impl Fn(&Head<'_, '_>, IpAddr) -> (usize, Client) + Send + Sync> {
    Arc::new(move |head: &Head<'_, '_>, peer: IpAddr| {
        let values = |name: &'static str| {
            let found = head.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
            found.filter_map(|header| std::str::from_utf8(header.value).ok())
        };
        let account = app.access.account_of(values("X-Api-Key").next());
        let address = || app.trusted_proxies.client_address(peer, values("X-Forwarded-For"));
        let client = account.map_or_else(|| Client::Address(client_block(address())), Client::Account);
        (class_of(head.target), client)
    })
}

fn counted_as(is_public: bool, app: Arc<App>) -> Arc<impl Fn(IpAddr) -> Option<IpAddr> + Send + Sync> {
    Arc::new(move |address| {
        let is_exempt = is_public && app.trusted_proxies.contains(address);
        (!is_exempt).then(|| client_block(address))
    })
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(u64::from_le_bytes(bytes))
}
