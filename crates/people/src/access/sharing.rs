//! Limits across servers: each tells the others what it has counted, and takes what they have counted into account.
//!
//! ```text
//! a request of a subject marks its meter ──► own counts of marked meters out, counts of all others in ──► limits count both
//! ```
//!
//! A request that one server admits is known to the others two exchanges later at most. While the books do not answer, each
//! server counts for itself, beside what it heard last. Does not depend on how counts travel.

use super::AccessControl;
use super::meter::Meter;
use super::others::Others;
use mercato_base::clock::Moment;
use mercato_ledger::{BooksError, CounterSubject, SharedCount};

/// Exchanges that ask for a subject after a request of it. After the first, others may still have to tell what they counted at
/// the same time.
pub(super) const ASKS_PER_REQUEST: u8 = 3;
/// Subjects of one exchange.
const EXCHANGED_MAX: usize = 4_096;
/// Subjects of one round; of those beyond it, this server counts for itself.
const EXCHANGED_PER_ROUND_MAX: usize = 16_384;

impl AccessControl {
    /// Tells other servers with the same books what this one has counted since the last time, and hears what they have counted
    /// of the subjects that were here. Does nothing where no other server counts in the same books.
    pub fn share(&self, now: Moment) -> Result<(), BooksError> {
        if !self.ledger.shares_counts() {
            return Ok(());
        }
        let (own, asked) = self.take_marked(now);
        let (mut told, mut heard) = (own.chunks(EXCHANGED_MAX), asked.chunks(EXCHANGED_MAX));
        loop {
            let (own, asked) = (told.next().unwrap_or_default(), heard.next().unwrap_or_default());
            if asked.is_empty() {
                return Ok(());
            }
            match self.ledger.exchange_counts(own, asked, now) {
                Ok(counts) => counts.into_iter().for_each(|count| self.take_in(count)),
                Err(error) => {
                    self.mark_again(own.iter().chain(told.flatten()), asked.iter().chain(heard.flatten()));
                    return Err(error);
                }
            }
        }
    }

    /// Takes the marks off meters: what was counted, and the subjects that were here.
    fn take_marked(&self, now: Moment) -> (Vec<SharedCount>, Vec<CounterSubject>) {
        let (mut own, mut asked) = (Vec::new(), Vec::new());
        let mut take = |subject: CounterSubject, meter: &mut Meter| {
            if meter.asks_left == 0 || asked.len() >= EXCHANGED_PER_ROUND_MAX {
                return;
            }
            meter.asks_left -= 1;
            asked.push(subject);
            if std::mem::take(&mut meter.was_counted) {
                meter.count_minute(now);
                meter.count_today(now);
                let seconds = meter.window.seconds(now);
                own.push(SharedCount { subject, day: meter.day, today: meter.day_count, seconds });
            }
        };
        self.keys.for_each(|id, meter| take(CounterSubject::Key(id), meter));
        self.addresses.for_each(|block, meter| take(CounterSubject::Address(block), meter));
        (own, asked)
    }

    fn take_in(&self, told: SharedCount) {
        let SharedCount { subject, day, today, seconds } = told;
        let others = Box::new(Others::new(day, today, seconds));
        self.with_known(subject, |meter| meter.others = Some(others));
    }

    fn mark_again<'s>(
        &self,
        own: impl Iterator<Item = &'s SharedCount>,
        asked: impl Iterator<Item = &'s CounterSubject>,
    ) {
        for subject in asked {
            self.with_known(*subject, |meter| meter.asks_left = ASKS_PER_REQUEST);
        }
        for one in own {
            self.with_known(one.subject, |meter| meter.was_counted = true);
        }
    }

    fn with_known(&self, subject: CounterSubject, look: impl FnOnce(&mut Meter)) {
        match subject {
            CounterSubject::Key(id) => self.keys.with_known(id, look),
            CounterSubject::Address(block) => self.addresses.with_known(block, look),
        }
    }
}
