//! Reasons to refuse a request or a connection before a worker sees it. `http` words them for clients.

use crate::parse::chunks::ChunkError;
use crate::parse::head::HeadError;

/// A request or connection that goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The head cannot be used.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The chunked coding of the body cannot be read.
    #[error(transparent)]
    Body(#[from] ChunkError),
    /// The body is above its limit.
    #[error("the body is larger than {limit} bytes")]
    BodyTooLarge { limit: usize },
    /// Bodies of other requests fill the memory that is set aside for them.
    #[error("too many large bodies are on their way")]
    BodiesFull,
    /// The head did not come in time.
    #[error("the head of the request did not come in time")]
    HeadTimeout,
    /// The body did not come in time.
    #[error("the body of the request did not come in time")]
    BodyTimeout,
    /// No worker became free in time, or too many wait already.
    #[error("all workers are busy")]
    Busy,
    /// No worker responded.
    #[error("the request was not answered")]
    NoAnswer,
    /// As many connections as may be are open.
    #[error("too many connections are open")]
    ConnectionsFull,
    /// As many connections of this address as may be are open.
    #[error("too many connections of one address are open")]
    AddressFull,
}

impl Refusal {
    /// The name under which it is counted.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Head(HeadError::RequestLineTooLong { .. }) => "request_line_too_long",
            Self::Head(HeadError::HeaderTooLarge { .. } | HeadError::TooManyHeaders { .. }) => {
                "header_too_large"
            }
            Self::Head(HeadError::LengthTooLarge) | Self::BodyTooLarge { .. } => "body_too_large",
            Self::Head(_) | Self::Body(_) => "malformed",
            Self::BodiesFull => "bodies_full",
            Self::HeadTimeout => "head_timeout",
            Self::BodyTimeout => "body_timeout",
            Self::Busy => "busy",
            Self::NoAnswer => "no_answer",
            Self::ConnectionsFull => "connections_full",
            Self::AddressFull => "address_full",
        }
    }

    pub(super) const LABELS: [&'static str; 11] = [
        "request_line_too_long",
        "header_too_large",
        "body_too_large",
        "malformed",
        "bodies_full",
        "head_timeout",
        "body_timeout",
        "busy",
        "no_answer",
        "connections_full",
        "address_full",
    ];
}
