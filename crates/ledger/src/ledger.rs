//! The ledger: the books as the rest of the program has them, with accounts and keys in memory.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::account::{FreePlan, Payment, Spending};
use crate::api_key::KeyHash;
use crate::directory::{AccountHandle, Directory, KeyHandle};
use crate::error::{BooksError, ChargeError, OpenError, Unavailable};
use crate::health::Health;
use crate::id::AccountId;
use crate::key_limits::CapStanding;
use crate::local::LocalBooks;
use crate::operation::Operation;
use crate::operations::charges::{
    ANSWER_FAILED, Charge, PaidAmong, PaidBefore, Refund, Reserve, ReserveFile, SellPart,
};
use crate::pending::Pending;
use crate::postgres::{DatabaseStats, PostgresBooks};
use crate::request::{
    ChargeRequest, ClaimKind, DownloadRequest, Estimate, IdempotencyClaim, Receipt, Reserved, Viewed,
};
use crate::reservation::Reservation;
use crate::store::Store;
use mercato_base::clock::Moment;
use mercato_database::DatabaseAddress;
use prometheus_client::metrics::histogram::Histogram;

/// When an acknowledged charge is safe from what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChargeDurability {
    /// From a loss of power, before it is acknowledged.
    #[default]
    Power,
    /// From the death of the process, before it is acknowledged; from a loss of power 100 ms later.
    Process,
}

impl std::str::FromStr for ChargeDurability {
    type Err = String;

    fn from_str(text: &str) -> Result<ChargeDurability, String> {
        match text {
            "power" => Ok(ChargeDurability::Power),
            "process" => Ok(ChargeDurability::Process),
            _ => Err(format!("expected `power` or `process`, found `{text}`")),
        }
    }
}

/// How the books are opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct LedgerOptions {
    /// When a charge counts as done.
    pub durability: ChargeDurability,
}

/// The books, open. Shared by all threads.
pub struct Ledger {
    pub store: Store,
    pub directory: Arc<Directory>,
    free_plan: FreePlan,
    /// Held while the entries of an account are looked for.
    pub looking: Mutex<()>,
}

/// Numbers for an operator's dashboard.
#[derive(Clone, Debug)]
pub struct LedgerStats {
    /// Entries in the books.
    pub entries: u64,
    /// Operations since the start.
    pub operations: u64,
    pub open_reservations: u64,
    pub accounts: usize,
    /// Keys, revoked ones included.
    pub keys: usize,
    /// How many operations one sync made durable.
    pub group_sizes: Histogram,
    /// How long syncs took.
    pub sync_seconds: Histogram,
    /// How books on a database get on with it; nothing for books in files.
    pub database: Option<DatabaseStats>,
}

impl Ledger {
    /// Opens the books in a folder, which is created when it does not exist.
    ///
    /// Reservations that a stop left open are settled: the rows that were last noted as delivered are sold, the rest
    /// comes back. Refuses when the records contradict each other, or when the log ends before what the checkpoint or a later
    /// batch calls safe.
    pub fn open(path: &Path, options: LedgerOptions, now: Moment) -> Result<Ledger, OpenError> {
        let directory = Arc::<Directory>::default();
        let books = LocalBooks::open(path, options.durability, Arc::clone(&directory), now)?;
        let books = Store::Local(Arc::new(books));
        Ok(Ledger::over(books, directory))
    }

    /// Opens the books of a database, whose schema must be the one of this program ([`migrate`](mercato_database::migrate)). Other servers may have
    /// them open, too.
    ///
    /// Reservations of servers that are gone are settled as their last notes say.
    pub fn open_database(address: &DatabaseAddress, now: Moment) -> Result<Ledger, OpenError> {
        let directory = Arc::<Directory>::default();
        let books = PostgresBooks::open(address, None, Arc::clone(&directory), now)?;
        let books = Store::Postgres(Arc::new(books));
        Ok(Ledger::over(books, directory))
    }

    /// The same for a server. It notes charges in the folder `unsettled` that it refuses without knowing whether the database applied
    /// them, and takes back those that former processes noted there and the database applied.
    pub fn open_server(
        address: &DatabaseAddress,
        unsettled: &Path,
        now: Moment,
    ) -> Result<Ledger, OpenError> {
        let directory = Arc::<Directory>::default();
        let books = PostgresBooks::open(address, Some(unsettled), Arc::clone(&directory), now)?;
        let books = Store::Postgres(Arc::new(books));
        Ok(Ledger::over(books, directory))
    }

    pub fn over(store: Store, directory: Arc<Directory>) -> Ledger {
        Ledger { store, directory, free_plan: FreePlan::default(), looking: Mutex::default() }
    }

    /// The same books with another free plan.
    #[must_use]
    pub fn with_free_plan(mut self, free_plan: FreePlan) -> Ledger {
        self.free_plan = free_plan;
        self
    }

    /// What an account may ask for without credits.
    pub const fn free_plan(&self) -> FreePlan {
        self.free_plan
    }

    /// Free queries that an account has left in the month of a moment, from memory.
    pub fn free_queries_remaining(&self, account: &AccountHandle, now: Moment) -> u32 {
        account.balance().free_remaining(self.free_plan.queries_per_month, now)
    }

    /// Whether the books can be written.
    pub fn health(&self) -> Health {
        self.store.health()
    }

    /// The number of this server among those that share the books; nothing where no other can.
    pub fn server(&self) -> Option<i64> {
        self.store.server()
    }

    /// Makes everything durable and releases the files. Refuses later operations.
    pub fn shutdown(&self) {
        self.store.shutdown();
    }

    /// Numbers for an operator's dashboard.
    pub fn stats(&self) -> LedgerStats {
        self.store.stats()
    }

    /// Carries an operation out and waits until it is durable.
    pub fn commit<O: Operation>(&self, operation: &O) -> Result<O::Outcome, O::Refusal> {
        self.store.run(operation)?.durable()
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
    /// Without a claim and without a cap on the key this looks at memory only. With a claim it looks up in the books whether the
    /// request was paid.
    pub fn can_afford_anything(
        &self,
        account: &AccountHandle,
        key: Option<&KeyHandle>,
        spending: Spending,
        claim: Option<&IdempotencyClaim>,
        now: Moment,
    ) -> Result<(), ChargeError> {
        if let Some(claim) = claim {
            let claims = std::slice::from_ref(claim);
            if self.paid_among(account, ClaimKind::Rows, claims, now)?.is_some() {
                return Ok(());
            }
        }
        if self.health() != Health::Serving {
            return Err(Unavailable::Down.into());
        }
        if account.closed_at().is_some() {
            return Err(BooksError::AccountClosed { account: account.id() }.into());
        }
        let cost = account.balance().afford_anything(spending, self.free_plan, now)?.credits();
        let caps = if cost > 0 { self.caps(account, key, now)? } else { Vec::new() };
        match caps.into_iter().find(|standing| standing.spent >= standing.cap) {
            Some(standing) => Err(ChargeError::KeyCapReached { required: cost, standing }),
            None => Ok(()),
        }
    }

    /// How a key stands to its caps on credits. A key without caps is looked at in memory only.
    fn caps(
        &self,
        account: &AccountHandle,
        key: Option<&KeyHandle>,
        now: Moment,
    ) -> Result<Vec<CapStanding>, BooksError> {
        match key {
            Some(key) => self.cap_standings(account.id(), key.id(), &key.limits(), now),
            None => Ok(Vec::new()),
        }
    }

    /// The place of the request that one idempotency key has paid for, among claims of that key: of the same body on
    /// several versions of a dataset. Refused when the key has paid for another request, or when it is for rows and one
    /// of these is being answered.
    pub fn paid_among(
        &self,
        account: &AccountHandle,
        kind: ClaimKind,
        claims: &[IdempotencyClaim],
        now: Moment,
    ) -> Result<Option<usize>, ChargeError> {
        self.store.ask(&PaidAmong { account: account.id(), kind, claims, at: now })
    }

    /// How many of so many rows of a view the account has paid for on the site, within a day.
    ///
    /// Only people buy there, so this looks into the books for accounts with a login alone.
    pub fn paid_before(
        &self,
        account: &AccountHandle,
        viewed: &Viewed,
        rows: u64,
        now: Moment,
    ) -> Result<u64, BooksError> {
        if self.login(account.id()).is_none() {
            return Ok(0);
        }
        self.store.ask(&PaidBefore { account: account.id(), viewed, rows, at: now })
    }

    /// Sells rows of a page. Wait until the sale is durable before the answer is sent.
    pub fn charge(&self, request: &ChargeRequest) -> Result<Pending<Receipt>, ChargeError> {
        self.store.sell(&Charge(request))
    }

    /// Sells a part of a file. It pays what the account has not paid of the file within `DOWNLOAD_GRANT_HOURS`: all of it,
    /// what a download that broke off left, or nothing.
    pub fn sell_part(&self, request: &DownloadRequest) -> Result<Pending<Receipt>, ChargeError> {
        self.store.sell(&SellPart(request))
    }

    /// Gives back what a receipt took, for an answer that could not be given.
    #[expect(clippy::needless_pass_by_value, reason = "a receipt is given back once")]
    pub fn refund(&self, receipt: Receipt, at: Moment) -> Result<Pending<()>, ChargeError> {
        self.store.sell(&Refund { receipt: &receipt, at, note: ANSWER_FAILED })
    }

    /// Sets aside what a stream can cost, and waits until that is durable.
    pub fn reserve(&self, request: &ChargeRequest) -> Result<Reservation, ChargeError> {
        self.reservation(self.store.sell(&Reserve(request))?)
    }

    /// Sets aside what a file costs, and waits until that is durable. What is settled is remembered for later parts.
    pub fn reserve_download(&self, request: &DownloadRequest) -> Result<Reservation, ChargeError> {
        self.reservation(self.store.sell(&ReserveFile(request))?)
    }

    /// A reservation that does not become durable ends with the progress that nobody holds.
    fn reservation(&self, reserved: Pending<Reserved>) -> Result<Reservation, ChargeError> {
        Ok(Reservation::new(self.store.clone(), reserved.durable()?))
    }

    /// The cost of so many rows now, and whether the key permits the charge and the account can pay.
    pub fn estimate(
        &self,
        account: &AccountHandle,
        key: Option<&KeyHandle>,
        rows: u64,
        spending: Spending,
        now: Moment,
    ) -> Result<Estimate, ChargeError> {
        let balance = account.balance();
        let payment = match spending {
            Spending::Download => balance.pay_credits(rows),
            Spending::Rows { limit } => balance
                .afford_anything(spending, self.free_plan, now)
                .and_then(|_| balance.pay_query(rows, self.free_plan.queries_for(limit), now)),
        };
        let credits_required = match payment {
            Ok(Payment::FreeQuery(_)) => 0,
            _ => rows,
        };
        let caps = self.caps(account, key, now)?;
        let is_within =
            caps.iter().all(|standing| credits_required <= standing.cap.saturating_sub(standing.spent));
        let affordable = payment.is_ok() && is_within;
        Ok(Estimate { credits_required, credits_available: balance.credits, affordable })
    }
}

impl Drop for Ledger {
    /// Reservations that are still held do not keep the books open.
    fn drop(&mut self) {
        self.shutdown();
    }
}
