//! Meters by subject in a bounded, sharded table: of requests, and of sign-ins.
//!
//! Each shard has its own lock. A full shard evicts the least recently seen of a few candidates. Does not depend on
//! limits or key formats.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::others::Others;
use super::window::Window;
use mercato_base::clock::{Moment, UtcDay};

/// Shards of the meter table, each with its own lock.
pub const METER_SHARDS: usize = 16;
/// Meters examined to evict one.
const EVICTION_CANDIDATES: usize = 8;

/// The request counters of one subject.
#[derive(Debug)]
pub struct Meter {
    pub window: Window,
    pub day: UtcDay,
    pub day_count: u32,
    pub is_flushed: bool,
    /// How often other servers are asked for the subject before it comes again.
    pub asks_left: u8,
    /// Whether a request was counted that other servers were not told of.
    pub was_counted: bool,
    /// What other servers have counted; nothing while none has told of the subject.
    pub others: Option<Box<Others>>,
}

/// The state of a subject in the table.
pub trait Metered {
    /// Nothing was counted yet.
    fn new(now: Moment) -> Self;
    /// Heap memory in bytes.
    fn heap_bytes(&self) -> usize;
}

impl Metered for Meter {
    fn new(now: Moment) -> Meter {
        Meter {
            window: Window::default(),
            day: now.day(),
            day_count: 0,
            is_flushed: true,
            asks_left: 0,
            was_counted: false,
            others: None,
        }
    }

    fn heap_bytes(&self) -> usize {
        self.window.heap_bytes() + self.others.as_ref().map_or(0, |others| others.heap_bytes())
    }
}

impl Meter {
    /// Requests of the current UTC day, those of other servers included; resets the counter on a new day.
    pub fn count_today(&mut self, now: Moment) -> u32 {
        let today = now.day();
        if today > self.day {
            self.day = today;
            self.day_count = 0;
        }
        let others = self.others.as_ref().map_or(0, |others| others.count_on(self.day));
        self.day_count.saturating_add(others)
    }

    /// Requests of the last minute, those of other servers included.
    pub fn count_minute(&mut self, now: Moment) -> u32 {
        let others = self.others.as_mut().map_or(0, |others| others.count(now));
        self.window.count(now).saturating_add(others)
    }

    /// When so many requests have left the minute, as it was last counted.
    pub fn minute_without(&self, requests: u32, now: Moment) -> Option<Moment> {
        let mut own = self.window.ends(now).peekable();
        let mut others = self.others.iter().flat_map(|others| others.ends()).peekable();
        let mut gone = 0_u32;
        loop {
            let is_own = match (own.peek(), others.peek()) {
                (Some(own), Some(others)) => own.0 <= others.0,
                (own, _) => own.is_some(),
            };
            let (end, count) = if is_own { own.next()? } else { others.next()? };
            gone = gone.saturating_add(count);
            if gone >= requests {
                return Some(end);
            }
        }
    }
}

/// Meters by subject.
pub struct MeterTable<S, M = Meter> {
    shards: Vec<Mutex<Shard<S, M>>>,
    shard_capacity: usize,
    hasher: RandomState,
}

struct Shard<S, M> {
    index: HashMap<S, usize>,
    meters: Vec<Slot<S, M>>,
    hand: usize,
}

struct Slot<S, M> {
    subject: S,
    meter: M,
    seen: Moment,
}

impl<S: Copy + Eq + Hash, M: Metered> MeterTable<S, M> {
    /// A table for at most `capacity` subjects.
    pub fn new(capacity: usize) -> MeterTable<S, M> {
        let shard = || Mutex::new(Shard { index: HashMap::new(), meters: Vec::new(), hand: 0 });
        let shards = (0..METER_SHARDS).map(|_| shard()).collect();
        MeterTable { shards, shard_capacity: capacity.div_ceil(METER_SHARDS), hasher: RandomState::new() }
    }

    /// Calls `look` with the meter of a subject; a new subject starts at zero.
    pub fn with<T>(&self, subject: S, now: Moment, look: impl FnOnce(&mut M) -> T) -> Option<T> {
        let mut shard = self.shard(&subject)?;
        let slot = shard.slot_of(subject, now, self.shard_capacity);
        let slot = shard.meters.get_mut(slot)?;
        slot.seen = now;
        Some(look(&mut slot.meter))
    }

    /// Calls `look` with the meter of a subject that is known; that is no sign of life of it.
    pub fn with_known(&self, subject: S, look: impl FnOnce(&mut M)) {
        let Some(mut shard) = self.shard(&subject) else { return };
        let slot = shard.index.get(&subject).copied();
        if let Some(slot) = slot.and_then(|slot| shard.meters.get_mut(slot)) {
            look(&mut slot.meter);
        }
    }

    /// Calls `look` with every meter, shard by shard.
    pub fn for_each(&self, mut look: impl FnMut(S, &mut M)) {
        for shard in &self.shards {
            for slot in &mut lock(shard).meters {
                look(slot.subject, &mut slot.meter);
            }
        }
    }

    /// The number of tracked subjects and their memory in bytes.
    pub fn size(&self) -> (usize, usize) {
        let (mut subjects, mut bytes) = (0, 0);
        for shard in &self.shards {
            let shard = lock(shard);
            subjects += shard.meters.len();
            bytes += shard.meters.capacity() * size_of::<Slot<S, M>>();
            // One slot of the index and its control byte.
            bytes += shard.index.capacity() * (size_of::<(S, usize)>() + 1);
            bytes += shard.meters.iter().map(|slot| slot.meter.heap_bytes()).sum::<usize>();
        }
        (subjects, bytes)
    }

    fn shard(&self, subject: &S) -> Option<MutexGuard<'_, Shard<S, M>>> {
        let hash = self.hasher.hash_one(subject) as usize;
        self.shards.get(hash % METER_SHARDS).map(lock)
    }
}

impl<S: Copy + Eq + Hash, M: Metered> Shard<S, M> {
    fn slot_of(&mut self, subject: S, now: Moment, capacity: usize) -> usize {
        if let Some(slot) = self.index.get(&subject) {
            return *slot;
        }
        let slot = if self.meters.len() < capacity {
            self.meters.push(Slot { subject, meter: M::new(now), seen: now });
            self.meters.len() - 1
        } else {
            self.evict(subject, now)
        };
        self.index.insert(subject, slot);
        slot
    }

    /// Replaces the least recently seen of the next candidates by the new subject.
    fn evict(&mut self, subject: S, now: Moment) -> usize {
        let count = self.meters.len().max(1);
        let candidates = (0..EVICTION_CANDIDATES).map(|step| (self.hand + step) % count);
        let longest_silent = candidates.min_by_key(|slot| self.meters.get(*slot).map(|slot| slot.seen));
        let slot = longest_silent.unwrap_or(0);
        self.hand = (self.hand + EVICTION_CANDIDATES) % count;
        if let Some(slot) = self.meters.get_mut(slot) {
            self.index.remove(&slot.subject);
            *slot = Slot { subject, meter: M::new(now), seen: now };
        }
        slot
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_memory_for_many_subjects() {
        let table: MeterTable<u64> = MeterTable::new(1_600);
        for subject in 0..50_000_u64 {
            let now = Moment::from_unix_millis(subject.cast_signed());
            table.with(subject, now, |meter| meter.day_count += 1);
        }
        let (subjects, bytes) = table.size();
        assert_eq!(subjects, 1_600);
        assert!(bytes < 1_600 * 400, "{bytes}");
        for shard in &table.shards {
            let shard = lock(shard);
            assert_eq!(shard.index.len(), shard.meters.len());
            assert!(shard.index.iter().all(|(subject, slot)| shard.meters[*slot].subject == *subject));
        }
    }

    #[test]
    fn evicts_idle_before_busy_subjects() {
        let table: MeterTable<u64> = MeterTable::new(160);
        for round in 0..10_000_u64 {
            let now = Moment::from_unix_millis(round.cast_signed());
            table.with(u64::MAX, now, |meter| meter.day_count += 1);
            table.with(round, now, |_| ());
        }
        let count = table.with(u64::MAX, Moment::from_unix_millis(10_000), |meter| meter.day_count);
        assert_eq!(count, Some(10_000));
    }
}
