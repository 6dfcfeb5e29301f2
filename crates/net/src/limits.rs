//! Bounds of the public socket (`net/`), and `NetLimits`, the part of them that settings change.
//!
//! Where a flag exists, the constant is its default; `docs/OPERATIONS.md` names the flags.

use std::time::Duration;

/// Connections that are open at one time; one more is answered 503. `--max-connections`.
pub const CONNECTIONS_MAX: usize = 16_384;
/// Connections of one client address (an IPv6 /64 counts as one); one more is answered 429.
/// `--max-connections-per-address`.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 4_096;
/// File descriptors kept back from connections, for datasets, books, private connections and refused connections that
/// linger.
pub const DESCRIPTORS_RESERVED: usize = 512;

/// Longest request line, so also the longest target.
pub const REQUEST_LINE_BYTES_MAX: usize = 64 * 1024;
/// All header lines of a request together.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;
/// Header lines of a request.
pub const HEADER_COUNT_MAX: usize = 100;
/// Highest value of
pub const HEADER_COUNT_CEILING: usize = 256;
/// Largest body of a request.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// From the first byte of a head to its last.
pub const HEAD_TIME: Duration = Duration::from_secs(10);
/// From the end of a head to the end of its body.
pub const BODY_TIME: Duration = Duration::from_secs(30);
/// Between two requests of a connection.
pub const IDLE_TIME: Duration = Duration::from_secs(60);
/// At the end, for a kept connection to bring one more request, which is answered with `Connection: close`.
pub const FAREWELL_TIME: Duration = Duration::from_secs(1);
/// For a client to accept one piece of a response. `--write-seconds`.
pub const WRITE_TIME: Duration = Duration::from_secs(30);
/// The piece of a response that a client has to accept within `WRITE_TIME`.
pub const WRITE_PIECE_BYTES: usize = 256 * 1024;
/// For a request to wait for a free worker. `--queue-wait-millis`.
pub const QUEUE_WAIT: Duration = Duration::from_secs(3);

/// First size of a connection's read buffer.
pub const INBOX_BYTES: usize = 4 * 1024;

/// Requests of one class that may wait for a worker; those of one client at most three quarters of them.
pub const QUEUE_LENGTH_MAX: usize = 4_096;
/// From the hand-over of a request until a worker claims it; afterwards the client gets an error.
pub const ANSWER_WAIT: Duration = Duration::from_secs(120);

/// Largest rest of a page that the event loop takes over from its worker.
pub const REMAINING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// All rests held by event loops; beyond it, clients have to read quickly.
pub const REMAINING_BYTES_HELD_MAX: usize = 256 * 1024 * 1024;
/// Bytes of a stream or download that its socket takes ahead of what it can send (`TCP_NOTSENT_LOWAT`, which a socket may
/// exceed by one segment). They are paid although the client has not got them.
pub const UNSENT_BYTES_MAX: u32 = 64 * 1024;
/// Small pieces of a response that are held back and sent with a larger one.
pub const SMALL_PIECES_BYTES_MAX: usize = 1024;

/// Limits of a listener: numbers, sizes and times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetLimits {
    /// Connections at one time.
    pub connections: usize,
    /// Connections of one address at one time; 0 lifts the limit.
    pub connections_per_address: usize,
    /// Sizes of heads.
    pub head: HeadLimits,
    pub body_bytes: usize,
    /// From the first byte of a head to its last.
    pub head_time: Duration,
    /// From the end of a head to the end of its body.
    pub body_time: Duration,
    /// Between requests.
    pub idle_time: Duration,
    /// For one piece of a response.
    pub write_time: Duration,
    /// For a worker.
    pub queue_wait: Duration,
    /// Requests of one class that may wait for a worker.
    pub queue_length: usize,
    /// From the hand-over of a request until a worker claims it.
    pub answer_wait: Duration,
}

/// Limits of a request head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes of the request line, without its end.
    pub request_line_bytes: usize,
    /// Bytes of all header lines with their ends.
    pub header_bytes: usize,
    /// Header lines; at most `HEADER_COUNT_CEILING`.
    pub header_count: usize,
}

impl Default for NetLimits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS_MAX,
            connections_per_address: CONNECTIONS_PER_ADDRESS_MAX,
            head: HeadLimits {
                request_line_bytes: REQUEST_LINE_BYTES_MAX,
                header_bytes: HEADER_BYTES_MAX,
                header_count: HEADER_COUNT_MAX,
            },
            body_bytes: BODY_BYTES_MAX,
            head_time: HEAD_TIME,
            body_time: BODY_TIME,
            idle_time: IDLE_TIME,
            write_time: WRITE_TIME,
            queue_wait: QUEUE_WAIT,
            queue_length: QUEUE_LENGTH_MAX,
            answer_wait: ANSWER_WAIT,
        }
    }
}
