//! Requests of the server at the provider: pages for customers, and lists for the comparison.

use mercato_ledger::PurchasesQuery;

use super::simulator::{KEY, Stripe, WEBHOOK_SECRET};
use super::{buy, command, credits, selling, webhook};
use crate::harness::{Site, wait_until};
use crate::site::browser::{Browser, EMAIL};

#[test]
fn finds_at_start_what_no_notification_told() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let mut site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    for _ in 0..7 {
        buy(&browser, "3000");
    }
    for session in 0..6 {
        stripe.pay(session);
    }
    stripe.refund(0, 1_221);
    stripe.dispute(1);
    stripe.dispute(2);
    stripe.close_dispute(1, true);
    stripe.age(5, 40 * 86_400);
    assert_eq!(credits(&site), 0);
    assert!(site.stop());
    let site = selling(&stripe, folder.path());
    wait_until("the comparison at the start", || credits(&site) == 3 * 3_000);
    let purchases = PurchasesQuery { account: None, before: None, limit: 10 };
    let found = site.running().app().ledger.purchases(&purchases).unwrap().purchases;
    let states: Vec<_> =
        found.iter().map(|checkout| checkout.state(crate::harness::now()).as_str()).collect();
    assert_eq!(states, ["open", "open", "paid", "paid", "paid", "disputed", "refunded"]);
}

#[test]
fn reconciles_and_lists_for_operator() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    for _ in 0..5 {
        buy(&browser, "10000");
    }
    for session in 0..5 {
        stripe.pay(session);
    }
    webhook(&site, &stripe.session_event("checkout.session.completed", 0));
    stripe.set_field(3, "line_items[0][price_data][unit_amount]", "1");
    stripe.set_field(4, "metadata[mercato_credits]", "x");
    let reconcile = r#"{"command":"reconcilePayments"}"#;
    let report = command(&site, reconcile).json()["data"].clone();
    assert_eq!((report["listed"].as_u64(), report["foundCount"].as_u64()), (Some(5), Some(2)), "{report}");
    assert_eq!(report["found"][0], serde_json::json!({"payment": "pi_2", "outcome": "granted"}));
    assert_eq!((report["unexplainedCount"].as_u64(), report["complete"].as_bool()), (Some(2), Some(true)));
    assert!(
        report["unexplained"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("amount: 6100 was asked for, 1 was told")
    );
    assert_eq!(credits(&site), 30_000);
    let again = command(&site, reconcile).json()["data"].clone();
    assert_eq!((again["foundCount"].as_u64(), credits(&site)), (Some(0), 30_000));

    let list =
        command(&site, r#"{"command":"listPayments","account":"acc_1","limit":2}"#).json()["data"].clone();
    assert_eq!((list["payments"].as_array().unwrap().len(), list["nextBefore"].as_u64()), (2, Some(4)));
    let rest = command(&site, r#"{"command":"listPayments","before":2}"#).json()["data"].clone();
    let first = &rest["payments"][0];
    assert_eq!((first["state"].as_str(), first["grossCents"].as_u64()), (Some("paid"), Some(6_100)));
    assert_eq!((first["payment"].as_str(), rest["nextBefore"].is_null()), (Some("pi_0"), true));
    assert_eq!(command(&site, r#"{"command":"listPayments","limit":101}"#).status, 400);
}

#[test]
fn answers_503_while_provider_fails_and_tells_no_secret() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let site = selling(&stripe, folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    for status in [500, 400, 302] {
        stripe.fail_with(status);
        let before = stripe.requests().len();
        let failed = buy(&browser, "10000");
        assert_eq!(failed.status, 503, "{}", failed.text());
        assert!(failed.text().contains("nothing was paid") && !failed.text().contains(KEY));
        let calls = stripe.requests().len() - before;
        assert_eq!(calls, if status == 500 { 2 } else { 1 }, "only failures of the provider are tried again");
    }
    let refused = command(&site, r#"{"command":"reconcilePayments"}"#);
    assert_eq!(refused.refusal().2, "PROVIDER_UNAVAILABLE");
    assert!(!refused.text().contains(KEY) && refused.text().contains("simulated"), "{}", refused.text());
    stripe.fail_with(0);
    assert_eq!(buy(&browser, "10000").status, 303);
    assert_eq!(stripe.sessions(), 1);
}

#[test]
fn refuses_to_start_without_usable_secrets() {
    let (stripe, folder) = (Stripe::start(), tempfile::tempdir().unwrap());
    let flags = stripe.flags(folder.path());
    let refusal = |flags: &[String]| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Site::refusal_with(folder.path(), &flags)
    };
    std::fs::write(folder.path().join("stripe.key"), WEBHOOK_SECRET).unwrap();
    let wrong = refusal(&flags);
    assert!(
        wrong.contains("--stripe-secret-key-file") && wrong.contains("begins with sk_ or rk_"),
        "{wrong}"
    );
    assert!(!wrong.contains(WEBHOOK_SECRET), "{wrong}");
    std::fs::write(folder.path().join("stripe.key"), KEY).unwrap();
    std::fs::remove_file(folder.path().join("stripe.webhook")).unwrap();
    let absent = refusal(&flags);
    assert!(absent.contains("--stripe-webhook-secret-file") && absent.contains("cannot read it"), "{absent}");
}

#[test]
fn orders_of_payments_need_provider() {
    let site = Site::empty(&[]);
    let refused = command(&site, r#"{"command":"reconcilePayments"}"#).refusal();
    assert_eq!((refused.0, refused.2.as_str()), (409, "NOT_RECONCILED"));
    let list = command(&site, r#"{"command":"listPayments"}"#).json();
    assert_eq!(list["data"]["payments"], serde_json::json!([]));
}
