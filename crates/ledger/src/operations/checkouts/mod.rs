//! Checkouts: opened, paid once, listed, and reversed by refunds and disputes.
//!
//! Reports of a provider may come in any order and more than once. Does not depend on providers.

mod begin_checkout;
mod cancel_checkout;
mod find_checkout;
mod list_checkouts;
mod pay_checkout;
mod reverse_payment;

pub use begin_checkout::BeginCheckout;
pub use cancel_checkout::CancelCheckout;
pub use find_checkout::FindCheckout;
pub use list_checkouts::{Purchases, PurchasesQuery};
pub use pay_checkout::{Contradiction, PaidCheckout, PayCheckout};
pub use reverse_payment::{ReversePayment, Reversed};

use crate::checkout::{Checkout, CheckoutId};
use crate::codec::Record;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::state::State;
use reverse_payment::settle;

fn find(books: &mut State, id: CheckoutId) -> Result<Option<Checkout>, BooksError> {
    let found: Option<Checkout> = books.read(&key_space::checkout(id.number))?;
    Ok(found.filter(|checkout| checkout.id == id))
}

fn put(books: &mut State, checkout: &Checkout) {
    books.written.changes.put(key_space::checkout(checkout.id.number), checkout.encode());
}

/// The checkouts of an account, newest first.
fn checkouts_of(
    books: &mut State,
    account: AccountId,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<Checkout>, BooksError> {
    let prefix = key_space::checkouts_of(account);
    let from =
        before.map_or_else(|| prefix.clone(), |before| behind(&key_space::checkout_of(account, before)));
    let mut found = Vec::new();
    for (key, _) in books.scan(&prefix, &from, limit)? {
        let record = key_space::checkout_number(&key).map(key_space::checkout);
        let checkout = match record {
            Some(record) => books.read::<Checkout>(&record)?,
            None => None,
        };
        let Some(checkout) = checkout else {
            return Err(books.fail_damaged(format!("a checkout of {account} is missing")));
        };
        found.push(checkout);
    }
    Ok(found)
}

/// The least key behind this one.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
