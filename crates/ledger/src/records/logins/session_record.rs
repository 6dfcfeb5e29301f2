//! The stored record of an open session: the hash of its token, never the token, and the moment at which it ends.

use serde::{Deserialize, Serialize};

use crate::codec::Record;
use crate::id::AccountId;
use crate::limits::SESSION_IDLE_SECONDS_MAX;
use crate::token::{TokenHash, TokenRecord};
use mercato_base::clock::Moment;

/// An open session as it is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SessionRecord {
    pub token: TokenHash,
    pub account: AccountId,
    pub created_at: Moment,
    /// Written lazily.
    pub last_seen_at: Moment,
    /// When it ends however much it is used.
    pub expires_at: Moment,
}

impl Record for SessionRecord {
    const NAME: &'static str = "session";
}

impl TokenRecord for SessionRecord {
    fn token(&self) -> TokenHash {
        self.token
    }

    fn account(&self) -> AccountId {
        self.account
    }

    fn created_at(&self) -> Moment {
        self.created_at
    }

    fn ends_at(&self) -> Moment {
        end_of_session(self.last_seen_at, self.expires_at)
    }
}

/// When a session ends that was last seen and expires at these moments.
pub fn end_of_session(last_seen_at: Moment, expires_at: Moment) -> Moment {
    expires_at.min(last_seen_at.plus_seconds(SESSION_IDLE_SECONDS_MAX))
}
