//! The memtable: records written since the checkpoint. Reads check it first; checkpoints take it over.
//!
//! ```text
//! active    takes up every operation
//! sealed    is being written into the checkpoint; while it is, `active` goes on
//! ```
//!
//! Does not depend on the types of records.

use std::sync::Arc;

use crate::changes::Changes;

/// Changes that the checkpoint does not hold yet.
#[derive(Debug, Default)]
pub struct Memtable {
    active: Changes,
    sealed: Option<Arc<Changes>>,
}

impl Memtable {
    /// The change of a key: none, its removal or its value.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.active.get(key).or_else(|| self.sealed.as_ref()?.get(key))
    }

    /// The changes of keys with `prefix`, from this key on: sealed ones first.
    pub fn range<'m>(
        &'m self,
        prefix: &'m [u8],
        from: &'m [u8],
    ) -> impl Iterator<Item = (&'m [u8], Option<&'m [u8]>)> {
        let from = from.max(prefix);
        let of_prefix = move |changes: &'m Changes| {
            changes.from(from).take_while(move |(key, _)| key.starts_with(prefix))
        };
        self.sealed.as_deref().into_iter().flat_map(of_prefix).chain(of_prefix(&self.active))
    }

    pub fn absorb(&mut self, changes: Changes) {
        self.active.absorb(changes);
    }

    /// Records that wait for the next checkpoint.
    pub fn len(&self) -> usize {
        self.active.len()
    }

    /// The changes for the next checkpoint; nothing while the one before is being written.
    pub fn seal(&mut self) -> Option<Arc<Changes>> {
        if self.sealed.is_some() {
            return None;
        }
        let sealed = Arc::new(std::mem::take(&mut self.active));
        self.sealed = Some(Arc::clone(&sealed));
        Some(sealed)
    }

    /// Drops the sealed changes, which the checkpoint now holds.
    pub fn release(&mut self) {
        self.sealed = None;
    }
}
