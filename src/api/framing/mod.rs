//! The form of a response on the wire: head, framing, coding, ranges, validators.

pub(super) mod buffer;
pub(super) mod coding;
pub(super) mod conditional;
pub(super) mod connection;
pub(super) mod negotiation;
pub(super) mod range;
pub mod stream_body;
pub(super) mod wire;
