//! Where workers find the sockets of the clients they answer: one slot for each request that may be in service.
//!
//! The event loop lays socket and body into a slot, under a turn that never repeats; the name of both travels with the request. A
//! worker claims it once and leaves a word when its answer is out. A slot that was withdrawn cannot be claimed, so an
//! answer that comes too late reaches nobody. Knows no request and no route.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use mio::{Poll, Token, Waker};
use socket2::Socket;

use super::budget::{Budget, Taken};
use super::counters::Counters;
use super::forward::add_slot;
use super::request_parser::{Request, RequestBody};
use super::response_socket::ResponseSocket;
use crate::limits::net::{REST_BYTES_HELD_MAX, WRITE_TIME};

/// What an answer has to know of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerFacts {
    /// `HEAD`: the answer has no body.
    pub is_head: bool,
    /// HTTP/1.1; a client of HTTP/1.0 gets no chunks.
    pub is_http_1_1: bool,
    /// Whether the connection ends with this answer, which has to say so.
    pub closes: bool,
}

/// How a worker left its slot.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The whole answer is with the kernel.
    Sent,
    /// These bytes of a page are left; the socket did not take them at once.
    Rest(Rest),
    /// The worker is free; the response follows, from another thread.
    Deferred,
    /// Nothing was sent.
    Unanswered,
    /// A part was sent, and nothing follows.
    Cut(Cut),
}

/// What is left of a page.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) bytes: Vec<u8>,
    /// Bytes that are out already.
    pub(super) sent: usize,
    /// Its part of the memory that all of them share.
    pub(super) held: Taken,
}

/// Why an answer was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The client is gone.
    Gone,
    /// The client did not take what there was in time.
    Stalled,
    /// The worker gave up.
    Worker,
}

/// A word of a worker to the event loop.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) slot: usize,
    pub(super) turn: u64,
    /// Whether the connection ends with the answer.
    pub(super) closes: bool,
    pub(super) outcome: Outcome,
}

/// What the event loop lays into a slot.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) socket: Arc<Socket>,
    pub(super) facts: AnswerFacts,
    /// The body of the request, where it has one.
    pub(super) body: Option<RequestBody>,
}

/// What lies in a slot.
#[derive(Debug, Default)]
struct Place {
    turn: u64,
    offer: Option<Offer>,
}

#[derive(Debug, Default)]
struct Slot {
    place: Mutex<Place>,
    /// Whether the event loop waits for the word of this slot.
    awaited: AtomicBool,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All slots of a listener.
#[derive(Debug)]
pub struct Slots {
    slots: Vec<Slot>,
    words: Sender<Word>,
    waker: Waker,
    /// Whether requests wait for any slot to become free.
    crowded: AtomicBool,
    pub(super) rests: Arc<Budget>,
    pub(super) counters: Arc<Counters>,
    pub(super) write_time: Duration,
}

impl Slots {
    /// `count` empty slots, and where their words arrive.
    pub(super) fn new(
        count: usize,
        waker: Waker,
        rests: Arc<Budget>,
        counters: Arc<Counters>,
        write_time: Duration,
    ) -> (Arc<Self>, Receiver<Word>) {
        // Each slot has at most one word under way, and one more whose slot was withdrawn.
        let (words, received) = bounded(count.saturating_mul(3).max(1));
        let slots = (0..count).map(|_| Slot::default()).collect();
        let crowded = AtomicBool::new(false);
        (Arc::new(Self { slots, words, waker, crowded, rests, counters, write_time }), received)
    }

    /// Fills a slot and appends the name of slot and turn to `name`. Gives the turn.
    pub(super) fn offer(&self, slot: usize, offer: Offer, awaited: bool, name: &mut Vec<u8>) -> u64 {
        let Some(place) = self.slots.get(slot) else { return 0 };
        place.awaited.store(awaited, Ordering::Relaxed);
        let mut place = place.lock();
        place.turn = place.turn.wrapping_add(1);
        place.offer = Some(offer);
        let turn = place.turn;
        drop(place);
        // Writing to a vector does not fail.
        drop(write!(name, "{slot}-{turn}"));
        turn
    }

    /// Takes the offer of a slot back. Says whether nobody had claimed it, which proves that nobody answers the request.
    pub(super) fn withdraw(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.lock().offer.take().is_some())
    }

    /// Whether a slot holds something that nobody has claimed.
    pub(super) fn is_offered(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.lock().offer.is_some())
    }

    /// Claims the socket of that name, once.
    pub fn claim(self: &Arc<Self>, name: &str) -> Option<ResponseSocket> {
        let (slot, turn) = name.split_once('-')?;
        let (slot, turn) = (slot.parse::<usize>().ok()?, turn.parse::<u64>().ok()?);
        let mut place = self.slots.get(slot)?.lock();
        let offer = (place.turn == turn).then(|| place.offer.take()).flatten()?;
        drop(place);
        Some(ResponseSocket::new(Arc::clone(self), slot, turn, offer))
    }

    /// Asks to be woken by the word of a slot. The words have to be looked at afterwards.
    pub(super) fn await_word(&self, slot: usize) {
        if let Some(slot) = self.slots.get(slot) {
            slot.awaited.store(true, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
    }

    /// Asks to be woken by every word, or no longer. The words have to be looked at afterwards.
    pub(super) fn await_all(&self, crowded: bool) {
        self.crowded.store(crowded, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Leaves a word, and wakes the event loop where it waits for it. Most answers are out whole before anybody asks for
    /// more, and a wake-up for each would be a system call and a context switch for nothing.
    pub(super) fn leave(&self, word: Word) {
        let (slot, matters) = (word.slot, (word.closes && !matches!(word.outcome, Outcome::Deferred)) || !matches!(word.outcome, Outcome::Sent | Outcome::Deferred));
        // The receiver is gone only when the event loop has ended.
        drop(self.words.try_send(word));
        fence(Ordering::SeqCst);
        let awaited = self.slots.get(slot).is_some_and(|slot| slot.awaited.load(Ordering::SeqCst));
        if matters || awaited || self.crowded.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Wakes the event loop.
    pub(super) fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "the event loop cannot be woken");
        }
    }
}

/// A slot without an event loop, through which one socket is answered again and again: for benchmarks of what a worker
/// does.
#[doc(hidden)]
pub struct LoneSlot {
    slots: Arc<Slots>,
    words: Receiver<Word>,
    socket: Arc<Socket>,
    _poll: Poll,
}

impl LoneSlot {
    /// A slot for a connected socket.
    pub fn new(socket: Socket) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), Token(0))?;
        let (rests, counters) = (Budget::new(REST_BYTES_HELD_MAX), Arc::new(Counters::new(&[])));
        let (slots, words) = Slots::new(1, waker, rests, counters, WRITE_TIME);
        Ok(Self { slots, words, socket: Arc::new(socket), _poll: poll })
    }

    /// Where a service claims the socket.
    pub fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// Lays the body of a request into the slot, and adds the name of the slot to its head.
    pub fn offer(&self, request: Request<'_>) {
        let facts = AnswerFacts { is_head: false, is_http_1_1: true, closes: false };
        let offer = Offer { socket: Arc::clone(&self.socket), facts, body: request.body };
        add_slot(request.head, |name| self.slots.offer(0, offer, false, name));
    }

    /// Whether the last answer was sent, as far as the socket took it.
    pub fn is_answered(&self) -> bool {
        matches!(self.words.try_recv(), Ok(Word { outcome: Outcome::Sent | Outcome::Rest(_), .. }))
    }
}
