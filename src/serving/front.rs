//! One listener with everything behind it: event loop, private listener, workers.
//!
//! Joins the event loop, which knows no status code and no account, with the service, which knows no public socket.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::refusals::meaning;
use crate::api::{App, Service};
use mercato_net::{
    Bound, ClassPlan, Head, ListenAddress, NetLimits, NetParts, NetServer, PrivateAddress, Refusal,
};
use mercato_people::client_block;
use mercato_web::{Pipeline, Workers};

/// The address, limits and service of a listener.
pub(super) struct FrontPlan {
    pub(super) address: ListenAddress,
    pub(super) limits: NetLimits,
    pub(super) classes: Vec<ClassPlan>,
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
    pub(super) fn start(plan: FrontPlan, app: &Arc<App>, service: Service) -> io::Result<Self> {
        let count = plan.classes.iter().map(|class| class.workers).sum();
        let bound = Bound::new(&plan.address, plan.limits, plan.classes)?;
        let pipeline = Arc::new(Pipeline::new(service, Arc::clone(bound.slots())));
        let (listener, upstream) = PrivateAddress::open(random()?)?;
        let workers = Workers::start(count, listener, &pipeline)?;
        let classifying = Arc::clone(&pipeline);
        let refuse = move |refusal: &Refusal, address: IpAddr, with_body: bool| {
            pipeline.standalone(&meaning(refusal), address, with_body)
        };
        let net = bound.start(NetParts {
            upstream,
            classifier: Arc::new(move |head: &Head<'_, '_>, peer| classifying.classify(head, peer)),
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
        let (ended, upstream) = self.net.drain(deadline);
        self.workers.stop(ended, || upstream.wake_listener()) && ended
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::public_service;
    use crate::config::Settings;
    use mercato_base::clock::{TestClock, UtcDay};
    use mercato_ledger::{KEY_RANDOM_BYTES, KeyLimits};
    use mercato_net::{BodyMemory, Classified, Client, RequestParser, Step};
    use mercato_people::RateLimits;
    use mercato_web::{Application, Target};

    /// The client of a request with these header lines.
    fn client_of(app: &Arc<App>, lines: &str) -> Client {
        let peer = IpAddr::from([10, 0, 0, 1]);
        let service = public_service(Arc::clone(app), &RateLimits::default(), crate::site::PAGES, |_, _| 0);
        let classifier = Arc::new(move |head: &Head<'_, '_>, peer| {
            let arrival =
                service.arrive(head, Target::parse(head.target).as_ref().map_err(|error| *error), peer);
            Classified::new(0, arrival.client)
        });
        let mut parser = RequestParser::new(peer, &NetLimits::default(), BodyMemory::new(0), classifier);
        let request = format!("GET / HTTP/1.1\r\nHost: x\r\n{lines}\r\n");
        parser.room()[..request.len()].copy_from_slice(request.as_bytes());
        parser.received(request.len());
        assert_eq!(parser.advance(), Step::Ready);
        parser.facts().unwrap().client
    }

    #[test]
    fn queues_client_without_valid_key_as_address() {
        let folder = tempfile::tempdir().unwrap();
        let words = ["mercato", "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data"];
        let settings = Settings::read(words.into_iter().chain([folder.path().to_str().unwrap()])).unwrap();
        let now = UtcDay::from_civil(2026, 1, 2).start();
        let clock = Arc::new(TestClock::at(now));
        let clock_of_server: Arc<dyn mercato_base::clock::Clock> = clock.clone();
        let server = crate::serving::start(&settings, clock_of_server).unwrap();
        let (app, ledger) = (server.app(), &server.app().ledger);
        let account = ledger.create_account("test", now).unwrap();
        let end = now.plus_seconds(60);
        let limits = KeyLimits { expires_at: Some(end), ..KeyLimits::default() };
        let ends = ledger.create_limited_key(account, "ends", [1; KEY_RANDOM_BYTES], limits, now).unwrap();
        let stays = ledger.create_key(account, "stays", [2; KEY_RANDOM_BYTES], now).unwrap();
        let line = |key: &str| format!("X-Api-Key: {key}\r\n");
        let (ends, plain) = (line(ends.plain.reveal()), line(stays.plain.reveal()));
        let (as_account, as_address) =
            (Client::Account(account.number()), Client::Address(IpAddr::from([10, 0, 0, 1])));
        assert_eq!([client_of(app, &ends), client_of(app, &plain)], [as_account, as_account]);
        assert_eq!(client_of(app, ""), as_address);
        let bearer = format!("Authorization: Bearer {}\r\n", stays.plain.reveal());
        assert_eq!(client_of(app, &bearer), as_account);
        assert_eq!(client_of(app, &plain.repeat(2)), as_address, "of two keys none is the client's");
        clock.set(end);
        assert_eq!([client_of(app, &ends), client_of(app, &plain)], [as_address, as_account]);
        ledger.revoke_key(stays.view.id, now).unwrap();
        assert_eq!(client_of(app, &plain), as_address);
        assert!(server.stop(std::time::Duration::from_secs(5)));
    }
}
