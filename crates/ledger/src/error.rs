//! Why the books refuse: to pay, to open, or to carry out an order of the operator.
//!
//! The texts are safe to show to a client, except those of [`OpenError`], which are for the operator. Does not depend on
//! status codes.

use mercato_database::{SchemaFault, Trouble};
use std::path::PathBuf;

use super::checkpoint::StoreError;
use super::codec::DecodeError;
use super::id::AccountId;
use super::key_limits::CapStanding;
use super::log::LogError;
use mercato_base::clock::Moment;
use mercato_base::words::counted;

/// Why a charge, a reservation or an order was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChargeError {
    /// Fewer credits than rows. Nothing was taken.
    #[error("the answer costs {}, the account has {available}", counted(*.required, "credit"))]
    InsufficientCredits {
        /// Credits that the answer costs.
        required: u64,
        /// Credits that the account has.
        available: u64,
    },
    /// All free queries of the month are used and there are no credits.
    #[error("the {allowance} free queries of this month are used")]
    FreePlanExhausted {
        /// Free queries of a month.
        allowance: u32,
        /// When the next month begins.
        resets_at: Moment,
    },
    /// More rows than one free query may return.
    #[error("a free query returns at most {}, {requested} were asked for", counted(*.limit, "row"))]
    FreeRowsExceeded {
        /// Rows of one free query.
        limit: u64,
        /// Requested rows.
        requested: u64,
    },
    /// A cap of the key leaves too little. Nothing was taken.
    #[error(
        "the answer costs {}, and the key has spent {} of the {} that it may spend in a {}",
        counted(*.required, "credit"), .standing.spent, .standing.cap, .standing.period.as_str()
    )]
    KeyCapReached {
        /// Credits that the answer costs.
        required: u64,
        /// How the key stands to the cap.
        standing: CapStanding,
    },
    /// The idempotency key was used for another request.
    #[error("this idempotency key belongs to a request with another body")]
    IdempotencyMismatch,
    /// The request of the idempotency key is being answered.
    #[error("the request of this idempotency key is still being answered")]
    IdempotencyInUse,
    /// The books cannot be written now.
    #[error("{reason}")]
    Unavailable {
        /// The reason.
        reason: Unavailable,
    },
    /// There is no such account.
    #[error("there is no account {account}")]
    UnknownAccount {
        /// The requested id.
        account: AccountId,
    },
    /// The account is closed: nothing is sold to it any more.
    #[error("the account {account} is closed")]
    AccountClosed {
        /// Its id.
        account: AccountId,
    },
    /// An order of the operator breaks a rule.
    #[error("{field}: {rule}")]
    Invalid {
        /// The field of the order.
        field: &'static str,
        /// The rule that it breaks.
        rule: String,
    },
}

/// Why the books cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// Too much waits already.
    #[error("too many operations wait for the books; try again")]
    Busy,
    /// The store has failed and is tried again.
    #[error("the books cannot be written at the moment")]
    Down,
    /// No acknowledgement came in time; the operation may still be carried out.
    #[error("the books did not answer in time")]
    Stalled,
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopped,
}

impl From<Unavailable> for ChargeError {
    fn from(reason: Unavailable) -> ChargeError {
        ChargeError::Unavailable { reason }
    }
}

/// Why the books do not open. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The checkpoint or the file system refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log refuses.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A record cannot be read.
    #[error("{}: {source}; restore the newest backup with `mercato-tools restore`", directory.display())]
    Record {
        /// The folder of the books.
        directory: PathBuf,
        /// The fault of the record.
        source: DecodeError,
    },
    /// The records contradict each other.
    #[error("{}: {finding}; see `mercato-tools ledger verify`, then restore the newest backup", directory.display())]
    Unbalanced {
        /// The folder of the books.
        directory: PathBuf,
        /// The first contradiction.
        finding: String,
    },
    /// Records that were safe are gone.
    #[error(
        "{}: the log ends at record {found}, but record {expected} was safe: the log lost its end; \
         restore the newest backup with `mercato-tools restore`",
        directory.display()
    )]
    Behind {
        /// The folder of the books.
        directory: PathBuf,
        /// The newest record that the checkpoint holds.
        expected: u64,
        /// The newest record of the log.
        found: u64,
    },
    /// The database of the books refuses, or cannot be reached.
    #[error("the database of the books: {0}")]
    Database(#[from] SchemaFault),
    /// A move into the database was interrupted.
    #[error(
        "a move of books into this database has not ended: let it end, or run the same `mercato-tools books move` again, which \
         begins anew"
    )]
    Unfinished,
    /// The books could not begin to work.
    #[error("the books cannot begin to work: {0}")]
    Start(String),
}

impl From<Trouble> for OpenError {
    fn from(trouble: Trouble) -> OpenError {
        OpenError::Database(trouble.into())
    }
}
