//! Rows of the tables as records of the books, and back.
//!
//! Numbers of the books have no sign, those of SQL have one; no number of the books is above `i64::MAX`. Does not depend on
//! statements.

use std::sync::Arc;

use postgres::Row;

use crate::account::{AccountRecord, Balance};
use crate::api_key::KeyHash;
use crate::checkout::{Checkout, CheckoutId, Paid};
use crate::claim::expires_at;
use crate::codec::{DecodeError, Record};
use crate::entry::{Entry, EntryKind};
use crate::id::{AccountId, KeyId};
use crate::key_limits::KeyLimits;
use crate::key_record::KeyRecord;
use crate::key_space;
use crate::login::Login;
use crate::one_time_token::OneTimeToken;
use crate::price::Price;
use crate::reservation_record::ReservationRecord;
use crate::session_record::SessionRecord;
use crate::state::Account;
use crate::token::TokenRecord;
use crate::usage::UsageLine;
use mercato_base::clock::{Moment, UtcDay, UtcMonth};
use mercato_database::Trouble;

/// The columns of an account that [`account`] reads.
macro_rules! account_columns {
    () => {
        "id, name, created_at, closed_at, balance, reserved, has_bought, free_month, free_used, last_entry, version"
    };
}
/// The columns of a key that [`key`] reads.
macro_rules! key_columns {
    () => {
        "id, account, hash, prefix, label, created_at, last_used_at, expires_at, revoked_at, credits_per_day, \
         credits_per_month, limited_until, datasets"
    };
}
/// The columns of a checkout that [`checkout`] reads.
macro_rules! checkout_columns {
    () => {
        "number, random, account, provider, credits, net, vat_basis_points, vat, gross, currency, created_at, payment, \
         entry, paid_at, refunded, disputed, taken, forgone, cancelled_at"
    };
}
/// The columns of an entry that [`entry`] reads.
macro_rules! entry_columns {
    () => {
        "number, account, key, kind, amount, balance, at, rows, cents, related, request_id, dataset, note"
    };
}
pub(crate) use {account_columns, checkout_columns, entry_columns, key_columns};

/// A number as SQL has it.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as the books have it.
pub fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub fn small(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub fn not_negative(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

pub fn id(account: AccountId) -> i64 {
    signed(account.number())
}

fn moment(row: &Row, column: usize) -> Moment {
    Moment::from_unix_millis(row.get(column))
}

fn maybe_moment(row: &Row, column: usize) -> Option<Moment> {
    row.get::<_, Option<i64>>(column).map(Moment::from_unix_millis)
}

fn number(row: &Row, column: usize) -> u64 {
    unsigned(row.get(column))
}

pub fn millis(moment: Option<Moment>) -> Option<i64> {
    moment.map(Moment::unix_millis)
}

/// An account and what is beside its record; its open reservations are not among it.
pub fn account(row: &Row) -> Account {
    let balance = Balance {
        credits: number(row, 4),
        has_bought: row.get(6),
        free_month: UtcMonth::from_number(row.get(7)),
        free_used: not_negative(row.get(8)),
    };
    let record = AccountRecord {
        id: AccountId::from_number(number(row, 0)),
        name: row.get(1),
        created_at: moment(row, 2),
        balance,
        last_sequence: number(row, 9),
    };
    Account {
        reserved: number(row, 5),
        closed_at: maybe_moment(row, 3),
        version: number(row, 10),
        ..Account::new(record)
    }
}

pub fn key(row: &Row) -> KeyRecord {
    let hash: Vec<u8> = row.get(2);
    let datasets: Vec<String> = row.get(12);
    KeyRecord {
        id: KeyId::from_number(number(row, 0)),
        account: AccountId::from_number(number(row, 1)),
        hash: KeyHash::from_bytes(hash.try_into().unwrap_or([0; 32])),
        prefix: row.get(3),
        label: row.get(4),
        created_at: moment(row, 5),
        last_used_at: maybe_moment(row, 6),
        expires_at: maybe_moment(row, 7),
        revoked_at: maybe_moment(row, 8),
        limits: KeyLimits {
            credits_per_day: row.get::<_, Option<i64>>(9).map(unsigned),
            credits_per_month: row.get::<_, Option<i64>>(10).map(unsigned),
            expires_at: maybe_moment(row, 11),
            datasets: Arc::from(datasets),
        },
    }
}

pub fn checkout(row: &Row) -> Checkout {
    let random: Vec<u8> = row.get(1);
    let paid = row.get::<_, Option<String>>(11).map(|payment| Paid {
        payment,
        sequence: row.get::<_, Option<i64>>(12).map_or(0, unsigned),
        at: maybe_moment(row, 13).unwrap_or(Moment::from_unix_millis(0)),
    });
    Checkout {
        id: CheckoutId { number: number(row, 0), random: random.try_into().unwrap_or_default() },
        account: AccountId::from_number(number(row, 2)),
        provider: row.get(3),
        credits: number(row, 4),
        price: Price {
            net: number(row, 5),
            vat_basis_points: not_negative(row.get(6)),
            vat: number(row, 7),
            gross: number(row, 8),
            currency: row.get(9),
        },
        created_at: moment(row, 10),
        cancelled_at: maybe_moment(row, 18),
        paid,
        refunded: number(row, 14),
        disputed: number(row, 15),
        taken: number(row, 16),
        forgone: number(row, 17),
    }
}

pub fn entry(row: &Row) -> Result<Entry, Trouble> {
    let kind: &str = row.get(3);
    let known = KINDS.into_iter().find(|known| known.as_str() == kind);
    let kind = known.ok_or_else(|| Trouble::Refused(format!("an entry of the unknown kind `{kind}`")))?;
    Ok(Entry {
        sequence: number(row, 0),
        account: AccountId::from_number(number(row, 1)),
        key: row.get::<_, Option<i64>>(2).map(|key| KeyId::from_number(unsigned(key))),
        kind,
        amount: row.get(4),
        balance: number(row, 5),
        at: moment(row, 6),
        rows: number(row, 7),
        cents: number(row, 8),
        related: number(row, 9),
        request_id: row.get(10),
        dataset: row.get(11),
        note: row.get(12),
    })
}

const KINDS: [EntryKind; 8] = [
    EntryKind::Purchase,
    EntryKind::Charge,
    EntryKind::Reserve,
    EntryKind::Settle,
    EntryKind::Refund,
    EntryKind::Grant,
    EntryKind::TakeBack,
    EntryKind::GiveBack,
];

/// A line of `day, key, dataset, requests, rows, credits`.
pub fn usage_line(row: &Row) -> UsageLine {
    UsageLine {
        day: UtcDay::from_unix_days(row.get(0)),
        key: KeyId::optional(number(row, 1)),
        dataset: row.get(2),
        requests: number(row, 3),
        rows: number(row, 4),
        credits: number(row, 5),
    }
}

/// A reservation of `record, delivered`; delivered rows are noted beside the record.
pub fn reservation(row: &Row) -> Result<ReservationRecord, Trouble> {
    let bytes: Vec<u8> = row.get(0);
    let record: ReservationRecord = decoded(&bytes)?;
    Ok(ReservationRecord { delivered: number(row, 1), ..record })
}

/// The record that these bytes are.
pub fn decoded<R: Record + serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<R, Trouble> {
    R::decode(bytes).map_err(damaged)
}

#[expect(clippy::needless_pass_by_value, reason = "it is used in the place of an error")]
pub fn damaged(error: DecodeError) -> Trouble {
    Trouble::Refused(format!("a record cannot be read: {error}"))
}

/// The columns of a record beside its key and its value.
#[derive(Default)]
pub struct Beside {
    pub account: Option<i64>,
    pub email: Option<String>,
    pub until: Option<i64>,
}

/// What stands beside a record.
pub fn beside(key: &[u8], value: &[u8]) -> Result<Beside, DecodeError> {
    let ended = |account: AccountId, end: Moment| Beside {
        account: Some(id(account)),
        until: Some(end.unix_millis()),
        ..Beside::default()
    };
    Ok(match key_space::kind(key) {
        key_space::LOGIN => {
            let login = Login::decode(value)?;
            let email = Some(login.email.as_str().to_owned());
            Beside { account: Some(id(login.account)), email, until: None }
        }
        key_space::SESSION => {
            let session = SessionRecord::decode(value)?;
            ended(session.account, session.ends_at())
        }
        key_space::ONE_TIME_TOKEN => {
            let token = OneTimeToken::decode(value)?;
            ended(token.account, token.ends_at())
        }
        _ => Beside { until: expires_at(key, value)?.map(Moment::unix_millis), ..Beside::default() },
    })
}
