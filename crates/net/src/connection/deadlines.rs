//! Deadlines of connections: a heap whose entries are reminders to check a connection.
//!
//! A deadline that moves later keeps its entry. When the entry is due, the connection is checked again. So the
//! deadline of a busy connection, which moves with each request, costs nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Reminders, the earliest first.
#[derive(Debug)]
pub struct Deadlines<T> {
    heap: BinaryHeap<Reverse<(Instant, T)>>,
}

/// The deadline of one connection and the earliest reminder of it.
#[derive(Debug, Default, Clone, Copy)]
pub struct Deadline {
    due: Option<Instant>,
    reminder: Option<Instant>,
}

impl<T: Ord + Copy> Deadlines<T> {
    /// No reminders.
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new() }
    }

    /// Sets the deadline of `token`.
    pub fn set(&mut self, token: T, deadline: &mut Deadline, due: Instant) {
        deadline.due = Some(due);
        if deadline.reminder.is_none_or(|reminder| due < reminder) {
            deadline.reminder = Some(due);
            self.heap.push(Reverse((due, token)));
        }
    }

    /// When there may be something to do.
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes a reminder that has come up.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, T)> {
        self.next().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Whether the deadline with the due reminder `at` has passed. A deadline that moved gets a new reminder.
    pub fn check(&mut self, token: T, at: Instant, deadline: &mut Deadline, now: Instant) -> bool {
        if deadline.reminder != Some(at) {
            // An earlier reminder has taken its place.
            return false;
        }
        deadline.reminder = None;
        let later = deadline.due.filter(|due| *due > now);
        later.into_iter().for_each(|due| self.set(token, deadline, due));
        later.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn expired(deadlines: &mut Deadlines<usize>, all: &mut [Deadline], now: Instant) -> Vec<usize> {
        let mut over = Vec::new();
        while let Some((at, token)) = deadlines.pop(now) {
            if deadlines.check(token, at, &mut all[token], now) {
                all[token] = Deadline::default();
                over.push(token);
            }
        }
        over
    }

    #[test]
    fn moves_deadline_in_both_directions() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let (mut deadlines, mut all) = (Deadlines::new(), [Deadline::default(); 2]);
        deadlines.set(0, &mut all[0], at(5));
        deadlines.set(0, &mut all[0], at(60));
        deadlines.set(1, &mut all[1], at(60));
        deadlines.set(1, &mut all[1], at(2));
        assert_eq!(expired(&mut deadlines, &mut all, start + Duration::from_secs(1)), [0; 0]);
        assert_eq!(expired(&mut deadlines, &mut all, start + Duration::from_secs(10)), [1]);
        assert_eq!(expired(&mut deadlines, &mut all, start + Duration::from_secs(59)), [0; 0]);
        assert_eq!(expired(&mut deadlines, &mut all, start + Duration::from_secs(60)), [0]);
        assert_eq!(deadlines.next(), None);
    }

    #[test]
    fn keeps_one_reminder_for_postponed_deadline() {
        let start = Instant::now();
        let (mut deadlines, mut one) = (Deadlines::new(), Deadline::default());
        for millis in 0..1_000 {
            deadlines.set(0_usize, &mut one, start + Duration::from_millis(millis));
        }
        assert_eq!(deadlines.heap.len(), 1);
    }
}
