//! Schedules the builds of columns on several threads inside one memory limit, the largest first. A reorder buffer
//! delivers finished columns in file order. Does not depend on Parquet or store files.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    pub column: usize,
    /// Memory that avoids spilling, bytes.
    pub wanted_bytes: u64,
    /// Additional memory of its reader, bytes.
    pub reading_bytes: u64,
}

impl Job {
    fn all_bytes(&self) -> u64 {
        self.wanted_bytes.saturating_add(self.reading_bytes)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub threads: usize,
    /// Memory for all columns that are being read and built, bytes.
    pub building_bytes: u64,
    /// Memory for finished columns in the reorder buffer, bytes.
    pub waiting_bytes: u64,
    /// Smallest budget of a column, bytes.
    pub budget_bytes_min: u64,
}

/// A value whose memory is counted while it waits.
pub trait MemoryUse: Send {
    fn memory_bytes(&self) -> u64;
}

/// Runs `build` (column, budget) for every job and `append` for every result, in the order of columns 0, 1, 2… `spill`
/// moves a result from memory to disk.
pub fn run<T: MemoryUse, E: Send>(
    jobs: Vec<Job>,
    bounds: Bounds,
    build: impl Fn(usize, u64) -> Result<T, E> + Sync,
    spill: impl Fn(&mut T) -> Result<(), E> + Sync,
    append: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let queue = Queue::new(jobs, bounds);
    let finished = Mutex::new(ReorderBuffer { append, next: 0, held: HashMap::new(), held_bytes: 0 });
    std::thread::scope(|scope| {
        for _ in 0..bounds.threads.max(1) {
            scope.spawn(|| {
                while let Some((column, budget, reserved)) = queue.acquire() {
                    let outcome = build(column, budget)
                        .and_then(|built| lock(&finished).push(column, built, bounds.waiting_bytes, &spill));
                    queue.release(reserved, outcome.err());
                }
            });
        }
    });
    match queue.failure() {
        None => Ok(()),
        Some(failure) => Err(failure),
    }
}

/// The waiting jobs, and a semaphore of free bytes.
struct Queue<E> {
    state: Mutex<QueueState<E>>,
    changed: Condvar,
    budget_bytes_min: u64,
}

struct QueueState<E> {
    /// Sorted by size, the largest last; of equal sizes, the first column is last. Removal takes logarithmic time.
    waiting: BTreeMap<(u64, Reverse<usize>), Job>,
    free_bytes: u64,
    running: usize,
    failure: Option<E>,
}

impl<E> Queue<E> {
    fn new(jobs: Vec<Job>, bounds: Bounds) -> Queue<E> {
        // The largest column gets at most three quarters, so that smaller ones can be built beside it.
        let share = if bounds.threads > 1 { bounds.building_bytes / 4 * 3 } else { bounds.building_bytes };
        let share = share.max(bounds.budget_bytes_min);
        let jobs = jobs.into_iter().map(|job| {
            let share = share.saturating_sub(job.reading_bytes).max(bounds.budget_bytes_min);
            Job { wanted_bytes: job.wanted_bytes.clamp(bounds.budget_bytes_min, share), ..job }
        });
        let waiting = jobs.map(|job| ((job.all_bytes(), Reverse(job.column)), job)).collect();
        let state = QueueState { waiting, free_bytes: bounds.building_bytes, running: 0, failure: None };
        Queue { state: Mutex::new(state), changed: Condvar::new(), budget_bytes_min: bounds.budget_bytes_min }
    }

    /// Returns the largest job that fits the free memory, its build budget and its reserved bytes. Blocks while no job
    /// fits. `None` at the end or after a failure.
    fn acquire(&self) -> Option<(usize, u64, u64)> {
        let mut state = lock(&self.state);
        loop {
            if state.failure.is_some() || state.waiting.is_empty() {
                return None;
            }
            let free = state.free_bytes;
            let fitting = state.waiting.range(..=(free, Reverse(0))).next_back();
            let alone = if state.running == 0 { state.waiting.last_key_value() } else { None };
            let next = fitting.or(alone).map(|(key, _)| *key);
            if let Some(job) = next.and_then(|key| state.waiting.remove(&key)) {
                let budget = job.wanted_bytes.min(free.saturating_sub(job.reading_bytes));
                let budget = budget.max(self.budget_bytes_min);
                let reserved = free.min(budget.saturating_add(job.reading_bytes));
                state.free_bytes = free - reserved;
                state.running += 1;
                return Some((job.column, budget, reserved));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn release(&self, reserved: u64, failure: Option<E>) {
        let mut state = lock(&self.state);
        state.free_bytes += reserved;
        state.running -= 1;
        state.failure = state.failure.take().or(failure);
        self.changed.notify_all();
    }

    fn failure(self) -> Option<E> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).failure
    }
}

/// Reorders finished columns into file order.
struct ReorderBuffer<T, A> {
    append: A,
    next: usize,
    held: HashMap<usize, T>,
    held_bytes: u64,
}

impl<T: MemoryUse, E, A: FnMut(T) -> Result<(), E>> ReorderBuffer<T, A> {
    fn push(
        &mut self,
        column: usize,
        mut built: T,
        waiting_bytes: u64,
        spill: &impl Fn(&mut T) -> Result<(), E>,
    ) -> Result<(), E> {
        if column != self.next {
            if self.held_bytes + built.memory_bytes() > waiting_bytes {
                spill(&mut built)?;
            }
            self.held_bytes += built.memory_bytes();
            self.held.insert(column, built);
            return Ok(());
        }
        (self.append)(built)?;
        self.next += 1;
        while let Some(built) = self.held.remove(&self.next) {
            self.held_bytes -= built.memory_bytes();
            (self.append)(built)?;
            self.next += 1;
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The scope propagates a panic of another thread; the state stays valid until then.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct Built(usize, u64);

    impl MemoryUse for Built {
        fn memory_bytes(&self) -> u64 {
            self.1
        }
    }

    fn jobs(wanted: &[u64]) -> Vec<Job> {
        wanted
            .iter()
            .enumerate()
            .map(|(column, bytes)| Job { column, wanted_bytes: *bytes, reading_bytes: 0 })
            .collect()
    }

    #[test]
    fn delivers_columns_in_order_within_memory_limit() {
        let bounds = Bounds { threads: 3, building_bytes: 100, waiting_bytes: 30, budget_bytes_min: 10 };
        let (used, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let mut order = Vec::new();
        let outcome = run(
            jobs(&[1, 90, 20, 500, 7, 60, 60, 3]),
            bounds,
            |column, budget| {
                most.fetch_max(used.fetch_add(budget, Ordering::SeqCst) + budget, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(budget / 10));
                used.fetch_sub(budget, Ordering::SeqCst);
                Ok::<_, String>(Built(column, 20))
            },
            |built| {
                built.1 = 0;
                Ok(())
            },
            |built| {
                order.push(built.0);
                Ok(())
            },
        );
        assert_eq!(outcome, Ok(()));
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(most.load(Ordering::SeqCst) <= 100, "{most:?}");
    }

    #[test]
    fn stops_after_first_failure() {
        let bounds = Bounds { threads: 1, building_bytes: 10, waiting_bytes: 10, budget_bytes_min: 1 };
        let built = AtomicU64::new(0);
        let outcome = run(
            jobs(&[1, 2, 9, 3]),
            bounds,
            |column, _| {
                built.fetch_add(1, Ordering::SeqCst);
                if column == 2 { Err("no") } else { Ok(Built(column, 1)) }
            },
            |_| Ok(()),
            |_| Ok(()),
        );
        assert_eq!((outcome, built.load(Ordering::SeqCst)), (Err("no"), 1));
    }
}
