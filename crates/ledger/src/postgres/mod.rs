//! The books on a database that speaks PostgreSQL's protocol, for one server or many.
//!
//! ```text
//! hot operations     queue ──► two batchers: plain charges in one statement, others in one transaction
//! rare operations    the caller's thread, in one transaction; other servers hear of them by a generation
//! keeper             follows other servers, renews the lease, notes the progress of streams, settles those of dead servers
//! ```
//!
//! Operations decide on a state above the rows that a transaction has locked; only plain charges are decided by a statement. The lock
//! of an account is held by whoever changes anything of it. Only this folder names the crate `postgres`.

mod counting;
mod desk;
mod following;
mod hot;
mod keeper;
mod loading;
pub mod moving;
mod reading;
mod rows;
mod serving;
mod settling;
mod status;
mod tables;
mod transaction;
mod unsettled;
mod writing;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::directory::Directory;
use super::error::{BooksError, OpenError, Unavailable};
use super::health::{Health, Status};
pub use hot::jobs::Sale;
use hot::{batcher, charging, jobs, live, working};
use jobs::{Job, Queues};
use live::Live;
use mercato_base::clock::Moment;
use mercato_database::{Connection, DatabaseAddress, Trouble};
pub use status::{ClusterStatus, DatabaseStats, ServerStatus, cluster_status};
use transaction::{Batches, Link};
use unsettled::Journal;

/// Batchers of a server, each with a connection and a part of the accounts.
const BATCHERS: usize = 2;

/// Books on a database.
pub struct PostgresBooks {
    pub core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What the threads share.
pub struct Core {
    address: DatabaseAddress,
    directory: Arc<Directory>,
    batches: Arc<Batches>,
    queue: Queues,
    live: Live,
    status: Status,
    /// The connection of rare operations and of the keeper. Whoever changes what all servers keep in memory holds it until
    /// that is shown, so this server sees its own changes in their order.
    desk: Mutex<Link>,
    /// The connection of questions.
    questions: Mutex<Link>,
    /// Refunds that could not be made yet and nobody else would make.
    owed: Mutex<Vec<Job>>,
    /// The latest moment that an operation brought along, in milliseconds.
    latest: AtomicI64,
    /// The generation up to which the directory is current.
    seen: AtomicI64,
    /// When that was so.
    followed_at: Mutex<Instant>,
    /// Servers with a lease when this one was last renewed.
    pub servers: AtomicU64,
    /// Until when, by the clock of this process, other servers leave the streams of this one alone.
    lease_until: Mutex<Instant>,
    is_ending: Arc<AtomicBool>,
}

impl PostgresBooks {
    /// Opens the books of a database whose schema is the one of this program. Settles the streams of servers that are gone, and the
    /// charges that former processes noted in the folder of `unsettled` charges.
    pub fn open(
        address: &DatabaseAddress,
        unsettled: Option<&Path>,
        directory: Arc<Directory>,
        now: Moment,
    ) -> Result<PostgresBooks, OpenError> {
        let mut connection = Connection::open(address)?;
        mercato_database::check(&mut connection)?;
        let (server, lease_until) = keeper::register(&mut connection)?;
        moving::refuse_unfinished(&mut connection)
            .inspect_err(|_| keeper::unregister(&mut connection, server))?;
        let books = settling::identity(&mut connection)?;
        drop(connection);
        let is_ending = Arc::new(AtomicBool::new(false));
        let journal = unsettled.map(|folder| Arc::new(Journal::new(folder, books, server)));
        let batches = Arc::new(Batches::new(server, journal));
        let link = || Link::new(address.clone(), Arc::clone(&batches), Arc::clone(&is_ending));
        directory.follow();
        let core = Arc::new(Core {
            address: address.clone(),
            directory,
            queue: Queues::new(BATCHERS),
            live: Live::default(),
            status: Status::new(),
            desk: Mutex::new(link()),
            questions: Mutex::new(link()),
            owed: Mutex::default(),
            latest: AtomicI64::new(now.unix_millis()),
            seen: AtomicI64::new(0),
            followed_at: Mutex::new(Instant::now()),
            servers: AtomicU64::new(1),
            lease_until: Mutex::new(lease_until),
            batches: Arc::clone(&batches),
            is_ending: Arc::clone(&is_ending),
        });
        core.begin(now)?;
        core.settle_left(now)?;
        let mut threads = Vec::new();
        for number in 0..BATCHERS {
            let attended = Arc::clone(&core);
            threads.push(spawn(format!("books-batch-{number}"), move || batcher::run(&attended, number))?);
        }
        let attended = Arc::clone(&core);
        threads.push(spawn("books-keeper".to_owned(), move || keeper::run(&attended))?);
        let attended = Arc::clone(&core);
        threads.push(spawn("books-lease".to_owned(), move || keeper::watch(&attended))?);
        tracing::info!(database = %address, server, "the books are open");
        Ok(PostgresBooks { core, threads: Mutex::new(threads) })
    }

    /// Carries out what waits, and gives the streams of this server over to others.
    pub fn end(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        if threads.is_empty() {
            return;
        }
        self.core.abandoned_to_queue();
        self.core.is_ending.store(true, Ordering::SeqCst);
        self.core.queue.close();
        for thread in threads {
            thread.thread().unpark();
            drop(thread.join());
        }
        self.core.leave();
    }
}

impl Drop for PostgresBooks {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    let spawned = thread::Builder::new().name(name).spawn(work);
    spawned.map_err(|error| OpenError::Start(error.to_string()))
}

impl Core {
    /// A further connection.
    fn link(&self) -> Link {
        Link::new(self.address.clone(), Arc::clone(&self.batches), Arc::clone(&self.is_ending))
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    fn hear(&self, at: Moment) {
        self.latest.fetch_max(at.unix_millis(), Ordering::Relaxed);
    }

    fn latest(&self) -> Moment {
        Moment::from_unix_millis(self.latest.load(Ordering::Relaxed))
    }

    /// Counts operations that one commit made durable.
    fn count(&self, operations: usize, entries: u64, elapsed: Duration) {
        self.status.operations.fetch_add(operations as u64, Ordering::Relaxed);
        self.status.entries.fetch_add(entries, Ordering::Relaxed);
        self.status.count_sync(operations as u64, elapsed);
    }

    /// Refuses what costs while the database is away.
    fn serving(&self) -> Result<(), BooksError> {
        if self.is_ending() {
            return Err(Unavailable::Stopped.into());
        }
        match self.status.health() {
            Health::Serving => Ok(()),
            _ => Err(Unavailable::Down.into()),
        }
    }

    /// Notes that the database failed, or refused.
    fn note_failure(&self, trouble: &Trouble) {
        match trouble {
            Trouble::Gone(_) => {
                if self.status.health() == Health::Serving {
                    tracing::error!(%trouble, "the books cannot be written; charging stops until they can");
                }
                self.status.set_health(Health::Down { reason: trouble.to_string() });
            }
            Trouble::Refused(_) => tracing::error!(%trouble, "an operation on the books failed"),
            Trouble::Conflict(_) | Trouble::Taken(_) | Trouble::Applied => {
                tracing::warn!(%trouble, "an operation on the books was given up");
            }
        }
    }
}

/// What a caller is told of a failure.
const fn refusal(trouble: &Trouble) -> BooksError {
    let reason = match trouble {
        Trouble::Gone(_) | Trouble::Refused(_) => Unavailable::Down,
        Trouble::Conflict(_) | Trouble::Taken(_) | Trouble::Applied => Unavailable::Busy,
    };
    BooksError::Unavailable { reason }
}
