//! Changes what a key may spend and read, and when it ends. What it has spent stays.

use super::{change, check_datasets, check_end, check_not_revoked, find};
use crate::error::BooksError;
use crate::id::KeyId;
use crate::key_limits::{Change, LimitsChange};
use crate::operation::{Operation, Reads};
use crate::state::State;
use mercato_base::clock::Moment;

pub struct LimitKey {
    pub id: KeyId,
    pub change: LimitsChange,
    pub at: Moment,
}

impl Operation for LimitKey {
    type Outcome = ();
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::key(self.id)
    }

    fn decide(&self, books: &mut State) -> Result<(), BooksError> {
        let key = find(books, self.id)?;
        check_not_revoked(key)?;
        if let Change::Set(end) = self.change.expires_at {
            check_end(end, self.at)?;
        }
        let limits = key.limits.changed(&self.change);
        check_datasets(&limits)?;
        change(books, self.id)?.limits = limits;
        Ok(())
    }
}
