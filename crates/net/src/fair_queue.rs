//! Requests that wait for a worker: round robin over clients, first come, first served within one client.
//!
//! A client that asks occasionally comes before clients that always have waiting requests. A client that holds its share of
//! the workers waits, even while others are free: a request cannot be interrupted, so only a free worker serves the next
//! client at once. Does not depend on time or sockets. Round robin over flows as in Nagle, "On packet switches with infinite storage" (RFC 970, 1985), with
//! lists of new and old flows as in FQ-CoDel (RFC 8290, section 4.2).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// The unit of fairness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    /// An account, by its number.
    Account(u64),
    /// A client address without a valid key.
    Address(IpAddr),
}

/// The queue is full, or this client has its share of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueFull;

/// A bounded queue of `T`.
#[derive(Debug)]
pub(super) struct FairQueue<T> {
    /// Clients that had no turn in this round: they come first.
    new: VecDeque<Client>,
    /// Clients that had a turn, in the order of their next one. A client without waiting requests stays until its
    /// turn, so that leaving briefly does not make it new.
    old: VecDeque<Client>,
    /// The waiting requests of each client in either list.
    waiting: HashMap<Client, VecDeque<T>>,
    /// The workers that each client holds; clients without one are absent.
    held: HashMap<Client, usize>,
    held_per_client_max: usize,
    len: usize,
    len_max: usize,
    len_per_client_max: usize,
}

impl<T: Copy + PartialEq> FairQueue<T> {
    /// An empty queue of at most `len_max` requests for so many workers. One client has at most three quarters of the
    /// queue, so that others can always queue, and at most half of the workers, but always one.
    pub(super) fn new(len_max: usize, workers: usize) -> Self {
        Self {
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: HashMap::new(),
            held: HashMap::new(),
            held_per_client_max: workers.div_ceil(2),
            len: 0,
            len_max,
            len_per_client_max: len_max.saturating_sub(len_max / 4).max(1).min(len_max),
        }
    }

    /// Requests that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends a request of `client`.
    pub(super) fn push(&mut self, client: Client, item: T) -> Result<(), QueueFull> {
        let of_client = self.waiting.get(&client);
        if self.len >= self.len_max || of_client.map_or(0, VecDeque::len) >= self.len_per_client_max {
            return Err(QueueFull);
        }
        if of_client.is_none() {
            self.new.push_back(client);
        }
        self.waiting.entry(client).or_default().push_back(item);
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    /// Lets a client hold one more worker, unless it has its share.
    pub(super) fn hold(&mut self, client: Client) -> bool {
        let may = self.may_hold(client);
        if may {
            *self.held.entry(client).or_default() += 1;
        }
        may
    }

    /// Takes back a worker that a client holds.
    pub(super) fn release(&mut self, client: Client) {
        if let Entry::Occupied(mut held) = self.held.entry(client) {
            *held.get_mut() = held.get().saturating_sub(1);
            if *held.get() == 0 {
                held.remove();
            }
        }
    }

    fn may_hold(&self, client: Client) -> bool {
        self.held.get(&client).is_none_or(|held| *held < self.held_per_client_max)
    }

    /// The first client of a list that may hold a worker. While a worker is free, at most one client has its share, so
    /// hardly any are passed over.
    fn first_in(&self, list: &VecDeque<Client>) -> Option<usize> {
        list.iter().position(|client| self.may_hold(*client))
    }

    /// Takes the next request of a client that may hold a worker, which it then holds, and moves the client to the end of
    /// the round.
    pub(super) fn pop(&mut self) -> Option<(Client, T)> {
        loop {
            let (client, was_new) = match self.first_in(&self.new) {
                Some(at) => (self.new.remove(at)?, true),
                None => (self.old.remove(self.first_in(&self.old)?)?, false),
            };
            let item = self.waiting.get_mut(&client).and_then(VecDeque::pop_front);
            if item.is_none() && !was_new {
                self.waiting.remove(&client);
                continue;
            }
            self.old.push_back(client);
            if let Some(item) = item {
                self.len = self.len.saturating_sub(1);
                self.hold(client);
                return Some((client, item));
            }
        }
    }

    /// Takes a request out that waits no longer.
    pub(super) fn remove(&mut self, client: Client, item: T) {
        let Some(of_client) = self.waiting.get_mut(&client) else { return };
        let before = of_client.len();
        of_client.retain(|other| *other != item);
        self.len = self.len.saturating_sub(before.saturating_sub(of_client.len()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The next request, which is served at once.
    fn pop<T: Copy + PartialEq>(queue: &mut FairQueue<T>) -> Option<T> {
        let (client, item) = queue.pop()?;
        queue.release(client);
        Some(item)
    }

    #[test]
    fn alternates_between_clients() {
        let mut queue = FairQueue::new(100, 2);
        for item in 0..50 {
            queue.push(Client::Account(1), item).unwrap();
        }
        queue.push(Client::Account(2), 100).unwrap();
        queue.push(Client::Account(2), 101).unwrap();
        let first: Vec<i32> = (0..6).filter_map(|_| pop(&mut queue)).collect();
        assert_eq!(first, [0, 100, 1, 101, 2, 3]);
    }

    /// 64 clients that ask again as soon as they are served, and one that asks occasionally.
    #[test]
    fn serves_occasional_client_first() {
        let mut queue = FairQueue::new(1_000, 2);
        (0..64).for_each(|client| queue.push(Client::Account(client), client).unwrap());
        for _ in 0..5 {
            for _ in 0..200 {
                let served = pop(&mut queue).unwrap();
                queue.push(Client::Account(served), served).unwrap();
            }
            queue.push(Client::Account(100), 100).unwrap();
            assert_eq!(pop(&mut queue), Some(100));
            // At once again, it stands behind all the others.
            queue.push(Client::Account(100), 100).unwrap();
            let others = std::iter::from_fn(|| pop(&mut queue).filter(|client| *client != 100)).count();
            assert_eq!(others, 64);
            (0..64).for_each(|client| queue.push(Client::Account(client), client).unwrap());
        }
    }

    #[test]
    fn frees_memory_of_removed_clients() {
        let mut queue = FairQueue::new(1_000, 2);
        for client in 0..100 {
            queue.push(Client::Account(client), client).unwrap();
            queue.remove(Client::Account(client), client);
        }
        assert_eq!((pop(&mut queue), queue.len()), (None, 0));
        assert!(
            queue.new.is_empty() && queue.old.is_empty() && queue.waiting.is_empty() && queue.held.is_empty()
        );
    }

    #[test]
    fn leaves_quarter_of_queue_to_other_clients() {
        let mut queue = FairQueue::new(8, 2);
        let greedy = (0..8).filter(|item| queue.push(Client::Account(1), *item).is_ok()).count();
        assert_eq!(greedy, 6);
        assert_eq!(queue.push(Client::Account(2), 9), Ok(()));
        assert_eq!(queue.push(Client::Account(3), 9), Ok(()));
        assert_eq!(queue.push(Client::Account(4), 9), Err(QueueFull));
    }

    #[test]
    fn keeps_worker_free_beside_greedy_client() {
        let mut queue = FairQueue::new(100, 8);
        (0..12).for_each(|item| queue.push(Client::Account(1), item).unwrap());
        let begun: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(begun, (0..4).map(|item| (Client::Account(1), item)).collect::<Vec<_>>());
        assert!(!queue.hold(Client::Account(1)) && queue.hold(Client::Account(2)), "another needs no turn");
        queue.push(Client::Account(3), 100).unwrap();
        assert_eq!((queue.pop(), queue.pop()), (Some((Client::Account(3), 100)), None));
        queue.release(Client::Account(1));
        assert_eq!(queue.pop(), Some((Client::Account(1), 4)));
    }

    proptest! {
        /// Beside a twin that knows who waits and who holds what.
        #[test]
        fn lets_each_client_hold_half_of_workers(
            workers in 1_usize..7,
            actions in prop::collection::vec((0_u64..4, 0_u8..3), 1..200),
        ) {
            let mut queue = FairQueue::new(1_000, workers);
            let (mut waiting, mut held): (Vec<(u64, usize)>, Vec<u64>) = (Vec::new(), Vec::new());
            for (number, (client, action)) in actions.into_iter().enumerate() {
                let may = |client: u64| {
                    held.iter().filter(|holder| **holder == client).count() < workers.div_ceil(2)
                };
                match action {
                    0 => {
                        queue.push(Client::Account(client), number).unwrap();
                        waiting.push((client, number));
                    }
                    1 if held.len() < workers => {
                        let first = waiting.iter().position(|(client, _)| may(*client));
                        let popped = queue.pop();
                        prop_assert_eq!(popped.is_some(), first.is_some());
                        let Some((Client::Account(client), item)) = popped else { continue };
                        prop_assert!(may(client));
                        let at = waiting.iter().position(|(other, _)| *other == client).unwrap();
                        prop_assert_eq!(waiting.remove(at), (client, item));
                        held.push(client);
                    }
                    _ => {
                        if let Some(at) = held.iter().position(|holder| *holder == client) {
                            queue.release(Client::Account(held.remove(at)));
                        }
                    }
                }
                prop_assert_eq!(queue.len(), waiting.len());
            }
        }

        #[test]
        fn gives_no_second_turn_while_others_wait(actions in prop::collection::vec((0_u64..5, any::<bool>()), 1..200)) {
            let mut queue = FairQueue::new(1_000, 2);
            let mut waiting: Vec<(u64, usize)> = Vec::new();
            let mut served_since: HashMap<u64, Vec<u64>> = HashMap::new();
            for (number, (client, pushes)) in actions.into_iter().enumerate() {
                if pushes {
                    queue.push(Client::Account(client), number).unwrap();
                    if !waiting.iter().any(|(other, _)| *other == client) {
                        served_since.insert(client, Vec::new());
                    }
                    waiting.push((client, number));
                } else {
                    let popped = pop(&mut queue);
                    prop_assert_eq!(popped.is_some(), !waiting.is_empty());
                    let Some(item) = popped else { continue };
                    let at = waiting.iter().position(|(_, other)| *other == item).unwrap();
                    let (served, _) = waiting.remove(at);
                    prop_assert!(!waiting[..at].iter().any(|(other, _)| *other == served), "first come, first served");
                    served_since.insert(served, Vec::new());
                    for (other, seen) in &mut served_since {
                        if *other != served && waiting.iter().any(|(client, _)| client == other) {
                            prop_assert!(!seen.contains(&served), "two turns while {} waits", other);
                            seen.push(served);
                        }
                    }
                }
                prop_assert_eq!(queue.len(), waiting.len());
            }
        }

        #[test]
        fn pops_no_removed_item(count in 1_usize..40, gone in prop::collection::vec(0_usize..40, 0..40)) {
            let mut queue = FairQueue::new(1_000, 2);
            for item in 0..count {
                queue.push(Client::Account(item as u64 % 3), item).unwrap();
            }
            for item in &gone {
                queue.remove(Client::Account(*item as u64 % 3), *item);
            }
            let mut left: Vec<usize> = std::iter::from_fn(|| pop(&mut queue)).collect();
            left.sort_unstable();
            let expected: Vec<usize> = (0..count).filter(|item| !gone.contains(item)).collect();
            prop_assert_eq!(left, expected);
            prop_assert_eq!(queue.len(), 0);
        }
    }
}
