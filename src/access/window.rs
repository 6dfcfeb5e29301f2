//! A sliding window: how many requests passed in the last 60 seconds, and when the next one may.
//!
//! Requests closer together than the grain are kept as one run, so a window holds at most as many runs as its limit
//! or as fit into a minute, whichever is less. A run leaves 60 seconds after its last request: in no 60 seconds do
//! more pass than the limit says. Knows no clock and no key.

use std::collections::VecDeque;

use crate::clock::Moment;
use crate::limits::access::WINDOW_GRAIN_MILLIS;

const WINDOW_MILLIS: i64 = 60_000;

/// The requests of one subject in the last 60 seconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    runs: VecDeque<Run>,
    total: u32,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    first: i64,
    last: i64,
    count: u32,
}

impl Window {
    /// How many requests count at this moment.
    pub(super) fn count(&mut self, now: Moment) -> u32 {
        // A clock that was set back must not leave runs in the future that never go.
        let now = now.unix_millis();
        let is_over = |run: &Run| run.last + WINDOW_MILLIS <= now || run.first > now + WINDOW_MILLIS;
        while let Some(run) = self.runs.front().filter(|run| is_over(run)) {
            self.total = self.total.saturating_sub(run.count);
            self.runs.pop_front();
        }
        if self.runs.is_empty() && self.runs.capacity() > 0 {
            self.runs = VecDeque::new();
        }
        self.total
    }

    /// Counts one request.
    pub(super) fn add(&mut self, now: Moment) {
        let now = now.unix_millis();
        self.total = self.total.saturating_add(1);
        match self.runs.back_mut() {
            Some(run) if now >= run.first && now - run.first < WINDOW_GRAIN_MILLIS => {
                run.last = run.last.max(now);
                run.count = run.count.saturating_add(1);
            }
            // Set back by a little: the run that is there takes the request.
            Some(run) if now < run.first => run.count = run.count.saturating_add(1),
            _ => self.runs.push_back(Run { first: now, last: now, count: 1 }),
        }
    }

    /// When the oldest request that counts will count no more.
    pub(super) fn next_free(&self) -> Option<Moment> {
        self.runs.front().map(|run| Moment::from_unix_millis(run.last + WINDOW_MILLIS))
    }

    /// Memory that the window holds beside itself.
    pub(super) fn heap_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: u32 = 12;

    fn at(millis: i64) -> Moment {
        Moment::from_unix_millis(1_795_228_297_000 + millis)
    }

    proptest! {
        /// The plain twin keeps every request. The window may be stricter by one grain, never more generous.
        #[test]
        fn no_sixty_seconds_see_more_than_the_limit(pauses in prop::collection::vec(0..9_000_i64, 1..300)) {
            let mut window = Window::default();
            let mut passed: Vec<i64> = Vec::new();
            let mut now = 0;
            for pause in pauses {
                now += pause;
                let exact = passed.iter().filter(|then| now - **then < WINDOW_MILLIS).count() as u32;
                let strict = passed.iter().filter(|then| now - **then < WINDOW_MILLIS + WINDOW_GRAIN_MILLIS).count();
                let counted = window.count(at(now));
                prop_assert!(counted >= exact && counted <= strict as u32, "{exact} {counted} {strict}");
                if counted < LIMIT {
                    window.add(at(now));
                    passed.push(now);
                } else {
                    let free = window.next_free().unwrap();
                    prop_assert!(free > at(now));
                    prop_assert!(window.clone().count(free) < LIMIT);
                }
                prop_assert!(window.runs.len() <= LIMIT as usize);
            }
        }
    }

    #[test]
    fn a_busy_window_stays_small_and_an_idle_one_holds_nothing() {
        let mut window = Window::default();
        for millis in 0..120_000 {
            window.count(at(millis));
            window.add(at(millis));
        }
        assert!(window.runs.len() <= 601, "{}", window.runs.len());
        assert_eq!(window.count(at(300_000)), 0);
        assert_eq!(window.heap_bytes(), 0);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_lock_anybody_out() {
        let mut window = Window::default();
        window.add(at(10_000_000));
        assert_eq!(window.count(at(0)), 0);
        window.add(at(0));
        window.add(at(-500));
        assert_eq!(window.count(at(-500)), 2);
        assert_eq!(window.count(at(60_000)), 0);
    }
}
