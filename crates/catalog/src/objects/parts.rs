//! The parts of an object, carried out by a few threads at a time. Does not depend on stores.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::error::ObjectError;

/// Most parts of one object under way at the same time. One connection to a store gives some 50 to 100 MB a second.
pub(super) const PARALLEL_MAX: u64 = 8;

/// How a length falls into parts.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) length: u64,
    /// Bytes of each part but the last; at least 1.
    pub(super) step: u64,
}

impl Parts {
    pub(super) const fn count(self) -> u64 {
        self.length.div_ceil(self.step)
    }

    /// The bytes of a part.
    pub(super) fn range(self, part: u64) -> Range<u64> {
        let start = part.saturating_mul(self.step).min(self.length);
        start..start.saturating_add(self.step).min(self.length)
    }
}

/// Carries the parts out in their order, several at a time. After the first failure no further one is begun.
pub(super) fn in_parallel(
    parts: Range<u64>,
    work: &(dyn Fn(u64) -> Result<(), ObjectError> + Sync),
) -> Result<(), ObjectError> {
    let (next, failure) = (AtomicU64::new(parts.start), Mutex::new(None));
    let take_turns = || {
        while failure.lock().is_none() {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts.end {
                return;
            }
            if let Err(error) = work(part) {
                failure.lock().get_or_insert(error);
            }
        }
    };
    let helpers = (parts.end - parts.start).min(PARALLEL_MAX).saturating_sub(1);
    thread::scope(|scope| {
        for _ in 0..helpers {
            // This thread works as well, so a helper that cannot be started is only missed.
            let started =
                thread::Builder::new().name("object-part".to_owned()).spawn_scoped(scope, take_turns);
            if started.is_err() {
                break;
            }
        }
        take_turns();
    });
    failure.into_inner().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_every_byte_once() {
        for (length, step) in [(0, 4), (1, 4), (4, 4), (5, 4), (8, 4), (9, 1)] {
            let parts = Parts { length, step };
            let bytes: Vec<u64> = (0..parts.count()).flat_map(|part| parts.range(part)).collect();
            assert_eq!(bytes, (0..length).collect::<Vec<_>>());
        }
    }

    #[test]
    fn carries_out_every_part_once_and_stops_at_failure() {
        let done = Mutex::new(Vec::new());
        in_parallel(3..40, &|part| {
            done.lock().push(part);
            Ok(())
        })
        .unwrap();
        let mut parts = done.into_inner();
        parts.sort_unstable();
        assert_eq!(parts, (3..40).collect::<Vec<_>>());
        let begun = AtomicU64::new(0);
        let failed = in_parallel(0..1_000, &|part| {
            begun.fetch_add(1, Ordering::Relaxed);
            let object = part.to_string();
            if part == 5 { Err(ObjectError::Missing { object }) } else { Ok(()) }
        });
        assert!(matches!(failed, Err(ObjectError::Missing { object }) if object == "5"));
        assert!(begun.into_inner() < 1_000);
    }
}
