//! Turns at the processors, for each kind of work that takes them.
//!
//! Knows how many; who is next is decided elsewhere.

use std::sync::Arc;

use super::classes::Work;
use crate::fairness::Turns;
use crate::limits::http::TURNS_PER_PROCESSOR;

/// Whose turn it is to compute. Strangers do not take turns of customers.
#[derive(Debug)]
pub struct WorkTurns {
    pages: Arc<Turns>,
    public: Arc<Turns>,
}

impl WorkTurns {
    /// Turns at so many processors.
    pub fn new(processors: usize) -> Self {
        let at_once = processors.saturating_mul(TURNS_PER_PROCESSOR);
        Self { pages: Turns::new(at_once), public: Turns::new(at_once) }
    }

    /// How many turns of a kind there are at one time.
    pub(super) fn at_once(&self) -> usize {
        self.pages.at_once()
    }

    /// The turns of a kind of work; long work has threads of its own for what it computes, and health does not wait.
    pub(super) fn of(&self, work: Work) -> Option<&Arc<Turns>> {
        match work {
            Work::Page => Some(&self.pages),
            Work::Public => Some(&self.public),
            Work::Long | Work::Vital => None,
        }
    }
}
