//! The record of an account: balance, plan and free queries of the month.
//!
//! Pure arithmetic over the record.

use serde::{Deserialize, Serialize};

use super::codec::Record;
use super::id::AccountId;
use crate::error::ChargeError;
use crate::limits::{FREE_QUERIES_PER_MONTH, FREE_ROWS_PER_QUERY};
use mercato_base::clock::{Moment, UtcMonth};

/// How an account pays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Plan {
    /// Has never bought credits.
    Free,
    /// Has bought credits. The free queries of each month stay, and are used first.
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

/// What every account may ask for without credits in a calendar month.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreePlan {
    /// Free queries of a month.
    pub queries_per_month: u32,
    /// The greatest `limit` of one of them.
    pub rows_per_query: u64,
}

impl Default for FreePlan {
    fn default() -> FreePlan {
        FreePlan { queries_per_month: FREE_QUERIES_PER_MONTH, rows_per_query: FREE_ROWS_PER_QUERY }
    }
}

impl FreePlan {
    /// The free queries of a month that may answer a request with this `limit`.
    pub const fn queries_for(self, limit: u64) -> u32 {
        if limit <= self.rows_per_query { self.queries_per_month } else { 0 }
    }
}

/// The payment of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Payment {
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
    /// A page or a stream.
    Rows {
        /// Its `limit`.
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
    pub const fn plan(&self) -> Plan {
        if self.has_bought { Plan::Prepaid } else { Plan::Free }
    }

    /// The month that counts at a moment: a clock that steps back does not open an old month again.
    pub fn month_at(&self, now: Moment) -> UtcMonth {
        now.month().max(self.free_month)
    }

    /// Free queries left in the month of this moment, of so many.
    pub fn free_remaining(&self, free_queries: u32, now: Moment) -> u32 {
        let used = if self.month_at(now) == self.free_month { self.free_used } else { 0 };
        free_queries.saturating_sub(used)
    }

    /// The payment of a query or stream of so many rows: one of so many free queries while any is left, then credits.
    pub fn pay_query(&self, rows: u64, free_queries: u32, now: Moment) -> Result<Payment, ChargeError> {
        if self.free_remaining(free_queries, now) > 0 {
            return Ok(Payment::FreeQuery(self.month_at(now)));
        }
        if !self.has_bought && self.credits == 0 && free_queries > 0 {
            return Err(ChargeError::FreePlanExhausted {
                allowance: free_queries,
                resets_at: self.month_at(now).end(),
            });
        }
        self.pay_credits(rows)
    }

    /// The payment of a purpose that free queries do not cover.
    pub const fn pay_credits(&self, rows: u64) -> Result<Payment, ChargeError> {
        if rows > self.credits {
            return Err(ChargeError::InsufficientCredits { required: rows, available: self.credits });
        }
        Ok(Payment::Credits(rows))
    }

    /// Refuses a purpose of which the account can afford nothing, before any work is done.
    pub fn afford_anything(
        &self,
        spending: Spending,
        plan: FreePlan,
        now: Moment,
    ) -> Result<Payment, ChargeError> {
        let Spending::Rows { limit } = spending else { return self.pay_credits(1) };
        if self.credits > 0 {
            return self.pay_query(1, plan.queries_for(limit), now);
        }
        let payment = self.pay_query(1, plan.queries_per_month, now)?;
        if limit > plan.rows_per_query {
            return Err(ChargeError::FreeRowsExceeded { limit: plan.rows_per_query, requested: limit });
        }
        Ok(payment)
    }

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
    pub id: AccountId,
    /// Its name, as the operator gave it.
    pub name: String,
    pub created_at: Moment,
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
    use mercato_base::clock::UtcDay;

    fn balance(credits: u64, has_bought: bool, free_used: u32) -> Balance {
        Balance { credits, has_bought, free_month: noon().month(), free_used }
    }

    fn noon() -> Moment {
        UtcDay::from_civil(2026, 2, 28).start().plus_seconds(43_200)
    }

    #[test]
    fn charges_per_row_or_refuses_beyond_free_queries() {
        assert_eq!(balance(10, true, 100).pay_query(10, 100, noon()), Ok(Payment::Credits(10)));
        assert_eq!(balance(10, true, 0).pay_query(10, 0, noon()), Ok(Payment::Credits(10)));
        assert_eq!(balance(10, true, 100).pay_query(0, 100, noon()), Ok(Payment::Credits(0)));
        let refused = Err(ChargeError::InsufficientCredits { required: 11, available: 10 });
        assert_eq!(balance(10, true, 100).pay_query(11, 100, noon()), refused);
        assert_eq!(balance(10, false, 100).pay_query(11, 100, noon()), refused);
    }

    #[test]
    fn uses_free_queries_of_month_before_credits() {
        let march = noon().plus_seconds(86_400);
        for (credits, has_bought) in [(0, false), (50, false), (0, true), (50, true)] {
            let paid = |used, at| balance(credits, has_bought, used).pay_query(5, 100, at);
            assert_eq!(paid(99, noon()), Ok(Payment::FreeQuery(noon().month())), "{credits} {has_bought}");
            assert_eq!(paid(100, march), Ok(Payment::FreeQuery(march.month())), "{credits} {has_bought}");
        }
        assert_eq!(
            balance(0, false, 100).pay_query(1, 100, noon()),
            Err(ChargeError::FreePlanExhausted { allowance: 100, resets_at: march.day().start() })
        );
    }

    #[test]
    fn refuses_large_limit_without_credits() {
        let asks = |credits, has_bought, used, limit| {
            balance(credits, has_bought, used).afford_anything(
                Spending::Rows { limit },
                FreePlan::default(),
                noon(),
            )
        };
        let refused = Err(ChargeError::FreeRowsExceeded { limit: 100, requested: 101 });
        assert_eq!(asks(0, false, 0, 101), refused);
        assert_eq!(asks(0, true, 0, 101), refused);
        assert!(matches!(asks(0, false, 0, 100), Ok(Payment::FreeQuery(_))));
        assert_eq!(asks(1, true, 0, 101), Ok(Payment::Credits(1)));
        let empty = Err(ChargeError::InsufficientCredits { required: 1, available: 0 });
        assert_eq!(asks(0, true, 100, 101), empty, "no free query is left for a smaller limit");
        assert!(matches!(asks(0, false, 100, 101), Err(ChargeError::FreePlanExhausted { .. })));
    }

    #[test]
    fn keeps_month_when_clock_steps_back() {
        let mut used = balance(0, false, 100);
        let january = noon().plus_seconds(-40 * 86_400);
        assert_eq!(used.free_remaining(100, january), 0);
        used.return_free_query(january.month());
        assert_eq!(used.free_remaining(100, noon()), 0);
        used.return_free_query(noon().month());
        assert_eq!(used.free_remaining(100, noon()), 1);
    }

    #[test]
    fn round_trips_account() {
        let mut account = AccountRecord::new(AccountId::from_number(3), "Città di Roma".to_owned(), noon());
        account.balance = balance(77, true, 5);
        account.last_sequence = 12;
        assert_eq!(AccountRecord::decode(&account.encode()), Ok(account));
    }
}
