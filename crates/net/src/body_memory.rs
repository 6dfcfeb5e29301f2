//! Memory for large request bodies, shared by client: one that takes much leaves as much to the others.
//!
//! A client may hold at most as much as nobody holds, so one alone takes a half of the memory, two take a third each, and
//! so on, and a newcomer always finds room: dynamic thresholds, as in switches with shared memory (Choudhury and Hahne,
//! 1998). Does not depend on sockets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::fair_queue::Client;

/// The memory. Workers give back what the event loop took, so it has a lock, which is held for one addition.
#[derive(Debug)]
pub struct BodyMemory {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// Bytes of each client that holds some.
    held: HashMap<Client, usize>,
}

impl BodyMemory {
    /// Memory of so many bytes.
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { free: bytes, held: HashMap::new() }) })
    }

    /// The share of a body that holds nothing yet.
    pub fn share(self: &Arc<Self>, client: Client) -> BodyShare {
        BodyShare { memory: Arc::clone(self), client, bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory of one body; it goes back when this is dropped.
#[derive(Debug)]
pub struct BodyShare {
    memory: Arc<BodyMemory>,
    client: Client,
    bytes: usize,
}

impl BodyShare {
    /// Bytes that it holds.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `more` bytes, unless the client would hold more than is free. Returns whether it took them.
    pub fn grow(&mut self, more: usize) -> bool {
        let mut state = self.memory.lock();
        let held = state.held.get(&self.client).copied().unwrap_or(0).saturating_add(more);
        let Some(free) = state.free.checked_sub(more).filter(|free| held <= *free) else { return false };
        state.free = free;
        state.held.insert(self.client, held);
        drop(state);
        self.bytes = self.bytes.saturating_add(more);
        true
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut state = self.memory.lock();
        state.free = state.free.saturating_add(self.bytes);
        let left = state.held.get(&self.client).map_or(0, |held| held.saturating_sub(self.bytes));
        if left == 0 {
            state.held.remove(&self.client);
        } else {
            state.held.insert(self.client, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Takes bodies of ten bytes for a client until it gets none.
    fn fill(memory: &Arc<BodyMemory>, client: u64) -> Vec<BodyShare> {
        let take = || {
            let mut share = memory.share(Client::Account(client));
            share.grow(10).then_some(share)
        };
        std::iter::from_fn(take).collect()
    }

    #[test]
    fn leaves_room_to_others_however_much_one_takes() {
        let memory = BodyMemory::new(1_200);
        let greedy = fill(&memory, 1);
        assert_eq!(greedy.len(), 60, "a half");
        let second = fill(&memory, 2);
        assert_eq!(second.len(), 30, "a half of the rest, because the first one was alone");
        assert!(!fill(&memory, 3).is_empty(), "a newcomer finds room");
        drop((greedy, second));
        let state = memory.lock();
        assert!(state.free == 1_200 && state.held.is_empty(), "no client without memory is remembered");
    }

    proptest! {
        #[test]
        fn never_gives_more_than_there_is(actions in prop::collection::vec((0..4_u64, 1..400_usize, any::<bool>()), 1..200)) {
            let memory = BodyMemory::new(2_000);
            let mut shares: Vec<BodyShare> = Vec::new();
            for (client, bytes, gives_back) in actions {
                if gives_back && !shares.is_empty() {
                    shares.remove(bytes % shares.len());
                    continue;
                }
                let of = |shares: &[BodyShare]| {
                    let of = shares.iter().filter(|share| share.client == Client::Account(client));
                    of.map(BodyShare::bytes).sum::<usize>()
                };
                let free = 2_000 - shares.iter().map(BodyShare::bytes).sum::<usize>();
                let fits = bytes <= free && of(&shares) + bytes <= free - bytes;
                let mut share = memory.share(Client::Account(client));
                prop_assert_eq!(share.grow(bytes), fits);
                shares.push(share);
            }
            shares.clear();
            prop_assert_eq!(memory.lock().free, 2_000);
        }
    }
}
