//! The outcome of an operation on the books, and the wait until it is durable.

use std::sync::Arc;

use super::error::ChargeError;

/// Makes operations durable.
pub(super) trait Durability: Send + Sync {
    /// Returns when everything up to this sequence number has the configured durability.
    fn sync(&self, up_to: u64) -> Result<(), ChargeError>;
    /// Whether it is already.
    fn is_durable(&self, up_to: u64) -> bool;
    /// Runs `next` when it is, on any thread.
    fn when_durable(self: Arc<Self>, up_to: u64, next: Next);
}

/// A continuation: runs when an operation is durable, or is known to have failed.
pub(super) type Next = Box<dyn FnOnce(Result<(), ChargeError>) + Send>;

/// The wait for an operation, without its outcome.
#[must_use = "the outcome counts only once it is durable"]
pub struct Durable {
    books: Arc<dyn Durability>,
    up_to: u64,
}

impl Durable {
    /// Whether there is nothing to wait for.
    pub fn is_done(&self) -> bool {
        self.books.is_durable(self.up_to)
    }

    /// Waits until the operation is durable; on an error it does not count.
    pub fn wait(self) -> Result<(), ChargeError> {
        self.books.sync(self.up_to)
    }

    /// Runs `next` when the operation is durable, or with an error when it does not count: now, after a sync that this
    /// thread makes, or later on another thread.
    pub fn then(self, next: impl FnOnce(Result<(), ChargeError>) + Send + 'static) {
        self.books.when_durable(self.up_to, Box::new(next));
    }
}

/// The outcome of an operation that may not be durable yet. It becomes durable soon whether or not a thread waits; it
/// must not be revealed before.
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

    /// The outcome and the wait for it. The outcome must not be revealed before.
    pub fn split(self) -> (T, Durable) {
        (self.outcome, Durable { books: self.books, up_to: self.up_to })
    }

    /// The outcome, for a caller that shows it to no client before it is durable.
    pub(super) fn into_outcome(self) -> T {
        self.outcome
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::ledger::Unavailable;

    struct Slow {
        time: Duration,
        succeeds: bool,
    }

    impl Durability for Slow {
        fn sync(&self, _: u64) -> Result<(), ChargeError> {
            thread::sleep(self.time);
            if self.succeeds { Ok(()) } else { Err(Unavailable::Down.into()) }
        }

        fn is_durable(&self, _: u64) -> bool {
            false
        }

        fn when_durable(self: Arc<Self>, up_to: u64, next: Next) {
            thread::spawn(move || next(self.sync(up_to)));
        }
    }

    /// An operation that becomes durable, or fails, after a time.
    pub(crate) fn durable_after(time: Duration, succeeds: bool) -> Durable {
        Durable { books: Arc::new(Slow { time, succeeds }), up_to: 1 }
    }
}
