//! After a write that failed: takes back what may have reached the disk although nobody was told that it did.
//!
//! A batch is written whole or not at all. When the store is open again, entries beyond the last acknowledged one
//! are of the batch that failed. Its callers were told that the books are out of order, so its charges come back
//! and its idempotency keys are free again. Purchases and grants of it stay; the operator looks at the balance
//! before repeating one. Knows no thread.

use std::collections::HashMap;

use super::super::entry::{Entry, EntryKind};
use super::super::error::ChargeError;
use super::super::key_space;
use super::charging::signed;
use super::{Books, EntryDetail};
use crate::clock::Moment;

impl Books {
    /// Keys of the idempotency claims and download grants that the charges of the batch in hand would have written. What its
    /// settlements remember is left alone: they are not taken back.
    pub(in super::super) fn pending_claims(&self) -> Vec<Vec<u8>> {
        let written =
            self.changes.iter().filter(|(key, value)| value.is_some() && key_space::is_remembered(key));
        let written = written.filter(|(key, _)| !self.settled_claims.contains(*key));
        written.map(|(key, _)| key.to_vec()).collect()
    }

    /// Takes back what was written after the last acknowledged entry. Returns how many charges came back.
    pub(in super::super) fn take_back(
        &mut self,
        acknowledged: u64,
        claims: &[Vec<u8>],
        now: Moment,
    ) -> Result<usize, ChargeError> {
        for key in claims {
            self.changes.remove(key.clone());
        }
        let mut unacknowledged: HashMap<u64, Entry> = HashMap::new();
        let first = key_space::entry(acknowledged + 1);
        let limit = crate::limits::ledger::BATCH_OPERATIONS_MAX * 2;
        let page = self.store.scan(key_space::ENTRY, &first, limit).map_err(|error| self.fail(error))?;
        for (key, value) in page {
            let sequence = key_space::number(&key).unwrap_or(0);
            let entry = Entry::decode(sequence, &value);
            let entry = entry.map_err(|error| self.fail_damaged(error.to_string()))?;
            if entry.kind == EntryKind::Charge {
                unacknowledged.insert(sequence, entry);
            } else if entry.kind == EntryKind::Refund {
                unacknowledged.remove(&entry.related);
            }
        }
        for entry in unacknowledged.values() {
            let detail = EntryDetail {
                related: entry.sequence,
                request_id: &entry.request_id,
                dataset: &entry.dataset,
                note: "not acknowledged",
                ..EntryDetail::default()
            };
            let back = signed(entry.amount.unsigned_abs());
            self.append(entry.account, EntryKind::Refund, back, now, &detail)?;
        }
        Ok(unacknowledged.len())
    }

    /// Notes a record that changes nothing, so that the next commit shows whether the store can be written.
    pub(in super::super) fn prove_writable(&mut self) {
        let now = self.latest.unix_millis().to_be_bytes().to_vec();
        self.changes.put(key_space::recovered_at(), now);
    }
}
