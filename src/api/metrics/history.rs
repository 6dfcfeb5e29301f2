//! The last hour of a few counters, for the operator's plots.
//!
//! A ring in memory: a start begins it anew. A system that keeps metrics for longer reads `/metrics`. Does not depend on
//! plots; the caller says how much time has passed.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time between two samples of the history of metrics.
const HISTORY_INTERVAL: Duration = Duration::from_secs(10);
/// Samples that are kept: those of an hour and its first moment.
const HISTORY_SAMPLES_MAX: usize = 361;

/// Sums since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Answers of both listeners.
    pub requests: u64,
    /// Of them, refusals (4xx).
    pub refused: u64,
    /// Of them, failures (5xx).
    pub failed: u64,
    /// Rows delivered.
    pub rows: u64,
    /// Credits charged.
    pub credits: u64,
    /// Handlers that panicked.
    pub panics: u64,
}

/// The totals of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistorySample {
    /// Time since the start.
    pub elapsed: Duration,
    /// Sums since the start.
    pub totals: Totals,
    /// Resident memory that is no file, in bytes.
    pub memory_bytes: u64,
}

/// Samples of the last hour, oldest first.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<VecDeque<HistorySample>>);

impl History {
    /// Whether `HISTORY_INTERVAL` has passed since the newest sample.
    pub(super) fn is_due(&self, elapsed: Duration) -> bool {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        samples.back().is_none_or(|newest| elapsed >= newest.elapsed.saturating_add(HISTORY_INTERVAL))
    }

    /// Keeps a sample; the oldest makes room.
    pub(super) fn push(&self, sample: HistorySample) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while samples.len() >= HISTORY_SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// The samples, oldest first.
    pub(super) fn samples(&self) -> Vec<HistorySample> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_one_sample_an_interval_for_an_hour() {
        let history = History::default();
        let mut taken = 0_u64;
        for seconds in 0..7_300 {
            let elapsed = Duration::from_secs(seconds);
            if history.is_due(elapsed) {
                taken += 1;
                history.push(HistorySample { elapsed, memory_bytes: seconds, ..HistorySample::default() });
            }
        }
        assert_eq!(taken, 730);
        let kept = history.samples();
        assert_eq!(kept.len(), HISTORY_SAMPLES_MAX);
        let (oldest, newest) = (kept.first().unwrap(), kept.last().unwrap());
        assert_eq!((newest.elapsed - oldest.elapsed).as_secs(), 3_600);
        assert!(kept.is_sorted_by_key(|sample| sample.elapsed));
        assert!(!history.is_due(Duration::from_secs(1)), "an earlier moment is none to keep");
    }
}
