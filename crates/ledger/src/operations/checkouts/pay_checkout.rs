//! Gives the credits of a checkout that was paid: once, however often the payment is reported, and in the same batch in which
//! the payment is noted. The payment is compared with its checkout before anything changes.

use super::{find, put, settle};
use crate::checkout::{Checkout, CheckoutId, Paid};
use crate::codec::Record;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::operation::{Operation, Reads};
use crate::operations::accounts::{Buy, Entered, check_payment};
use crate::request::PaymentId;
use crate::reversal::Reversal;
use crate::state::State;
use mercato_base::clock::Moment;

/// A payment as the provider reports it. It must agree with its checkout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PayCheckout {
    /// The checkout that was paid.
    pub checkout: CheckoutId,
    pub payment: PaymentId,
    /// The account that receives the credits, as the provider remembers it.
    pub account: AccountId,
    /// The credits, as the provider remembers them.
    pub credits: u64,
    /// The amount, tax included, in minor units.
    pub gross: u64,
    /// In which currency, in capital letters.
    pub currency: String,
    pub at: Moment,
}

/// The outcome of a payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PaidCheckout {
    /// The credits were given.
    Granted {
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
        field: &'static str,
        /// Its value in the checkout.
        requested: String,
        /// Its value in the provider's report.
        reported: String,
    },
    /// The checkout was paid by another payment.
    #[error("the checkout was paid before, by {payment}")]
    PaidBefore { payment: String },
    /// The payment has paid for something else.
    #[error("the payment has paid for something else")]
    PaymentUsed,
}

impl Operation for PayCheckout {
    type Outcome = PaidCheckout;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::account(self.account)
    }

    fn decide(&self, books: &mut State) -> Result<PaidCheckout, BooksError> {
        check_payment(&self.payment)?;
        let Some(mut checkout) = find(books, self.checkout)? else {
            return Ok(PaidCheckout::Refused(Contradiction::UnknownCheckout));
        };
        if let Some(contradiction) = self.contradiction(&checkout) {
            return Ok(PaidCheckout::Refused(contradiction));
        }
        match &checkout.paid {
            Some(paid) if paid.payment == self.payment.id => return Ok(PaidCheckout::Replayed),
            Some(paid) => {
                let payment = paid.payment.clone();
                return Ok(PaidCheckout::Refused(Contradiction::PaidBefore { payment }));
            }
            None => {}
        }
        let reversal_key = key_space::reversal(&self.payment);
        let mut reversal: Reversal = books.read(&reversal_key)?.unwrap_or_default();
        let entered: Option<Entered> = books.read(&key_space::payment(&self.payment))?;
        let is_same =
            |entered: &Entered| entered.is_of(checkout.account, checkout.credits, checkout.price.net);
        if reversal.checkout.is_some() || entered.is_some_and(|entered| !is_same(&entered)) {
            return Ok(PaidCheckout::Refused(Contradiction::PaymentUsed));
        }
        let bought = self.buy(&checkout).decide(books)?;
        let payment = self.payment.id.clone();
        checkout.paid = Some(Paid { payment, sequence: bought.sequence, at: self.at });
        reversal.checkout = Some(checkout.id.number);
        settle(books, &mut checkout, &reversal, self.at)?;
        put(books, &checkout);
        books.written.changes.put(reversal_key, reversal.encode());
        let (account, credits) = (checkout.account, checkout.credits);
        Ok(if bought.is_replayed {
            PaidCheckout::Replayed
        } else {
            PaidCheckout::Granted { account, credits }
        })
    }
}

impl PayCheckout {
    /// How the payment contradicts its checkout.
    fn contradiction(&self, checkout: &Checkout) -> Option<Contradiction> {
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

    fn buy(&self, checkout: &Checkout) -> Buy {
        Buy {
            account: checkout.account,
            credits: checkout.credits,
            cents: Some(checkout.price.net),
            payment: Some(self.payment.clone()),
            request_id: self.payment.id.clone(),
            note: String::new(),
            at: self.at,
        }
    }
}
