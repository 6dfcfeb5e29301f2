//! Orders of the operator: accounts, purchases, grants and keys; and what the access control asks to be kept.
//!
//! Checks every text and number of an order before anything changes. Knows no plain key.

use std::collections::BTreeSet;

use super::super::account::AccountRecord;
use super::super::api_key::KeyHash;
use super::super::counter::CounterNote;
use super::super::entry::EntryKind;
use super::super::error::ChargeError;
use super::super::id::{AccountId, KeyId};
use super::super::key_record::KeyRecord;
use super::super::key_space;
use super::super::operator::Purchase;
use super::super::order::short_hash;
use super::charging::signed;
use super::{Account, Books, EntryDetail};
use crate::clock::Moment;
use crate::limits::ledger::{
    ACCOUNTS_MAX, BALANCE_CREDITS_MAX, CENTS_PER_THOUSAND_CREDITS, CREDITS_PER_PURCHASE_MAX,
    KEY_GRACE_SECONDS_MAX, KEYS_MAX, KEYS_PER_ACCOUNT_MAX, REFERENCE_YEARS, TEXT_BYTES_MAX,
};

/// What is kept of a key that is being created.
pub(in super::super) struct NewKey {
    pub(in super::super) hash: KeyHash,
    pub(in super::super) prefix: String,
    pub(in super::super) label: String,
}

/// Credits that an account receives.
pub(in super::super) struct Credit {
    pub(in super::super) account: AccountId,
    pub(in super::super) credits: u64,
    /// What they cost, if not the list price.
    pub(in super::super) cents: Option<u64>,
    /// Whether a purchase with this request id is entered only once for the account.
    pub(in super::super) is_once: bool,
    pub(in super::super) request_id: String,
    pub(in super::super) note: String,
    pub(in super::super) at: Moment,
}

impl Books {
    pub(in super::super) fn create_account(
        &mut self,
        name: &str,
        now: Moment,
    ) -> Result<AccountId, ChargeError> {
        check_text("name", name, 1)?;
        if self.accounts.len() >= ACCOUNTS_MAX {
            return Err(invalid("account", format!("a ledger holds at most {ACCOUNTS_MAX} accounts")));
        }
        self.latest = self.latest.max(now);
        let id = AccountId::from_number(self.next_account);
        self.next_account += 1;
        let record = AccountRecord::new(id, name.to_owned(), now);
        self.accounts.insert(id, Account { record, reserved: 0, open: BTreeSet::new() });
        self.changed_accounts.insert(id);
        Ok(id)
    }

    /// Credits that were bought; the account is a prepaid one from now on.
    pub(in super::super) fn purchase(&mut self, order: &Credit) -> Result<Purchase, ChargeError> {
        let cents = order.cents.unwrap_or_else(|| list_price(order.credits));
        let reference = short_hash(&[b"purchase", order.request_id.as_bytes()]);
        let key = key_space::claim(order.account, &reference);
        let content = short_hash(&[&order.credits.to_be_bytes(), &cents.to_be_bytes()]);
        if order.is_once {
            check_text("reference", &order.request_id, 1)?;
            match self.remembered(&key, order.at)? {
                None => {}
                Some(entered) if entered == content => {
                    let balance = self.account(order.account)?.record.purse.balance;
                    return Ok(Purchase { balance, cents, is_replayed: true });
                }
                Some(_) => {
                    let rule = format!("{} was entered before with other credits or cents", order.request_id);
                    return Err(invalid("reference", rule));
                }
            }
        }
        let balance = self.credit(order, EntryKind::Purchase, cents)?;
        if let Some(account) = self.accounts.get_mut(&order.account) {
            account.record.purse.has_bought = true;
        }
        if order.is_once {
            self.remember(&key, &content, order.at.plus_seconds(REFERENCE_YEARS * 366 * 86_400));
        }
        Ok(Purchase { balance, cents, is_replayed: false })
    }

    /// Credits that the operator gives. The plan stays as it is. Returns the balance.
    pub(in super::super) fn grant(&mut self, order: &Credit) -> Result<u64, ChargeError> {
        self.credit(order, EntryKind::Grant, 0)
    }

    fn credit(&mut self, order: &Credit, kind: EntryKind, cents: u64) -> Result<u64, ChargeError> {
        check_text("note", &order.note, 0)?;
        if order.credits == 0 || order.credits > CREDITS_PER_PURCHASE_MAX {
            return Err(invalid(
                "credits",
                format!("1 to {CREDITS_PER_PURCHASE_MAX}, found {}", order.credits),
            ));
        }
        let account = self.account(order.account)?;
        let held = account.record.purse.balance.saturating_add(account.reserved);
        if held.saturating_add(order.credits) > BALANCE_CREDITS_MAX {
            return Err(invalid("credits", format!("an account holds at most {BALANCE_CREDITS_MAX}")));
        }
        self.latest = self.latest.max(order.at);
        let detail =
            EntryDetail { cents, request_id: &order.request_id, note: &order.note, ..EntryDetail::default() };
        self.append(order.account, kind, signed(order.credits), order.at, &detail)?;
        Ok(self.account(order.account)?.record.purse.balance)
    }

    pub(in super::super) fn create_key(
        &mut self,
        account: AccountId,
        new: &NewKey,
        now: Moment,
    ) -> Result<KeyId, ChargeError> {
        check_text("label", &new.label, 0)?;
        self.account(account)?;
        if self.keys_of.get(&account).copied().unwrap_or(0) >= KEYS_PER_ACCOUNT_MAX {
            return Err(invalid("key", format!("an account has at most {KEYS_PER_ACCOUNT_MAX} keys")));
        }
        if self.keys.len() >= KEYS_MAX {
            return Err(invalid("key", format!("a ledger holds at most {KEYS_MAX} keys")));
        }
        if self.key_handles.contains(&new.hash.handle()) {
            return Err(invalid("key", "the random bytes were used before; try again".to_owned()));
        }
        self.latest = self.latest.max(now);
        let record = KeyRecord {
            id: KeyId::from_number(self.next_key),
            account,
            hash: new.hash,
            prefix: new.prefix.clone(),
            label: new.label.clone(),
            created_at: now,
            last_used_at: None,
            expires_at: None,
            revoked_at: None,
        };
        self.next_key += 1;
        Ok(self.take_in_key(record))
    }

    pub(super) fn take_in_key(&mut self, record: KeyRecord) -> KeyId {
        let id = record.id;
        self.key_handles.insert(record.hash.handle());
        *self.keys_of.entry(record.account).or_default() += 1;
        self.keys.insert(id, record);
        self.changed_keys.insert(id);
        id
    }

    pub(in super::super) fn revoke_key(&mut self, id: KeyId, now: Moment) -> Result<(), ChargeError> {
        let key = self.keys.get_mut(&id).ok_or_else(|| unknown_key(id))?;
        key.revoked_at.get_or_insert(now);
        self.changed_keys.insert(id);
        Ok(())
    }

    /// A new key in the place of another, which stays valid for so many seconds more.
    pub(in super::super) fn rotate_key(
        &mut self,
        id: KeyId,
        new: &NewKey,
        grace_seconds: u64,
        now: Moment,
    ) -> Result<KeyId, ChargeError> {
        if grace_seconds > KEY_GRACE_SECONDS_MAX {
            let rule = format!("at most {KEY_GRACE_SECONDS_MAX} seconds, found {grace_seconds}");
            return Err(invalid("grace", rule));
        }
        let old = self.keys.get(&id).ok_or_else(|| unknown_key(id))?;
        if old.revoked_at.is_some() {
            return Err(invalid("key", format!("{id} is revoked; create a new key instead")));
        }
        if old.expires_at.is_some_and(|end| end <= now) {
            return Err(invalid("key", format!("{id} has expired; create a new key instead")));
        }
        let end = now.plus_seconds(i64::try_from(grace_seconds).unwrap_or(0));
        let end = old.expires_at.map_or(end, |earlier| earlier.min(end));
        let label = if new.label.is_empty() { old.label.clone() } else { new.label.clone() };
        let (account, hash, prefix) = (old.account, new.hash, new.prefix.clone());
        let created = self.create_key(account, &NewKey { hash, prefix, label }, now)?;
        if let Some(old) = self.keys.get_mut(&id) {
            old.expires_at = Some(end);
            self.changed_keys.insert(id);
        }
        Ok(created)
    }

    /// Keeps when keys were last used. Not urgent: nobody waits for it.
    pub(in super::super) fn note_uses(&mut self, uses: &[(KeyId, Moment)]) {
        for (id, at) in uses {
            if let Some(key) = self.keys.get_mut(id) {
                key.last_used_at = Some(*at);
                self.changed_keys.insert(*id);
            }
        }
    }

    /// Keeps how many requests keys and addresses have made today.
    pub(in super::super) fn note_counters(&mut self, notes: &[CounterNote]) {
        for note in notes {
            self.latest = self.latest.max(note.day.start());
            self.changes.put(note.subject.store_key(), note.encode());
        }
    }

    /// Every counter that is kept.
    pub(in super::super) fn counters(&mut self) -> Result<Vec<CounterNote>, ChargeError> {
        let limit = crate::limits::access::TRACKED_ADDRESSES_MAX + KEYS_MAX;
        let records = match self.store.scan(key_space::COUNTER, key_space::COUNTER, limit) {
            Ok(records) => records,
            Err(error) => return Err(self.fail(error)),
        };
        let decoded: Result<Vec<_>, _> =
            records.iter().map(|(key, value)| CounterNote::decode(key, value)).collect();
        decoded.map_err(|error| self.fail_damaged(error.to_string()))
    }
}

/// The list price, rounded to the nearest cent.
fn list_price(credits: u64) -> u64 {
    (credits.saturating_mul(CENTS_PER_THOUSAND_CREDITS).saturating_add(500)) / 1_000
}

fn check_text(field: &'static str, text: &str, length_min: usize) -> Result<(), ChargeError> {
    if text.len() < length_min || text.len() > TEXT_BYTES_MAX || text.chars().any(char::is_control) {
        let rule = format!(
            "{length_min} to {TEXT_BYTES_MAX} bytes without control characters, found {}",
            text.len()
        );
        return Err(invalid(field, rule));
    }
    Ok(())
}

pub(super) fn invalid(field: &'static str, rule: String) -> ChargeError {
    ChargeError::Invalid { field, rule }
}

fn unknown_key(id: KeyId) -> ChargeError {
    invalid("key", format!("there is no key {id}"))
}
