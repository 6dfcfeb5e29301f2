//! The progress of running streams, and the reservations that no stream holds any more.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use crate::codec::Record;
use crate::error::ChargeError;
use crate::key_space;
use crate::limits::SETTLEMENTS_PER_BATCH_MAX;
use crate::state::{LiveStreams, State};

/// Progress notes in one batch of the log.
const PROGRESS_NOTES_PER_BATCH_MAX: usize = 16_384;

impl State {
    /// Settles reservations without a live stream, and notes the progress of the others.
    pub fn note_progress(&mut self) -> Result<(), ChargeError> {
        let mut abandoned = Vec::new();
        for (id, open) in &mut self.reservations {
            let delivered = open.progress.delivered();
            if Arc::strong_count(&open.progress) == 1 {
                // The stream noted its final progress before it was dropped.
                fence(Ordering::Acquire);
                if abandoned.len() < SETTLEMENTS_PER_BATCH_MAX {
                    abandoned.push((*id, open.progress.outcome()));
                }
            } else if delivered != open.record.delivered
                && self.written.changes.len() < PROGRESS_NOTES_PER_BATCH_MAX
            {
                open.record.delivered = delivered;
                self.written.changes.put(key_space::reservation(*id), open.record.encode());
            }
        }
        for (id, outcome) in abandoned {
            self.settle(id, outcome, "")?;
        }
        Ok(())
    }

    /// Everything up to this sequence number is safe, so its settlements are final.
    pub fn synced(&mut self, sequence: u64) {
        self.closed_reservations.retain(|(closed, _)| *closed > sequence);
    }

    /// The streams that stand behind reservations which are open on the disk or in memory.
    pub fn live_streams(&self) -> LiveStreams {
        let all = self.reservations.values().chain(self.closed_reservations.iter().map(|(_, open)| open));
        all.map(|open| (open.record.id, Arc::clone(&open.progress))).collect()
    }
}
