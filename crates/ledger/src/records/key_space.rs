//! The keys of records in the store: one letter, then what identifies the record, big-endian, so that
//! records of a kind lie together and in order.
//!
//! ```text
//! M name                         format version and other facts about the ledger itself
//! A account                      account
//! C account                      account that is closed
//! E account                      login of an account: e-mail address and password hash
//! S hash                         session that is open
//! T hash                         one-time token that was not used
//! F e-mail hash                  free queries of a closed account, until the month ends
//! K key id                       API key
//! R reservation                  reservation that is open
//! I account, hash                idempotency claim, until it expires
//! G account, hash                download that was paid, in full or in part, until it expires
//! V account, hash                rows of a view that were paid on the site, until the last payment expires
//! X expiry (ms), key             what expires when
//! P provider, payment id         purchase; the texts are parted by a zero byte
//! Y provider, payment id         what of a payment was refunded or disputed, and which checkout it paid
//! O number, inverted             checkout; the newest comes first
//! W account, number inverted     checkout of an account; no value
//! U account, day, key, dataset   requests, rows and credits of a day
//! D day, subject                 requests of a key or an address in a day
//! L from, to, type               relation between two datasets; the texts are parted by a zero byte
//! ```
//!
//! `J` belongs to the checkpoint itself. Does not depend on values.

use super::counter::{CounterNote, CounterSubject};
use super::id::{AccountId, KeyId, ReservationId};
use super::relation::RelationKey;
use crate::request::PaymentId;
use crate::token::TokenHash;
use mercato_base::clock::{Moment, UtcDay};

pub const META: &[u8] = b"M";
pub const ACCOUNT: &[u8] = b"A";
pub const CLOSING: &[u8] = b"C";
pub const LOGIN: &[u8] = b"E";
pub const SESSION: &[u8] = b"S";
pub const ONE_TIME_TOKEN: &[u8] = b"T";
pub const API_KEY: &[u8] = b"K";
pub const RESERVATION: &[u8] = b"R";
pub const EXPIRY: &[u8] = b"X";
pub const COUNTER: &[u8] = b"D";
pub const RELATION: &[u8] = b"L";
pub const FREE_USED: &[u8] = b"F";
pub const CLAIM: &[u8] = b"I";
pub const GRANT: &[u8] = b"G";
pub const PAID_VIEW: &[u8] = b"V";
pub const USAGE: &[u8] = b"U";
const PAYMENT: &[u8] = b"P";
pub const CHECKOUT: &[u8] = b"O";
pub const CHECKOUT_OF: &[u8] = b"W";
const REVERSAL: &[u8] = b"Y";

/// The letter of a key.
pub fn kind(key: &[u8]) -> &[u8] {
    key.get(..1).unwrap_or_default()
}

/// The number behind the letter: of an account, a key or a reservation, also where more follows.
pub fn number(key: &[u8]) -> Option<u64> {
    let (_, rest) = key.split_first()?;
    rest.first_chunk::<8>().map(|number| u64::from_be_bytes(*number))
}

/// The record that names the format of the ledger.
pub fn format_version() -> Vec<u8> {
    [META, b"format"].concat()
}

/// The record that says when the books were last opened again after a failure.
pub fn recovered_at() -> Vec<u8> {
    [META, b"recovered"].concat()
}

/// The record of a purchase under the id that a payment provider gave it.
pub fn payment(payment: &PaymentId) -> Vec<u8> {
    [PAYMENT, payment.provider.as_bytes(), &[0], payment.id.as_bytes()].concat()
}

/// The record of what else is known of a payment.
pub fn reversal(payment: &PaymentId) -> Vec<u8> {
    [REVERSAL, payment.provider.as_bytes(), &[0], payment.id.as_bytes()].concat()
}

pub fn checkout(number: u64) -> Vec<u8> {
    numbered(CHECKOUT, u64::MAX - number)
}

/// The record that names a checkout of an account.
pub fn checkout_of(account: AccountId, number: u64) -> Vec<u8> {
    [checkouts_of(account).as_slice(), &(u64::MAX - number).to_be_bytes()].concat()
}

/// The prefix of the records that index the checkouts of an account.
pub fn checkouts_of(account: AccountId) -> Vec<u8> {
    numbered(CHECKOUT_OF, account.number())
}

/// The number of a checkout from the key of either record.
pub fn checkout_number(key: &[u8]) -> Option<u64> {
    key.last_chunk::<8>().map(|number| u64::MAX - u64::from_be_bytes(*number))
}

/// The record that names when the relations last changed.
pub fn relations_changed_at() -> Vec<u8> {
    [META, b"relations"].concat()
}

pub fn relation(key: &RelationKey) -> Vec<u8> {
    let RelationKey { from, to, relation_type } = key;
    [RELATION, from.as_bytes(), &[0], to.as_bytes(), &[0], relation_type.as_bytes()].concat()
}

pub fn account(id: AccountId) -> Vec<u8> {
    numbered(ACCOUNT, id.number())
}

pub fn closing(id: AccountId) -> Vec<u8> {
    numbered(CLOSING, id.number())
}

pub fn login(id: AccountId) -> Vec<u8> {
    numbered(LOGIN, id.number())
}

pub fn session(token: &TokenHash) -> Vec<u8> {
    [SESSION, token.bytes()].concat()
}

pub fn one_time_token(token: &TokenHash) -> Vec<u8> {
    [ONE_TIME_TOKEN, token.bytes()].concat()
}

/// The record of the free queries that a closed account with this e-mail address has used.
pub fn free_used(email: &[u8; 16]) -> Vec<u8> {
    [FREE_USED, email].concat()
}

pub fn api_key(id: KeyId) -> Vec<u8> {
    numbered(API_KEY, id.number())
}

pub fn reservation(id: ReservationId) -> Vec<u8> {
    numbered(RESERVATION, id.number())
}

pub fn claim(account: AccountId, hash: &[u8; 16]) -> Vec<u8> {
    [CLAIM, &account.number().to_be_bytes(), hash].concat()
}

pub fn grant(account: AccountId, hash: &[u8; 16]) -> Vec<u8> {
    [GRANT, &account.number().to_be_bytes(), hash].concat()
}

pub fn paid_view(account: AccountId, hash: &[u8; 16]) -> Vec<u8> {
    [PAID_VIEW, &account.number().to_be_bytes(), hash].concat()
}

/// Stands under the moment at which the record under `key` expires.
pub fn expiry(at: Moment, key: &[u8]) -> Vec<u8> {
    [EXPIRY, &millis_in_order(at), key].concat()
}

/// The lower bound of the keys of counters of this day and later ones.
pub fn counters_from(day: UtcDay) -> Vec<u8> {
    [COUNTER, &day.unix_days().max(0).to_be_bytes()].concat()
}

pub fn counter(note: &CounterNote) -> Vec<u8> {
    let (kind, subject) = match &note.subject {
        CounterSubject::Key(id) => (b'k', id.number().to_be_bytes().to_vec()),
        CounterSubject::Address(address) => (b'a', address.to_vec()),
    };
    [counters_from(note.day).as_slice(), &[kind], &subject].concat()
}

/// The moment and the key of an expiry record.
pub fn split_expiry(key: &[u8]) -> Option<(Moment, &[u8])> {
    let (millis, key) = key.strip_prefix(EXPIRY)?.split_first_chunk::<8>()?;
    Some((Moment::from_unix_millis(u64::from_be_bytes(*millis).cast_signed()), key))
}

pub fn usage(account: AccountId, day: UtcDay, key: Option<KeyId>, dataset: &str) -> Vec<u8> {
    let key = key.map_or(0, KeyId::number).to_be_bytes();
    [usage_day(account, day).as_slice(), &key, dataset.as_bytes()].concat()
}

/// The prefix of the usage records of an account.
pub fn usage_of(account: AccountId) -> Vec<u8> {
    numbered(USAGE, account.number())
}

/// The prefix of the usage records of an account and a day.
pub fn usage_day(account: AccountId, day: UtcDay) -> Vec<u8> {
    [usage_of(account).as_slice(), &day.unix_days().max(0).to_be_bytes()].concat()
}

/// The day, in days since 1970, of a key that begins like a usage record; 0 for one without a day.
pub fn usage_first_day(key: &[u8]) -> i32 {
    let days = key.get(USAGE.len() + 8..).and_then(<[u8]>::first_chunk::<4>);
    days.map_or(0, |days| i32::from_be_bytes(*days))
}

/// The day, the key and the dataset of a usage record.
pub fn split_usage(key: &[u8]) -> Option<(UtcDay, Option<KeyId>, &str)> {
    let (_, rest) = key.split_at_checked(USAGE.len() + 8)?;
    let (days, rest) = rest.split_first_chunk::<4>()?;
    let (id, dataset) = rest.split_first_chunk::<8>()?;
    let day = UtcDay::from_unix_days(i32::from_be_bytes(*days));
    Some((day, KeyId::optional(u64::from_be_bytes(*id)), std::str::from_utf8(dataset).ok()?))
}

fn numbered(letter: &[u8], number: u64) -> Vec<u8> {
    [letter, &number.to_be_bytes()].concat()
}

// Times before 1970 do not occur; they would sort last, so they are taken as 1970.
fn millis_in_order(at: Moment) -> [u8; 8] {
    at.unix_millis().max(0).cast_unsigned().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_keys_by_number_and_splits_them() {
        let account_id = AccountId::from_number(5);
        assert!(account(AccountId::from_number(255)) < account(AccountId::from_number(256)));
        let day = UtcDay::from_unix_days(20_000);
        let key = Some(KeyId::from_number(6));
        assert_eq!(split_usage(&usage(account_id, day, key, "orders")), Some((day, key, "orders")));
        assert!(usage(account_id, day, key, "z") < usage(account_id, day.plus_days(1), None, "a"));
        assert!(checkout(2) < checkout(1) && checkout_of(account_id, 2) < checkout_of(account_id, 1));
        assert_eq!(
            (checkout_number(&checkout(7)), checkout_number(&checkout_of(account_id, 7))),
            (Some(7), Some(7))
        );
        let at = Moment::from_unix_millis(1_000);
        assert_eq!(split_expiry(&expiry(at, b"abc")), Some((at, b"abc".as_slice())));
    }
}
