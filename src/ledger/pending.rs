//! What an operation on the books gave, and the wait until it is durable.

use std::sync::Arc;

use super::error::ChargeError;

/// Makes operations durable.
pub(super) trait Durability: Send + Sync {
    /// Returns when everything up to this sequence number is as safe as the books were opened to make it.
    fn sync(&self, up_to: u64) -> Result<(), ChargeError>;
}

/// The outcome of an operation that is carried out and may not be durable yet. It is made durable soon whether or not
/// somebody waits; nobody may be told of it before.
#[must_use = "the outcome counts only once it is durable"]
pub struct Pending<T> {
    outcome: T,
    books: Arc<dyn Durability>,
    up_to: u64,
}

impl<T> Pending<T> {
    pub(super) fn new(outcome: T, books: Arc<dyn Durability>, up_to: u64) -> Pending<T> {
        Pending { outcome, books, up_to }
    }

    /// Waits until the operation is durable, as far as the books were opened to make it, and gives its outcome.
    ///
    /// On an error the operation does not count: the books take it back when they are opened again.
    pub fn durable(self) -> Result<T, ChargeError> {
        self.books.sync(self.up_to)?;
        Ok(self.outcome)
    }

    /// The outcome, for whoever tells nobody of it before it is durable.
    pub(super) fn into_outcome(self) -> T {
        self.outcome
    }
}
