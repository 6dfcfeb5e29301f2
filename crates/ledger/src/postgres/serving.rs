//! Sales into the queue, and what books on a database leave to the tools of the database.

use std::path::Path;

use super::Core;
use super::jobs::{Job, Reply, Sale, Slot, Work};
use crate::backup::{BackupError, BackupSummary, MovedSegment};
use crate::error::{BooksError, ChargeError, Unavailable};
use crate::health::Health;
use crate::limits::OPEN_RESERVATIONS_MAX;
use crate::operations::charges::Settle;
use crate::pending::Pending;
use crate::request::Receipt;
use mercato_base::clock::Moment;

const DUMPS: &str =
    "the database has tools of its own: `pg_dump` writes a backup, `pg_restore` takes it back";

impl Core {
    /// Puts a sale into the queue of a batcher.
    pub fn queue<S: Sale>(&self, sale: &S) -> Result<Pending<S::Outcome>, ChargeError> {
        let slot = Slot::new();
        let pending = slot.pending();
        let job = sale.job(slot);
        if !job.work.ends() {
            self.serving()?;
        }
        if job.work.reserves() && self.live.len() >= OPEN_RESERVATIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        self.queue.put(job)?;
        Ok(pending)
    }

    pub fn settle(&self, settle: &Settle) -> Result<Pending<Receipt>, ChargeError> {
        let Settle { id, .. } = *settle;
        if !self.live.begin_settling(id) {
            return Err(Unavailable::Down.into());
        }
        let slot = Slot::new();
        let pending = slot.pending();
        let put = self.queue.put(Job::new(Work::Settle(*settle), Reply::Receipt(slot)));
        put.inspect_err(|_| self.live.settle_later(id))?;
        Ok(pending)
    }

    pub fn backup(&self, _: &Path, _: Moment) -> Result<BackupSummary, BackupError> {
        Err(BooksError::Invalid { field: "backup", rule: DUMPS.to_owned() }.into())
    }

    pub fn archive(&self, _: &Path) -> Result<Vec<MovedSegment>, BooksError> {
        let rule = format!("these books have no log; {DUMPS}");
        Err(BooksError::Invalid { field: "archive", rule })
    }

    pub fn health(&self) -> Health {
        self.status.health()
    }

    pub fn server(&self) -> i64 {
        self.batches.server()
    }
}
