//! Which store files stay in the cache: room for new ones, and the choice of those that go.
//!
//! ```text
//! value of a version = uses, each worth half as much after every 6 hours
//! ```
//!
//! The version of the least value goes first; among equals, the one that was fetched first. So a pass over all datasets, which
//! uses each once, does not drive out those that are used again and again. The value of a version outlives its eviction. A file
//! that readers still map counts until the last of them is gone. Does not depend on files or objects.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use semver::Version;

use crate::{Released, Slug};

/// After this time a use is worth half.
const USE_HALF_LIFE: Duration = Duration::from_hours(6);

/// A version of a dataset.
pub(super) type Key = (Slug, Version);

/// The store files on this machine.
pub(super) struct Cache {
    bytes_max: u64,
    here: HashMap<Key, File>,
    /// Bytes of files that are being fetched.
    reserved: u64,
    released: Vec<Released>,
    values: HashMap<Key, Value>,
}

struct File {
    bytes: u64,
    since: Instant,
}

#[derive(Clone, Copy)]
struct Value {
    uses: f64,
    at: Instant,
}

impl Value {
    fn at(self, now: Instant) -> f64 {
        let half_lives = now.saturating_duration_since(self.at).as_secs_f64() / USE_HALF_LIFE.as_secs_f64();
        self.uses * (-half_lives).exp2()
    }
}

/// Why a file has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// It is larger than the whole cache.
    Never,
    /// Everything else is in use.
    Now,
}

impl Cache {
    pub(super) fn new(bytes_max: u64) -> Cache {
        Cache { bytes_max, here: HashMap::new(), reserved: 0, released: Vec::new(), values: HashMap::new() }
    }

    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Bytes of all files: here, being fetched, and removed but still mapped.
    pub(super) fn used(&mut self) -> u64 {
        self.released.retain(|released| released.table.strong_count() > 0);
        let here = self.here.values().fold(self.reserved, |sum, file| sum.saturating_add(file.bytes));
        self.released.iter().fold(here, |sum, released| sum.saturating_add(released.bytes))
    }

    pub(super) fn free(&mut self) -> u64 {
        self.bytes_max.saturating_sub(self.used())
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.here.contains_key(key)
    }

    /// A file is here. That somebody asked for it counts as a use.
    pub(super) fn insert(&mut self, key: Key, bytes: u64, now: Instant) {
        self.note_uses(key.clone(), 1, now);
        self.here.insert(key, File { bytes, since: now });
    }

    /// A file was removed. Those of it that readers map still count.
    pub(super) fn remove(&mut self, key: &Key, released: Vec<Released>) {
        if self.here.remove(key).is_some() {
            self.released.extend(released);
        }
    }

    /// Forgets the value of versions that are published no more.
    pub(super) fn keep_values(&mut self, is_kept: impl Fn(&Key) -> bool) {
        self.values.retain(|key, _| is_kept(key));
    }

    pub(super) fn note_uses(&mut self, key: Key, uses: u64, now: Instant) {
        if uses > 0 {
            let value = self.values.entry(key).or_insert(Value { uses: 0.0, at: now });
            *value = Value { uses: value.at(now) + uses as f64, at: now };
        }
    }

    /// Keeps room for a file that will be fetched, and has others evicted for it: `evict` removes a file, or says `None` for one
    /// that must stay.
    pub(super) fn reserve(
        &mut self,
        wanted: &Key,
        bytes: u64,
        now: Instant,
        mut evict: impl FnMut(&Key) -> Option<Vec<Released>>,
    ) -> Result<(), NoRoom> {
        if bytes > self.bytes_max {
            return Err(NoRoom::Never);
        }
        let mut victims = self.by_value(wanted, now).into_iter();
        while self.free() < bytes {
            let victim = victims.next().ok_or(NoRoom::Now)?;
            if let Some(released) = evict(&victim) {
                self.remove(&victim, released);
            }
        }
        self.reserved = self.reserved.saturating_add(bytes);
        Ok(())
    }

    /// The fetch has ended; a file that came is inserted.
    pub(super) fn end_reservation(&mut self, bytes: u64) {
        self.reserved = self.reserved.saturating_sub(bytes);
    }

    /// The files, those of the least value first.
    fn by_value(&self, wanted: &Key, now: Instant) -> Vec<Key> {
        let value = |key: &Key| self.values.get(key).map_or(0.0, |value| value.at(now));
        let mut all: Vec<(f64, Instant, &Key)> = self
            .here
            .iter()
            .filter(|(key, _)| *key != wanted)
            .map(|(key, file)| (value(key), file.since, key))
            .collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        all.into_iter().map(|(_, _, key)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_format::writer::{Column, ColumnValues, temporary_table};

    fn key(name: &str) -> Key {
        (Slug::parse(name).unwrap(), Version::new(1, 0, 0))
    }

    fn filled(count: u64, now: Instant) -> Cache {
        let mut cache = Cache::new(count * 10);
        for number in 0..count {
            cache.insert(key(&format!("set-{number}")), 10, now + Duration::from_secs(number));
        }
        cache
    }

    /// Fetches a file; returns which others went.
    fn fetch(cache: &mut Cache, name: &str, now: Instant) -> Result<Vec<String>, NoRoom> {
        let mut gone = Vec::new();
        cache.reserve(&key(name), 10, now, |victim| {
            gone.push(victim.0.to_string());
            Some(Vec::new())
        })?;
        cache.end_reservation(10);
        cache.insert(key(name), 10, now);
        Ok(gone)
    }

    #[test]
    fn scan_over_all_does_not_drive_out_what_is_used() {
        let now = Instant::now();
        let mut cache = filled(10, now);
        for hot in 0..5 {
            cache.note_uses(key(&format!("set-{hot}")), 20, now);
        }
        for scanned in 0..100u64 {
            let at = now + Duration::from_secs(60 + scanned);
            let gone = fetch(&mut cache, &format!("scanned-{scanned}"), at).unwrap();
            assert!(
                gone.iter()
                    .all(|name| !matches!(name.as_str(), "set-0" | "set-1" | "set-2" | "set-3" | "set-4"))
            );
        }
        assert_eq!((cache.used(), cache.free()), (100, 0));
    }

    #[test]
    fn old_uses_lose_their_worth() {
        let now = Instant::now();
        let mut cache = filled(2, now);
        cache.note_uses(key("set-0"), 8, now);
        let later = now + USE_HALF_LIFE * 4;
        cache.note_uses(key("set-1"), 1, later);
        assert_eq!(fetch(&mut cache, "new", later + Duration::from_hours(1)).unwrap(), ["set-0"]);
    }

    #[test]
    fn refuses_file_larger_than_cache_and_one_beside_used_files() {
        let now = Instant::now();
        let mut cache = filled(2, now);
        assert_eq!(cache.reserve(&key("huge"), 21, now, |_| Some(Vec::new())), Err(NoRoom::Never));
        assert_eq!(cache.reserve(&key("new"), 10, now, |_| None), Err(NoRoom::Now));
        assert_eq!(cache.used(), 20);
    }

    #[test]
    fn counts_removed_file_until_its_last_reader_is_gone() {
        let now = Instant::now();
        let mut cache = filled(2, now);
        let values = ColumnValues::Integers(vec![Some(1)]);
        let column = Column::new("id", mercato_format::ColumnKind::Integer, values);
        let table = std::sync::Arc::new(temporary_table(&[column]).unwrap());
        let released = Released { table: std::sync::Arc::downgrade(&table), bytes: 10 };
        cache.remove(&key("set-0"), vec![released]);
        assert_eq!(cache.used(), 20);
        drop(table);
        assert_eq!(cache.used(), 10);
    }
}
