//! Threads that leave the processors to others where there are not enough for all.

use rustix::process::nice;

/// Lowers the priority of the calling thread, and of all that it starts, by so much. There is no way back.
pub fn step_back(by: i32) {
    if let Err(error) = nice(by) {
        tracing::warn!(%error, "a thread keeps its priority");
    }
}
