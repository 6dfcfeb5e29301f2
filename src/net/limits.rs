//! The bounds of one listener, as settings give them.

use std::time::Duration;

use super::head::HeadLimits;
use crate::limits::net as defaults;

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
    /// For one piece of an answer.
    pub write_time: Duration,
    /// For a worker.
    pub queue_wait: Duration,
    /// Requests of one class that may wait for a worker.
    pub queue_length: usize,
    /// From the hand-over of a request until a worker takes it up.
    pub answer_wait: Duration,
}

impl Default for NetLimits {
    fn default() -> Self {
        Self {
            connections: defaults::CONNECTIONS_MAX,
            connections_per_address: defaults::CONNECTIONS_PER_ADDRESS_MAX,
            head: HeadLimits {
                request_line_bytes: defaults::REQUEST_LINE_BYTES_MAX,
                header_bytes: defaults::HEADER_BYTES_MAX,
                header_count: defaults::HEADER_COUNT_MAX,
            },
            body_bytes: defaults::BODY_BYTES_MAX,
            head_time: defaults::HEAD_TIME,
            body_time: defaults::BODY_TIME,
            idle_time: defaults::IDLE_TIME,
            write_time: defaults::WRITE_TIME,
            queue_wait: defaults::QUEUE_WAIT,
            queue_length: defaults::QUEUE_LENGTH_MAX,
            answer_wait: defaults::ANSWER_WAIT,
        }
    }
}
