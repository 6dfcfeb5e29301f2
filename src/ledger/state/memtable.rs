//! What was written since the checkpoint: read before it, and handed to it from time to time.
//!
//! ```text
//! active    takes up every operation
//! sealed    is being written into the checkpoint; while it is, `active` goes on
//! ```
//!
//! Knows no record.

use std::sync::Arc;

use super::super::changes::Changes;

/// Changes that the checkpoint does not hold yet.
#[derive(Debug, Default)]
pub(super) struct Memtable {
    active: Changes,
    sealed: Option<Arc<Changes>>,
}

impl Memtable {
    /// What it says about a key: nothing, that it went, or its value.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.active.get(key).or_else(|| self.sealed.as_ref()?.get(key))
    }

    /// What it says about the keys that begin with `prefix`, from this one on: the sealed changes first.
    pub(super) fn range<'m>(
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

    pub(super) fn absorb(&mut self, changes: Changes) {
        self.active.absorb(changes);
    }

    /// Records that wait for the next checkpoint.
    pub(super) fn len(&self) -> usize {
        self.active.len()
    }

    /// The changes for the next checkpoint; nothing while the one before is being written.
    pub(super) fn seal(&mut self) -> Option<Arc<Changes>> {
        if self.sealed.is_some() {
            return None;
        }
        let sealed = Arc::new(std::mem::take(&mut self.active));
        self.sealed = Some(Arc::clone(&sealed));
        Some(sealed)
    }

    /// The checkpoint holds what was sealed.
    pub(super) fn release(&mut self) {
        self.sealed = None;
    }
}
