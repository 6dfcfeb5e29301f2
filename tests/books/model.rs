//! A plain model of the books and the steps that both take: after every step the balances agree, at the end the
//! entries do too. Knows not where histories come from: a property test and a fuzz target make them.

use std::collections::HashMap;

use mercato::clock::Moment;
use mercato::ledger::{
    ChargeError, CreatedKey, DownloadOrder, EntryKind, KeyHash, KeyId, Ledger, Receipt, Reservation,
};

use crate::desk::{Desk, claimed, download, handle, noon, page, stream};

/// Accounts of every history, numbered from 1.
pub const ACCOUNTS: u64 = 3;
/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// What happens next.
#[derive(Clone, Debug)]
pub enum Step {
    Buy {
        account: u64,
        credits: u64,
    },
    Grant {
        account: u64,
        credits: u64,
    },
    Charge {
        account: u64,
        rows: u64,
        claim: Option<(u8, u8)>,
    },
    Download {
        account: u64,
        rows: u64,
        range: bool,
    },
    Reserve {
        account: u64,
        rows: u64,
    },
    Settle {
        which: usize,
        rows: u64,
    },
    Abandon {
        which: usize,
        rows: u64,
    },
    Refund {
        which: usize,
    },
    CreateKey {
        account: u64,
    },
    RevokeKey {
        which: usize,
    },
    RotateKey {
        which: usize,
        grace_seconds: u64,
    },
    Wait {
        seconds: i64,
    },
    Restart,
    /// The process ends while streams run.
    Kill {
        rows: u64,
    },
}

/// What an account should look like, kept the simplest way.
#[derive(Default)]
struct Model {
    accounts: HashMap<u64, ModelAccount>,
    claims: HashMap<(u64, u8), (u8, Moment)>,
    /// The end and the unpaid rows of the one file that each account downloads.
    grants: HashMap<u64, (Moment, u64)>,
    entries: Vec<(u64, EntryKind, i64, u64)>,
    keys: Vec<ModelKey>,
}

struct ModelKey {
    id: KeyId,
    hash: KeyHash,
    account: u64,
    revoked: bool,
    end: Option<Moment>,
}

#[derive(Default)]
struct ModelAccount {
    balance: u64,
    has_bought: bool,
    free_used: HashMap<i32, u32>,
}

/// How something was paid, as far as undoing it goes.
#[derive(Clone, Debug, PartialEq)]
enum Paid {
    Nothing,
    Credits(u64),
    Free(i32),
}

impl Model {
    fn change(&mut self, id: u64, kind: EntryKind, amount: i64) {
        let account = self.accounts.entry(id).or_default();
        account.balance =
            account.balance.checked_add_signed(amount).expect("the model never goes below zero");
        self.entries.push((id, kind, amount, account.balance));
    }

    fn account(&mut self, id: u64) -> &mut ModelAccount {
        self.accounts.entry(id).or_default()
    }

    /// What a query of so many rows costs, or the name of the refusal.
    fn price(&mut self, id: u64, rows: u64, now: Moment) -> Result<Paid, &'static str> {
        let month = now.month().number();
        let account = self.account(id);
        let left = 100 - account.free_used.get(&month).copied().unwrap_or(0);
        if !account.has_bought && rows <= 10_000 && left > 0 {
            return Ok(Paid::Free(month));
        }
        if rows <= account.balance && (account.has_bought || account.balance > 0) {
            return Ok(if rows == 0 { Paid::Nothing } else { Paid::Credits(rows) });
        }
        Err(match (account.has_bought, rows > 10_000, account.balance) {
            (true, ..) => "credits",
            (false, true, _) => "rows",
            (false, false, 0) => "exhausted",
            (false, false, _) => "credits",
        })
    }

    fn pay(&mut self, id: u64, paid: &Paid, kind: EntryKind) {
        match paid {
            Paid::Nothing => {}
            Paid::Credits(credits) => self.change(id, kind, -(*credits as i64)),
            Paid::Free(month) => *self.account(id).free_used.entry(*month).or_default() += 1,
        }
    }

    /// Unpaid rows of the file, as far as a payment for it is remembered.
    fn unpaid(&self, id: u64, now: Moment) -> Option<u64> {
        self.grants.get(&id).filter(|(until, _)| now < *until).map(|(_, unpaid)| *unpaid)
    }

    fn settle_file(&mut self, open: &Open, promised: bool, rows: u64, at: Moment) {
        let held = if let Paid::Credits(held) = open.paid { held } else { 0 };
        let sold = if promised { held } else { rows.min(held) };
        if held > 0 {
            self.change(open.account, EntryKind::Settle, (held - sold) as i64);
        }
        let unpaid = held - sold;
        let keeps = self.unpaid(open.account, at).is_some_and(|known| known < unpaid);
        if !keeps && (sold > 0 || unpaid == 0) {
            self.grants.insert(open.account, (at.plus_seconds(DAY), unpaid));
        }
    }

    /// `at` is when the end was noted.
    fn settle(&mut self, open: &Open, rows: u64, is_answered: bool, at: Moment) {
        if let Some(promised) = open.file {
            return self.settle_file(open, promised, rows, at);
        }
        match open.paid {
            Paid::Credits(held) => {
                let back = held - rows.min(held);
                self.change(open.account, EntryKind::Settle, back as i64);
            }
            Paid::Free(month) if !is_answered && rows == 0 => {
                *self.account(open.account).free_used.get_mut(&month).unwrap() -= 1;
            }
            _ => {}
        }
    }
}

struct Open {
    /// Counts reservations, so that the oldest is known.
    number: usize,
    account: u64,
    paid: Paid,
    at: Moment,
    /// Of a download: whether parts were handed out on the strength of it.
    file: Option<bool>,
    reservation: Reservation,
}

struct Sold {
    account: u64,
    paid: Paid,
    receipt: Receipt,
    forget: Forget,
}

enum Forget {
    Nothing,
    Claim(u8),
    Grant(Option<(Moment, u64)>),
}

/// The books and the model, side by side.
pub struct World {
    desk: Desk,
    ledger: Option<Ledger>,
    model: Model,
    pub now: Moment,
    open: Vec<Open>,
    opened: usize,
    sold: Vec<Sold>,
}

impl World {
    pub fn new() -> World {
        let desk = Desk::new();
        let ledger = desk.open();
        for _ in 0..ACCOUNTS {
            ledger.create_account("model", noon()).unwrap();
        }
        let (model, open, sold) = (Model::default(), Vec::new(), Vec::new());
        World { desk, ledger: Some(ledger), model, now: noon(), open, opened: 0, sold }
    }

    pub fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().unwrap()
    }

    /// Does a step to both.
    pub fn take(&mut self, step: &Step) {
        match step.clone() {
            Step::Buy { account, credits } => {
                let id = mercato::ledger::AccountId::from_number(account);
                self.ledger().buy(id, credits, None, "", "", self.now).unwrap();
                self.model.account(account).has_bought = true;
                self.model.change(account, EntryKind::Purchase, credits as i64);
            }
            Step::Grant { account, credits } => {
                let id = mercato::ledger::AccountId::from_number(account);
                self.ledger().grant(id, credits, "", "", self.now).unwrap();
                self.model.change(account, EntryKind::Grant, credits as i64);
            }
            Step::Charge { account, rows, claim } => self.charge(account, rows, claim),
            Step::Download { account, rows, range } => self.download(account, rows, range),
            Step::Reserve { account, rows } => self.reserve(account, rows),
            Step::Settle { which, rows } => {
                let Some(open) = take_one(&mut self.open, which) else { return };
                self.model.settle(&open, rows, true, self.now);
                open.reservation.settle(rows, self.now).unwrap().wait().unwrap();
            }
            Step::Abandon { which, rows } => {
                let Some(open) = take_one(&mut self.open, which) else { return };
                self.model.settle(&open, rows, false, self.now);
                open.reservation.delivered(rows, self.now);
                drop(open);
                // Work after it shows that it was carried out.
                self.ledger().verify().unwrap();
            }
            Step::Refund { which } => self.refund(which),
            Step::CreateKey { account } => self.create_key(account),
            Step::RevokeKey { which } => {
                let Some(place) = place_of(self.model.keys.len(), which) else { return };
                self.ledger().revoke_key(self.model.keys[place].id, self.now).unwrap();
                self.model.keys[place].revoked = true;
            }
            Step::RotateKey { which, grace_seconds } => self.rotate_key(which, grace_seconds),
            Step::Wait { seconds } => self.now = self.now.plus_seconds(seconds),
            Step::Restart => {
                for open in std::mem::take(&mut self.open) {
                    self.model.settle(&open, 0, false, open.at);
                    drop(open);
                }
                self.reopen();
            }
            Step::Kill { rows } => self.kill(rows),
        }
    }

    fn charge(&mut self, account: u64, rows: u64, claim: Option<(u8, u8)>) {
        let who = handle(self.ledger(), mercato::ledger::AccountId::from_number(account));
        let mut order = page(&who, rows, self.now);
        order.claim = claim.and_then(|(key, body)| claimed(&key.to_string(), &body.to_string()));
        let result = self.ledger().submit_charge(order).unwrap().wait();
        if let Some((key, body)) = claim
            && let Some((paid_body, until)) = self.model.claims.get(&(account, key))
            && self.now < *until
        {
            match result {
                Ok(receipt) => assert!(*paid_body == body && receipt.replayed && receipt.charged == 0),
                Err(error) => assert!(*paid_body != body && error == ChargeError::IdempotencyMismatch),
            }
            return;
        }
        match (self.model.price(account, rows, self.now), result) {
            (Ok(paid), Ok(receipt)) => {
                self.model.pay(account, &paid, EntryKind::Charge);
                let forget = claim.map_or(Forget::Nothing, |(key, body)| {
                    self.model.claims.insert((account, key), (body, self.now.plus_seconds(DAY)));
                    Forget::Claim(key)
                });
                self.sold.push(Sold { account, paid, receipt, forget });
            }
            (Err(reason), Err(error)) => assert_eq!(reason, name(&error)),
            (expected, found) => panic!("expected {expected:?}, found {found:?}"),
        }
    }

    fn download(&mut self, account: u64, rows: u64, range: bool) {
        let who = handle(self.ledger(), mercato::ledger::AccountId::from_number(account));
        let order = download(&who, rows, self.now);
        if range {
            return self.part(account, rows, order);
        }
        let result = self.ledger().reserve_download(order);
        if rows > self.model.account(account).balance {
            assert_eq!(name(&result.err().unwrap()), "credits");
            return;
        }
        let paid = if rows == 0 { Paid::Nothing } else { Paid::Credits(rows) };
        self.model.pay(account, &paid, EntryKind::Reserve);
        self.push_open(account, paid, Some(false), result.unwrap());
    }

    fn push_open(&mut self, account: u64, paid: Paid, file: Option<bool>, reservation: Reservation) {
        self.opened += 1;
        self.open.push(Open { number: self.opened, account, paid, at: self.now, file, reservation });
    }

    fn part(&mut self, account: u64, rows: u64, order: DownloadOrder) {
        let result = self.ledger().submit_part(order).unwrap().wait();
        let unpaid = self.model.unpaid(account, self.now);
        let running = self.open.iter_mut().filter(|open| open.account == account && open.file.is_some());
        let running = running.filter(|_| unpaid != Some(0)).min_by_key(|open| open.number);
        if unpaid == Some(0) || running.is_some() {
            if let Some(open) = running {
                open.file = Some(true);
            }
            assert!(result.is_ok_and(|receipt| receipt.replayed && receipt.charged == 0));
            return;
        }
        let cost = unpaid.map_or(rows, |unpaid| unpaid.min(rows));
        if cost > self.model.account(account).balance {
            assert_eq!(name(&result.unwrap_err()), "credits");
            return;
        }
        let paid = if cost == 0 { Paid::Nothing } else { Paid::Credits(cost) };
        self.model.pay(account, &paid, EntryKind::Charge);
        let previous = unpaid.and_then(|_| self.model.grants.get(&account).copied());
        self.model.grants.insert(account, (self.now.plus_seconds(DAY), 0));
        self.sold.push(Sold { account, paid, receipt: result.unwrap(), forget: Forget::Grant(previous) });
    }

    fn reserve(&mut self, account: u64, rows: u64) {
        let who = handle(self.ledger(), mercato::ledger::AccountId::from_number(account));
        let result = self.ledger().reserve(stream(&who, rows, self.now));
        match (self.model.price(account, rows, self.now), result) {
            (Ok(paid), Ok(reservation)) => {
                self.model.pay(account, &paid, EntryKind::Reserve);
                self.push_open(account, paid, None, reservation);
            }
            (Err(reason), Err(error)) => assert_eq!(reason, name(&error)),
            (expected, found) => panic!("expected {expected:?}, found {:?}", found.is_ok()),
        }
    }

    fn refund(&mut self, which: usize) {
        let Some(sold) = take_one(&mut self.sold, which) else { return };
        self.ledger().submit_refund(sold.receipt, self.now).unwrap().wait().unwrap();
        match sold.paid {
            Paid::Nothing => {}
            Paid::Credits(credits) => self.model.change(sold.account, EntryKind::Refund, credits as i64),
            Paid::Free(month) => {
                let used = self.model.account(sold.account).free_used.entry(month).or_default();
                *used = used.saturating_sub(1);
            }
        }
        match sold.forget {
            Forget::Nothing => {}
            Forget::Claim(key) => drop(self.model.claims.remove(&(sold.account, key))),
            Forget::Grant(None) => drop(self.model.grants.remove(&sold.account)),
            Forget::Grant(Some(previous)) => drop(self.model.grants.insert(sold.account, previous)),
        }
    }

    fn create_key(&mut self, account: u64) {
        let id = mercato::ledger::AccountId::from_number(account);
        let created = self.ledger().create_key(id, "", self.random(), self.now).unwrap();
        self.take_in_key(&created, account);
    }

    fn rotate_key(&mut self, which: usize, grace_seconds: u64) {
        let Some(place) = place_of(self.model.keys.len(), which) else { return };
        let (id, account) = (self.model.keys[place].id, self.model.keys[place].account);
        let rotated = self.ledger().rotate_key(id, "", grace_seconds, self.random(), self.now);
        let is_dead = |key: &ModelKey| key.revoked || key.end.is_some_and(|end| end <= self.now);
        if is_dead(&self.model.keys[place]) {
            assert!(rotated.is_err());
            return;
        }
        let end = self.now.plus_seconds(grace_seconds as i64);
        let old = &mut self.model.keys[place];
        old.end = Some(old.end.map_or(end, |earlier| earlier.min(end)));
        self.take_in_key(&rotated.unwrap(), account);
    }

    fn take_in_key(&mut self, created: &CreatedKey, account: u64) {
        let (id, hash) = (created.view.id, created.plain.hash());
        self.model.keys.push(ModelKey { id, hash, account, revoked: false, end: None });
    }

    /// Different for each key.
    fn random(&self) -> [u8; 32] {
        [self.model.keys.len() as u8; 32]
    }

    fn compare_keys(&self) {
        for key in &self.model.keys {
            let found = self.ledger().find_key(&key.hash).unwrap();
            assert_eq!((found.id(), found.account().id().number()), (key.id, key.account));
            assert_eq!((found.revoked_at().is_some(), found.expires_at()), (key.revoked, key.end));
        }
    }

    /// The handles of running streams vanish with their process: nothing tells the books but the last note.
    fn kill(&mut self, rows: u64) {
        let open = std::mem::take(&mut self.open);
        for open in open {
            open.reservation.delivered(rows, self.now);
            self.model.settle(&open, rows, false, noon());
            std::mem::forget(open.reservation);
        }
        self.reopen();
    }

    fn reopen(&mut self) {
        self.ledger = None;
        self.ledger = Some(self.desk.open());
    }

    /// Balances, free queries and keys.
    pub fn compare(&mut self) {
        self.compare_keys();
        for id in 1..=ACCOUNTS {
            let account = handle(self.ledger(), mercato::ledger::AccountId::from_number(id));
            let expected = self.model.account(id);
            assert_eq!(account.credits(), expected.balance, "acc_{id}");
            let month = self.now.month().number();
            let free =
                (!expected.has_bought).then(|| 100 - expected.free_used.get(&month).copied().unwrap_or(0));
            assert_eq!(self.ledger().account_view(&account, self.now).free_queries_remaining, free);
        }
    }

    /// Every entry and the sums, at the end; running streams end with it.
    pub fn finish(mut self) {
        let (entries, _) = self.ledger().entries(None, 1, 10_000).unwrap();
        let found: Vec<_> = entries
            .iter()
            .map(|entry| (entry.account.number(), entry.kind, entry.amount, entry.balance))
            .collect();
        assert_eq!(found, self.model.entries);
        let report = self.ledger().verify().unwrap();
        assert!(report.is_balanced(), "{report:?}");
        assert_eq!(report.open_reservations as usize, self.open.len());
        self.open.clear();
    }
}

fn place_of(count: usize, which: usize) -> Option<usize> {
    which.checked_rem(count)
}

fn take_one<T>(items: &mut Vec<T>, which: usize) -> Option<T> {
    if items.is_empty() { None } else { Some(items.remove(which % items.len())) }
}

fn name(error: &ChargeError) -> &'static str {
    match error {
        ChargeError::InsufficientCredits { .. } => "credits",
        ChargeError::FreePlanExhausted { .. } => "exhausted",
        ChargeError::FreeRowsExceeded { .. } => "rows",
        other => panic!("{other}"),
    }
}
