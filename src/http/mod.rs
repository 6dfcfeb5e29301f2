//! HTTP: the only folder that names tiny_http and status codes.
//!
//! Turns requests into calls of the layers below and their results into answers. Knows nothing of the public socket:
//! whoever stands in front may own it.

mod admin_token;
mod app;
mod books_errors;
mod buffer;
mod conditional;
pub mod errors;
pub mod handlers;
pub mod incoming;
mod listener;
mod metrics;
mod negotiation;
pub mod parameters;
mod queue;
pub mod response;
pub mod router;
mod routes;
mod server;
mod service;
mod slots;
pub mod stream_body;
mod surface;
mod target;
mod wire;

pub use admin_token::AdminToken;
pub use app::App;
pub use listener::ListenAddress;
pub use metrics::Metrics;
pub use routes::{admin_service, public_service};
pub use server::Server;
pub use service::Service;
pub use slots::Slots;
