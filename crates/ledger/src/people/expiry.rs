//! Sessions and tokens that have ended, and the last use of a session: written with the next checkpoint, without a batch of the
//! log. Readers compare the end of a record with the present.

use crate::changes::Changes;
use crate::codec::Record;
use crate::key_space;
use crate::limits::EXPIRED_PER_ROUND_MAX;
use crate::session_record::SessionRecord;
use crate::state::State;
use crate::token::TokenHash;
use mercato_base::clock::Moment;

impl State {
    /// Keeps when a session was last seen.
    pub fn note_session_use(&mut self, token: TokenHash, at: Moment) {
        let seen = |record: &mut SessionRecord| record.last_seen_at = record.last_seen_at.max(at);
        let Some(record) = self.logins.change_session(&token, seen) else { return };
        let mut noted = Changes::default();
        noted.put(key_space::session(&token), record.encode());
        self.memtable.absorb(noted);
    }

    /// Removes sessions and tokens that have ended, at most `EXPIRED_PER_ROUND_MAX` of each.
    pub fn expire_tokens(&mut self) {
        let mut gone = Changes::default();
        for token in self.logins.ended_sessions(self.latest, EXPIRED_PER_ROUND_MAX) {
            self.logins.remove_session(&token);
            gone.remove(key_space::session(&token));
        }
        for token in self.logins.tokens.ended(self.latest, EXPIRED_PER_ROUND_MAX) {
            self.logins.tokens.remove(&token);
            gone.remove(key_space::one_time_token(&token));
        }
        self.memtable.absorb(gone);
        // No batch is appended that would show it.
        self.logins.publish(&self.directory);
    }
}
