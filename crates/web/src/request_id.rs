//! Request ids: random UUIDs (RFC 9562, version 4). Random bytes are fetched for many of them at a time, because
//! a system call for each would cost more than all the rest of it.

use std::cell::RefCell;

use uuid::fmt::Hyphenated;
use uuid::{Builder, Uuid};

/// Identifiers that one system call serves.
const IDS_AT_ONCE: usize = 128;
const ID_BYTES: usize = 16;

/// Random bytes of one thread, used from the front.
struct Pool {
    bytes: [[u8; ID_BYTES]; IDS_AT_ONCE],
    used: usize,
}

thread_local! {
    static POOL: RefCell<Pool> =
        const { RefCell::new(Pool { bytes: [[0; ID_BYTES]; IDS_AT_ONCE], used: IDS_AT_ONCE }) };
}

/// The identifier of a request, as text.
#[derive(Debug, Clone, Copy)]
pub struct RequestId([u8; Hyphenated::LENGTH]);

impl RequestId {
    /// A new, unique id.
    pub(crate) fn next() -> Self {
        let mut text = [0; Hyphenated::LENGTH];
        POOL.with_borrow_mut(Pool::next).unwrap_or_else(Uuid::new_v4).hyphenated().encode_lower(&mut text);
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        // A UUID is ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Pool {
    /// Nothing where the system gives no random bytes.
    fn next(&mut self) -> Option<Uuid> {
        if self.used >= IDS_AT_ONCE {
            getrandom::fill(self.bytes.as_flattened_mut()).ok()?;
            self.used = 0;
        }
        let bytes = std::mem::take(self.bytes.get_mut(self.used)?);
        self.used = self.used.saturating_add(1);
        Some(Builder::from_random_bytes(bytes).into_uuid())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn generates_unique_random_uuids() {
        let per_thread =
            || (0..IDS_AT_ONCE * 3 + 1).map(|_| RequestId::next().as_str().to_owned()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(per_thread)).collect();
        let ids: Vec<String> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert!(ids.iter().all(|id| Uuid::parse_str(id).unwrap().get_version_num() == 4));
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }
}
