//! A table of records found by the hash of a token, which end on their own: sessions and one-time tokens.
//!
//! ```text
//! by hash      the record
//! by account   its tokens; the oldest makes room
//! ends         (moment, hash), in the order in which the upkeep checks them
//! ```
//!
//! Use moves the end of a session. The upkeep checks it again when its former end has come. Does not depend on the store.

use std::collections::{BTreeSet, HashMap};

use crate::id::AccountId;
use crate::token::{TokenHash, TokenRecord};
use mercato_base::clock::Moment;

/// Records by the hash of their token.
pub struct TokenTable<T> {
    by_hash: HashMap<TokenHash, Timed<T>>,
    by_account: HashMap<AccountId, Vec<TokenHash>>,
    ends: BTreeSet<(Moment, TokenHash)>,
}

struct Timed<T> {
    record: T,
    /// The moment under which `ends` lists it.
    listed_at: Moment,
}

impl<T> Default for TokenTable<T> {
    fn default() -> Self {
        TokenTable { by_hash: HashMap::new(), by_account: HashMap::new(), ends: BTreeSet::new() }
    }
}

impl<T: TokenRecord> TokenTable<T> {
    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    pub fn get(&self, token: &TokenHash) -> Option<&T> {
        self.by_hash.get(token).map(|timed| &timed.record)
    }

    /// The records of an account, in no order that outlives a start.
    pub fn of(&self, account: AccountId) -> impl Iterator<Item = &T> {
        self.by_account.get(&account).into_iter().flatten().filter_map(|token| self.get(token))
    }

    /// The tokens of an account to remove so that it has `most` after one more: first the ended ones, then the oldest.
    pub fn making_room(&self, account: AccountId, most: usize, now: Moment) -> Vec<TokenHash> {
        let age = |record: &T| (record.ends_at() > now, record.created_at(), record.token());
        let mut by_age: Vec<_> = self.of(account).map(age).collect();
        by_age.sort_unstable();
        let ended = by_age.iter().take_while(|(is_open, ..)| !is_open).count();
        let too_many = (by_age.len() + 1).saturating_sub(most);
        by_age.into_iter().take(ended.max(too_many)).map(|(.., token)| token).collect()
    }

    /// Takes a record in, whose token no other one has.
    pub fn insert(&mut self, record: T) {
        let (token, listed_at) = (record.token(), record.ends_at());
        self.by_account.entry(record.account()).or_default().push(token);
        self.ends.insert((listed_at, token));
        self.by_hash.insert(token, Timed { record, listed_at });
    }

    /// Changes a record, but neither its token nor its account.
    pub fn change(&mut self, token: &TokenHash, change: impl FnOnce(&mut T)) -> Option<&T> {
        let timed = self.by_hash.get_mut(token)?;
        change(&mut timed.record);
        Some(&timed.record)
    }

    pub fn remove(&mut self, token: &TokenHash) -> Option<T> {
        let Timed { record, listed_at } = self.by_hash.remove(token)?;
        self.ends.remove(&(listed_at, *token));
        let account = record.account();
        if let Some(others) = self.by_account.get_mut(&account) {
            others.retain(|other| other != token);
            if others.is_empty() {
                self.by_account.remove(&account);
            }
        }
        Some(record)
    }

    /// At most `limit` records that have ended at this moment.
    pub fn ended(&mut self, now: Moment, limit: usize) -> Vec<TokenHash> {
        let mut ended = Vec::new();
        let due: Vec<_> = self.ends.iter().take_while(|(end, _)| *end <= now).take(limit).copied().collect();
        for (listed_at, token) in due {
            let Some(timed) = self.by_hash.get_mut(&token) else { continue };
            let end = timed.record.ends_at();
            if end <= now {
                ended.push(token);
            } else {
                timed.listed_at = end;
                self.ends.remove(&(listed_at, token));
                self.ends.insert((end, token));
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{SESSION_IDLE_SECONDS_MAX, SESSION_SECONDS_MAX};
    use crate::session_record::SessionRecord;

    fn at(seconds: i64) -> Moment {
        Moment::from_unix_millis(1_795_228_297_000).plus_seconds(seconds)
    }

    fn session(number: u8, account: u64, created: i64) -> SessionRecord {
        SessionRecord {
            token: TokenHash::from_bytes([number; 32]),
            account: AccountId::from_number(account),
            created_at: at(created),
            last_seen_at: at(created),
            expires_at: at(created + SESSION_SECONDS_MAX),
        }
    }

    #[test]
    fn evicts_ended_then_oldest_records_of_account() {
        let mut table = TokenTable::default();
        let day = 86_400;
        for record in [session(3, 1, 20), session(2, 1, 10), session(1, 1, 10), session(9, 2, 0)] {
            table.insert(record);
        }
        let room = |table: &TokenTable<SessionRecord>, most, now| {
            let tokens = table.making_room(AccountId::from_number(1), most, at(now));
            tokens.iter().map(|token| token.bytes()[0]).collect::<Vec<_>>()
        };
        assert!(room(&table, 4, 30).is_empty());
        assert_eq!(room(&table, 3, 30), [1], "by age, then by hash");
        assert_eq!(room(&table, 1, 30), [1, 2, 3]);
        table.change(&TokenHash::from_bytes([1; 32]), |record| record.last_seen_at = at(day)).unwrap();
        assert_eq!(room(&table, 4, SESSION_IDLE_SECONDS_MAX + 15), [2], "the oldest one is in use");
        assert_eq!(room(&table, 1, SESSION_IDLE_SECONDS_MAX + 15), [2, 1, 3]);
        table.remove(&TokenHash::from_bytes([9; 32])).unwrap();
        assert_eq!((table.len(), table.by_account.len()), (3, 1));
    }

    #[test]
    fn revisits_record_whose_end_moved() {
        let mut table = TokenTable::default();
        let [used, idle] = [session(1, 1, 0), session(2, 1, 0)];
        table.insert(used);
        table.insert(idle);
        let day = 86_400;
        table.change(&used.token, |record| record.last_seen_at = at(day)).unwrap();
        assert!(table.ended(at(SESSION_IDLE_SECONDS_MAX - 1), 10).is_empty());
        let over = at(SESSION_IDLE_SECONDS_MAX);
        assert_eq!(table.ended(over, 10), [idle.token]);
        table.remove(&idle.token).unwrap();
        assert!(table.ended(over, 10).is_empty());
        assert_eq!(table.ended(at(SESSION_IDLE_SECONDS_MAX + day), 10), [used.token]);
        table.remove(&used.token).unwrap();
        assert_eq!((table.len(), table.ends.len(), table.by_account.len()), (0, 0, 0));
    }

    #[test]
    fn bounds_round_of_ended_records() {
        let mut table = TokenTable::default();
        (0..9).for_each(|number| table.insert(session(number, 1, 0)));
        assert_eq!(table.ended(at(SESSION_SECONDS_MAX), 4).len(), 4);
    }
}
