//! Who waits, and who is next. Addresses share by the time that they take: whoever sends two thousand requests at once, or
//! such as take long, waits behind whoever asks little. Within an address the first that came is the first that is served.
//!
//! Each address has a time of its own, which runs on by what it takes. The address whose time is the earliest comes next;
//! one that took nothing for a while begins at the time of those that are served, so it neither saves up nor falls behind.
//! This is start-time fair queueing (Goyal, Vin and Cheng, 1996) with the flow's last cost as the estimate of the next,
//! made good when the cost is known. Knows no connection and no clock.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use super::client_block::client_block;

/// Taken for the cost of the first request of an address, in microseconds.
const FIRST_COST: u64 = 1_000;
/// What one request counts at most, so that nobody is shut out for hours after a stream of hours.
const COST_MAX: u64 = 1_000_000;
/// Addresses from which on those that are served and not ahead are forgotten.
const FORGET_FROM: usize = 64;
/// Addresses that are kept because they are ahead. Beyond it, all that are idle begin anew.
const AHEAD_MAX: usize = 65_536;
/// Addresses that are looked at to find one that stands as it should.
const LOOKS_MAX: usize = 64;

/// Those that wait, and what each address has taken.
#[derive(Debug)]
pub struct Line<T> {
    flows: HashMap<IpAddr, Flow<T>>,
    /// The flows of which somebody waits, the next one first.
    order: BTreeSet<Rank>,
    /// The time of what is served, in microseconds.
    now: u64,
    /// The latest time of an address when something of it was over.
    latest: u64,
    in_service: usize,
    /// How many have come; between equals the first that came is the first.
    came: u64,
    forget_from: usize,
    len: usize,
    len_max: usize,
}

/// Time of the flow, then order of coming, then whose it is.
type Rank = (u64, u64, IpAddr);

#[derive(Debug)]
struct Flow<T> {
    waiting: VecDeque<T>,
    in_service: usize,
    time: u64,
    last_cost: u64,
    cost_before: u64,
    rank: Option<Rank>,
}

/// How an address stands.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// How much of it is served now.
    pub in_service: usize,
    /// What a request of it takes: the lesser of the last two, because one alone may have waited for a processor.
    pub usual_cost: Duration,
}

/// What an address was charged in advance; to be handed back to [`Line::end`].
#[derive(Debug, Clone, Copy)]
pub struct Advance {
    micros: u64,
}

impl<T> Line<T> {
    /// A line for so many.
    pub fn new(len_max: usize) -> Self {
        Self {
            flows: HashMap::new(),
            order: BTreeSet::new(),
            now: 0,
            latest: 0,
            in_service: 0,
            came: 0,
            forget_from: FORGET_FROM,
            len: 0,
            len_max,
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Places that one address may have: a quarter of the line is always left to others.
    fn len_max_of_address(&self) -> usize {
        self.len_max.saturating_sub(self.len_max / 4)
    }

    /// Goes to the end of the line of its address. Says whether there was a place.
    pub fn enter(&mut self, address: IpAddr, item: T) -> bool {
        let address = client_block(address);
        let already = self.flows.get(&address).map_or(0, |flow| flow.waiting.len());
        if self.len >= self.len_max || already >= self.len_max_of_address() {
            return false;
        }
        let came = self.came;
        self.came = came.wrapping_add(1);
        let flow = Self::flow(&mut self.flows, address, self.now);
        flow.waiting.push_back(item);
        if flow.rank.is_none() {
            flow.time = flow.time.max(self.now);
            flow.enter_order(&mut self.order, came, address);
        }
        self.len = self.len.saturating_add(1);
        true
    }

    /// How an address stands now.
    pub fn standing(&self, address: IpAddr) -> Standing {
        self.flows.get(&client_block(address)).map_or_else(
            || Standing { in_service: 0, usual_cost: Duration::from_micros(FIRST_COST) },
            Flow::standing,
        )
    }

    /// Takes out who is served next.
    pub fn take_next(&mut self) -> Option<(T, Advance)> {
        let first = *self.order.first()?;
        self.take(first)
    }

    /// Takes out who is next of those that are meant, by themselves and by how their address stands. Looks at the first
    /// of each of the first 64 addresses only.
    pub fn take_next_where(&mut self, is_meant: impl Fn(Standing, &T) -> bool) -> Option<(T, Advance)> {
        let meant = |(_, _, address): &&Rank| {
            let Some(flow) = self.flows.get(address) else { return false };
            flow.waiting.front().is_some_and(|item| is_meant(flow.standing(), item))
        };
        let rank = *self.order.iter().take(LOOKS_MAX).find(meant)?;
        self.take(rank)
    }

    fn take(&mut self, rank: Rank) -> Option<(T, Advance)> {
        let (time, came, address) = rank;
        // Whoever is served out of turn does not set the time for those who come.
        if self.order.first() == Some(&rank) {
            self.now = self.now.max(time);
        }
        self.order.remove(&rank);
        let flow = self.flows.get_mut(&address)?;
        flow.rank = None;
        let item = flow.waiting.pop_front()?;
        let advance = flow.begin();
        if !flow.waiting.is_empty() {
            flow.enter_order(&mut self.order, came, address);
        }
        self.len = self.len.saturating_sub(1);
        self.in_service = self.in_service.saturating_add(1);
        Some((item, advance))
    }

    /// Serves an address at once, because nobody waits or it goes before those who do.
    pub fn begin(&mut self, address: IpAddr) -> Advance {
        let flow = Self::flow(&mut self.flows, client_block(address), self.now);
        flow.time = flow.time.max(self.now);
        if self.order.is_empty() {
            self.now = flow.time;
        }
        self.in_service = self.in_service.saturating_add(1);
        flow.begin()
    }

    /// What was served is over, and took so long.
    pub fn end(&mut self, address: IpAddr, advance: Advance, cost: Duration) {
        let address = client_block(address);
        let Some(flow) = self.flows.get_mut(&address) else { return };
        let cost = u64::try_from(cost.as_micros()).unwrap_or(u64::MAX).min(COST_MAX);
        flow.in_service = flow.in_service.saturating_sub(1);
        flow.time = flow.time.saturating_sub(advance.micros).saturating_add(cost);
        flow.cost_before = std::mem::replace(&mut flow.last_cost, cost);
        self.latest = self.latest.max(flow.time);
        self.in_service = self.in_service.saturating_sub(1);
        if let Some(rank) = flow.rank.take() {
            self.order.remove(&rank);
            flow.enter_order(&mut self.order, rank.1, address);
        }
        if self.in_service == 0 && self.order.is_empty() {
            // Whatever was owed was not owed to anybody.
            self.now = self.now.max(self.latest);
        }
        if self.flows.len() >= self.forget_from {
            self.forget();
        }
    }

    /// Takes out those that gave up.
    pub fn leave(&mut self, address: IpAddr, gave_up: impl Fn(&T) -> bool) {
        let Some(flow) = self.flows.get_mut(&client_block(address)) else { return };
        let before = flow.waiting.len();
        flow.waiting.retain(|item| !gave_up(item));
        self.len = self.len.saturating_sub(before.saturating_sub(flow.waiting.len()));
        if flow.waiting.is_empty()
            && let Some(rank) = flow.rank.take()
        {
            self.order.remove(&rank);
        }
    }

    fn flow(flows: &mut HashMap<IpAddr, Flow<T>>, address: IpAddr, now: u64) -> &mut Flow<T> {
        flows.entry(address).or_insert_with(|| Flow {
            waiting: VecDeque::new(),
            in_service: 0,
            time: now,
            last_cost: FIRST_COST,
            cost_before: FIRST_COST,
            rank: None,
        })
    }

    /// An idle address that is not ahead is like one that was never here.
    fn forget(&mut self) {
        let retain = |flows: &mut HashMap<IpAddr, Flow<T>>, now: u64| {
            flows.retain(|_, flow| flow.rank.is_some() || flow.in_service > 0 || flow.time > now);
        };
        retain(&mut self.flows, self.now);
        if self.flows.len() > AHEAD_MAX {
            self.now = self.latest;
            retain(&mut self.flows, self.now);
        }
        self.forget_from = self.flows.len().saturating_mul(2).max(FORGET_FROM);
    }
}

impl<T> Flow<T> {
    fn standing(&self) -> Standing {
        let usual_cost = Duration::from_micros(self.last_cost.min(self.cost_before));
        Standing { in_service: self.in_service, usual_cost }
    }

    fn begin(&mut self) -> Advance {
        self.in_service = self.in_service.saturating_add(1);
        self.time = self.time.saturating_add(self.last_cost);
        Advance { micros: self.last_cost }
    }

    fn enter_order(&mut self, order: &mut BTreeSet<Rank>, came: u64, address: IpAddr) {
        let rank = (self.time, came, address);
        self.rank = Some(rank);
        order.insert(rank);
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
