//! An operation on its way to the books, and the ticket with which its caller awaits the outcome.
//!
//! An operation that is dropped without being carried out tells its ticket so. Knows no operation in particular.

use std::sync::Arc;
use std::time::Duration;

use super::books::Books;
use super::error::{ChargeError, Unavailable};
use super::letterbox::Letterbox;
use super::queue::Queue;
use crate::limits::ledger::TICKET_WAIT_MILLIS_MAX;

/// Work for the books.
pub(super) struct Operation {
    work: Box<dyn FnOnce(&mut Books) -> Acknowledgement + Send>,
    pub(super) is_awaited: bool,
}

/// Where the caller finds what became of its operation.
pub(super) type Outcome<T> = Arc<Letterbox<Result<T, ChargeError>>>;

/// Where the outcome is told; dropped before, it tells that the operation was not carried out.
struct Teller<T>(Option<Outcome<T>>);

impl<T> Teller<T> {
    fn tell(mut self, result: Result<T, ChargeError>) {
        if let Some(outcome) = self.0.take() {
            outcome.put(result);
        }
    }
}

impl<T> Drop for Teller<T> {
    fn drop(&mut self) {
        if let Some(outcome) = self.0.take() {
            outcome.put(Err(Unavailable::Down.into()));
        }
    }
}

/// Tells the caller. Called after the write, dropped when the write failed.
pub(super) type Acknowledgement = Box<dyn FnOnce() + Send>;

impl Operation {
    /// Work whose outcome somebody awaits.
    pub(super) fn awaited<T: Send + 'static>(
        work: impl FnOnce(&mut Books) -> Result<T, ChargeError> + Send + 'static,
    ) -> (Operation, Outcome<T>) {
        let outcome = Outcome::default();
        let teller = Teller(Some(Arc::clone(&outcome)));
        let work = Box::new(move |books: &mut Books| -> Acknowledgement {
            let result = work(books);
            Box::new(move || teller.tell(result))
        });
        (Operation { work, is_awaited: true }, outcome)
    }

    /// Work that nobody awaits and that may reach the disk a little later.
    pub(super) fn lazy(work: impl FnOnce(&mut Books) + Send + 'static) -> Operation {
        let work = Box::new(move |books: &mut Books| -> Acknowledgement {
            work(books);
            Box::new(|| {})
        });
        Operation { work, is_awaited: false }
    }

    pub(super) fn carry_out(self, books: &mut Books) -> Acknowledgement {
        (self.work)(books)
    }
}

/// An operation that was handed in. Dropping the ticket does not undo the operation.
#[must_use = "the operation is acknowledged only through its ticket"]
pub struct Ticket<T> {
    outcome: Outcome<T>,
    queue: Queue,
    is_awaited: bool,
}

impl<T> Ticket<T> {
    pub(super) fn new(outcome: Outcome<T>, queue: Queue) -> Ticket<T> {
        Ticket { outcome, queue, is_awaited: false }
    }

    /// Waits until the operation is on the disk (as far as the configured durability demands), or refused. Carries it out
    /// on this thread when nobody else is at it.
    pub fn wait(self) -> Result<T, ChargeError> {
        self.wait_at_most(Duration::from_millis(TICKET_WAIT_MILLIS_MAX))
    }

    pub(super) fn wait_at_most(mut self, longest: Duration) -> Result<T, ChargeError> {
        self.is_awaited = true;
        if self.outcome.is_empty() {
            self.queue.help();
        }
        self.outcome.wait(longest).unwrap_or(Err(Unavailable::Stalled.into()))
    }
}

impl<T> Drop for Ticket<T> {
    fn drop(&mut self) {
        if !self.is_awaited {
            self.queue.ring();
        }
    }
}
