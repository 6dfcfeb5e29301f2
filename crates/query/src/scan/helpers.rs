//! Threads that help with a scan. One processor is left to everybody else: a process has at most as many helpers as further
//! processors, and a scan takes those that are free when it begins. It waits for none, so no scan is held up by another.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Parts that are worth a thread.
const PARTS_PER_THREAD_MIN: usize = 4;

/// Helpers that are free in the whole process.
fn free_helpers() -> &'static AtomicUsize {
    static FREE: OnceLock<AtomicUsize> = OnceLock::new();
    FREE.get_or_init(|| {
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        AtomicUsize::new(processors.saturating_sub(1))
    })
}

/// Helpers of one scan, free again when this is dropped.
struct Helpers(usize);

impl Helpers {
    /// Takes up to `most` helpers, or as many as are free.
    fn take(most: usize) -> Helpers {
        let left = |free: usize| free.checked_sub(most.min(free));
        let before = free_helpers().fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        Helpers(before.map_or(0, |free| most.min(free)))
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        free_helpers().fetch_add(self.0, Ordering::Relaxed);
    }
}

/// Evaluates the parts `0..count` on this thread and on free helpers, and returns the results in order. After an error no
/// thread begins another part.
pub(crate) fn evaluate_parts<T: Send, E: Send>(
    count: usize,
    evaluate: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let helpers = Helpers::take((count / PARTS_PER_THREAD_MIN).saturating_sub(1));
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, T)>, E> {
        let mut done = Vec::new();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= count {
                return Ok(done);
            }
            let result = evaluate(part).inspect_err(|_| next.store(count, Ordering::Relaxed))?;
            done.push((part, result));
        }
    };
    let mut parts = thread::scope(|scope| {
        let start = || thread::Builder::new().name("scan".to_owned()).spawn_scoped(scope, work);
        // A system that gives no thread only makes the scan slower.
        let helping: Vec<_> = (0..helpers.0).filter_map(|_| start().ok()).collect();
        let mut done = work();
        for helper in helping {
            let helped = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
            done = done.and_then(|mut done| helped.map(|mut helped| done.append(&mut helped)).map(|()| done));
        }
        done
    })?;
    parts.sort_unstable_by_key(|(part, _)| *part);
    Ok(parts.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_parts_in_order_whoever_evaluates_them() {
        let parts = evaluate_parts(1_000, Ok::<usize, ()>).unwrap();
        assert_eq!(parts, (0..1_000).collect::<Vec<_>>());
        assert_eq!(evaluate_parts(0, Ok::<usize, ()>), Ok(Vec::new()));
    }

    #[test]
    fn begins_no_part_after_error() {
        let begun = AtomicUsize::new(0);
        let failed = evaluate_parts(10_000, |part| {
            begun.fetch_add(1, Ordering::Relaxed);
            if part == 3 { Err("damaged") } else { Ok(part) }
        });
        assert_eq!(failed, Err("damaged"));
        // A helper may be in the middle of parts of its own.
        assert!(begun.load(Ordering::Relaxed) < 10_000);
    }

    #[test]
    fn takes_no_more_helpers_than_are_free() {
        let all = Helpers::take(usize::MAX);
        assert_eq!(Helpers::take(1).0, 0, "{} are taken", all.0);
        assert_eq!(evaluate_parts(100, Ok::<usize, ()>).map(|parts| parts.len()), Ok(100), "it works alone");
    }
}
