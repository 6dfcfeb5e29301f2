//! The calls of payments: ask to buy, pay, refund, dispute, and list.
//!
//! Whatever is told how often and in whatever order, a payment gives its credits once, and what of it went back takes them
//! back in proportion. Every call that changes something waits until it is durable. Does not depend on providers, pages or
//! networks.

use super::Ledger;
use super::checkout::{CHECKOUT_RANDOM_BYTES, Checkout, CheckoutId};
use super::error::ChargeError;
use super::id::AccountId;
use super::price::Price;
use super::request::PaymentId;
use super::reversal::ReversalEvent;
use crate::clock::Moment;
use crate::limits::ledger::CHECKOUTS_PER_PAGE_MAX;

/// Credits that a customer asks to buy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCheckout {
    /// The customer's account.
    pub account: AccountId,
    /// The payment provider.
    pub provider: String,
    /// The credits.
    pub credits: u64,
    /// What they cost.
    pub price: Price,
    /// Random bytes from the operating system.
    pub random: [u8; CHECKOUT_RANDOM_BYTES],
    /// When.
    pub at: Moment,
}

/// A payment as the provider tells it. It must be what the checkout asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckoutPayment {
    /// What was paid for.
    pub checkout: CheckoutId,
    /// The payment.
    pub payment: PaymentId,
    /// The account that receives the credits, as the provider remembers it.
    pub account: AccountId,
    /// The credits, as the provider remembers them.
    pub credits: u64,
    /// What was paid, tax included, in minor units.
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
    /// The payment is not what was asked for. Nothing was changed.
    Refused(Contradiction),
}

/// How a payment differs from what was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Contradiction {
    /// The books have no such checkout: they were restored from an older backup, or it is one of another marketplace.
    #[error("the books have no such checkout")]
    UnknownCheckout,
    /// A field is another one.
    #[error("{field}: {asked} was asked for, {told} was told")]
    Differs {
        /// The field.
        field: &'static str,
        /// What the checkout says.
        asked: String,
        /// What the provider says.
        told: String,
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

/// News that a payment was refunded or disputed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldReversal {
    /// The payment.
    pub payment: PaymentId,
    /// The news.
    pub event: ReversalEvent,
    /// When.
    pub at: Moment,
}

/// The outcome of such news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reversed {
    /// It was known. Nothing was changed.
    Unchanged,
    /// The payment is not known; the news waits for it.
    Kept,
    /// The credits of the payment are as they should be.
    Settled {
        /// The account.
        account: AccountId,
        /// By how much its balance changed; zero when everything was spent.
        change: i64,
    },
}

/// A page of purchases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PurchasesAsked {
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
    /// How the payment differs from what was asked for.
    pub(super) fn contradiction(&self, asked: &Checkout) -> Option<Contradiction> {
        let fields = [
            ("provider", asked.provider.clone(), self.payment.provider.clone()),
            ("account", asked.account.to_string(), self.account.to_string()),
            ("credits", asked.credits.to_string(), self.credits.to_string()),
            ("amount", asked.price.gross.to_string(), self.gross.to_string()),
            ("currency", asked.price.currency.clone(), self.currency.clone()),
        ];
        let (field, asked, told) = fields.into_iter().find(|(_, asked, told)| asked != told)?;
        Some(Contradiction::Differs { field, asked, told: told.chars().take(40).collect() })
    }
}

impl Ledger {
    /// Keeps what a customer asks to buy, before they pay for it. At most `UNPAID_CHECKOUTS_MAX` of an account wait for their
    /// payment at one time; one more is refused, as is one for a closed account.
    pub fn begin_checkout(&self, new: &NewCheckout) -> Result<Checkout, ChargeError> {
        self.books.begin_checkout(new)?.durable()
    }

    /// Gives the credits of a checkout that was paid: once, however often the payment is told, and in the same batch in which
    /// the payment is noted.
    pub fn pay_checkout(&self, payment: &CheckoutPayment) -> Result<PaidCheckout, ChargeError> {
        self.books.pay_checkout(payment)?.durable()
    }

    /// Takes back, or gives again, the credits of a payment in proportion to what of it was refunded or disputed, as far as
    /// the balance has them.
    pub fn reverse_payment(&self, told: &ToldReversal) -> Result<Reversed, ChargeError> {
        self.books.reverse_payment(told)?.durable()
    }

    /// The checkout with this id.
    pub fn checkout(&self, id: CheckoutId) -> Result<Option<Checkout>, ChargeError> {
        self.books.checkout(id)
    }

    /// What customers asked to buy from a payment provider, newest first. Purchases that the operator entered by hand are not
    /// among them.
    pub fn purchases(&self, asked: &PurchasesAsked) -> Result<Purchases, ChargeError> {
        let limit = asked.limit.clamp(1, CHECKOUTS_PER_PAGE_MAX);
        let more = PurchasesAsked { limit: limit.saturating_add(1), ..*asked };
        let mut purchases = self.books.checkouts(&more)?;
        let has_more = purchases.len() > limit;
        purchases.truncate(limit);
        let last = purchases.last().map(|checkout| checkout.id.number());
        Ok(Purchases { purchases, before: last.filter(|_| has_more) })
    }
}
