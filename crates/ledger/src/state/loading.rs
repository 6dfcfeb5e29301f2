//! Loads the state from the checkpoint and replays the log behind it.
//!
//! Adds up the newest entries again and refuses contradictions: a wrong balance is worse than none.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::payload::{Read, contradiction, read_batch, record_error};
use super::{Account, OpenReservation, State};
use crate::account::AccountRecord;
use crate::audit::Audit;
use crate::changes::Changes;
use crate::checkpoint::{Checkpoint, Mark, Pair};
use crate::closing::Closing;
use crate::codec::Record;
use crate::directory::Directory;
use crate::error::OpenError;
use crate::id::{AccountId, ReservationId};
use crate::key_record::KeyRecord;
use crate::key_space;
use crate::limits::{CHECKPOINT_RECORDS_MAX, ENTRIES_CHECKED_AT_START_MAX, SETTLEMENTS_PER_BATCH_MAX};
use crate::log::LogReader;
use crate::login::Login;
use crate::people::Logins;
use crate::progress::{Outcome, Progress};
use crate::relation::{Relation, RelationKey};
use crate::reservation_record::ReservationRecord;
use mercato_base::clock::Moment;

/// The form of all records together.
#[derive(Serialize, Deserialize)]
struct Format;

impl Record for Format {
    const NAME: &'static str = "ledger format";
    const VERSION: u8 = 3;
}

/// Live streams with open reservations, when the running process reopens the books.
pub type LiveStreams = HashMap<ReservationId, Arc<Progress>>;

/// The sources of the state.
pub struct Loading<'l> {
    pub path: &'l Path,
    pub checkpoint: Checkpoint,
    pub log: LogReader,
    pub next_sequence: u64,
    pub directory: Arc<Directory>,
    pub live: &'l LiveStreams,
    pub now: Moment,
}

impl Loading<'_> {
    /// Takes the state up.
    pub fn load(self) -> Result<(State, Arc<Checkpoint>), OpenError> {
        check_format(self.path, &self.checkpoint)?;
        let (audit, entries) = self.replay()?;
        let mut tables = Tables::read(self.path, &self.checkpoint, self.live)?;
        let accounts = tables.accounts.values().map(|account| &account.record);
        let report = audit.finish(accounts, tables.reservations.values().map(|open| &open.record));
        if let Some(finding) = report.differences.into_iter().next() {
            return Err(contradiction(self.path, finding));
        }
        let keys = std::mem::take(&mut tables.keys);
        let checkpoint = Arc::new(self.checkpoint);
        let next = |greatest: Option<u64>| greatest.unwrap_or(0).saturating_add(1);
        let mut state = State {
            path: self.path.to_owned(),
            directory: self.directory,
            next_sequence: self.next_sequence,
            entries,
            next_account: next(tables.accounts.keys().map(|id| id.number()).max()),
            next_key: next(keys.iter().map(|key| key.id.number()).max()),
            next_reservation: next(tables.reservations.keys().map(|id| id.number()).max()),
            next_checkout: next(tables.last_checkout),
            changed_accounts: tables.accounts.keys().copied().collect(),
            accounts: tables.accounts,
            reservations: tables.reservations,
            logins: tables.logins,
            relations: tables.relations,
            relations_changed: true,
            relations_changed_at: tables.relations_changed_at,
            latest: self.now,
            ..State::empty(Arc::<Checkpoint>::clone(&checkpoint))
        };
        for key in keys {
            state.take_in_key(key);
        }
        let (accounts, keys) = (&state.accounts, &state.keys);
        state.directory.keep_only(|id| accounts.contains_key(&id), |id| keys.contains_key(&id));
        state.logins.forget_others(&state.directory);
        state.publish();
        Ok((state, checkpoint))
    }

    /// Replays the log into the checkpoint and adds up the newest entries. Returns the sums and the number of
    /// entries.
    fn replay(&self) -> Result<(Audit, u64), OpenError> {
        let Mark { sequence: held, mut entries } = self.checkpoint.mark()?;
        let last = self.next_sequence - 1;
        if held > last {
            let (expected, found) = (held, last);
            return Err(OpenError::Behind { directory: self.path.to_owned(), expected, found });
        }
        let present = self.log.first_sequence();
        if present > held + 1 {
            let finding = format!(
                "the log begins at {present}, the checkpoint ends at {held}; put back the archived segments between them"
            );
            return Err(contradiction(self.path, finding));
        }
        let newest = last.saturating_sub(ENTRIES_CHECKED_AT_START_MAX) + 1;
        let from = newest.min(held + 1).max(present);
        let mut audit = Audit::new(from);
        let mut waiting = Changes::default();
        for batch in self.log.batches(from) {
            let batch = batch?;
            let is_new = batch.first > held;
            read_batch(self.path, &batch, |read| match read {
                Read::<&str>::Entry(entry) => {
                    entries += u64::from(is_new);
                    if entry.sequence >= from {
                        audit.add(&entry);
                    }
                }
                Read::Record((key, value)) if is_new => waiting.set(key, value),
                Read::Record(..) => {}
            })?;
            if waiting.len() >= CHECKPOINT_RECORDS_MAX {
                tracing::info!(sequence = batch.last, of = last, "replaying the log of the books");
                self.write(&waiting, batch.last, entries)?;
                waiting = Changes::default();
            }
        }
        if held < last {
            self.write(&waiting, last, entries)?;
        }
        Ok((audit, entries))
    }

    fn write(&self, changes: &Changes, sequence: u64, entries: u64) -> Result<(), OpenError> {
        Ok(self.checkpoint.write(changes, Mark { sequence, entries })?)
    }
}

impl State {
    /// Settles reservations without a live stream, at most `SETTLEMENTS_PER_BATCH_MAX`. Returns whether there were
    /// any.
    pub fn settle_orphans(&mut self, live: &LiveStreams, now: Moment) -> Result<bool, OpenError> {
        let orphans = self.reservations.values().filter(|open| !live.contains_key(&open.record.id));
        let mut orphans: Vec<_> = orphans.map(|open| (open.record.id, open.record.delivered)).collect();
        orphans.sort_unstable();
        orphans.truncate(SETTLEMENTS_PER_BATCH_MAX);
        let found = !orphans.is_empty();
        for (id, rows) in orphans {
            let outcome = Outcome::left(rows, now);
            if let Err(error) = self.settle(id, outcome, "left open by a stop") {
                let damaged = self.failure.take();
                return Err(damaged.map_or_else(|| contradiction(&self.path, error.to_string()), Into::into));
            }
        }
        Ok(found)
    }
}

struct Tables {
    accounts: HashMap<AccountId, Account>,
    keys: Vec<KeyRecord>,
    reservations: HashMap<ReservationId, OpenReservation>,
    logins: Logins,
    relations: BTreeMap<RelationKey, Relation>,
    relations_changed_at: Option<Moment>,
    /// The number of the newest checkout.
    last_checkout: Option<u64>,
}

impl Tables {
    fn read(path: &Path, checkpoint: &Checkpoint, live: &LiveStreams) -> Result<Tables, OpenError> {
        let mut accounts: HashMap<AccountId, Account> = HashMap::new();
        for record in all(path, checkpoint, key_space::ACCOUNT) {
            let record: AccountRecord = record?;
            accounts.insert(record.id, Account::new(record));
        }
        for closing in all(path, checkpoint, key_space::CLOSING) {
            let Closing { account, at } = closing?;
            if let Some(account) = accounts.get_mut(&account) {
                account.closed_at = Some(at);
            }
        }
        let logins = read_logins(path, checkpoint)?;
        let keys = all(path, checkpoint, key_space::API_KEY).collect::<Result<_, _>>()?;
        let mut reservations = HashMap::new();
        for record in all(path, checkpoint, key_space::RESERVATION) {
            let record: ReservationRecord = record?;
            if let Some(account) = accounts.get_mut(&record.account) {
                account.reserved = account.reserved.saturating_add(record.credits());
                account.open.insert(record.id);
            }
            let progress = live.get(&record.id).cloned().unwrap_or_else(|| Progress::new(record.at));
            reservations.insert(record.id, OpenReservation { record, progress });
        }
        let mut relations = BTreeMap::new();
        for relation in all(path, checkpoint, key_space::RELATION) {
            let relation: Relation = relation?;
            relation.checked().map_err(|source| record_error(path, source))?;
            relations.insert(relation.key.clone(), relation);
        }
        let changed_at = checkpoint.get(&key_space::relations_changed_at())?;
        let millis = changed_at.and_then(|value| value.try_into().ok()).map(i64::from_be_bytes);
        let relations_changed_at = millis.map(Moment::from_unix_millis);
        // The newest comes first.
        let newest = checkpoint.scan(key_space::CHECKOUT, key_space::CHECKOUT).next().transpose()?;
        let last_checkout = newest.and_then(|(key, _)| key_space::checkout_number(&key));
        Ok(Tables { accounts, keys, reservations, logins, relations, relations_changed_at, last_checkout })
    }
}

fn read_logins(path: &Path, checkpoint: &Checkpoint) -> Result<Logins, OpenError> {
    let mut logins = Logins::default();
    for login in all(path, checkpoint, key_space::LOGIN) {
        let login: Login = login?;
        let account = login.account;
        if !logins.put(login) {
            let finding = format!("the e-mail address of {account} belongs to another account, too");
            return Err(contradiction(path, finding));
        }
    }
    for session in all(path, checkpoint, key_space::SESSION) {
        logins.put_session(session?);
    }
    for token in all(path, checkpoint, key_space::ONE_TIME_TOKEN) {
        logins.tokens.insert(token?);
    }
    Ok(logins)
}

/// Makes sure that this program can read the records; a new checkpoint is marked with the present version.
fn check_format(path: &Path, checkpoint: &Checkpoint) -> Result<(), OpenError> {
    let key = key_space::format_version();
    if let Some(value) = checkpoint.get(&key)? {
        return Format::decode(&value).map(drop).map_err(|source| record_error(path, source));
    }
    if checkpoint.scan(&[], &[]).next().is_some() {
        return Err(contradiction(path, "there are records, but the format version is missing".to_owned()));
    }
    let mut changes = Changes::default();
    changes.put(key, Format.encode());
    Ok(checkpoint.write(&changes, Mark::default())?)
}

/// All records with this key prefix.
fn all<'c, R: Record + DeserializeOwned>(
    path: &'c Path,
    checkpoint: &'c Checkpoint,
    prefix: &'static [u8],
) -> impl Iterator<Item = Result<R, OpenError>> + 'c {
    let decoded = move |(_, value): Pair| R::decode(&value).map_err(|source| record_error(path, source));
    checkpoint.scan(prefix, prefix).map(move |found| decoded(found?))
}
