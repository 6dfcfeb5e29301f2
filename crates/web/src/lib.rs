//! HTTP between the socket and the handlers: requests, responses, framing, negotiation, routes, workers.
//!
//! Knows no route, no account and no dataset: a server brings its table of routes and what it knows of a caller. Only this
//! crate names tiny_http, and statuses meet their codes in `errors.rs`. Begin at [`Application`], which a server implements;
//! [`Pipeline`] runs the steps of a request around it, and [`Router`] finds the row of a path.

mod errors;
mod form_body;
mod framing;
mod incoming;
mod method;
mod own_host;
mod parameters;
mod percent;
mod pipeline;
mod random;
mod request_id;
mod response;
mod router;
mod target;
mod workers;

pub use errors::{ApiError, Details, ErrorKind, FAULT_COUNT_MAX, ValidationErrorBody, reason_phrase};
pub use framing::buffer::ResponseBuffer;
pub use framing::coding;
pub use framing::conditional::{Conditions, Validators, Verdict, not_expected, refuse_tags};
pub use framing::negotiation::choose;
pub use framing::range;
pub use framing::stream_body::{ChunkSink, Framing, StreamBody, StreamEnd, push_field};
pub use framing::wire::{Common, OwnHeaders, Sent, standalone_envelope};
pub use incoming::{Incoming, validation_error};
pub use method::Method;
pub use own_host::{address_of, host_of, is_loopback};
pub use parameters::{Parameters, nearest};
pub use percent::percent_encode;
pub use pipeline::{Application, Arrival, Pipeline, Report};
pub use random::random_bytes;
pub use request_id::RequestId;
pub use response::{Durable, Response};
pub use router::{Match, Router, method_not_allowed};
pub use target::{Target, TargetError};
pub use workers::Workers;
