//! A bounded number of places, taken without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Places that can be taken and come back by themselves.
#[derive(Debug)]
pub struct Slots {
    free: AtomicUsize,
}

impl Slots {
    /// So many places.
    pub fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { free: AtomicUsize::new(count) })
    }

    /// Takes a place, or nothing when none is free.
    pub fn take(self: &Arc<Self>) -> Option<Slot> {
        let taken = self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| free.checked_sub(1));
        taken.is_ok().then(|| Slot { slots: Arc::clone(self) })
    }
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.free.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_when_it_is_dropped() {
        let slots = Slots::new(1);
        let first = slots.take().unwrap();
        assert!(slots.take().is_none());
        drop(first);
        assert!(slots.take().is_some());
    }
}
