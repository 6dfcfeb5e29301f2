//! What books on a database do for their callers: operations, questions and reports.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::PostgresBooks;
use super::jobs::{Job, Reply, Sale, Slot, Work};
use crate::audit::AuditReport;
use crate::backup::{BackupError, BackupSummary, MovedSegment};
use crate::counter::{CounterNote, CounterSubject, SharedCount};
use crate::entry::Entry;
use crate::error::{BooksError, ChargeError, Unavailable};
use crate::health::Health;
use crate::history::{History, HistoryQuery};
use crate::id::KeyId;
use crate::ledger::LedgerStats;
use crate::limits::OPEN_RESERVATIONS_MAX;
use crate::operation::Operation;
use crate::operations::charges::Settle;
use crate::pending::Pending;
use crate::request::Receipt;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

const DUMPS: &str =
    "the database has tools of its own: `pg_dump` writes a backup, `pg_restore` takes it back";

impl PostgresBooks {
    /// Carries a rare operation out, in the thread of its caller.
    pub fn run<O: Operation>(&self, operation: &O) -> Result<Pending<O::Outcome, O::Refusal>, O::Refusal> {
        self.core.run(operation)
    }

    /// Puts a sale into the queue of a batcher.
    pub fn queue<S: Sale>(&self, sale: &S) -> Result<Pending<S::Outcome>, ChargeError> {
        let slot = Slot::new();
        let pending = slot.pending();
        let job = sale.job(slot);
        if !job.work.ends() {
            self.core.serving()?;
        }
        if job.work.reserves() && self.core.live.len() >= OPEN_RESERVATIONS_MAX {
            return Err(Unavailable::Busy.into());
        }
        self.core.queue.put(job)?;
        Ok(pending)
    }

    pub fn settle(&self, settle: &Settle) -> Result<Pending<Receipt>, ChargeError> {
        let Settle { id, .. } = *settle;
        if !self.core.live.begin_settling(id) {
            return Err(Unavailable::Down.into());
        }
        let slot = Slot::new();
        let pending = slot.pending();
        let put = self.core.queue.put(Job::new(Work::Settle(*settle), Reply::Receipt(slot)));
        put.inspect_err(|_| self.core.live.settle_later(id))?;
        Ok(pending)
    }

    pub fn ask<Q: Operation>(&self, question: &Q) -> Result<Q::Outcome, Q::Refusal> {
        self.core.ask(question)
    }

    pub fn note_counters(&self, notes: &[CounterNote]) -> Result<(), BooksError> {
        self.core.note_counters(notes)
    }

    pub fn counters(&self) -> Result<Vec<CounterNote>, BooksError> {
        self.core.counters()
    }

    pub fn note_key_uses(&self, uses: &[(KeyId, Moment)]) -> Result<(), BooksError> {
        self.core.note_key_uses(uses)
    }

    pub fn note_session_use(&self, token: TokenHash, at: Moment) -> Result<(), BooksError> {
        self.core.note_session_use(token, at)
    }

    pub fn exchange_counts(
        &self,
        own: &[SharedCount],
        asked: &[CounterSubject],
        now: Moment,
    ) -> Result<Vec<SharedCount>, BooksError> {
        self.core.exchange_counts(own, asked, now)
    }

    pub fn entries(&self, first: u64, limit: usize) -> Result<(Vec<Entry>, Option<u64>), BooksError> {
        self.core.entries(first, limit)
    }

    pub fn history(&self, query: &HistoryQuery) -> Result<History, BooksError> {
        self.core.history(query)
    }

    pub fn verify(&self) -> Result<AuditReport, BooksError> {
        self.core.verify()
    }

    pub fn backup(&self, _: &Path, _: Moment) -> Result<BackupSummary, BackupError> {
        Err(BooksError::Invalid { field: "backup", rule: DUMPS.to_owned() }.into())
    }

    pub fn archive(&self, _: &Path) -> Result<Vec<MovedSegment>, BooksError> {
        let rule = format!("these books have no log; {DUMPS}");
        Err(BooksError::Invalid { field: "archive", rule })
    }

    pub fn health(&self) -> Health {
        self.core.status.health()
    }

    pub fn servers(&self) -> u64 {
        self.core.servers.load(Ordering::Relaxed)
    }

    pub fn server(&self) -> i64 {
        self.core.batches.server()
    }

    pub fn stats(&self) -> LedgerStats {
        self.numbers()
    }
}
