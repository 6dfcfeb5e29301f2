//! Gives credits to an account, whose plan stays as it is. The outcome is the balance.

use super::Credit;
use crate::entry::EntryKind;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::operation::{Operation, Reads};
use crate::state::State;
use mercato_base::clock::Moment;

pub struct Grant {
    pub account: AccountId,
    pub credits: u64,
    pub request_id: String,
    pub note: String,
    pub at: Moment,
}

impl Operation for Grant {
    type Outcome = u64;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::account(self.account)
    }

    fn decide(&self, books: &mut State) -> Result<u64, BooksError> {
        let Grant { account, credits, request_id, note, at } = self;
        let (account, credits, at) = (*account, *credits, *at);
        let credit = Credit { account, kind: EntryKind::Grant, credits, cents: 0, request_id, note, at };
        credit.enter(books).map(|(_, balance)| balance)
    }
}
