//! The application state that every handler can reach.
//!
//! Holds the parts together and does nothing itself.

use std::sync::Arc;

use super::admin_token::AdminToken;
use super::content::documents::Documents;
use super::content::exports::Exports;
use super::content::graph_cache::GraphCache;
use super::metrics::Metrics;
use crate::access::{AccessControl, InFlight, TrustedProxies};
use crate::branding::Branding;
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::ledger::Ledger;
use crate::render::ParallelEncoder;
use crate::search::Search;
use crate::selections::SelectionCache;

/// The parts of a running server.
pub struct App {
    /// What is published.
    pub catalog: Arc<Catalog>,
    /// Questions about what is published.
    pub search: Arc<Search>,
    /// Accounts and credits.
    pub ledger: Arc<Ledger>,
    /// Keys and request limits.
    pub access: Arc<AccessControl>,
    /// What runs for each key.
    pub in_flight: Arc<InFlight>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Credits below which answers warn that those of a prepaid account run out, 0 for never.
    pub low_balance_credits: u64,
    /// Results of filters that were computed before.
    pub selections: Arc<SelectionCache>,
    /// Counters for the operator.
    pub metrics: Metrics,
    /// Whose word about client addresses counts.
    pub trusted_proxies: TrustedProxies,
    /// What the server says about itself.
    pub documents: Documents,
    /// What the operator must present.
    pub admin_token: AdminToken,
    /// The drawn relations of the last state that was asked for.
    pub graph: GraphCache,
    /// Prints rows ahead of connections.
    pub encoder: Arc<ParallelEncoder>,
    /// Lengths of downloads.
    pub exports: Arc<Exports>,
    /// How the place presents itself to people.
    pub branding: Arc<Branding>,
}
