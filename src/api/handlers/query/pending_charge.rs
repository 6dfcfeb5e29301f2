//! A charge for a response that is not rendered yet.
//!
//! If the response fails, even by a panic, the credits are refunded.

use crate::api::books_errors::from_books;
use std::sync::Arc;

use mercato_base::clock::Moment;
use mercato_ledger::{ChargeError, ChargeRequest, Durable, Ledger, Pending, Receipt};
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

    /// Gives the credits back at once. Refused where nothing could be charged, which books on a database decide only now.
    pub fn give_back(mut self) -> Result<(), ApiError> {
        self.refund().map_err(from_books)
    }

    fn refund(&mut self) -> Result<(), ChargeError> {
        let Some(receipt) = self.receipt.take() else { return Ok(()) };
        self.ledger.refund(receipt.durable()?, self.at)?.durable()
    }
}

impl Drop for PendingCharge {
    fn drop(&mut self) {
        if let Err(error) = self.refund() {
            tracing::error!(%error, "the charge of a failed answer is not refunded");
        }
    }
}
