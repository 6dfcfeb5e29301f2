//! Caps, end and usage of keys, beside a plain model that adds everything up.

use std::sync::Arc;

use mercato_base::clock::{Moment, UtcDay};
use mercato_ledger::{
    AccountHandle, CapPeriod, CapStanding, Change, ChargeError, ChargeRequest, KeyId, KeyLimits, Ledger,
    LimitsChange, Pending, Receipt, Reservation, UsageQuery,
};
use mercato_people::{AccessControl, KeyRefusal, RateLimits};
use proptest::prelude::*;

use crate::desk::{Desk, customer, download, handle, noon, page, stream};

const HOUR: i64 = 3_600;

fn caps(per_day: Option<u64>, per_month: Option<u64>) -> KeyLimits {
    KeyLimits { credits_per_day: per_day, credits_per_month: per_month, ..KeyLimits::default() }
}

fn key_with(ledger: &Ledger, account: &AccountHandle, random: u8, limits: KeyLimits) -> KeyId {
    ledger.create_limited_key(account.id(), "", [random; 32], limits, noon()).unwrap().view.id
}

fn charge(
    ledger: &Ledger,
    account: &AccountHandle,
    key: KeyId,
    rows: u64,
    at: Moment,
) -> Result<Receipt, ChargeError> {
    ledger.charge(&ChargeRequest { key: Some(key), ..page(account, rows, at) }).and_then(Pending::durable)
}

fn reserve(
    ledger: &Ledger,
    account: &AccountHandle,
    key: KeyId,
    rows: u64,
    at: Moment,
) -> Result<Reservation, ChargeError> {
    ledger.reserve(&ChargeRequest { key: Some(key), ..stream(account, rows, at) })
}

/// Each cap of the key and the credits spent of it.
fn standing(ledger: &Ledger, key: KeyId, at: Moment) -> Vec<(CapPeriod, u64, u64)> {
    let view = ledger.key_view(key).unwrap();
    let caps = ledger.cap_standings(view.account, key, &view.limits, at).unwrap();
    caps.iter().map(|standing| (standing.period, standing.spent, standing.cap)).collect()
}

#[track_caller]
fn check_refused<T>(outcome: Result<T, ChargeError>, required: u64, standing: CapStanding) {
    assert_eq!(outcome.err(), Some(ChargeError::KeyCapReached { required, standing }));
}

#[test]
fn counts_held_credits_against_cap_until_settled() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let key = key_with(&ledger, &account, 1, caps(Some(100), None));
    let other = key_with(&ledger, &account, 2, caps(Some(100), None));
    let stream = reserve(&ledger, &account, key, 80, now).unwrap();
    let resets_at = UtcDay::from_civil(2026, 11, 22).start();
    let held = CapStanding { period: CapPeriod::Day, cap: 100, spent: 80, resets_at };
    assert_eq!(stream.caps(), [held]);
    check_refused(charge(&ledger, &account, key, 21, now), 21, held);
    check_refused(reserve(&ledger, &account, key, 21, now), 21, held);
    assert_eq!(charge(&ledger, &account, other, 100, now).unwrap().charged, 100, "another key, another cap");
    let receipt = charge(&ledger, &account, key, 20, now).unwrap();
    assert_eq!(receipt.caps, [CapStanding { spent: 100, ..held }]);
    let settled = stream.settle(50, now).and_then(Pending::durable).unwrap();
    assert_eq!(settled.caps, [CapStanding { spent: 70, ..held }]);
    ledger.refund(receipt, now).and_then(Pending::durable).unwrap();
    assert_eq!(standing(&ledger, key, now), [(CapPeriod::Day, 50, 100)]);
    let mut file = download(&account, 51, now);
    file.charge.key = Some(key);
    let spent = CapStanding { spent: 50, ..held };
    check_refused(ledger.reserve_download(&file), 51, spent);
    check_refused(ledger.sell_part(&file).and_then(Pending::durable), 51, spent);
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn resets_caps_at_midnight_and_end_of_month() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let key = key_with(&ledger, &account, 1, caps(Some(60), Some(100)));
    let midnight = |month, day| UtcDay::from_civil(2026, month, day).start();
    let late = midnight(11, 30).plus_millis(-1);
    charge(&ledger, &account, key, 60, late).unwrap();
    let day = CapStanding { period: CapPeriod::Day, cap: 60, spent: 60, resets_at: late.plus_millis(1) };
    check_refused(charge(&ledger, &account, key, 1, late), 1, day);
    charge(&ledger, &account, key, 40, midnight(11, 30)).unwrap();
    let month = CapStanding { period: CapPeriod::Month, cap: 100, spent: 100, resets_at: midnight(12, 1) };
    check_refused(charge(&ledger, &account, key, 1, midnight(11, 30)), 1, month);
    let december = charge(&ledger, &account, key, 1, midnight(12, 1)).unwrap();
    let spent: Vec<u64> = december.caps.iter().map(|standing| standing.spent).collect();
    assert_eq!(spent, [1, 1]);
    // A clock that steps back finds the former month as it was.
    assert_eq!(standing(&ledger, key, late), [(CapPeriod::Day, 60, 60), (CapPeriod::Month, 100, 100)]);
    let next = [(CapPeriod::Day, 1, 60), (CapPeriod::Month, 1, 100)];
    assert_eq!(standing(&ledger, key, midnight(12, 1)), next);
    assert_eq!(charge(&ledger, &account, key, 0, late).unwrap().charged, 0, "what costs nothing is let pass");
}

#[test]
fn keeps_spending_of_key_after_restart() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let id = customer(&ledger, 1_000).id();
    let account = handle(&ledger, id);
    let key = key_with(&ledger, &account, 1, caps(Some(60), Some(100)));
    let other = key_with(&ledger, &account, 2, caps(None, Some(100)));
    charge(&ledger, &account, key, 30, now.plus_seconds(-24 * HOUR)).unwrap();
    charge(&ledger, &account, key, 20, now).unwrap();
    charge(&ledger, &account, other, 7, now).unwrap();
    let expected = [(CapPeriod::Day, 20, 60), (CapPeriod::Month, 50, 100)];
    assert_eq!(standing(&ledger, key, now), expected);
    drop(account);
    drop(ledger);
    let ledger = desk.open();
    assert_eq!(standing(&ledger, key, now), expected);
    assert_eq!(standing(&ledger, other, now), [(CapPeriod::Month, 7, 100)]);
    let account = handle(&ledger, id);
    assert!(charge(&ledger, &account, key, 41, now).is_err());
    charge(&ledger, &account, key, 40, now).unwrap();
    assert_eq!(standing(&ledger, key, now)[0], (CapPeriod::Day, 60, 60));
}

#[test]
fn counts_earlier_spending_against_new_cap() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let key = key_with(&ledger, &account, 1, KeyLimits::default());
    charge(&ledger, &account, key, 30, now).unwrap();
    assert_eq!(standing(&ledger, key, now), []);
    let change = LimitsChange { credits_per_day: Change::Set(40), ..LimitsChange::default() };
    ledger.limit_key(key, &change, now).unwrap();
    assert_eq!(standing(&ledger, key, now), [(CapPeriod::Day, 30, 40)]);
    assert!(charge(&ledger, &account, key, 11, now).is_err());
}

#[test]
fn changes_one_limit_and_keeps_others() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let datasets: Arc<[String]> = ["orders".to_owned()].into();
    let end = now.plus_seconds(HOUR);
    let limits =
        KeyLimits { expires_at: Some(end), datasets: Arc::clone(&datasets), ..caps(Some(5), Some(9)) };
    let key = key_with(&ledger, &account, 1, limits.clone());
    let limit = |change: LimitsChange, at| ledger.limit_key(key, &change, at).map(|view| view.limits);
    let lifted = LimitsChange { credits_per_day: Change::Lift, ..LimitsChange::default() };
    let expected = KeyLimits { credits_per_day: None, ..limits };
    assert_eq!(limit(lifted.clone(), now), Ok(expected.clone()));
    let set = LimitsChange { credits_per_month: Change::Set(12), ..LimitsChange::default() };
    let expected = KeyLimits { credits_per_month: Some(12), ..expected };
    assert_eq!(limit(set, now), Ok(expected.clone()));
    let past = LimitsChange { expires_at: Change::Set(now), ..LimitsChange::default() };
    assert!(limit(past, now).unwrap_err().to_string().starts_with("expiresAt: "));
    let many: Arc<[String]> = (0..257).map(|number| number.to_string()).collect();
    let many = LimitsChange { datasets: Change::Set(many), ..LimitsChange::default() };
    assert!(limit(many, now).unwrap_err().to_string().contains("at most 256"));
    assert_eq!(limit(lifted, end), Ok(expected), "a key that has expired can still be changed");
    let all = LimitsChange { datasets: Change::Lift, expires_at: Change::Lift, ..LimitsChange::default() };
    assert_eq!(limit(all, end), Ok(caps(None, Some(12))));
    drop(ledger);
    assert_eq!(desk.open().key_view(key).unwrap().limits, caps(None, Some(12)));
}

#[test]
fn expires_key_at_end_of_its_limits() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = Arc::new(desk.open());
    let account = customer(&ledger, 0);
    let end = now.plus_seconds(HOUR);
    let limits = KeyLimits { expires_at: Some(end), ..KeyLimits::default() };
    let key = ledger.create_limited_key(account.id(), "", [1; 32], limits, now).unwrap();
    let access = AccessControl::open(Arc::clone(&ledger), RateLimits::default(), now).unwrap();
    let refusal = |at| access.authenticate(Some(key.plain.reveal()), at).err();
    assert_eq!((refusal(end.plus_millis(-1)), refusal(end)), (None, Some(KeyRefusal::Expired)));
    let later = LimitsChange { expires_at: Change::Set(end.plus_seconds(HOUR)), ..LimitsChange::default() };
    ledger.limit_key(key.view.id, &later, end).unwrap();
    assert_eq!(refusal(end), None, "a later end brings the key back");
}

#[test]
fn reports_usage_by_key_or_in_total() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let keys = [1, 2].map(|random| key_with(&ledger, &account, random, KeyLimits::default()));
    let yesterday = now.plus_seconds(-24 * HOUR);
    for (key, rows, at) in [(keys[0], 5, yesterday), (keys[1], 7, yesterday), (keys[1], 1, now)] {
        charge(&ledger, &account, key, rows, at).unwrap();
    }
    let mut other = ChargeRequest { key: Some(keys[1]), ..page(&account, 3, yesterday) };
    other.dataset = "lineitem".to_owned();
    ledger.charge(&other).and_then(Pending::durable).unwrap();
    let told = |key: Option<KeyId>, by_key| {
        let query = UsageQuery { account: account.id(), days: 30, key, by_key };
        let lines = ledger.usage(&query, now).unwrap();
        let line = |line: &mercato_ledger::UsageLine| {
            let key = line.key.map_or("all".to_owned(), |key| key.to_string());
            format!("{} {} {key} {} {}", line.day, line.dataset, line.requests, line.credits)
        };
        lines.iter().map(line).collect::<Vec<_>>()
    };
    let sums = ["2026-11-20 lineitem all 1 3", "2026-11-20 orders all 2 12", "2026-11-21 orders all 1 1"];
    assert_eq!(told(None, false), sums);
    let apart = [
        "2026-11-20 lineitem key_2 1 3",
        "2026-11-20 orders key_1 1 5",
        "2026-11-20 orders key_2 1 7",
        "2026-11-21 orders key_2 1 1",
    ];
    assert_eq!(told(None, true), apart);
    assert_eq!(told(Some(keys[0]), false), ["2026-11-20 orders all 1 5"]);
    assert_eq!(told(Some(keys[0]), true), ["2026-11-20 orders key_1 1 5"]);
}

#[test]
fn reports_every_line_of_long_usage() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 100_000);
    let sold = 10_050;
    for number in 0..sold {
        let mut request = page(&account, 1, now);
        request.dataset = format!("set-{number}");
        ledger.charge(&request).and_then(Pending::durable).unwrap();
    }
    let query = UsageQuery { account: account.id(), days: 1, key: None, by_key: false };
    assert_eq!(ledger.usage(&query, now).unwrap().len(), sold);
}

/// An operation on one of two keys.
#[derive(Clone, Debug)]
enum Step {
    Charge { key: usize, rows: u64 },
    Reserve { key: usize, rows: u64 },
    Settle { which: usize, rows: u64 },
    Abandon { which: usize, rows: u64 },
    Refund { which: usize },
    Wait { hours: i64 },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..2_usize, 0..60_u64).prop_map(|(key, rows)| Step::Charge { key, rows }),
        4 => (0..2_usize, 0..60_u64).prop_map(|(key, rows)| Step::Reserve { key, rows }),
        3 => (any::<usize>(), 0..70_u64).prop_map(|(which, rows)| Step::Settle { which, rows }),
        1 => (any::<usize>(), 0..70_u64).prop_map(|(which, rows)| Step::Abandon { which, rows }),
        3 => any::<usize>().prop_map(|which| Step::Refund { which }),
        3 => prop_oneof![1..30_i64, 200..300_i64].prop_map(|hours| Step::Wait { hours }),
        1 => Just(Step::Restart),
    ]
}

const PER_DAY: u64 = 120;
const PER_MONTH: u64 = 300;

/// The books, and beside them a list of everything that was sold.
struct Twin {
    desk: Desk,
    ledger: Option<Ledger>,
    keys: [KeyId; 2],
    now: Moment,
    sold: Vec<(usize, Moment, u64)>,
    open: Vec<(usize, u64, Reservation)>,
    receipts: Vec<(usize, Moment, u64, Receipt)>,
}

impl Twin {
    fn new() -> Twin {
        let desk = Desk::new();
        let ledger = desk.open();
        let account = customer(&ledger, 1_000_000);
        let limits = caps(Some(PER_DAY), Some(PER_MONTH));
        let keys = [1, 2].map(|random| key_with(&ledger, &account, random, limits.clone()));
        let (sold, open, receipts) = (Vec::new(), Vec::new(), Vec::new());
        Twin { desk, ledger: Some(ledger), keys, now: noon(), sold, open, receipts }
    }

    fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().unwrap()
    }

    fn account(&self) -> AccountHandle {
        self.ledger().accounts().remove(0)
    }

    /// Credits that a key has spent or holds, on the present day and in the present month.
    fn spent(&self, key: usize) -> (u64, u64) {
        let held: u64 = self.open.iter().filter(|open| open.0 == key).map(|open| open.1).sum();
        let sum = |counts: &dyn Fn(Moment) -> bool| {
            let sold = self.sold.iter().filter(|sold| sold.0 == key && counts(sold.1));
            sold.map(|sold| sold.2).sum::<u64>() + held
        };
        (sum(&|at| at.day() == self.now.day()), sum(&|at| at.month() == self.now.month()))
    }

    fn fits(&self, key: usize, cost: u64) -> bool {
        let (today, this_month) = self.spent(key);
        cost == 0 || (today + cost <= PER_DAY && this_month + cost <= PER_MONTH)
    }

    fn take(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Charge { key, rows } => {
                let charged = charge(self.ledger(), &self.account(), self.keys[key], rows, now);
                assert_eq!(charged.is_ok(), self.fits(key, rows), "{charged:?}");
                let Ok(receipt) = charged else { return };
                self.sold.push((key, now, rows));
                self.receipts.push((key, now, rows, receipt));
            }
            Step::Reserve { key, rows } => {
                let reserved = reserve(self.ledger(), &self.account(), self.keys[key], rows, now);
                assert_eq!(reserved.is_ok(), self.fits(key, rows));
                self.open.extend(reserved.ok().map(|reservation| (key, rows, reservation)));
            }
            Step::Settle { which, rows } => self.end(which, rows, true),
            Step::Abandon { which, rows } => self.end(which, rows, false),
            Step::Refund { which } => {
                let Some(place) = which.checked_rem(self.receipts.len()) else { return };
                let (key, at, rows, receipt) = self.receipts.swap_remove(place);
                self.ledger().refund(receipt, now).and_then(Pending::durable).unwrap();
                let sale = self.sold.iter().position(|sold| *sold == (key, at, rows)).unwrap();
                self.sold.swap_remove(sale);
            }
            Step::Wait { hours } => self.now = now.plus_seconds(hours * HOUR),
            Step::Restart => {
                while !self.open.is_empty() {
                    self.end(0, 9, true);
                }
                self.ledger = None;
                self.ledger = Some(self.desk.open());
            }
        }
    }

    fn end(&mut self, which: usize, rows: u64, settles: bool) {
        let Some(place) = which.checked_rem(self.open.len()) else { return };
        let (key, held, reservation) = self.open.swap_remove(place);
        self.sold.push((key, self.now, rows.min(held)));
        if settles {
            reservation.settle(rows, self.now).and_then(Pending::durable).unwrap();
        } else {
            reservation.delivered(rows, self.now);
            drop(reservation);
            // Work after it shows that it was carried out.
            self.ledger().verify().unwrap();
        }
    }

    fn compare(&self) {
        for (place, key) in self.keys.iter().enumerate() {
            let (today, this_month) = self.spent(place);
            let expected = [(CapPeriod::Day, today, PER_DAY), (CapPeriod::Month, this_month, PER_MONTH)];
            assert_eq!(standing(self.ledger(), *key, self.now), expected, "{key}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_caps_like_plain_list_of_sales(steps in prop::collection::vec(step(), 1..80)) {
        let mut twin = Twin::new();
        for step in &steps {
            twin.take(step);
            twin.compare();
        }
    }
}
