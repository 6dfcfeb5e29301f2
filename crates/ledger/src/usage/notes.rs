//! Counters of requests and the last use of keys: written with the next checkpoint and not to the log, because they are worth
//! no write of their own. A crash may lose them.

use crate::changes::Changes;
use crate::codec::Record;
use crate::counter::CounterNote;
use crate::error::BooksError;
use crate::id::KeyId;
use crate::key_space;
use crate::limits::KEYS_MAX;
use crate::state::State;
use mercato_base::clock::Moment;

impl State {
    /// Keeps when keys were last used.
    pub fn note_uses(&mut self, uses: &[(KeyId, Moment)]) {
        let mut noted = Changes::default();
        for (id, at) in uses {
            if let Some(key) = self.keys.get_mut(id) {
                key.last_used_at = Some(*at);
                noted.put(key_space::api_key(*id), key.encode());
            }
        }
        self.memtable.absorb(noted);
    }

    /// Keeps how many requests keys and addresses have made today.
    pub fn note_counters(&mut self, notes: &[CounterNote]) {
        let mut noted = Changes::default();
        for note in notes {
            self.hear(note.day.start());
            noted.put(key_space::counter(note), note.encode());
        }
        self.memtable.absorb(noted);
    }

    /// The counters of the present day.
    pub fn counters(&mut self) -> Result<Vec<CounterNote>, BooksError> {
        let limit = crate::limits::TRACKED_ADDRESSES_MAX + KEYS_MAX;
        let records = self.scan(key_space::COUNTER, &key_space::counters_from(self.latest.day()), limit)?;
        self.decoded(records.iter().map(|(_, value)| CounterNote::decode(value)).collect())
    }
}
