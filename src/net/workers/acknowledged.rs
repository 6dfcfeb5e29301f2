//! Acknowledged bytes of a response, as the kernel counts them (`TCP_INFO`).
//!
//! Known only for TCP on kernels that count them. Does not depend on rows or formats.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, libc, sockopt_impl};
use rustix::net::connect_unspec;
use socket2::Socket;

use crate::net::workers::slots::AbortReason;

/// First pause between two queries of the kernel; it doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// The longest one.
const PAUSE_MAX: Duration = Duration::from_millis(16);

// `struct tcp_info` of `linux/tcp.h` up to the last field that is read. Linux fills it since 4.6.
const STATE_AT: usize = 0;
const SEGMENT_BYTES_AT: usize = 16;
const SEGMENTS_IN_FLIGHT_AT: usize = 24;
const BYTES_ACKED_AT: usize = 120;
const BYTES_RECEIVED_AT: usize = 128;
const BYTES_NOT_SENT_AT: usize = 144;
const INFO_BYTES: usize = 148;

const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;

sockopt_impl!(TcpInfo, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, [u8; INFO_BYTES]);

/// The kernel's facts about a connection.
#[derive(Debug, Clone, Copy)]
struct Info {
    /// Bytes that were acknowledged since the connection was opened.
    acked: u64,
    /// Bytes that are written and not acknowledged, at most.
    outstanding_max: u64,
    /// Whether the client can still take bytes.
    is_open: bool,
}

impl Info {
    fn of(socket: &Socket) -> Option<Self> {
        let info = getsockopt(socket, TcpInfo).ok()?;
        let in_flight =
            u32_at(&info, SEGMENTS_IN_FLIGHT_AT)?.saturating_mul(u32_at(&info, SEGMENT_BYTES_AT)?);
        // A request has come, so a kernel that counts has counted it.
        (u64_at(&info, BYTES_RECEIVED_AT)? > 0).then_some(Self {
            acked: u64_at(&info, BYTES_ACKED_AT)?,
            outstanding_max: in_flight.saturating_add(u32_at(&info, BYTES_NOT_SENT_AT)?),
            is_open: matches!(info.get(STATE_AT).copied()?, ESTABLISHED | CLOSE_WAIT),
        })
    }
}

fn u32_at(info: &[u8], at: usize) -> Option<u64> {
    info.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes).into())
}

fn u64_at(info: &[u8], at: usize) -> Option<u64> {
    info.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// The acknowledged bytes of a connection at the start of a response.
#[derive(Debug)]
pub(in crate::net) struct Acknowledged {
    /// Bytes of the connection before the answer. Of an answer that follows another at once, a part of a segment more may be
    /// taken for these, never less. Nothing where the kernel does not count.
    before: Option<u64>,
}

impl Acknowledged {
    /// For a response of which nothing was sent yet.
    pub(in crate::net) fn begin(socket: &Socket) -> Self {
        let before = Info::of(socket).map(|info| info.acked.saturating_add(info.outstanding_max));
        Self { before }
    }

    /// Acknowledged bytes of the response; `None` if unknown.
    pub(in crate::net) fn bytes(&self, socket: &Socket) -> Option<u64> {
        let before = self.before?;
        Info::of(socket).map(|info| info.acked.saturating_sub(before))
    }

    /// Waits until so many bytes of the response are acknowledged.
    ///
    /// # Errors
    /// When the client has left, or has acknowledged nothing for `patience`.
    pub(in crate::net) fn wait(
        &self,
        socket: &Socket,
        bytes: u64,
        patience: Duration,
    ) -> Result<(), AbortReason> {
        let Some(before) = self.before else { return Ok(()) };
        let (mut pause, mut most, mut since) = (PAUSE_MIN, 0, Instant::now());
        loop {
            let Some(info) = Info::of(socket) else { return Ok(()) };
            let acked = info.acked.saturating_sub(before);
            if acked >= bytes {
                return Ok(());
            }
            if acked > most {
                (most, since) = (acked, Instant::now());
            }
            if !info.is_open {
                return Err(AbortReason::Gone);
            }
            if since.elapsed() >= patience {
                return Err(AbortReason::Stalled);
            }
            thread::sleep(pause);
            pause = pause.saturating_mul(2).min(PAUSE_MAX);
        }
    }
}

/// Resets a connection, which discards its unsent bytes.
pub(in crate::net) fn disconnect(socket: &Socket) {
    // If the first call fails, a linger time of zero resets the connection when the socket is closed.
    if connect_unspec(socket).is_err() {
        drop(socket.set_linger(Some(Duration::ZERO)));
    }
}
