//! The HTTP client of the load generator: connections, responses, and the threads that send requests when they are due.

pub(super) mod connection;
pub(super) mod poller;
pub(super) mod response;
pub(super) mod response_head;
pub(super) mod schedule;
pub mod target;
pub(super) mod worker;
