//! Changes: records by key with their new values, written by one or several operations.
//!
//! Postcard encodes a change as the key and the new value, or none for a removed key. Keys ascend. Values are
//! complete, so changes may be applied twice. Does not depend on the types of records.

use std::collections::BTreeMap;

/// Longest record that is read back from the store or from a backup.
const RECORD_BYTES_MAX: usize = 64 * 1024;

/// Records by key: the new value of each, or nothing for a key that goes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Changes {
    by_key: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Changes {
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.by_key.insert(key, Some(value));
    }

    pub fn remove(&mut self, key: Vec<u8>) {
        self.by_key.insert(key, None);
    }

    /// Sets a value that is borrowed, into the room of the one before it.
    pub fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        match (self.by_key.get_mut(key), value) {
            (Some(Some(place)), Some(value)) => {
                place.clear();
                place.extend_from_slice(value);
            }
            (Some(place), value) => *place = value.map(<[u8]>::to_vec),
            (None, value) => drop(self.by_key.insert(key.to_vec(), value.map(<[u8]>::to_vec))),
        }
    }

    /// The change of a key: none, its removal or its new value.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.by_key.get(key).map(Option::as_deref)
    }

    /// The changes of keys from this one on.
    pub fn from<'c>(&'c self, key: &[u8]) -> impl Iterator<Item = Change<'c>> + use<'c> {
        let range = self.by_key.range(key.to_vec()..);
        range.map(|(key, value)| (key.as_slice(), value.as_deref()))
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Merges later changes.
    pub fn absorb(&mut self, later: Changes) {
        self.by_key.extend(later.by_key);
    }

    /// Appends the changes to `out`. Gives the length of a record that is too long.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), usize> {
        for (key, value) in self.from(&[]) {
            let longest = key.len().max(value.unwrap_or_default().len());
            if longest > RECORD_BYTES_MAX {
                return Err(longest);
            }
            *out = postcard::to_extend(&(key, value), std::mem::take(out)).map_err(|_| longest)?;
        }
        Ok(())
    }
}

/// A key and its new value, or nothing for a key that goes.
pub type Change<'p> = (&'p [u8], Option<&'p [u8]>);

/// Decodes changes in order; `None` in place of a truncated one.
pub fn split(mut rest: &[u8]) -> impl Iterator<Item = Option<Change<'_>>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = postcard::take_from_bytes::<Change<'_>>(rest).ok();
        rest = found.map_or(&[], |(_, after)| after);
        Some(found.map(|(change, _)| change))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(payload: &[u8]) -> Option<Changes> {
        let mut changes = Changes::default();
        for change in split(payload) {
            let (key, value) = change?;
            changes.set(key, value);
        }
        Some(changes)
    }

    #[test]
    fn round_trips_changes_and_rejects_truncated_ones() {
        let mut changes = Changes::default();
        changes.put(b"b".to_vec(), Vec::new());
        changes.put(b"a".to_vec(), vec![7; 300]);
        changes.remove(b"c".to_vec());
        let mut payload = Vec::new();
        changes.encode(&mut payload).unwrap();
        assert_eq!(decode(&payload), Some(changes.clone()));
        let whole: Vec<usize> = (0..payload.len()).filter(|end| decode(&payload[..*end]).is_some()).collect();
        assert_eq!(whole, [0, 305, 309], "only at the end of a change");
        changes.put(b"d".to_vec(), vec![0; RECORD_BYTES_MAX + 1]);
        assert_eq!(changes.encode(&mut payload), Err(RECORD_BYTES_MAX + 1));
    }

    #[test]
    fn sets_value_like_put() {
        let (mut set, mut put) = (Changes::default(), Changes::default());
        for value in [Some(b"long".as_slice()), Some(b"s"), None, Some(b"again"), None] {
            set.set(b"k", value);
            match value {
                Some(value) => put.put(b"k".to_vec(), value.to_vec()),
                None => put.remove(b"k".to_vec()),
            }
            assert_eq!(set, put);
        }
    }
}
