//! Requests of keys and addresses, as each server has counted them: one row for a subject, a day and a server.
//!
//! A row has the requests of the day, and those of the last minute by the second of the server that counted them. A server writes
//! its own rows only, and adds up those of the others. Does not depend on limits.

use std::collections::{BTreeMap, HashMap};

use super::Core;
use super::tables::unsigned;
use crate::counter::{CounterNote, CounterSubject, SECONDS_COUNTED_MAX, SharedCount};
use crate::error::BooksError;
use crate::id::KeyId;
use mercato_base::clock::{Moment, UtcDay};
use mercato_database::Trouble;

/// Subjects whose counts are read at a start.
const LOADED_MAX: i64 = 1 << 20;
/// Seconds by which the clocks of two servers may differ, so that counts of the future are not lost.
const SKEW_SECONDS_MAX: i64 = 60;

const EXCHANGE: &str = "WITH told AS ( \
    INSERT INTO counter (subject, day, server, count, second, minute) \
    SELECT own.subject, own.day, $1::bigint, own.count, own.second, own.minute \
    FROM unnest($2::bytea[], $3::integer[], $4::bigint[], $5::bigint[], $6::bytea[]) \
        AS own (subject, day, count, second, minute) \
    ON CONFLICT (subject, day, server) DO UPDATE \
    SET count = excluded.count, second = excluded.second, minute = excluded.minute) \
    SELECT subject, (sum(count) FILTER (WHERE day = $8))::bigint, array_agg(server), array_agg(second), array_agg(minute) \
    FROM counter WHERE subject = ANY ($7) AND day >= $8 - 1 AND server <> $1 AND (day = $8 OR second >= $9) \
    GROUP BY subject";
const COUNTERS: &str =
    "SELECT subject, day, sum(count)::bigint FROM counter WHERE day >= $1 GROUP BY subject, day LIMIT $2";

impl Core {
    /// Keeps counters of the day.
    pub fn note_counters(&self, notes: &[CounterNote]) -> Result<(), BooksError> {
        let Some(last) = notes.last() else { return Ok(()) };
        let own = notes.iter().map(|note| SharedCount {
            subject: note.subject,
            day: note.day,
            today: note.count,
            seconds: Vec::new(),
        });
        self.exchange_counts(&own.collect::<Vec<_>>(), &[], last.day.start()).map(drop)
    }

    /// The counters of the present day, of all servers together.
    pub fn counters(&self) -> Result<Vec<CounterNote>, BooksError> {
        let today = self.latest().day().unix_days();
        self.look(|connection| {
            let mut notes = Vec::new();
            connection.lock().each(COUNTERS, &[&today, &LOADED_MAX], |row| {
                if let Some(subject) = subject_of(row.get(0)) {
                    let day = UtcDay::from_unix_days(row.get(1));
                    notes.push(CounterNote { subject, day, count: count(row.get(2)) });
                }
                Ok(())
            })?;
            Ok(notes)
        })
    }

    /// Writes what this server has counted, and reads what the others have.
    pub fn exchange_counts(
        &self,
        own: &[SharedCount],
        asked: &[CounterSubject],
        now: Moment,
    ) -> Result<Vec<SharedCount>, BooksError> {
        if own.is_empty() && asked.is_empty() {
            return Ok(Vec::new());
        }
        self.hear(now);
        self.serving()?;
        let (mut days, mut counts, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
        for one in own {
            days.push(one.day.unix_days());
            counts.push(i64::from(one.today));
            seconds.push(one.seconds.last().map_or(0, |(second, _)| *second));
        }
        let subjects: Vec<Vec<u8>> = own.iter().map(|one| bytes_of(&one.subject)).collect();
        let minutes: Vec<Vec<u8>> = own.iter().map(|one| minute_of(&one.seconds)).collect();
        let asked: Vec<Vec<u8>> = asked.iter().map(bytes_of).collect();
        let server = self.batches.server();
        let (today, oldest) = (now.day().unix_days(), oldest(now));
        self.look(|connection| {
            let rows = connection.lock().query(
                EXCHANGE,
                &[&server, &subjects, &days, &counts, &seconds, &minutes, &asked, &today, &oldest],
            )?;
            rows.iter().filter_map(|row| of_others(row, now).transpose()).collect()
        })
    }
}

/// The earliest second that still counts.
fn oldest(now: Moment) -> i64 {
    now.unix_seconds().saturating_sub(SECONDS_COUNTED_MAX as i64 - 1)
}

/// The sums of the other servers for one subject; nothing where the subject is not one.
fn of_others(row: &postgres::Row, now: Moment) -> Result<Option<SharedCount>, Trouble> {
    let Some(subject) = subject_of(row.get(0)) else { return Ok(None) };
    let today = row.get::<_, Option<i64>>(1).map_or(0, count);
    let (servers, newest, minutes): (Vec<i64>, Vec<i64>, Vec<Vec<u8>>) = (row.get(2), row.get(3), row.get(4));
    // A server that counted on both sides of midnight has two rows; the newer one has the whole minute.
    let mut minute_of: HashMap<i64, (i64, Vec<u8>)> = HashMap::new();
    for (server, (second, minute)) in servers.into_iter().zip(newest.into_iter().zip(minutes)) {
        let known = minute_of.entry(server).or_default();
        if second > known.0 {
            *known = (second, minute);
        }
    }
    let (from, to) = (oldest(now), now.unix_seconds().saturating_add(SKEW_SECONDS_MAX));
    let mut seconds: BTreeMap<i64, u32> = BTreeMap::new();
    for (second, requests) in minute_of.into_values().flat_map(|(newest, minute)| seconds_of(newest, &minute))
    {
        if (from..=to).contains(&second) {
            let sum = seconds.entry(second).or_default();
            *sum = sum.saturating_add(requests);
        }
    }
    Ok(Some(SharedCount { subject, day: now.day(), today, seconds: seconds.into_iter().collect() }))
}

fn count(number: i64) -> u32 {
    u32::try_from(unsigned(number)).unwrap_or(u32::MAX)
}

/// The requests of the newest second and of each before it, four bytes each.
fn minute_of(seconds: &[(i64, u32)]) -> Vec<u8> {
    let (Some((newest, _)), Some((oldest, _))) = (seconds.last(), seconds.first()) else { return Vec::new() };
    let span = newest.saturating_sub(*oldest).clamp(0, SECONDS_COUNTED_MAX as i64 - 1);
    let mut counts = vec![0_u32; usize::try_from(span).unwrap_or(0) + 1];
    for (second, requests) in seconds {
        let place = usize::try_from(newest.saturating_sub(*second)).unwrap_or(0);
        if let Some(count) = counts.get_mut(place) {
            *count = *requests;
        }
    }
    counts.into_iter().flat_map(u32::to_be_bytes).collect()
}

/// The seconds that bytes of [`minute_of`] speak of, newest first.
fn seconds_of(newest: i64, minute: &[u8]) -> Vec<(i64, u32)> {
    let counts =
        minute.as_chunks::<4>().0.iter().take(SECONDS_COUNTED_MAX).map(|bytes| u32::from_be_bytes(*bytes));
    let seconds = (0_i64..).map(|age| newest.saturating_sub(age));
    seconds.zip(counts).filter(|(_, requests)| *requests > 0).collect()
}

const KEY: u8 = b'k';
const ADDRESS: u8 = b'a';

/// A letter, and the number of a key or an address.
pub fn bytes_of(subject: &CounterSubject) -> Vec<u8> {
    match subject {
        CounterSubject::Key(id) => [&[KEY], id.number().to_be_bytes().as_slice()].concat(),
        CounterSubject::Address(address) => [&[ADDRESS], address.as_slice()].concat(),
    }
}

pub fn subject_of(bytes: &[u8]) -> Option<CounterSubject> {
    match bytes.split_first()? {
        (&KEY, number) => {
            Some(CounterSubject::Key(KeyId::from_number(u64::from_be_bytes(number.try_into().ok()?))))
        }
        (&ADDRESS, address) => Some(CounterSubject::Address(address.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_minute_in_bytes(counts in prop::collection::btree_map(0..60_i64, 1..u32::MAX, 0..61)) {
            let seconds: Vec<(i64, u32)> =
                counts.into_iter().map(|(second, count)| (1_795_228_297 + second, count)).collect();
            let newest = seconds.last().map_or(0, |(second, _)| *second);
            let mut back = seconds_of(newest, &minute_of(&seconds));
            back.reverse();
            prop_assert_eq!(back, seconds);
        }

        #[test]
        fn takes_any_bytes(newest in any::<i64>(), minute in prop::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(seconds_of(newest, &minute).len() <= SECONDS_COUNTED_MAX);
            subject_of(&minute);
        }
    }
}
