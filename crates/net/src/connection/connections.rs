//! The open connections of a listener, by token.
//!
//! A token holds an index and a generation. A reused index has another generation, so late events are ignored.

use mio::Token;
use slab::Slab;

use crate::connection::Connection;

/// Tokens of clients begin here; those below are the listener, the waker and the lane.
const FIRST: usize = 3;
/// The index is in the low half of a token, the generation in the high half.
const INDEX_BITS: u32 = 32;

/// Open connections.
#[derive(Default)]
pub struct Connections {
    slab: Slab<(u32, Connection)>,
    generation: u32,
}

impl Connections {
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    pub fn insert(&mut self, connection: Connection) -> Token {
        self.generation = self.generation.wrapping_add(1);
        token_of(self.slab.insert((self.generation, connection)), self.generation)
    }

    pub fn get(&self, token: Token) -> Option<&Connection> {
        let (generation, connection) = self.slab.get(index_of(token))?;
        is_of(token, *generation).then_some(connection)
    }

    pub fn get_mut(&mut self, token: Token) -> Option<&mut Connection> {
        let (generation, connection) = self.slab.get_mut(index_of(token))?;
        is_of(token, *generation).then_some(connection)
    }

    pub fn remove(&mut self, token: Token) -> Option<Connection> {
        self.get(token)?;
        self.slab.try_remove(index_of(token)).map(|(_, connection)| connection)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Token, &mut Connection)> {
        let all = self.slab.iter_mut();
        all.map(|(index, (generation, connection))| (token_of(index, *generation), connection))
    }
}

fn token_of(index: usize, generation: u32) -> Token {
    let generation = usize::try_from(generation).unwrap_or(0);
    Token((generation << INDEX_BITS) | index.saturating_add(FIRST))
}

fn index_of(token: Token) -> usize {
    (token.0 & ((1 << INDEX_BITS) - 1)).saturating_sub(FIRST)
}

fn is_of(token: Token, generation: u32) -> bool {
    u32::try_from(token.0 >> INDEX_BITS) == Ok(generation)
}
