//! Checkouts, their payments, and what of them is refunded or disputed.

use mercato_base::clock::Moment;
use mercato_ledger::limits::{CHECKOUT_SECONDS, UNPAID_CHECKOUTS_MAX};
use mercato_ledger::{
    AccountId, BeginCheckout, BooksError, CancelCheckout, Checkout, CheckoutState, CloseAccount,
    Contradiction, EntryKind, Ledger, PaidCheckout, PayCheckout, PaymentId, Price, PurchasesQuery,
    ReversalEvent, ReversePayment, Reversed,
};

use crate::desk::{Desk, charge, noon};

pub fn payment_id(id: &str) -> PaymentId {
    PaymentId { provider: "stripe".to_owned(), id: id.to_owned() }
}

/// A checkout at 22 % of tax on so many cents; numbers of the random bytes tell checkouts apart.
pub fn ask(
    ledger: &Ledger,
    account: AccountId,
    credits: u64,
    net: u64,
    at: Moment,
) -> Result<Checkout, BooksError> {
    let price = Price::with_vat(net, 2_200).unwrap();
    let provider = "stripe".to_owned();
    ledger.commit(&BeginCheckout { account, provider, credits, price, random: [7; 16], at })
}

/// The payment that a checkout asks for.
pub fn payment_of(checkout: &Checkout, id: &str) -> PayCheckout {
    PayCheckout {
        checkout: checkout.id,
        payment: payment_id(id),
        account: checkout.account,
        credits: checkout.credits,
        gross: checkout.price.gross,
        currency: checkout.price.currency.clone(),
        at: noon(),
    }
}

pub fn tell(ledger: &Ledger, payment: &str, event: ReversalEvent) -> Reversed {
    ledger.commit(&ReversePayment { payment: payment_id(payment), event, at: noon() }).unwrap()
}

pub fn refunded(total: u64) -> ReversalEvent {
    ReversalEvent::Refunded { total }
}

pub fn disputed(dispute: &str, amount: u64) -> ReversalEvent {
    ReversalEvent::Disputed { dispute: dispute.to_owned(), amount }
}

pub fn closed(dispute: &str, amount: u64, is_won: bool) -> ReversalEvent {
    ReversalEvent::DisputeClosed { dispute: dispute.to_owned(), amount, is_won }
}

fn account(ledger: &Ledger) -> AccountId {
    ledger.create_account("buyer", noon()).unwrap()
}

fn credits(ledger: &Ledger, account: AccountId) -> u64 {
    ledger.account(account).unwrap().credits()
}

/// Kind, amount and balance of every entry.
fn entries(ledger: &Ledger) -> Vec<(EntryKind, i64, u64)> {
    assert!(ledger.verify().unwrap().is_balanced());
    let (entries, _) = ledger.entries(None, 1, 10_000).unwrap();
    entries.iter().map(|entry| (entry.kind, entry.amount, entry.balance)).collect()
}

#[test]
fn grants_paid_checkout_once_and_notes_price() {
    let desk = Desk::new();
    let ledger = desk.open();
    let buyer = account(&ledger);
    let checkout = ask(&ledger, buyer, 10_000, 5_000, noon()).unwrap();
    assert_eq!((checkout.price.net, checkout.price.vat, checkout.price.gross), (5_000, 1_100, 6_100));
    assert_eq!((credits(&ledger, buyer), entries(&ledger).len()), (0, 0), "a checkout gives nothing");
    let payment = payment_of(&checkout, "pi_1");
    let granted = PaidCheckout::Granted { account: buyer, credits: 10_000 };
    assert_eq!(ledger.commit(&payment), Ok(granted));
    for _ in 0..3 {
        assert_eq!(ledger.commit(&payment), Ok(PaidCheckout::Replayed));
    }
    drop(ledger);
    let ledger = desk.open();
    assert_eq!(ledger.commit(&payment), Ok(PaidCheckout::Replayed));
    assert_eq!(entries(&ledger), [(EntryKind::Purchase, 10_000, 10_000)]);
    let (found, _) = ledger.entries(None, 1, 10).unwrap();
    assert_eq!((found[0].cents, found[0].request_id.as_str()), (5_000, "pi_1"));
    let kept = ledger.checkout(checkout.id).unwrap().unwrap();
    assert_eq!(
        kept.paid.map(|paid| (paid.payment, paid.sequence)),
        Some(("pi_1".to_owned(), found[0].sequence))
    );
}

#[test]
fn cancels_unpaid_checkout_and_takes_late_payment() {
    let desk = Desk::new();
    let ledger = desk.open();
    let (buyer, other) = (account(&ledger), account(&ledger));
    let checkout = ask(&ledger, buyer, 10_000, 5_000, noon()).unwrap();
    let state = |ledger: &Ledger| ledger.checkout(checkout.id).unwrap().unwrap().state(noon());
    assert_eq!(
        ledger.commit(&CancelCheckout { account: other, id: checkout.id, at: noon() }),
        Ok(None),
        "it belongs to another account"
    );
    assert_eq!(state(&ledger), CheckoutState::Open);
    for _ in 0..2 {
        let cancelled =
            ledger.commit(&CancelCheckout { account: buyer, id: checkout.id, at: noon() }).unwrap().unwrap();
        assert_eq!(cancelled.state(noon()), CheckoutState::Cancelled);
    }
    drop(ledger);
    let ledger = desk.open();
    assert_eq!(state(&ledger), CheckoutState::Cancelled);
    let granted = PaidCheckout::Granted { account: buyer, credits: 10_000 };
    assert_eq!(ledger.commit(&payment_of(&checkout, "pi_1")), Ok(granted));
    assert_eq!((state(&ledger), credits(&ledger, buyer)), (CheckoutState::Paid, 10_000));
    let kept =
        ledger.commit(&CancelCheckout { account: buyer, id: checkout.id, at: noon() }).unwrap().unwrap();
    assert_eq!(kept.state(noon()), CheckoutState::Paid, "what is paid is not cancelled");
}

#[test]
fn refuses_payment_that_differs_from_what_was_asked() {
    let desk = Desk::new();
    let ledger = desk.open();
    let (buyer, other) = (account(&ledger), account(&ledger));
    let checkout = ask(&ledger, buyer, 10_000, 5_000, noon()).unwrap();
    let right = payment_of(&checkout, "pi_1");
    for (field, wrong) in [
        ("account", PayCheckout { account: other, ..right.clone() }),
        ("credits", PayCheckout { credits: 10_001, ..right.clone() }),
        ("amount", PayCheckout { gross: 6_099, ..right.clone() }),
        ("currency", PayCheckout { currency: "USD".to_owned(), ..right.clone() }),
        (
            "provider",
            PayCheckout {
                payment: PaymentId { provider: "demo".to_owned(), id: "pi_1".to_owned() },
                ..right.clone()
            },
        ),
    ] {
        match ledger.commit(&wrong) {
            Ok(PaidCheckout::Refused(Contradiction::Differs { field: found, .. })) => {
                assert_eq!(found, field)
            }
            found => panic!("{field}: {found:?}"),
        }
    }
    let unknown = "chk_1_00000000000000000000000000000000".parse().unwrap();
    let stranger = PayCheckout { checkout: unknown, ..right.clone() };
    assert_eq!(
        ledger.commit(&stranger),
        Ok(PaidCheckout::Refused(Contradiction::UnknownCheckout)),
        "the number alone is not enough"
    );
    assert_eq!(ledger.checkout(unknown), Ok(None));
    assert!(entries(&ledger).is_empty());
    ledger.commit(&right).unwrap();
    let again = PayCheckout { payment: payment_id("pi_2"), ..right };
    let paid_before = Contradiction::PaidBefore { payment: "pi_1".to_owned() };
    assert_eq!(ledger.commit(&again), Ok(PaidCheckout::Refused(paid_before)));
    let second = ask(&ledger, buyer, 10_000, 5_000, noon()).unwrap();
    let reused = payment_of(&second, "pi_1");
    assert_eq!(ledger.commit(&reused), Ok(PaidCheckout::Refused(Contradiction::PaymentUsed)));
    assert_eq!(credits(&ledger, buyer), 10_000);
}

#[test]
fn knows_payment_that_operator_entered_by_hand() {
    let desk = Desk::new();
    let ledger = desk.open();
    let buyer = account(&ledger);
    let checkout = ask(&ledger, buyer, 10_000, 5_000, noon()).unwrap();
    ledger.buy_once(buyer, 10_000, Some(5_000), payment_id("pi_1"), "", noon()).unwrap();
    assert_eq!(ledger.commit(&payment_of(&checkout, "pi_1")), Ok(PaidCheckout::Replayed));
    assert_eq!(credits(&ledger, buyer), 10_000);
    tell(&ledger, "pi_1", refunded(6_100));
    assert_eq!(credits(&ledger, buyer), 0, "the checkout is paid, so it can be refunded");
    let other = ask(&ledger, buyer, 7, 4, noon()).unwrap();
    ledger.buy_once(buyer, 5, Some(4), payment_id("pi_2"), "", noon()).unwrap();
    assert_eq!(
        ledger.commit(&payment_of(&other, "pi_2")),
        Ok(PaidCheckout::Refused(Contradiction::PaymentUsed))
    );
}

#[test]
fn takes_refunded_credits_back_in_proportion_and_never_below_zero() {
    let desk = Desk::new();
    let ledger = desk.open();
    let buyer = account(&ledger);
    let checkout = ask(&ledger, buyer, 1_000, 1_000, noon()).unwrap();
    ledger.commit(&payment_of(&checkout, "pi_1")).unwrap();
    let half = Reversed::Settled { account: buyer, change: -500 };
    assert_eq!(tell(&ledger, "pi_1", refunded(610)), half);
    for total in [610, 305, 0] {
        assert_eq!(tell(&ledger, "pi_1", refunded(total)), Reversed::Unchanged);
    }
    charge(&ledger, &ledger.account(buyer).unwrap(), 400, noon()).unwrap();
    assert_eq!(tell(&ledger, "pi_1", refunded(1_220)), Reversed::Settled { account: buyer, change: -100 });
    let kept = ledger.checkout(checkout.id).unwrap().unwrap();
    assert_eq!((kept.taken, kept.forgone, kept.state(noon())), (600, 400, CheckoutState::Refunded));
    // Later credits belong to another payment.
    ledger.grant(buyer, 50, "", "", noon()).unwrap();
    assert_eq!(tell(&ledger, "pi_1", refunded(1_220)), Reversed::Unchanged);
    assert_eq!(
        entries(&ledger),
        [
            (EntryKind::Purchase, 1_000, 1_000),
            (EntryKind::TakeBack, -500, 500),
            (EntryKind::Charge, -400, 100),
            (EntryKind::TakeBack, -100, 0),
            (EntryKind::Grant, 50, 50),
        ]
    );
    let (found, _) = ledger.entries(None, 1, 10).unwrap();
    assert_eq!(found[1].related, found[0].sequence);
    assert_eq!(found[3].note, "100 of 500 credits were there");
}

#[test]
fn freezes_disputed_credits_and_gives_them_again_when_won() {
    let desk = Desk::new();
    let ledger = desk.open();
    let buyer = account(&ledger);
    let checkout = ask(&ledger, buyer, 1_000, 1_000, noon()).unwrap();
    ledger.commit(&payment_of(&checkout, "pi_1")).unwrap();
    charge(&ledger, &ledger.account(buyer).unwrap(), 300, noon()).unwrap();
    assert_eq!(
        tell(&ledger, "pi_1", disputed("dp_1", 1_220)),
        Reversed::Settled { account: buyer, change: -700 }
    );
    assert_eq!(tell(&ledger, "pi_1", disputed("dp_1", 1_220)), Reversed::Unchanged);
    let state = |ledger: &Ledger| ledger.checkout(checkout.id).unwrap().unwrap().state(noon());
    assert_eq!((credits(&ledger, buyer), state(&ledger)), (0, CheckoutState::Disputed));
    let won = closed("dp_1", 1_220, true);
    assert_eq!(tell(&ledger, "pi_1", won.clone()), Reversed::Settled { account: buyer, change: 700 });
    for late in [won, disputed("dp_1", 1_220), closed("dp_1", 1_220, false)] {
        assert_eq!(tell(&ledger, "pi_1", late), Reversed::Unchanged);
    }
    assert_eq!((credits(&ledger, buyer), state(&ledger)), (700, CheckoutState::Paid));
    tell(&ledger, "pi_1", disputed("dp_2", 610));
    tell(&ledger, "pi_1", closed("dp_2", 610, false));
    assert_eq!((credits(&ledger, buyer), state(&ledger)), (200, CheckoutState::Disputed), "half is lost");
    assert_eq!(entries(&ledger)[3], (EntryKind::GiveBack, 700, 700));
}

#[test]
fn keeps_refund_and_dispute_that_come_before_payment() {
    let desk = Desk::new();
    let ledger = desk.open();
    let buyer = account(&ledger);
    ledger.grant(buyer, 5, "", "", noon()).unwrap();
    let checkout = ask(&ledger, buyer, 1_000, 1_000, noon()).unwrap();
    assert_eq!(tell(&ledger, "pi_1", refunded(305)), Reversed::Kept);
    assert_eq!(tell(&ledger, "pi_1", disputed("dp_1", 305)), Reversed::Kept);
    drop(ledger);
    let ledger = desk.open();
    ledger.commit(&payment_of(&checkout, "pi_1")).unwrap();
    assert_eq!(credits(&ledger, buyer), 505);
    tell(&ledger, "pi_1", closed("dp_1", 305, true));
    assert_eq!(credits(&ledger, buyer), 755);
}

#[test]
fn bounds_checkouts_that_wait_for_payment() {
    let desk = Desk::new();
    let ledger = desk.open();
    let buyer = account(&ledger);
    let first = ask(&ledger, buyer, 1, 50, noon()).unwrap();
    for _ in 1..UNPAID_CHECKOUTS_MAX {
        ask(&ledger, buyer, 1, 50, noon()).unwrap();
    }
    let is_refused = |outcome: Result<Checkout, BooksError>, of: &str| match outcome {
        Err(BooksError::Invalid { field, .. }) => assert_eq!(field, of),
        other => panic!("{other:?}"),
    };
    is_refused(ask(&ledger, buyer, 1, 50, noon()), "checkout");
    ask(&ledger, account(&ledger), 1, 50, noon()).unwrap();
    ledger.commit(&payment_of(&first, "pi_1")).unwrap();
    ask(&ledger, buyer, 1, 50, noon()).unwrap();
    is_refused(ask(&ledger, buyer, 1, 50, noon()), "checkout");
    ask(&ledger, buyer, 1, 50, noon().plus_seconds(CHECKOUT_SECONDS)).unwrap();
    is_refused(ask(&ledger, buyer, 0, 50, noon()), "credits");
    is_refused(ask(&ledger, buyer, u64::MAX, 50, noon()), "credits");
    ledger.commit(&CloseAccount { account: buyer, at: noon() }).unwrap();
    assert_eq!(
        ask(&ledger, buyer, 1, 50, noon()).map(drop),
        Err(BooksError::AccountClosed { account: buyer })
    );
}

#[test]
fn refuses_oversized_names_and_further_disputes() {
    let desk = Desk::new();
    let ledger = desk.open();
    let told = |payment: PaymentId, event| ledger.commit(&ReversePayment { payment, event, at: noon() });
    for (payment, event) in [
        (payment_id(""), refunded(1)),
        (payment_id(&"x".repeat(201)), refunded(1)),
        (payment_id("a\0b"), refunded(1)),
        (PaymentId { provider: "x".repeat(41), id: "pi".to_owned() }, refunded(1)),
        (payment_id("pi"), disputed("", 1)),
        (payment_id("pi"), closed(&"x".repeat(201), 1, true)),
    ] {
        assert!(matches!(told(payment, event), Err(BooksError::Invalid { .. })));
    }
    for number in 0..16 {
        assert_eq!(told(payment_id("pi"), disputed(&number.to_string(), 1)), Ok(Reversed::Kept));
    }
    assert!(matches!(told(payment_id("pi"), disputed("more", 1)), Err(BooksError::Invalid { .. })));
}

#[test]
fn lists_purchases_newest_first_in_pages() {
    let desk = Desk::new();
    let ledger = desk.open();
    let (one, two) = (account(&ledger), account(&ledger));
    for number in 0..7 {
        ask(&ledger, if number % 3 == 0 { two } else { one }, number + 1, 50, noon()).unwrap();
    }
    let list = |ledger: &Ledger, account, limit| {
        let (mut found, mut before, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = ledger.purchases(&PurchasesQuery { account, before, limit }).unwrap();
            assert!(page.purchases.len() <= limit.max(1));
            found.extend(page.purchases.iter().map(|checkout| checkout.credits));
            pages += 1;
            before = page.before;
            if before.is_none() {
                return (found, pages);
            }
        }
    };
    let compare = |ledger: &Ledger| {
        assert_eq!(list(ledger, None, 100), (vec![7, 6, 5, 4, 3, 2, 1], 1));
        assert_eq!(list(ledger, None, 3), (vec![7, 6, 5, 4, 3, 2, 1], 3));
        assert_eq!(list(ledger, Some(two), 2), (vec![7, 4, 1], 2));
        assert_eq!(list(ledger, Some(one), 4), (vec![6, 5, 3, 2], 1));
        assert_eq!(list(ledger, Some(AccountId::from_number(9)), 4), (vec![], 1));
    };
    compare(&ledger);
    drop(ledger);
    let ledger = desk.open();
    compare(&ledger);
    assert_eq!(ask(&ledger, one, 8, 50, noon()).unwrap().id.number(), 8, "numbers go on");
}
