//! The application state that every handler can reach.
//!
//! Holds the parts together and does nothing itself.

use std::sync::Arc;
use std::time::Duration;

use super::admin_token::AdminToken;
use super::content::documents::Documents;
use super::content::exports::Exports;
use super::content::graph_cache::GraphCache;
use super::metrics::Metrics;
use crate::branding::Branding;
use crate::selections::SelectionCache;
use mercato_base::clock::Clock;
use mercato_catalog::Catalog;
use mercato_ledger::Ledger;
use mercato_payments::Payments;
use mercato_people::mail::Mailer;
use mercato_people::{AccessControl, InFlight, SignInControl, TrustedProxies};
use mercato_query::render::ParallelEncoder;
use mercato_search::Search;

/// The parts of a running server.
pub struct App {
    pub catalog: Arc<Catalog>,
    /// Search over the catalog.
    pub search: Arc<Search>,
    /// Accounts and credits.
    pub ledger: Arc<Ledger>,
    /// Keys and request limits.
    pub access: Arc<AccessControl>,
    /// Checks and counts sign-ins, sign-ups and mails.
    pub sign_ins: SignInControl,
    /// Sends mail to people, if the operator named a server of mail.
    pub mailer: Option<Mailer>,
    /// Whether people open accounts themselves.
    pub takes_sign_ups: bool,
    /// Requests and streams in progress, by key.
    pub in_flight: Arc<InFlight>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Balance of a prepaid account below which responses warn; 0 for never.
    pub low_balance_credits: u64,
    /// Processor time that one search may take; nothing where the operator lifted the limit.
    pub work_limit: Option<Duration>,
    /// Results of filters that were computed before.
    pub selections: Arc<SelectionCache>,
    /// Counters for the operator.
    pub metrics: Metrics,
    pub trusted_proxies: TrustedProxies,
    /// Documents about the server.
    pub documents: Documents,
    /// The operator's token.
    pub admin_token: AdminToken,
    /// The drawn relations of the last requested state.
    pub graph: GraphCache,
    /// Prints rows ahead of connections.
    pub encoder: Arc<ParallelEncoder>,
    /// Lengths of downloads.
    pub exports: Arc<Exports>,
    /// How customers pay.
    pub payments: Arc<Payments>,
    /// How the place presents itself to people.
    pub branding: Arc<Branding>,
}
