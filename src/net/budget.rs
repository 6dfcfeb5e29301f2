//! Memory that all connections share: a number of bytes that is taken and given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of bytes.
#[derive(Debug)]
pub struct Budget {
    free: AtomicUsize,
}

impl Budget {
    /// An unused budget.
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { free: AtomicUsize::new(bytes) })
    }

    /// Takes `bytes`; `None` when fewer are left.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<Taken> {
        let taken =
            self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| free.checked_sub(bytes));
        taken.is_ok().then(|| Taken { budget: Arc::clone(self), bytes })
    }
}

/// A part of a budget; it goes back when this is dropped.
#[derive(Debug)]
pub struct Taken {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.free.fetch_add(self.bytes, Ordering::AcqRel);
    }
}
