//! Operations on accounts and keys, and records of the access control.
//!
//! Checks every text and number before anything changes. Never sees a plain key.

use super::{Account, State};
use crate::account::AccountRecord;
use crate::changes::Changes;
use crate::codec::Record;
use crate::counter::CounterNote;
use crate::error::ChargeError;
use crate::id::{AccountId, KeyId};
use crate::key_limits::{Change, KeyLimits, LimitsChange};
use crate::key_record::KeyRecord;
use crate::key_space;
use crate::limits::{
    ACCOUNTS_MAX, DATASETS_PER_KEY_MAX, KEY_GRACE_SECONDS_MAX, KEYS_MAX, KEYS_PER_ACCOUNT_MAX, TEXT_BYTES_MAX,
};
use crate::request::NewKey;
use mercato_base::clock::Moment;

impl State {
    pub fn create_account(&mut self, name: &str, now: Moment) -> Result<AccountId, ChargeError> {
        check_text("name", name, 1)?;
        self.open_account(name.to_owned(), now)
    }

    pub fn open_account(&mut self, name: String, now: Moment) -> Result<AccountId, ChargeError> {
        if self.accounts.len() >= ACCOUNTS_MAX {
            return Err(invalid("account", format!("a ledger holds at most {ACCOUNTS_MAX} accounts")));
        }
        self.latest = self.latest.max(now);
        let id = AccountId::from_number(self.next_account);
        self.next_account += 1;
        let record = AccountRecord::new(id, name, now);
        self.accounts.insert(id, Account::new(record));
        self.changed_accounts.insert(id);
        Ok(id)
    }

    pub fn create_key(
        &mut self,
        account: AccountId,
        new: &NewKey,
        now: Moment,
    ) -> Result<KeyId, ChargeError> {
        check_text("label", &new.label, 0)?;
        check_limits(&new.limits, now)?;
        self.open(account)?;
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
            limits: new.limits.clone(),
        };
        self.next_key += 1;
        Ok(self.take_in_key(record))
    }

    pub fn take_in_key(&mut self, record: KeyRecord) -> KeyId {
        let id = record.id;
        self.key_handles.insert(record.hash.handle());
        *self.keys_of.entry(record.account).or_default() += 1;
        self.keys.insert(id, record);
        self.changed_keys.insert(id);
        id
    }

    /// Changes the label of a key.
    pub fn rename_key(&mut self, id: KeyId, label: &str) -> Result<(), ChargeError> {
        check_text("label", label, 0)?;
        let key = self.keys.get_mut(&id).ok_or_else(|| unknown_key(id))?;
        label.clone_into(&mut key.label);
        self.changed_keys.insert(id);
        Ok(())
    }

    pub fn revoke_key(&mut self, id: KeyId, now: Moment) -> Result<(), ChargeError> {
        let key = self.keys.get_mut(&id).ok_or_else(|| unknown_key(id))?;
        key.revoked_at.get_or_insert(now);
        self.changed_keys.insert(id);
        Ok(())
    }

    /// Replaces a key by a new one. The old key stays valid for the grace period.
    pub fn rotate_key(
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
        if old.ends_at().is_some_and(|end| end <= now) {
            return Err(invalid("key", format!("{id} has expired; create a new key instead")));
        }
        let end = now.plus_seconds(i64::try_from(grace_seconds).unwrap_or(0));
        let end = old.expires_at.map_or(end, |earlier| earlier.min(end));
        let label = if new.label.is_empty() { old.label.clone() } else { new.label.clone() };
        let (account, hash, prefix) = (old.account, new.hash, new.prefix.clone());
        let limits = old.limits.clone();
        let created = self.create_key(account, &NewKey { hash, prefix, label, limits }, now)?;
        if let Some(old) = self.keys.get_mut(&id) {
            old.expires_at = Some(end);
            self.changed_keys.insert(id);
        }
        Ok(created)
    }

    /// Changes the limits of a key.
    pub fn limit_key(&mut self, id: KeyId, change: &LimitsChange, now: Moment) -> Result<(), ChargeError> {
        let key = self.keys.get_mut(&id).ok_or_else(|| unknown_key(id))?;
        if key.revoked_at.is_some() {
            return Err(invalid("key", format!("{id} is revoked; create a new key instead")));
        }
        if let Change::Set(end) = change.expires_at {
            check_end(end, now)?;
        }
        let limits = key.limits.changed(change);
        check_datasets(&limits)?;
        key.limits = limits;
        self.changed_keys.insert(id);
        Ok(())
    }

    /// Keeps when keys were last used. It goes into the next checkpoint and not into the log: it is worth no write of its own.
    pub fn note_uses(&mut self, uses: &[(KeyId, Moment)]) {
        let mut noted = Changes::default();
        for (id, at) in uses {
            if let Some(key) = self.keys.get_mut(id) {
                key.last_used_at = Some(*at);
                noted.put(key_space::api_key(*id), key.encode());
            }
        }
        self.memtable.absorb(noted);
    }

    /// Keeps how many requests keys and addresses have made today, with the next checkpoint.
    pub fn note_counters(&mut self, notes: &[CounterNote]) {
        let mut noted = Changes::default();
        for note in notes {
            self.latest = self.latest.max(note.day.start());
            noted.put(key_space::counter(note), note.encode());
        }
        self.memtable.absorb(noted);
    }

    /// The counters of the present day.
    pub fn counters(&mut self) -> Result<Vec<CounterNote>, ChargeError> {
        let limit = crate::limits::TRACKED_ADDRESSES_MAX + KEYS_MAX;
        let records = self.scan(key_space::COUNTER, &key_space::counters_from(self.latest.day()), limit)?;
        self.decoded(records.iter().map(|(_, value)| CounterNote::decode(value)).collect())
    }
}

fn check_limits(limits: &KeyLimits, now: Moment) -> Result<(), ChargeError> {
    limits.expires_at.map_or(Ok(()), |end| check_end(end, now))?;
    check_datasets(limits)
}

fn check_end(end: Moment, now: Moment) -> Result<(), ChargeError> {
    if end <= now {
        let rule = format!("expected a moment in the future, found {}", end.rfc3339());
        return Err(invalid("expiresAt", rule));
    }
    Ok(())
}

fn check_datasets(limits: &KeyLimits) -> Result<(), ChargeError> {
    if limits.datasets.len() > DATASETS_PER_KEY_MAX {
        let rule = format!("at most {DATASETS_PER_KEY_MAX}, found {}", limits.datasets.len());
        return Err(invalid("datasets", rule));
    }
    limits.datasets.iter().try_for_each(|dataset| check_text("datasets", dataset, 1))
}

pub fn check_text(field: &'static str, text: &str, length_min: usize) -> Result<(), ChargeError> {
    if text.len() < length_min || text.len() > TEXT_BYTES_MAX || text.chars().any(char::is_control) {
        let rule = format!(
            "{length_min} to {TEXT_BYTES_MAX} bytes without control characters, found {}",
            text.len()
        );
        return Err(invalid(field, rule));
    }
    Ok(())
}

pub fn invalid(field: &'static str, rule: String) -> ChargeError {
    ChargeError::Invalid { field, rule }
}

fn unknown_key(id: KeyId) -> ChargeError {
    invalid("key", format!("there is no key {id}"))
}
