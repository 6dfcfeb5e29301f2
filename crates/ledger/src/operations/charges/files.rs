//! Charges files: whole ones, which are reserved and settled like streams, and parts of them.
//!
//! Paid rows of a file are remembered for a day, so that a file read in parts is paid once:
//!
//! ```text
//! a whole file      sets its price aside; settled by the rows that were written
//!   complete        all is paid
//!   broken off      the rows written are paid, the rest stays unpaid
//! a part            pays what is unpaid: the rest, or everything if nothing is remembered; then parts are free
//! a part while      is free, and the whole file will be paid in full, however it ends
//! the whole runs
//! ```
//!
//! Does not depend on formats.

use crate::codec::Record;
use crate::error::BooksError;
use crate::id::AccountId;
use crate::key_space;
use crate::limits::DOWNLOAD_GRANT_HOURS;
use crate::reservation_record::{ReservationRecord, ReservedFile};
use crate::state::State;
use mercato_base::clock::Moment;

impl State {
    /// Remembers the paid rows of a file, unless more rows are remembered.
    pub fn note_paid(
        &mut self,
        account: AccountId,
        hash: &[u8; 16],
        paid: u64,
        unpaid: u64,
        at: Moment,
    ) -> Result<(), BooksError> {
        let key = key_space::grant(account, hash);
        let nothing_new = self.unpaid(&key, at)?.is_some_and(|known| known < unpaid);
        if nothing_new || paid == 0 {
            return Ok(());
        }
        self.remember(&key, &unpaid_mark(unpaid), at.plus_seconds(DOWNLOAD_GRANT_HOURS * 3_600));
        Ok(())
    }

    /// Whether the whole file is on its way to this account; if so, it will be paid in full.
    pub fn promise(&mut self, account: AccountId, hash: &[u8; 16]) -> bool {
        let is_of_file = |record: &&ReservationRecord| record.file.is_some_and(|file| file.hash == *hash);
        let oldest = self.reservations_of(account).find(is_of_file).map(|record| record.id);
        let Some(open) = oldest.and_then(|id| self.reservations.get_mut(&id)) else { return false };
        let record = &mut open.record;
        record.file = Some(ReservedFile { hash: *hash, is_promised: true });
        self.written.changes.put(key_space::reservation(record.id), record.encode());
        true
    }

    /// Rows of a file that are not paid yet; nothing when no payment is remembered.
    pub fn unpaid(&mut self, key: &[u8], now: Moment) -> Result<Option<u64>, BooksError> {
        let mark = self.remembered(key, now)?;
        Ok(mark.and_then(|mark| mark.first_chunk().map(|unpaid| u64::from_be_bytes(*unpaid))))
    }
}

/// The unpaid rows in place of the hash in the record of a payment: big-endian, then zeros.
pub fn unpaid_mark(rows: u64) -> [u8; 16] {
    let mut mark = [0; 16];
    for (target, source) in mark.iter_mut().zip(rows.to_be_bytes()) {
        *target = source;
    }
    mark
}
