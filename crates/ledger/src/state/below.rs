//! What stands below the memtable: the checkpoint of local books, or the tables of a database within one transaction.

use crate::checkpoint::{Checkpoint, Pair, StoreError};

/// Records by key.
pub trait Below: Send + Sync {
    /// The value under a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    /// At most `limit` records with `prefix` from the key `from` on, in order.
    fn scan(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Pair>, StoreError>;
}

impl Below for Checkpoint {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Checkpoint::get(self, key)
    }

    fn scan(&self, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Pair>, StoreError> {
        Checkpoint::scan(self, prefix, from).take(limit).collect()
    }
}
