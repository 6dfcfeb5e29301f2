//! The content of the operator's pages.

use std::collections::BTreeSet;
use std::time::Duration;

use mercato_ledger::{
    AccountId, BeginCheckout, Checkout, KEY_RANDOM_BYTES, Ledger, PaidCheckout, PayCheckout, PaymentId,
    Price, ReversalEvent, ReversePayment,
};

use super::super::browser::Browser;
use super::super::crawl::PAGE_BYTES_MAX;
use super::super::security::check_harmless;
use super::super::{large_site, manifest, read};
use super::{Operator, PAGES};
use crate::harness::{Ask, MANIFEST, Site, city_columns, exchange, now, publish_files, wait_until};

/// Asserts that the page is small, usable and harmless.
#[track_caller]
fn check_page(target: &str, html: &str, page: &super::Document) {
    assert!(html.len() <= PAGE_BYTES_MAX, "{target}: {} bytes", html.len());
    check_harmless(target, page);
    for only in ["html[lang]", "head title", "main#main", "h1", "meta[name=description]", "a.skip"] {
        page.one(only);
    }
    assert!(page.select("link[rel=canonical]").is_empty(), "{target} has no address that lasts");
    let mut ids = BTreeSet::new();
    for id in page.all().iter().filter_map(|element| element.attribute("id")) {
        assert!(ids.insert(id), "{target}: #{id} stands twice");
    }
    for element in page.all() {
        match element.name.as_str() {
            "nav" | "form" => assert!(element.attribute("aria-label").is_some(), "{target}: {element:?}"),
            "th" => assert!(element.attribute("scope").is_some(), "{target}: {element:?}"),
            "input" | "select" | "textarea" if element.attribute("type") != Some("hidden") => {
                let label = format!("label[for={}]", element.attribute("id").unwrap());
                page.one(&label);
            }
            _ => {}
        }
    }
}

#[test]
fn shows_every_page_in_both_languages_with_links_that_lead_on() {
    let site = Site::with_cities();
    let key = site.paying_key(1_000);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let operator = Operator::signed_in(&site);
    let mut targets = BTreeSet::new();
    for target in PAGES.into_iter().chain(["/operator/keys/key_1"]) {
        for (lang, word) in [("en", "Sign out"), ("it", "Esci")] {
            let target = format!("{target}?lang={lang}");
            let answer = operator.get(&target);
            let page = read(&target, &answer);
            check_page(&target, &answer.text(), &page);
            assert_eq!(page.one("html").attribute("lang"), Some(lang));
            assert_eq!(page.one("main .account-bar form").attribute("aria-label"), Some(word));
            assert_eq!(answer.header("Cache-Control"), Some("no-store"));
            assert_eq!((answer.header("ETag"), answer.header("X-Frame-Options")), (None, Some("DENY")));
            let policy = answer.header("Content-Security-Policy").unwrap();
            assert!(policy.contains("default-src 'self'; frame-ancestors 'none'"), "{policy}");
            for element in page.all() {
                let links = ["href", "src"].into_iter().filter_map(|name| element.attribute(name));
                targets.extend(links.filter(|link| link.starts_with('/')).map(str::to_owned));
            }
        }
    }
    assert!(targets.len() > 12, "{targets:?}");
    for target in targets {
        let status = operator.get(&target).status;
        assert_eq!(status, 200, "{target} leads nowhere");
    }
}

#[test]
fn names_counts_and_faults_on_overview() {
    let site = Site::with_cities();
    site.paying_key(1_000);
    let operator = Operator::signed_in(&site);
    let page = operator.open("/operator");
    assert_eq!(page.one("main .notice.good").line(), "Everything works.");
    let facts: String = page.select("main dl.facts").iter().map(|facts| facts.line()).collect();
    for told in ["Served 1", "Out of service 0", "Accounts 1", "Keys 1", "Running for 0 d 0 h 0 min"] {
        assert!(facts.contains(told), "{told}: {facts}");
    }
    let broken = site.data().datasets().join("broken");
    std::fs::create_dir_all(broken.join("versions")).unwrap();
    std::fs::write(broken.join("dataset.toml"), "slug = \"other\"").unwrap();
    std::fs::copy(
        crate::harness::store_path(&site.data(), "cities", "1.0.0"),
        broken.join("versions/1.0.0.mcol"),
    )
    .unwrap();
    assert_eq!(operator.fill_in("/operator/publications", "scan", &[]).status, 303);
    let page = operator.open("/operator");
    assert!(page.one("main .notice.warn").line().contains("1 datasets or versions have faults"));
    let faulty = operator.open("/operator/datasets?which=faulty");
    assert_eq!(faulty.rows("main tbody tr"), ["broken broken out of service – – – – –"]);
    let one = operator.open("/operator/datasets/broken");
    assert!(one.one("main ul.faults li").line().contains("dataset.toml"));
}

#[test]
fn plots_last_hour_of_counters() {
    let site = Site::with_cities();
    let operator = Operator::signed_in(&site);
    let metrics = &site.running().app().metrics;
    metrics.sample_at(Duration::from_secs(1_000));
    assert!(operator.open("/operator").select("main svg").is_empty(), "one sample makes no line");
    let key = site.paying_key(1_000);
    for round in 1..=4 {
        assert_eq!(site.query("cities", &key, r#"{"limit": 2}"#).status, 200);
        let told = format!("mercato_rows_total {}", 2 * round);
        site.wait_for_metrics(&[&told]);
        metrics.sample_at(Duration::from_secs(1_000 + 30 * round));
    }
    let page = operator.open("/operator");
    let lines = page.select("main svg polyline.line");
    assert_eq!(lines.len(), 6);
    assert!(lines.iter().all(|line| line.attribute("points").unwrap().split(' ').count() >= 4));
    let rows = page.rows("main tbody tr");
    // Two rows in each 30 seconds.
    let credits = rows.iter().find(|row| row.starts_with("Credits spent")).unwrap();
    assert_eq!(credits, "Credits spent 4 8 4 8");
    assert!(page.one("svg title#rows-t").line() == "Rows delivered");
}

#[test]
fn pages_searches_and_narrows_datasets() {
    let site = large_site(&[]);
    let operator = Operator::signed_in(&site);
    let first = operator.open("/operator/datasets?q=SET");
    assert_eq!(
        (first.select("main tbody tr").len(), first.one("main caption").line()),
        (44, "44 datasets".into())
    );
    assert!(first.rows("main tbody tr")[0].starts_with("Set 01 set-01 served 1.0.0 1 1 "));
    for number in 100..=110 {
        let slug = format!("more-{number}");
        publish_files(&site.data(), &manifest(&slug, "More", ""), "1.0.0", &city_columns(1), &[]);
    }
    wait_until("all are served", || site.get("/api/v1/datasets").json()["data"]["total"] == 56);
    let all = operator.open("/operator/datasets");
    assert_eq!(all.select("main tbody tr").len(), 50);
    let next = all.one("main a[rel=next]").attribute("href").unwrap().to_owned();
    let rest = operator.open(&next);
    assert_eq!(rest.select("main tbody tr").len(), 6);
    assert!(rest.select("main a[rel=next]").is_empty() && rest.select("main a[rel=prev]").len() == 1);
    assert_eq!(operator.open("/operator/datasets?page=99").select("main tbody tr").len(), 6);
    assert!(
        operator.open("/operator/datasets?which=faulty").one("main").line().contains("No dataset has faults")
    );
    assert!(operator.open("/operator/datasets?q=zzz").select("main tbody tr").is_empty());
}

#[test]
fn tells_versions_of_dataset() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(9));
    let operator = Operator::signed_in(&site);
    let page = operator.open("/operator/datasets/cities");
    let rows = page.rows("main tbody tr");
    assert!(rows[0].starts_with("1.1.0 served ") && rows[0].contains(" 9 7 "), "{rows:?}");
    assert!(rows[1].starts_with("1.0.0 ") && !rows[1].contains("served"), "{rows:?}");
    assert_eq!(operator.get("/operator/datasets/nowhere").status, 404);
}

#[test]
fn pages_and_searches_accounts() {
    let site = Site::with_cities();
    Browser::signed_in(&site, "anna@example.org");
    let ledger = &site.running().app().ledger;
    for number in 2..=120 {
        ledger.create_account(&format!("Customer {number}"), now()).unwrap();
    }
    let operator = Operator::signed_in(&site);
    let mut target = Some("/operator/accounts".to_owned());
    let mut ids = Vec::new();
    while let Some(here) = target {
        let page = operator.open(&here);
        ids.extend(page.select("main tbody th").iter().map(|cell| cell.line()));
        let next = page.select("main a[rel=next]");
        target = next.first().map(|link| link.attribute("href").unwrap().to_owned());
    }
    let expected: Vec<String> = (1..=120).map(|number| format!("acc_{number}")).collect();
    assert_eq!(ids, expected);
    for (question, expected) in [
        ("ANNA", vec!["acc_1"]),
        ("acc_7", vec!["acc_7"]),
        (
            "customer%2011",
            vec![
                "acc_11", "acc_110", "acc_111", "acc_112", "acc_113", "acc_114", "acc_115", "acc_116",
                "acc_117", "acc_118", "acc_119",
            ],
        ),
        ("zzz", vec![]),
    ] {
        let page = operator.open(&format!("/operator/accounts?q={question}"));
        let found: Vec<String> = page.select("main tbody th").iter().map(|cell| cell.line()).collect();
        assert_eq!(found, expected, "{question}");
    }
    let paged = operator.open("/operator/accounts?q=customer");
    let next = paged.one("main a[rel=next]").attribute("href").unwrap().to_owned();
    assert!(next.contains("q=customer"), "{next}");
    assert_eq!(
        operator.open(&next).one("main form[role=search] input[name=q]").attribute("value"),
        Some("customer")
    );
}

/// A checkout at 22 % of tax.
pub fn begin_checkout(ledger: &Ledger, account: AccountId, credits: u64, net: u64) -> Checkout {
    let (provider, price) = ("stripe".to_owned(), Price::with_vat(net, 2_200).unwrap());
    let new = BeginCheckout { account, provider, credits, price, random: [7; 16], at: now() };
    ledger.commit(&new).unwrap()
}

/// Pays a checkout by a payment with this id of the provider.
pub fn pay(ledger: &Ledger, checkout: &Checkout, id: &str) {
    let payment = PayCheckout {
        checkout: checkout.id,
        payment: PaymentId { provider: "stripe".to_owned(), id: id.to_owned() },
        account: checkout.account,
        credits: checkout.credits,
        gross: checkout.price.gross,
        currency: checkout.price.currency.clone(),
        at: now(),
    };
    assert!(matches!(ledger.commit(&payment), Ok(PaidCheckout::Granted { .. })));
}

fn reverse(ledger: &Ledger, id: &str, event: ReversalEvent) {
    let payment = PaymentId { provider: "stripe".to_owned(), id: id.to_owned() };
    ledger.commit(&ReversePayment { payment, event, at: now() }).unwrap();
}

#[test]
fn lists_checkouts_newest_first_with_state_payment_and_reversals() {
    let site = Site::with_cities();
    let ledger = &site.running().app().ledger;
    let operator = Operator::signed_in(&site);
    let empty = operator.open("/operator/payments").one("main").line();
    assert!(empty.contains("No customer has started a purchase yet."), "{empty}");
    let (first, second) =
        (ledger.create_account("first", now()).unwrap(), ledger.create_account("second", now()).unwrap());
    let paid = begin_checkout(ledger, first, 2_000, 1_000);
    let disputed = begin_checkout(ledger, second, 3_000, 1_500);
    let open = begin_checkout(ledger, second, 500, 250);
    pay(ledger, &paid, "pi_1");
    pay(ledger, &disputed, "pi_2");
    reverse(ledger, "pi_1", ReversalEvent::Refunded { total: 610 });
    reverse(ledger, "pi_2", ReversalEvent::Disputed { dispute: "dp_1".to_owned(), amount: 1_830 });
    ledger.buy(second, 7_000, None, "INV-7", "by bank", now()).unwrap();
    let page = operator.open("/operator/payments");
    let rows = page.rows("main tbody tr");
    let expected = [
        format!("acc_2 not paid yet 500 €3.05 stripe {}", open.id.number()),
        format!("acc_2 disputed with the bank 3,000 €18.30 €18.30 stripe pi_2 {}", disputed.id.number()),
        format!("acc_1 refunded in part 2,000 €12.20 €6.10 stripe pi_1 {}", paid.id.number()),
    ];
    assert_eq!(rows.len(), 3, "{rows:?}");
    for (row, expected) in rows.iter().zip(&expected) {
        assert!(row.ends_with(expected), "{row}: {expected}");
    }
    assert_eq!(page.select("main tbody a")[2].attribute("href"), Some("/operator/accounts/acc_1"));
    let italian = operator.open("/operator/payments?lang=it").rows("main tbody tr");
    assert!(italian[2].contains("rimborsato in parte") && italian[2].contains("6,10"), "{italian:?}");
}

#[test]
fn pages_checkouts_of_all_accounts() {
    let site = Site::with_cities();
    let ledger = &site.running().app().ledger;
    let numbers: Vec<String> = (0..60)
        .map(|number| {
            let account = ledger.create_account(&format!("customer {number}"), now()).unwrap();
            begin_checkout(ledger, account, 1_000, 500).id.number().to_string()
        })
        .collect();
    let operator = Operator::signed_in(&site);
    let newest = operator.open("/operator/payments");
    let next = newest.one("main a[rel=next]").attribute("href").unwrap().to_owned();
    let oldest = operator.open(&next);
    assert_eq!((newest.select("main tbody tr").len(), oldest.select("main tbody tr").len()), (50, 10));
    assert!(oldest.select("main a[rel=next]").is_empty());
    let links = oldest.select("main p a");
    assert!(links.iter().any(|link| link.attribute("href") == Some("/operator/payments")), "{links:?}");
    let rows: Vec<String> =
        [&newest, &oldest].into_iter().flat_map(|page| page.rows("main tbody tr")).collect();
    let shown: Vec<&str> = rows.iter().filter_map(|row| row.split(' ').next_back()).collect();
    assert!(shown.iter().eq(numbers.iter().rev()), "{shown:?}");
}

#[test]
fn pages_entries_of_account_and_selects_purchases() {
    let site = Site::with_cities();
    let ledger = &site.running().app().ledger;
    let account = ledger.create_account("customer", now()).unwrap();
    let other = ledger.create_account("other", now()).unwrap();
    ledger.buy(account, 2_000, Some(700), "INV-7", "by bank", now()).unwrap();
    ledger.buy(other, 1_000, None, "INV-8", "", now()).unwrap();
    site.use_up_free_queries(account);
    let key = ledger.create_key(account, "", [7; KEY_RANDOM_BYTES], now()).unwrap().plain.reveal().to_owned();
    for _ in 0..30 {
        assert_eq!(site.query("cities", &key, r#"{"limit": 1}"#).status, 200);
    }
    let operator = Operator::signed_in(&site);
    let entries = |page: &super::Document| {
        let rows = page.rows("main tbody tr");
        rows.into_iter().filter(|row| row.contains("purchase") || row.contains("query")).collect::<Vec<_>>()
    };
    let page = operator.open("/operator/accounts/acc_1");
    assert_eq!(entries(&page).len(), 20);
    let older = operator.open(page.one("main a[rel=next]").attribute("href").unwrap());
    let rows = entries(&older);
    assert_eq!(rows.len(), 11, "{rows:?}");
    assert!(rows[10].contains("purchase +2,000 2,000 €7.00 INV-7 by bank"), "{rows:?}");
    assert!(older.select("main a[rel=next]").is_empty());
    let links = page.select("main nav.pages a");
    let purchases = operator.open(links[1].attribute("href").unwrap());
    let rows = entries(&purchases);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].contains("INV-7 by bank"), "{rows:?}");
}

#[test]
fn shows_what_lies_on_disk_of_publications() {
    let site = Site::with_cities();
    let operator = Operator::signed_in(&site);
    let quiet = operator.open("/operator/publications");
    assert!(quiet.one("main").line().contains("No file is being written."));
    assert_eq!(quiet.one("main ul.versions li a").line(), "cities 1.0.0");
    let versions = site.data().datasets().join("cities/versions");
    std::fs::write(versions.join(".incoming-2.0.0.mcol"), [0; 1_500]).unwrap();
    let old = std::fs::File::create(versions.join("..incoming-1.9.0.mcol.mcol-tmp-abcdef")).unwrap();
    old.set_modified(std::time::SystemTime::now() - Duration::from_secs(3_600)).unwrap();
    std::fs::create_dir_all(site.data().datasets().join("empty")).unwrap();
    let page = operator.open("/operator/publications");
    let rows = page.rows("main tbody tr");
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[0].contains("mcol-tmp-abcdef 0 B") && rows[0].contains("idle for 10 minutes"), "{rows:?}");
    assert!(
        rows[1].contains(".incoming-2.0.0.mcol 1.5 kB") && rows[1].ends_with("being written"),
        "{rows:?}"
    );
    assert_eq!(page.one("main ul.unpublished li").line(), "empty: without a manifest or a version");
}

#[test]
fn leads_root_to_pages_and_keeps_machine_paths_in_json() {
    let site = Site::with_cities();
    let operator = Operator::new(&site);
    assert_eq!(operator.get("/").header("Location"), Some("/operator"));
    let lost = operator.get("/operator/nowhere");
    assert_eq!((lost.status, lost.header("Content-Type")), (404, Some("text/html; charset=utf-8")));
    let page = super::Document::parse(&lost.text());
    check_harmless("/operator/nowhere", &page);
    for target in ["/admin/v1/nowhere", "/metrics/nowhere"] {
        let answer = operator.get(target);
        assert_eq!((answer.status, answer.json()["success"].as_bool()), (404, Some(false)), "{target}");
    }
    let plain = exchange(site.admin_address(), &Ask::get("/operator/nowhere"));
    assert_eq!(plain.json()["error"]["code"], "NOT_FOUND");
}
