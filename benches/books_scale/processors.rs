//! Processors that are shared evenly: each of n works gets the smaller of one processor and its share of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A moment in seconds, which has an order.
#[derive(Clone, Copy, PartialEq)]
pub struct Time(pub f64);

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Some processors and the works on them.
pub struct Processors {
    count: f64,
    /// Seconds that each work has got which has been there from the beginning.
    given: f64,
    since: f64,
    /// Works by what will have been given when they are done.
    works: BinaryHeap<Reverse<(Time, usize)>>,
    /// Changes with every work that comes or goes.
    version: u64,
    busy: f64,
}

impl Processors {
    pub const fn new(count: f64) -> Processors {
        Processors { count, given: 0.0, since: 0.0, works: BinaryHeap::new(), version: 0, busy: 0.0 }
    }

    /// A work of so many seconds begins.
    pub fn add(&mut self, now: f64, seconds: f64, work: usize) {
        self.advance(now);
        self.works.push(Reverse((Time(self.given + seconds.max(0.0)), work)));
        self.version += 1;
    }

    /// When the first work is done, unless others come or go before.
    pub fn next(&mut self, now: f64) -> Option<(f64, u64)> {
        self.advance(now);
        let Reverse((first, _)) = self.works.peek()?;
        Some((now + (first.0 - self.given).max(0.0) / self.pace(), self.version))
    }

    /// The work that is done now; nothing where works came or went since that was foreseen.
    pub fn take_done(&mut self, now: f64, version: u64) -> Option<usize> {
        if version != self.version {
            return None;
        }
        self.advance(now);
        self.version += 1;
        self.works.pop().map(|Reverse((_, work))| work)
    }

    /// Processor time spent so far.
    pub fn busy(&mut self, now: f64) -> f64 {
        self.advance(now);
        self.busy
    }

    fn pace(&self) -> f64 {
        (self.count / self.works.len().max(1) as f64).min(1.0)
    }

    fn advance(&mut self, now: f64) {
        let passed = (now - self.since).max(0.0);
        self.given += passed * self.pace();
        self.busy += passed * self.count.min(self.works.len() as f64);
        self.since = now;
    }
}
