//! Limits the attempts of one subject in a sliding window, such as sign-ins with one e-mail address.
//!
//! Keeps the moment of every attempt that counts, so no window of that length ever holds more than the limit. Does not
//! depend on the clock or on the kind of attempt.

use std::collections::VecDeque;
use std::hash::Hash;
use std::net::IpAddr;

use crate::access::meter::{MeterTable, Metered};
use crate::client_address::client_key;
use mercato_base::clock::Moment;

/// Refused, until a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many attempts; try again in {retry_after_seconds} s")]
pub struct Throttled {
    /// Whole seconds until an attempt is admitted, at least 1.
    pub retry_after_seconds: u64,
}

/// Attempts by subject.
pub(super) struct Throttle<S> {
    table: MeterTable<S, Attempts>,
    limit: usize,
    window_seconds: i64,
}

/// The attempts of one subject, oldest first; as many as the limit at most.
#[derive(Default)]
struct Attempts(VecDeque<Moment>);

impl Metered for Attempts {
    fn new(_: Moment) -> Attempts {
        Attempts::default()
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Moment>()
    }
}

impl<S: Copy + Eq + Hash> Throttle<S> {
    /// At most `limit` attempts in any `window_seconds`, for at most `capacity` subjects at one time.
    pub(super) fn new(capacity: usize, limit: usize, window_seconds: i64) -> Throttle<S> {
        Throttle { table: MeterTable::new(capacity), limit, window_seconds }
    }

    /// Counts an attempt and admits it, or refuses it. A refused attempt is not counted.
    pub(super) fn admit(&self, subject: S, now: Moment) -> Result<(), Throttled> {
        let admitted = self.table.with(subject, now, |Attempts(attempts)| {
            let window = self.window_seconds.saturating_mul(1_000);
            // After the clock was set back, attempts in the future must expire too.
            attempts.retain(|at| (-window..window).contains(&now.millis_since(*at)));
            if attempts.len() < self.limit {
                attempts.push_back(now);
                return Ok(());
            }
            let free_at = attempts.front().map_or(now, |oldest| oldest.plus_seconds(self.window_seconds));
            Err(Throttled { retry_after_seconds: now.seconds_until(free_at).max(1) })
        });
        admitted.unwrap_or(Ok(()))
    }

    /// Takes an attempt back that was admitted at this moment.
    pub(super) fn forgive(&self, subject: S, at: Moment) {
        self.table.with(subject, at, |Attempts(attempts)| {
            if let Some(place) = attempts.iter().rposition(|counted| *counted == at) {
                attempts.remove(place);
            }
        });
    }
}

/// Attempts by the address of a client.
pub struct AddressThrottle(Throttle<[u8; 16]>);

impl AddressThrottle {
    /// At most `limit` attempts of an address in any `window_seconds`, for at most `capacity` addresses at one time.
    pub fn new(capacity: usize, limit: usize, window_seconds: i64) -> AddressThrottle {
        AddressThrottle(Throttle::new(capacity, limit, window_seconds))
    }

    /// Counts an attempt and admits it, or refuses it. A refused attempt is not counted.
    pub fn admit(&self, address: IpAddr, now: Moment) -> Result<(), Throttled> {
        self.0.admit(client_key(address), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: i64) -> Moment {
        Moment::from_unix_millis(1_795_228_297_000).plus_seconds(seconds)
    }

    proptest! {
        /// The naive model keeps every attempt that was admitted and not forgiven.
        #[test]
        fn keeps_limit_in_any_window(
            steps in prop::collection::vec((0..400_i64, any::<bool>()), 1..200),
        ) {
            let throttle: Throttle<u8> = Throttle::new(64, 5, 900);
            let (mut counted, mut now): (Vec<i64>, i64) = (Vec::new(), 0);
            for (pause, forgiven) in steps {
                now += pause;
                let recent = counted.iter().filter(|then| now - **then < 900).count();
                let admitted = throttle.admit(1, at(now));
                prop_assert_eq!(admitted.is_ok(), recent < 5);
                match admitted {
                    Ok(()) if forgiven => throttle.forgive(1, at(now)),
                    Ok(()) => counted.push(now),
                    Err(Throttled { retry_after_seconds }) => {
                        let then = now + retry_after_seconds as i64;
                        prop_assert!(counted.iter().filter(|before| then - **before < 900).count() < 5);
                    }
                }
                prop_assert!(throttle.admit(2, at(now * 1_000)).is_ok(), "others are counted apart");
            }
        }
    }

    #[test]
    fn tolerates_clock_set_back() {
        let throttle: Throttle<u8> = Throttle::new(64, 1, 900);
        throttle.admit(1, at(10_000)).unwrap();
        throttle.admit(1, at(0)).unwrap();
        assert!(throttle.admit(1, at(-5)).is_err());
    }

    #[test]
    fn bounds_memory_for_many_subjects() {
        let throttle: Throttle<u64> = Throttle::new(1_600, 10, 900);
        for subject in 0..50_000 {
            throttle.admit(subject, at(0)).unwrap();
        }
        let (subjects, bytes) = throttle.table.size();
        assert_eq!(subjects, 1_600);
        assert!(bytes < 1_600 * 300, "{bytes}");
    }
}
