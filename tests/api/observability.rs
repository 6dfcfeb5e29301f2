//! The dashboard, the alert rules and the documents name only metrics that the server has.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use mercato_net::ListenAddress;

use crate::harness::{Ask, MANIFEST, Site, city_columns, exchange};

/// Names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let is_name =
        |character: char| character.is_ascii_lowercase() || character == '_' || character.is_ascii_digit();
    text.split(|character| !is_name(character))
        .filter(|word| word.starts_with("mercato_"))
        .map(str::to_owned)
        .collect()
}

fn exposed() -> BTreeSet<String> {
    // With every part that counts.
    let mail =
        ["--smtp", "smtp://127.0.0.1:1", "--mail-from", "n@a.test", "--public-url", "http://mercato.test"];
    let site = Site::empty(&mail);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(6));
    let key = site.paying_key(100);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    site.wait_for_metrics(&[
        "mercato_requests_total{route=\"/api/v1/datasets/{slug}/query\",status=\"200\"} 1",
    ]);
    let bearer = format!("Bearer {}", site.admin_token());
    let answer = exchange(site.admin_address(), &Ask::get("/metrics").header("Authorization", &bearer));
    assert_eq!(answer.status, 200);
    // A histogram has its own name in its type, and others for its samples.
    let lines = answer.text();
    let lines = lines.lines().filter(|line| !line.starts_with('#') || line.ends_with(" histogram"));
    // Those of books on a database and of versions in object storage need both, and stand in one file each.
    let sources = [
        include_str!("../../crates/catalog/src/releases/counts.rs"),
        include_str!("../../src/api/handlers/operator/mod.rs"),
    ];
    lines.flat_map(names).chain(sources.into_iter().flat_map(names_in_literals)).collect()
}

/// Whole names of metrics in the literals of a source file, without names of crates.
fn names_in_literals(source: &str) -> BTreeSet<String> {
    let literals = source.split('"').skip(1).step_by(2);
    literals.flat_map(names).filter(|name| !name.ends_with('_')).collect()
}

#[test]
fn exposes_every_metric_of_dashboard_and_alerts() {
    let dashboard = fs::read_to_string("docs/grafana/mercato.json").unwrap();
    let json: Value = serde_json::from_str(&dashboard).unwrap();
    assert!(json["panels"].as_array().unwrap().len() > 10);
    let alerts = fs::read_to_string("docs/alerts/mercato.rules.yml").unwrap();
    let exposed = exposed();
    for (file, text, least) in [("the dashboard", &dashboard, 25), ("the alerts", &alerts, 10)] {
        let named = names(text);
        let unknown: Vec<_> = named.difference(&exposed).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}, the server has {exposed:?}");
        assert!(named.len() >= least, "{file} names only {named:?}");
    }
}

#[test]
fn documents_every_metric_and_no_other() {
    let mut exposed = exposed();
    let operations = fs::read_to_string("docs/OPERATIONS.md").unwrap();
    for document in
        ["README.md", "docs/API.md", "docs/OPERATIONS.md", "docs/PERFORMANCE.md", "tools/README.md"]
    {
        let mut named = names(&fs::read_to_string(document).unwrap());
        // Names of crates.
        named.retain(|name| !["mercato_format", "mercato_tools"].contains(&name.as_str()));
        let unknown: Vec<_> = named.difference(&exposed).collect();
        assert!(unknown.is_empty(), "{document} names {unknown:?}, the server has {exposed:?}");
    }
    let documented = names(&operations);
    exposed.retain(|name| !["_bucket", "_sum", "_count"].iter().any(|part| name.ends_with(part)));
    let missing: Vec<_> = exposed.difference(&documented).collect();
    assert!(
        missing.is_empty() && exposed.len() >= 40,
        "not in docs/OPERATIONS.md: {missing:?} of {exposed:?}"
    );
}

#[test]
fn prometheus_has_a_listener_of_its_own() {
    let site = Site::empty(&["--metrics", "127.0.0.1:0"]);
    let Some(ListenAddress::Tcp(address)) = site.running().metrics_address() else {
        panic!("--metrics is given")
    };
    let ask = |target: &str| exchange(*address, &Ask::get(target).header("Host", "server1:9464"));
    assert!(ask("/metrics").text().contains("\nmercato_ledger_serving 1\n"));
    assert_eq!((ask("/healthz").status, ask("/readyz").status), (200, 200));
    let token = format!("Bearer {}", site.admin_token());
    for target in ["/", "/operator", "/operator/sign-in", "/api/v1/datasets", "/admin/v1/accounts"] {
        let answer = exchange(*address, &Ask::get(target).header("Authorization", &token));
        assert_eq!(answer.status, 404, "{target}");
    }
    let reload = Ask::new("POST", "/admin/v1/catalog/reload").body(b"").header("Authorization", &token);
    assert_eq!(exchange(*address, &reload).status, 404);
    assert!(Site::empty(&[]).running().metrics_address().is_none());
}
