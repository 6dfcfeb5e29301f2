//! The record of an account: balance, plan and free queries of the month.
//!
//! Pure arithmetic over the record.

use serde::{Deserialize, Serialize};

use super::codec::Record;
use super::id::AccountId;
use crate::clock::{Moment, UtcMonth};
use crate::ledger::error::ChargeError;
use crate::limits::ledger::{FREE_QUERIES_PER_MONTH, FREE_ROWS_PER_QUERY_MAX};

/// How an account pays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Plan {
    /// Has never bought credits, and gets free queries each calendar month.
    Free,
    /// Has bought credits: every row costs one.
    Prepaid,
}

impl Plan {
    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Plan::Free => "free",
            Plan::Prepaid => "prepaid",
        }
    }
}

/// The payment of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Payment {
    /// Credits.
    Credits(u64),
    /// One free query of this month.
    FreeQuery(UtcMonth),
}

impl Payment {
    /// Credits that it takes.
    pub const fn credits(self) -> u64 {
        match self {
            Payment::Credits(credits) => credits,
            Payment::FreeQuery(_) => 0,
        }
    }
}

/// A purpose, to check whether the account can afford any of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spending {
    /// A page of rows.
    Query,
    /// A stream with its row limit.
    Stream {
        /// The `limit` of the stream.
        limit: u64,
    },
    /// A whole file.
    Download,
}

/// The numbers on which every decision about paying rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Balance {
    /// Available credits, without reserved ones.
    pub credits: u64,
    /// Whether credits were ever bought.
    pub has_bought: bool,
    /// The latest month in which a free query was used.
    pub free_month: UtcMonth,
    /// Free queries used in that month.
    pub free_used: u32,
}

impl Balance {
    /// The plan.
    pub const fn plan(&self) -> Plan {
        if self.has_bought { Plan::Prepaid } else { Plan::Free }
    }

    /// The month that counts at a moment: a clock that steps back does not open an old month again.
    pub fn month_at(&self, now: Moment) -> UtcMonth {
        now.month().max(self.free_month)
    }

    /// Free queries left in the month of this moment.
    pub fn free_remaining(&self, now: Moment) -> u32 {
        let used = if self.month_at(now) == self.free_month { self.free_used } else { 0 };
        FREE_QUERIES_PER_MONTH.saturating_sub(used)
    }

    /// The payment of a query or stream of so many rows.
    ///
    /// A free account uses its free queries first, and granted credits for everything beyond them.
    pub fn pay_query(&self, rows: u64, now: Moment) -> Result<Payment, ChargeError> {
        if self.has_bought {
            return self.pay_credits(rows);
        }
        let is_small = rows <= FREE_ROWS_PER_QUERY_MAX;
        if is_small && self.free_remaining(now) > 0 {
            return Ok(Payment::FreeQuery(self.month_at(now)));
        }
        if self.credits > 0 && rows <= self.credits {
            return Ok(Payment::Credits(rows));
        }
        if !is_small {
            return Err(ChargeError::FreeRowsExceeded { limit: FREE_ROWS_PER_QUERY_MAX, requested: rows });
        }
        if self.credits > 0 {
            return self.pay_credits(rows);
        }
        Err(ChargeError::FreePlanExhausted {
            allowance: FREE_QUERIES_PER_MONTH,
            resets_at: self.month_at(now).end(),
        })
    }

    /// The payment of a purpose that free queries do not cover.
    pub const fn pay_credits(&self, rows: u64) -> Result<Payment, ChargeError> {
        if rows > self.credits {
            return Err(ChargeError::InsufficientCredits { required: rows, available: self.credits });
        }
        Ok(Payment::Credits(rows))
    }

    /// Refuses a purpose of which the account can afford nothing, before any work is done.
    pub fn afford_anything(&self, spending: Spending, now: Moment) -> Result<Payment, ChargeError> {
        match spending {
            Spending::Download => self.pay_credits(1),
            Spending::Query => self.pay_query(1, now),
            // A prepaid stream that finds fewer rows than its limit may be affordable; a free one asks for too much.
            Spending::Stream { limit } if self.credits == 0 => self.pay_query(limit, now),
            Spending::Stream { .. } => self.pay_query(1, now),
        }
    }

    /// Uses one free query.
    pub fn use_free_query(&mut self, month: UtcMonth) {
        if month != self.free_month {
            self.free_month = month;
            self.free_used = 0;
        }
        self.free_used = self.free_used.saturating_add(1);
    }

    /// Gives one free query back, unless its month is over.
    pub const fn return_free_query(&mut self, month: UtcMonth) {
        if month.number() == self.free_month.number() {
            self.free_used = self.free_used.saturating_sub(1);
        }
    }
}

/// An account as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AccountRecord {
    /// Its id.
    pub id: AccountId,
    /// Its name, as the operator gave it.
    pub name: String,
    /// When it was created.
    pub created_at: Moment,
    /// The balance.
    pub balance: Balance,
    /// Its newest entry, or zero: ties the record to the entries.
    pub last_sequence: u64,
}

impl AccountRecord {
    /// A new account without credits.
    pub fn new(id: AccountId, name: String, now: Moment) -> AccountRecord {
        let balance = Balance { credits: 0, has_bought: false, free_month: now.month(), free_used: 0 };
        AccountRecord { id, name, created_at: now, balance, last_sequence: 0 }
    }
}

impl Record for AccountRecord {
    const NAME: &'static str = "account";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::UtcDay;

    fn balance(credits: u64, has_bought: bool, free_used: u32) -> Balance {
        Balance { credits, has_bought, free_month: noon().month(), free_used }
    }

    fn noon() -> Moment {
        UtcDay::from_civil(2026, 2, 28).start().plus_seconds(43_200)
    }

    #[test]
    fn charges_prepaid_account_per_row_or_refuses() {
        assert_eq!(balance(10, true, 0).pay_query(10, noon()), Ok(Payment::Credits(10)));
        assert_eq!(balance(10, true, 0).pay_query(0, noon()), Ok(Payment::Credits(0)));
        let refused = Err(ChargeError::InsufficientCredits { required: 11, available: 10 });
        assert_eq!(balance(10, true, 0).pay_query(11, noon()), refused);
    }

    #[test]
    fn grants_hundred_free_queries_per_month() {
        let march = noon().plus_seconds(86_400);
        assert!(matches!(balance(0, false, 99).pay_query(10_000, noon()), Ok(Payment::FreeQuery(_))));
        assert!(matches!(balance(0, false, 100).pay_query(1, march), Ok(Payment::FreeQuery(_))));
        assert_eq!(
            balance(0, false, 100).pay_query(1, noon()),
            Err(ChargeError::FreePlanExhausted { allowance: 100, resets_at: march.day().start() })
        );
        let refused = Err(ChargeError::FreeRowsExceeded { limit: 10_000, requested: 10_001 });
        assert_eq!(balance(0, false, 0).pay_query(10_001, noon()), refused);
    }

    #[test]
    fn pays_with_granted_credits_beyond_free_plan() {
        assert!(matches!(balance(50, false, 0).pay_query(5, noon()), Ok(Payment::FreeQuery(_))));
        assert_eq!(balance(50, false, 100).pay_query(5, noon()), Ok(Payment::Credits(5)));
        assert_eq!(balance(20_000, false, 0).pay_query(15_000, noon()), Ok(Payment::Credits(15_000)));
    }

    #[test]
    fn keeps_month_when_clock_steps_back() {
        let mut used = balance(0, false, 100);
        let january = noon().plus_seconds(-40 * 86_400);
        assert_eq!(used.free_remaining(january), 0);
        used.return_free_query(january.month());
        assert_eq!(used.free_remaining(noon()), 0);
        used.return_free_query(noon().month());
        assert_eq!(used.free_remaining(noon()), 1);
    }

    #[test]
    fn round_trips_account() {
        let mut account = AccountRecord::new(AccountId::from_number(3), "Città di Roma".to_owned(), noon());
        account.balance = balance(77, true, 5);
        account.last_sequence = 12;
        assert_eq!(AccountRecord::decode(&account.encode()), Ok(account));
    }
}
