//! Steps that the books and the plain model take side by side: after every step the balances agree, at the end the
//! entries and the idempotency keys do too. Does not depend on where histories come from: a property test and a fuzz target make
//! them.

use mercato_base::clock::Moment;
use mercato_ledger::{
    AccountHandle, AccountId, ChargeError, ChargeRequest, ClaimKind, CreatedKey, EntryKind, IdempotencyClaim,
    Ledger, Pending, Receipt, Reservation,
};

use crate::desk::{Desk, claimed, claimed_download, handle, noon, page, stream};
use crate::model::{Claim, DAY, End, FREE_PLAN, Held, Model, ModelKey, Paid, Remembered, WHOLE};

/// Accounts of every history, numbered from 1.
pub const ACCOUNTS: u64 = 3;
/// Idempotency keys of every history, numbered from 0.
pub const CLAIM_KEYS: u8 = 4;
/// Requests of each kind that a key is sent with.
pub const REQUESTS: u8 = 2;

/// A key and the request that it is sent with, by their numbers.
pub type ClaimNumbers = Option<(u8, u8)>;

/// One operation of a history.
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
        claim: ClaimNumbers,
    },
    Download {
        account: u64,
        rows: u64,
        range: bool,
        claim: ClaimNumbers,
    },
    Reserve {
        account: u64,
        rows: u64,
        claim: ClaimNumbers,
    },
    Settle {
        which: usize,
        rows: u64,
    },
    Abandon {
        which: usize,
        rows: u64,
    },
    Waive {
        which: usize,
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

struct Open {
    /// Counts reservations, so that the oldest is known.
    number: usize,
    held: Held,
    reservation: Reservation,
}

struct Sold {
    account: u64,
    paid: Paid,
    receipt: Receipt,
    forget: Vec<Forget>,
}

/// The state that a refund restores.
enum Forget {
    Claim(u8, Option<Remembered>),
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
        let ledger = desk.open().with_free_plan(FREE_PLAN);
        for _ in 0..ACCOUNTS {
            ledger.create_account("model", noon()).unwrap();
        }
        let (model, open, sold) = (Model::default(), Vec::new(), Vec::new());
        World { desk, ledger: Some(ledger), model, now: noon(), open, opened: 0, sold }
    }

    pub fn ledger(&self) -> &Ledger {
        self.ledger.as_ref().unwrap()
    }

    fn handle(&self, account: u64) -> AccountHandle {
        handle(self.ledger(), AccountId::from_number(account))
    }

    /// Does a step to both.
    pub fn take(&mut self, step: &Step) {
        match step.clone() {
            Step::Buy { account, credits } => {
                self.ledger().buy(AccountId::from_number(account), credits, None, "", "", self.now).unwrap();
                self.model.account(account).has_bought = true;
                self.model.change(account, EntryKind::Purchase, credits as i64);
            }
            Step::Grant { account, credits } => {
                self.ledger().grant(AccountId::from_number(account), credits, "", "", self.now).unwrap();
                self.model.change(account, EntryKind::Grant, credits as i64);
            }
            Step::Charge { account, rows, claim } => {
                self.charge(account, rows, named("page", claim).as_ref())
            }
            Step::Download { account, rows, range: false, claim } => {
                self.download(account, rows, named("file", claim));
            }
            Step::Download { account, rows, range: true, claim } => {
                self.part(account, rows, named("file", claim).as_ref());
            }
            Step::Reserve { account, rows, claim } => self.reserve(account, rows, named("stream", claim)),
            Step::Settle { which, rows } => {
                let Some(open) = take_one(&mut self.open, which) else { return };
                self.model.settle(&open.held, End::Whole(rows), self.now);
                open.reservation.settle(rows, self.now).and_then(Pending::durable).unwrap();
            }
            Step::Abandon { which, rows } => {
                let Some(open) = take_one(&mut self.open, which) else { return };
                self.model.settle(&open.held, End::BrokenOff(rows), self.now);
                open.reservation.delivered(rows, self.now);
                drop(open);
                // Work after it shows that it was carried out.
                self.ledger().verify().unwrap();
            }
            Step::Waive { which } => {
                let Some(open) = take_one(&mut self.open, which) else { return };
                self.model.settle(&open.held, End::Waived, self.now);
                open.reservation.delivered(7, self.now);
                open.reservation.waive(self.now);
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
                    self.model.settle(&open.held, End::BrokenOff(0), open.held.at);
                    drop(open);
                    // One after the other, so that their order is known.
                    self.ledger().verify().unwrap();
                }
                self.reopen();
            }
            Step::Kill { rows } => self.kill(rows),
        }
    }

    /// How many rows the key has paid for, or the name of the refusal.
    fn claimed(
        &self,
        account: u64,
        claim: Option<&Claim>,
        kind: ClaimKind,
    ) -> Result<Option<u64>, &'static str> {
        let Some(claim) = claim else { return Ok(None) };
        let has_key = |held: &&Held| held.claim.as_ref().is_some_and(|held| held.key == claim.key);
        let mut running = self.open.iter().map(|open| &open.held).filter(|held| held.account == account);
        if let Some(held) = running.find(has_key) {
            return match (held.claim.as_ref() == Some(claim), kind) {
                (false, _) => Err("mismatch"),
                (true, ClaimKind::Rows) => Err("in use"),
                (true, ClaimKind::File) => Ok(Some(held.paid_before)),
            };
        }
        match self.model.remembered(account, claim.key, self.now) {
            Some(remembered) if remembered.request != claim.request => Err("mismatch"),
            remembered => Ok(remembered.map(|remembered| remembered.paid_rows)),
        }
    }

    fn charge(&mut self, account: u64, rows: u64, claim: Option<&Claim>) {
        let free_queries = FREE_PLAN.queries_for(rows);
        let request =
            ChargeRequest { claim: wire(claim), free_queries, ..page(&self.handle(account), rows, self.now) };
        let result = self.ledger().charge(&request).and_then(Pending::durable);
        let expected = match self.claimed(account, claim, ClaimKind::Rows) {
            Ok(Some(_)) => {
                assert!(result.is_ok_and(|receipt| receipt.replayed && receipt.charged == 0));
                let key = (account, claim.unwrap().key);
                self.model.claims.get_mut(&key).unwrap().is_repeated = true;
                return;
            }
            Ok(None) => self.model.price(account, rows, self.now),
            Err(reason) => Err(reason),
        };
        match (expected, result) {
            (Ok(paid), Ok(receipt)) => {
                self.model.pay(account, &paid, EntryKind::Charge);
                let forget = claim.map(|claim| {
                    self.model.remember(account, claim, WHOLE, self.now);
                    Forget::Claim(claim.key, None)
                });
                let forget = forget.into_iter().collect();
                self.sold.push(Sold { account, paid, receipt, forget });
            }
            (Err(reason), Err(error)) => assert_eq!(reason, name(&error)),
            (expected, found) => panic!("expected {expected:?}, found {found:?}"),
        }
    }

    fn reserve(&mut self, account: u64, rows: u64, claim: Option<Claim>) {
        let (claimed, free_queries) = (wire(claim.as_ref()), FREE_PLAN.queries_for(rows));
        let plain = stream(&self.handle(account), rows, self.now);
        let request = ChargeRequest { claim: claimed, free_queries, ..plain };
        let result = self.ledger().reserve(&request);
        let price = self.model.price(account, rows, self.now);
        self.begin(account, rows, claim, price, None, result);
    }

    fn download(&mut self, account: u64, rows: u64, claim: Option<Claim>) {
        let request = claimed_download(&self.handle(account), rows, self.now, wire(claim.as_ref()));
        let result = self.ledger().reserve_download(&request);
        let price = self.model.price_in_credits(account, rows);
        self.begin(account, rows, claim, price, Some(false), result);
    }

    /// Begins an answer: at its price, or, under a key that was used for it, for what is not paid of it.
    fn begin(
        &mut self,
        account: u64,
        rows: u64,
        claim: Option<Claim>,
        price: Result<Paid, &'static str>,
        file: Option<bool>,
        result: Result<Reservation, ChargeError>,
    ) {
        let paid_before = self.claimed(account, claim.as_ref(), ClaimKind::Rows);
        let expected = paid_before.and_then(|before| match before {
            None => price,
            Some(before) => self.model.price_in_credits(account, rows.saturating_sub(before)),
        });
        match (expected, result) {
            (Ok(paid), Ok(reservation)) => {
                self.model.pay(account, &paid, EntryKind::Reserve);
                assert_eq!(reservation.is_replayed(), paid_before != Ok(None));
                let paid_before = paid_before.ok().flatten().unwrap_or(0);
                self.opened += 1;
                let held = Held { account, paid, at: self.now, file, claim, paid_before };
                self.open.push(Open { number: self.opened, held, reservation });
            }
            (Err(reason), Err(error)) => assert_eq!(reason, name(&error)),
            (expected, found) => panic!("expected {expected:?}, found {:?}", found.is_ok()),
        }
    }

    fn part(&mut self, account: u64, rows: u64, claim: Option<&Claim>) {
        let request = claimed_download(&self.handle(account), rows, self.now, wire(claim));
        let result = self.ledger().sell_part(&request).and_then(Pending::durable);
        if let Err(reason) = self.claimed(account, claim, ClaimKind::File) {
            assert_eq!(reason, name(&result.unwrap_err()));
            return;
        }
        let unpaid = self.model.unpaid(account, self.now);
        let of_file = |open: &&mut Open| open.held.account == account && open.held.file.is_some();
        let running = self.open.iter_mut().filter(of_file);
        let running = running.filter(|_| unpaid != Some(0)).min_by_key(|open| open.number);
        if unpaid == Some(0) || running.is_some() {
            match running {
                Some(open) => open.held.file = Some(true),
                None => drop(self.model.repeated.insert(account)),
            }
            assert!(result.is_ok_and(|receipt| receipt.replayed && receipt.charged == 0));
            return;
        }
        let cost = unpaid.map_or(rows, |unpaid| unpaid.min(rows));
        let paid = match self.model.price_in_credits(account, cost) {
            Ok(paid) => paid,
            Err(reason) => return assert_eq!(reason, name(&result.unwrap_err())),
        };
        self.model.pay(account, &paid, EntryKind::Charge);
        let previous = unpaid.and_then(|_| self.model.grants.get(&account).copied());
        self.model.keep_grant(account, (self.now.plus_seconds(DAY), 0));
        let mut forget = vec![Forget::Grant(previous)];
        if let Some(claim) = claim {
            let previous = self.model.claims.get(&(account, claim.key)).cloned();
            let before = self.model.remembered(account, claim.key, self.now);
            let sum = before.map_or(0, |before| before.paid_rows).saturating_add(cost);
            self.model.remember(account, claim, if sum >= rows { WHOLE } else { sum }, self.now);
            forget.push(Forget::Claim(claim.key, previous));
        }
        self.sold.push(Sold { account, paid, receipt: result.unwrap(), forget });
    }

    fn refund(&mut self, which: usize) {
        let Some(sold) = take_one(&mut self.sold, which) else { return };
        self.ledger().refund(sold.receipt, self.now).and_then(Pending::durable).unwrap();
        let is_repeated = sold.forget.iter().any(|forget| match forget {
            Forget::Claim(key, _) => {
                self.model.claims.get(&(sold.account, *key)).is_some_and(|claim| claim.is_repeated)
            }
            Forget::Grant(_) => self.model.repeated.contains(&sold.account),
        });
        if is_repeated {
            return;
        }
        self.model.give_back(sold.account, &sold.paid);
        for forget in sold.forget {
            match forget {
                Forget::Claim(key, None) => drop(self.model.claims.remove(&(sold.account, key))),
                Forget::Claim(key, Some(previous)) => {
                    self.model.claims.insert((sold.account, key), previous);
                }
                Forget::Grant(None) => drop(self.model.grants.remove(&sold.account)),
                Forget::Grant(Some(previous)) => self.model.keep_grant(sold.account, previous),
            }
        }
    }

    fn create_key(&mut self, account: u64) {
        let id = AccountId::from_number(account);
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
        for open in std::mem::take(&mut self.open) {
            open.reservation.delivered(rows, self.now);
            self.model.settle(&open.held, End::BrokenOff(rows), noon());
            std::mem::forget(open.reservation);
        }
        self.reopen();
    }

    /// Has the books carried from the folder of one desk to that of another. Running streams end.
    #[cfg(test)]
    pub fn relocate(&mut self, carry: impl FnOnce(&std::path::Path, &std::path::Path)) {
        self.take(&Step::Restart);
        self.ledger = None;
        let desk = Desk::new();
        carry(&self.desk.path(), &desk.path());
        self.desk = desk;
        self.ledger = Some(self.desk.open().with_free_plan(FREE_PLAN));
    }

    fn reopen(&mut self) {
        self.ledger = None;
        self.ledger = Some(self.desk.open().with_free_plan(FREE_PLAN));
    }

    /// Balances, what is held back, free queries and keys.
    pub fn compare(&mut self) {
        self.compare_keys();
        for id in 1..=ACCOUNTS {
            let account = self.handle(id);
            let of_account = self.open.iter().map(|open| &open.held).filter(|held| held.account == id);
            let reserved: u64 = of_account.map(Held::credits).sum();
            let expected = self.model.account(id);
            assert_eq!((account.credits(), account.reserved()), (expected.balance, reserved), "acc_{id}");
            let month = self.now.month().number();
            let used = expected.free_used.get(&month).copied().unwrap_or(0);
            let left = FREE_PLAN.queries_per_month - used;
            assert_eq!(self.ledger().account_view(&account, self.now).free_queries_remaining, left);
        }
    }

    /// Every entry, the sums and what the idempotency keys stand for, at the end; running streams end with it.
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
        self.compare_claims();
        self.open.clear();
    }

    fn compare_claims(&self) {
        for (id, key) in (1..=ACCOUNTS).flat_map(|id| (0..CLAIM_KEYS).map(move |key| (id, key))) {
            let requests = ["page", "stream", "file"].into_iter();
            for (what, request) in requests.flat_map(|what| (0..REQUESTS).map(move |number| (what, number))) {
                let claim = named(what, Some((key, request)));
                for kind in [ClaimKind::Rows, ClaimKind::File] {
                    let claims: Vec<_> = wire(claim.as_ref()).into_iter().collect();
                    let found = self.ledger().paid_among(&self.handle(id), kind, &claims, self.now);
                    let expected = self.claimed(id, claim.as_ref(), kind).map(|paid| paid.map(|_| 0));
                    assert_eq!(found.map_err(|error| name(&error)), expected, "acc_{id} {claim:?}");
                }
            }
        }
    }
}

fn named(what: &str, numbers: ClaimNumbers) -> Option<Claim> {
    numbers.map(|(key, request)| Claim { key, request: format!("{what} {request}") })
}

fn wire(claim: Option<&Claim>) -> Option<IdempotencyClaim> {
    claim.and_then(|claim| claimed(&claim.key.to_string(), &claim.request))
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
        ChargeError::IdempotencyMismatch => "mismatch",
        ChargeError::IdempotencyInUse => "in use",
        other => panic!("{other}"),
    }
}
