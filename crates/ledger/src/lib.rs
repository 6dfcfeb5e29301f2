//! The books: accounts, keys, credits, and every change of a balance; beside them logins with their sessions, and the
//! relations between datasets.
//!
//! Guarantees:
//! 1. The balance of an account is the sum of its entries, at any moment and after any crash.
//! 2. What was acknowledged is on the disk, as far as the configured durability demands, and is there once.
//! 3. A sale is made whole or not at all; no balance is ever below zero.
//! 4. A reservation ends, whatever happens to its stream.
//!
//! [`Ledger`] is what handlers have. An [`Operation`] says what it reads, decides, and has one outcome; a store (`store`) runs it:
//! books on the disk of this machine (`local`), or on a database (`postgres`). Requests read accounts and keys from memory
//! (`directory`). Does not depend on status codes, routes, rate limits or datasets. Begin at `operation`; `README.md` has the
//! books on one page.

mod audit;
mod backup;
mod checkpoint;
mod directory;
mod error;
mod health;
mod history;
mod ledger;
pub mod limits;
mod local;
mod log;
mod moving;
mod operation;
mod operations;
mod operator;
mod pending;
mod people;
mod postgres;
mod progress;
mod records;
mod report;
mod request;
mod reservation;
mod state;
mod store;
mod usage;

pub use account::{Balance, FreePlan, Payment, Plan, Spending};
pub use api_key::{KEY_CHARACTERS, KEY_RANDOM_BYTES, KeyHash, NotAKey, PlainKey};
pub use audit::AuditReport;
pub use backup::{BackupError, BackupSummary, MovedSegment};
pub use checkout::{CHECKOUT_RANDOM_BYTES, Checkout, CheckoutId, CheckoutState, Paid};
pub use checkpoint::StoreError;
pub use counter::{CounterNote, CounterSubject, SECONDS_COUNTED_MAX, SharedCount};
pub use directory::{AccountHandle, KeyHandle, KeyView, SessionHandle, SessionView};
pub use email::{Email, NotAnEmail};
pub use entry::{Entry, EntryKind};
pub use error::{BooksError, ChargeError, LoginError, OpenError, Refusal, Unavailable};
pub use health::Health;
pub use history::{History, HistoryQuery};
pub use id::{AccountId, IdError, KeyId, ReservationId};
pub use key_limits::{CapPeriod, CapStanding, Change, KeyLimits, LimitsChange};
pub use ledger::{ChargeDurability, Ledger, LedgerOptions, LedgerStats};
pub use local::{inspect, restore};
pub use log::LogError;
pub use login::Login;
pub use moving::{BooksPlace, MoveError, MoveStep, MovedBooks, move_books};
pub use one_time_token::TokenPurpose;
pub use operation::Operation;
pub use operations::accounts::{Buy, CreateAccount, Grant, Purchase};
pub use operations::checkouts::{
    BeginCheckout, CancelCheckout, Contradiction, FindCheckout, PaidCheckout, PayCheckout, Purchases,
    PurchasesQuery, ReversePayment, Reversed,
};
pub use operations::relations::{AddRelation, RemoveRelations};
pub use operator::CreatedKey;
pub use password_hash::{NotAPasswordHash, PasswordHash};
pub use pending::{Durable, Pending};
pub use people::{
    CloseAccount, ConfirmEmail, EndAllSessions, EndSession, IssuedToken, RedeemToken, Redeemed, Redemption,
    SetPassword, SignUp, SignedUp,
};
pub use postgres::{ClusterStatus, DatabaseStats, ServerStatus, cluster_status};
pub use price::{CURRENCY, Price};
pub use relation::{Relation, RelationKey, Relations};
pub use report::AccountView;
pub use request::{
    ChargeRequest, ClaimError, ClaimKind, DownloadRequest, Estimate, IdempotencyClaim, PaymentId, Receipt,
    ViewRows, Viewed,
};
pub use reservation::Reservation;
pub use reversal::ReversalEvent;
pub use token::{PlainToken, TOKEN_RANDOM_BYTES, TokenHash};
pub use usage::{Usage, UsageLine, UsageQuery};

use records::keys::{api_key, key_limits, key_record};
use records::logins::{closing, email, login, one_time_token, password_hash, session_record, token};
use records::payments::{checkout, price, reversal};
use records::{
    account, changes, claim, codec, counter, entry, id, key_space, paid_view, relation, reservation_record,
};
