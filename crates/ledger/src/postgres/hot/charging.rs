//! Plain charges: many of them in one statement, which decides, changes and tells.
//!
//! A charge is plain when it has neither an idempotency key, nor a view, nor a key with a cap, and its account pays with credits or with
//! free queries alone. What the statement leaves undone is decided one by one (`working.rs`).

use std::collections::{BTreeMap, HashMap};

use postgres::Row;

use super::super::tables::{id, not_negative, signed, small, unsigned};
use super::super::transaction::{BatchId, Link};
use super::super::unsettled::{ChargeId, SentCharge};
use super::jobs::{Job, Work};
use crate::account::{AccountRecord, Balance};
use crate::directory::{AccountHandle, Directory};
use crate::id::{AccountId, KeyId};
use crate::request::{ChargeRequest, Receipt, Undo};
use mercato_base::clock::UtcMonth;
use mercato_database::{Connection, Trouble};

const CHARGE: &str = include_str!("charge.sql");
/// What the statement told of a batch that was applied.
pub const APPLIED: &str = "SELECT places, numbers, accounts, balances, months, used, reserved, versions FROM batch \
    WHERE server = $1 AND number = $2";

/// What decides how an account pays, as the directory knows it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Tariff {
    has_bought: bool,
    month: UtcMonth,
    /// Free queries of the month; zero while no request of the batch may use one.
    free_queries: u32,
    /// Whether requests that may use a free query do. The others take credits.
    has_free: bool,
}

impl Tariff {
    fn of(request: &ChargeRequest) -> Tariff {
        let (balance, free_queries) = (request.account.balance(), request.free_queries);
        Tariff {
            has_bought: balance.has_bought,
            month: request.at.month(),
            free_queries,
            has_free: balance.free_remaining(free_queries, request.at) > 0,
        }
    }

    /// Takes in what a further request of the account needs. Says whether one statement can charge both.
    fn covers(&mut self, other: Tariff) -> bool {
        if (self.has_bought, self.month) != (other.has_bought, other.month) {
            return false;
        }
        if self.free_queries == 0 {
            *self = other;
        }
        other.free_queries == 0 || *self == other
    }
}

/// The request of a job that can be charged with others in one statement, as far as the directory knows.
pub fn plain<'j>(job: &'j Job, directory: &Directory) -> Option<&'j ChargeRequest> {
    let Work::Charge(request) = &job.work else { return None };
    let has_caps = |key: KeyId| directory.key(key).is_none_or(|key| key.limits().has_caps());
    if request.claim.is_some() || request.view.is_some() || request.key.is_some_and(has_caps) {
        return None;
    }
    Some(request)
}

/// Charges the requests of jobs. Returns a receipt for each that was paid; the others were left undone. Shows the new balances.
pub fn charge(
    link: &mut Link,
    jobs: &[&Job],
    requests: &[&ChargeRequest],
    directory: &Directory,
) -> Result<Vec<Option<Receipt>>, Trouble> {
    let columns = Columns::of(requests);
    let row = link.again(|link| {
        let connection = link.connection()?;
        let batch = link.batches().next();
        link.batches().sending(columns.charges(batch, jobs, requests));
        let sent = columns.send(&mut connection.lock(), batch);
        match sent {
            Err(Trouble::Gone(reason)) => {
                let read =
                    |connection: &mut Connection| connection.first(APPLIED, &[&batch.server, &batch.number]);
                link.if_applied(batch, read)?.ok_or(Trouble::Gone(reason))
            }
            sent => sent,
        }
    })?;
    Ok(row.map_or_else(
        || requests.iter().map(|_| None).collect(),
        |row| receipts(&row, requests, directory, &columns),
    ))
}

/// The arguments of the statement.
#[derive(Default)]
struct Columns<'r> {
    accounts: Vec<i64>,
    credits: Vec<i64>,
    free: Vec<i32>,
    keys: Vec<i64>,
    rows: Vec<i64>,
    moments: Vec<i64>,
    days: Vec<i32>,
    requests: Vec<&'r str>,
    datasets: Vec<&'r str>,
    ids: Vec<i64>,
    have_bought: Vec<bool>,
    have_free: Vec<bool>,
    free_queries: Vec<i32>,
    months: Vec<i32>,
    /// Which request each operation is.
    places: Vec<usize>,
}

impl<'r> Columns<'r> {
    /// A request is left out when its account bought credits, used its last free query, or began a month meanwhile.
    fn of(requests: &[&'r ChargeRequest]) -> Columns<'r> {
        let mut columns = Columns::default();
        let mut tariffs: BTreeMap<AccountId, Tariff> = BTreeMap::new();
        for (place, request) in requests.iter().enumerate() {
            let now = Tariff::of(request);
            if !tariffs.entry(request.account.id()).or_insert(now).covers(now) {
                continue;
            }
            columns.places.push(place);
            columns.accounts.push(id(request.account.id()));
            columns.credits.push(if now.has_free { 0 } else { signed(request.rows) });
            columns.free.push(i32::from(now.has_free));
            columns.keys.push(request.key.map_or(0, |key| signed(key.number())));
            columns.rows.push(signed(request.rows));
            columns.moments.push(request.at.unix_millis());
            columns.days.push(request.at.day().unix_days());
            columns.requests.push(&request.request_id);
            columns.datasets.push(&request.dataset);
        }
        for (account, tariff) in tariffs {
            columns.ids.push(id(account));
            columns.have_bought.push(tariff.has_bought);
            columns.have_free.push(tariff.has_free);
            columns.free_queries.push(small(tariff.free_queries));
            columns.months.push(tariff.month.number());
        }
        columns
    }

    /// The charges of a batch.
    fn charges<'j>(
        &self,
        batch: BatchId,
        jobs: &'j [&Job],
        requests: &[&ChargeRequest],
    ) -> impl Iterator<Item = (&'j Job, SentCharge)> {
        let columns = self.places.iter().zip(&self.credits).zip(&self.free).zip(1..);
        columns.filter_map(move |(((request, credits), free), place)| {
            let (job, request) = (*jobs.get(*request)?, *requests.get(*request)?);
            let free_month = (*free > 0).then(|| request.at.month());
            let undo = undo(request, 0, unsigned(*credits), free_month);
            Some((job, SentCharge { id: ChargeId { batch, place }, is_plain: true, undo }))
        })
    }

    fn send(&self, connection: &mut Connection, batch: BatchId) -> Result<Option<Row>, Trouble> {
        connection.first(
            CHARGE,
            &[
                &batch.server,
                &batch.number,
                &self.accounts,
                &self.credits,
                &self.free,
                &self.keys,
                &self.rows,
                &self.moments,
                &self.days,
                &self.requests,
                &self.datasets,
                &self.ids,
                &self.have_bought,
                &self.have_free,
                &self.free_queries,
                &self.months,
            ],
        )
    }
}

/// An account after the statement. While receipts are made, its numbers go from those before the batch to those after it.
struct Paid {
    balance: Balance,
    reserved: u64,
    version: u64,
}

fn receipts(
    row: &Row,
    requests: &[&ChargeRequest],
    directory: &Directory,
    columns: &Columns<'_>,
) -> Vec<Option<Receipt>> {
    let mut receipts: Vec<Option<Receipt>> = requests.iter().map(|_| None).collect();
    let mut accounts = paid_accounts(row, columns);
    let sold = list::<i32>(row, 0).into_iter().zip(list::<i64>(row, 1));
    let sold: Vec<Sold> = sold
        .filter_map(|(operation, number)| {
            let operation = usize::try_from(operation).ok()?.checked_sub(1)?;
            let place = *columns.places.get(operation)?;
            let is_free = *columns.free.get(operation)? > 0;
            Some(Sold { request: *requests.get(place)?, place, is_free, number: unsigned(number) })
        })
        .collect();
    let mut handles: HashMap<AccountId, &AccountHandle> = HashMap::new();
    for one in &sold {
        let account = &one.request.account;
        handles.insert(account.id(), account);
        if let Some(paid) = accounts.get_mut(&account.id()) {
            one.give_back(&mut paid.balance);
        }
    }
    for one in sold {
        let Some(paid) = accounts.get_mut(&one.request.account.id()) else { continue };
        if let Some(slot) = receipts.get_mut(one.place) {
            *slot = Some(one.receipt(&mut paid.balance));
        }
    }
    for (account, paid) in accounts {
        if let Some(handle) = handles.get(&account) {
            let name = handle.name().to_owned();
            let record = AccountRecord {
                balance: paid.balance,
                ..AccountRecord::new(account, name, handle.created_at())
            };
            directory.publish_account(&record, paid.reserved, None, paid.version);
        }
    }
    receipts
}

/// The accounts that paid, as they are after it.
fn paid_accounts(row: &Row, columns: &Columns<'_>) -> HashMap<AccountId, Paid> {
    let (balances, months, used) = (list::<i64>(row, 3), list::<i32>(row, 4), list::<i32>(row, 5));
    let (reserved, versions) = (list::<i64>(row, 6), list::<i64>(row, 7));
    let bought: HashMap<i64, bool> =
        columns.ids.iter().copied().zip(columns.have_bought.iter().copied()).collect();
    let numbers = balances.into_iter().zip(months).zip(used).zip(reserved.into_iter().zip(versions));
    let accounts = list::<i64>(row, 2).into_iter().zip(numbers);
    let paid = accounts.map(|(account, (((credits, month), used), (reserved, version)))| {
        let balance = Balance {
            credits: unsigned(credits),
            has_bought: bought.get(&account).copied().unwrap_or(false),
            free_month: UtcMonth::from_number(month),
            free_used: not_negative(used),
        };
        let paid = Paid { balance, reserved: unsigned(reserved), version: unsigned(version) };
        (AccountId::from_number(unsigned(account)), paid)
    });
    paid.collect()
}

/// A request that was sold.
struct Sold<'r> {
    request: &'r ChargeRequest,
    /// Its place among the requests of the batch.
    place: usize,
    is_free: bool,
    /// Of its entry, where it has one.
    number: u64,
}

impl Sold<'_> {
    const fn give_back(&self, balance: &mut Balance) {
        if self.is_free {
            balance.free_used = balance.free_used.saturating_sub(1);
        } else {
            balance.credits = balance.credits.saturating_add(self.request.rows);
        }
    }

    fn receipt(&self, balance: &mut Balance) -> Receipt {
        let charged = if self.is_free { 0 } else { self.request.rows };
        balance.credits = balance.credits.saturating_sub(charged);
        balance.free_used = balance.free_used.saturating_add(self.is_free.into());
        let sequence = if charged > 0 { self.number } else { 0 };
        let free_month = self.is_free.then_some(balance.free_month);
        Receipt {
            charged,
            remaining: balance.credits,
            replayed: false,
            paid_before: 0,
            caps: Vec::new(),
            undo: undo(self.request, sequence, charged, free_month),
        }
    }
}

fn undo(request: &ChargeRequest, sequence: u64, credits: u64, free_month: Option<UtcMonth>) -> Undo {
    Undo {
        account: request.account.id(),
        key: request.key,
        sequence,
        credits,
        rows: request.rows,
        free_month,
        remembered: Vec::new(),
        dataset: request.dataset.clone(),
        request_id: request.request_id.clone(),
        at: request.at,
    }
}

/// A column that is null when nothing was sold.
fn list<'r, T: postgres::types::FromSql<'r>>(row: &'r Row, column: usize) -> Vec<T> {
    row.get::<_, Option<Vec<T>>>(column).unwrap_or_default()
}
