//! The form of a response on the wire: head, framing, coding, ranges, validators.

pub mod buffer;
pub mod coding;
pub mod conditional;
pub mod connection;
pub mod negotiation;
pub mod range;
pub mod stream_body;
pub mod wire;
