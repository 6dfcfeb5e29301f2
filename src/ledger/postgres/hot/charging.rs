//! Plain charges: many of them in one statement, which decides, changes and tells.
//!
//! A charge is plain when it has neither an idempotency key nor a key with a cap, and its account pays with credits or with
//! free queries alone. What the statement leaves undone is decided one by one (`working.rs`).

use std::collections::{BTreeMap, HashMap};

use postgres::Row;

use super::super::tables::{id, not_negative, signed, small, unsigned};
use super::super::transaction::{BatchId, Link};
use super::super::unsettled::{ChargeId, SentCharge};
use super::jobs::{Job, Work};
use crate::clock::UtcMonth;
use crate::database::{Connection, Trouble};
use crate::ledger::account::{AccountRecord, Balance, Plan};
use crate::ledger::directory::{AccountHandle, Directory};
use crate::ledger::id::{AccountId, KeyId};
use crate::ledger::request::{ChargeRequest, Receipt, Undo};
use crate::limits::ledger::{FREE_QUERIES_PER_MONTH, FREE_ROWS_PER_QUERY_MAX};

const CHARGE: &str = include_str!("charge.sql");
/// What the statement told of a batch that was applied.
pub(in crate::ledger::postgres) const APPLIED: &str = "SELECT places, numbers, accounts, balances, months, used, reserved, versions FROM batch \
    WHERE server = $1 AND number = $2";

/// The plan that an account is charged by, as the directory knows it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Tariff {
    is_free: bool,
    month: UtcMonth,
}

/// The request of a job that can be charged with others in one statement, as far as the directory knows.
pub(in crate::ledger::postgres) fn plain<'j>(
    job: &'j Job,
    directory: &Directory,
) -> Option<&'j ChargeRequest> {
    let Work::Charge(request) = &job.work else { return None };
    let has_caps = |key: KeyId| directory.key(key).is_none_or(|key| key.limits().has_caps());
    if request.claim.is_some() || request.key.is_some_and(has_caps) {
        return None;
    }
    let balance = request.account.balance();
    let is_plain = match balance.plan() {
        Plan::Prepaid => true,
        Plan::Free => request.rows <= FREE_ROWS_PER_QUERY_MAX && balance.free_remaining(request.at) > 0,
    };
    is_plain.then_some(request)
}

fn tariff(request: &ChargeRequest) -> Tariff {
    let is_free = request.account.balance().plan() == Plan::Free;
    Tariff { is_free, month: request.at.month() }
}

/// Charges the requests of jobs. Returns a receipt for each that was paid; the others were left undone. Shows the new balances.
pub(in crate::ledger::postgres) fn charge(
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
    are_free: Vec<bool>,
    months: Vec<i32>,
    /// Which request each operation is.
    places: Vec<usize>,
}

impl<'r> Columns<'r> {
    /// A request whose account changed its plan, or whose month began, meanwhile, is left out.
    fn of(requests: &[&'r ChargeRequest]) -> Columns<'r> {
        let mut columns = Columns::default();
        let mut tariffs: BTreeMap<AccountId, Tariff> = BTreeMap::new();
        for (place, request) in requests.iter().enumerate() {
            let now = tariff(request);
            if *tariffs.entry(request.account.id()).or_insert(now) != now {
                continue;
            }
            columns.places.push(place);
            columns.accounts.push(id(request.account.id()));
            columns.credits.push(if now.is_free { 0 } else { signed(request.rows) });
            columns.free.push(i32::from(now.is_free));
            columns.keys.push(request.key.map_or(0, |key| signed(key.number())));
            columns.rows.push(signed(request.rows));
            columns.moments.push(request.at.unix_millis());
            columns.days.push(request.at.day().unix_days());
            columns.requests.push(&request.request_id);
            columns.datasets.push(&request.dataset);
        }
        for (account, Tariff { is_free, month }) in tariffs {
            columns.ids.push(id(account));
            columns.are_free.push(is_free);
            columns.months.push(month.number());
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
                &self.are_free,
                &self.months,
                &small(FREE_QUERIES_PER_MONTH),
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
    let sold: Vec<(&ChargeRequest, usize, u64)> = sold
        .filter_map(|(place, number)| {
            let place = usize::try_from(place).ok()?.checked_sub(1)?;
            let place = *columns.places.get(place)?;
            Some((*requests.get(place)?, place, unsigned(number)))
        })
        .collect();
    let mut handles: HashMap<AccountId, &AccountHandle> = HashMap::new();
    for (request, ..) in &sold {
        handles.insert(request.account.id(), &request.account);
        if let Some(paid) = accounts.get_mut(&request.account.id()) {
            give_back(&mut paid.balance, request);
        }
    }
    for (request, place, number) in sold {
        let Some(paid) = accounts.get_mut(&request.account.id()) else { continue };
        let receipt = receipt(request, &mut paid.balance, number);
        if let Some(slot) = receipts.get_mut(place) {
            *slot = Some(receipt);
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
    let free: HashMap<i64, bool> =
        columns.ids.iter().copied().zip(columns.are_free.iter().copied()).collect();
    let numbers = balances.into_iter().zip(months).zip(used).zip(reserved.into_iter().zip(versions));
    let accounts = list::<i64>(row, 2).into_iter().zip(numbers);
    let paid = accounts.map(|(account, (((credits, month), used), (reserved, version)))| {
        let balance = Balance {
            credits: unsigned(credits),
            has_bought: !free.get(&account).copied().unwrap_or(false),
            free_month: UtcMonth::from_number(month),
            free_used: not_negative(used),
        };
        let paid = Paid { balance, reserved: unsigned(reserved), version: unsigned(version) };
        (AccountId::from_number(unsigned(account)), paid)
    });
    paid.collect()
}

const fn give_back(balance: &mut Balance, request: &ChargeRequest) {
    if balance.has_bought {
        balance.credits = balance.credits.saturating_add(request.rows);
    } else {
        balance.free_used = balance.free_used.saturating_sub(1);
    }
}

fn receipt(request: &ChargeRequest, balance: &mut Balance, number: u64) -> Receipt {
    let charged = if balance.has_bought { request.rows } else { 0 };
    let free_month = (!balance.has_bought).then_some(balance.free_month);
    balance.credits = balance.credits.saturating_sub(charged);
    balance.free_used = balance.free_used.saturating_add(u32::from(free_month.is_some()));
    Receipt {
        charged,
        remaining: balance.credits,
        free_queries_remaining: free_month.map(|_| balance.free_remaining(request.at)),
        replayed: false,
        caps: Vec::new(),
        undo: undo(request, if charged > 0 { number } else { 0 }, charged, free_month),
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
