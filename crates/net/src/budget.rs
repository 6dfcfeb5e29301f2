//! A bounded quantity that all connections share, such as bytes of memory: parts of it are taken and given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A quantity.
#[derive(Debug)]
pub struct Budget {
    free: AtomicUsize,
}

impl Budget {
    /// An unused budget.
    pub fn new(quantity: usize) -> Arc<Self> {
        Arc::new(Self { free: AtomicUsize::new(quantity) })
    }

    /// Takes `quantity`; `None` when less is left.
    pub fn take(self: &Arc<Self>, quantity: usize) -> Option<Taken> {
        let taken =
            self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| free.checked_sub(quantity));
        taken.is_ok().then(|| Taken { budget: Arc::clone(self), quantity })
    }
}

/// A part of a budget; it goes back when this is dropped.
#[derive(Debug)]
pub struct Taken {
    budget: Arc<Budget>,
    quantity: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.free.fetch_add(self.quantity, Ordering::AcqRel);
    }
}
