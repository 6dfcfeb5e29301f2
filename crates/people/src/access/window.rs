//! A sliding window of 60 seconds over the requests of one subject.
//!
//! Requests closer together than the grain form one run, which bounds the window by its limit and by the runs of a
//! minute. A run expires 60 seconds after its last request, so no 60 seconds admit more than the limit. Does not depend
//! on the clock or on keys.

use std::collections::VecDeque;

use mercato_base::clock::Moment;

/// Requests of one subject closer together than this form one run.
const WINDOW_GRAIN_MILLIS: i32 = 100;

const WINDOW_MILLIS: i32 = 60_000;

/// The requests of one subject in the last 60 seconds.
#[derive(Debug, Clone, Default)]
pub struct Window {
    runs: VecDeque<Run>,
    total: u32,
}

/// Requests within one grain. A busy subject has up to 601 runs, so a run takes 8 bytes.
///
/// Times are milliseconds modulo 2^32, and ages are signed differences. A run of 49 days ago looks recent for one
/// minute; at worst it delays one request of a subject that was idle for so long.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    span: u16,
    count: u16,
}
const _: () = assert!(size_of::<Run>() == 8);

impl Run {
    /// Milliseconds since its last request.
    fn age(self, now: u32) -> i32 {
        age(now, self.first.wrapping_add(u32::from(self.span)))
    }

    fn is_over(self, now: u32) -> bool {
        let age = self.age(now);
        // After the clock was set back, runs in the future must expire too.
        !(-WINDOW_MILLIS..WINDOW_MILLIS).contains(&age)
    }
}

impl Window {
    /// The number of requests in the window.
    pub(super) fn count(&mut self, now: Moment) -> u32 {
        let now = wrapped(now);
        while let Some(run) = self.runs.front().filter(|run| run.is_over(now)) {
            self.total = self.total.saturating_sub(u32::from(run.count));
            self.runs.pop_front();
        }
        if self.runs.is_empty() && self.runs.capacity() > 0 {
            self.runs = VecDeque::new();
        }
        self.total
    }

    /// Adds one request.
    pub(super) fn add(&mut self, now: Moment) {
        let now = wrapped(now);
        self.total = self.total.saturating_add(1);
        if let Some(run) = self.runs.back_mut().filter(|run| run.count < u16::MAX) {
            // The clock was set back a little: the last run takes the request.
            let since = age(now, run.first);
            if since < WINDOW_GRAIN_MILLIS {
                run.span = run.span.max(u16::try_from(since).unwrap_or(0));
                run.count += 1;
                return;
            }
        }
        self.runs.push_back(Run { first: now, span: 0, count: 1 });
    }

    /// When how many requests expire, earliest first.
    pub(super) fn ends(&self, now: Moment) -> impl Iterator<Item = (Moment, u32)> {
        let end = move |run: &Run| now.plus_millis(i64::from(WINDOW_MILLIS - run.age(wrapped(now))));
        self.runs.iter().map(move |run| (end(run), u32::from(run.count)))
    }

    /// Requests by the second in which they were counted, oldest first: seconds since 1970 and requests.
    pub(super) fn seconds(&self, now: Moment) -> Vec<(i64, u32)> {
        let mut seconds: Vec<(i64, u32)> = Vec::new();
        for run in &self.runs {
            // Its last request counts for all of them, because they expire with it.
            let second = now.plus_millis(-i64::from(run.age(wrapped(now)))).unix_seconds();
            match seconds.last_mut().filter(|(last, _)| *last >= second) {
                Some((_, requests)) => *requests = requests.saturating_add(u32::from(run.count)),
                None => seconds.push((second, u32::from(run.count))),
            }
        }
        seconds
    }

    /// Heap memory of the window in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
    }
}

fn wrapped(at: Moment) -> u32 {
    at.unix_millis() as u32
}

fn age(now: u32, then: u32) -> i32 {
    now.wrapping_sub(then).cast_signed()
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
        /// The naive model keeps every request. The window may be stricter by one grain, never more generous.
        #[test]
        fn keeps_limit_in_any_minute(pauses in prop::collection::vec(0..9_000_i64, 1..300)) {
            let mut window = Window::default();
            let mut passed: Vec<i64> = Vec::new();
            let mut now = 0;
            for pause in pauses {
                now += pause;
                let minute = i64::from(WINDOW_MILLIS);
                let exact = passed.iter().filter(|then| now - **then < minute).count() as u32;
                let strict = passed.iter().filter(|then| now - **then < minute + i64::from(WINDOW_GRAIN_MILLIS)).count();
                let counted = window.count(at(now));
                prop_assert!(counted >= exact && counted <= strict as u32, "{exact} {counted} {strict}");
                if counted < LIMIT {
                    window.add(at(now));
                    passed.push(now);
                } else {
                    let (free, _) = window.ends(at(now)).next().unwrap();
                    prop_assert!(free > at(now));
                    prop_assert!(window.clone().count(free) < LIMIT);
                }
                prop_assert!(window.runs.len() <= LIMIT as usize);
                let seconds = window.seconds(at(now));
                prop_assert!(seconds.is_sorted_by(|one, next| one.0 < next.0));
                prop_assert!(seconds.last().is_none_or(|(last, _)| *last <= at(now).unix_seconds()));
                window.count(at(now));
                let sum: u32 = window.seconds(at(now)).iter().map(|(_, requests)| requests).sum();
                prop_assert_eq!(sum, window.total);
            }
        }
    }

    #[test]
    fn bounds_memory_and_frees_idle_windows() {
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
    fn tolerates_clock_set_back() {
        let mut window = Window::default();
        window.add(at(10_000_000));
        assert_eq!(window.count(at(0)), 0);
        window.add(at(0));
        window.add(at(-500));
        assert_eq!(window.count(at(-500)), 2);
        assert_eq!(window.count(at(60_000)), 0);
    }

    #[test]
    fn tolerates_wrapped_times() {
        let wrap = i64::from(u32::MAX) + 1;
        let before = Moment::from_unix_millis(wrap * 420 - 30_000);
        let mut window = Window::default();
        window.add(before);
        assert_eq!(window.ends(before.plus_millis(50_000)).next(), Some((before.plus_millis(60_000), 1)));
        assert_eq!(window.count(before.plus_millis(59_999)), 1);
        assert_eq!(window.count(before.plus_millis(60_000)), 0);
    }
}
