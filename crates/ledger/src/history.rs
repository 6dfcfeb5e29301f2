//! The newest entries of an account.
//!
//! The log has no index of accounts, so a search reads it backwards. One search reads a bounded number of segments, and
//! searches run one at a time. Does not depend on pages.

use super::Ledger;
use super::entry::{Entry, EntryKind};
use super::error::{BooksError, Unavailable};
use super::id::AccountId;
use mercato_base::clock::Moment;

/// How long a look for the entries of an account waits for another one.
const HISTORY_WAIT: std::time::Duration = std::time::Duration::from_millis(1_000);
/// A clock that was set back dates an entry before its account by so much at most.
const CLOCK_SECONDS_MAX: i64 = 86_400;

/// A query for the newest entries of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryQuery {
    pub account: AccountId,
    /// When it was created: the search stops there.
    pub created_at: Moment,
    /// Only purchases and grants, and what of purchases was taken back.
    pub only_credited: bool,
    /// Only entries before this sequence number; nothing for the newest.
    pub before: Option<u64>,
    /// Entries at most.
    pub limit: usize,
}

/// Entries that were found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// The sequence number before which a further look goes on. It may be there although nothing was found: a look reads at
    /// most `HISTORY_SEGMENTS_MAX` segments.
    pub before: Option<u64>,
}

impl HistoryQuery {
    /// Whether an entry belongs to the answer, wherever it stands.
    pub fn matches<Text>(&self, entry: &Entry<Text>) -> bool {
        let is_credited = matches!(
            entry.kind,
            EntryKind::Purchase | EntryKind::Grant | EntryKind::TakeBack | EntryKind::GiveBack
        );
        entry.account == self.account && (is_credited || !self.only_credited)
    }

    /// Whether an entry of this moment was written before the account was there.
    pub fn is_older(&self, at: Moment) -> bool {
        at.plus_seconds(CLOCK_SECONDS_MAX) < self.created_at
    }
}

impl Ledger {
    /// The newest entries of an account. Entries of segments that were moved away are not there. Waits while another search
    /// runs, and is refused after `HISTORY_WAIT`.
    pub fn history(&self, query: &HistoryQuery) -> Result<History, BooksError> {
        let _alone = self.looking.try_lock_for(HISTORY_WAIT).ok_or(Unavailable::Busy)?;
        self.store.history(query)
    }
}
