//! Transactions whose outcome becomes known, whatever happens to the connection.
//!
//! ```text
//! lost before COMMIT     nothing happened
//! COMMIT answered        it happened
//! lost during COMMIT     unknown: a void batch is put in its place. That succeeds: it did not happen and cannot any more.
//!                        It is refused as taken: it happened.
//! ```
//!
//! Does not depend on operations.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::rows::Shared;
use crate::database::DatabaseAddress;
use crate::database::{Connection, Trouble};

/// Attempts of a transaction that others stand in the way of.
const CONFLICTS_MAX: u32 = 100;
/// The longest pause between two of them.
const CONFLICT_PAUSE_MAX: Duration = Duration::from_millis(20);
/// Pause between two attempts to learn of an unknown outcome.
const DOUBT_PAUSE: Duration = Duration::from_millis(200);
/// How many of them a server makes that stops: ten seconds' worth.
const DOUBTS_AT_END_MAX: u32 = 50;

const BATCH: &str = "INSERT INTO batch (server, number) VALUES ($1, $2)";
const VOID: &str = "INSERT INTO batch (server, number, is_void) VALUES ($1, $2, true)";
const IS_VOID: &str = "SELECT is_void FROM batch WHERE server = $1 AND number = $2";

/// Numbers of the batches of one server.
pub(in crate::ledger::postgres) struct Batches {
    server: i64,
    last: AtomicI64,
    /// Batches of unknown outcome.
    doubtful: Mutex<BTreeSet<i64>>,
    /// How many there have been.
    pub(in crate::ledger::postgres) doubts: AtomicU64,
    /// Connections that took the place of lost ones.
    pub(in crate::ledger::postgres) reconnects: AtomicU64,
}

/// The identity of a batch.
#[derive(Clone, Copy, Debug)]
pub(in crate::ledger::postgres) struct BatchId {
    pub(in crate::ledger::postgres) server: i64,
    pub(in crate::ledger::postgres) number: i64,
}

impl Batches {
    pub(in crate::ledger::postgres) const fn new(server: i64) -> Batches {
        let (doubts, reconnects) = (AtomicU64::new(0), AtomicU64::new(0));
        Batches { server, last: AtomicI64::new(0), doubtful: Mutex::new(BTreeSet::new()), doubts, reconnects }
    }

    pub(in crate::ledger::postgres) const fn server(&self) -> i64 {
        self.server
    }

    /// Batches below this one are never asked for any more.
    pub(in crate::ledger::postgres) fn settled_below(&self) -> i64 {
        self.doubtful.lock().first().copied().unwrap_or(i64::MAX)
    }

    pub(in crate::ledger::postgres) fn next(&self) -> BatchId {
        BatchId { server: self.server, number: self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1) }
    }
}

/// A connection that is made again when it is lost.
pub(in crate::ledger::postgres) struct Link {
    address: DatabaseAddress,
    batches: Arc<Batches>,
    is_ending: Arc<AtomicBool>,
    connection: Option<Shared>,
    /// Whether it ever had a connection.
    had_one: bool,
}

impl Link {
    pub(in crate::ledger::postgres) const fn new(
        address: DatabaseAddress,
        batches: Arc<Batches>,
        is_ending: Arc<AtomicBool>,
    ) -> Link {
        Link { address, batches, is_ending, connection: None, had_one: false }
    }

    pub(in crate::ledger::postgres) fn batches(&self) -> &Batches {
        &self.batches
    }

    /// The connection.
    pub(in crate::ledger::postgres) fn connection(&mut self) -> Result<Shared, Trouble> {
        if let Some(connection) = self.connection.as_ref().filter(|connection| !connection.lock().is_lost()) {
            return Ok(Arc::clone(connection));
        }
        let connection = Arc::new(Mutex::new(Connection::open(&self.address)?));
        self.connection = Some(Arc::clone(&connection));
        self.batches.reconnects.fetch_add(u64::from(self.had_one), Ordering::Relaxed);
        self.had_one = true;
        Ok(connection)
    }

    /// Lets go of the connection.
    pub(in crate::ledger::postgres) fn lose(&mut self) {
        self.connection = None;
    }

    /// Runs a transaction; again while others stand in its way.
    pub(in crate::ledger::postgres) fn transact<T>(
        &mut self,
        mut work: impl FnMut(&Shared) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.again(|link| link.attempt(&mut work))
    }

    /// Repeats what others stand in the way of, and once what a connection was lost for that may have been lost long ago. An
    /// attempt says that the database is gone only where it changed nothing.
    pub(in crate::ledger::postgres) fn again<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Link) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let (mut conflicts, mut losses): (u32, u32) = (0, 0);
        loop {
            match attempt(self) {
                Err(Trouble::Conflict(_)) if conflicts < CONFLICTS_MAX => {
                    conflicts += 1;
                    let millis = u64::from(conflicts).min(10) * (1 + u64::from(conflicts) % 2);
                    thread::sleep(Duration::from_millis(millis).min(CONFLICT_PAUSE_MAX));
                }
                Err(Trouble::Gone(_)) if losses == 0 => {
                    losses += 1;
                    self.lose();
                }
                Err(Trouble::Gone(reason)) => {
                    self.lose();
                    return Err(Trouble::Gone(reason));
                }
                other => return other,
            }
        }
    }

    fn attempt<T>(&mut self, work: &mut impl FnMut(&Shared) -> Result<T, Trouble>) -> Result<T, Trouble> {
        let connection = self.connection()?;
        let batch = self.batches.next();
        let begun = {
            let connection = &mut *connection.lock();
            connection.run("BEGIN").and_then(|()| connection.execute(BATCH, &[&batch.server, &batch.number]))
        };
        let outcome = match begun.and_then(|_| work(&connection)) {
            Ok(outcome) => outcome,
            Err(trouble) => {
                if !matches!(trouble, Trouble::Gone(_)) {
                    connection.lock().roll_back();
                }
                return Err(trouble);
            }
        };
        let committed = connection.lock().run("COMMIT");
        match committed {
            Ok(()) => Ok(outcome),
            Err(Trouble::Gone(reason)) => {
                if self.was_applied(batch)? {
                    Ok(outcome)
                } else {
                    Err(Trouble::Gone(reason))
                }
            }
            Err(trouble) => {
                connection.lock().roll_back();
                Err(trouble)
            }
        }
    }

    /// Whether a batch of unknown outcome was applied; if not, it cannot be any more. Waits for the database; a server that
    /// stops does not wait for ever.
    pub(in crate::ledger::postgres) fn was_applied(&mut self, batch: BatchId) -> Result<bool, Trouble> {
        tracing::warn!(
            server = batch.server,
            batch = batch.number,
            "the answer to a batch of charges is lost; asking for it"
        );
        self.lose();
        self.batches.doubtful.lock().insert(batch.number);
        self.batches.doubts.fetch_add(1, Ordering::Relaxed);
        let mut at_end: u32 = 0;
        loop {
            match self.put_void(batch) {
                Ok(was_applied) => {
                    self.batches.doubtful.lock().remove(&batch.number);
                    return Ok(was_applied);
                }
                Err(trouble) => {
                    tracing::debug!(%trouble, "whether a batch was applied is not known yet");
                    self.lose();
                    at_end += u32::from(self.is_ending.load(Ordering::Relaxed));
                    if at_end > DOUBTS_AT_END_MAX {
                        tracing::error!(
                            server = batch.server,
                            batch = batch.number,
                            "the server stops without knowing whether a batch of charges was applied"
                        );
                        return Err(Trouble::Refused("whether a batch was applied is unknown".to_owned()));
                    }
                    thread::sleep(DOUBT_PAUSE);
                }
            }
        }
    }

    fn put_void(&mut self, batch: BatchId) -> Result<bool, Trouble> {
        let connection = self.connection()?;
        let connection = &mut *connection.lock();
        let arguments: crate::database::Arguments<'_> = &[&batch.server, &batch.number];
        match connection.execute(VOID, arguments) {
            Ok(_) => Ok(false),
            // An earlier attempt may have put it there, and its answer was lost.
            Err(Trouble::Applied) => {
                Ok(connection.first(IS_VOID, arguments)?.is_none_or(|row| !row.get::<_, bool>(0)))
            }
            Err(trouble) => Err(trouble),
        }
    }
}
