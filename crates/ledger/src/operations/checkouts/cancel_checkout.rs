//! Notes that the customer gave a checkout up, unless it is paid. A payment that comes all the same gives its credits.

use super::{find, put};
use crate::checkout::{Checkout, CheckoutId};
use crate::error::BooksError;
use crate::id::AccountId;
use crate::operation::{Operation, Reads};
use crate::state::State;
use mercato_base::clock::Moment;

pub struct CancelCheckout {
    pub account: AccountId,
    pub id: CheckoutId,
    pub at: Moment,
}

impl Operation for CancelCheckout {
    /// The checkout as it is then; nothing where the account has no such checkout.
    type Outcome = Option<Checkout>;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::account(self.account)
    }

    fn decide(&self, books: &mut State) -> Result<Option<Checkout>, BooksError> {
        let found = find(books, self.id)?.filter(|checkout| checkout.account == self.account);
        let Some(mut checkout) = found else { return Ok(None) };
        if checkout.paid.is_none() && checkout.cancelled_at.is_none() {
            books.hear(self.at);
            checkout.cancelled_at = Some(self.at);
            put(books, &checkout);
        }
        Ok(Some(checkout))
    }
}
