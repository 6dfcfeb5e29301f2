//! Rows that were paid on the site: within a day they are not paid again, whatever page, order or format has them.

use crate::codec::Record;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::limits::PAID_VIEW_HOURS;
use crate::operation::{Operation, Reads};
use crate::paid_view::PaidView;
use crate::request::{ChargeRequest, Replaced, ViewRows, Viewed};
use crate::state::State;
use mercato_base::clock::Moment;

/// Asks how many of so many rows of a view the account has paid for.
pub struct PaidBefore<'v> {
    pub account: AccountId,
    pub viewed: &'v Viewed,
    pub rows: u64,
    pub at: Moment,
}

impl Operation for PaidBefore<'_> {
    type Outcome = u64;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::nothing()
    }

    fn decide(&self, books: &mut State) -> Result<u64, BooksError> {
        books.paid_before(self.account, self.viewed, self.rows, self.at)
    }
}

impl State {
    /// How many of so many rows the account has paid for.
    pub fn paid_before(
        &mut self,
        account: AccountId,
        viewed: &Viewed,
        rows: u64,
        now: Moment,
    ) -> Result<u64, BooksError> {
        let paid = self.read::<PaidView>(&key_space::paid_view(account, &viewed.view))?;
        Ok(paid.map_or(0, |paid| paid.paid_of(&viewed.rows, rows, now)))
    }

    /// How many rows of an answer are paid.
    pub fn paid_rows_of(&mut self, request: &ChargeRequest) -> Result<u64, BooksError> {
        match &request.view {
            Some(viewed) => self.paid_before(request.account.id(), viewed, request.rows, request.at),
            None => Ok(0),
        }
    }

    /// How many of so many rows, which are all of a view, are paid.
    pub fn paid_of_view(
        &mut self,
        account: AccountId,
        view: [u8; 16],
        rows: u64,
        now: Moment,
    ) -> Result<u64, BooksError> {
        self.paid_before(account, &whole(view), rows, now)
    }

    /// Remembers that the rows of a page are paid. Returns what a refund forgets.
    pub fn remember_rows(&mut self, request: &ChargeRequest) -> Result<Option<Replaced>, BooksError> {
        let Some(viewed) = request.view.as_ref().filter(|viewed| viewed.is_remembered) else {
            return Ok(None);
        };
        let key = self.pay_view(request.account.id(), viewed, &request.request_id, request.at)?;
        Ok(Some((key, None)))
    }

    /// Remembers that all rows of a view are paid.
    pub fn remember_view(
        &mut self,
        account: AccountId,
        view: [u8; 16],
        request_id: &str,
        at: Moment,
    ) -> Result<(), BooksError> {
        self.pay_view(account, &whole(view), request_id, at).map(drop)
    }

    fn pay_view(
        &mut self,
        account: AccountId,
        viewed: &Viewed,
        request_id: &str,
        at: Moment,
    ) -> Result<Vec<u8>, BooksError> {
        let key = key_space::paid_view(account, &viewed.view);
        let mut paid = self.read::<PaidView>(&key)?.unwrap_or_default();
        paid.pay(&viewed.rows, request_id, at, at.plus_seconds(PAID_VIEW_HOURS * 3_600));
        self.keep_view(&key, &paid);
        Ok(key)
    }

    /// Forgets what a request paid of a view.
    pub fn forget_rows(&mut self, key: &[u8], request_id: &str) -> Result<(), BooksError> {
        if let Some(mut paid) = self.read::<PaidView>(key)? {
            paid.forget(request_id);
            self.keep_view(key, &paid);
        }
        Ok(())
    }

    fn keep_view(&mut self, key: &[u8], paid: &PaidView) {
        match paid.until() {
            Some(until) => {
                self.written.changes.put(key.to_vec(), paid.encode());
                self.written.changes.put(key_space::expiry(until, key), Vec::new());
            }
            None => self.written.changes.remove(key.to_vec()),
        }
    }
}

const fn whole(view: [u8; 16]) -> Viewed {
    Viewed { view, rows: ViewRows::All, is_remembered: true }
}
