//! A charge for a response that is not rendered yet.
//!
//! If the response fails, even by a panic, the credits are refunded.

use crate::api::books_errors::from_books;
use std::sync::Arc;

use mercato_base::clock::Moment;
use mercato_ledger::{ChargeRequest, Durable, Ledger, Pending, Receipt};
use mercato_web::ApiError;

/// Refunds when it is dropped before [`PendingCharge::complete`].
pub struct PendingCharge {
    ledger: Arc<Ledger>,
    receipt: Option<Pending<Receipt>>,
    at: Moment,
}

impl PendingCharge {
    /// Charges. The charge becomes durable while the response is rendered, or in `complete`.
    pub fn submit(ledger: &Arc<Ledger>, charge: &ChargeRequest) -> Result<Self, ApiError> {
        let receipt = Some(ledger.charge(charge).map_err(from_books)?);
        Ok(Self { ledger: Arc::clone(ledger), receipt, at: charge.at })
    }

    /// The receipt, and the wait until the charge is durable, before which nothing may be sent.
    pub fn complete(mut self) -> Result<(Receipt, Durable), ApiError> {
        match self.receipt.take() {
            Some(receipt) => Ok(receipt.split().map_err(from_books)?),
            None => Err(ApiError::internal("a charge was completed twice")),
        }
    }
}

impl Drop for PendingCharge {
    fn drop(&mut self) {
        let Some(receipt) = self.receipt.take() else { return };
        let refund = |receipt: Receipt| self.ledger.refund(receipt, self.at).and_then(Pending::durable);
        if let Err(error) = receipt.durable().and_then(refund) {
            tracing::error!(%error, "the charge of a failed answer is not refunded");
        }
    }
}
