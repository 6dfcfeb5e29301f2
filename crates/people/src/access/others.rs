//! Requests of one subject that other servers have counted, as they last told.
//!
//! They tell requests by the second. A second leaves the minute sixty seconds after its end, so the minute is stricter by a second
//! at most, never more generous. Does not depend on limits, on the books or on the clock.

use std::collections::VecDeque;

use mercato_base::clock::{Moment, UtcDay};

const WINDOW_SECONDS: i64 = 60;

/// Requests that others have counted.
#[derive(Debug, Clone)]
pub struct Others {
    day: UtcDay,
    today: u32,
    /// Seconds since 1970 and requests, oldest first.
    seconds: VecDeque<(i64, u32)>,
    total: u32,
}

impl Others {
    /// What others have told: requests of a day, and those of the last minute by the second, oldest first.
    pub(super) fn new(day: UtcDay, today: u32, seconds: Vec<(i64, u32)>) -> Others {
        let total = seconds.iter().fold(0, |sum: u32, (_, requests)| sum.saturating_add(*requests));
        Others { day, today, seconds: seconds.into(), total }
    }

    /// Requests in the last minute.
    pub(super) fn count(&mut self, now: Moment) -> u32 {
        while let Some((_, requests)) = self.seconds.front().filter(|(second, _)| end(*second) <= now) {
            self.total = self.total.saturating_sub(*requests);
            self.seconds.pop_front();
        }
        self.total
    }

    /// Requests of a day.
    pub(super) fn count_on(&self, day: UtcDay) -> u32 {
        if self.day == day { self.today } else { 0 }
    }

    /// When how many requests leave the minute, earliest first.
    pub(super) fn ends(&self) -> impl Iterator<Item = (Moment, u32)> {
        self.seconds.iter().map(|(second, requests)| (end(*second), *requests))
    }

    /// Heap memory in bytes, this included.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Others>() + self.seconds.capacity() * size_of::<(i64, u32)>()
    }
}

/// When a second has left the minute.
const fn end(second: i64) -> Moment {
    Moment::from_unix_millis(second.saturating_add(1 + WINDOW_SECONDS).saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lets_second_go_sixty_seconds_after_its_end() {
        let at = |millis: i64| Moment::from_unix_millis(1_795_228_297_000 + millis);
        let second = at(0).unix_seconds();
        let mut others = Others::new(at(0).day(), 9, vec![(second, 5), (second + 10, 3)]);
        assert_eq!((others.count(at(0)), others.count(at(60_999))), (8, 8));
        assert_eq!(others.ends().collect::<Vec<_>>(), [(at(61_000), 5), (at(71_000), 3)]);
        assert_eq!((others.count(at(61_000)), others.count(at(71_000))), (3, 0));
        let today = at(0).day();
        assert_eq!((others.count_on(today), others.count_on(today.plus_days(1))), (9, 0));
    }
}
