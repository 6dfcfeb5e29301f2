//! Payments in histories that a loss of power ends: every step is acknowledged.

use super::*;
use crate::{
    AccountId, BeginCheckout, Checkout, Entry, EntryKind, PaidCheckout, PayCheckout, PaymentId, Price,
    ReversalEvent, ReversePayment, Reversed,
};

/// An acknowledged payment.
pub struct Bought {
    checkout: Checkout,
    is_refunded: bool,
}

impl Bought {
    /// Asks, pays, and gives half of the price back.
    pub fn pay(ledger: &Ledger, account: AccountId, credits: u64, is_refunded: bool) -> Bought {
        let price = Price::with_vat(100, 0).unwrap();
        let provider = "stripe".to_owned();
        let new = BeginCheckout { account, provider, credits, price, random: [1; 16], at: noon() };
        let checkout = ledger.commit(&new);
        // Too many wait never: each is paid at once.
        let bought = Bought { checkout: checkout.unwrap(), is_refunded };
        let granted = PaidCheckout::Granted { account, credits };
        assert_eq!(ledger.commit(&bought.payment()), Ok(granted));
        if is_refunded {
            assert!(matches!(ledger.commit(&bought.refund()), Ok(Reversed::Settled { .. })));
        }
        bought
    }

    fn payment(&self) -> PayCheckout {
        PayCheckout {
            checkout: self.checkout.id,
            payment: self.payment_id(),
            account: self.checkout.account,
            credits: self.checkout.credits,
            gross: 100,
            currency: "EUR".to_owned(),
            at: noon(),
        }
    }

    fn payment_id(&self) -> PaymentId {
        PaymentId { provider: "stripe".to_owned(), id: format!("pi_{}", self.checkout.id.number()) }
    }

    fn refund(&self) -> ReversePayment {
        ReversePayment {
            payment: self.payment_id(),
            event: ReversalEvent::Refunded { total: 50 },
            at: noon(),
        }
    }

    /// It gave once, and telling it again changes nothing.
    pub fn check(&self, ledger: &Ledger, entries: &[Entry]) {
        let id = self.payment_id().id;
        let of_kind = |kind| {
            let meant = entries.iter().filter(|entry| entry.request_id == id && entry.kind == kind);
            meant.map(|entry| entry.amount).collect::<Vec<_>>()
        };
        assert_eq!(of_kind(EntryKind::Purchase), [self.checkout.credits as i64], "{id} was acknowledged");
        assert_eq!(of_kind(EntryKind::TakeBack).len(), usize::from(self.is_refunded), "{id}");
        assert_eq!(ledger.commit(&self.payment()), Ok(PaidCheckout::Replayed));
        if self.is_refunded {
            assert_eq!(ledger.commit(&self.refund()), Ok(Reversed::Unchanged));
        }
    }
}
