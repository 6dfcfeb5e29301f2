//! Where one thread leaves something for another that waits for it. Knows nothing of the books.
//!
//! Whoever waits sleeps at once. Channels look again a few times first and give up the processor in between, which costs
//! nothing where the machine is idle; where it is busy, each time may cost milliseconds, because a thread that gives up
//! its processor comes behind all others, also when what it waits for has come meanwhile.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Room for one item.
#[derive(Debug)]
pub(super) struct Letterbox<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    item: Option<T>,
    /// Whether somebody has to be woken.
    is_awaited: bool,
}

impl<T> Default for Letterbox<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { item: None, is_awaited: false }), changed: Condvar::new() }
    }
}

impl<T> Letterbox<T> {
    /// Leaves the item, instead of one that nobody has taken, and wakes whoever waits.
    pub(super) fn put(&self, item: T) {
        let mut state = self.lock();
        state.item = Some(item);
        let is_awaited = state.is_awaited;
        drop(state);
        if is_awaited {
            self.changed.notify_one();
        }
    }

    /// What is there.
    #[cfg(test)]
    pub(super) fn take(&self) -> Option<T> {
        self.lock().item.take()
    }

    /// Whether nothing is there.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().item.is_none()
    }

    /// What is there, or comes within the time. One thread at a time may wait.
    pub(super) fn wait(&self, longest: Duration) -> Option<T> {
        let began = Instant::now();
        let mut state = self.lock();
        while state.item.is_none() {
            let Some(left) = longest.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
                break;
            };
            state.is_awaited = true;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_awaited = false;
        state.item.take()
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_is_left_is_found_once_and_the_latest_replaces_what_nobody_took() {
        let letterbox = Letterbox::default();
        assert!(letterbox.is_empty());
        assert_eq!(letterbox.wait(Duration::from_millis(1)), None);
        letterbox.put(1);
        letterbox.put(2);
        assert!(!letterbox.is_empty());
        assert_eq!((letterbox.take(), letterbox.take()), (Some(2), None));
        letterbox.put(3);
        assert_eq!(letterbox.wait(Duration::ZERO), Some(3));
    }

    /// Each hands the other the next number: one wake-up that is lost stops both.
    #[test]
    fn whoever_waits_is_woken_every_time() {
        let (there, back) = (Letterbox::default(), Letterbox::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                while let Some(number) = there.wait(LONG) {
                    back.put(number + 1);
                    if number >= 20_000 {
                        return;
                    }
                }
            });
            for number in 0..=20_000 {
                there.put(number);
                assert_eq!(back.wait(LONG), Some(number + 1));
            }
        });
    }
}
