//! What local books do for their callers: operations, questions and reports.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::opening::log_path;
use super::{LocalBooks, Shared, backup};
use crate::backup::{BackupError, BackupSummary, MovedSegment};
use crate::counter::CounterNote;
use crate::error::{BooksError, Unavailable};
use crate::health::Health;
use crate::id::KeyId;
use crate::log::{Segment, archive};
use crate::operation::Operation;
use crate::pending::Pending;
use crate::state::State;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

impl Shared {
    pub fn run<O: Operation>(&self, operation: &O) -> Result<Pending<O::Outcome, O::Refusal>, O::Refusal> {
        self.change(|state| operation.decide(state))
    }

    pub fn ask<Q: Operation>(&self, question: &Q) -> Result<Q::Outcome, Q::Refusal> {
        self.with_state(|state| question.decide(state))
    }

    pub fn note_counters(&self, notes: &[CounterNote]) -> Result<(), BooksError> {
        self.with_state(|state| {
            state.note_counters(notes);
            Ok(())
        })
    }

    pub fn counters(&self) -> Result<Vec<CounterNote>, BooksError> {
        self.with_state(State::counters)
    }

    pub fn note_key_uses(&self, uses: &[(KeyId, Moment)]) -> Result<(), BooksError> {
        self.with_state(|state| {
            state.note_uses(uses);
            Ok(())
        })
    }

    pub fn note_session_use(&self, token: TokenHash, at: Moment) -> Result<(), BooksError> {
        self.with_state(|state| {
            state.note_session_use(token, at);
            Ok(())
        })
    }

    pub fn backup(&self, folder: &Path, now: Moment) -> Result<BackupSummary, BackupError> {
        let _segments = self.segments.read();
        backup::write(folder, now, || {
            let guard = self.checkpointing.lock();
            self.write_checkpoint_alone();
            let (checkpoint, log) = self.look(|open| Arc::clone(&open.checkpoint))?;
            Ok((guard, checkpoint, log))
        })
    }

    pub fn archive(&self, to: &Path) -> Result<Vec<MovedSegment>, BooksError> {
        let _segments = self.segments.write();
        let (mark, _) = self.look(|open| open.checkpoint.mark())?;
        let below = mark.map_err(|_| Unavailable::Down)?.sequence;
        let moved = archive(&log_path(&self.path), to, below);
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
        self.status.health()
    }
}

impl Drop for LocalBooks {
    fn drop(&mut self) {
        self.end();
    }
}
