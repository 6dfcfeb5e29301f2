//! Why the books refuse: to sell, to sign somebody in, to change a record, or to open.
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

/// Why the books refuse a change, of whatever family.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BooksError {
    /// The books cannot be written now.
    #[error("{reason}")]
    Unavailable { reason: Unavailable },
    #[error("there is no account {account}")]
    UnknownAccount { account: AccountId },
    /// Nothing is sold to a closed account, and nobody signs in to it.
    #[error("the account {account} is closed")]
    AccountClosed { account: AccountId },
    /// A field of the operation breaks a rule.
    #[error("{field}: {rule}")]
    Invalid { field: &'static str, rule: String },
}

/// Why nothing was sold or set aside. Nothing was taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChargeError {
    /// Fewer credits than rows.
    #[error("the answer costs {}, the account has {available}", counted(*.required, "credit"))]
    InsufficientCredits { required: u64, available: u64 },
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
    FreeRowsExceeded { limit: u64, requested: u64 },
    /// A cap of the key leaves too little.
    #[error(
        "the answer costs {}, and the key has spent {} of the {} that it may spend in a {}",
        counted(*.required, "credit"), .standing.spent, .standing.cap, .standing.period.as_str()
    )]
    KeyCapReached { required: u64, standing: CapStanding },
    /// The idempotency key was used for another request.
    #[error("this idempotency key belongs to a request with another body")]
    IdempotencyMismatch,
    /// The request of the idempotency key is being answered.
    #[error("the request of this idempotency key is still being answered")]
    IdempotencyInUse,
    #[error(transparent)]
    Books(#[from] BooksError),
}

/// Why a login, a session or a one-time token was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The password was changed after it was compared, and before the session was opened.
    #[error("password: it was changed meanwhile; sign in again")]
    PasswordChanged,
    /// The operator made the account.
    #[error("account: {account} has no login: nobody signed up for it with an e-mail address")]
    NoLogin { account: AccountId },
    /// Another session or token was made from the same random bytes.
    #[error("token: the random bytes were used before; try again")]
    TokenUsed,
    #[error(transparent)]
    Books(#[from] BooksError),
}

/// What the errors of all families have in common.
pub trait Refusal: From<BooksError> {
    /// The error that every operation may meet, if it is one.
    fn of_books(&self) -> Option<&BooksError>;
}

impl Refusal for BooksError {
    fn of_books(&self) -> Option<&BooksError> {
        Some(self)
    }
}

impl Refusal for ChargeError {
    fn of_books(&self) -> Option<&BooksError> {
        if let ChargeError::Books(error) = self { Some(error) } else { None }
    }
}

impl Refusal for LoginError {
    fn of_books(&self) -> Option<&BooksError> {
        if let LoginError::Books(error) = self { Some(error) } else { None }
    }
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

impl From<Unavailable> for BooksError {
    fn from(reason: Unavailable) -> BooksError {
        BooksError::Unavailable { reason }
    }
}

impl From<Unavailable> for ChargeError {
    fn from(reason: Unavailable) -> ChargeError {
        BooksError::from(reason).into()
    }
}

impl From<Unavailable> for LoginError {
    fn from(reason: Unavailable) -> LoginError {
        BooksError::from(reason).into()
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
