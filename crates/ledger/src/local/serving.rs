//! What local books do for their callers: operations, questions and reports.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::opening::log_path;
use super::{LocalBooks, backup};
use crate::audit::AuditReport;
use crate::backup::{BackupError, BackupSummary, MovedSegment};
use crate::counter::CounterNote;
use crate::entry::Entry;
use crate::error::{BooksError, Unavailable};
use crate::health::Health;
use crate::history::{History, HistoryQuery};
use crate::id::KeyId;
use crate::ledger::LedgerStats;
use crate::log::{Segment, archive};
use crate::operation::Operation;
use crate::pending::Pending;
use crate::state::State;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

impl LocalBooks {
    pub fn run<O: Operation>(&self, operation: &O) -> Result<Pending<O::Outcome, O::Refusal>, O::Refusal> {
        self.shared.change(|state| operation.decide(state))
    }

    pub fn ask<Q: Operation>(&self, question: &Q) -> Result<Q::Outcome, Q::Refusal> {
        self.shared.with_state(|state| question.decide(state))
    }

    pub fn note_counters(&self, notes: &[CounterNote]) -> Result<(), BooksError> {
        self.shared.with_state(|state| {
            state.note_counters(notes);
            Ok(())
        })
    }

    pub fn counters(&self) -> Result<Vec<CounterNote>, BooksError> {
        self.shared.with_state(State::counters)
    }

    pub fn note_key_uses(&self, uses: &[(KeyId, Moment)]) -> Result<(), BooksError> {
        self.shared.with_state(|state| {
            state.note_uses(uses);
            Ok(())
        })
    }

    pub fn note_session_use(&self, token: TokenHash, at: Moment) -> Result<(), BooksError> {
        self.shared.with_state(|state| {
            state.note_session_use(token, at);
            Ok(())
        })
    }

    pub fn entries(&self, first: u64, limit: usize) -> Result<(Vec<Entry>, Option<u64>), BooksError> {
        self.shared.entries(first, limit)
    }

    pub fn history(&self, query: &HistoryQuery) -> Result<History, BooksError> {
        self.shared.history(query)
    }

    pub fn verify(&self) -> Result<AuditReport, BooksError> {
        self.shared.verify()
    }

    pub fn backup(&self, folder: &Path, now: Moment) -> Result<BackupSummary, BackupError> {
        let _segments = self.shared.segments.read();
        backup::write(folder, now, || {
            let guard = self.shared.checkpointing.lock();
            self.shared.write_checkpoint_alone();
            let (checkpoint, log) = self.shared.look(|open| Arc::clone(&open.checkpoint))?;
            Ok((guard, checkpoint, log))
        })
    }

    pub fn archive(&self, to: &Path) -> Result<Vec<MovedSegment>, BooksError> {
        let _segments = self.shared.segments.write();
        let (mark, _) = self.shared.look(|open| open.checkpoint.mark())?;
        let below = mark.map_err(|_| Unavailable::Down)?.sequence;
        let moved = archive(&log_path(&self.shared.path), to, below);
        let moved =
            moved.map_err(|error| BooksError::Invalid { field: "archive", rule: error.to_string() })?;
        let shown = |(segment, last, path): (Segment, u64, PathBuf)| MovedSegment {
            number: segment.number,
            first: segment.first,
            last,
            bytes: segment.bytes,
            path,
        };
        Ok(moved.into_iter().map(shown).collect())
    }

    pub fn health(&self) -> Health {
        self.shared.status.health()
    }

    pub fn stats(&self) -> LedgerStats {
        self.shared.stats()
    }
}

impl Drop for LocalBooks {
    fn drop(&mut self) {
        self.end();
    }
}
