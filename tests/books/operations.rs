//! The effects of purchases, queries, streams and downloads on an account.

use mercato_base::clock::{Moment, UtcDay};
use mercato_ledger::{
    AccountHandle, ChargeError, ChargeRequest, EntryKind, FreePlan, Ledger, PaymentId, Pending, Plan,
    Spending, UsageQuery,
};

use crate::desk::{Desk, charge, claimed, customer, download, noon, page, small_page, stream};

const HOUR: i64 = 3_600;

#[test]
fn charges_credit_per_row_and_nothing_for_zero_rows() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    let receipt = charge(&ledger, &account, 30, now).unwrap();
    assert_eq!((receipt.charged, receipt.remaining, receipt.is_free_query()), (30, 70, false));
    assert_eq!(charge(&ledger, &account, 0, now).unwrap().charged, 0);
    let refused = ChargeError::InsufficientCredits { required: 71, available: 70 };
    assert_eq!(charge(&ledger, &account, 71, now).unwrap_err(), refused);
    assert_eq!(account.credits(), 70);
    assert_eq!(ledger.stats().entries, 2, "a purchase and a charge");
}

#[test]
fn records_price_of_purchase_and_makes_account_prepaid() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 0);
    assert_eq!(ledger.grant(account.id(), 10, "", "welcome", now).unwrap(), 10);
    assert_eq!(account.plan(), Plan::Free);
    let bought = ledger.buy(account.id(), 1_000, None, "order-1", "", now).unwrap();
    assert_eq!((bought.balance, bought.cents), (1_010, 500));
    assert_eq!(account.plan(), Plan::Prepaid);
    let (entries, next) = ledger.entries(Some(account.id()), 1, 100).unwrap();
    assert_eq!(next, None);
    let kinds: Vec<_> =
        entries.iter().map(|entry| (entry.kind, entry.amount, entry.balance, entry.cents)).collect();
    assert_eq!(kinds, [(EntryKind::Grant, 10, 10, 0), (EntryKind::Purchase, 1_000, 1_010, 500)]);
    assert_eq!(entries[1].request_id, "order-1");
}

fn invoice(id: &str) -> PaymentId {
    PaymentId { provider: "bank".to_owned(), id: id.to_owned() }
}

#[test]
fn enters_payment_once_for_one_account() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let (account, other) = (customer(&ledger, 0), customer(&ledger, 0));
    let buy = |ledger: &Ledger, credits| {
        ledger.buy_once(account.id(), credits, None, invoice("INV-7"), "", now.plus_seconds(HOUR))
    };
    let first = buy(&ledger, 1_000).unwrap();
    assert_eq!((first.balance, first.is_replayed), (1_000, false));
    charge(&ledger, &account, 10, now).unwrap();
    let again = buy(&ledger, 1_000).unwrap();
    assert_eq!((again.balance, again.cents, again.is_replayed), (990, 500, true));
    let refused = buy(&ledger, 2_000).unwrap_err();
    assert!(refused.to_string().contains("INV-7"), "{refused}");
    let refused = ledger.buy_once(other.id(), 5, None, invoice("INV-7"), "", now);
    assert!(refused.unwrap_err().to_string().contains("INV-7"), "a payment is entered for one account");
    drop(ledger);
    assert!(buy(&desk.open(), 1_000).unwrap().is_replayed);
}

#[test]
fn ends_free_plan_after_hundred_queries_until_next_month() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 0);
    for used in 1..=100 {
        let receipt = charge(&ledger, &account, 10, now).unwrap();
        assert_eq!((receipt.charged, ledger.free_queries_remaining(&account, now)), (0, 100 - used));
    }
    let resets_at = UtcDay::from_civil(2026, 12, 1).start();
    let exhausted = ChargeError::FreePlanExhausted { allowance: 100, resets_at };
    assert_eq!(charge(&ledger, &account, 1, now).unwrap_err(), exhausted);
    assert_eq!(
        ledger.can_afford_anything(&account, None, Spending::Rows { limit: 100 }, None, now),
        Err(exhausted.clone())
    );
    drop(ledger);
    let ledger = desk.open();
    let account = ledger.account(account.id()).unwrap();
    assert_eq!(charge(&ledger, &account, 1, resets_at.plus_millis(-1)).unwrap_err(), exhausted);
    let view = ledger.account_view(&account, now);
    assert_eq!((view.free_queries_remaining, view.free_queries_reset_at), (0, resets_at));
    charge(&ledger, &account, 1, resets_at).unwrap();
    assert_eq!(ledger.free_queries_remaining(&account, resets_at), 99);
}

#[test]
fn keeps_free_queries_after_purchase_and_uses_them_first() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 0);
    charge(&ledger, &account, 10, now).unwrap();
    ledger.buy(account.id(), 1_000, None, "", "", now).unwrap();
    assert_eq!(account.plan(), Plan::Prepaid);
    let pay = |request: ChargeRequest| ledger.charge(&request).and_then(Pending::durable).unwrap();
    for used in 2..=100 {
        let receipt = pay(small_page(&account, 100, now));
        assert_eq!((receipt.charged, receipt.is_free_query()), (0, true));
        assert_eq!(ledger.account_view(&account, now).free_queries_remaining, 100 - used);
        assert_eq!(pay(page(&account, 3, now)).charged, 3, "a larger limit takes credits");
    }
    assert_eq!(account.credits(), 1_000 - 99 * 3);
    let receipt = pay(small_page(&account, 100, now));
    assert_eq!((receipt.charged, receipt.remaining, receipt.is_free_query()), (100, 603, false));
    let next_month = UtcDay::from_civil(2026, 12, 1).start();
    assert!(pay(small_page(&account, 100, next_month)).is_free_query());
    let stream = ledger.reserve(&small_page(&account, 100, next_month)).unwrap();
    assert_eq!(stream.reserved(), 0, "a stream uses one too");
    drop(stream);
    assert!(ledger.verify().unwrap().is_balanced());
}

/// Requests of one account that arrive together: some may use a free query, others take credits, and the last free query is
/// used on the way.
#[test]
fn uses_last_free_queries_among_charges_of_one_batch() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open().with_free_plan(FreePlan { queries_per_month: 5, rows_per_query: 10 });
    let account = customer(&ledger, 1_000);
    let orders: Vec<_> = (0..40)
        .map(|number| {
            let free_queries = if number % 2 == 0 { 5 } else { 0 };
            ledger.charge(&ChargeRequest { free_queries, ..page(&account, 10, now) }).unwrap()
        })
        .collect();
    let receipts: Vec<_> = orders.into_iter().map(|order| order.durable().unwrap()).collect();
    let free = receipts.iter().filter(|receipt| receipt.is_free_query()).count();
    assert_eq!((free, receipts.iter().map(|receipt| receipt.charged).sum()), (5, 350));
    assert_eq!((account.credits(), ledger.free_queries_remaining(&account, now)), (650, 0));
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn limits_streams_and_denies_downloads_of_free_account() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 0);
    let too_many = ChargeError::FreeRowsExceeded { limit: 100, requested: 101 };
    let wanted = Spending::Rows { limit: 101 };
    assert_eq!(ledger.can_afford_anything(&account, None, wanted, None, now), Err(too_many));
    let no_credits = ChargeError::InsufficientCredits { required: 1, available: 0 };
    assert_eq!(ledger.can_afford_anything(&account, None, Spending::Download, None, now), Err(no_credits));
    let reservation = ledger.reserve(&stream(&account, 100, now)).unwrap();
    let receipt = reservation.settle(0, now).and_then(Pending::durable).unwrap();
    assert_eq!(
        (receipt.charged, ledger.free_queries_remaining(&account, now)),
        (0, 99),
        "an empty answer is an answer"
    );
    let broken = ledger.reserve(&stream(&account, 100, now)).unwrap();
    drop(broken);
    assert_eq!(ledger.verify().unwrap().open_reservations, 0);
    assert_eq!(ledger.account_view(&account, now).free_queries_remaining, 99, "no byte, no query");
    let left = ledger.reserve(&stream(&account, 100, now)).unwrap();
    left.begin();
    drop(left);
    assert_eq!(ledger.account_view(&account, now).free_queries_remaining, 98, "a byte was written");
    let damaged = ledger.reserve(&stream(&account, 100, now)).unwrap();
    damaged.begin();
    damaged.waive(now);
    assert_eq!(ledger.verify().unwrap().open_reservations, 0);
    assert_eq!(ledger.account_view(&account, now).free_queries_remaining, 98, "the server broke it off");
}

#[test]
fn reserves_maximum_of_stream_and_returns_rest() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    let reservation = ledger.reserve(&stream(&account, 80, now)).unwrap();
    assert_eq!((reservation.reserved(), reservation.remaining(), account.credits()), (80, 20, 20));
    let refused = ChargeError::InsufficientCredits { required: 21, available: 20 };
    assert_eq!(charge(&ledger, &account, 21, now).unwrap_err(), refused);
    let receipt = reservation.settle(50, now).and_then(Pending::durable).unwrap();
    assert_eq!((receipt.charged, receipt.remaining, account.reserved()), (50, 50, 0));
    let left = ledger.reserve(&stream(&account, 50, now)).unwrap();
    left.delivered(7, now);
    drop(left);
    assert!(ledger.verify().unwrap().is_balanced());
    assert_eq!(account.credits(), 43, "the client left after seven rows");
}

#[test]
fn settles_open_reservations_after_stop() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    let reservation = ledger.reserve(&stream(&account, 60, now)).unwrap();
    reservation.delivered(25, now);
    std::mem::forget(reservation);
    drop(ledger);
    let ledger = desk.open();
    assert_eq!(ledger.account(account.id()).unwrap().credits(), 75);
    let report = ledger.verify().unwrap();
    assert!(report.is_balanced() && report.open_reservations == 0, "{report:?}");
}

#[test]
fn charges_idempotency_key_once_and_rejects_other_body() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 10);
    let order = |body: &str, at| {
        let mut order = page(&account, 10, at);
        order.claim = claimed("k-1", body);
        order
    };
    let first = ledger.charge(&order("{}", now)).and_then(Pending::durable).unwrap();
    assert_eq!((first.charged, first.replayed), (10, false));
    ledger
        .can_afford_anything(
            &account,
            None,
            Spending::Rows { limit: 100 },
            claimed("k-1", "{}").as_ref(),
            now,
        )
        .unwrap();
    let again = ledger.charge(&order("{}", now)).and_then(Pending::durable).unwrap();
    assert_eq!((again.charged, again.remaining, again.replayed), (0, 0, true));
    let other = ledger.charge(&order("{\"limit\":5}", now)).and_then(Pending::durable);
    assert_eq!(other.unwrap_err(), ChargeError::IdempotencyMismatch);
    let other = ledger.can_afford_anything(
        &account,
        None,
        Spending::Rows { limit: 100 },
        claimed("k-1", "x").as_ref(),
        now,
    );
    assert_eq!(other, Err(ChargeError::IdempotencyMismatch));
    drop(ledger);
    let ledger = desk.open();
    let almost = now.plus_seconds(24 * HOUR - 1);
    assert!(ledger.charge(&order("{}", almost)).and_then(Pending::durable).unwrap().replayed);
    let after = ledger.charge(&order("{}", now.plus_seconds(24 * HOUR))).and_then(Pending::durable);
    assert!(matches!(after, Err(ChargeError::InsufficientCredits { .. })));
}

#[test]
fn refunds_failed_response_and_frees_its_idempotency_key() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 10);
    let mut order = page(&account, 10, now);
    order.claim = claimed("k", "{}");
    let receipt = ledger.charge(&order).and_then(Pending::durable).unwrap();
    ledger.refund(receipt, now).and_then(Pending::durable).unwrap();
    assert_eq!(account.credits(), 10);
    let mut order = page(&account, 10, now);
    order.claim = claimed("k", "{}");
    assert_eq!(ledger.charge(&order).and_then(Pending::durable).unwrap().charged, 10);
    let free = customer(&ledger, 0);
    let receipt = charge(&ledger, &free, 5, now).unwrap();
    ledger.refund(receipt, now).and_then(Pending::durable).unwrap();
    assert_eq!(ledger.account_view(&free, now).free_queries_remaining, 100);
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn takes_no_payment_back_for_which_page_was_answered_again() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    let order = || ChargeRequest { claim: claimed("k", "{}"), ..page(&account, 10, now) };
    let charged = || ledger.charge(&order()).and_then(Pending::durable).unwrap();
    let first = charged();
    assert!(charged().replayed);
    ledger.refund(first, now).and_then(Pending::durable).unwrap();
    assert_eq!(account.credits(), 90);
    assert!(charged().replayed, "the key has still paid");
    assert!(ledger.verify().unwrap().is_balanced());
}

/// A whole file that is delivered up to so many rows.
fn whole(ledger: &Ledger, account: &AccountHandle, rows: u64, at: Moment) -> u64 {
    let reservation = ledger.reserve_download(&download(account, 100, at)).unwrap();
    if rows == 100 {
        return reservation.settle(rows, at).and_then(Pending::durable).unwrap().charged;
    }
    let before = account.credits() + reservation.reserved();
    reservation.delivered(rows, at);
    drop(reservation);
    // Work after it shows that it was carried out.
    assert!(ledger.verify().unwrap().is_balanced());
    before - account.credits()
}

fn part(ledger: &Ledger, account: &AccountHandle, at: Moment) -> Result<u64, ChargeError> {
    ledger.sell_part(&download(account, 100, at)).and_then(Pending::durable).map(|receipt| receipt.charged)
}

#[test]
fn charges_file_once_per_day_for_any_parts() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 250);
    let hours = |count| now.plus_seconds(count * HOUR);
    assert_eq!(part(&ledger, &account, now), Ok(100));
    assert_eq!(part(&ledger, &account, hours(1)), Ok(0));
    assert_eq!(whole(&ledger, &account, 100, hours(2)), 100, "a whole file is a new download");
    drop(ledger);
    let ledger = desk.open();
    let account = ledger.account(account.id()).unwrap();
    assert_eq!(part(&ledger, &account, hours(25)), Ok(0), "which is remembered from then on");
    let refused = ChargeError::InsufficientCredits { required: 100, available: 50 };
    assert_eq!(part(&ledger, &account, hours(26)), Err(refused));
}

#[test]
fn charges_aborted_download_and_its_rest_once() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    assert_eq!(whole(&ledger, &account, 30, now), 30);
    drop(ledger);
    let ledger = desk.open();
    let account = ledger.account(account.id()).unwrap();
    let receipt = ledger.sell_part(&download(&account, 100, now)).and_then(Pending::durable).unwrap();
    assert_eq!(receipt.charged, 70);
    ledger.refund(receipt, now).and_then(Pending::durable).unwrap();
    assert_eq!(part(&ledger, &account, now), Ok(70), "what was refunded is unpaid again, and nothing else");
    assert_eq!(part(&ledger, &account, now), Ok(0));
    assert_eq!(whole(&ledger, &account, 10, now), 10, "a new download");
    assert_eq!(part(&ledger, &account, now), Ok(0), "forgets nothing of what was paid before");
    assert_eq!(account.credits(), 1_000 - 110);
}

#[test]
fn charges_download_fully_after_concurrent_part() {
    for ends_by_crash in [false, true] {
        let (desk, now) = (Desk::new(), noon());
        let ledger = desk.open();
        let account = customer(&ledger, 1_000);
        let reservation = ledger.reserve_download(&download(&account, 100, now)).unwrap();
        reservation.delivered(20, now);
        assert_eq!(part(&ledger, &account, now), Ok(0));
        if ends_by_crash {
            std::mem::forget(reservation);
        } else {
            drop(reservation);
        }
        drop(ledger);
        let ledger = desk.open();
        let account = ledger.account(account.id()).unwrap();
        assert_eq!(account.credits(), 900, "crash: {ends_by_crash}");
        assert_eq!(part(&ledger, &account, now), Ok(0));
        assert!(ledger.verify().unwrap().is_balanced());
    }
}

#[test]
fn estimates_cost_of_rows() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let (paying, free) = (customer(&ledger, 10), customer(&ledger, 0));
    let estimate = ledger.estimate(&paying, None, 11, Spending::Rows { limit: 101 }, now).unwrap();
    assert_eq!((estimate.credits_required, estimate.credits_available, estimate.affordable), (11, 10, false));
    let estimate = ledger.estimate(&free, None, 100, Spending::Rows { limit: 100 }, now).unwrap();
    assert_eq!((estimate.credits_required, estimate.credits_available, estimate.affordable), (0, 0, true));
    let affordable =
        |account, rows, spending| ledger.estimate(account, None, rows, spending, now).unwrap().affordable;
    assert!(!affordable(&free, 1, Spending::Download), "free queries do not pay for downloads");
    assert!(affordable(&paying, 10, Spending::Download) && !affordable(&paying, 11, Spending::Download));
    assert!(affordable(&paying, 10, Spending::Rows { limit: 1_000_000 }));
    assert!(!affordable(&free, 5, Spending::Rows { limit: 101 }), "the limit counts, not the rows");
    let spent = customer(&ledger, 1);
    charge(&ledger, &spent, 1, now).unwrap();
    assert!(affordable(&spent, 1, Spending::Rows { limit: 100 }), "free queries stay");
    assert!(
        !affordable(&spent, 0, Spending::Rows { limit: 101 }),
        "nothing is looked for on an empty account"
    );
}

#[test]
fn reports_usage_by_day_and_dataset() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    charge(&ledger, &account, 5, now.plus_seconds(-86_400)).unwrap();
    charge(&ledger, &account, 7, now).unwrap();
    charge(&ledger, &account, 8, now).unwrap();
    let mut other = page(&account, 1, now);
    other.dataset = "lineitem".to_owned();
    ledger.charge(&other).and_then(Pending::durable).unwrap();
    charge(&ledger, &account, 9, now.plus_seconds(-40 * 86_400)).unwrap();
    let tell = |ledger: &Ledger| {
        let query = UsageQuery { account: account.id(), days: 30, key: None, by_key: false };
        let lines = ledger.usage(&query, now).unwrap();
        lines
            .iter()
            .map(|line| {
                format!("{} {} {} {} {}", line.day, line.dataset, line.requests, line.rows, line.credits)
            })
            .collect::<Vec<_>>()
    };
    let expected = ["2026-11-20 orders 1 5 5", "2026-11-21 lineitem 1 1 1", "2026-11-21 orders 2 15 15"];
    assert_eq!(tell(&ledger), expected);
    drop(ledger);
    assert_eq!(tell(&desk.open()), expected);
}

#[test]
fn restores_backup_of_books_in_use() {
    let (desk, now) = (Desk::new(), noon());
    let ledger = desk.open();
    let account = customer(&ledger, 10_000);
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| (0..500).for_each(|_| drop(charge(&ledger, &account, 1, now).unwrap())));
        ledger.backup(&desk.path().with_file_name("backups"), now).unwrap()
    });
    let restored = desk.path().with_file_name("restored");
    let back = mercato_ledger::restore(&summary.path, &restored).unwrap();
    assert_eq!((back.records, back.last_sequence), (summary.records, summary.last_sequence));
    let options = mercato_ledger::LedgerOptions::default();
    let copy = Ledger::open(&restored, options, now).unwrap();
    // The first two records are the account and its purchase.
    let expected = 10_000 - (summary.last_sequence - 2);
    assert_eq!(copy.account(account.id()).unwrap().credits(), expected);
    assert!(copy.verify().unwrap().is_balanced());
    assert!(mercato_ledger::restore(&summary.path, &desk.path()).is_err(), "books are never overwritten");
    drop(copy);
    let mut bytes = std::fs::read(&summary.path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&summary.path, &bytes).unwrap();
    let refused = mercato_ledger::restore(&summary.path, &desk.path().with_file_name("other"));
    assert!(matches!(refused, Err(mercato_ledger::BackupError::Damaged { .. })), "{refused:?}");
    assert!(!desk.path().with_file_name("other").exists());
}
