//! A plain model of the books: what balances, free queries, keys, claims and entries should be, kept the simplest way.
//! Does not depend on the ledger.

use std::collections::{HashMap, HashSet};

use mercato_base::clock::Moment;
use mercato_ledger::{EntryKind, FreePlan, KeyHash, KeyId};

/// Seconds of a day.
pub const DAY: i64 = 86_400;
/// Paid rows of an answer of which nothing is left to pay.
pub const WHOLE: u64 = u64::MAX;

/// The expected state of the books.
#[derive(Default)]
pub struct Model {
    accounts: HashMap<u64, ModelAccount>,
    /// By account and key.
    pub claims: HashMap<(u64, u8), Remembered>,
    /// The end and the unpaid rows of the one file that each account downloads.
    pub grants: HashMap<u64, (Moment, u64)>,
    /// Accounts that were sent a part of the file again after it was paid.
    pub repeated: HashSet<u64>,
    pub entries: Vec<(u64, EntryKind, i64, u64)>,
    pub keys: Vec<ModelKey>,
}

pub struct ModelKey {
    pub id: KeyId,
    pub hash: KeyHash,
    pub account: u64,
    pub revoked: bool,
    pub end: Option<Moment>,
}

#[derive(Default)]
pub struct ModelAccount {
    pub balance: u64,
    pub has_bought: bool,
    pub free_used: HashMap<i32, u32>,
}

/// An idempotency key and the request that it is sent with.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub key: u8,
    pub request: String,
}

/// A paid claim of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    pub request: String,
    pub until: Moment,
    pub paid_rows: u64,
    /// Whether a page was answered again for it.
    pub is_repeated: bool,
}

/// What the model gives for nothing: little, so that histories get beyond it.
pub const FREE_PLAN: FreePlan = FreePlan { queries_per_month: 7, rows_per_query: 50 };

/// How something was paid, as far as undoing it goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Paid {
    Nothing,
    Credits(u64),
    Free(i32),
}

/// An answer on its way.
pub struct Held {
    pub account: u64,
    pub paid: Paid,
    pub at: Moment,
    /// Of a download: whether parts were handed out on the strength of it.
    pub file: Option<bool>,
    pub claim: Option<Claim>,
    /// Rows that were paid before under the key.
    pub paid_before: u64,
}

/// How an answer ends.
#[derive(Clone, Copy)]
pub enum End {
    /// As it should, after so many rows.
    Whole(u64),
    /// It breaks off after so many rows.
    BrokenOff(u64),
    /// It breaks off and costs nothing.
    Waived,
}

impl Held {
    pub fn credits(&self) -> u64 {
        if let Paid::Credits(credits) = self.paid { credits } else { 0 }
    }
}

impl Model {
    pub fn change(&mut self, id: u64, kind: EntryKind, amount: i64) {
        let account = self.accounts.entry(id).or_default();
        account.balance =
            account.balance.checked_add_signed(amount).expect("the model never goes below zero");
        self.entries.push((id, kind, amount, account.balance));
    }

    pub fn account(&mut self, id: u64) -> &mut ModelAccount {
        self.accounts.entry(id).or_default()
    }

    /// The price of a query of so many rows, or the name of the refusal.
    pub fn price(&mut self, id: u64, rows: u64, now: Moment) -> Result<Paid, &'static str> {
        let month = now.month().number();
        let account = self.account(id);
        let used = account.free_used.get(&month).copied().unwrap_or(0);
        let is_small = rows <= FREE_PLAN.rows_per_query;
        if is_small && used < FREE_PLAN.queries_per_month {
            return Ok(Paid::Free(month));
        }
        if is_small && !account.has_bought && account.balance == 0 {
            return Err("exhausted");
        }
        self.price_in_credits(id, rows)
    }

    /// The price of rows that only credits pay for.
    pub fn price_in_credits(&mut self, id: u64, rows: u64) -> Result<Paid, &'static str> {
        match rows {
            0 => Ok(Paid::Nothing),
            _ if rows > self.account(id).balance => Err("credits"),
            _ => Ok(Paid::Credits(rows)),
        }
    }

    pub fn pay(&mut self, id: u64, paid: &Paid, kind: EntryKind) {
        match paid {
            Paid::Nothing => {}
            Paid::Credits(credits) => self.change(id, kind, -(*credits as i64)),
            Paid::Free(month) => *self.account(id).free_used.entry(*month).or_default() += 1,
        }
    }

    pub fn give_back(&mut self, id: u64, paid: &Paid) {
        match paid {
            Paid::Nothing => {}
            Paid::Credits(credits) => self.change(id, EntryKind::Refund, *credits as i64),
            Paid::Free(month) => {
                let used = self.account(id).free_used.entry(*month).or_default();
                *used = used.saturating_sub(1);
            }
        }
    }

    pub fn keep_grant(&mut self, id: u64, grant: (Moment, u64)) {
        self.grants.insert(id, grant);
        self.repeated.remove(&id);
    }

    /// Unpaid rows of the file, as far as a payment for it is remembered.
    pub fn unpaid(&self, id: u64, now: Moment) -> Option<u64> {
        self.grants.get(&id).filter(|(until, _)| now < *until).map(|(_, unpaid)| *unpaid)
    }

    /// The claim of a key, until it expires.
    pub fn remembered(&self, id: u64, key: u8, now: Moment) -> Option<&Remembered> {
        self.claims.get(&(id, key)).filter(|remembered| now < remembered.until)
    }

    /// A key pays for so many rows of its request.
    pub fn remember(&mut self, id: u64, claim: &Claim, paid_rows: u64, at: Moment) {
        let (request, until) = (claim.request.clone(), at.plus_seconds(DAY));
        self.claims.insert((id, claim.key), Remembered { request, until, paid_rows, is_repeated: false });
    }

    /// `at` is when the end was noted.
    pub fn settle(&mut self, held: &Held, end: End, at: Moment) {
        let (rows, is_whole) = match end {
            End::Whole(rows) => (rows, true),
            End::BrokenOff(rows) => (rows, false),
            End::Waived => (0, false),
        };
        let is_promised = held.file == Some(true) && !matches!(end, End::Waived);
        let is_answered = is_whole || rows > 0 || is_promised;
        let owed = rows.saturating_sub(held.paid_before).min(held.credits());
        let sold = if is_promised { held.credits() } else { owed };
        let unpaid = held.credits() - sold;
        if held.credits() > 0 {
            self.change(held.account, EntryKind::Settle, unpaid as i64);
        }
        if let Paid::Free(month) = held.paid
            && !is_answered
        {
            *self.account(held.account).free_used.get_mut(&month).unwrap() -= 1;
        }
        let knows_better = self.unpaid(held.account, at).is_some_and(|known| known < unpaid);
        if held.file.is_some() && sold > 0 && !knows_better {
            self.keep_grant(held.account, (at.plus_seconds(DAY), unpaid));
        }
        if is_answered {
            let is_all = is_whole || is_promised || matches!(held.paid, Paid::Free(_));
            self.settle_claim(held, if is_all { WHOLE } else { rows.max(held.paid_before) }, sold, at);
        }
    }

    /// A day counts from the last payment: an answer that is given again for nothing does not prolong it.
    fn settle_claim(&mut self, held: &Held, paid_rows: u64, sold: u64, at: Moment) {
        let Some(claim) = &held.claim else { return };
        if held.paid_before == 0 || sold > 0 {
            self.remember(held.account, claim, paid_rows, at);
        } else if let Some(remembered) = self.claims.get_mut(&(held.account, claim.key)) {
            remembered.paid_rows = paid_rows;
        }
    }
}
