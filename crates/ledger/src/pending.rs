//! The outcome of an operation on the books, and the wait until it is durable.

use std::sync::Arc;

use super::error::{BooksError, ChargeError, Unavailable};

/// Makes operations durable.
pub trait Durability: Send + Sync {
    /// Returns when everything up to this sequence number has the configured durability.
    fn sync(&self, up_to: u64) -> Result<(), Unavailable>;
    /// Whether it is already.
    fn is_durable(&self, up_to: u64) -> bool;
    /// Runs `next` when it is, on any thread.
    fn when_durable(self: Arc<Self>, up_to: u64, next: Next);
}

/// A continuation: runs when an operation is durable, or is known to have failed.
pub type Next = Box<dyn FnOnce(Result<(), Unavailable>) + Send>;

/// The wait for an operation, without its outcome.
#[must_use = "the outcome counts only once it is durable"]
pub struct Durable {
    /// Nothing where it is durable already.
    books: Option<Arc<dyn Durability>>,
    up_to: u64,
}

impl Durable {
    /// Whether there is nothing to wait for.
    pub fn is_done(&self) -> bool {
        self.books.as_ref().is_none_or(|books| books.is_durable(self.up_to))
    }

    /// Waits until the operation is durable; on an error it does not count.
    pub fn wait(self) -> Result<(), Unavailable> {
        self.books.map_or(Ok(()), |books| books.sync(self.up_to))
    }

    /// Runs `next` when the operation is durable, or with an error when it does not count: now, after a sync that this
    /// thread makes, or later on another thread.
    pub fn then(self, next: impl FnOnce(Result<(), Unavailable>) + Send + 'static) {
        match self.books {
            Some(books) => books.when_durable(self.up_to, Box::new(next)),
            None => next(Ok(())),
        }
    }
}

/// The outcome of an operation that may not be durable yet. It becomes durable soon whether or not a thread waits; it
/// must not be revealed before.
#[must_use = "the outcome counts only once it is durable"]
pub struct Pending<T, E = ChargeError>(Stage<T, E>);

enum Stage<T, E> {
    /// It is known, and not durable yet.
    Decided { outcome: T, books: Arc<dyn Durability>, up_to: u64 },
    /// It is known and durable.
    Done(T),
    /// It becomes known when it is durable.
    Asked(Answer<T, E>),
}

/// Waits for an outcome that is durable when it comes.
pub type Answer<T, E> = Box<dyn FnOnce() -> Result<T, E> + Send>;

impl<T, E: From<BooksError>> Pending<T, E> {
    pub fn new(outcome: T, books: Arc<dyn Durability>, up_to: u64) -> Pending<T, E> {
        Pending(Stage::Decided { outcome, books, up_to })
    }

    /// An outcome that is durable.
    pub const fn done(outcome: T) -> Pending<T, E> {
        Pending(Stage::Done(outcome))
    }

    /// An outcome that others decide.
    pub fn asked(answer: Answer<T, E>) -> Pending<T, E> {
        Pending(Stage::Asked(answer))
    }

    /// Waits until the operation is durable, as far as the books were opened to make it, and gives its outcome.
    ///
    /// On an error the operation does not count: the books take it back when they are opened again.
    pub fn durable(self) -> Result<T, E> {
        match self.0 {
            Stage::Decided { outcome, books, up_to } => {
                books.sync(up_to).map_err(BooksError::from)?;
                Ok(outcome)
            }
            Stage::Done(outcome) => Ok(outcome),
            Stage::Asked(answer) => answer(),
        }
    }

    /// The outcome and the wait for it. The outcome must not be revealed before. Where others decide, this waits for them.
    pub fn split(self) -> Result<(T, Durable), E> {
        match self.0 {
            Stage::Decided { outcome, books, up_to } => Ok((outcome, Durable { books: Some(books), up_to })),
            Stage::Done(outcome) => Ok((outcome, Durable { books: None, up_to: 0 })),
            Stage::Asked(answer) => Ok((answer()?, Durable { books: None, up_to: 0 })),
        }
    }

    /// The outcome, for a caller that shows it to no client before it is durable.
    pub fn into_outcome(self) -> Result<T, E> {
        match self.0 {
            Stage::Decided { outcome, .. } | Stage::Done(outcome) => Ok(outcome),
            Stage::Asked(answer) => answer(),
        }
    }
}
