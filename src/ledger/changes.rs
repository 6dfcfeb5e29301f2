//! What one operation writes: records by key, with their new values. Encodes them as the payload of a batch of the log.
//!
//! ```text
//! change: length of the key (u16) │ length of the value (u32, all ones: the key goes) │ key │ value
//! ```
//!
//! Integers are big-endian; keys rise within a batch. Values are whole, so applying a batch twice does no harm. Knows no
//! record.

use std::collections::BTreeMap;

use crate::limits::ledger::RECORD_BYTES_MAX;

const REMOVED: u32 = u32::MAX;

/// Records of one operation: a key and its new value, or nothing for a key that goes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Changes {
    by_key: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Changes {
    pub(super) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.by_key.insert(key, Some(value));
    }

    pub(super) fn remove(&mut self, key: Vec<u8>) {
        self.by_key.insert(key, None);
    }

    pub(super) fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        let value = value.map(<[u8]>::to_vec);
        match self.by_key.get_mut(key) {
            Some(place) => *place = value,
            None => drop(self.by_key.insert(key.to_vec(), value)),
        }
    }

    /// What the changes say about a key: nothing, that it goes, or its new value.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.by_key.get(key).map(Option::as_deref)
    }

    /// The changes of keys from this one on.
    pub(super) fn from<'c>(
        &'c self,
        key: &[u8],
    ) -> impl Iterator<Item = (&'c [u8], Option<&'c [u8]>)> + use<'c> {
        let range = self.by_key.range(key.to_vec()..);
        range.map(|(key, value)| (key.as_slice(), value.as_deref()))
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Takes over the changes of other ones, which are later.
    pub(super) fn absorb(&mut self, later: Changes) {
        self.by_key.extend(later.by_key);
    }

    /// Keeps only the changes of keys that do not begin so.
    pub(super) fn drop_prefix(&mut self, prefix: &[u8]) {
        self.by_key.retain(|key, _| !key.starts_with(prefix));
    }

    /// Appends the payload to `out`. Gives the length of a record that is too long.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), usize> {
        for (key, value) in &self.by_key {
            let value_bytes = value.as_deref().unwrap_or_default();
            let longest = key.len().max(value_bytes.len());
            let (Ok(key_length), true) = (u16::try_from(key.len()), longest <= RECORD_BYTES_MAX) else {
                return Err(longest);
            };
            let value_length = if value.is_some() { value_bytes.len() as u32 } else { REMOVED };
            out.extend_from_slice(&key_length.to_be_bytes());
            out.extend_from_slice(&value_length.to_be_bytes());
            out.extend_from_slice(key);
            out.extend_from_slice(value_bytes);
        }
        Ok(())
    }
}

/// A key and its new value, or nothing for a key that goes.
pub(super) type Change<'p> = (&'p [u8], Option<&'p [u8]>);

/// The changes of a payload in their order; nothing in the place of one that is cut.
pub(super) fn split(mut rest: &[u8]) -> impl Iterator<Item = Option<Change<'_>>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = split_first(rest);
        rest = found.map_or(&[], |(_, after)| after);
        Some(found.map(|(change, _)| change))
    })
}

fn split_first(bytes: &[u8]) -> Option<(Change<'_>, &[u8])> {
    let (key_length, rest) = bytes.split_first_chunk::<2>()?;
    let (value_length, rest) = rest.split_first_chunk::<4>()?;
    let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*key_length)))?;
    match u32::from_be_bytes(*value_length) {
        REMOVED => Some(((key, None), rest)),
        length => {
            let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            Some(((key, Some(value)), rest))
        }
    }
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
    fn a_payload_reads_back_and_a_cut_one_is_refused() {
        let mut changes = Changes::default();
        changes.put(b"b".to_vec(), Vec::new());
        changes.put(b"a".to_vec(), vec![7; 300]);
        changes.remove(b"c".to_vec());
        let mut payload = Vec::new();
        changes.encode(&mut payload).unwrap();
        assert_eq!(decode(&payload), Some(changes.clone()));
        let whole: Vec<usize> = (0..payload.len()).filter(|end| decode(&payload[..*end]).is_some()).collect();
        assert_eq!(whole, [0, 307, 314], "only at the end of a change");
        changes.put(b"d".to_vec(), vec![0; RECORD_BYTES_MAX + 1]);
        assert_eq!(changes.encode(&mut payload), Err(RECORD_BYTES_MAX + 1));
    }
}
