//! A thread pool for inference, separate from the request workers.
//!
//! Each inference runs on one thread; further ones wait until their deadline. The threads have low priority: many
//! searches slow down searches, not queries. Does not depend on models.

use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::error::InferenceError;
use super::guard::guarded;

/// Niceness of threads that somebody waits for.
pub const WAITED_FOR_NICENESS: i32 = 5;
/// Niceness of threads that work ahead.
pub const AHEAD_NICENESS: i32 = 15;

/// So many threads, each of which computes one thing at a time.
pub struct InferencePool {
    give_back: Sender<ThreadPool>,
    free: Receiver<ThreadPool>,
}

impl InferencePool {
    /// Starts `threads` threads (at least one) named after `name`, at that niceness.
    pub fn new(name: &'static str, threads: usize, niceness: i32) -> std::io::Result<Self> {
        let threads = threads.max(1);
        let (give_back, free) = bounded(threads);
        for _ in 0..threads {
            // The builder splits its products over the pool that it runs in: a pool of one thread keeps it on one core.
            let pool = ThreadPoolBuilder::new()
                .num_threads(1)
                .thread_name(move |_| name.to_owned())
                .start_handler(move |_| {
                    // A system that refuses only leaves the thread as important as the others.
                    let _refused = rustix::process::nice(niceness);
                })
                .build()
                .map_err(std::io::Error::other)?;
            drop(give_back.try_send(pool));
        }
        Ok(Self { give_back, free })
    }

    /// Runs `work` on a free thread; waits for one until `deadline`.
    pub fn run<T: Send>(
        &self,
        deadline: Instant,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, InferenceError> {
        let pool = self.free.recv_deadline(deadline).map_err(|_| InferenceError::Busy)?;
        let outcome = pool.install(|| guarded(work));
        // There is room for every pool that was taken.
        drop(self.give_back.try_send(pool));
        outcome.map_err(InferenceError::Computation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    fn far() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn bounds_concurrency_and_times_out_waiters() {
        let pool = Arc::new(InferencePool::new("test", 1, 0).unwrap());
        let (entered, has_entered) = bounded::<()>(0);
        let (leave, may_leave) = bounded::<()>(0);
        let first = Arc::clone(&pool);
        let busy = std::thread::spawn(move || {
            first.run(far(), || {
                entered.send(()).unwrap();
                may_leave.recv().unwrap();
                rayon::current_num_threads()
            })
        });
        has_entered.recv().unwrap();
        assert_eq!(pool.run(Instant::now(), || 1), Err(InferenceError::Busy));
        leave.send(()).unwrap();
        assert_eq!(busy.join().unwrap(), Ok(1));
        assert_eq!(pool.run(far(), || 2), Ok(2));
    }

    #[test]
    fn keeps_thread_after_panic() {
        let pool = InferencePool::new("test", 1, 0).unwrap();
        let failed = pool.run(far(), || -> u8 { panic!("shape") });
        assert_eq!(failed, Err(InferenceError::Computation("shape".to_owned())));
        assert_eq!(pool.run(far(), || 3), Ok(3));
    }
}
