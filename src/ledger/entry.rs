//! One line of the books: what changed a balance, when, for which request, and the balance after it.
//!
//! Entries are written once and never changed. The balance of an account is the sum of its entries. Knows their
//! bytes, and no store.

use super::codec::{DecodeError, RecordReader, RecordWriter};
use super::id::{AccountId, KeyId};
use crate::clock::Moment;

const RECORD: &str = "entry";
const VERSION: u8 = 1;

/// Why a balance changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EntryKind {
    /// Credits were bought: `cents` says for how much.
    Purchase,
    /// Rows were sold.
    Charge,
    /// Credits were held back for an answer whose size is not known yet.
    Reserve,
    /// A reservation ended: the part that was not used came back. `related` names the entry that reserved.
    Settle,
    /// A charge was taken back. `related` names the entry that charged.
    Refund,
    /// The operator gave credits.
    Grant,
}

impl EntryKind {
    const ALL: [EntryKind; 6] = [
        EntryKind::Purchase,
        EntryKind::Charge,
        EntryKind::Reserve,
        EntryKind::Settle,
        EntryKind::Refund,
        EntryKind::Grant,
    ];

    /// The name in exports.
    pub const fn as_str(self) -> &'static str {
        match self {
            EntryKind::Purchase => "purchase",
            EntryKind::Charge => "charge",
            EntryKind::Reserve => "reserve",
            EntryKind::Settle => "settle",
            EntryKind::Refund => "refund",
            EntryKind::Grant => "grant",
        }
    }

    const fn code(self) -> u8 {
        match self {
            EntryKind::Purchase => 1,
            EntryKind::Charge => 2,
            EntryKind::Reserve => 3,
            EntryKind::Settle => 4,
            EntryKind::Refund => 5,
            EntryKind::Grant => 6,
        }
    }

    fn from_code(code: u8) -> Option<EntryKind> {
        EntryKind::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// One line of the books.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its number in the log. Numbers rise; those between two entries belong to records that change no balance.
    pub sequence: u64,
    /// Whose balance changed.
    pub account: AccountId,
    /// With which key, if with one.
    pub key: Option<KeyId>,
    /// Why.
    pub kind: EntryKind,
    /// By how much: positive is credited, negative is taken.
    pub amount: i64,
    /// The balance after it.
    pub balance: u64,
    /// When.
    pub at: Moment,
    /// Rows that were sold (charge, settle), or zero.
    pub rows: u64,
    /// What a purchase cost, in cents of a euro, VAT excluded, or zero.
    pub cents: u64,
    /// The entry that this one settles or takes back, or zero.
    pub related: u64,
    /// The request that caused it, or empty.
    pub request_id: String,
    /// The dataset that was sold, or empty.
    pub dataset: String,
    /// A remark of the operator or the reason of a refund, or empty.
    pub note: String,
}

impl Entry {
    /// The record; the sequence is its key and stands there.
    pub fn encode(&self) -> Vec<u8> {
        RecordWriter::new(VERSION)
            .byte(self.kind.code())
            .u64(self.account.number())
            .u64(self.key.map_or(0, KeyId::number))
            .i64(self.amount)
            .u64(self.balance)
            .i64(self.at.unix_millis())
            .u64(self.rows)
            .u64(self.cents)
            .u64(self.related)
            .text(&self.request_id)
            .text(&self.dataset)
            .text(&self.note)
            .finish()
    }

    /// Reads the record of the entry with this sequence.
    pub fn decode(sequence: u64, bytes: &[u8]) -> Result<Entry, DecodeError> {
        let mut reader = RecordReader::new(RECORD, VERSION, bytes)?;
        let code = reader.byte("kind")?;
        let kind = EntryKind::from_code(code).ok_or_else(|| reader.meaningless("kind", u64::from(code)))?;
        Ok(Entry {
            sequence,
            kind,
            account: AccountId::from_number(reader.u64("account")?),
            key: KeyId::optional(reader.u64("key")?),
            amount: reader.i64("amount")?,
            balance: reader.u64("balance")?,
            at: Moment::from_unix_millis(reader.i64("at")?),
            rows: reader.u64("rows")?,
            cents: reader.u64("cents")?,
            related: reader.u64("related")?,
            request_id: reader.text("request_id")?,
            dataset: reader.text("dataset")?,
            note: reader.text("note")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_reads_back_as_it_was_written() {
        for kind in EntryKind::ALL {
            let entry = Entry {
                sequence: 9,
                account: AccountId::from_number(4),
                key: Some(KeyId::from_number(6)),
                kind,
                amount: -25,
                balance: 975,
                at: Moment::from_unix_millis(1_795_228_297_123),
                rows: 25,
                cents: 0,
                related: 3,
                request_id: "2f1c".to_owned(),
                dataset: "orders".to_owned(),
                note: String::new(),
            };
            assert_eq!(Entry::decode(9, &entry.encode()), Ok(entry));
        }
    }

    #[test]
    fn an_unknown_kind_is_refused() {
        let bytes = RecordWriter::new(VERSION).byte(99).finish();
        assert!(matches!(Entry::decode(1, &bytes), Err(DecodeError::Value { field: "kind", found: 99, .. })));
    }
}
