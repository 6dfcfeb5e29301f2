//! The calls of payments: begin a checkout, pay it, reverse its payment, and list checkouts.
//!
//! Reports of a provider may come in any order and more than once. A payment gives its credits once; refunds and disputes
//! take them back in proportion. Every call that changes something waits until it is durable. Does not depend on providers, pages or
//! networks.

use super::Ledger;
use super::checkout::{CHECKOUT_RANDOM_BYTES, Checkout, CheckoutId};
use super::error::ChargeError;
use super::id::AccountId;
use super::price::Price;
use super::request::PaymentId;
use super::reversal::ReversalEvent;
use crate::limits::CHECKOUTS_PER_PAGE_MAX;
use mercato_base::clock::Moment;

/// A checkout that is to be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCheckout {
    /// The customer's account.
    pub account: AccountId,
    /// The payment provider.
    pub provider: String,
    /// The credits.
    pub credits: u64,
    /// Their price.
    pub price: Price,
    /// Random bytes from the operating system.
    pub random: [u8; CHECKOUT_RANDOM_BYTES],
    /// When.
    pub at: Moment,
}

/// A payment as the provider reports it. It must agree with its checkout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckoutPayment {
    /// The checkout that was paid.
    pub checkout: CheckoutId,
    /// The payment.
    pub payment: PaymentId,
    /// The account that receives the credits, as the provider remembers it.
    pub account: AccountId,
    /// The credits, as the provider remembers them.
    pub credits: u64,
    /// The amount, tax included, in minor units.
    pub gross: u64,
    /// In which currency, in capital letters.
    pub currency: String,
    /// When.
    pub at: Moment,
}

/// The outcome of a payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PaidCheckout {
    /// The credits were given.
    Granted {
        /// To this account.
        account: AccountId,
        /// So many.
        credits: u64,
    },
    /// They were given before. Nothing was changed.
    Replayed,
    /// The payment contradicts its checkout. Nothing was changed.
    Refused(Contradiction),
}

/// How a payment contradicts its checkout.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Contradiction {
    /// The books have no such checkout: they were restored from an older backup, or it is one of another marketplace.
    #[error("the books have no such checkout")]
    UnknownCheckout,
    /// A field is another one.
    #[error("{field}: {requested} was asked for, {reported} was told")]
    Differs {
        /// The field.
        field: &'static str,
        /// Its value in the checkout.
        requested: String,
        /// Its value in the provider's report.
        reported: String,
    },
    /// The checkout was paid by another payment.
    #[error("the checkout was paid before, by {payment}")]
    PaidBefore {
        /// That payment.
        payment: String,
    },
    /// The payment has paid for something else.
    #[error("the payment has paid for something else")]
    PaymentUsed,
}

/// A provider's report that a payment was refunded or disputed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportedReversal {
    /// The payment.
    pub payment: PaymentId,
    /// The change of the payment.
    pub event: ReversalEvent,
    /// When.
    pub at: Moment,
}

/// The outcome of such a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reversed {
    /// It was known. Nothing was changed.
    Unchanged,
    /// The payment is not known; the report waits for it.
    Kept,
    /// The credits of the payment are as they should be.
    Settled {
        /// The account.
        account: AccountId,
        /// By how much its balance changed; zero when everything was spent.
        change: i64,
    },
}

/// A query for a page of purchases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PurchasesQuery {
    /// Only of this account.
    pub account: Option<AccountId>,
    /// Only those with a lower number than this one; nothing for the newest.
    pub before: Option<u64>,
    /// At most so many; `CHECKOUTS_PER_PAGE_MAX` is the most.
    pub limit: usize,
}

/// Purchases, paid or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Purchases {
    /// Newest first.
    pub purchases: Vec<Checkout>,
    /// The number before which a further page goes on.
    pub before: Option<u64>,
}

impl CheckoutPayment {
    /// How the payment contradicts its checkout.
    pub fn contradiction(&self, checkout: &Checkout) -> Option<Contradiction> {
        let fields = [
            ("provider", checkout.provider.clone(), self.payment.provider.clone()),
            ("account", checkout.account.to_string(), self.account.to_string()),
            ("credits", checkout.credits.to_string(), self.credits.to_string()),
            ("amount", checkout.price.gross.to_string(), self.gross.to_string()),
            ("currency", checkout.price.currency.clone(), self.currency.clone()),
        ];
        let (field, requested, reported) =
            fields.into_iter().find(|(_, requested, reported)| requested != reported)?;
        Some(Contradiction::Differs { field, requested, reported: reported.chars().take(40).collect() })
    }
}

impl Ledger {
    /// Opens a checkout, before the customer pays. At most `UNPAID_CHECKOUTS_MAX` of an account wait for their payment at one
    /// time; one more is refused, as is one for a closed account.
    pub fn begin_checkout(&self, new: &NewCheckout) -> Result<Checkout, ChargeError> {
        self.books.begin_checkout(new)?.durable()
    }

    /// Notes that the customer gave a checkout of an account up, unless it is paid. Returns it as it is then; nothing where the
    /// account has no such checkout. A payment that comes all the same gives its credits.
    pub fn cancel_checkout(
        &self,
        account: AccountId,
        id: CheckoutId,
        at: Moment,
    ) -> Result<Option<Checkout>, ChargeError> {
        self.books.cancel_checkout(account, id, at)?.durable()
    }

    /// Gives the credits of a checkout that was paid: once, however often the payment is reported, and in the same batch in which
    /// the payment is noted.
    pub fn pay_checkout(&self, payment: &CheckoutPayment) -> Result<PaidCheckout, ChargeError> {
        self.books.pay_checkout(payment)?.durable()
    }

    /// Takes back, or gives again, the credits of a payment in proportion to its refunds and disputes, as far as the balance
    /// has them.
    pub fn reverse_payment(&self, reversal: &ReportedReversal) -> Result<Reversed, ChargeError> {
        self.books.reverse_payment(reversal)?.durable()
    }

    /// The checkout with this id.
    pub fn checkout(&self, id: CheckoutId) -> Result<Option<Checkout>, ChargeError> {
        self.books.checkout(id)
    }

    /// The checkouts of customers at a payment provider, paid or not, newest first. They exclude purchases that the operator
    /// entered by hand.
    pub fn purchases(&self, query: &PurchasesQuery) -> Result<Purchases, ChargeError> {
        let limit = query.limit.clamp(1, CHECKOUTS_PER_PAGE_MAX);
        let more = PurchasesQuery { limit: limit.saturating_add(1), ..*query };
        let mut purchases = self.books.checkouts(&more)?;
        let has_more = purchases.len() > limit;
        purchases.truncate(limit);
        let last = purchases.last().map(|checkout| checkout.id.number());
        Ok(Purchases { purchases, before: last.filter(|_| has_more) })
    }
}
