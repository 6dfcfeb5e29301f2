//! What was written and is not in the store underneath yet, and how the two are read as one.
//!
//! New changes gather in one layer. A layer that sets off for the store stays readable until it has arrived. Knows
//! keys and values, and no file.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::{Changes, Record};

/// Keys and their new values, or nothing for a key that goes.
pub(super) type Layer = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The layers above the store.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    newest: Layer,
    moving: Arc<Layer>,
}

impl Overlay {
    /// Takes a batch in.
    pub(super) fn absorb(&mut self, changes: &Changes) {
        for (key, value) in changes.iter() {
            self.newest.insert(key.to_vec(), value.map(<[u8]>::to_vec));
        }
    }

    /// Whether the store underneath holds everything.
    pub(super) fn is_empty(&self) -> bool {
        self.newest.is_empty() && self.moving.is_empty()
    }

    /// What the layers say of a key: nothing, that it goes, or its value.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.newest.get(key).or_else(|| self.moving.get(key)).map(Option::as_deref)
    }

    /// Sends the newest layer on its way. The one before it must have arrived.
    pub(super) fn set_off(&mut self) -> Arc<Layer> {
        self.moving = Arc::new(std::mem::take(&mut self.newest));
        Arc::clone(&self.moving)
    }

    /// What had set off is in the store.
    pub(super) fn has_arrived(&mut self) {
        self.moving = Arc::default();
    }

    /// Records whose key is at least `from` and begins with `prefix`, in key order. `stored` gives those of the store,
    /// in key order too and at least those that are asked for.
    pub(super) fn ascending<E>(
        &self,
        prefix: &[u8],
        from: &[u8],
        limit: usize,
        stored: impl Iterator<Item = Result<Record, E>>,
    ) -> Result<Vec<Record>, E> {
        let start = from.max(prefix);
        let end = end_of(prefix);
        if matches!(&end, Bound::Excluded(end) if start >= end.as_slice()) {
            return Ok(Vec::new());
        }
        let range = (Bound::Included(start.to_vec()), end);
        let layers = Layers {
            newest: self.newest.range(range.clone()),
            moving: self.moving.range(range),
            comes_first: |one, other| one < other,
        };
        layers.merge(stored, prefix, limit)
    }

    /// The record with the greatest key that begins with `prefix`. `stored` gives those of the store from the greatest
    /// on.
    pub(super) fn last<E>(
        &self,
        prefix: &[u8],
        stored: impl Iterator<Item = Result<Record, E>>,
    ) -> Result<Option<Record>, E> {
        let range = (Bound::Included(prefix.to_vec()), end_of(prefix));
        let layers = Layers {
            newest: self.newest.range(range.clone()).rev(),
            moving: self.moving.range(range).rev(),
            comes_first: |one, other| one > other,
        };
        Ok(layers.merge(stored, prefix, 1)?.pop())
    }
}

/// The first key after all keys that begin with `prefix`.
fn end_of(prefix: &[u8]) -> Bound<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            return Bound::Excluded(end);
        }
    }
    Bound::Unbounded
}

struct Layers<I, J> {
    newest: I,
    moving: J,
    comes_first: fn(&[u8], &[u8]) -> bool,
}

impl<'a, I, J> Layers<I, J>
where
    I: Iterator<Item = (&'a Vec<u8>, &'a Option<Vec<u8>>)>,
    J: Iterator<Item = (&'a Vec<u8>, &'a Option<Vec<u8>>)>,
{
    /// Goes through all three in step; of equal keys the upper layer counts.
    fn merge<E>(
        self,
        stored: impl Iterator<Item = Result<Record, E>>,
        prefix: &[u8],
        limit: usize,
    ) -> Result<Vec<Record>, E> {
        let Self { newest, moving, comes_first } = self;
        let (mut newest, mut moving) = (newest.peekable(), moving.peekable());
        let mut stored = stored.take_while(|found| match found {
            Ok((key, _)) => key.starts_with(prefix),
            Err(_) => true,
        });
        let mut below = stored.next().transpose()?;
        let mut records = Vec::new();
        while records.len() < limit {
            let keys = [newest.peek().map(|(key, _)| *key), moving.peek().map(|(key, _)| *key)];
            let keys = keys.into_iter().flatten().chain(below.as_ref().map(|(key, _)| key));
            let Some(first) = keys.reduce(|one, other| if comes_first(other, one) { other } else { one })
            else {
                break;
            };
            let first = first.clone();
            let from_store = match below.take_if(|(key, _)| *key == first) {
                Some((_, value)) => {
                    below = stored.next().transpose()?;
                    Some(value)
                }
                None => None,
            };
            let from_moving = moving.next_if(|(key, _)| **key == first).map(|(_, value)| value.clone());
            let from_newest = newest.next_if(|(key, _)| **key == first).map(|(_, value)| value.clone());
            if let Some(value) = from_newest.or(from_moving).unwrap_or(from_store) {
                records.push((first, value));
            }
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn layer() -> impl Strategy<Value = Layer> {
        let key = prop::collection::vec(prop::sample::select(vec![0_u8, 1, 254, 255]), 0..4);
        prop::collection::btree_map(key, prop::option::of(prop::collection::vec(any::<u8>(), 0..2)), 0..12)
    }

    fn changes(layer: &Layer) -> Changes {
        let mut changes = Changes::default();
        for (key, value) in layer {
            match value {
                Some(value) => changes.put(key.clone(), value.clone()),
                None => changes.remove(key.clone()),
            }
        }
        changes
    }

    proptest! {
        /// Three layers read like the one map that they come to.
        #[test]
        fn layers_read_like_one_map(
            stored in layer(), moving in layer(), newest in layer(),
            prefix in prop::collection::vec(prop::sample::select(vec![0_u8, 1, 255]), 0..3),
            from in prop::collection::vec(any::<u8>(), 0..3), limit in 0_usize..8,
        ) {
            let mut overlay = Overlay::default();
            overlay.absorb(&changes(&moving));
            overlay.set_off();
            overlay.absorb(&changes(&newest));
            let mut expected = stored.clone();
            expected.extend(moving);
            expected.extend(newest);
            expected.retain(|_, value| value.is_some());
            let below: Vec<Record> =
                stored.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect();
            let wanted: Vec<Record> = expected
                .iter()
                .filter(|(key, _)| key.starts_with(&prefix))
                .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
                .collect();

            for key in stored.keys().chain(expected.keys()) {
                let under = below.iter().find(|(stored, _)| stored == key).map(|(_, value)| value.as_slice());
                let found = overlay.get(key).unwrap_or(under);
                prop_assert_eq!(found, expected.get(key).and_then(|value| value.as_deref()));
            }
            let start = from.as_slice().max(&prefix);
            let ascending = below.iter().filter(|(key, _)| key.as_slice() >= start).cloned().map(Ok::<_, Infallible>);
            let found = overlay.ascending(&prefix, &from, limit, ascending).unwrap();
            let page: Vec<Record> =
                wanted.iter().filter(|(key, _)| key.as_slice() >= start).take(limit).cloned().collect();
            prop_assert_eq!(found, page);
            let descending = below.iter().rev().filter(|(key, _)| key.starts_with(&prefix)).cloned();
            let found = overlay.last(&prefix, descending.map(Ok::<_, Infallible>)).unwrap();
            prop_assert_eq!(found.as_ref(), wanted.last());
        }
    }
}
