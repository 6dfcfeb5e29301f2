//! A state of a part of the books: what one transaction of a database has read and locked.
//!
//! The operations are those of the whole state. Does not depend on databases.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::below::Below;
use super::{Account, OpenReservation, State, Totals};
use crate::api_key::KeyHash;
use crate::changes::Changes;
use crate::checkpoint::StoreError;
use crate::codec::{DecodeError, Record};
use crate::directory::Directory;
use crate::entry::Entry;
use crate::id::KeyId;
use crate::key_record::KeyRecord;
use crate::key_space;
use crate::login::Login;
use crate::one_time_token::OneTimeToken;
use crate::operations::charges::Spent;
use crate::progress::Progress;
use crate::relation::Relation;
use crate::reservation_record::ReservationRecord;
use crate::session_record::SessionRecord;
use mercato_base::clock::{Moment, UtcDay, UtcMonth};

/// The numbers that new records get.
#[derive(Clone, Copy, Debug, Default)]
pub struct Next {
    pub account: u64,
    pub key: u64,
    pub checkout: u64,
}

/// What a key with a cap has spent on a day.
#[derive(Clone, Copy, Debug)]
pub struct SpentOnDay {
    pub key: KeyId,
    pub day: UtcDay,
    pub credits: u64,
}

/// The records of a part of the books.
#[derive(Default)]
pub struct Part {
    pub accounts: Vec<Account>,
    pub keys: Vec<KeyRecord>,
    pub reservations: Vec<ReservationRecord>,
    pub logins: Vec<Login>,
    pub sessions: Vec<SessionRecord>,
    pub tokens: Vec<OneTimeToken>,
    /// All relations, where one of them is changed.
    pub relations: Vec<Relation>,
    pub relations_changed_at: Option<Moment>,
    /// Keys whose spending in a month is known, and what they spent in it.
    pub spent: HashMap<KeyId, UtcMonth>,
    pub spending: Vec<SpentOnDay>,
    pub next: Next,
    /// A hash that a key of any account has.
    pub taken: Option<KeyHash>,
    pub totals: Totals,
}

/// What one operation wrote.
#[derive(Default)]
pub struct Outcome {
    pub entries: Vec<Entry>,
    pub changes: Changes,
}

impl State {
    /// The state of a part of the books, above the records that `below` finds.
    pub fn of_part(below: Arc<dyn Below>, part: Part) -> State {
        let mut state = State::empty(below);
        for account in part.accounts {
            state.accounts.insert(account.record.id, account);
        }
        for key in part.keys {
            state.take_in_key(key);
        }
        for record in part.reservations {
            if let Some(account) = state.accounts.get_mut(&record.account) {
                account.open.insert(record.id);
            }
            let progress = Progress::new(record.at);
            state.reservations.insert(record.id, OpenReservation { record, progress });
        }
        for login in part.logins {
            state.logins.put(login);
        }
        part.sessions.into_iter().for_each(|session| state.logins.put_session(session));
        part.tokens.into_iter().for_each(|token| state.logins.tokens.insert(token));
        let relations = part.relations.into_iter();
        state.relations = relations.map(|relation| (relation.key.clone(), relation)).collect();
        state.relations_changed_at = part.relations_changed_at;
        for (key, month) in part.spent {
            state.spent_by_key.insert(key, Spent { month, by_day: BTreeMap::new() });
        }
        for SpentOnDay { key, day, credits } in part.spending {
            if let Some(spent) = state.spent_by_key.get_mut(&key) {
                spent.by_day.insert(day, credits);
            }
        }
        state.key_handles.extend(part.taken.map(|hash| hash.handle()));
        state.beside = part.totals;
        let Next { account, key, checkout } = part.next;
        (state.next_account, state.next_key, state.next_checkout) = (account, key, checkout);
        // Operations look for the keys of an account in the directory; what is shown here, no reader sees.
        state.changed_accounts.extend(state.accounts.keys().copied());
        state.publish();
        state
    }

    /// The entries of the next operation are numbered from `sequence` on, its reservation is this one.
    pub const fn number(&mut self, sequence: u64, reservation: u64) {
        self.next_sequence = sequence;
        self.next_reservation = reservation;
    }

    /// What the last operation wrote. Operations behind it see it. Accounts are not among the changes: [`State::changed`] has
    /// them.
    pub fn take_outcome(&mut self) -> Result<Outcome, PartError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure.into());
        }
        let written = std::mem::take(&mut self.written);
        let first = self.next_sequence.saturating_sub(written.entries());
        let (entries, mut changes) = written.into_parts(first)?;
        self.entries += entries.len() as u64;
        self.memtable.absorb(changes.clone());
        for key in self.changed_keys.iter().filter_map(|id| self.keys.get(id)) {
            changes.put(key_space::api_key(key.id), key.encode());
        }
        Ok(Outcome { entries, changes })
    }

    /// The accounts that operations changed. From now on each has a higher version.
    pub fn changed(&mut self) -> Vec<&Account> {
        for id in &self.changed_accounts {
            if let Some(account) = self.accounts.get_mut(id) {
                account.version = account.version.saturating_add(1);
            }
        }
        self.changed_accounts.iter().filter_map(|id| self.accounts.get(id)).collect()
    }

    /// Shows what was changed in the directory of all readers.
    pub fn publish_to(&mut self, directory: &Arc<Directory>) {
        self.directory = Arc::clone(directory);
        self.publish();
    }
}

/// Why what an operation wrote cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Record(#[from] DecodeError),
}
