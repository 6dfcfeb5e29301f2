//! Keeps the directory of this server current: everything at the start, then what others changed.
//!
//! Accounts, keys, logins, sessions and relations come by the generation. Balances change too often for that: those of accounts
//! that requests have asked for are read again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Core;
use super::loading::{relations, take_logins};
use super::tables::{account, account_columns, id, key, key_columns, signed};
use crate::directory::Directory;
use crate::id::AccountId;
use crate::key_space;
use crate::relation::Relations;
use crate::state::Part;
use crate::token::TokenHash;
use mercato_database::{Connection, Trouble};

/// Records that are read again in one statement.
const READ_AGAIN_MAX: usize = 4_096;

const GENERATION: &str = "SELECT generation FROM books";
const OLDEST: &str = "SELECT min(generation) FROM changed";
const CHANGED: &str = "SELECT DISTINCT key FROM changed WHERE generation > $1 AND generation <= $2";
const ALL_ACCOUNTS: &str = concat!("SELECT ", account_columns!(), " FROM account");
const ALL_KEYS: &str = concat!("SELECT ", key_columns!(), " FROM api_key");
const ALL_LOGINS: &str = "SELECT key, value FROM record WHERE key >= 'E' AND key < 'F'";
const ALL_SESSIONS: &str = "SELECT key, value FROM record WHERE key >= 'S' AND key < 'T'";
const ACCOUNTS: &str = concat!("SELECT ", account_columns!(), " FROM account WHERE id = ANY ($1)");
const KEYS: &str = concat!("SELECT ", key_columns!(), " FROM api_key WHERE id = ANY ($1)");
const RECORDS: &str = "SELECT key, value FROM record WHERE key = ANY ($1)";
const ENTRIES: &str = "SELECT coalesce(sum(entries), 0)::bigint FROM account";

impl Core {
    /// Reads everything that is kept in memory, as of one moment.
    pub fn read_all(&self, connection: &mut Connection) -> Result<(), Trouble> {
        connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let read = self.read_everything(connection);
        match read {
            Ok(()) => connection.run("COMMIT"),
            Err(trouble) => {
                connection.roll_back();
                Err(trouble)
            }
        }
    }

    fn read_everything(&self, connection: &mut Connection) -> Result<(), Trouble> {
        let generation = generation(connection)?;
        let directory = &self.directory;
        let (mut accounts, mut keys) = (HashSet::new(), HashSet::new());
        let (mut logins, mut sessions) = (HashSet::new(), HashSet::new());
        connection.each(ALL_ACCOUNTS, &[], |row| {
            let account = account(&row);
            accounts.insert(account.record.id);
            directory.publish_account(&account.record, account.reserved, account.closed_at, account.version);
            Ok(())
        })?;
        connection.each(ALL_KEYS, &[], |row| {
            let key = key(&row);
            keys.insert(key.id);
            directory.publish_key(&key);
            Ok(())
        })?;
        for text in [ALL_LOGINS, ALL_SESSIONS] {
            connection.each(text, &[], |row| {
                let mut part = Part::default();
                take_logins(&mut part, &[row])?;
                logins.extend(part.logins.iter().map(|login| login.account));
                sessions.extend(part.sessions.iter().map(|session| session.token));
                show_logins(directory, part);
                Ok(())
            })?;
        }
        directory.keep_only(|id| accounts.contains(&id), |id| keys.contains(&id));
        directory.logins().keep_only(|account| logins.contains(&account), |token| sessions.contains(token));
        show_relations(connection, directory)?;
        let entries: i64 = connection.first(ENTRIES, &[])?.map_or(0, |row| row.get(0));
        self.status.entries.store(super::tables::unsigned(entries), Ordering::Relaxed);
        self.seen.store(generation, Ordering::Relaxed);
        Ok(())
    }

    /// Reads what other servers changed since the last time.
    pub fn follow(&self, connection: &mut Connection) -> Result<(), Trouble> {
        let (seen, now) = (self.seen.load(Ordering::Relaxed), generation(connection)?);
        if now == seen {
            return Ok(());
        }
        let oldest: Option<i64> = connection.first(OLDEST, &[])?.and_then(|row| row.get(0));
        if now < seen || oldest.is_none_or(|oldest| oldest > seen.saturating_add(1)) {
            tracing::info!("the books have changed much; reading all accounts and keys again");
            return self.read_all(connection);
        }
        let rows = connection.query(CHANGED, &[&seen, &now])?;
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| row.get(0)).collect();
        for some in keys.chunks(READ_AGAIN_MAX) {
            self.read_again(connection, some)?;
        }
        self.seen.store(now, Ordering::Relaxed);
        Ok(())
    }

    fn read_again(&self, connection: &mut Connection, keys: &[Vec<u8>]) -> Result<(), Trouble> {
        let directory = &self.directory;
        let numbers = |kind: &[u8]| -> Vec<i64> {
            let of_kind = keys.iter().filter(|key| key_space::kind(key) == kind);
            of_kind.filter_map(|key| key_space::number(key)).map(signed).collect()
        };
        let accounts = numbers(key_space::ACCOUNT);
        show_accounts(connection, directory, &accounts)?;
        let changed = numbers(key_space::API_KEY);
        if !changed.is_empty() {
            for row in connection.query(KEYS, &[&changed])? {
                let key = key(&row);
                if directory.account(key.account).is_none() {
                    show_accounts(connection, directory, &[id(key.account)])?;
                }
                directory.publish_key(&key);
            }
        }
        let is_login = |key: &&Vec<u8>| matches!(key_space::kind(key), key_space::LOGIN | key_space::SESSION);
        let logins: Vec<&Vec<u8>> = keys.iter().filter(is_login).collect();
        if !logins.is_empty() {
            let rows = connection.query(RECORDS, &[&logins])?;
            let found: BTreeSet<&[u8]> = rows.iter().map(|row| row.get(0)).collect();
            for gone in logins.iter().filter(|key| !found.contains(key.as_slice())) {
                forget(directory, gone);
            }
            let mut part = Part::default();
            take_logins(&mut part, &rows)?;
            show_logins(directory, part);
        }
        if keys.iter().any(|key| key_space::kind(key) == key_space::RELATION) {
            show_relations(connection, directory)?;
        }
        Ok(())
    }

    /// Reads the balances again that requests have asked for since the last time.
    pub fn refresh_balances(&self, connection: &mut Connection) -> Result<(), Trouble> {
        let asked: Vec<i64> = self.directory.take_asked().into_iter().map(id).collect();
        asked.chunks(READ_AGAIN_MAX).try_for_each(|some| show_accounts(connection, &self.directory, some))
    }
}

fn generation(connection: &mut Connection) -> Result<i64, Trouble> {
    Ok(connection.first(GENERATION, &[])?.map_or(0, |row| row.get(0)))
}

fn show_accounts(connection: &mut Connection, directory: &Directory, ids: &[i64]) -> Result<(), Trouble> {
    if ids.is_empty() {
        return Ok(());
    }
    for row in connection.query(ACCOUNTS, &[&ids])? {
        let account = account(&row);
        directory.publish_account(&account.record, account.reserved, account.closed_at, account.version);
    }
    Ok(())
}

fn show_logins(directory: &Directory, part: Part) {
    for login in part.logins {
        directory.logins().publish_login(login.account, Some(&Arc::new(login)));
    }
    for session in part.sessions {
        directory.logins().publish_session(&session);
    }
}

/// Forgets logins and sessions that are gone.
pub fn forget_all<'k>(directory: &Directory, keys: impl Iterator<Item = &'k Vec<u8>>) {
    keys.for_each(|key| forget(directory, key));
}

/// Forgets a login or a session that is gone.
fn forget(directory: &Directory, key: &[u8]) {
    match (key_space::kind(key), key_space::number(key), key.get(1..)) {
        (key_space::LOGIN, Some(account), _) => {
            directory.logins().publish_login(AccountId::from_number(account), None);
        }
        (_, _, Some(hash)) => {
            if let Ok(hash) = <[u8; 32]>::try_from(hash) {
                directory.logins().forget_session(&TokenHash::from_bytes(hash));
            }
        }
        _ => {}
    }
}

fn show_relations(connection: &mut Connection, directory: &Directory) -> Result<(), Trouble> {
    let (relations, changed_at) = relations(connection)?;
    let table: BTreeMap<_, _> = relations.into_iter().map(|one| (one.key.clone(), one)).collect();
    let revision = directory.relations().revision().wrapping_add(1);
    directory.publish_relations(Relations::new(&table, revision, changed_at));
    Ok(())
}
