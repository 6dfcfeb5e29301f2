//! Transactions whose outcome becomes known, whatever happens to the connection.
//!
//! ```text
//! lost before COMMIT     nothing happened
//! COMMIT answered        it happened
//! lost during COMMIT     unknown: a void batch is put in its place. That succeeds: it did not happen and cannot any more.
//!                        It is refused as taken: it happened.
//! ```
//!
//! Does not depend on what operations do.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::jobs::Job;
use super::rows::Shared;
use super::unsettled::{Journal, SentCharge};
use mercato_database::DatabaseAddress;
use mercato_database::{Connection, Trouble};

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
pub struct Batches {
    server: i64,
    last: AtomicI64,
    /// Batches of unknown outcome.
    doubtful: Mutex<BTreeSet<i64>>,
    /// Where charges in doubt are noted that were refused; nothing where the process is no server.
    pub journal: Option<Arc<Journal>>,
    /// How many there have been.
    pub doubts: AtomicU64,
    /// Connections that took the place of lost ones.
    pub reconnects: AtomicU64,
}

/// The identity of a batch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct BatchId {
    pub server: i64,
    pub number: i64,
}

impl Batches {
    pub const fn new(server: i64, journal: Option<Arc<Journal>>) -> Batches {
        let (doubts, reconnects) = (AtomicU64::new(0), AtomicU64::new(0));
        let doubtful = Mutex::new(BTreeSet::new());
        Batches { server, last: AtomicI64::new(0), doubtful, journal, doubts, reconnects }
    }

    pub const fn server(&self) -> i64 {
        self.server
    }

    /// Batches below this one are never asked for any more.
    pub fn settled_below(&self) -> i64 {
        let noted = self.journal.as_ref().and_then(|journal| journal.first_batch(self.server));
        let doubtful = self.doubtful.lock().first().copied();
        doubtful.into_iter().chain(noted).min().unwrap_or(i64::MAX)
    }

    /// Whether the outcome of a batch is not known.
    pub fn is_doubtful(&self, batch: BatchId) -> bool {
        self.doubtful.lock().contains(&batch.number)
    }

    /// The outcome of a batch is not known.
    pub fn doubt(&self, batch: BatchId) {
        self.doubtful.lock().insert(batch.number);
    }

    /// Charges are about to be sent. Those whose clients are refused from now on are noted by whoever refuses them; those whose
    /// clients were refused before, now.
    pub fn sending<'j>(&self, charges: impl Iterator<Item = (&'j Job, SentCharge)>) {
        let Some(journal) = &self.journal else { return };
        let refused = charges.filter_map(|(job, charge)| job.reply.sending(journal, charge));
        let refused: Vec<SentCharge> = refused.collect();
        if !refused.is_empty() {
            journal.note(&refused);
        }
    }

    pub fn next(&self) -> BatchId {
        BatchId { server: self.server, number: self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1) }
    }
}

/// A connection that is made again when it is lost.
pub struct Link {
    address: DatabaseAddress,
    batches: Arc<Batches>,
    is_ending: Arc<AtomicBool>,
    connection: Option<Shared>,
    /// Whether it ever had a connection.
    had_one: bool,
}

impl Link {
    pub const fn new(address: DatabaseAddress, batches: Arc<Batches>, is_ending: Arc<AtomicBool>) -> Link {
        Link { address, batches, is_ending, connection: None, had_one: false }
    }

    pub const fn batches(&self) -> &Arc<Batches> {
        &self.batches
    }

    pub fn connection(&mut self) -> Result<Shared, Trouble> {
        if let Some(connection) = self.connection.as_ref().filter(|connection| !connection.lock().is_lost()) {
            return Ok(Arc::clone(connection));
        }
        let connection = Arc::new(Mutex::new(Connection::open_to_lock(&self.address)?));
        self.connection = Some(Arc::clone(&connection));
        self.batches.reconnects.fetch_add(u64::from(self.had_one), Ordering::Relaxed);
        self.had_one = true;
        Ok(connection)
    }

    /// Lets go of the connection.
    pub fn lose(&mut self) {
        self.connection = None;
    }

    /// Runs a transaction; again while others stand in its way.
    pub fn transact<T>(
        &mut self,
        mut work: impl FnMut(&Shared, BatchId) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.again(|link| link.attempt(&mut work))
    }

    /// Repeats what others stand in the way of, and once what a connection was lost for that may have been lost long ago. An
    /// attempt says that the database is gone only where it changed nothing.
    pub fn again<T>(
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

    fn attempt<T>(
        &mut self,
        work: &mut impl FnMut(&Shared, BatchId) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let connection = self.connection()?;
        let batch = self.batches.next();
        let begun = {
            let connection = &mut *connection.lock();
            connection.run("BEGIN").and_then(|()| connection.execute(BATCH, &[&batch.server, &batch.number]))
        };
        let outcome = match begun.and_then(|_| work(&connection, batch)) {
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
                let applied = self.if_applied(batch, |_| Ok(()))?;
                applied.map(|()| outcome).ok_or(Trouble::Gone(reason))
            }
            Err(trouble) => {
                connection.lock().roll_back();
                Err(trouble)
            }
        }
    }

    /// What can be read of a batch of unknown outcome if it was applied; if not, it cannot be any more. Waits for the database; a
    /// server that stops does not wait for ever.
    pub fn if_applied<T>(
        &mut self,
        batch: BatchId,
        read: impl Fn(&mut Connection) -> Result<T, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        tracing::warn!(
            server = batch.server,
            batch = batch.number,
            "the answer to a batch of charges is lost; asking for it"
        );
        self.lose();
        self.batches.doubt(batch);
        self.batches.doubts.fetch_add(1, Ordering::Relaxed);
        let mut at_end: u32 = 0;
        loop {
            match self.read_if_applied(batch, &read) {
                Ok(found) => {
                    self.batches.doubtful.lock().remove(&batch.number);
                    return Ok(found);
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

    /// The same in one attempt.
    pub fn read_if_applied<T>(
        &mut self,
        batch: BatchId,
        read: impl Fn(&mut Connection) -> Result<T, Trouble>,
    ) -> Result<Option<T>, Trouble> {
        let connection = self.connection()?;
        let connection = &mut *connection.lock();
        let arguments: mercato_database::Arguments<'_> = &[&batch.server, &batch.number];
        let was_applied = match connection.execute(VOID, arguments) {
            Ok(_) => false,
            // An earlier attempt may have put it there, and its answer was lost.
            Err(Trouble::Applied) => {
                connection.first(IS_VOID, arguments)?.is_none_or(|row| !row.get::<_, bool>(0))
            }
            Err(trouble) => return Err(trouble),
        };
        if was_applied { read(connection).map(Some) } else { Ok(None) }
    }
}
