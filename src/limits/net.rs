//! Bounds of the public socket (`net/`), and those of them that settings change as one value (`NetLimits`).
//!
//! Where a flag exists, the constant is its default; `docs/OPERATIONS.md` names the flags.

use std::time::Duration;

/// Connections that are open at one time; one more is answered 503. `--max-connections`.
pub const CONNECTIONS_MAX: usize = 16_384;
/// Connections of one client address (an IPv6 /64 counts as one); one more is answered 429.
/// `--max-connections-per-address`.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = 4_096;
/// File descriptors that connections never take, so that datasets, books and private connections can be opened; refused
/// connections that linger use some of them.
pub const DESCRIPTORS_RESERVED: usize = 512;
/// Connections that may wait to be accepted.
pub const LISTEN_BACKLOG: i32 = 4_096;
/// How long a peer may leave sent bytes unacknowledged.
pub const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);
/// Idle time before the kernel probes a connection.
pub const TCP_KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
/// Connections at one time that were refused and linger until their clients have read why. Those beyond are closed at once.
pub const REFUSED_CONNECTIONS_MAX: usize = 128;
/// Pause after `accept` failed, for instance because descriptors ran out.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Longest request line, so also the longest target. `--max-request-line-bytes`.
pub const REQUEST_LINE_BYTES_MAX: usize = 64 * 1024;
/// All header lines of a request together. `--max-header-bytes`.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;
/// Header lines of a request. `--max-headers`.
pub const HEADER_COUNT_MAX: usize = 100;
/// What `--max-headers` can be set to at most.
pub const HEADER_COUNT_CEILING: usize = 256;
/// Empty lines before a request that are overlooked.
pub const EMPTY_LINES_MAX: usize = 4;
/// Largest body of a request. `--max-body-bytes`.
pub const BODY_BYTES_MAX: usize = super::http::BODY_SIZE_BYTES_MAX;
/// Digits of a `Content-Length` that are read; more are a body above every limit.
pub const LENGTH_DIGITS_MAX: usize = 15;
/// One line of chunked coding, with its extensions.
pub const CHUNK_LINE_BYTES_MAX: usize = 256;
/// Trailer fields after a chunked body, all together.
pub const TRAILER_BYTES_MAX: usize = 8 * 1024;
/// Bodies above `BODY_BYTES_FREE` that are held at one time, over all connections.
pub const BODY_BYTES_HELD_MAX: usize = 256 * 1024 * 1024;
/// What each connection may hold of a body without asking.
pub const BODY_BYTES_FREE: usize = 16 * 1024;

/// From the first byte of a head to its last. `--head-seconds`.
pub const HEAD_TIME: Duration = Duration::from_secs(10);
/// From the end of a head to the end of its body. `--body-seconds`.
pub const BODY_TIME: Duration = Duration::from_secs(30);
/// How long a connection may stay open between requests. `--idle-seconds`.
pub const IDLE_TIME: Duration = Duration::from_secs(60);
/// How long a client may take to accept one piece of an answer. `--write-seconds`.
pub const WRITE_TIME: Duration = Duration::from_secs(30);
/// The piece of an answer that has to be accepted within `WRITE_TIME`.
pub const WRITE_PIECE_BYTES: usize = 256 * 1024;
/// How long a request waits for a free worker. `--queue-wait-millis`.
pub const QUEUE_WAIT: Duration = Duration::from_secs(3);
/// After a refusal: how long, and how many bytes, the rest of the request is read and dropped, so that the client
/// sees the answer and not a reset.
pub const LINGER_TIME: Duration = Duration::from_secs(2);
/// The bytes of that.
pub const LINGER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// First size of the buffer that a connection reads into.
pub const INBOX_BYTES: usize = 4 * 1024;
/// What is read of a body at a time.
pub const BODY_READ_BYTES: usize = 64 * 1024;
/// How long a client may take to accept one piece of a page that is not held, because too much is held already.
pub const HURRIED_WRITE_TIME: Duration = Duration::from_millis(250);

/// Responses of one class that wait for their charge to become durable while their workers go on. They are rendered, so this
/// bounds their memory.
pub const DEFERRED_RESPONSES_MAX: usize = 48;

/// Workers that answer only health, readiness and metrics.
pub const VITAL_WORKER_COUNT: usize = 2;
/// Pause before the private connection is opened anew.
pub const REOPEN_PAUSE: Duration = Duration::from_millis(100);

/// What all headers of the private wire begin with.
pub const PRIVATE_PREFIX: &str = "x-edge-";
/// Header of the private wire: the slot in which the socket of the client lies. No client can set it.
pub const SLOT_HEADER: &str = "X-Edge-Slot";

/// Requests of one class that may wait for a worker; those of one client at most three quarters of them.
/// `--queue-length`.
pub const QUEUE_LENGTH_MAX: usize = 4_096;
/// From the hand-over of a request until a worker takes it up; above it the client is told that nobody did.
pub const ANSWER_WAIT: Duration = Duration::from_secs(120);

/// Events that one iteration of the event loop takes.
pub const EVENTS_PER_ITERATION: usize = 1024;
/// Connections that one iteration accepts.
pub const ACCEPTS_PER_ITERATION: usize = 64;
/// Steps (a read, a write, a request) that one connection makes in one iteration.
pub const PUMP_STEPS_MAX: usize = 8;
/// How long the event loop sleeps at most while requests are in service: workers wake it only for what it waits for.
pub const COMPLETIONS_PAUSE: Duration = Duration::from_secs(1);
/// What is read at a time of what is dropped.
pub const LINGER_READ_BYTES: usize = 64 * 1024;
/// Orders to stop that may wait for the event loop.
pub const STOPS_MAX: usize = 16;

/// The rest of a page up to this size is taken from its worker, however slowly the client reads.
pub const REMAINING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// All rests that are held so; beyond it a client has to read quickly (`HURRIED_WRITE_TIME`).
pub const REMAINING_BYTES_HELD_MAX: usize = 256 * 1024 * 1024;
/// Small pieces of an answer that wait for a large one.
pub const SMALL_PIECES_BYTES_MAX: usize = 1024;

/// What a listener lets in, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetLimits {
    /// Connections at one time.
    pub connections: usize,
    /// Connections of one address at one time; 0 lifts the limit.
    pub connections_per_address: usize,
    /// Sizes of heads.
    pub head: HeadLimits,
    /// Bytes of a body.
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
    /// From the hand-over of a request until a worker takes it up.
    pub answer_wait: Duration,
}

/// How large a head may be.
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
