//! The record of a payment beside its amount: its checkout, its refunds and its disputes.
//!
//! Providers report these in any order and more than once, also before the payment itself. The record keeps sums and final
//! outcomes, so the order of reports does not matter:
//!
//! ```text
//! refunded     the largest reported total
//! a dispute    open ──► lost ──► won    never backwards: a lost dispute can still be won on appeal, and a late opening
//!                                      changes nothing
//! ```
//!
//! Does not depend on credits.

use serde::{Deserialize, Serialize};

use crate::codec::Record;
use crate::limits::DISPUTES_PER_PAYMENT_MAX;

/// A change of a payment that a provider reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReversalEvent {
    /// So much of it went back to the customer, all refunds together, in cents.
    Refunded {
        /// The sum of all refunds.
        total: u64,
    },
    /// The customer's bank asks so much of it back.
    Disputed {
        /// The provider's id of the dispute.
        dispute: String,
        /// How much, in cents.
        amount: u64,
    },
    /// A dispute is over.
    DisputeClosed {
        /// The provider's id of the dispute.
        dispute: String,
        /// How much, in cents.
        amount: u64,
        /// Whether the money stays here.
        is_won: bool,
    },
}

/// The record of a payment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Reversal {
    /// The number of the checkout that it paid, once that is known.
    pub checkout: Option<u64>,
    pub refunded: u64,
    pub disputes: Vec<Dispute>,
}

/// A dispute of a payment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dispute {
    pub id: String,
    pub amount: u64,
    pub outcome: Option<DisputeOutcome>,
}

/// How a dispute ended. New outcomes go to the end: a record holds the place of its outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum DisputeOutcome {
    Lost,
    Won,
}

impl Reversal {
    /// Applies a report. Returns whether the record changed; `None` where there is no room for a further dispute.
    pub fn apply(&mut self, event: &ReversalEvent) -> Option<bool> {
        match event {
            ReversalEvent::Refunded { total } => {
                let is_news = *total > self.refunded;
                self.refunded = self.refunded.max(*total);
                Some(is_news)
            }
            ReversalEvent::Disputed { dispute, amount } => self.apply_dispute(dispute, *amount, None),
            ReversalEvent::DisputeClosed { dispute, amount, is_won } => {
                let outcome = if *is_won { DisputeOutcome::Won } else { DisputeOutcome::Lost };
                self.apply_dispute(dispute, *amount, Some(outcome))
            }
        }
    }

    fn apply_dispute(&mut self, id: &str, amount: u64, outcome: Option<DisputeOutcome>) -> Option<bool> {
        if let Some(known) = self.disputes.iter_mut().find(|known| known.id == id) {
            let is_news = outcome > known.outcome;
            known.outcome = known.outcome.max(outcome);
            return Some(is_news);
        }
        if self.disputes.len() >= DISPUTES_PER_PAYMENT_MAX {
            return None;
        }
        self.disputes.push(Dispute { id: id.to_owned(), amount, outcome });
        Some(true)
    }

    /// Cents that disputes hold or have taken.
    pub fn disputed(&self) -> u64 {
        let held = self.disputes.iter().filter(|dispute| dispute.outcome != Some(DisputeOutcome::Won));
        held.fold(0, |sum, dispute| sum.saturating_add(dispute.amount))
    }
}

impl Record for Reversal {
    const NAME: &'static str = "reversal of a payment";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(id: &str) -> ReversalEvent {
        ReversalEvent::Disputed { dispute: id.to_owned(), amount: 10 }
    }

    fn closed(id: &str, is_won: bool) -> ReversalEvent {
        ReversalEvent::DisputeClosed { dispute: id.to_owned(), amount: 10, is_won }
    }

    fn applied(events: &[ReversalEvent]) -> (u64, u64, Vec<bool>) {
        let mut reversal = Reversal::default();
        let news = events.iter().map(|event| reversal.apply(event).unwrap()).collect();
        (reversal.refunded, reversal.disputed(), news)
    }

    #[test]
    fn ignores_order_and_repetition() {
        let refunded = |total| ReversalEvent::Refunded { total };
        assert_eq!(applied(&[refunded(5), refunded(3), refunded(5), refunded(7)]).0, 7);
        assert_eq!(applied(&[opened("a"), opened("a"), opened("b")]), (0, 20, vec![true, false, true]));
        assert_eq!(applied(&[opened("a"), closed("a", true)]).1, 0);
        assert_eq!(applied(&[closed("a", true), opened("a")]), (0, 0, vec![true, false]));
        assert_eq!(applied(&[closed("a", false), opened("a"), closed("a", false)]).1, 10);
        assert_eq!(applied(&[closed("a", true), closed("a", false)]), (0, 0, vec![true, false]));
        assert_eq!(applied(&[closed("a", false), closed("a", true)]), (0, 0, vec![true, true]));
    }

    #[test]
    fn bounds_disputes_of_payment() {
        let mut reversal = Reversal::default();
        for number in 0..DISPUTES_PER_PAYMENT_MAX {
            assert_eq!(reversal.apply(&opened(&number.to_string())), Some(true));
        }
        assert_eq!(reversal.apply(&opened("more")), None);
        assert_eq!(reversal.apply(&closed("0", true)), Some(true));
    }
}
