//! Short ways out: an answer goes from the thread that made it straight to the socket of its client.
//!
//! Whoever owns the socket offers the way for one answer, under a name that travels with the request, and waits for word,
//! unless it prefers to be told by a call ([`Owner`]).
//! Whoever answers claims it, once. An offer that was taken back cannot be claimed any more, so that an answer which comes
//! too late never reaches a connection that has gone on. Knows sockets and time-outs; knows nothing of requests.

mod acknowledged;

use std::collections::HashMap;
use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use socket2::Socket;

pub use acknowledged::Acknowledged;

use crate::limits::edge::{OUTLET_HELD_BYTES, PROMPT_PIECE_BYTES, WRITE_PIECE_BYTES};

/// The low bits of a state say how far an offer is; the others are its turn.
const PHASE_BITS: u32 = 2;
const CLOSED: u64 = 0;
const OFFERED: u64 = 1;
const CLAIMED: u64 = 2;
const PHASES: u64 = (1 << PHASE_BITS) - 1;

/// The end of the name of an offer whose answer is the last one.
const CLOSES: &str = "-last";

/// How the word begins that an answer is out.
pub const WORD: &[u8] = b"HTTP/1.1 200 Sent\r\n";

/// How sending failed.
const SOUND: u8 = 0;
const GONE: u8 = 1;
const STALLED: u8 = 2;

/// Every socket that can be offered.
#[derive(Debug, Default)]
pub struct Outlets {
    state: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    outlets: HashMap<u64, Weak<Outlet>>,
}

impl Outlets {
    /// Takes a socket in. `total` counts what is sent through all of them.
    pub fn open(
        self: &Arc<Self>,
        socket: Socket,
        total: Arc<AtomicU64>,
        owner: Option<Arc<dyn Owner>>,
    ) -> Arc<Outlet> {
        let mut open = self.lock();
        let number = open.next;
        open.next = number.wrapping_add(1);
        let outlet = Arc::new(Outlet {
            outlets: Arc::clone(self),
            number,
            socket,
            total,
            owner,
            state: AtomicU64::new(CLOSED),
            sent: AtomicU64::new(0),
            failure: AtomicU8::new(SOUND),
            is_vouched_for: AtomicBool::new(false),
        });
        open.outlets.insert(number, Arc::downgrade(&outlet));
        outlet
    }

    /// Takes the way of that name, if it is still offered.
    pub fn claim(&self, name: &str) -> Option<Claim> {
        let (name, closes) = name.strip_suffix(CLOSES).map_or((name, false), |name| (name, true));
        let (number, turn) = name.split_once('-')?;
        let (number, turn) = (number.parse().ok()?, turn.parse::<u64>().ok()?);
        let outlet = self.lock().outlets.get(&number)?.upgrade()?;
        let (offered, claimed) = ((turn << PHASE_BITS) | OFFERED, (turn << PHASE_BITS) | CLAIMED);
        let taken = outlet.state.compare_exchange(offered, claimed, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok().then_some(Claim { outlet, claimed, closes })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who owns a socket that is offered.
pub trait Owner: Debug + Send + Sync {
    /// Called by whoever has sent an answer whole. Says whether the owner needs no word of it on the way back.
    fn answered(&self) -> bool;
}

/// The way out of one connection, as the owner of the socket sees it.
#[derive(Debug)]
pub struct Outlet {
    outlets: Arc<Outlets>,
    number: u64,
    socket: Socket,
    total: Arc<AtomicU64>,
    owner: Option<Arc<dyn Owner>>,
    state: AtomicU64,
    sent: AtomicU64,
    failure: AtomicU8,
    is_vouched_for: AtomicBool,
}

/// Why a claimed way was left before the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The client is gone.
    Gone,
    /// The client did not take what there was within its time.
    Stalled,
}

impl Outlet {
    /// The socket itself, for its owner.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Offers the way for one answer, which has to say so where it `closes` the connection, and appends the name of the
    /// offer to `name`. Only the owner may call it.
    pub fn offer(&self, closes: bool, name: &mut Vec<u8>) {
        let turn = (self.state.load(Ordering::Relaxed) >> PHASE_BITS).wrapping_add(1);
        name.extend_from_slice(itoa::Buffer::new().format(self.number).as_bytes());
        name.push(b'-');
        name.extend_from_slice(itoa::Buffer::new().format(turn).as_bytes());
        if closes {
            name.extend_from_slice(CLOSES.as_bytes());
        }
        self.state.store((turn << PHASE_BITS) | OFFERED, Ordering::Release);
    }

    /// Takes the offer back. Says whether it was claimed before, so that something may have been sent.
    pub fn withdraw(&self) -> bool {
        self.state.fetch_and(!PHASES, Ordering::AcqRel) & PHASES == CLAIMED
    }

    /// Whether the offer is claimed now.
    pub fn is_claimed(&self) -> bool {
        self.state.load(Ordering::Acquire) & PHASES == CLAIMED
    }

    /// Whether somebody who answered since the last call knew who asks.
    pub fn take_voucher(&self) -> bool {
        self.is_vouched_for.swap(false, Ordering::Relaxed)
    }

    /// Bytes that went out through claims since the connection was opened.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// What went wrong with the socket, if anything did.
    pub fn broken(&self) -> Option<Broken> {
        match self.failure.load(Ordering::Acquire) {
            SOUND => None,
            STALLED => Some(Broken::Stalled),
            _ => Some(Broken::Gone),
        }
    }

    fn count(&self, sent: usize) {
        let sent = u64::try_from(sent).unwrap_or(u64::MAX);
        self.sent.fetch_add(sent, Ordering::Relaxed);
        self.total.fetch_add(sent, Ordering::Relaxed);
    }

    fn fail(&self, how: u8) -> io::Error {
        self.failure.store(how, Ordering::Release);
        let kind = if how == STALLED { io::ErrorKind::TimedOut } else { io::ErrorKind::BrokenPipe };
        kind.into()
    }

    /// Sends everything; each piece of [`WRITE_PIECE_BYTES`] within the time-out of the socket. With `more`, the last
    /// bytes may wait for those that follow.
    pub fn send_all(&self, bytes: &[u8], more: bool) -> io::Result<()> {
        let flags = if more { SendFlags::MORE } else { SendFlags::empty() };
        for piece in bytes.chunks(WRITE_PIECE_BYTES) {
            if self.send(piece, flags)? < piece.len() {
                return Err(self.fail(STALLED));
            }
        }
        Ok(())
    }

    /// Sends what the socket takes at once, and says how much that was. In pieces, because a kernel that does not preempt
    /// itself gives the processor to nobody else while it copies, which takes ten milliseconds for some megabytes.
    fn send_what_is_taken(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0_usize;
        for piece in bytes.chunks(PROMPT_PIECE_BYTES) {
            if taken > 0 {
                thread::yield_now();
            }
            let sent = self.send(piece, SendFlags::DONTWAIT)?;
            taken = taken.saturating_add(sent);
            if sent < piece.len() {
                break;
            }
        }
        Ok(taken)
    }

    /// Sends a piece, and says how much of it the socket took within its time-out, or at once.
    fn send(&self, piece: &[u8], flags: SendFlags) -> io::Result<usize> {
        loop {
            match send(&self.socket, piece, flags | SendFlags::NOSIGNAL) {
                Ok(sent) => {
                    self.count(sent);
                    return Ok(sent);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(0),
                Err(_) => return Err(self.fail(GONE)),
            }
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.outlets.lock().outlets.remove(&self.number);
    }
}

/// The right to send one answer.
#[derive(Debug)]
pub struct Claim {
    outlet: Arc<Outlet>,
    /// The state of the outlet while this is in force.
    claimed: u64,
    closes: bool,
}

impl Claim {
    /// Whether the answer has to say that it is the last one.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// What the client acknowledges of the answer, of which nothing may be sent yet.
    pub fn acknowledged(&self) -> Acknowledged {
        Acknowledged::begin(Arc::clone(&self.outlet), self.claimed)
    }

    /// Tells the owner of the socket that it is known who asks.
    pub fn vouch(&self) {
        self.outlet.is_vouched_for.store(true, Ordering::Relaxed);
    }

    /// Tells the owner that the answer is out whole. Says whether that was all the owner wants to hear.
    fn is_enough(&self) -> bool {
        self.outlet.state.load(Ordering::Acquire) == self.claimed
            && self.outlet.owner.as_ref().is_some_and(|owner| owner.answered())
    }
}

/// Sends a whole answer. What the client does not take at once goes to `back`, so that a slow client holds whoever reads
/// there, and not this thread. Without a claim, everything does.
pub fn put_out(claim: Option<Claim>, answer: &[u8], back: &mut dyn Write) -> io::Result<()> {
    let Some(claim) = claim else {
        back.write_all(answer)?;
        return back.flush();
    };
    let sent = claim.outlet.send_what_is_taken(answer);
    if sent.as_ref().is_ok_and(|sent| *sent == answer.len()) && claim.is_enough() {
        return Ok(());
    }
    // Of an answer to somebody who is gone nothing is left.
    let rest = sent.as_ref().map_or(&[][..], |sent| answer.get(*sent..).unwrap_or_default());
    give_word(rest.len(), back)?;
    for piece in rest.chunks(PROMPT_PIECE_BYTES) {
        thread::yield_now();
        back.write_all(piece)?;
    }
    back.flush()?;
    sent.map(|_| ())
}

/// Tells the owner of a claimed socket that the answer is out but for so many bytes, which follow.
fn give_word(rest: usize, back: &mut dyn Write) -> io::Result<()> {
    let mut word = WORD.to_vec();
    word.extend_from_slice(format!("Content-Length: {rest}\r\n\r\n").as_bytes());
    back.write_all(&word)
}

/// Tells whoever reads at `back` that an answer broke off: what follows is no head and no chunk, so that nobody takes the
/// part for the whole, and the connection is known to be of no further use.
pub fn give_up(back: &mut dyn Write) -> io::Result<()> {
    back.write_all(b"cut\r\n\r\n")?;
    back.flush()
}

/// Writes an answer of many pieces through a claim.
pub struct ClaimWriter {
    claim: Claim,
    back: Box<dyn Write + Send>,
    /// Small pieces that wait for a large one or a flush.
    held: Vec<u8>,
}

impl ClaimWriter {
    /// `back` is where the owner of the socket waits for word.
    pub fn new(claim: Claim, back: Box<dyn Write + Send>) -> Self {
        Self { claim, back, held: Vec::new() }
    }

    /// Says that the answer is out, whole or broken off.
    pub fn finish(mut self, whole: bool) -> io::Result<()> {
        let flushed = self.flush();
        if whole && flushed.is_ok() && self.claim.is_enough() {
            return Ok(());
        }
        // Where it was the client that failed, its owner sees that of the socket, and this side is sound.
        if (whole && flushed.is_ok()) || self.claim.outlet.broken().is_some() {
            give_word(0, self.back.as_mut())?;
        } else {
            give_up(self.back.as_mut())?;
        }
        self.back.flush()?;
        flushed
    }
}

impl Write for ClaimWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.len().saturating_add(bytes.len()) <= OUTLET_HELD_BYTES {
            self.held.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        if !self.held.is_empty() {
            self.claim.outlet.send_all(&self.held, true)?;
            self.held.clear();
        }
        self.claim.outlet.send_all(bytes, false)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let sent = self.claim.outlet.send_all(&self.held, false);
        self.held.clear();
        sent
    }
}

#[cfg(test)]
mod tests;
