//! A charge that was submitted for an answer which is not finished yet.
//!
//! If the answer fails on the way, also by a panic, the credits come back.

use std::sync::Arc;

use crate::clock::Moment;
use crate::http::errors::ApiError;
use crate::ledger::{ChargeOrder, Ledger, Receipt, Ticket};

/// Refunds when it is dropped before [`PendingCharge::complete`].
pub(super) struct PendingCharge {
    ledger: Arc<Ledger>,
    ticket: Option<Ticket<Receipt>>,
    at: Moment,
}

impl PendingCharge {
    /// Submits the charge; it becomes durable while the answer is rendered.
    pub(super) fn submit(ledger: &Arc<Ledger>, order: ChargeOrder) -> Result<Self, ApiError> {
        let at = order.at;
        let ticket = ledger.submit_charge(order)?;
        Ok(Self { ledger: Arc::clone(ledger), ticket: Some(ticket), at })
    }

    /// Waits until the charge is on record.
    pub(super) fn complete(mut self) -> Result<Receipt, ApiError> {
        match self.ticket.take() {
            Some(ticket) => Ok(ticket.wait()?),
            None => Err(ApiError::internal("a charge was completed twice")),
        }
    }
}

impl Drop for PendingCharge {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        let refunded = ticket.wait().and_then(|receipt| self.ledger.submit_refund(receipt, self.at)?.wait());
        if let Err(error) = refunded {
            tracing::error!(%error, "the charge of a failed answer is not refunded");
        }
    }
}
