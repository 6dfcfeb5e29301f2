//! The open reservations of the streams that this server runs.
//!
//! Does not depend on the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use parking_lot::Mutex;

use super::jobs::{Job, Reply, Work};
use crate::id::{AccountId, KeyId, ReservationId};
use crate::operations::charges::Settle;
use crate::progress::Progress;

/// The reservations.
#[derive(Default)]
pub struct Live {
    open: Mutex<HashMap<ReservationId, Open>>,
}

struct Open {
    account: AccountId,
    key: Option<KeyId>,
    progress: Arc<Progress>,
    /// Delivered rows as the database has them.
    noted: u64,
    is_settling: bool,
}

impl Live {
    pub fn insert(
        &self,
        id: ReservationId,
        account: AccountId,
        key: Option<KeyId>,
        progress: &Arc<Progress>,
    ) {
        let progress = Arc::clone(progress);
        self.open.lock().insert(id, Open { account, key, progress, noted: 0, is_settling: false });
    }

    pub fn remove(&self, id: ReservationId) {
        self.open.lock().remove(&id);
    }

    pub fn len(&self) -> usize {
        self.open.lock().len()
    }

    /// Begins to settle a reservation. Returns whether it is open and no settlement was under way.
    pub fn begin_settling(&self, id: ReservationId) -> bool {
        let mut all = self.open.lock();
        all.get_mut(&id).is_some_and(|open| !std::mem::replace(&mut open.is_settling, true))
    }

    /// A settlement failed: it is tried again.
    pub fn settle_later(&self, id: ReservationId) {
        if let Some(open) = self.open.lock().get_mut(&id) {
            open.is_settling = false;
        }
    }

    /// The settlements of reservations without a stream.
    pub fn abandoned(&self) -> Vec<Job> {
        let mut abandoned = Vec::new();
        for (id, open) in self.open.lock().iter_mut() {
            if !open.is_settling && Arc::strong_count(&open.progress) == 1 {
                // The stream noted its final progress before it was dropped.
                fence(Ordering::Acquire);
                open.is_settling = true;
                let (outcome, account, key) = (open.progress.outcome(), open.account, open.key);
                let work = Work::Settle(Settle { id: *id, account, key, outcome, note: "" });
                abandoned.push(Job::new(work, Reply::Nobody));
            }
        }
        abandoned
    }

    /// Reservations whose streams got on since that was noted, and how far.
    pub fn advanced(&self) -> Vec<(ReservationId, u64)> {
        let mut advanced = Vec::new();
        for (id, open) in self.open.lock().iter() {
            let delivered = open.progress.delivered();
            if !open.is_settling && delivered != open.noted {
                advanced.push((*id, delivered));
            }
        }
        advanced
    }

    /// The database has this progress.
    pub fn noted(&self, advanced: &[(ReservationId, u64)]) {
        let mut all = self.open.lock();
        for (id, delivered) in advanced {
            if let Some(open) = all.get_mut(id) {
                open.noted = *delivered;
            }
        }
    }

    /// Ends all streams: their reservations may be settled by others. Says how many were not told so before.
    pub fn fence(&self) -> usize {
        self.open.lock().values().filter(|open| open.progress.fence()).count()
    }

    /// Ends these streams, which others have settled. Says how many there were.
    pub fn fence_gone(&self, gone: &[ReservationId]) -> usize {
        let (mut all, mut ended) = (self.open.lock(), 0);
        for id in gone {
            // Those of which a settlement is under way may be gone by it.
            if all.get(id).is_some_and(|open| !open.is_settling)
                && let Some(open) = all.remove(id)
            {
                open.progress.fence();
                ended += 1;
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_base::clock::Moment;

    #[test]
    fn tells_each_stream_of_its_end_once() {
        let (live, progress) = (Live::default(), Progress::new(Moment::from_unix_millis(0)));
        live.insert(ReservationId::from_number(1), AccountId::from_number(1), None, &progress);
        assert!(!progress.is_fenced());
        assert_eq!([live.fence(), live.fence()], [1, 0]);
        assert!(progress.is_fenced());
    }
}
