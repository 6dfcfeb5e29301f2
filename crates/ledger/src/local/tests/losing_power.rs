//! Losses of power at any moment of random histories: what was acknowledged with `power` is there, and everything balances.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::paid::Bought;
use super::people::People;
use super::*;

/// States after a loss of power that one history is checked in.
const STATES_MAX: usize = 24;
const HISTORIES: u32 = 800;

#[derive(Clone, Debug)]
pub enum Step {
    Charge { rows: u64, is_awaited: bool, key: Option<u8> },
    Reserve { rows: u64 },
    Settle { rows: u64 },
    Grant { credits: u64 },
    Pay { credits: u64, is_refunded: bool },
    CreateKey,
    SignUp,
    OpenSession { login: usize },
    EndSession { which: usize },
    IssueToken { login: usize },
    RedeemToken { which: usize },
    CloseAccount { login: usize },
    Checkpoint,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..60_u64, prop::bool::weighted(0.3), prop::option::of(0..3_u8))
            .prop_map(|(rows, is_awaited, key)| Step::Charge { rows, is_awaited, key }),
        2 => (0..200_u64).prop_map(|rows| Step::Reserve { rows }),
        2 => (0..200_u64).prop_map(|rows| Step::Settle { rows }),
        1 => (1..100_u64).prop_map(|credits| Step::Grant { credits }),
        2 => (2..100_u64, any::<bool>()).prop_map(|(credits, is_refunded)| Step::Pay { credits, is_refunded }),
        1 => Just(Step::CreateKey),
        1 => Just(Step::SignUp),
        2 => any::<usize>().prop_map(|login| Step::OpenSession { login }),
        1 => any::<usize>().prop_map(|which| Step::EndSession { which }),
        1 => any::<usize>().prop_map(|login| Step::IssueToken { login }),
        1 => any::<usize>().prop_map(|which| Step::RedeemToken { which }),
        1 => (0..20_usize).prop_map(|login| Step::CloseAccount { login }),
        1 => Just(Step::Checkpoint),
    ]
}

/// The acknowledged part of a history: the newest safe sequence number, and the keys.
#[derive(Default)]
struct Acknowledged {
    charges: Vec<(u64, u64)>,
    keys: usize,
    people: People,
    paid: Vec<Bought>,
}

fn run(bench: &Bench, steps: &[Step]) -> Acknowledged {
    let (ledger, books) = bench.open(ChargeDurability::Power);
    let account = customer(&ledger);
    let (mut acknowledged, mut open) = (Acknowledged::default(), Vec::new());
    for (place, step) in steps.iter().enumerate() {
        match step {
            Step::Charge { rows, is_awaited, key } => {
                let key = key.map(|key| format!("{key}-{rows}"));
                let order = order(&account, *rows, key.as_deref());
                let order = ChargeRequest { request_id: place.to_string(), ..order };
                match ledger.charge(&order) {
                    Ok(pending) if *is_awaited => {
                        let receipt = pending.durable().unwrap();
                        acknowledged.charges.push((place as u64, receipt.charged));
                    }
                    // No response goes out.
                    Ok(_) | Err(_) => {}
                }
            }
            Step::Reserve { rows } => open.extend(ledger.reserve(&stream(&account, *rows)).ok()),
            Step::Settle { rows } => {
                if let Some(reservation) = open.pop() {
                    let settled: Reservation = reservation;
                    drop(settled.settle(*rows, noon()).unwrap());
                }
            }
            Step::Grant { credits } => drop(ledger.grant(account.id(), *credits, "", "", noon()).unwrap()),
            Step::Pay { credits, is_refunded } => {
                acknowledged.paid.push(Bought::pay(&ledger, account.id(), *credits, *is_refunded));
            }
            Step::CreateKey => {
                let random = [place as u8 + 1; crate::KEY_RANDOM_BYTES];
                ledger.create_key(account.id(), "", random, noon()).unwrap();
                acknowledged.keys += 1;
            }
            Step::Checkpoint => books.shared.write_checkpoint(),
            other => acknowledged.people.take(&ledger, other, place as u8 + 1),
        }
    }
    // The process dies here: nothing is settled, noted or synced any more.
    *books.shared.core.lock() = Core::Closed;
    drop(books.shared.lock.lock().take());
    std::mem::forget(open);
    acknowledged
}

/// Opens books whose log is in this state, on a copy of the checkpoint or without one.
fn check(bench: &Bench, state: &SimulatedDisk, acknowledged: &Acknowledged, keeps_checkpoint: bool) {
    let after = Bench::new(state.fork());
    if keeps_checkpoint {
        copy(&bench.folder.path().join("checkpoint"), &after.folder.path().join("checkpoint"));
    }
    let (ledger, _) = after.open(ChargeDurability::Power);
    let report = ledger.verify().unwrap();
    assert!(report.is_balanced() && report.open_reservations == 0, "{report:?}");
    let (entries, _) = ledger.entries(None, 1, 10_000).unwrap();
    let sum: i64 = entries.iter().map(|entry| entry.amount).sum();
    assert_eq!(sum, ledger.accounts().iter().map(|account| account.credits() as i64).sum::<i64>());
    for (request, charged) in acknowledged.charges.iter().filter(|(_, charged)| *charged > 0) {
        let of_request = entries.iter().filter(|entry| entry.request_id == request.to_string());
        let sold: Vec<i64> = of_request.map(|entry| entry.amount).collect();
        assert_eq!(sold, [-(*charged as i64)], "request {request} was acknowledged");
    }
    acknowledged.people.check(&ledger);
    acknowledged.paid.iter().for_each(|bought| bought.check(&ledger, &entries));
    let keys: usize = ledger.accounts().iter().map(|account| ledger.keys(account.id()).len()).sum();
    assert!(keys >= acknowledged.keys, "{keys} keys of {}", acknowledged.keys);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for path in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn keeps_charges_acknowledged_with_power_after_power_loss() {
    let cases = std::sync::atomic::AtomicUsize::new(0);
    let history = || {
        let config = Config { cases: HISTORIES / 2, failure_persistence: None, ..Config::default() };
        let tested = TestRunner::new(config).run(&prop::collection::vec(step(), 1..24), |steps| {
            let bench = Bench::new(SimulatedDisk::default());
            let acknowledged = run(&bench, &steps);
            let states = bench.disk.crash_states();
            let each = states.len().div_ceil(STATES_MAX);
            for (place, state) in states.iter().step_by(each).enumerate() {
                check(&bench, state, &acknowledged, place % 8 == 0);
                cases.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        tested.unwrap();
    };
    thread::scope(|scope| {
        scope.spawn(history);
        scope.spawn(history);
    });
    let cases = cases.into_inner();
    println!("{cases} losses of power");
    assert!(cases >= 2_000, "{cases}");
}
