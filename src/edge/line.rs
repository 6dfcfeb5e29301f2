//! Who waits for a worker. Addresses have turns: whoever sends two thousand requests at once makes the others wait for
//! one of them, and not for all. Within an address the first that came is the first that is served.
//!
//! This is fair queueing with a request as the unit (Nagle, RFC 970). Knows no connection and no clock.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use super::addresses::block;

/// Those that wait.
#[derive(Debug)]
pub(super) struct Line<T> {
    waiting: HashMap<IpAddr, VecDeque<T>>,
    /// Every address of which somebody waits, once, in the order of their turns.
    turns: VecDeque<IpAddr>,
    len: usize,
    len_max: usize,
}

impl<T> Line<T> {
    /// A line for so many.
    pub(super) fn new(len_max: usize) -> Self {
        Self { waiting: HashMap::new(), turns: VecDeque::new(), len: 0, len_max }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Places that one address may have: a quarter of the line is always left to others.
    fn len_max_of_address(&self) -> usize {
        self.len_max.saturating_sub(self.len_max / 4)
    }

    /// Goes to the end of the line of its address. Says whether there was a place.
    pub(super) fn enter(&mut self, address: IpAddr, item: T) -> bool {
        let address = block(address);
        let already = self.waiting.get(&address).map_or(0, VecDeque::len);
        if self.len >= self.len_max || already >= self.len_max_of_address() {
            return false;
        }
        if already == 0 {
            self.turns.push_back(address);
        }
        self.waiting.entry(address).or_default().push_back(item);
        self.len = self.len.saturating_add(1);
        true
    }

    /// Takes out who is served next.
    pub(super) fn next(&mut self) -> Option<T> {
        let address = self.turns.pop_front()?;
        let own = self.waiting.get_mut(&address)?;
        let item = own.pop_front();
        if own.is_empty() {
            self.waiting.remove(&address);
        } else {
            self.turns.push_back(address);
        }
        self.len = self.len.saturating_sub(1);
        item
    }

    /// Takes out those that gave up.
    pub(super) fn leave(&mut self, address: IpAddr, gave_up: impl Fn(&T) -> bool) {
        let address = block(address);
        let Some(own) = self.waiting.get_mut(&address) else { return };
        let before = own.len();
        own.retain(|item| !gave_up(item));
        self.len = self.len.saturating_sub(before.saturating_sub(own.len()));
        if own.is_empty() {
            self.waiting.remove(&address);
            self.turns.retain(|other| *other != address);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    #[derive(Debug, Clone)]
    enum Event {
        Enter(u8),
        Next,
        Leave(u8, prop::sample::Index),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0_u8..4).prop_map(Event::Enter),
            3 => Just(Event::Next),
            1 => (0_u8..4, any::<prop::sample::Index>()).prop_map(|(who, which)| Event::Leave(who, which)),
        ]
    }

    proptest! {
        /// Against a plain list: nobody is lost or served twice, each address is served in order, and nobody is
        /// overtaken twice by the same address.
        #[test]
        fn turns_are_fair_and_nobody_is_lost(events in prop::collection::vec(event(), 0..200), len_max in 0_usize..20) {
            let mut line = Line::new(len_max);
            let mut waiting: Vec<(u8, usize, [u8; 4])> = Vec::new();
            for (number, event) in events.into_iter().enumerate() {
                match event {
                    Event::Enter(who) => {
                        let own = waiting.iter().filter(|(other, ..)| *other == who).count();
                        let has_place = waiting.len() < len_max && own < len_max - len_max / 4;
                        prop_assert_eq!(line.enter(address(who), (who, number)), has_place);
                        if has_place {
                            waiting.push((who, number, [0; 4]));
                        }
                    }
                    Event::Next => {
                        let served = line.next();
                        prop_assert_eq!(served.is_none(), waiting.is_empty());
                        let Some((who, number)) = served else { continue };
                        let first = waiting.iter().position(|(other, ..)| *other == who).unwrap();
                        prop_assert_eq!(waiting.remove(first).1, number, "in order within an address");
                        // Whoever stands first of another address has seen this address pass at most once.
                        let mut firsts = [true; 4];
                        for (other, _, passed) in &mut waiting {
                            let is_first = std::mem::take(&mut firsts[usize::from(*other)]);
                            if *other != who && is_first {
                                passed[usize::from(who)] += 1;
                                prop_assert!(passed[usize::from(who)] <= 1, "overtaken twice");
                            }
                        }
                    }
                    Event::Leave(who, which) => {
                        let own: Vec<usize> =
                            waiting.iter().filter(|(other, ..)| *other == who).map(|(_, number, _)| *number).collect();
                        if own.is_empty() {
                            continue;
                        }
                        let gone = own[which.index(own.len())];
                        line.leave(address(who), |(_, number)| *number == gone);
                        waiting.retain(|(_, number, _)| *number != gone);
                    }
                }
                prop_assert_eq!(line.len(), waiting.len());
            }
            prop_assert_eq!(std::iter::from_fn(|| line.next()).count(), waiting.len());
        }
    }

    #[test]
    fn a_crowd_from_one_address_is_passed_by_the_others() {
        let mut line = Line::new(1_000);
        for number in 0..500 {
            assert!(line.enter(address(1), number));
        }
        assert!(line.enter(address(2), 1_000) && line.enter(address(2), 1_001));
        let served: Vec<i32> = (0..5).filter_map(|_| line.next()).collect();
        assert_eq!(served, [0, 1_000, 1, 1_001, 2]);
        let more = (0..500).filter(|number| line.enter(address(1), *number)).count();
        assert_eq!(line.len(), 750, "a quarter is left to others; {more} came in");
        assert!(line.enter(address(3), 0));
    }
}
