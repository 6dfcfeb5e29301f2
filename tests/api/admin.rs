//! The operator's listener.

use std::os::unix::fs::PermissionsExt;

use crate::harness::{Ask, MANIFEST, Site, city_columns, exchange, publish_files};

#[test]
fn requires_operator_token() {
    let site = Site::with_cities();
    let mode = std::fs::metadata(site.data().admin_token()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let reload = Ask::new("POST", "/admin/v1/catalog/reload").body(b"");
    let refused = exchange(site.admin_address(), &reload);
    assert_eq!(refused.refusal(), (401, "UNAUTHORIZED".into(), "OPERATOR_TOKEN".into()));
    assert!(refused.header("WWW-Authenticate").unwrap().starts_with("Bearer"));
    let token = format!("Bearer {}", site.admin_token());
    let answer = exchange(site.admin_address(), &reload.header("Authorization", &token));
    assert_eq!((answer.status, &answer.json()["data"]["serving"]), (200, &1.into()));
    assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
}

#[test]
fn serves_publication_after_reload() {
    let site = Site::with_cities();
    publish_files(&site.data(), MANIFEST, "1.5.0", &city_columns(4), &[]);
    let token = format!("Bearer {}", site.admin_token());
    let reload = Ask::new("POST", "/admin/v1/catalog/reload").body(b"").header("Authorization", &token);
    assert_eq!(exchange(site.admin_address(), &reload).status, 200);
    assert!(site.serves("cities", "1.5.0"));
}

#[test]
fn hides_admin_paths_and_metrics_from_public_listener() {
    let site = Site::with_cities();
    assert_eq!(site.get("/metrics").status, 404);
    assert_eq!(site.send(&Ask::new("POST", "/admin/v1/catalog/reload").body(b"")).status, 404);
}

#[test]
fn counts_responses_by_route_and_status() {
    let site = Site::with_cities();
    site.query("cities", &site.paying_key(10), r#"{"limit": 2}"#);
    site.get("/nowhere");
    let answer = exchange(site.admin_address(), &Ask::get("/metrics"));
    assert!(answer.header("Content-Type").unwrap().starts_with("text/plain; version=0.0.4"));
    site.wait_for_metrics(&[
        "mercato_requests_total{route=\"/api/v1/datasets/{slug}/query\",status=\"200\"} 1",
        "mercato_requests_total{route=\"none\",status=\"404\"} 1",
        "mercato_rows_total 2",
        "mercato_credits_charged_total 2",
        "mercato_datasets_serving 1",
        "mercato_datasets_quarantined 0",
    ]);
}

#[test]
fn rejects_command_with_duplicate_field() {
    let site = Site::with_cities();
    site.paying_key(10);
    let token = format!("Bearer {}", site.admin_token());
    for order in [
        r#"{"order": "buyCredits", "account": "acc_1", "credits": 1, "credits": 1000}"#,
        r#"{"order": "buyCredits", "order": "grantCredits", "account": "acc_1", "credits": 1}"#,
    ] {
        let ask = Ask::post("/admin/v1/orders", order).header("Authorization", &token);
        assert_eq!(exchange(site.admin_address(), &ask).status, 400, "{order}");
    }
    assert_eq!(site.running().app().ledger.accounts()[0].credits(), 10);
}
