//! Slots hand requests over to workers, and completions come back: one slot for each request that may be in service.
//!
//! The event loop puts an assignment (socket, head, body, and what it found out) into a slot, under a generation that never
//! repeats; slot and generation are what tiny_http gets of the request. A worker claims the assignment once and leaves a completion when its response is out. A
//! withdrawn assignment cannot be claimed, so a late response is discarded. Does not depend on routes.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use mio::Waker;
use socket2::Socket;

use crate::budget::{Budget, Taken};
use crate::counters::Counters;
use crate::parse::request_head::RequestHead;
use crate::parse::request_parser::{Note, RequestBody};
use crate::workers::presence::Presence;
use crate::workers::response_socket::ResponseSocket;

/// Workers that wait for slow readers of pages at one time, once the memory for remaining bytes is used up.
const HURRIED_WORKERS_MAX: usize = 2;

/// Facts about a request that its head does not carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestFacts {
    /// Address of the client, or of the proxy before it.
    pub peer: IpAddr,
    /// When the request was whole.
    pub arrived: Instant,
    /// `HEAD`: the response has no body.
    pub is_head: bool,
    /// HTTP/1.1; a client of HTTP/1.0 gets no chunks.
    pub is_http_1_1: bool,
    /// Whether the connection ends with the response, which has to say so.
    pub closes: bool,
}

/// How a worker left its slot.
#[derive(Debug)]
pub enum Outcome {
    /// The whole response is with the kernel.
    Sent,
    /// These bytes of a page are left; the socket did not take them at once.
    Remaining(Remaining),
    /// The worker is free; the response follows, from any thread.
    Deferred,
    /// Nothing was sent.
    Unanswered,
    /// A part was sent, and nothing follows.
    Aborted(AbortReason),
}

/// The rest of a page.
#[derive(Debug)]
pub struct Remaining {
    pub bytes: Vec<u8>,
    /// Bytes that are out already.
    pub sent: usize,
    /// Its part of the memory that all of them share.
    pub held: Taken,
}

/// Why a response was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbortReason {
    /// The client is gone.
    Gone,
    /// The client did not read in time.
    Stalled,
    /// The worker gave up.
    Worker,
}

/// The message of a worker to the event loop at the end of a request.
#[derive(Debug)]
pub struct Completion {
    pub slot: usize,
    pub generation: u64,
    /// Whether the connection ends with the response.
    pub closes: bool,
    pub outcome: Outcome,
}

/// A request in a slot.
#[derive(Debug)]
pub struct Assignment {
    /// The socket of the client.
    pub socket: Arc<Socket>,
    /// Facts about the request.
    pub facts: RequestFacts,
    /// Method, target and header lines.
    pub head: RequestHead,
    /// What the classifier has found out.
    pub note: Option<Note>,
    /// The body of the request, where it has one.
    pub body: Option<RequestBody>,
}

/// The content of a slot.
#[derive(Debug, Default)]
struct SlotState {
    generation: u64,
    assignment: Option<Assignment>,
}

#[derive(Debug, Default)]
struct Slot {
    state: Mutex<SlotState>,
    /// Whether the event loop waits for the completion of this slot.
    awaited: AtomicBool,
    /// The [`Presence`] of the client.
    presence: AtomicU8,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All slots of a listener.
#[derive(Debug)]
pub struct Slots {
    slots: Vec<Slot>,
    completions: Sender<Completion>,
    waker: Waker,
    /// Whether requests wait for any slot to become free.
    crowded: AtomicBool,
    pub budget: Arc<Budget>,
    /// Workers that may wait for slow readers of pages when the budget is used up.
    pub hurried: Arc<Budget>,
    pub counters: Arc<Counters>,
    pub write_time: Duration,
}

impl Slots {
    /// `count` empty slots, and where their completions arrive.
    pub fn new(
        count: usize,
        waker: Waker,
        budget: Arc<Budget>,
        counters: Arc<Counters>,
        write_time: Duration,
    ) -> (Arc<Self>, Receiver<Completion>) {
        // Each slot has at most two completions under way, and one more whose slot was withdrawn.
        let (completions, received) = bounded(count.saturating_mul(3).max(1));
        let slots = (0..count).map(|_| Slot::default()).collect();
        let (crowded, hurried) = (AtomicBool::new(false), Budget::new(HURRIED_WORKERS_MAX));
        let slots = Self { slots, completions, waker, crowded, budget, hurried, counters, write_time };
        (Arc::new(slots), received)
    }

    /// Fills a slot and gives the generation, which is part of its name.
    pub fn assign(&self, slot: usize, assignment: Assignment, awaited: bool) -> u64 {
        let Some(found) = self.slots.get(slot) else { return 0 };
        found.awaited.store(awaited, Ordering::Relaxed);
        found.presence.store(Presence::Connected as u8, Ordering::Relaxed);
        let mut state = found.lock();
        state.generation = state.generation.wrapping_add(1);
        state.assignment = Some(assignment);
        state.generation
    }

    /// Withdraws an assignment. Returns whether it was unclaimed, which proves that no worker responds to the
    /// request.
    pub fn withdraw(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.lock().assignment.take().is_some())
    }

    /// Whether a slot holds an unclaimed assignment.
    pub fn is_unclaimed(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.lock().assignment.is_some())
    }

    /// The target of the request in the slot of that name, as long as it is unclaimed.
    pub fn target_of(&self, name: &str) -> Option<String> {
        let (slot, generation) = parsed(name)?;
        let state = self.slots.get(slot)?.lock();
        let assignment = state.assignment.as_ref().filter(|_| state.generation == generation)?;
        Some(assignment.head.target().to_owned())
    }

    /// Claims the socket of that name, `slot-generation`, once.
    pub fn claim(self: &Arc<Self>, name: &str) -> Option<ResponseSocket> {
        let (slot, generation) = parsed(name)?;
        let mut state = self.slots.get(slot)?.lock();
        let assignment = (state.generation == generation).then(|| state.assignment.take()).flatten()?;
        drop(state);
        Some(ResponseSocket::new(Arc::clone(self), slot, generation, assignment))
    }

    /// Notes what is known of the client of a slot.
    pub fn note_presence(&self, slot: usize, presence: Presence) {
        if let Some(slot) = self.slots.get(slot) {
            slot.presence.store(presence as u8, Ordering::Relaxed);
        }
    }

    /// What is known of the client of a slot.
    pub(super) fn presence(&self, slot: usize) -> Presence {
        let number = |slot: &Slot| slot.presence.load(Ordering::Relaxed);
        self.slots.get(slot).map_or(Presence::Gone, |slot| Presence::of(number(slot)))
    }

    /// Asks to be woken by the completion of a slot. The caller must check the queue afterwards.
    pub fn await_completion(&self, slot: usize) {
        if let Some(slot) = self.slots.get(slot) {
            slot.awaited.store(true, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
    }

    /// Asks to be woken by every completion, or no longer. The caller must check the queue afterwards.
    pub fn await_any(&self, crowded: bool) {
        self.crowded.store(crowded, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Queues a completion, and wakes the event loop only if it waits for this one. Most responses are out before
    /// their client sends more, and each wake-up costs a system call and a context switch.
    pub fn complete(&self, completion: Completion) {
        let Completion { slot, closes, ref outcome, .. } = completion;
        let matters = closes || !matches!(outcome, Outcome::Sent | Outcome::Deferred);
        // The receiver is gone only when the event loop has ended.
        drop(self.completions.try_send(completion));
        fence(Ordering::SeqCst);
        let awaited = self.slots.get(slot).is_some_and(|slot| slot.awaited.load(Ordering::SeqCst));
        if matters || awaited || self.crowded.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Wakes the event loop.
    pub fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "the event loop cannot be woken");
        }
    }
}

/// Slot and generation of a name.
fn parsed(name: &str) -> Option<(usize, u64)> {
    let (slot, generation) = name.split_once('-')?;
    Some((slot.parse().ok()?, generation.parse().ok()?))
}
