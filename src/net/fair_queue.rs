//! Requests that wait for a worker: round robin over clients, first come, first served within one client.
//!
//! A client that asks occasionally comes before clients that always have waiting requests. Does not depend on time or
//! sockets. Round robin over flows as in Nagle, "On packet switches with infinite storage" (RFC 970, 1985), with
//! lists of new and old flows as in FQ-CoDel (RFC 8290, section 4.2).

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
    len: usize,
    len_max: usize,
    len_per_client_max: usize,
}

impl<T: Copy + PartialEq> FairQueue<T> {
    /// An empty queue of at most `len_max` requests. One client has at most three quarters of them, so that others can
    /// always queue.
    pub(super) fn new(len_max: usize) -> Self {
        let len_per_client_max = len_max.saturating_sub(len_max / 4).max(1).min(len_max);
        let (new, old) = (VecDeque::new(), VecDeque::new());
        Self { new, old, waiting: HashMap::new(), len: 0, len_max, len_per_client_max }
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

    /// Takes the next request and moves its client to the end of the round.
    pub(super) fn pop(&mut self) -> Option<T> {
        loop {
            let (client, was_new) = match self.new.pop_front() {
                Some(client) => (client, true),
                None => (self.old.pop_front()?, false),
            };
            let item = self.waiting.get_mut(&client).and_then(VecDeque::pop_front);
            if item.is_none() && !was_new {
                self.waiting.remove(&client);
                continue;
            }
            self.old.push_back(client);
            if item.is_some() {
                self.len = self.len.saturating_sub(1);
                return item;
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

    #[test]
    fn alternates_between_clients() {
        let mut queue = FairQueue::new(100);
        for item in 0..50 {
            queue.push(Client::Account(1), item).unwrap();
        }
        queue.push(Client::Account(2), 100).unwrap();
        queue.push(Client::Account(2), 101).unwrap();
        let first: Vec<i32> = (0..6).filter_map(|_| queue.pop()).collect();
        assert_eq!(first, [0, 100, 1, 101, 2, 3]);
    }

    /// 64 clients that ask again as soon as they are served, and one that asks occasionally.
    #[test]
    fn serves_occasional_client_first() {
        let mut queue = FairQueue::new(1_000);
        (0..64).for_each(|client| queue.push(Client::Account(client), client).unwrap());
        for _ in 0..5 {
            for _ in 0..200 {
                let served = queue.pop().unwrap();
                queue.push(Client::Account(served), served).unwrap();
            }
            queue.push(Client::Account(100), 100).unwrap();
            assert_eq!(queue.pop(), Some(100));
            // At once again, it stands behind all the others.
            queue.push(Client::Account(100), 100).unwrap();
            let others = std::iter::from_fn(|| queue.pop().filter(|client| *client != 100)).count();
            assert_eq!(others, 64);
            (0..64).for_each(|client| queue.push(Client::Account(client), client).unwrap());
        }
    }

    #[test]
    fn frees_memory_of_removed_clients() {
        let mut queue = FairQueue::new(1_000);
        for client in 0..100 {
            queue.push(Client::Account(client), client).unwrap();
            queue.remove(Client::Account(client), client);
        }
        assert_eq!((queue.pop(), queue.len()), (None, 0));
        assert!(queue.new.is_empty() && queue.old.is_empty() && queue.waiting.is_empty());
    }

    #[test]
    fn leaves_quarter_of_queue_to_other_clients() {
        let mut queue = FairQueue::new(8);
        let greedy = (0..8).filter(|item| queue.push(Client::Account(1), *item).is_ok()).count();
        assert_eq!(greedy, 6);
        assert_eq!(queue.push(Client::Account(2), 9), Ok(()));
        assert_eq!(queue.push(Client::Account(3), 9), Ok(()));
        assert_eq!(queue.push(Client::Account(4), 9), Err(QueueFull));
    }

    proptest! {
        #[test]
        fn gives_no_second_turn_while_others_wait(actions in prop::collection::vec((0_u64..5, any::<bool>()), 1..200)) {
            let mut queue = FairQueue::new(1_000);
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
                    let popped = queue.pop();
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
            let mut queue = FairQueue::new(1_000);
            for item in 0..count {
                queue.push(Client::Account(item as u64 % 3), item).unwrap();
            }
            for item in &gone {
                queue.remove(Client::Account(*item as u64 % 3), *item);
            }
            let mut left: Vec<usize> = std::iter::from_fn(|| queue.pop()).collect();
            left.sort_unstable();
            let expected: Vec<usize> = (0..count).filter(|item| !gone.contains(item)).collect();
            prop_assert_eq!(left, expected);
            prop_assert_eq!(queue.len(), 0);
        }
    }
}
