//! The record of a key: its hash and its properties, never the key itself.
//!
//! Includes the rule for its validity.

use serde::{Deserialize, Serialize};

use crate::api_key::KeyHash;
use crate::codec::Record;
use crate::id::{AccountId, KeyId};
use crate::key_limits::KeyLimits;
use mercato_base::clock::Moment;

/// A key as it is kept.
#[derive(Clone, Serialize, Deserialize)]
pub struct KeyRecord {
    pub id: KeyId,
    /// The owner's account.
    pub account: AccountId,
    pub hash: KeyHash,
    /// Its first characters.
    pub prefix: String,
    /// The owner's label.
    pub label: String,
    pub created_at: Moment,
    /// When it was last used; written lazily.
    pub last_used_at: Option<Moment>,
    /// When it ends, if it was rotated.
    pub expires_at: Option<Moment>,
    pub revoked_at: Option<Moment>,
    pub limits: KeyLimits,
}

impl KeyRecord {
    /// When it ends: by its limits, or because it was rotated.
    pub fn ends_at(&self) -> Option<Moment> {
        self.expires_at.into_iter().chain(self.limits.expires_at).min()
    }
}

impl Record for KeyRecord {
    const NAME: &'static str = "key";
}
