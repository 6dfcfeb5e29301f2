//! The books: accounts, keys, credits, and every change of a balance; beside them the relations between datasets.
//!
//! Guarantees:
//! 1. The balance of an account is the sum of its entries, at any moment and after any crash.
//! 2. What was acknowledged is on the disk, as far as the configured durability demands, and is there once.
//! 3. A sale is made whole or not at all; no balance is ever below zero.
//! 4. A reservation ends, whatever happens to its stream.
//!
//! One thread at a time writes (`writer`), from a bounded queue (`queue`), what `books` decides in memory, into a `store`.
//! Requests read accounts and keys from memory (`directory`). Knows no status code, no route and no rate limit.

mod account;
mod api_key;
mod audit;
mod backup;
mod books;
mod claim;
mod codec;
mod counter;
mod directory;
mod entry;
mod error;
#[cfg(test)]
mod faults;
mod hold;
mod id;
mod key_record;
mod key_space;
mod letterbox;
mod operator;
mod order;
mod queue;
mod relation;
mod report;
mod reservation;
mod store;
mod ticket;
mod usage;
mod watermark;
mod writer;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

pub use account::{Payment, Plan, Purse};
pub use api_key::{KEY_CHARACTERS, KEY_RANDOM_BYTES, KeyHash, NotAKey, PlainKey};
pub use audit::AuditReport;
pub use backup::{BackupError, BackupSummary, restore};
pub use counter::{CounterNote, CounterSubject};
pub use directory::{AccountHandle, KeyHandle, KeyView};
pub use entry::{Entry, EntryKind};
pub use error::{ChargeError, OpenError, Unavailable};
pub use id::{AccountId, IdError, KeyId, ReservationId};
pub use operator::{CreatedKey, Purchase};
pub use order::{
    ChargeOrder, ClaimError, ClaimKind, DownloadOrder, Estimate, IdempotencyClaim, Receipt, ReserveOrder,
    Spending,
};
pub use queue::Health;
pub use relation::{Relation, RelationKey, Relations};
pub use report::{AccountView, inspect};
pub use reservation::Reservation;
pub use store::StoreError;
pub use ticket::Ticket;
pub use usage::{Usage, UsageLine};
pub use writer::ChargeDurability;

use crate::clock::Moment;
use crate::histogram::Counted;
use crate::limits::ledger::BATCH_OPERATIONS_MAX;
use books::{Books, LoadError};
use directory::Directory;
use queue::{Bell, Queue, Status};
use store::{SledStore, Store};
use watermark::Watermark;
use writer::{State, Writer};

/// How the books are opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct LedgerOptions {
    /// When a charge counts as done.
    pub durability: ChargeDurability,
}

/// The books, open. Shared by all threads.
pub struct Ledger {
    queue: Queue,
    directory: Arc<Directory>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Numbers for an operator's dashboard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedgerStats {
    /// Entries in the books.
    pub entries: u64,
    /// Batches written since the start.
    pub batches: u64,
    /// Operations in them.
    pub operations: u64,
    /// Operations that wait.
    pub queue_depth: usize,
    /// Reservations that are open.
    pub open_reservations: u64,
    /// Accounts.
    pub accounts: usize,
    /// Keys, revoked ones included.
    pub keys: usize,
    /// How many operations were written together.
    pub batch_sizes: Counted,
    /// How long it took to bring what was written to the disk, in microseconds.
    pub flush_micros: Counted,
}

impl Ledger {
    /// Opens the books in a folder, which is created when it does not exist.
    ///
    /// Reservations that a stop left open are settled: the rows that were last noted as delivered are sold, the rest
    /// comes back. Refuses when the records contradict each other or when something acknowledged is missing.
    pub fn open(path: &Path, options: LedgerOptions, now: Moment) -> Result<Ledger, OpenError> {
        Ledger::start(path, Box::new(SledStore::open(path)?), options, now)
    }

    /// Takes the books up from a store and starts the ledger thread.
    fn start(
        path: &Path,
        store: Box<dyn Store>,
        options: LedgerOptions,
        now: Moment,
    ) -> Result<Ledger, OpenError> {
        let (ledger, bell) = Ledger::unattended(path, store, options, now)?;
        let attended = ledger.queue.clone();
        let builder = thread::Builder::new().name("ledger".to_owned());
        let spawned = builder.spawn(move || attended.attend(&bell));
        let thread = spawned.map_err(|error| OpenError::Thread(error.to_string()))?;
        *ledger.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(ledger)
    }

    /// Takes the books up from a store; what is due and what nobody awaits is left to whoever listens to the bell.
    fn unattended(
        path: &Path,
        store: Box<dyn Store>,
        options: LedgerOptions,
        now: Moment,
    ) -> Result<(Ledger, Arc<Bell>), OpenError> {
        let (watermark, expected) = open_watermark(path)?;
        let directory = Arc::<Directory>::default();
        let loaded = Books::load(path, store, Arc::clone(&directory), &HashMap::new(), now);
        let mut books = loaded.map_err(|LoadError { error, .. }| error)?;
        if books.written_sequence() < expected {
            let found = books.written_sequence();
            return Err(OpenError::Behind { directory: path.to_owned(), expected, found });
        }
        books.commit()?;
        books.sync()?;
        books.publish();
        let status = Arc::<Status>::default();
        status.count(&books, 0);
        let writer = Writer {
            path: path.to_owned(),
            directory: Arc::clone(&directory),
            status,
            durability: options.durability,
            watermark: Arc::new(watermark),
            acknowledged: books.last_sequence(),
            state: State::Up(Box::new(books)),
            unsynced_since: None,
            progress_noted: Instant::now(),
            cleaned: Instant::now(),
            batch: Vec::with_capacity(BATCH_OPERATIONS_MAX),
        };
        let (queue, bell) = Queue::new(writer);
        Ok((Ledger { queue, directory, thread: Mutex::default() }, bell))
    }

    /// Whether the books can be written.
    pub fn health(&self) -> Health {
        self.queue.health()
    }

    /// Finishes what was handed in, writes and syncs it, and ends the ledger thread.
    pub fn shutdown(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            self.queue.end();
            drop(thread.join());
        }
    }

    /// Numbers for an operator's dashboard.
    pub fn stats(&self) -> LedgerStats {
        let status = self.queue.status();
        let (accounts, keys) = self.directory.counts();
        LedgerStats {
            entries: status.entries.load(Ordering::Relaxed),
            batches: status.batches.load(Ordering::Relaxed),
            operations: status.operations.load(Ordering::Relaxed),
            queue_depth: self.queue.depth(),
            open_reservations: status.open_reservations.load(Ordering::Relaxed),
            accounts,
            keys,
            batch_sizes: status.batch_sizes.read(),
            flush_micros: status.flush_micros.read(),
        }
    }

    /// The key with this hash, from memory. Whether it is still valid, its handle says.
    pub fn find_key(&self, presented: &KeyHash) -> Option<KeyHandle> {
        self.directory.find(presented)
    }

    /// An account, from memory.
    pub fn account(&self, id: AccountId) -> Option<AccountHandle> {
        self.directory.account(id)
    }

    /// Refuses a caller who can afford nothing, before any work is done for it.
    ///
    /// Without a claim this looks at memory only. With one it asks the books whether the request was paid.
    pub fn can_afford_anything(
        &self,
        account: &AccountHandle,
        spending: Spending,
        claim: Option<&IdempotencyClaim>,
        now: Moment,
    ) -> Result<(), ChargeError> {
        if let Some(claim) = claim.copied() {
            let id = account.id();
            let claimed = self.queue.submit(move |books| books.claimed(id, &claim, now))?.wait()?;
            if claimed == books::Claimed::Yes {
                return Ok(());
            }
        }
        if self.health() != Health::Serving {
            return Err(Unavailable::Down.into());
        }
        account.purse().afford_anything(spending, now)
    }

    /// The place of the request that one idempotency key has paid for, among claims of that key: of the same body on
    /// several versions of a dataset. Refused when the key has paid for another request, or when it is for rows and one
    /// of these is being answered.
    pub fn paid_among(
        &self,
        account: &AccountHandle,
        kind: ClaimKind,
        claims: Vec<IdempotencyClaim>,
        now: Moment,
    ) -> Result<Option<usize>, ChargeError> {
        let id = account.id();
        self.queue.submit(move |books| books.paid_among(id, kind, &claims, now))?.wait()
    }

    /// Hands in a sale of rows. Await the ticket when the answer is ready to be sent.
    pub fn submit_charge(&self, order: ChargeOrder) -> Result<Ticket<Receipt>, ChargeError> {
        self.queue.submit(move |books| books.charge(&order))
    }

    /// Hands in the sale of a part of a file. It pays what the account has not paid of the file within
    /// `DOWNLOAD_GRANT_HOURS`: all of it, what a download that broke off left, or nothing.
    pub fn submit_part(&self, order: DownloadOrder) -> Result<Ticket<Receipt>, ChargeError> {
        self.queue.submit(move |books| books.sell_part(&order))
    }

    /// Sets aside what a file costs, and waits until that is on the disk. What is settled is remembered for later parts.
    pub fn reserve_download(&self, order: DownloadOrder) -> Result<Reservation, ChargeError> {
        let reserved = self.queue.submit(move |books| books.reserve_download(&order))?.wait()?;
        Ok(Reservation::new(self.queue.clone(), reserved))
    }

    /// Hands in the return of what a receipt took, for an answer that could not be given.
    pub fn submit_refund(&self, receipt: Receipt, at: Moment) -> Result<Ticket<()>, ChargeError> {
        self.queue.submit(move |books| books.refund(&receipt, at, "answer failed"))
    }

    /// Sets aside what a stream can cost, and waits until that is on the disk.
    pub fn reserve(&self, order: ReserveOrder) -> Result<Reservation, ChargeError> {
        let reserved = self.queue.submit(move |books| books.reserve(&order))?.wait()?;
        Ok(Reservation::new(self.queue.clone(), reserved))
    }

    /// What so many rows would cost now, and whether the account would be let in and could pay.
    pub fn estimate(&self, account: &AccountHandle, rows: u64, spending: Spending, now: Moment) -> Estimate {
        let purse = account.purse();
        let payment = match spending {
            Spending::Download => purse.pay_credits(rows),
            _ => purse.afford_anything(spending, now).and_then(|()| purse.pay_query(rows, now)),
        };
        let credits_required = match payment {
            Ok(Payment::FreeQuery(_)) => 0,
            _ => rows,
        };
        Estimate { credits_required, credits_available: purse.balance, affordable: payment.is_ok() }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn open_watermark(path: &Path) -> Result<(Watermark, u64), OpenError> {
    Watermark::open(path).map_err(|error| {
        let path = Watermark::path(path);
        let detail = error.to_string();
        match error.kind() {
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof => {
                StoreError::Damaged { path, detail }
            }
            _ => StoreError::Io { path, action: "opening", detail },
        }
        .into()
    })
}
