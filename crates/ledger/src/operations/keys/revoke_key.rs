//! Ends a key at once.

use super::change;
use crate::error::BooksError;
use crate::id::KeyId;
use crate::operation::{Operation, Reads};
use crate::state::State;
use mercato_base::clock::Moment;

pub struct RevokeKey {
    pub id: KeyId,
    pub at: Moment,
}

impl Operation for RevokeKey {
    type Outcome = ();
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::key(self.id)
    }

    fn decide(&self, books: &mut State) -> Result<(), BooksError> {
        change(books, self.id)?.revoked_at.get_or_insert(self.at);
        Ok(())
    }
}
