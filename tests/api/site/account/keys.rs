//! Keys in the account area: created, limited, renamed, rotated and revoked by their owner.

use crate::harness::{MANIFEST, Site, city_columns, now};
use crate::site::browser::{Browser, EMAIL, check_refused};
use crate::site::{Document, read};

#[test]
fn enforces_limits_typed_into_form() {
    let site = Site::with_cities();
    site.publish("towns", &MANIFEST.replace("\"cities\"", "\"towns\""), "1.0.0", &city_columns(3));
    let browser = Browser::signed_in(&site, EMAIL);
    let ledger = &site.running().app().ledger;
    ledger.buy(ledger.accounts()[0].id(), 1_000, None, "1", "", now()).unwrap();
    site.use_up_free_queries(ledger.accounts()[0].id());
    let key = browser.new_key(&[
        ("label", "etl"),
        ("day", "6"),
        ("month", "100"),
        ("datasets", "cities\r\ncities, "),
        ("end", "2999-12-31"),
    ]);
    assert!(site.query("towns", &key, "{}").text().contains("\"allowed\":[\"cities\"]"));
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    assert_eq!(site.query("cities", &key, "{}").refusal().2, "KEY_CAP_REACHED");
    let view = &ledger.keys(ledger.accounts()[0].id())[0];
    assert_eq!(view.expires_at.unwrap().rfc3339(), "3000-01-01T00:00:00.000Z");
    assert_eq!(view.limits.datasets.to_vec(), ["cities"]);
    let row = browser.open("/account/keys").rows("main tbody tr")[0].clone();
    for told in ["6 of 6 credits today", "6 of 100 credits this month", "1 dataset only", "valid until"] {
        assert!(row.contains(told), "{row}");
    }
    let page = browser.open("/account/keys/key_1");
    assert_eq!(page.one("main section li").line(), "cities");
}

#[test]
fn returns_faulty_form_with_typed_values() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let long = "x".repeat(201);
    let many: String = (0..300).map(|number| format!("set-{number}\n")).collect();
    for (fields, faults) in [
        (vec![("label", long.as_str())], vec!["key-label"]),
        (vec![("label", "a\u{7}b")], vec!["key-label"]),
        (vec![("day", "-1"), ("month", "1.5")], vec!["key-day", "key-month"]),
        (vec![("day", "99999999999999999999"), ("label", "kept")], vec!["key-day"]),
        (vec![("day", "+5")], vec!["key-day"]),
        (vec![("datasets", "nowhere")], vec!["key-datasets"]),
        (vec![("datasets", many.as_str())], vec!["key-datasets"]),
        (vec![("end", "2020-01-01")], vec!["key-end"]),
        (vec![("end", "tomorrow"), ("day", "x")], vec!["key-day", "key-end"]),
    ] {
        let page = check_refused(&browser.post("/account/keys", &fields), 422, &faults);
        for (name, value) in
            fields.iter().filter(|(name, value)| *name != "datasets" && !value.contains('\u{7}'))
        {
            assert_eq!(page.one(&format!("main input[name={name}]")).attribute("value"), Some(*value));
        }
    }
    let ledger = &site.running().app().ledger;
    assert!(ledger.keys(ledger.accounts()[0].id()).is_empty(), "nothing was made");
}

#[test]
fn renames_and_rotates_key_with_and_without_grace() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let first = browser.new_key(&[("label", "one")]);
    let renamed = browser.post("/account/keys/key_1", &[("action", "rename"), ("label", "two")]);
    assert_eq!(renamed.header("Location"), Some("/account/keys/key_1?done=renamed"));
    assert_eq!(browser.open("/account/keys/key_1?done=renamed").one("h1").line(), "Key two");
    let long = "x".repeat(201);
    let refused = browser.post("/account/keys/key_1", &[("action", "rename"), ("label", &long)]);
    check_refused(&refused, 422, &["rename-label"]);

    let rotate = |key: &str, grace: &str| {
        let target = format!("/account/keys/{key}");
        let page = read(&target, &browser.post(&target, &[("action", "rotate"), ("grace", grace)]));
        page.one("main pre#key").text.clone()
    };
    let second = rotate("key_1", "hour");
    assert_eq!(
        (site.query("cities", &first, "{}").status, site.query("cities", &second, "{}").status),
        (200, 200)
    );
    let third = rotate("key_2", "none");
    assert_eq!(site.query("cities", &second, "{}").refusal().2, "API_KEY_EXPIRED");
    assert_eq!(site.query("cities", &third, "{}").status, 200);
    let expired = browser.open("/account/keys/key_2");
    assert!(expired.select("main form.form").is_empty(), "nothing is left to do with it");
    let late = browser.post("/account/keys/key_2", &[("action", "rotate"), ("grace", "none")]);
    assert_eq!(late.status, 200);
    let ledger = &site.running().app().ledger;
    assert_eq!(ledger.keys(ledger.accounts()[0].id()).len(), 3);
    for wrong in [vec![("action", "burn")], vec![("action", "rotate"), ("grace", "for ever")], vec![]] {
        assert_eq!(browser.post("/account/keys/key_3", &wrong).status, 400, "{wrong:?}");
    }
}

#[test]
fn makes_one_key_for_form_that_is_sent_twice() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let ledger = &site.running().app().ledger;
    let keys = || ledger.keys(ledger.accounts()[0].id()).len();
    let once = |target: &str| {
        let page = browser.open(target);
        page.one("main input[name=once]").attribute("value").unwrap().to_owned()
    };
    let first = once("/account/keys");
    let cookies = browser.cookies.borrow().clone();
    let (key, again) = std::thread::scope(|scope| {
        let click = || {
            let tab = Browser::new(&site);
            tab.cookies.replace(cookies.clone());
            tab.new_key(&[("label", "etl"), ("once", &first)])
        };
        let (one, two) = (scope.spawn(click), scope.spawn(click));
        (one.join().unwrap(), two.join().unwrap())
    });
    assert_eq!((&key, keys()), (&again, 1), "a double click");
    assert_eq!(browser.new_key(&[("label", "etl"), ("once", &first)]), key, "a reload");
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let second = once("/account/keys");
    assert_ne!((&second, browser.new_key(&[("label", "etl"), ("once", &second)])), (&first, key.clone()));
    let third = once("/account/keys/key_1");
    let rotated = || {
        let fields = [("action", "rotate"), ("grace", "none"), ("once", third.as_str())];
        read("/account/keys/key_1", &browser.post("/account/keys/key_1", &fields))
            .one("main pre#key")
            .text
            .clone()
    };
    assert_eq!(rotated(), rotated());
    assert_eq!(keys(), 3);
    // Two accounts that send the same text have different keys.
    let stranger = Browser::signed_in(&site, "mona@example.org");
    assert_ne!(stranger.new_key(&[("label", "etl"), ("once", &first)]), key);
}

#[test]
fn changes_lifts_and_keeps_limits() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let ledger = &site.running().app().ledger;
    ledger.buy(ledger.accounts()[0].id(), 1_000, None, "1", "", now()).unwrap();
    site.use_up_free_queries(ledger.accounts()[0].id());
    let key =
        browser.new_key(&[("label", "etl"), ("day", "6"), ("datasets", "cities"), ("end", "2999-12-31")]);
    let id = ledger.keys(ledger.accounts()[0].id())[0].id;
    // An end within a day, as the operator sets it, and a dataset that is not published.
    let end = now().day().plus_days(400).start().plus_seconds(3_600);
    let limits = mercato_ledger::LimitsChange {
        expires_at: mercato_ledger::Change::Set(end),
        datasets: mercato_ledger::Change::Set(["cities".to_owned(), "gone".to_owned()].into()),
        ..Default::default()
    };
    ledger.limit_key(id, &limits, now()).unwrap();
    let target = "/account/keys/key_1";
    let page = browser.open(target);
    let typed =
        |name: &str| page.one(&format!("main input#limit-{name}")).attribute("value").unwrap_or_default();
    let (day, end_typed) = (typed("day").to_owned(), typed("end").to_owned());
    assert_eq!((day.as_str(), typed("month")), ("6", ""));
    assert_eq!(ticked(&page), ["cities", "gone"], "a dataset that is gone stays until its box is cleared");
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    assert_eq!(site.query("cities", &key, "{}").refusal().2, "KEY_CAP_REACHED");
    let fields = [
        ("action", "limit"),
        ("day", "12"),
        ("month", "100"),
        ("datasets", "cities"),
        ("datasets", "gone"),
        ("end", &end_typed),
    ];
    let changed = browser.post(target, &fields);
    assert_eq!(changed.header("Location"), Some("/account/keys/key_1?done=limited"));
    let view = ledger.key_view(id).unwrap();
    assert_eq!((view.limits.credits_per_day, view.limits.credits_per_month), (Some(12), Some(100)));
    assert_eq!(view.limits.expires_at, Some(end), "an end that was not touched stays to the second");
    assert_eq!(view.limits.datasets.to_vec(), ["cities", "gone"]);
    assert_eq!(view.label, "etl");
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    assert!(
        browser
            .open("/account/keys/key_1?done=limited")
            .one("main .notice.good")
            .line()
            .contains("limits have been changed")
    );
    let lifted = browser.post(target, &[("action", "limit")]);
    assert_eq!(lifted.status, 303);
    assert_eq!(ledger.key_view(id).unwrap().limits, mercato_ledger::KeyLimits::default());

    for (fields, faults) in [
        (vec![("day", "-1"), ("month", "x")], vec!["limit-day", "limit-month"]),
        (vec![("datasets", "nowhere")], vec!["limit-datasets"]),
        (vec![("end", "2020-01-01")], vec!["limit-end"]),
    ] {
        let fields: Vec<_> = [("action", "limit")].into_iter().chain(fields).collect();
        check_refused(&browser.post(target, &fields), 422, &faults);
    }
    assert_eq!(ledger.key_view(id).unwrap().limits, mercato_ledger::KeyLimits::default());
    browser.post(target, &[("action", "revoke")]);
    assert_eq!(browser.post(target, &[("action", "limit"), ("day", "1")]).status, 200);
    assert_eq!(ledger.key_view(id).unwrap().limits.credits_per_day, None, "a revoked key is left alone");
}

#[test]
fn hides_keys_of_other_accounts() {
    let site = Site::with_cities();
    let (browser, other) = (Browser::signed_in(&site, EMAIL), Browser::signed_in(&site, "berta@example.org"));
    let key = browser.new_key(&[("label", "secret name")]);
    for id in ["key_1", "1", "key_2", "key_x", "%00"] {
        let target = format!("/account/keys/{id}");
        assert_eq!(other.get(&target).status, 404, "{id}");
        assert!(!other.get(&target).text().contains("secret name"));
        for fields in [
            vec![("action", "rename"), ("label", "mine")],
            vec![("action", "limit"), ("day", "1")],
            vec![("action", "rotate"), ("grace", "none")],
            vec![("action", "revoke")],
        ] {
            assert_eq!(other.post(&target, &fields).status, 404, "{id} {fields:?}");
        }
    }
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    assert_eq!(browser.open("/account/keys/key_1").one("h1").line(), "Key secret name");
    assert!(!other.get("/account/usage.csv").text().contains("key_1"));
}

#[test]
fn limits_keys_shown_on_page() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let ledger = &site.running().app().ledger;
    let account = ledger.accounts()[0].id();
    for number in 0..130_u8 {
        ledger.create_key(account, &"<b>".repeat(60), [number; 32], now()).unwrap();
    }
    let answer = browser.get("/account/keys");
    let page = read("/account/keys", &answer);
    assert_eq!(page.select("main tbody tr").len(), 100);
    assert!(page.one("main section").line().contains("and 30 more"));
}

/// The datasets whose boxes are ticked.
fn ticked(page: &Document) -> Vec<&str> {
    let boxes = page.select("main fieldset#limit-datasets input[type=checkbox]");
    let ticked = boxes.into_iter().filter(|one| one.attribute("checked").is_some());
    ticked.filter_map(|one| one.attribute("value")).collect()
}

#[test]
fn offers_datasets_of_a_key_as_boxes_and_many_as_suggestions() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let page = browser.open("/account/keys");
    let boxes = page.select("main fieldset#key-datasets input[type=checkbox]");
    let offered: Vec<_> = boxes.iter().map(|one| (one.attribute("name"), one.attribute("value"))).collect();
    assert_eq!(offered, [(Some("datasets"), Some("cities"))]);
    assert_eq!(page.one("main label[for=key-datasets-1]").line(), "Cities");
    assert!(page.select("main textarea").is_empty(), "no name is typed by hand");

    let large = crate::site::large_site(&[]);
    let browser = Browser::signed_in(&large, EMAIL);
    let page = browser.open("/account/keys");
    assert_eq!(page.select("main fieldset#key-datasets datalist option").len(), 45);
    assert_eq!(page.select("main fieldset#key-datasets input[list=key-datasets-suggestions]").len(), 3);
    browser.new_key(&[("label", "etl"), ("datasets", "cities"), ("datasets", ""), ("datasets", "set-01")]);
    let ledger = &large.running().app().ledger;
    let view = ledger.key_view("key_1".parse().unwrap()).unwrap();
    assert_eq!(view.limits.datasets.to_vec(), ["cities", "set-01"]);
    let page = browser.open("/account/keys/key_1");
    let lines = page.select("main fieldset#limit-datasets input");
    let values: Vec<_> = lines.iter().map(|line| line.attribute("value").unwrap()).collect();
    assert_eq!(values, ["cities", "set-01", "", "", ""]);
}
