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
fn refuses_host_that_a_foreign_dns_leads_here() {
    let site = Site::with_cities();
    let token = format!("Bearer {}", site.admin_token());
    let port = site.admin_address().port();
    let ask = |target: &str, host: &str| {
        exchange(site.admin_address(), &Ask::get(target).header("Host", host).header("Authorization", &token))
    };
    for target in ["/metrics", "/healthz", "/operator", "/nowhere"] {
        for host in
            ["evil.test", &format!("evil.test:{port}"), "127.0.0.1.evil.test", "10.0.0.1", "0.0.0.0", ""]
        {
            let refused = ask(target, host).refusal();
            assert_eq!(refused, (403, "FORBIDDEN".into(), "HOST_FOREIGN".into()), "{target} {host}");
        }
    }
    for host in ["localhost", &format!("127.0.0.1:{port}"), &format!("[::1]:{port}"), "mercato.test:99"] {
        assert_eq!(ask("/metrics", host).status, 200, "{host}");
    }
}

#[test]
fn limits_wrong_tokens_by_address() {
    let site = Site::with_cities();
    let ask = |token: &str| {
        let reload = Ask::new("POST", "/admin/v1/catalog/reload").body(b"");
        exchange(site.admin_address(), &reload.header("Authorization", &format!("Bearer {token}")))
    };
    for _ in 0..10 {
        assert_eq!(ask("wrong").refusal().2, "OPERATOR_TOKEN");
    }
    let refused = ask("wrong");
    assert_eq!(refused.refusal(), (429, "RATE_LIMITED".into(), "TOO_MANY_WRONG_TOKENS".into()));
    let seconds: u64 = refused.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let form = Ask::new("POST", "/operator/sign-in")
        .body(b"token=wrong")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "same-origin");
    let page = exchange(site.admin_address(), &form);
    assert_eq!(page.refusal().0, 429, "the form counts with the header");
    assert_eq!(ask(&site.admin_token()).status, 200, "nobody locks the operator out");
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
    assert!(
        answer.header("Content-Type").unwrap().starts_with("application/openmetrics-text; version=1.0.0")
    );
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
    for command in [
        r#"{"command": "buyCredits", "account": "acc_1", "credits": 1, "credits": 1000}"#,
        r#"{"command": "buyCredits", "command": "grantCredits", "account": "acc_1", "credits": 1}"#,
    ] {
        let ask = Ask::post("/admin/v1/commands", command).header("Authorization", &token);
        assert_eq!(exchange(site.admin_address(), &ask).status, 400, "{command}");
    }
    assert_eq!(site.running().app().ledger.accounts()[0].credits(), 10);
}
