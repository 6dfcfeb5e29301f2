//! Commands on payments: list what customers bought, and compare the books with the payment provider.

use std::fmt::{self, Display, Formatter};

use clap::Args;
use mercato_base::clock::Moment;
use mercato_ledger::limits::CHECKOUTS_PER_PAGE_MAX;
use mercato_ledger::{Checkout, PurchasesQuery};
use mercato_payments::{Found, ReconcileError, Unexplained};
use serde::{Deserialize, Serialize};

use super::command::{Command, CommandError, Context, check_range};

/// List what customers asked to buy, newest first, with its payment, refunds and disputes.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPayments {
    /// Only of this account.
    #[arg(long, value_name = "ID")]
    pub account: Option<String>,
    /// The page begins below this number.
    #[arg(skip)]
    pub before: Option<u64>,
    /// At most so many; all when absent.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// The checkouts of customers, newest first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentPage {
    pub payments: Vec<Payment>,
    /// The number before which the next page begins, if any.
    pub next_before: Option<u64>,
}

/// A checkout and its state.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payment {
    pub id: String,
    /// The receipt names it.
    pub number: u64,
    pub account: String,
    pub provider: String,
    /// `open`, `lapsed`, `cancelled`, `paid`, `partlyRefunded`, `refunded` or `disputed`.
    pub state: String,
    pub credits: u64,
    pub net_cents: u64,
    pub vat_cents: u64,
    pub gross_cents: u64,
    pub currency: String,
    pub created_at: String,
    /// The provider's id of the payment; nothing before it.
    pub payment: Option<String>,
    pub paid_at: Option<String>,
    pub refunded_cents: u64,
    /// The part of the price that the bank reclaims or has reclaimed.
    pub disputed_cents: u64,
    pub credits_taken_back: u64,
    /// Credits that should have been taken back and were spent.
    pub credits_forgone: u64,
}

impl Command for ListPayments {
    type Outcome = PaymentPage;

    fn execute(&self, context: &Context<'_>) -> Result<PaymentPage, CommandError> {
        let limit = self.limit.unwrap_or(CHECKOUTS_PER_PAGE_MAX);
        check_range("limit", limit as u64, CHECKOUTS_PER_PAGE_MAX as u64)?;
        let account = self.account.as_ref().map(|account| context.account(account)).transpose()?;
        let account = account.map(|account| account.id());
        let page = context.ledger.purchases(&PurchasesQuery { account, before: self.before, limit })?;
        let payments = page.purchases.iter().map(|checkout| Payment::new(checkout, context.now)).collect();
        Ok(PaymentPage { payments, next_before: page.before })
    }
}

impl Payment {
    fn new(checkout: &Checkout, now: Moment) -> Self {
        let paid = checkout.paid.as_ref();
        Self {
            id: checkout.id.to_string(),
            number: checkout.id.number(),
            account: checkout.account.to_string(),
            provider: checkout.provider.clone(),
            state: checkout.state(now).as_str().to_owned(),
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

impl Display for PaymentPage {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.payments.iter().try_for_each(|payment| {
            let Payment { created_at, account, state, credits, currency, .. } = payment;
            let price = |cents: u64| format!("{}.{:02} {currency}", cents / 100, cents % 100);
            let gross = price(payment.gross_cents);
            let id = payment.payment.as_ref().unwrap_or(&payment.id);
            write!(out, "{created_at}  {account:10} {state:14} {credits:>12} credits {gross:>16}  {id}")?;
            for (word, cents) in [("refunded", payment.refunded_cents), ("disputed", payment.disputed_cents)]
            {
                if cents > 0 {
                    write!(out, "  {word} {}", price(cents))?;
                }
            }
            writeln!(out)
        })
    }
}

/// Compare the books with the payment provider now, and enter payments whose notification was lost. Needs a running
/// server.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReconcilePayments {}

/// A comparison with the payment provider.
#[derive(Serialize, Deserialize)]
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
#[derive(Serialize, Deserialize)]
pub struct FoundPayment {
    /// The provider's id of the payment.
    pub payment: String,
    /// `granted` or `reversed`.
    pub outcome: String,
}

/// A payment that contradicts the books.
#[derive(Serialize, Deserialize)]
pub struct UnexplainedPayment {
    /// The provider's id of the payment.
    pub id: String,
    /// Why the books did not take it.
    pub reason: String,
}

impl Command for ReconcilePayments {
    type Outcome = Reconciliation;

    fn execute(&self, context: &Context<'_>) -> Result<Reconciliation, CommandError> {
        let payments = context.payments.ok_or(ReconcileError::NoProvider)?;
        let report = payments.reconcile(context.ledger, context.now)?;
        Ok(Reconciliation {
            listed: report.listed,
            found: report.found.into_iter().map(FoundPayment::from).collect(),
            found_count: report.found_count,
            unexplained: report.unexplained.into_iter().map(UnexplainedPayment::from).collect(),
            unexplained_count: report.unexplained_count,
            complete: !report.is_cut,
        })
    }
}

impl From<Found> for FoundPayment {
    fn from(found: Found) -> Self {
        let outcome = if found.is_grant { "granted" } else { "reversed" };
        Self { payment: found.payment, outcome: outcome.to_owned() }
    }
}

impl From<Unexplained> for UnexplainedPayment {
    fn from(Unexplained { id, reason }: Unexplained) -> Self {
        Self { id, reason }
    }
}

impl Display for Reconciliation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { listed, found_count, unexplained_count, .. } = self;
        writeln!(
            out,
            "{listed} payments, refunds and disputes compared; {found_count} were not told, {unexplained_count} are unexplained"
        )?;
        self.found.iter().try_for_each(|found| writeln!(out, "{}: {}", found.payment, found.outcome))?;
        self.unexplained
            .iter()
            .try_for_each(|payment| writeln!(out, "{}: {}", payment.id, payment.reason))?;
        if self.complete {
            return Ok(());
        }
        writeln!(out, "the provider lists more than one comparison reads; the oldest were left out")
    }
}
