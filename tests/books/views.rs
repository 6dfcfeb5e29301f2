//! Rows that were paid on the site: within a day they are not paid again, whatever page, order or format has them.

use mercato_base::clock::Moment;
use mercato_ledger::{
    AccountHandle, ChargeRequest, DownloadRequest, Ledger, Pending, Receipt, Reservation, ViewRows, Viewed,
};

use crate::desk::{Desk, claimed, customer, download, handle, noon, page, stream};

fn of_view(rows: ViewRows) -> Viewed {
    Viewed::new("orders", "content", "filters", rows)
}

fn these(rows: impl IntoIterator<Item = u32>) -> ViewRows {
    ViewRows::These(rows.into_iter().collect())
}

/// A page of these rows, sold on the site or by the API.
fn paged(account: &AccountHandle, rows: ViewRows, is_on_site: bool, at: Moment) -> ChargeRequest {
    let count = match &rows {
        ViewRows::These(rows) => rows.len() as u64,
        ViewRows::All | ViewRows::Some => 80,
    };
    let viewed = of_view(rows);
    let view = Some(if is_on_site { viewed.on_site() } else { viewed });
    let request_id = format!("{:?} {at:?}", view.as_ref().unwrap());
    ChargeRequest { view, request_id, ..page(account, count, at) }
}

fn charge_all(ledger: &Ledger, request: &ChargeRequest) -> Receipt {
    ledger.charge(request).and_then(Pending::durable).unwrap()
}

/// What a page cost, and how many of its rows were paid before.
fn cost(receipt: &Receipt) -> (u64, u64) {
    (receipt.charged, receipt.paid_before)
}

#[test]
fn charges_row_that_was_paid_on_site_once_a_day() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let sell = |ledger: &Ledger, rows, is_on_site, at| {
        let account = handle(ledger, account.id());
        cost(&charge_all(ledger, &paged(&account, rows, is_on_site, at)))
    };
    assert_eq!(sell(&ledger, these(0..50), false, noon()), (50, 0), "what the API sells is not remembered");
    assert_eq!(sell(&ledger, these((0..50).rev()), true, noon()), (50, 0));
    assert_eq!(sell(&ledger, these(0..50), true, noon()), (0, 50), "another order");
    assert_eq!(sell(&ledger, these(30..80), false, noon()), (30, 20), "the API knows them, too");
    assert_eq!(sell(&ledger, these(30..80), true, noon()), (30, 20));
    drop(ledger);
    let ledger = desk.open();
    assert_eq!(sell(&ledger, ViewRows::All, true, noon()), (0, 80), "every row of the view was paid");
    let later = noon().plus_seconds(86_400);
    assert_eq!(
        sell(&ledger, these(0..50), true, later),
        (50, 0),
        "the day is over, and the free file prolonged nothing"
    );
    assert!(ledger.verify().unwrap().is_balanced());
}

#[test]
fn charges_rest_of_view_beyond_its_paid_pages() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 100);
    charge_all(&ledger, &paged(&account, these(0..50), true, noon()));
    // 30 rows are affordable because 50 of the 80 are paid.
    assert_eq!(cost(&charge_all(&ledger, &paged(&account, ViewRows::All, true, noon()))), (30, 50));
    for rows in [these(20..60), ViewRows::All, ViewRows::Some] {
        assert_eq!(charge_all(&ledger, &paged(&account, rows, false, noon())).charged, 0);
    }
    let other = ChargeRequest {
        view: Some(Viewed::new("orders", "content", "other filters", ViewRows::All)),
        ..page(&account, 20, noon())
    };
    assert_eq!(charge_all(&ledger, &other).charged, 20);
    assert_eq!(account.credits(), 0);
    let paid = ledger.charge(&paged(&account, these(0..10), true, noon()));
    assert_eq!(paid.and_then(Pending::durable).unwrap().charged, 0, "what is paid needs no credits");
}

#[test]
fn gives_refunded_rows_no_memory() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    let first = charge_all(&ledger, &paged(&account, these(0..50), true, noon()));
    charge_all(&ledger, &paged(&account, these(50..60), true, noon()));
    ledger.refund(first, noon()).and_then(Pending::durable).unwrap();
    let again = charge_all(&ledger, &paged(&account, these(0..60), true, noon().plus_seconds(1)));
    assert_eq!(cost(&again), (50, 10), "the other page stays paid");
    assert_eq!(account.credits(), 940);
}

#[test]
fn uses_no_free_query_for_rows_that_one_has_paid() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 0);
    for _ in 0..3 {
        charge_all(&ledger, &paged(&account, these(0..50), true, noon()));
        charge_all(&ledger, &paged(&account, these((10..40).rev()), true, noon()));
    }
    assert_eq!(account.balance().free_remaining(100, noon()), 99);
}

#[test]
fn takes_paid_rows_off_price_of_streams_and_downloads() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    charge_all(&ledger, &paged(&account, these(0..50), true, noon()));
    let whole = |is_on_site| {
        let viewed = of_view(ViewRows::All);
        let view = Some(if is_on_site { viewed.on_site() } else { viewed });
        ledger.reserve(&ChargeRequest { view, ..stream(&account, 400, noon()) }).unwrap()
    };
    let file = || {
        let plain = download(&account, 400, noon());
        let charge = ChargeRequest { view: Some(of_view(ViewRows::All)), ..plain.charge };
        DownloadRequest { charge, ..plain }
    };
    let part = |ledger: &Ledger| ledger.sell_part(&file()).and_then(Pending::durable).unwrap().charged;
    let left = |reservation: Reservation| {
        reservation.delivered(100, noon());
        drop(reservation);
        assert!(ledger.verify().unwrap().is_balanced());
    };
    let abandoned = whole(true);
    assert_eq!(abandoned.reserved(), 350);
    left(abandoned);
    assert_eq!(account.credits(), 850, "nobody knows whether the paid rows were among them");
    let complete = whole(true);
    complete.end_view();
    assert_eq!(complete.settle(400, noon()).and_then(Pending::durable).unwrap().charged, 350);
    assert_eq!(account.credits(), 500);
    assert_eq!((whole(false).reserved(), whole(true).reserved()), (0, 0));
    assert_eq!(ledger.reserve_download(&file()).unwrap().reserved(), 0);
    assert_eq!((part(&ledger), account.credits()), (0, 500));
}

/// The stream ends before its limit, so nobody knew beforehand that it has the whole view.
#[test]
fn remembers_view_that_ended_before_limit_of_its_stream() {
    let desk = Desk::new();
    let ledger = desk.open();
    let account = customer(&ledger, 1_000);
    charge_all(&ledger, &paged(&account, these(0..50), true, noon()));
    let begin = || {
        let view = Some(of_view(ViewRows::Some).on_site());
        ledger
            .reserve(&ChargeRequest { view, claim: claimed("file", "a"), ..stream(&account, 400, noon()) })
            .unwrap()
    };
    let cut = begin();
    assert_eq!(
        cut.settle(100, noon()).and_then(Pending::durable).unwrap().charged,
        100,
        "not all of the view"
    );
    let whole = || {
        let view = Some(of_view(ViewRows::Some).on_site());
        ledger.reserve(&ChargeRequest { view, ..stream(&account, 400, noon()) }).unwrap()
    };
    let complete = whole();
    complete.end_view();
    assert_eq!(complete.settle(300, noon()).and_then(Pending::durable).unwrap().charged, 250, "50 were paid");
    assert_eq!((whole().reserved(), account.credits()), (0, 600));
}
