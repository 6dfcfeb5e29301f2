//! A key as the books keep it: its hash and what is known about it, never the key itself.
//!
//! Knows its bytes and when it is valid; knows no store.

use super::api_key::KeyHash;
use super::codec::{DecodeError, RecordReader, RecordWriter};
use super::id::{AccountId, KeyId};
use super::key_limits::KeyLimits;
use crate::clock::Moment;

const RECORD: &str = "key";
const VERSION: u8 = 1;
// A moment that is not set is kept as the least number.
const NEVER: i64 = i64::MIN;

/// A key as it is kept.
#[derive(Clone)]
pub struct KeyRecord {
    /// Its id.
    pub id: KeyId,
    /// Whose it is.
    pub account: AccountId,
    /// Its hash.
    pub hash: KeyHash,
    /// Its first characters.
    pub prefix: String,
    /// What its owner calls it.
    pub label: String,
    /// When it was created.
    pub created_at: Moment,
    /// When it was last used; written lazily.
    pub last_used_at: Option<Moment>,
    /// When it ends, if it was rotated.
    pub expires_at: Option<Moment>,
    /// When it was revoked.
    pub revoked_at: Option<Moment>,
    /// What it may spend and read.
    pub limits: KeyLimits,
}

impl KeyRecord {
    /// When it ends: by its limits, or because it was rotated.
    pub fn ends_at(&self) -> Option<Moment> {
        self.expires_at.into_iter().chain(self.limits.expires_at).min()
    }

    /// The record; the id is its key and stands there.
    pub fn encode(&self) -> Vec<u8> {
        let record = RecordWriter::new(VERSION)
            .u64(self.account.number())
            .raw(self.hash.bytes())
            .i64(self.created_at.unix_millis())
            .i64(millis(self.last_used_at))
            .i64(millis(self.expires_at))
            .i64(millis(self.revoked_at))
            .text(&self.prefix)
            .text(&self.label);
        self.limits.encode(record).finish()
    }

    /// Reads the record of the key with this id.
    pub fn decode(id: KeyId, bytes: &[u8]) -> Result<KeyRecord, DecodeError> {
        let mut reader = RecordReader::new(RECORD, VERSION, bytes)?;
        Ok(KeyRecord {
            id,
            account: AccountId::from_number(reader.u64("account")?),
            hash: KeyHash::from_bytes(reader.array("hash")?),
            created_at: Moment::from_unix_millis(reader.i64("created_at")?),
            last_used_at: moment(reader.i64("last_used_at")?),
            expires_at: moment(reader.i64("expires_at")?),
            revoked_at: moment(reader.i64("revoked_at")?),
            prefix: reader.text("prefix")?,
            label: reader.text("label")?,
            limits: KeyLimits::decode(&mut reader)?,
        })
    }
}

pub(super) fn millis(at: Option<Moment>) -> i64 {
    at.map_or(NEVER, Moment::unix_millis)
}

pub(super) fn moment(millis: i64) -> Option<Moment> {
    (millis != NEVER).then(|| Moment::from_unix_millis(millis))
}
