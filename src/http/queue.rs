//! A bounded queue between the acceptor and the workers that sleeps instead of spinning.
//!
//! A channel that spins before it sleeps spends, on a busy machine, a third of a worker's time giving way to others.
//! Knows nothing of what it carries.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Items on their way, at most so many.
#[derive(Debug)]
pub struct BoundedQueue<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
    left: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    closed: bool,
}

impl<T> BoundedQueue<T> {
    /// A queue for at most `capacity` items.
    pub fn new(capacity: usize) -> Self {
        let state = State { items: VecDeque::with_capacity(capacity), closed: false };
        Self { state: Mutex::new(state), arrived: Condvar::new(), left: Condvar::new(), capacity }
    }

    /// Puts an item in, or gives it back when the queue is full or closed.
    pub fn try_push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.closed || state.items.len() >= self.capacity {
            return Err(item);
        }
        state.items.push_back(item);
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    /// Puts an item in, waiting for room; gives it back when the queue is closed.
    pub fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        while !state.closed && state.items.len() >= self.capacity {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return Err(item);
        }
        state.items.push_back(item);
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    /// Takes the oldest item, waiting for one; nothing when the queue is closed and empty.
    pub fn pop(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                drop(state);
                self.left.notify_one();
                return Some(item);
            }
            if state.closed {
                return None;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes nothing more in; what is inside can still be taken out.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
        self.left.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn a_full_queue_gives_the_item_back() {
        let queue = BoundedQueue::new(1);
        assert_eq!(queue.try_push(1), Ok(()));
        assert_eq!(queue.try_push(2), Err(2));
        assert_eq!(queue.pop(), Some(1));
        assert_eq!(queue.try_push(3), Ok(()));
    }

    #[test]
    fn a_closed_queue_is_emptied_and_takes_nothing_more() {
        let queue = BoundedQueue::new(2);
        queue.push(1).unwrap();
        queue.close();
        assert_eq!((queue.push(2), queue.try_push(3)), (Err(2), Err(3)));
        assert_eq!((queue.pop(), queue.pop()), (Some(1), None));
    }

    #[test]
    fn every_item_reaches_exactly_one_of_many_takers() {
        let queue = Arc::new(BoundedQueue::new(4));
        let takers: Vec<_> = (0..4)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || std::iter::from_fn(|| queue.pop()).collect::<Vec<u32>>())
            })
            .collect();
        for item in 0..10_000 {
            queue.push(item).unwrap();
        }
        queue.close();
        let mut taken: Vec<u32> = takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect();
        taken.sort_unstable();
        assert_eq!(taken, (0..10_000).collect::<Vec<_>>());
    }
}
