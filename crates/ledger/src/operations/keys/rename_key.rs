//! Changes the label of a key.

use super::change;
use crate::error::BooksError;
use crate::id::KeyId;
use crate::operation::{Operation, Reads};
use crate::operations::check_text;
use crate::state::State;

pub struct RenameKey {
    pub id: KeyId,
    pub label: String,
}

impl Operation for RenameKey {
    type Outcome = ();
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads::key(self.id)
    }

    fn decide(&self, books: &mut State) -> Result<(), BooksError> {
        check_text("label", &self.label, 0)?;
        self.label.clone_into(&mut change(books, self.id)?.label);
        Ok(())
    }
}
