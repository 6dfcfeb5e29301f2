//! The trait between the service and its books. An implementation decides how and where books are kept.
//!
//! An operation is carried out whole or refused and leaves no trace. A [`Pending`] outcome counts once it is durable. Every
//! change of an account, a key or a relation is shown in the [`Directory`](super::directory::Directory) that the books were
//! opened with.

use std::path::Path;
use std::sync::Arc;

use super::LedgerStats;
use super::audit::AuditReport;
use super::backup::{BackupError, BackupSummary, MovedSegment};
use super::checkout::{Checkout, CheckoutId};
use super::counter::{CounterNote, CounterSubject, SharedCount};
use super::email::Email;
use super::entry::Entry;
use super::error::ChargeError;
use super::health::Health;
use super::history::{History, HistoryQuery};
use super::id::{AccountId, KeyId, ReservationId};
use super::key_limits::{CapStanding, LimitsChange};
use super::login::Login;
use super::one_time_token::TokenPurpose;
use super::password_hash::PasswordHash;
use super::payments::{
    CheckoutPayment, NewCheckout, PaidCheckout, PurchasesQuery, ReportedReversal, Reversed,
};
use super::pending::Pending;
use super::progress::Progress;
use super::relation::Relation;
use super::request::{
    ChargeRequest, ClaimKind, CreditRequest, DownloadRequest, IdempotencyClaim, NewKey, Purchase, Receipt,
    Redeemed, Redemption, Removal, Reserved, SignUp, Viewed,
};
use super::token::TokenHash;
use super::usage::UsageLine;
use mercato_base::clock::{Moment, UtcDay};

/// The outcome of an operation, or why it was refused.
pub type Outcome<T> = Result<Pending<T>, ChargeError>;

/// Books.
pub trait Books: Send + Sync {
    /// Sells the rows of a page.
    fn charge(&self, request: &ChargeRequest) -> Outcome<Receipt>;
    /// Sells a part of a file.
    fn sell_part(&self, request: &DownloadRequest) -> Outcome<Receipt>;
    /// Gives back what a receipt took.
    fn refund(&self, receipt: &Receipt, at: Moment) -> Outcome<()>;
    /// Sets aside what a stream can cost.
    fn reserve(&self, request: &ChargeRequest) -> Outcome<Reserved>;
    /// Sets aside what a file costs.
    fn reserve_download(&self, request: &DownloadRequest) -> Outcome<Reserved>;
    /// Ends a reservation as its progress says. Books settle a reservation on their own when they alone hold its progress.
    fn settle(&self, id: ReservationId, progress: &Arc<Progress>) -> Outcome<Receipt>;
    /// Which of these claims of one key has paid.
    fn paid_among(
        &self,
        account: AccountId,
        kind: ClaimKind,
        claims: &[IdempotencyClaim],
        now: Moment,
    ) -> Result<Option<usize>, ChargeError>;
    /// How many of so many rows of a view were paid on the site.
    fn paid_before(
        &self,
        account: AccountId,
        viewed: &Viewed,
        rows: u64,
        now: Moment,
    ) -> Result<u64, ChargeError>;
    /// How a key stands to its caps on credits.
    fn caps(&self, account: AccountId, key: KeyId, now: Moment) -> Result<Vec<CapStanding>, ChargeError>;

    /// Creates an account without credits.
    fn create_account(&self, name: &str, now: Moment) -> Outcome<AccountId>;
    /// Enters a purchase.
    fn purchase(&self, credit: &CreditRequest) -> Outcome<Purchase>;
    /// Opens a checkout: the credits and the price of a purchase that is still to be paid.
    fn begin_checkout(&self, new: &NewCheckout) -> Outcome<Checkout>;
    /// Notes that the customer gave a checkout up, unless it is paid.
    fn cancel_checkout(&self, account: AccountId, id: CheckoutId, at: Moment) -> Outcome<Option<Checkout>>;
    /// Gives the credits of a paid checkout, once.
    fn pay_checkout(&self, payment: &CheckoutPayment) -> Outcome<PaidCheckout>;
    /// Takes in that a payment was refunded or disputed.
    fn reverse_payment(&self, reversal: &ReportedReversal) -> Outcome<Reversed>;
    /// The checkout with this id.
    fn checkout(&self, id: CheckoutId) -> Result<Option<Checkout>, ChargeError>;
    /// Checkouts, newest first.
    fn checkouts(&self, query: &PurchasesQuery) -> Result<Vec<Checkout>, ChargeError>;
    /// Gives credits; the outcome is the balance.
    fn grant(&self, credit: &CreditRequest) -> Outcome<u64>;
    /// Creates a key.
    fn create_key(&self, account: AccountId, new: &NewKey, now: Moment) -> Outcome<KeyId>;
    /// Ends a key at once.
    fn revoke_key(&self, id: KeyId, now: Moment) -> Outcome<()>;
    /// Puts a new key in the place of another.
    fn rotate_key(&self, id: KeyId, new: &NewKey, grace_seconds: u64, now: Moment) -> Outcome<KeyId>;
    /// Changes what a key may spend and read, and when it ends.
    fn limit_key(&self, id: KeyId, change: &LimitsChange, now: Moment) -> Outcome<()>;
    /// Changes the label of a key.
    fn rename_key(&self, id: KeyId, label: &str) -> Outcome<()>;

    /// Creates an account with a login.
    fn sign_up(&self, email: &Email, password: &PasswordHash, now: Moment) -> Outcome<SignUp>;
    /// Changes a password, and ends all sessions of the account but one.
    fn set_password(
        &self,
        account: AccountId,
        password: &PasswordHash,
        kept: Option<TokenHash>,
        now: Moment,
    ) -> Outcome<()>;
    /// Notes that mail to the address of an account arrives.
    fn confirm_email(&self, account: AccountId, now: Moment) -> Outcome<()>;
    /// Opens a session for the account of a login, which must still be as it is here.
    fn open_session(&self, login: &Login, token: TokenHash, now: Moment) -> Outcome<()>;
    /// Ends a session at once; the outcome is whether it was open.
    fn end_session(&self, token: TokenHash, now: Moment) -> Outcome<bool>;
    /// Ends all sessions of an account but one; the outcome is how many.
    fn end_all_sessions(&self, account: AccountId, kept: Option<TokenHash>, now: Moment) -> Outcome<usize>;
    /// Keeps a one-time token; the outcome is its end.
    fn issue_token(
        &self,
        account: AccountId,
        purpose: TokenPurpose,
        token: TokenHash,
        now: Moment,
    ) -> Outcome<Moment>;
    /// Redeems a one-time token and executes its purpose.
    fn redeem_token(&self, token: TokenHash, redemption: &Redemption, now: Moment) -> Outcome<Redeemed>;
    /// Closes an account: its keys, its sessions and its login go, its entries stay.
    fn close_account(&self, account: AccountId, now: Moment) -> Outcome<()>;

    /// Enters or changes a relation; the outcome is whether there was one.
    fn add_relation(&self, relation: Relation) -> Outcome<bool>;
    /// Removes relations.
    fn remove_relations(&self, removal: &Removal, now: Moment) -> Outcome<Vec<Relation>>;

    /// Keeps counters of requests. They may be lost in a crash.
    fn note_counters(&self, notes: &[CounterNote]) -> Result<(), ChargeError>;
    /// Keeps when keys were last used. It may be lost in a crash.
    fn note_key_uses(&self, uses: &[(KeyId, Moment)]) -> Result<(), ChargeError>;
    /// Keeps when a session was last seen. It may be lost in a crash.
    fn note_session_use(&self, token: TokenHash, at: Moment) -> Result<(), ChargeError>;
    /// Whether other servers count in the same books.
    fn shares_counts(&self) -> bool;
    /// How many servers had the same books open when that was last looked at, this one among them.
    fn servers(&self) -> u64;
    /// Tells other servers what this one has counted, and returns what they have counted of the subjects that are asked for;
    /// subjects that they know nothing of are missing.
    fn exchange_counts(
        &self,
        own: &[SharedCount],
        asked: &[CounterSubject],
        now: Moment,
    ) -> Result<Vec<SharedCount>, ChargeError>;
    /// The counters of the present day.
    fn counters(&self) -> Result<Vec<CounterNote>, ChargeError>;

    /// The usage of an account from a day on, or after a line of an earlier page: at most `limit` lines, by day, key and dataset.
    fn usage(
        &self,
        account: AccountId,
        first: UtcDay,
        after: Option<&UsageLine>,
        limit: usize,
    ) -> Result<Vec<UsageLine>, ChargeError>;
    /// At most `limit` entries from a sequence number on, and where to go on.
    fn entries(&self, first: u64, limit: usize) -> Result<(Vec<Entry>, Option<u64>), ChargeError>;
    /// The newest entries of an account, looked for from the end of the log on.
    fn history(&self, query: &HistoryQuery) -> Result<History, ChargeError>;
    /// Adds up every entry and compares the sums with the accounts.
    fn verify(&self) -> Result<AuditReport, ChargeError>;
    /// Writes a backup into a folder.
    fn backup(&self, folder: &Path, now: Moment) -> Result<BackupSummary, BackupError>;
    /// Moves the oldest segments of the log into a folder.
    fn archive(&self, to: &Path) -> Result<Vec<MovedSegment>, ChargeError>;

    /// Whether the books can be written.
    fn health(&self) -> Health;
    /// The number of this server among those that share the books; nothing where no other can.
    fn server(&self) -> Option<i64> {
        None
    }
    /// Numbers for an operator's dashboard.
    fn stats(&self) -> LedgerStats;
    /// Makes everything durable and releases the files.
    fn shutdown(&self);
}
