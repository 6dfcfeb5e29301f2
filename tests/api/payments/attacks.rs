//! Notifications that Stripe did not send, or that say something else than what was asked for.

use super::simulator::{Stripe, WEBHOOK_SECRET, signature, unix_now};
use super::{buy, credits, selling, webhook, webhook_with};
use crate::harness::{Ask, Site};
use crate::site::browser::{Browser, EMAIL};

/// A server on which one purchase waits for its payment, and the event that pays it.
fn paid(stripe: &Stripe, folder: &std::path::Path) -> (Site, String) {
    let site = selling(stripe, folder);
    let browser = Browser::signed_in(&site, EMAIL);
    assert_eq!(buy(&browser, "10000").status, 303);
    let event = stripe.pay(0);
    drop(browser);
    (site, event)
}

#[test]
fn refuses_forged_altered_and_old_notifications() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let (site, event) = paid(&stripe, folder.path());
    let now = unix_now();
    let right = signature(WEBHOOK_SECRET, now, &event);
    let altered = event.replace("10000", "99999");
    for (body, header, reason) in [
        (&event, signature("whsec_other", now, &event), "SIGNATURE_WRONG"),
        (&altered, right.clone(), "SIGNATURE_WRONG"),
        (&event, right.replace(&format!("t={now}"), &format!("t={}", now + 1)), "SIGNATURE_WRONG"),
        (&event, signature(WEBHOOK_SECRET, now - 310, &event), "SIGNATURE_UNTIMELY"),
        (&event, signature(WEBHOOK_SECRET, now + 310, &event), "SIGNATURE_UNTIMELY"),
        (&event, String::new(), "SIGNATURE_MALFORMED"),
        (&event, format!("t={now}"), "SIGNATURE_MALFORMED"),
        (&event, right.replace("v1=", "v0="), "SIGNATURE_MALFORMED"),
    ] {
        let refusal = webhook_with(&site, body, &header).refusal();
        assert_eq!((refusal.0, refusal.2.as_str()), (400, reason), "{header}");
    }
    let bare = site.send(&Ask::post("/payments/stripe/webhook", &event));
    assert_eq!(bare.refusal().2, "SIGNATURE_MALFORMED");
    assert_eq!(credits(&site), 0);
    let rotated = format!("t={now},v1={},{}", "0".repeat(64), right.split_once(',').unwrap().1);
    assert_eq!((webhook_with(&site, &event, &rotated).status, credits(&site)), (200, 10_000));
    for _ in 0..5 {
        assert_eq!((webhook_with(&site, &event, &right).status, credits(&site)), (200, 10_000), "a replay");
    }
}

#[test]
fn bounds_notifications_and_refuses_unreadable_ones() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let (site, _) = paid(&stripe, folder.path());
    let huge = format!("{{\"id\":\"{}\"}}", "x".repeat(256 * 1024));
    assert_eq!(webhook(&site, &huge).refusal().0, 413);
    let larger = "x".repeat(2 * 1024 * 1024);
    assert_eq!(webhook(&site, &larger).refusal().0, 413);
    for body in
        ["", "{", "[]", "{\"type\":\"charge.refunded\",\"data\":{\"object\":{\"amount_refunded\":-1}}}"]
    {
        assert_eq!(webhook(&site, body).refusal().2, "NOTIFICATION_UNREADABLE", "{body}");
    }
    assert_eq!(site.send(&Ask::get("/payments/stripe/webhook")).refusal().0, 405);
    assert_eq!(credits(&site), 0);
}

#[test]
fn ignores_events_that_do_not_concern_credits() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let (site, event) = paid(&stripe, folder.path());
    for kind in
        ["customer.created", "payment_intent.succeeded", "checkout.session.expired", "charge.succeeded"]
    {
        let other = event.replace("checkout.session.completed", kind);
        assert_eq!(webhook(&site, &other).json()["data"]["received"], true, "{kind}");
    }
    stripe.set_field(0, "client_reference_id", "order 17 of a shop");
    let foreign = stripe.session_event("checkout.session.completed", 0);
    assert_eq!((webhook(&site, &foreign).status, credits(&site)), (200, 0));
}

#[test]
fn grants_nothing_for_payment_that_was_not_asked_for() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let (site, event) = paid(&stripe, folder.path());
    let reference = stripe.field(0, "client_reference_id").unwrap();
    let account = stripe.field(0, "metadata[mercato_account]").unwrap();
    for (name, value) in [
        ("line_items[0][price_data][unit_amount]", "1"),
        ("line_items[0][price_data][currency]", "usd"),
        ("metadata[mercato_credits]", "1000000"),
        ("metadata[mercato_account]", "acc_77"),
    ] {
        let before = stripe.field(0, name).unwrap();
        stripe.set_field(0, name, value);
        let refusal = webhook(&site, &stripe.session_event("checkout.session.completed", 0)).refusal();
        assert_eq!((refusal.0, refusal.2.as_str()), (409, "PAYMENT_CONTRADICTS"), "{name}");
        stripe.set_field(0, name, &before);
    }
    let other = reference.replace("chk_1_", "chk_2_");
    for name in ["client_reference_id", "metadata[mercato_checkout]"] {
        stripe.set_field(0, name, &other);
    }
    let unknown = webhook(&site, &stripe.session_event("checkout.session.completed", 0)).refusal();
    assert_eq!(unknown.2, "PAYMENT_CONTRADICTS", "a checkout of other books");
    assert_eq!((credits(&site), account.as_str()), (0, "acc_1"));
    assert_eq!((webhook(&site, &event).status, credits(&site)), (200, 10_000));
}
