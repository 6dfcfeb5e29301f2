//! Parsing: from the bytes of a connection to whole requests in canonical form.
//!
//! Pure state machines without sockets and clocks.

pub(super) mod buffers;
pub(super) mod chunks;
pub(super) mod fields;
pub(super) mod head;
pub(super) mod request_head;
pub(super) mod request_parser;
