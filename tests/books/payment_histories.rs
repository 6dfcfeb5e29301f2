//! Random histories of payments: beside a plain model, and events of a provider in every order, repeated and lost, which a
//! comparison with the provider completes.

use std::collections::HashMap;

use mercato_ledger::{AccountId, Checkout, EntryKind, Ledger, ReversalEvent};
use proptest::prelude::*;

use crate::desk::{Desk, noon};
use crate::payment_world::{ACCOUNTS, DISPUTES, Step, World};
use crate::payments::{ask, closed, disputed, payment_of, refunded, tell};

/// Histories of events.
const HISTORIES: u64 = 1_000;
/// One step in so many opens the books anew.
const STEPS_PER_RESTART: u64 = 400;

fn step() -> impl Strategy<Value = Step> {
    let account = || 1..=ACCOUNTS;
    let thousandths = || prop_oneof![Just(1_000_u64), Just(500), 0..1_000_u64];
    prop_oneof![
        4 => (account(), 1..3_000_u64, 1..5_000_u64)
            .prop_map(|(account, credits, net)| Step::Ask { account, credits, net }),
        6 => any::<usize>().prop_map(|which| Step::Pay { which }),
        2 => any::<usize>().prop_map(|which| Step::Cancel { which }),
        4 => (any::<usize>(), thousandths())
            .prop_map(|(which, thousandths)| Step::Refund { which, thousandths }),
        3 => (any::<usize>(), 0..DISPUTES, thousandths())
            .prop_map(|(which, dispute, thousandths)| Step::Dispute { which, dispute, thousandths }),
        3 => (any::<usize>(), 0..DISPUTES, thousandths(), any::<bool>()).prop_map(
            |(which, dispute, thousandths, is_won)| Step::Close { which, dispute, thousandths, is_won }
        ),
        4 => (account(), 1..2_000_u64).prop_map(|(account, credits)| Step::Spend { account, credits }),
        1 => (account(), 1..300_u64).prop_map(|(account, credits)| Step::Grant { account, credits }),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(crate::histories::histories())]

    #[test]
    fn agrees_with_plain_model_of_payments(steps in prop::collection::vec(step(), 1..80)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
            world.compare();
        }
        world.finish();
    }
}

/// The provider's final record of a checkout.
struct Truth {
    checkout: Checkout,
    payment: String,
    is_paid: bool,
    refunds: Vec<u64>,
    /// The amount, and whether it was won, if it is closed.
    dispute: Option<(u64, Option<bool>)>,
}

/// An event on its way.
enum Event {
    Paid,
    Reversed(ReversalEvent),
}

impl Truth {
    fn new(ledger: &Ledger, account: AccountId, chance: &mut impl FnMut(u64) -> u64) -> Truth {
        let checkout = ask(ledger, account, 1 + chance(5_000), 50 + chance(10_000), noon()).unwrap();
        let gross = checkout.price.gross;
        let part = [gross, gross / 2, gross / 3, 1][chance(4) as usize];
        let refunds = match chance(4) {
            0 => vec![part],
            1 => vec![gross / 5, gross / 2],
            _ => Vec::new(),
        };
        let outcome = [None, Some(true), Some(false)][chance(3) as usize];
        let dispute = (chance(3) == 0).then_some((part, outcome));
        let payment = format!("pi_{}", checkout.id.number());
        Truth { checkout, payment, is_paid: chance(5) > 0, refunds, dispute }
    }

    /// Every event that the provider sends.
    fn events(&self) -> Vec<Event> {
        if !self.is_paid {
            return Vec::new();
        }
        let mut events = vec![Event::Paid];
        events.extend(self.refunds.iter().map(|total| Event::Reversed(refunded(*total))));
        if let Some((amount, outcome)) = self.dispute {
            events.push(Event::Reversed(disputed("dp", amount)));
            events.extend(outcome.map(|is_won| Event::Reversed(closed("dp", amount, is_won))));
        }
        events
    }

    fn apply(&self, ledger: &Ledger, event: &Event) {
        match event {
            Event::Paid => {
                ledger.commit(&payment_of(&self.checkout, &self.payment)).unwrap();
            }
            Event::Reversed(event) => {
                tell(ledger, &self.payment, event.clone());
            }
        }
    }

    /// The credits that are left of it.
    fn credits(&self) -> u64 {
        if !self.is_paid {
            return 0;
        }
        let lost = self.dispute.filter(|(_, outcome)| *outcome != Some(true)).map_or(0, |(amount, _)| amount);
        let back = self.refunds.iter().max().copied().unwrap_or(0) + lost;
        let (credits, gross) = (self.checkout.credits, self.checkout.price.gross);
        credits - credits * back.min(gross) / gross
    }
}

/// Every event may come early, late, several times or never; then the provider is asked for what it knows.
#[test]
fn leaves_exactly_paid_credits_after_any_order_of_events() {
    let seed = std::env::var("MERCATO_SEED").map_or(0x9e37_79b9_7f4a_7c15, |seed| seed.parse().unwrap());
    println!("seed {seed}");
    let mut state: u64 = seed;
    let mut chance = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let desk = Desk::new();
    let mut ledger = Some(desk.open());
    let (mut expected, mut told, mut lost) = (HashMap::new(), 0, 0);
    for _ in 0..HISTORIES {
        let account = ledger.as_ref().unwrap().create_account("history", noon()).unwrap();
        let truths: Vec<Truth> =
            (0..=chance(3)).map(|_| Truth::new(ledger.as_ref().unwrap(), account, &mut chance)).collect();
        let mut events: Vec<(usize, Event)> = Vec::new();
        for (place, truth) in truths.iter().enumerate() {
            for _ in 0..3 {
                let kept = truth.events().into_iter().filter(|_| chance(2) == 0);
                events.extend(kept.map(|event| (place, event)).collect::<Vec<_>>());
            }
            lost += usize::from(truth.is_paid);
        }
        for place in (1..events.len()).rev() {
            events.swap(place, chance(place as u64 + 1) as usize);
        }
        for (place, event) in &events {
            if chance(STEPS_PER_RESTART) == 0 {
                drop(ledger.take());
                ledger = Some(desk.open());
            }
            truths[*place].apply(ledger.as_ref().unwrap(), event);
            told += 1;
        }
        for truth in &truths {
            for event in truth.events() {
                truth.apply(ledger.as_ref().unwrap(), &event);
            }
        }
        expected.insert(account, truths.iter().map(Truth::credits).sum::<u64>());
    }
    let ledger = ledger.unwrap();
    for (account, credits) in &expected {
        assert_eq!(ledger.account(*account).unwrap().credits(), *credits, "{account}");
    }
    check_entries(&ledger, &expected);
    println!("{HISTORIES} histories, {told} events, {lost} payments");
}

/// Each payment gave once, and the entries of each account add up to its balance.
fn check_entries(ledger: &Ledger, expected: &HashMap<AccountId, u64>) {
    let report = ledger.verify().unwrap();
    assert!(report.is_balanced(), "{report:?}");
    let (mut sums, mut purchases, mut next) = (HashMap::new(), HashMap::new(), Some(1));
    while let Some(first) = next {
        let (entries, following) = ledger.entries(None, first, 10_000).unwrap();
        for entry in entries {
            *sums.entry(entry.account).or_insert(0_i64) += entry.amount;
            if entry.kind == EntryKind::Purchase {
                *purchases.entry(entry.request_id).or_insert(0) += 1;
            }
        }
        next = following;
    }
    assert!(purchases.values().all(|count| *count == 1));
    for (account, credits) in expected {
        assert_eq!(sums.get(account).copied().unwrap_or(0), *credits as i64);
    }
}
