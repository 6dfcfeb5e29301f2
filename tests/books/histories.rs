//! Random histories of the books, and of the plain model beside them.

use mercato_ledger::{ChargeRequest, Pending};
use proptest::prelude::*;

use crate::desk::{handle, page};
use crate::model::{DAY, FREE_PLAN};
use crate::world::{ACCOUNTS, CLAIM_KEYS, ClaimNumbers, REQUESTS, Step, World};

fn claim() -> impl Strategy<Value = ClaimNumbers> {
    prop::option::weighted(0.4, (0..CLAIM_KEYS, 0..REQUESTS))
}

pub fn step() -> impl Strategy<Value = Step> {
    let account = || 1..=ACCOUNTS;
    let rows = || prop_oneof![0..60_u64, Just(10_001), 0..2_000_u64];
    prop_oneof![
        3 => (account(), 1..3_000_u64).prop_map(|(account, credits)| Step::Buy { account, credits }),
        2 => (account(), 1..300_u64).prop_map(|(account, credits)| Step::Grant { account, credits }),
        20 => (account(), rows(), claim())
            .prop_map(|(account, rows, claim)| Step::Charge { account, rows, claim }),
        6 => (account(), 0..500_u64, any::<bool>(), claim())
            .prop_map(|(account, rows, range, claim)| Step::Download { account, rows, range, claim }),
        8 => (account(), rows(), claim())
            .prop_map(|(account, rows, claim)| Step::Reserve { account, rows, claim }),
        5 => (any::<usize>(), 0..80_u64).prop_map(|(which, rows)| Step::Settle { which, rows }),
        2 => (any::<usize>(), 0..80_u64).prop_map(|(which, rows)| Step::Abandon { which, rows }),
        1 => any::<usize>().prop_map(|which| Step::Waive { which }),
        3 => any::<usize>().prop_map(|which| Step::Refund { which }),
        2 => account().prop_map(|account| Step::CreateKey { account }),
        1 => any::<usize>().prop_map(|which| Step::RevokeKey { which }),
        1 => (any::<usize>(), 0..100_000_u64)
            .prop_map(|(which, grace_seconds)| Step::RotateKey { which, grace_seconds }),
        3 => prop_oneof![1..3_600_i64, 20_000..DAY * 2, DAY * 10..DAY * 20].prop_map(|seconds| Step::Wait { seconds }),
        2 => Just(Step::Restart),
        1 => (0..80_u64).prop_map(|rows| Step::Kill { rows }),
    ]
}

/// `PROPTEST_CASES` asks for more histories than the default.
pub fn histories() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(40, |cases| cases.parse().unwrap());
    ProptestConfig { cases, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(histories())]

    #[test]
    fn agrees_with_plain_model(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
            world.compare();
        }
        world.finish();
    }
}

#[test]
fn ends_free_queries_like_model() {
    let mut world = World::new();
    for _ in 0..=FREE_PLAN.queries_per_month {
        world.take(&Step::Charge { account: 1, rows: 1, claim: None });
        world.compare();
    }
    let who = handle(world.ledger(), mercato_ledger::AccountId::from_number(1));
    let next = ChargeRequest { free_queries: FREE_PLAN.queries_per_month, ..page(&who, 1, world.now) };
    assert!(world.ledger().charge(&next).and_then(Pending::durable).is_err());
}
