//! Opens a checkout, before the customer pays: the credits and the price of a purchase.

use super::{checkouts_of, put};
use crate::checkout::{CHECKOUT_RANDOM_BYTES, Checkout, CheckoutId, CheckoutState};
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::limits::UNPAID_CHECKOUTS_MAX;
use crate::operation::{Makes, Operation, Reads};
use crate::operations::accounts::{check_credits, check_provider};
use crate::operations::invalid;
use crate::price::Price;
use crate::state::State;
use mercato_base::clock::Moment;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BeginCheckout {
    pub account: AccountId,
    pub provider: String,
    pub credits: u64,
    pub price: Price,
    /// Random bytes from the operating system.
    pub random: [u8; CHECKOUT_RANDOM_BYTES],
    pub at: Moment,
}

impl Operation for BeginCheckout {
    type Outcome = Checkout;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::account(self.account).making(Makes::Checkout)
    }

    /// At most `UNPAID_CHECKOUTS_MAX` of an account wait for their payment at one time.
    fn decide(&self, books: &mut State) -> Result<Checkout, BooksError> {
        check_provider(&self.provider)?;
        check_credits(books.open(self.account)?, self.credits)?;
        let newest = checkouts_of(books, self.account, None, UNPAID_CHECKOUTS_MAX)?;
        let waits = |checkout: &Checkout| checkout.state(self.at) == CheckoutState::Open;
        if newest.len() >= UNPAID_CHECKOUTS_MAX && newest.iter().all(waits) {
            let rule = format!("at most {UNPAID_CHECKOUTS_MAX} of an account wait for payment at one time");
            return Err(invalid("checkout", rule));
        }
        books.hear(self.at);
        let checkout = Checkout {
            id: CheckoutId { number: books.next_checkout, random: self.random },
            account: self.account,
            provider: self.provider.clone(),
            credits: self.credits,
            price: self.price.clone(),
            created_at: self.at,
            cancelled_at: None,
            paid: None,
            refunded: 0,
            disputed: 0,
            taken: 0,
            forgone: 0,
        };
        books.next_checkout += 1;
        let index = key_space::checkout_of(self.account, checkout.id.number);
        books.written.changes.put(index, Vec::new());
        put(books, &checkout);
        Ok(checkout)
    }
}
