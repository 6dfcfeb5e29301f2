//! Asks for the checkout with an id.

use super::find;
use crate::checkout::{Checkout, CheckoutId};
use crate::error::BooksError;
use crate::operation::{Operation, Reads};
use crate::state::State;

pub struct FindCheckout(pub CheckoutId);

impl Operation for FindCheckout {
    type Outcome = Option<Checkout>;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::nothing()
    }

    fn decide(&self, books: &mut State) -> Result<Option<Checkout>, BooksError> {
        find(books, self.0)
    }
}
