//! From the form with the packs through the provider to the receipt, and back by refunds and disputes.

use mercato_ledger::EntryKind;

use super::simulator::{Stripe, payment};
use super::{buy, credits, selling, webhook};
use crate::site::browser::{Browser, EMAIL};
use crate::site::crawl::check_usable;

#[test]
fn closes_page_of_cancelled_purchase_and_takes_late_payment() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    for session in 0..2 {
        assert_eq!(buy(&browser, "10000").status, 303);
        let own = format!("/account/purchases/{}", stripe.field(session, "client_reference_id").unwrap());
        if session == 1 {
            stripe.fail_with(500);
        }
        let cancelled = browser.post(&own, &[("action", "cancel")]);
        assert_eq!(cancelled.header("Location"), Some(format!("{own}?done=given-up").as_str()));
        stripe.fail_with(0);
        assert_eq!(stripe.is_expired(session), session == 0, "a provider that fails is no obstacle");
        let page = browser.open(&own);
        assert!(page.one("main .notice").line().starts_with("This purchase is cancelled"));
    }
    assert_eq!(credits(&site), 0);
    let event = stripe.pay(1);
    assert_eq!(webhook(&site, &event).status, 200);
    assert_eq!(credits(&site), 10_000, "a payment that arrives all the same counts");
    let rows = browser.open("/account/credits").rows("main tbody tr");
    assert!(rows[0].contains(" paid ") && rows[1].contains(" cancelled "), "{rows:?}");
}

#[test]
fn sells_credits_from_form_to_receipt() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    let page = browser.get("/account/credits");
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(policy.ends_with(&format!("form-action 'self' {}", stripe.url())), "{policy}");
    let offers: Vec<_> =
        browser.open("/account/credits").select("fieldset label").iter().map(|label| label.line()).collect();
    assert_eq!(
        offers,
        [
            "10,000 credits for €50.00 plus VAT, €61.00 in total",
            "3,000 credits for €10.01 plus VAT, €12.21 in total"
        ]
    );

    let reference = check_checkout(&stripe, &browser);
    assert_eq!(credits(&site), 0);

    let own = format!("/account/purchases/{reference}");
    let waiting = browser.open(&format!("{own}?done=paying"));
    assert!(
        waiting.one("main .notice").line().starts_with("This purchase has not been paid yet."),
        "no thanks before the money"
    );
    assert_eq!(browser.get(&format!("{own}/receipt")).status, 404);
    assert!(
        browser
            .open("/account/credits?done=cancelled")
            .one("main .notice")
            .line()
            .contains("Nothing was paid.")
    );

    let event = stripe.pay(0);
    for _ in 0..3 {
        assert_eq!(webhook(&site, &event).status, 200);
    }
    assert_eq!(credits(&site), 10_000);
    let thanks = browser.open(&format!("{own}?done=paying"));
    assert!(thanks.one("main .notice").line().starts_with("Thank you."));
    let listed = browser.open("/account/credits").rows("main tbody tr");
    assert!(listed[0].contains("10,000 €61.00 paid"), "{listed:?}");
    assert!(listed[1].contains("purchase"), "{listed:?}");

    let receipt = browser.open(&format!("{own}/receipt"));
    let text = receipt.one("main").line();
    for part in ["Receipt 1", "Town & Sons", "Piazza 1", "VAT number IT01234567890", EMAIL, "stripe pi_0"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        receipt.rows("main table tr")[1..],
        ["10,000 credits (Net) €50.00", "VAT 22% €11.00", "Total paid €61.00"]
    );
    let italian = browser.open(&format!("{own}/receipt?lang=it"));
    assert_eq!(italian.rows("main table tr")[2..], ["IVA 22% 11,00 €", "Totale pagato 61,00 €"]);
    for target in ["/account/credits", own.as_str(), &format!("{own}/receipt"), "/pricing"] {
        check_usable(target, &browser.open(target));
    }
}

/// Begins a purchase, checks what the provider is asked for, and gives its reference.
fn check_checkout(stripe: &Stripe, browser: &Browser) -> String {
    let begun = buy(browser, "10000");
    assert_eq!(begun.status, 303, "{}", begun.text());
    assert_eq!(begun.header("Location"), Some(format!("{}/c/pay/cs_test_0", stripe.url()).as_str()));
    let field = |name: &str| stripe.field(0, name).unwrap();
    assert_eq!(field("line_items[0][price_data][unit_amount]"), "6100");
    assert_eq!(field("line_items[0][price_data][currency]"), "eur");
    assert_eq!(field("line_items[0][price_data][product_data][name]"), "Valdoro: 10,000 credits");
    assert_eq!(
        (field("mode"), field("customer_email"), field("locale")),
        ("payment".into(), EMAIL.into(), "en".into())
    );
    let reference = field("client_reference_id");
    assert_eq!(
        field("success_url"),
        format!("http://mercato.test/account/purchases/{reference}?done=paying")
    );
    assert_eq!(field("cancel_url"), "http://mercato.test/account/credits?done=cancelled");
    reference
}

#[test]
fn takes_back_refunds_and_disputes_and_gives_again_what_was_won() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&browser, "3000");
    buy(&browser, "10000");
    for session in 0..2 {
        assert_eq!(webhook(&site, &stripe.pay(session)).status, 200);
    }
    assert_eq!(credits(&site), 13_000);
    let (first, second) = (stripe.refund(1, 3_050), stripe.refund(1, 3_050));
    for event in [&second, &first, &second] {
        assert_eq!(webhook(&site, event).status, 200);
    }
    assert_eq!(credits(&site), 3_000);
    let dispute = stripe.dispute(0);
    assert_eq!(webhook(&site, &dispute).status, 200);
    assert_eq!(credits(&site), 0);
    let listed = browser.open("/account/credits").rows("main tbody tr");
    assert!(listed[0].contains("refunded") && listed[1].contains("disputed with the bank"), "{listed:?}");
    let won = stripe.close_dispute(0, true);
    for event in [&won, &dispute, &won] {
        assert_eq!(webhook(&site, event).status, 200);
    }
    assert_eq!(credits(&site), 3_000);
    let (entries, _) = site.running().app().ledger.entries(None, 1, 100).unwrap();
    let kinds: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.amount)).collect();
    assert_eq!(
        kinds,
        [
            (EntryKind::Purchase, 3_000),
            (EntryKind::Purchase, 10_000),
            (EntryKind::TakeBack, -10_000),
            (EntryKind::TakeBack, -3_000),
            (EntryKind::GiveBack, 3_000),
        ]
    );
    let reference = stripe.field(1, "client_reference_id").unwrap();
    let receipt = browser.open(&format!("/account/purchases/{reference}/receipt"));
    assert_eq!(receipt.rows("main tfoot tr")[1], "Refunded since €61.00");
    let told = browser.open("/account/credits?kind=purchases").one("main").line();
    assert!(
        told.contains("reversed after a refund or dispute") && told.contains("restored after a dispute"),
        "{told}"
    );
}

#[test]
fn takes_events_in_any_order_before_payment() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&browser, "10000");
    let paid = stripe.pay(0);
    let (refund, dispute, won) = (stripe.refund(0, 610), stripe.dispute(0), stripe.close_dispute(0, true));
    for event in [&won, &refund, &dispute, &paid, &refund, &paid] {
        assert_eq!(webhook(&site, event).status, 200);
    }
    assert_eq!(credits(&site), 9_000);
    assert_eq!(payment(0), "pi_0");
}

#[test]
fn grants_delayed_payment_when_it_succeeds() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&browser, "10000");
    let completed = stripe.session_event("checkout.session.completed", 0);
    assert_eq!((webhook(&site, &completed).status, credits(&site)), (200, 0), "it is not paid yet");
    let failed = stripe.session_event("checkout.session.async_payment_failed", 0);
    assert_eq!((webhook(&site, &failed).status, credits(&site)), (200, 0));
    let paid = stripe.pay(0);
    let succeeded = stripe.session_event("checkout.session.async_payment_succeeded", 0);
    for event in [&succeeded, &paid, &succeeded] {
        assert_eq!((webhook(&site, event).status, credits(&site)), (200, 10_000));
    }
}

#[test]
fn shows_purchases_to_their_owner_only() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&browser, "10000");
    let own = format!("/account/purchases/{}", stripe.field(0, "client_reference_id").unwrap());
    assert_eq!(browser.post(&own, &[]).status, 404, "nobody pays at Stripe by a click");
    webhook(&site, &stripe.pay(0));
    let other = Browser::signed_in(&site, "mona@example.org");
    for target in [own.clone(), format!("{own}/receipt"), "/account/purchases/chk_1".to_owned()] {
        assert_eq!(other.get(&target).status, 404, "{target}");
        assert_eq!(Browser::new(&site).get(&target).status, 303, "{target}");
    }
    assert!(!other.open("/account/credits").one("main").line().contains("61.00 paid"));
    assert_eq!(browser.get(&own).status, 200);
    assert_eq!(browser.post(&own, &[]).status, 303, "it says that it is paid");
}
