//! HTTP: the only folder that names tiny_http and status codes.
//!
//! Turns requests into calls of the layers below and their results into answers. Knows nothing of connections:
//! `net` owns the public socket and lends it for one answer.

mod admin_token;
mod app;
mod books_errors;
mod buffer;
mod classes;
mod coding;
mod conditional;
mod delivery;
mod documents;
pub mod errors;
mod exports;
mod exposition;
mod graph_cache;
pub mod handlers;
pub mod incoming;
mod metrics;
mod negotiation;
mod openapi;
pub mod parameters;
mod prepared;
mod public_url;
mod range;
mod request_id;
pub mod response;
pub mod router;
mod routes;
mod server;
mod service;
pub mod stream_body;
mod surface;
pub mod target;
mod wire;

pub use admin_token::AdminToken;
pub use app::App;
pub use classes::{Work, work_of};
pub use documents::Documents;
pub use exports::Exports;
pub use graph_cache::GraphCache;
pub use handlers::percent::percent_encode;
pub use metrics::Metrics;
pub use public_url::{PublicUrl, PublicUrlError};
pub use routes::{admin_service, public_service};
pub use server::Workers;
pub use service::Service;
