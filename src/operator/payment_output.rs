//! The output of commands on payments.
//!
//! JSON views of results of the books and of comparisons with a provider.

use serde::Serialize;

use mercato_base::clock::Moment;
use mercato_ledger::Checkout;
use mercato_payments::{Found, Unexplained};

/// A page of payments.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Payments {
    /// The checkouts of customers, newest first.
    pub payments: Vec<PaymentLine>,
    /// The number before which the next page begins, if any.
    pub next_before: Option<u64>,
}

/// A checkout and its state.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentLine {
    /// The id.
    pub id: String,
    /// Its number, which the receipt names.
    pub number: u64,
    /// The customer's account.
    pub account: String,
    /// The payment provider.
    pub provider: String,
    /// `open`, `lapsed`, `cancelled`, `paid`, `partlyRefunded`, `refunded` or `disputed`.
    pub state: &'static str,
    /// The credits.
    pub credits: u64,
    /// The price without tax.
    pub net_cents: u64,
    /// The tax.
    pub vat_cents: u64,
    /// The price with tax.
    pub gross_cents: u64,
    /// The currency.
    pub currency: String,
    /// When the customer ordered.
    pub created_at: String,
    /// The provider's id of the payment; nothing before it.
    pub payment: Option<String>,
    /// When it came.
    pub paid_at: Option<String>,
    /// The refunded part of the price.
    pub refunded_cents: u64,
    /// The part of the price that the bank reclaims or has reclaimed.
    pub disputed_cents: u64,
    /// Credits that were taken back.
    pub credits_taken_back: u64,
    /// Credits that should have been taken back and were spent.
    pub credits_forgone: u64,
}

impl PaymentLine {
    pub(super) fn of(checkout: &Checkout, now: Moment) -> PaymentLine {
        let paid = checkout.paid.as_ref();
        PaymentLine {
            id: checkout.id.to_string(),
            number: checkout.id.number(),
            account: checkout.account.to_string(),
            provider: checkout.provider.clone(),
            state: checkout.state(now).as_str(),
            credits: checkout.credits,
            net_cents: checkout.price.net,
            vat_cents: checkout.price.vat,
            gross_cents: checkout.price.gross,
            currency: checkout.price.currency.clone(),
            created_at: checkout.created_at.rfc3339(),
            payment: paid.map(|paid| paid.payment.clone()),
            paid_at: paid.map(|paid| paid.at.rfc3339()),
            refunded_cents: checkout.refunded,
            disputed_cents: checkout.disputed,
            credits_taken_back: checkout.taken,
            credits_forgone: checkout.forgone,
        }
    }
}

/// A comparison with the payment provider.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reconciliation {
    /// Payments, refunds and disputes that the provider listed.
    pub listed: u64,
    /// Events without a notification, which the books have taken now; the first of them.
    pub found: Vec<FoundPayment>,
    /// How many there were.
    pub found_count: u64,
    /// Events that the books refused; the first of them.
    pub unexplained: Vec<UnexplainedPayment>,
    /// How many there were.
    pub unexplained_count: u64,
    /// Whether everything that the provider lists was compared.
    pub complete: bool,
}

/// A payment without a notification.
#[derive(Serialize)]
pub struct FoundPayment {
    /// The provider's id of the payment.
    pub payment: String,
    /// `granted` or `reversed`.
    pub outcome: &'static str,
}

impl FoundPayment {
    pub(super) fn of(found: &Found) -> FoundPayment {
        let outcome = if found.is_grant { "granted" } else { "reversed" };
        FoundPayment { payment: found.payment.clone(), outcome }
    }
}

/// A payment that contradicts the books.
#[derive(Serialize)]
pub struct UnexplainedPayment {
    /// The provider's id of the payment.
    pub id: String,
    /// Why the books did not take it.
    pub reason: String,
}

impl UnexplainedPayment {
    pub(super) fn of(unexplained: &Unexplained) -> UnexplainedPayment {
        UnexplainedPayment { id: unexplained.id.clone(), reason: unexplained.reason.clone() }
    }
}
