//! One listener with everything behind it: guard, private sockets, pools of workers.
//!
//! Joins the guard, which knows no status code, with the service, which knows no public socket.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::refusals::meaning;
use crate::edge::{EdgeLimits, Guard, GuardParts, ListenAddress, PoolPlan, PrivateDoor, Refusal};
use crate::http::{Service, WorkerPlan, Workers};

/// Which place in the list of pools answers a target.
pub(super) type Choice = fn(&str) -> usize;

/// A pool to be.
pub(super) struct Plan {
    pub(super) workers: WorkerPlan,
    pub(super) is_long: bool,
}

impl Plan {
    /// Workers that answer with pages.
    pub(super) fn pages(name: &'static str, count: usize) -> Self {
        Self { workers: WorkerPlan { name, count, steps_back: false }, is_long: false }
    }
}

/// Everything that a listener needs.
pub(super) struct FrontParts {
    pub(super) address: ListenAddress,
    pub(super) limits: EdgeLimits,
    pub(super) plans: Vec<Plan>,
    pub(super) choice: Choice,
    pub(super) service: Service,
    pub(super) is_exempt: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    pub(super) strangers_niceness: i32,
}

/// A listener that answers.
pub(super) struct Front {
    guard: Guard,
    backs: Vec<(Workers, Arc<PrivateDoor>)>,
}

impl Front {
    /// Starts the workers, then the guard.
    pub(super) fn start(parts: FrontParts) -> io::Result<Self> {
        let service = Arc::new(parts.service);
        let mut backs = Vec::with_capacity(parts.plans.len());
        let mut pools = Vec::with_capacity(parts.plans.len());
        for Plan { workers, is_long } in parts.plans {
            let (listener, door) = PrivateDoor::open(random()?)?;
            let door = Arc::new(door);
            backs.push((Workers::start(&workers, listener, &service)?, Arc::clone(&door)));
            pools.push(PoolPlan { name: workers.name, door, workers: workers.count, is_long });
        }
        let refusing = Arc::clone(&service);
        let refuse = move |refusal: &Refusal, address: IpAddr, with_body: bool| {
            refusing.refusal(&meaning(refusal), address, with_body)
        };
        let choice = parts.choice;
        let guard = Guard::start(GuardParts {
            address: parts.address,
            limits: parts.limits,
            pools,
            outlets: Arc::clone(service.outlets()),
            chooser: Arc::new(move |_, target| choice(target)),
            refuse: Arc::new(refuse),
            is_exempt: parts.is_exempt,
            strangers_niceness: parts.strangers_niceness,
        })?;
        Ok(Self { guard, backs })
    }

    /// The guard.
    pub(super) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Accepts nothing new.
    pub(super) fn stop_accepting(&self) {
        self.guard.stop_accepting();
    }

    /// Waits for what runs, at most until `deadline`. Says whether everything was answered.
    pub(super) fn drain(self, deadline: Instant) -> bool {
        let ended = self.guard.drain(deadline);
        let mut stopped = true;
        for (workers, door) in self.backs {
            stopped &= workers.stop(ended, || door.knock());
        }
        ended && stopped
    }
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(u64::from_le_bytes(bytes))
}
