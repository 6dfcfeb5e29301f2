//! An operation of the books: what it reads, its decision, and its outcome.
//!
//! Each is one type, and every store runs the same one: books on the disk hold everything in memory, books on a database read
//! and lock what [`Operation::reads`] names. A question is an operation that changes nothing. Does not depend on stores.

use std::collections::BTreeSet;

use crate::api_key::KeyHash;
use crate::email::Email;
use crate::error::Refusal;
use crate::id::{AccountId, KeyId, ReservationId};
use crate::state::State;
use mercato_base::clock::{Moment, UtcDay};

/// Something that the books do, whole or not at all.
pub trait Operation {
    type Outcome;
    type Refusal: Refusal;

    /// The part of the books that the decision looks at.
    fn reads(&self) -> Reads;

    /// Decides, and changes the state only then: a refused operation leaves no trace. A database that is in the way runs it
    /// again, so it depends on nothing but the state.
    fn decide(&self, books: &mut State) -> Result<Self::Outcome, Self::Refusal>;
}

/// A part of the books.
#[derive(Default)]
pub struct Reads {
    pub accounts: BTreeSet<AccountId>,
    /// An account that is known by something else.
    pub owner: Option<Owner>,
    /// All keys of the accounts.
    pub keys: bool,
    /// Logins, sessions and tokens of the accounts.
    pub logins: bool,
    /// The login with this address.
    pub email: Option<Email>,
    pub relations: bool,
    /// Whether a key has this hash.
    pub hash: Option<KeyHash>,
    /// Keys whose caps are compared, and the moments at which they count.
    pub capped: Vec<(KeyId, Moment)>,
    /// Reservations that end, and when.
    pub settling: Vec<(ReservationId, Moment)>,
    /// Open reservations of the accounts with these claims or files.
    pub claims: Vec<[u8; 16]>,
    pub files: Vec<[u8; 16]>,
    /// Records and lines of usage. Others are found, too, but one at a time.
    pub records: BTreeSet<Vec<u8>>,
    pub usage: BTreeSet<UsageKey>,
    pub makes: Option<Makes>,
}

/// By which an account is found.
pub enum Owner {
    Key(KeyId),
    /// A record of the account, like a session.
    Record(Vec<u8>),
}

/// A line of usage: account, day, key, dataset.
pub type UsageKey = (AccountId, UtcDay, Option<KeyId>, String);

/// What gets a number of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Makes {
    Account,
    Key,
    Checkout,
    Reservation,
}

impl Reads {
    pub fn nothing() -> Reads {
        Reads::default()
    }

    pub fn account(account: AccountId) -> Reads {
        Reads { accounts: [account].into(), ..Reads::default() }
    }

    /// The account of a key, with all its keys.
    pub fn key(key: KeyId) -> Reads {
        Reads { owner: Some(Owner::Key(key)), keys: true, ..Reads::default() }
    }

    /// The account of a record, with its logins.
    pub fn record(key: Vec<u8>) -> Reads {
        Reads { owner: Some(Owner::Record(key)), logins: true, ..Reads::default() }
    }

    #[must_use]
    pub fn with_keys(self) -> Reads {
        Reads { keys: true, ..self }
    }

    #[must_use]
    pub fn with_logins(self) -> Reads {
        Reads { logins: true, ..self }
    }

    #[must_use]
    pub fn making(self, makes: Makes) -> Reads {
        Reads { makes: Some(makes), ..self }
    }

    /// Adds what another sale reads.
    pub fn add(&mut self, other: Reads) {
        self.accounts.extend(other.accounts);
        self.capped.extend(other.capped);
        self.settling.extend(other.settling);
        self.claims.extend(other.claims);
        self.files.extend(other.files);
        self.records.extend(other.records);
        self.usage.extend(other.usage);
    }
}
