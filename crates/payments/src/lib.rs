//! Payments: a provider takes the money, and the books give the credits.
//!
//! ```text
//! a form       opens a checkout in the books, and a page of the provider on which it is paid
//! a webhook    reports payments, refunds and disputes    ─┐
//! a pass       lists the same at the provider, hourly    ─┴► `News` ──► the books, which take each once
//! ```
//!
//! [`Provider`] is all that a provider has to know. Does not depend on pages, routes or status codes.

mod demo;
mod news;
mod provider;
mod reconciliation;
mod stripe;

use std::sync::Arc;

use parking_lot::Mutex;

pub use news::{Applied, News};
pub use provider::{CheckoutPage, Listing, NewsPage, NotificationError, Provider, ProviderError};
pub use reconciliation::{Found, ReconcileError, Reconciler, Reconciliation, Unexplained};
pub use stripe::{Secret, SecretError, Stripe};

use demo::Demo;

/// The way in which customers pay, if there is one.
#[derive(Default)]
pub struct Payments {
    provider: Option<Arc<dyn Provider>>,
    /// Held during a comparison with the provider.
    comparing: Mutex<()>,
}

impl Payments {
    /// Customers cannot pay here; the operator enters purchases by hand.
    pub fn none() -> Payments {
        Payments::default()
    }

    /// A click pays, and no money moves.
    pub fn demo() -> Payments {
        Payments::over(Arc::new(Demo))
    }

    pub fn over(provider: Arc<dyn Provider>) -> Payments {
        Payments { provider: Some(provider), comparing: Mutex::default() }
    }

    pub fn provider(&self) -> Option<&dyn Provider> {
        self.provider.as_deref()
    }
}
