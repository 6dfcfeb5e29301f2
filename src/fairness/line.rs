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
    rank: Option<Rank>,
}

/// How an address stands.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// How much of it is served now.
    pub in_service: usize,
    /// Whether it has taken more than those that are served now.
    pub is_ahead: bool,
    /// What its last request took.
    pub last_cost: Duration,
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
            || Standing { in_service: 0, is_ahead: false, last_cost: Duration::from_micros(FIRST_COST) },
            |flow| flow.standing(self.now),
        )
    }

    /// Takes out who is served next.
    pub fn take_next(&mut self) -> Option<(T, Advance)> {
        let first = *self.order.first()?;
        self.take(first)
    }

    /// Takes out who is next of those whose address stands so. Looks at the first 64 addresses only.
    pub fn take_next_where(&mut self, is_meant: impl Fn(Standing) -> bool) -> Option<(T, Advance)> {
        let meant = |(_, _, address): &&Rank| {
            self.flows.get(address).is_some_and(|flow| is_meant(flow.standing(self.now)))
        };
        let rank = *self.order.iter().take(LOOKS_MAX).find(meant)?;
        self.take(rank)
    }

    fn take(&mut self, rank: Rank) -> Option<(T, Advance)> {
        self.order.remove(&rank);
        let (time, came, address) = rank;
        self.now = self.now.max(time);
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

    /// Serves an address at once, because nobody waits.
    pub fn begin(&mut self, address: IpAddr) -> Advance {
        let flow = Self::flow(&mut self.flows, client_block(address), self.now);
        flow.time = flow.time.max(self.now);
        self.now = flow.time;
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
        flow.last_cost = cost;
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
    fn standing(&self, now: u64) -> Standing {
        let last_cost = Duration::from_micros(self.last_cost);
        Standing { in_service: self.in_service, is_ahead: self.time > now, last_cost }
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    fn micros(number: u64) -> Duration {
        Duration::from_micros(number)
    }

    #[derive(Debug, Clone)]
    enum Event {
        Enter(u8),
        Next,
        Begin(u8),
        End(prop::sample::Index, u64),
        Leave(u8, prop::sample::Index),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0_u8..4).prop_map(Event::Enter),
            3 => Just(Event::Next),
            1 => (0_u8..4).prop_map(Event::Begin),
            3 => (any::<prop::sample::Index>(), 0_u64..5_000).prop_map(|(which, cost)| Event::End(which, cost)),
            1 => (0_u8..4, any::<prop::sample::Index>()).prop_map(|(who, which)| Event::Leave(who, which)),
        ]
    }

    /// The same by looking at everybody.
    #[derive(Default)]
    struct Twin {
        now: u64,
        latest: u64,
        in_service: usize,
        time: [u64; 4],
        cost: [Option<u64>; 4],
        /// When those that wait came to stand first without a break, for each address.
        since: [usize; 4],
        waiting: Vec<(u8, usize)>,
    }

    impl Twin {
        fn begin(&mut self, who: u8) -> u64 {
            let cost = self.cost[usize::from(who)].unwrap_or(FIRST_COST);
            self.time[usize::from(who)] += cost;
            self.in_service += 1;
            cost
        }

        fn end(&mut self, who: u8, advance: u64, cost: u64) {
            let time = &mut self.time[usize::from(who)];
            *time = time.saturating_sub(advance) + cost;
            self.latest = self.latest.max(*time);
            self.cost[usize::from(who)] = Some(cost);
            self.in_service -= 1;
            if self.in_service == 0 && self.waiting.is_empty() {
                self.now = self.now.max(self.latest);
            }
        }

        fn next(&mut self) -> Option<(u8, usize, u64)> {
            let first = self
                .waiting
                .iter()
                .map(|(who, _)| usize::from(*who))
                .min_by_key(|who| (self.time[*who], self.since[*who]))?;
            self.now = self.now.max(self.time[first]);
            let at = self.waiting.iter().position(|(who, _)| usize::from(*who) == first)?;
            let (who, number) = self.waiting.remove(at);
            Some((who, number, self.begin(who)))
        }
    }

    proptest! {
        #[test]
        fn who_took_the_least_is_next_and_nobody_is_lost(
            events in prop::collection::vec(event(), 0..200),
            len_max in 0_usize..20,
        ) {
            let (mut line, mut twin) = (Line::new(len_max), Twin::default());
            let mut served: Vec<(u8, Advance, u64)> = Vec::new();
            for (number, event) in events.into_iter().enumerate() {
                match event {
                    Event::Enter(who) => {
                        let own = twin.waiting.iter().filter(|(other, ..)| *other == who).count();
                        let has_place = twin.waiting.len() < len_max && own < len_max - len_max / 4;
                        prop_assert_eq!(line.enter(address(who), (who, number)), has_place);
                        if has_place && own == 0 {
                            let time = &mut twin.time[usize::from(who)];
                            *time = (*time).max(twin.now);
                            twin.since[usize::from(who)] = number;
                        }
                        if has_place {
                            twin.waiting.push((who, number));
                        }
                    }
                    Event::Next => {
                        let (next, expected) = (line.take_next(), twin.next());
                        prop_assert_eq!(next.map(|(item, _)| item), expected.map(|(who, number, _)| (who, number)));
                        if let (Some((_, advance)), Some((who, _, micros))) = (next, expected) {
                            served.push((who, advance, micros));
                        }
                    }
                    Event::Begin(who) if twin.waiting.is_empty() => {
                        let time = &mut twin.time[usize::from(who)];
                        *time = (*time).max(twin.now);
                        twin.now = *time;
                        let micros = twin.begin(who);
                        served.push((who, line.begin(address(who)), micros));
                    }
                    Event::End(which, cost) if !served.is_empty() => {
                        let (who, advance, micros) = served.swap_remove(which.index(served.len()));
                        line.end(address(who), advance, Duration::from_micros(cost));
                        twin.end(who, micros, cost);
                    }
                    Event::Leave(who, which) => {
                        let own: Vec<usize> =
                            twin.waiting.iter().filter(|(other, _)| *other == who).map(|(_, number)| *number).collect();
                        if own.is_empty() {
                            continue;
                        }
                        let gone = own[which.index(own.len())];
                        line.leave(address(who), |(_, number)| *number == gone);
                        twin.waiting.retain(|(_, number)| *number != gone);
                    }
                    Event::Begin(_) | Event::End(..) => {}
                }
                prop_assert_eq!(line.len(), twin.waiting.len());
            }
            prop_assert_eq!(std::iter::from_fn(|| line.take_next()).count(), twin.waiting.len());
            prop_assert!(line.order.is_empty());
        }
    }

    /// Serves one after the other, each for as long as `cost` says, and gives the time that each took.
    fn serve(line: &mut Line<u8>, rounds: usize, cost: impl Fn(u8) -> u64) -> [u64; 256] {
        let mut taken = [0; 256];
        for _ in 0..rounds {
            let (who, advance) = line.take_next().unwrap();
            line.enter(address(who), who);
            line.end(address(who), advance, micros(cost(who)));
            taken[usize::from(who)] += cost(who);
        }
        taken
    }

    #[test]
    fn addresses_share_by_time_and_not_by_number() {
        let mut line = Line::new(1_000);
        for who in [1, 1, 1, 1, 2] {
            line.enter(address(who), who);
        }
        let taken = serve(&mut line, 2_000, |who| if who == 1 { 10_000 } else { 100 });
        let (heavy, light) = (taken[1] as f64, taken[2] as f64);
        assert!((heavy / light - 1.0).abs() < 0.1, "{heavy} {light}");
    }

    #[test]
    fn who_asks_little_goes_before_a_hundred_who_keep_coming() {
        let mut line = Line::new(1_000);
        for who in (0..100).chain(0..100) {
            line.enter(address(who), who);
        }
        serve(&mut line, 1_000, |_| 5_000);
        for _ in 0..50 {
            line.enter(address(200), 200);
            let mut before = 0_u32;
            let advance = loop {
                let (who, advance) = line.take_next().unwrap();
                if who == 200 {
                    break advance;
                }
                line.enter(address(who), who);
                line.end(address(who), advance, micros(5_000));
                before += 1;
            };
            assert!(before <= 2, "{before} were served before it");
            line.end(address(200), advance, micros(20));
            serve(&mut line, 300, |_| 5_000);
        }
    }

    #[test]
    fn a_pause_earns_nothing_and_costs_nothing() {
        let mut line = Line::new(100);
        line.enter(address(1), 1);
        line.enter(address(1), 1);
        serve(&mut line, 1_000, |_| 1_000);
        line.enter(address(2), 2);
        line.enter(address(2), 2);
        let taken = serve(&mut line, 1_000, |_| 1_000);
        assert!(taken[1].abs_diff(taken[2]) <= 4_000, "{} {}", taken[1], taken[2]);
    }

    #[test]
    fn one_address_leaves_places_to_others() {
        let mut line = Line::new(1_000);
        let entered = (0..2_000).filter(|_| line.enter(address(1), 1)).count();
        assert_eq!(entered, 750);
        assert!(line.enter(address(2), 2));
    }

    #[test]
    fn addresses_that_come_once_are_forgotten() {
        let mut line = Line::<u8>::new(100);
        let stranger = |network: u128| IpAddr::from((network << 64).to_be_bytes());
        for network in 1..10_000 {
            let advance = line.begin(stranger(network));
            line.end(stranger(network), advance, micros(100));
            assert!(line.flows.len() <= FORGET_FROM, "{}", line.flows.len());
        }
        // Also where it is never quiet.
        line.begin(address(1));
        for network in 1..300_000 {
            let advance = line.begin(stranger(network));
            line.end(stranger(network), advance, micros(100));
        }
        assert!(line.flows.len() <= 2 * AHEAD_MAX + 1, "{}", line.flows.len());
    }
}
