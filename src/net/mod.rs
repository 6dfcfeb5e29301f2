//! HTTP/1.1 in front of the workers: an event loop parses requests, queues them fairly, and hands them to tiny_http.
//!
//! Bounds everything that a stranger can send, hold open or leave unread. Workers respond through the client's own socket.
//! Knows no route, no account and no status code.

mod accept;
mod acknowledged;
mod addresses;
mod budget;
mod buffers;
mod chunks;
mod connection;
mod connections;
mod counters;
mod deadlines;
mod event_loop;
mod fair_queue;
mod fields;
mod forward;
mod head;
mod lane;
mod listener;
mod private;
mod refusal;
mod request_parser;
mod response_socket;
mod server;
mod slots;

pub use crate::limits::net::{HeadLimits, NetLimits};
pub use budget::Budget;
pub use chunks::{ChunkError, Chunks};
pub use fair_queue::Client;
pub use fields::{BodyFraming, Fields};
pub use head::{Head, HeadError};
pub use listener::ListenAddress;
pub use private::PrivateAddress;
pub use refusal::Refusal;
pub use request_parser::{Phase, Request, RequestBody, RequestParser, Step};
pub use response_socket::{ResponseSocket, ResponseWriter};
pub use server::{Bound, ClassPlan, CountedAs, NetParts, NetServer, raise_descriptor_limit};
pub use slots::{Assignment, RequestFacts, Slots};
