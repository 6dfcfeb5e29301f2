//! News of a provider: payments and their reversals, and their entry into the books.
//!
//! The same whether a webhook brought it or a pass found it. Does not depend on providers.

use mercato_base::clock::Moment;
use mercato_ledger::{
    BooksError, Checkout, Contradiction, Ledger, PaidCheckout, PayCheckout, PaymentId, ReversePayment,
    Reversed,
};

/// Something that concerns credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    Paid(PayCheckout),
    /// A payment was refunded or disputed.
    Reversed(ReversePayment),
}

/// The durable outcome of news in the books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// Credits were given.
    Granted,
    /// The balance follows a refund or a dispute.
    Settled,
    /// The news waits for its payment.
    Kept,
    Known,
    /// It contradicts its checkout. Nothing was changed.
    Refused(Contradiction),
}

impl News {
    /// The payment of a checkout by a click, on the page of a demonstration.
    pub fn of_click(checkout: &Checkout, provider: &'static str, at: Moment) -> News {
        let payment = PaymentId { provider: provider.to_owned(), id: checkout.id.to_string() };
        News::Paid(PayCheckout {
            checkout: checkout.id,
            payment,
            account: checkout.account,
            credits: checkout.credits,
            gross: checkout.price.gross,
            currency: checkout.price.currency.clone(),
            at,
        })
    }

    /// The payment that it is about.
    pub fn payment(&self) -> &PaymentId {
        match self {
            News::Paid(paid) => &paid.payment,
            News::Reversed(reversal) => &reversal.payment,
        }
    }

    /// Enters the news into the books, and waits until that is durable.
    pub fn apply(&self, ledger: &Ledger) -> Result<Applied, BooksError> {
        let payment = self.payment().id.as_str();
        Ok(match self {
            News::Paid(paid) => match ledger.commit(paid)? {
                PaidCheckout::Granted { account, credits } => {
                    let checkout = paid.checkout.number();
                    tracing::info!(%account, credits, payment, checkout, "bought credits were given");
                    Applied::Granted
                }
                PaidCheckout::Replayed => Applied::Known,
                PaidCheckout::Refused(contradiction) => {
                    let checkout = paid.checkout.number();
                    tracing::error!(%contradiction, payment, checkout, "a payment gives no credits");
                    Applied::Refused(contradiction)
                }
            },
            News::Reversed(reversal) => match ledger.commit(reversal)? {
                Reversed::Unchanged => Applied::Known,
                Reversed::Kept => {
                    tracing::warn!(payment, "a payment that is not known was refunded or disputed");
                    Applied::Kept
                }
                Reversed::Settled { account, change } => {
                    tracing::warn!(%account, change, payment, "a payment was refunded or disputed");
                    Applied::Settled
                }
            },
        })
    }
}
