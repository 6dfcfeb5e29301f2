//! Where the books are kept: on the disk of this machine, or in a database. The only file that knows both.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::audit::AuditReport;
use crate::backup::{BackupError, BackupSummary, MovedSegment};
use crate::counter::{CounterNote, CounterSubject, SharedCount};
use crate::entry::Entry;
use crate::error::{BooksError, ChargeError};
use crate::health::Health;
use crate::history::{History, HistoryQuery};
use crate::id::KeyId;
use crate::ledger::LedgerStats;
use crate::local::LocalBooks;
use crate::operation::Operation;
use crate::operations::charges::Settle;
use crate::pending::Pending;
use crate::postgres::{PostgresBooks, Sale};
use crate::request::Receipt;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

/// Books, open.
#[derive(Clone)]
pub enum Store {
    Local(Arc<LocalBooks>),
    Postgres(Arc<PostgresBooks>),
}

/// Does the same on either kind of books.
macro_rules! on {
    ($store:expr, $books:ident => $call:expr) => {
        match $store {
            Store::Local(local) => {
                let $books = &local.shared;
                $call
            }
            Store::Postgres(postgres) => {
                let $books = &postgres.core;
                $call
            }
        }
    };
}

impl Store {
    /// Carries an operation out, whole or not at all. Its outcome counts once it is durable.
    pub fn run<O: Operation>(&self, operation: &O) -> Result<Pending<O::Outcome, O::Refusal>, O::Refusal> {
        on!(self, books => books.run(operation))
    }

    /// The same for what customers do many times a second: a database carries many of them out in one transaction.
    pub fn sell<S: Sale>(&self, sale: &S) -> Result<Pending<S::Outcome>, ChargeError> {
        match self {
            Store::Local(books) => books.shared.run(sale),
            Store::Postgres(books) => books.core.queue(sale),
        }
    }

    /// Ends the reservation of a stream. Books settle it on their own when they alone hold its progress.
    pub fn settle(&self, settle: &Settle) -> Result<Pending<Receipt>, ChargeError> {
        match self {
            Store::Local(books) => books.shared.run(settle),
            Store::Postgres(books) => books.core.settle(settle),
        }
    }

    /// Answers a question: an operation that changes nothing.
    pub fn ask<Q: Operation>(&self, question: &Q) -> Result<Q::Outcome, Q::Refusal> {
        on!(self, books => books.ask(question))
    }

    /// At most `limit` entries from a sequence number on, and where to go on.
    pub fn entries(&self, first: u64, limit: usize) -> Result<(Vec<Entry>, Option<u64>), BooksError> {
        on!(self, books => books.entries(first, limit))
    }

    /// The newest entries of an account.
    pub fn history(&self, query: &HistoryQuery) -> Result<History, BooksError> {
        on!(self, books => books.history(query))
    }

    /// Adds up every entry and compares the sums with the accounts.
    pub fn verify(&self) -> Result<AuditReport, BooksError> {
        on!(self, books => books.verify())
    }

    pub fn backup(&self, folder: &Path, now: Moment) -> Result<BackupSummary, BackupError> {
        on!(self, books => books.backup(folder, now))
    }

    pub fn archive(&self, to: &Path) -> Result<Vec<MovedSegment>, BooksError> {
        on!(self, books => books.archive(to))
    }

    /// Keeps counters of requests. They may be lost in a crash.
    pub fn note_counters(&self, notes: &[CounterNote]) -> Result<(), BooksError> {
        on!(self, books => books.note_counters(notes))
    }

    /// The counters of the present day.
    pub fn counters(&self) -> Result<Vec<CounterNote>, BooksError> {
        on!(self, books => books.counters())
    }

    /// Keeps when keys were last used. It may be lost in a crash.
    pub fn note_key_uses(&self, uses: &[(KeyId, Moment)]) -> Result<(), BooksError> {
        on!(self, books => books.note_key_uses(uses))
    }

    /// Keeps when a session was last seen. It may be lost in a crash.
    pub fn note_session_use(&self, token: TokenHash, at: Moment) -> Result<(), BooksError> {
        on!(self, books => books.note_session_use(token, at))
    }

    /// Shows other servers what this one has counted, and returns what they have counted of the requested subjects.
    pub fn exchange_counts(
        &self,
        own: &[SharedCount],
        asked: &[CounterSubject],
        now: Moment,
    ) -> Result<Vec<SharedCount>, BooksError> {
        match self {
            Store::Local(_) => Ok(Vec::new()),
            Store::Postgres(books) => books.core.exchange_counts(own, asked, now),
        }
    }

    /// Whether other servers may have the same books open.
    pub const fn is_shared(&self) -> bool {
        matches!(self, Store::Postgres(_))
    }

    /// How many servers had the books open when that was last counted, this one among them.
    pub fn servers(&self) -> u64 {
        match self {
            Store::Local(_) => 1,
            Store::Postgres(books) => books.core.servers.load(Ordering::Relaxed),
        }
    }

    /// The number of this server among those that share the books; nothing where no other can.
    pub fn server(&self) -> Option<i64> {
        match self {
            Store::Local(_) => None,
            Store::Postgres(books) => Some(books.core.server()),
        }
    }

    /// Whether the books can be written.
    pub fn health(&self) -> Health {
        on!(self, books => books.health())
    }

    pub fn stats(&self) -> LedgerStats {
        on!(self, books => books.stats())
    }

    /// Makes everything durable and releases the files.
    pub fn shutdown(&self) {
        match self {
            Store::Local(books) => books.end(),
            Store::Postgres(books) => books.end(),
        }
    }
}
