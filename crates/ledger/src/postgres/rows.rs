//! The rows of the database as the records that a state stands above, within one transaction.
//!
//! What was read is kept for the transaction, so it is known afterwards which records were there. Does not depend on operations.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::tables::{checkout, checkout_columns, signed, usage_line};
use crate::checkout::Checkout;
use crate::checkpoint::{Pair, StoreError};
use crate::codec::Record;
use crate::id::AccountId;
use crate::key_space;
use crate::state::Below;
use crate::usage::{Usage, UsageLine};
use mercato_database::{Connection, Trouble};

/// A connection as its transactions share it.
pub type Shared = Arc<Mutex<Connection>>;

const RECORD: &str = "SELECT value FROM record WHERE key = $1";
const RECORD_LOCKED: &str = "SELECT value FROM record WHERE key = $1 FOR UPDATE";
const CHECKOUT: &str = concat!("SELECT ", checkout_columns!(), " FROM checkout WHERE number = $1");
const CHECKOUTS: &str =
    concat!("SELECT ", checkout_columns!(), " FROM checkout WHERE number < $1 ORDER BY number DESC LIMIT $2");
const CHECKOUTS_OF: &str = concat!(
    "SELECT ",
    checkout_columns!(),
    " FROM checkout WHERE account = $3 AND number < $1 ORDER BY number DESC LIMIT $2"
);
const USAGE_FROM: &str = "SELECT day, key, dataset, requests, rows, credits FROM usage \
    WHERE account = $1 AND (day, key, dataset) >= ($2, $3, $4) ORDER BY day, key, dataset LIMIT $5";
const USAGE_AFTER: &str = "SELECT day, key, dataset, requests, rows, credits FROM usage \
    WHERE account = $1 AND (day, key, dataset) > ($2, $3, $4) ORDER BY day, key, dataset LIMIT $5";
const USAGE_LINE: &str = "SELECT day, key, dataset, requests, rows, credits FROM usage \
    WHERE account = $1 AND day = $2 AND key = $3 AND dataset = $4";

/// Records by key.
pub struct Rows {
    connection: Shared,
    /// Whether records that are read are locked.
    locks: bool,
    known: Mutex<HashMap<Vec<u8>, Option<Vec<u8>>>>,
    /// Why reading failed.
    trouble: Mutex<Option<Trouble>>,
}

impl Rows {
    pub fn new(connection: &Shared, locks: bool) -> Arc<Rows> {
        let (connection, known, trouble) = (Arc::clone(connection), Mutex::default(), Mutex::default());
        Arc::new(Rows { connection, locks, known, trouble })
    }

    pub fn connection(&self) -> &Shared {
        &self.connection
    }

    /// Keeps what was read of these keys: those without a value are not there.
    pub fn learn(&self, keys: impl IntoIterator<Item = Vec<u8>>, found: impl IntoIterator<Item = Pair>) {
        let mut known = self.known.lock();
        known.extend(keys.into_iter().map(|key| (key, None)));
        known.extend(found.into_iter().map(|(key, value)| (key, Some(value))));
    }

    /// Whether a record was there when it was read; nothing when it was not read.
    pub fn was_there(&self, key: &[u8]) -> Option<bool> {
        self.known.lock().get(key).map(Option::is_some)
    }

    /// Why reading failed, if it did.
    pub fn take_trouble(&self) -> Option<Trouble> {
        self.trouble.lock().take()
    }

    fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Trouble> {
        let connection = &mut *self.connection.lock();
        match key_space::kind(key) {
            key_space::USAGE => read_usage(connection, key),
            key_space::CHECKOUT => {
                let Some(number) = key_space::checkout_number(key) else { return Ok(None) };
                let row = connection.first(CHECKOUT, &[&signed(number)])?;
                Ok(row.map(|row| checkout(&row).encode()))
            }
            _ => {
                let text = if self.locks { RECORD_LOCKED } else { RECORD };
                Ok(connection.first(text, &[&key])?.map(|row| row.get(0)))
            }
        }
    }

    fn list(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Pair>, Trouble> {
        let account = key_space::number(prefix).map(AccountId::from_number);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let connection = &mut *self.connection.lock();
        match (key_space::kind(prefix), account) {
            (key_space::USAGE, Some(account)) => list_usage(connection, account, from, limit),
            (key_space::CHECKOUT_OF, Some(account)) => {
                let before = before_checkout(from, prefix);
                let rows = connection.query(CHECKOUTS_OF, &[&before, &limit, &signed(account.number())])?;
                let found: Vec<Checkout> = rows.iter().map(checkout).collect();
                let index = |checkout: &Checkout| key_space::checkout_of(account, checkout.id.number);
                let listed = found.iter().map(|checkout| (index(checkout), Vec::new())).collect();
                // The checkouts themselves are asked for next.
                self.learn([], found.iter().map(pair_of_checkout));
                Ok(listed)
            }
            (key_space::CHECKOUT, None) => {
                let rows = connection.query(CHECKOUTS, &[&before_checkout(from, prefix), &limit])?;
                Ok(rows.iter().map(|row| pair_of_checkout(&checkout(row))).collect())
            }
            _ => Err(Trouble::Refused("records of this kind are not listed".to_owned())),
        }
    }

    fn kept<T>(&self, read: Result<T, Trouble>) -> Result<T, StoreError> {
        read.map_err(|trouble| {
            let detail = trouble.to_string();
            self.trouble.lock().get_or_insert(trouble);
            StoreError::Io { path: "the database".into(), action: "reading", detail }
        })
    }
}

impl Below for Rows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(known) = self.known.lock().get(key) {
            return Ok(known.clone());
        }
        let found = self.kept(self.read(key))?;
        self.known.lock().insert(key.to_vec(), found.clone());
        Ok(found)
    }

    fn scan(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.kept(self.list(prefix, from, limit))
    }
}

/// The number below which the list goes on: that of the checkout behind whose key it does.
fn before_checkout(from: &[u8], prefix: &[u8]) -> i64 {
    let number = from.get(..prefix.len().saturating_add(8)).and_then(key_space::checkout_number);
    number.map_or(i64::MAX, signed)
}

fn pair_of_checkout(checkout: &Checkout) -> Pair {
    (key_space::checkout(checkout.id.number), checkout.encode())
}

fn read_usage(connection: &mut Connection, key: &[u8]) -> Result<Option<Vec<u8>>, Trouble> {
    let (Some(account), Some((day, of, dataset))) = (key_space::number(key), key_space::split_usage(key))
    else {
        return Ok(None);
    };
    let of = of.map_or(0, |of| signed(of.number()));
    let row = connection.first(USAGE_LINE, &[&signed(account), &day.unix_days(), &of, &dataset])?;
    Ok(row.map(|row| usage_of(&usage_line(&row)).encode()))
}

fn list_usage(
    connection: &mut Connection,
    account: AccountId,
    from: &[u8],
    limit: i64,
) -> Result<Vec<Pair>, Trouble> {
    // The least key behind another one ends with a zero byte, which no dataset has.
    let (line, text) = match from.strip_suffix(&[0]).filter(|line| key_space::split_usage(line).is_some()) {
        Some(line) => (line, USAGE_AFTER),
        None => (from, USAGE_FROM),
    };
    let (day, key, dataset) = match key_space::split_usage(line) {
        Some((day, key, dataset)) => (day.unix_days(), key.map_or(0, |key| signed(key.number())), dataset),
        None => (key_space::usage_first_day(line), 0, ""),
    };
    let rows = connection.query(text, &[&signed(account.number()), &day, &key, &dataset, &limit])?;
    Ok(rows.iter().map(|row| pair_of(account, &usage_line(row))).collect())
}

/// A line of usage as a record.
pub fn pair_of(account: AccountId, line: &UsageLine) -> Pair {
    (key_space::usage(account, line.day, line.key, &line.dataset), usage_of(line).encode())
}

const fn usage_of(line: &UsageLine) -> Usage {
    Usage { requests: line.requests, rows: line.rows, credits: line.credits }
}
