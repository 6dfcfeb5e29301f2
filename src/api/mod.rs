//! The API: its routes and handlers, who may ask, and metrics.
//!
//! Turns requests into calls of the layers below and their results into responses. `mercato_web` speaks HTTP.
//! Pages for people come from above, as [`Pages`].

mod admin_token;
mod app;
mod books_errors;
mod content;
mod context;
mod credits;
pub mod handlers;
mod listener_kind;
mod metrics;
mod openapi;
mod operator_sessions;
mod presented_key;
mod processor_limit;
pub mod route;
mod routes;
mod service;

pub use admin_token::AdminToken;
pub use app::App;
pub use books_errors::from_books;
pub use content::documents::Documents;
pub use content::exports::Exports;
pub use content::graph_cache::{GraphCache, GraphEdge, GraphEdges};
pub use content::prepared::Prepared;
pub use content::public_url::{PublicUrl, PublicUrlError};
pub use context::{Incoming, RequestContext};
pub use credits::{Charged, with_credits};
pub use handlers::catalog::dataset_answer::{
    damaged as withdraw_damaged, find as find_dataset, verified as refuse_unverified,
};
pub use handlers::catalog::graph::edges::RelationGraph;
pub use handlers::catalog::related::listed_datasets;
pub use handlers::catalog::sample::spaced_rows;
pub use handlers::catalog::schema::examples;
pub use handlers::catalog::text_page::harmless as harmless_markdown;
pub use handlers::discovery::croissant::document as croissant;
pub use handlers::discovery::unknown_path;
pub use handlers::operator::admin::command_context;
pub use handlers::query::checked_query::viewed;
pub use handlers::query::page_answer::render as render_page;
pub use handlers::query::sale::{Buyer, Sold, sell_page};
pub use handlers::streams::stream::stream_rows;
pub use listener_kind::AdminHosts;
pub use metrics::{HistorySample, Metrics, Totals};
pub use processor_limit::{ProcessorLimit, QUERY_TOO_EXPENSIVE};
pub use route::{RefusalPage, Work};
pub use routes::{Pages, admin_service, metrics_service, public_service};
pub use service::{Service, hold_for_account};
