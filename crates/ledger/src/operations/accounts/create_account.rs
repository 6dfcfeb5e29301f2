//! Creates an account without credits.

use crate::account::AccountRecord;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::limits::ACCOUNTS_MAX;
use crate::operation::{Makes, Operation, Reads};
use crate::operations::{check_text, invalid};
use crate::state::{Account, State};
use mercato_base::clock::Moment;

pub struct CreateAccount {
    pub name: String,
    pub at: Moment,
}

impl Operation for CreateAccount {
    type Outcome = AccountId;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::nothing().making(Makes::Account)
    }

    fn decide(&self, books: &mut State) -> Result<AccountId, BooksError> {
        check_text("name", &self.name, 1)?;
        open_account(books, self.name.clone(), self.at)
    }
}

pub fn open_account(books: &mut State, name: String, at: Moment) -> Result<AccountId, BooksError> {
    if books.totals().accounts >= ACCOUNTS_MAX {
        return Err(invalid("account", format!("a ledger holds at most {ACCOUNTS_MAX} accounts")));
    }
    books.hear(at);
    let id = AccountId::from_number(books.next_account);
    books.next_account += 1;
    books.accounts.insert(id, Account::new(AccountRecord::new(id, name, at)));
    books.changed_accounts.insert(id);
    Ok(id)
}
