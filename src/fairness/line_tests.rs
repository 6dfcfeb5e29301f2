//! The line beside its naive twin, and what it promises.

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
fn who_is_served_out_of_turn_does_not_push_back_who_comes_after() {
    for out_of_turn in [true, false] {
        let mut line = Line::new(100);
        let advance = line.begin(address(1));
        line.enter(address(2), 2);
        line.enter(address(3), 3);
        line.end(address(1), advance, micros(500_000));
        // It has taken far more than those that wait, and goes before them all the same.
        if out_of_turn {
            line.begin(address(1));
        } else {
            line.enter(address(1), 1);
            let (who, _) = line.take_next_where(|_, who| *who == 1).unwrap();
            assert_eq!(who, 1);
        }
        let (who, advance) = line.take_next().unwrap();
        line.end(address(who), advance, micros(1_000));
        line.enter(address(who), who);
        line.enter(address(4), 4);
        let next: Vec<u8> = std::iter::from_fn(|| line.take_next().map(|(who, _)| who)).collect();
        assert_eq!(next, [3, 4, 2], "the newcomer waits for one and not for all");
    }
}

#[test]
fn one_late_answer_does_not_make_an_address_slow() {
    let mut line = Line::<u8>::new(100);
    let mut costs = |cost| {
        let advance = line.begin(address(1));
        line.end(address(1), advance, micros(cost));
        line.standing(address(1)).usual_cost
    };
    assert_eq!(costs(300), micros(300));
    assert_eq!(costs(50_000), micros(300), "it may have waited for a processor");
    assert_eq!(costs(40_000), micros(40_000));
    assert_eq!(costs(200), micros(200));
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
