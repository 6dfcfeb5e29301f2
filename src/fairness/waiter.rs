//! A thread that waits until another hands it something.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// The place where a waiting thread is given what it waits for.
#[derive(Debug)]
pub struct Waiter<T> {
    slot: Mutex<Option<T>>,
    thread: Thread,
}

impl<T> Waiter<T> {
    /// A place for the calling thread.
    pub fn here() -> Self {
        Self { slot: Mutex::new(None), thread: thread::current() }
    }

    /// Hands it over and wakes the thread.
    pub fn give(&self, item: T) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(item);
        self.thread.unpark();
    }

    /// What was handed over, if anything was.
    pub fn take(&self) -> Option<T> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Sleeps until something is handed over, but not longer than this, and perhaps less. Only for the thread whose
    /// place this is.
    pub fn sleep(&self, longest: Duration) {
        thread::park_timeout(longest);
    }
}
