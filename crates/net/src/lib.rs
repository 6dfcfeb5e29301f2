//! HTTP/1.1 in front of the workers: an event loop parses requests, queues them fairly, and hands them to tiny_http.
//!
//! Bounds everything that a client can send, hold open or leave unread. Workers respond through the client's own
//! socket. Does not depend on routes, accounts or status codes.

mod body_memory;
mod budget;
mod class;
mod connection;
mod counters;
mod event_loop;
mod fair_queue;
pub mod limits;
mod parse;
mod refusal;
mod server;
mod workers;

pub use crate::limits::{HeadLimits, NetLimits};
pub use body_memory::BodyMemory;
pub use connection::listener::ListenAddress;
pub use fair_queue::Client;
pub use parse::chunks::{ChunkError, Chunks};
pub use parse::fields::{BodyFraming, Fields};
pub use parse::head::{Head, HeadError};
pub use parse::request_head::RequestHead;
pub use parse::request_parser::{Classified, Note, Phase, Request, RequestBody, RequestParser, Step};
pub use refusal::Refusal;
pub use server::{Bound, ClassPlan, CountedAs, NetParts, NetServer, raise_descriptor_limit};
pub use workers::presence::{ClientWatch, Presence};
pub use workers::private::PrivateAddress;
pub use workers::response_socket::{ResponseSocket, ResponseWriter};
pub use workers::slots::{Assignment, RequestFacts, Slots};
