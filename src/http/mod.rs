//! HTTP requests and responses: the only folder that names tiny_http and status codes.
//!
//! Turns requests into calls of the layers below and their results into responses. `net` owns the connections and
//! lends a socket for one response.

mod admin_token;
mod app;
mod books_errors;
mod content;
pub mod errors;
mod framing;
pub mod handlers;
pub mod incoming;
mod listener_kind;
mod metrics;
mod openapi;
mod request_id;
pub mod response;
pub mod routing;
mod server;
mod service;

pub use admin_token::AdminToken;
pub use app::App;
pub use content::documents::Documents;
pub use content::exports::Exports;
pub use content::graph_cache::GraphCache;
pub use content::percent::percent_encode;
pub use content::public_url::{PublicUrl, PublicUrlError};
pub use metrics::Metrics;
pub use routing::classes::{Work, work_of};
pub use routing::routes::{admin_service, public_service};
pub use server::Workers;
pub use service::Service;
