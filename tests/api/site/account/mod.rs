//! The account area in the journeys of its owner.

mod keys;
mod login;
mod mail;
mod security;

use crate::harness::{Ask, MANIFEST, Site, city_columns, now};
use crate::site::browser::{Browser, EMAIL, PASSWORD, check_refused};
use crate::site::crawl::{PAGE_BYTES_MAX, check_usable};
use crate::site::{UNLIMITED, open, read};

/// Every page of the area that a session opens.
pub const PAGES: [&str; 5] =
    ["/account", "/account/keys", "/account/usage", "/account/credits", "/account/settings"];

#[test]
fn leads_from_sign_up_through_rows_to_sign_out() {
    let site = Site::with_cities();
    let browser = Browser::new(&site);
    let signed_up =
        browser.post("/account/sign-up", &[("email", " Anna@Example.org "), ("password", PASSWORD)]);
    assert_eq!(signed_up.status, 303, "{}", signed_up.text());
    assert_eq!(signed_up.header("Location"), Some("/account/sign-in?done=signed-up"));
    let page = browser.open("/account/sign-in?done=signed-up");
    assert!(page.one("main .notice[role=status]").line().starts_with("Now sign in"));
    let fields = [("email", EMAIL), ("password", PASSWORD)];
    let signed_in = browser.post("/account/sign-in", &fields);
    assert_eq!((signed_in.status, signed_in.header("Location")), (303, Some("/account")));

    let overview = browser.open("/account");
    assert_eq!(overview.one("main p.balance").line(), "0 credits");
    let facts = overview.one("main dl.facts").line();
    assert!(facts.contains("free") && facts.contains("100 until"), "{facts}");
    assert_eq!(overview.one("main .notice a").attribute("href"), Some("/account/keys"));

    let key = browser.new_key(&[("label", "laptop")]);
    let keys = browser.open("/account/keys");
    assert_eq!(keys.one("main tbody th").line(), "laptop");
    assert!(!browser.get("/account/keys").text().contains(&key), "it is shown once");
    assert_eq!(site.query("cities", &key, "{}").status, 200);

    let usage = browser.open("/account/usage");
    let rows = usage.rows("main tbody tr");
    assert!(rows[0].ends_with("1 6 0") && rows[1..] == ["cities 1 6 0", "laptop 1 6 0"], "{rows:?}");
    assert_eq!(usage.rows("main tfoot tr")[1], "Total 1 6 0");
    assert_eq!(usage.select("svg.histogram rect").len(), 30);
    let csv = browser.get("/account/usage.csv?days=7");
    let lines: Vec<String> = csv.text().lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "day,dataset,key,requests,rows,credits");
    assert_eq!(lines[1], format!("{},cities,key_1,1,6,0", now().day()));

    let revoked = browser.post("/account/keys/key_1", &[("action", "revoke")]);
    assert_eq!(revoked.header("Location"), Some("/account/keys?done=revoked"));
    assert_eq!(site.query("cities", &key, "{}").refusal().2, "API_KEY_REVOKED");
    assert!(browser.open("/account/keys?done=revoked").one("main .notice").line().contains("revoked"));

    let session = browser.session().unwrap();
    let out = browser.post("/account/sign-out", &[]);
    assert_eq!((out.status, out.header("Location")), (303, Some("/account/sign-in?done=signed-out")));
    assert_eq!(browser.session(), None);
    browser.cookies.borrow_mut().insert("session".to_owned(), session);
    let again = browser.get("/account/keys");
    assert_eq!(again.status, 303, "the books know that it has ended");
    assert_eq!(again.header("Location"), Some("/account/sign-in?next=%2Faccount%2Fkeys"));
}

#[test]
fn renders_usable_pages_in_both_languages() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let key =
        browser.new_key(&[("label", "one"), ("day", "10"), ("datasets", "cities"), ("end", "2999-12-31")]);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let account = site.running().app().ledger.accounts()[0].id();
    site.running().app().ledger.buy(account, 1_000, None, "1", "", now()).unwrap();
    let mut targets: Vec<String> = PAGES.iter().map(ToString::to_string).collect();
    targets.extend(
        ["/account/keys/key_1", "/account/credits?kind=purchases", "/account/usage?days=90"]
            .map(str::to_owned),
    );
    let current = ["/account", "/account/keys", "/account/usage", "/account/credits", "/account/settings"];
    for target in &targets {
        let english = browser.open(target);
        check_usable(target, &english);
        assert!(browser.get(target).body.len() <= PAGE_BYTES_MAX, "{target}");
        let tab = english.one("nav.tabs a[aria-current=page]").attribute("href").unwrap().to_owned();
        assert!(current.contains(&tab.as_str()) && target.starts_with(&tab), "{target}: {tab}");
        let separator = if target.contains('?') { '&' } else { '?' };
        let italian = browser.open(&format!("{target}{separator}lang=it"));
        check_usable(target, &italian);
        assert_eq!(italian.one("html").attribute("lang"), Some("it"), "{target}");
        assert_ne!(italian.one("main").line(), english.one("main").line(), "{target}");
        browser.cookies.borrow_mut().remove("lang");
    }
    for target in ["/account/sign-up", "/account/reset", "/account/reset?token=abc"] {
        check_usable(target, &browser.open(target));
    }
    let made = browser.post("/account/keys", &[("label", "two")]);
    check_usable("a new key", &read("a new key", &made));
}

#[test]
fn declares_autocomplete_of_login_fields() {
    let site = Site::with_cities();
    for (target, email, password) in [
        ("/account/sign-in", Some("username"), "current-password"),
        ("/account/sign-up", Some("username"), "new-password"),
        ("/account/reset", None, "new-password"),
    ] {
        let page = open(&site, target);
        let found = page.select("main input[type=email]");
        assert_eq!(found.first().and_then(|input| input.attribute("autocomplete")), email, "{target}");
        assert_eq!(
            page.one("main input[type=password]").attribute("autocomplete"),
            Some(password),
            "{target}"
        );
    }
}

#[test]
fn keeps_session_across_restart() {
    let folder = tempfile::tempdir().unwrap();
    let session = {
        let mut site = Site::at(folder.path(), &UNLIMITED);
        let session = Browser::signed_in(&site, EMAIL).session().unwrap();
        assert!(site.stop());
        session
    };
    let site = Site::at(folder.path(), &UNLIMITED);
    let browser = Browser::new(&site);
    browser.cookies.borrow_mut().insert("session".to_owned(), session);
    assert!(browser.open("/account").one("main").line().contains(EMAIL));
}

#[test]
fn serves_public_pages_alike_with_and_without_session() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    for target in ["/", "/datasets", "/datasets/cities", "/pricing"] {
        let (with, without) = (browser.get(target), site.send(&crate::site::ask(target)));
        assert_eq!(with.body, without.body, "{target}");
        assert_eq!(with.header("ETag"), without.header("ETag"), "{target}");
        assert_eq!(with.header("Cache-Control"), Some("no-cache"), "{target}");
        assert_eq!(with.header("Set-Cookie"), None, "{target}");
        let page = open(&site, target);
        assert_eq!(page.one("header nav a[href=/account]").line(), "Account", "{target}");
    }
}

#[test]
fn pages_through_entries_of_owner_only() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let other = Browser::signed_in(&site, "berta@example.org");
    let ledger = &site.running().app().ledger;
    let accounts = ledger.accounts();
    for number in 1..=60 {
        ledger.grant(accounts[0].id(), number, "", "a remark", now()).unwrap();
    }
    ledger.buy(accounts[0].id(), 2_500, None, "INV-1", "", now()).unwrap();
    site.use_up_free_queries(accounts[0].id());
    let key = browser.new_key(&[]);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let changes = |page: &crate::site::Document| page.rows("main tbody tr");
    let first = browser.open("/account/credits");
    let shown = changes(&first);
    assert_eq!(shown.len(), 50);
    assert!(shown[0].contains("query cities \u{2212}6") && shown[1].contains("purchase +2,500"), "{shown:?}");
    assert!(shown[1].ends_with("€12.50"), "{shown:?}");
    assert!(!browser.get("/account/credits").text().contains("remark"), "remarks are the operator's");
    let older = browser.open(first.one("main a[rel=next]").attribute("href").unwrap());
    assert_eq!(changes(&older).len(), 12);
    assert!(older.select("main a[rel=next]").is_empty() && changes(&older)[11].contains("granted +1 1"));
    let bought = browser.open("/account/credits?kind=purchases");
    assert!(
        changes(&bought)[0].contains("purchase") && !changes(&bought).iter().any(|row| row.contains("query"))
    );
    assert!(changes(&browser.open("/account")).len() == 5);
    for target in ["/account", "/account/credits"] {
        assert!(changes(&other.open(target)).is_empty(), "{target}");
    }
    assert!(browser.open("/account/credits?before=nonsense").select("main tbody tr").len() == 50);
    assert!(browser.open("/account/credits?before=0").select("main tbody tr").is_empty());
}

#[test]
fn ends_other_sessions_when_password_changes() {
    let site = Site::with_cities();
    let here = Browser::signed_in(&site, EMAIL);
    let there = Browser::new(&site);
    there.sign_in(EMAIL, PASSWORD);
    let change = |present: &str, new: &str| {
        here.post("/account/settings", &[("action", "password"), ("present", present), ("password", new)])
    };
    check_refused(&change("not this one at all", "a new long password"), 422, &["password-present"]);
    check_refused(&change(PASSWORD, "short"), 422, &["password-password"]);
    assert_eq!(there.get("/account").status, 200);
    let changed = change(PASSWORD, "a new long password");
    assert_eq!(changed.header("Location"), Some("/account/settings?done=password"));
    assert_eq!((here.get("/account").status, there.get("/account").status), (200, 303));
    let old = there.post("/account/sign-in", &[("email", EMAIL), ("password", PASSWORD)]);
    check_refused(&old, 422, &[]);
    there.sign_in(EMAIL, "a new long password");
}

#[test]
fn lists_sessions_and_ends_one_or_all_others() {
    let site = Site::with_cities();
    let here = Browser::signed_in(&site, EMAIL);
    let others = [Browser::new(&site), Browser::new(&site), Browser::new(&site)];
    for other in &others {
        std::thread::sleep(std::time::Duration::from_millis(3));
        other.sign_in(EMAIL, PASSWORD);
    }
    let page = here.open("/account/settings");
    assert_eq!(page.select("main tbody tr").len(), 4);
    assert!(page.rows("main tbody tr")[3].ends_with("this session"));
    let newest = page.select("main tbody input[name=session]")[0].attribute("value").unwrap().to_owned();
    let ended = here.post("/account/settings", &[("action", "session"), ("session", &newest)]);
    assert_eq!(ended.header("Location"), Some("/account/settings?done=sessions"));
    let open = |browser: &Browser<'_>| browser.get("/account").status == 200;
    assert_eq!(
        (open(&others[0]), open(&others[1]), open(&others[2]), open(&here)),
        (true, true, false, true)
    );
    assert_eq!(here.post("/account/settings", &[("action", "sessions")]).status, 303);
    assert!(!open(&others[0]) && !open(&others[1]) && open(&here));
}

#[test]
fn refuses_deleted_account_and_keeps_its_entries() {
    let site = Site::with_cities();
    let browser = Browser::signed_in(&site, EMAIL);
    let ledger = &site.running().app().ledger;
    let account = ledger.accounts()[0].id();
    ledger.buy(account, 1_000, None, "INV-1", "", now()).unwrap();
    site.use_up_free_queries(account);
    let key = browser.new_key(&[]);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let delete =
        |password: &str| browser.post("/account/settings", &[("action", "delete"), ("present", password)]);
    check_refused(&delete("not this one at all"), 422, &["delete-present"]);
    assert_eq!(site.query("cities", &key, "{}").status, 200);
    let session = browser.session().unwrap();
    let deleted = delete(PASSWORD);
    assert_eq!(deleted.header("Location"), Some("/account/sign-in?done=deleted"));
    assert_eq!(site.query("cities", &key, "{}").refusal().0, 401);
    let refused = browser.post("/account/sign-in", &[("email", EMAIL), ("password", PASSWORD)]);
    check_refused(&refused, 422, &[]);
    browser.cookies.borrow_mut().insert("session".to_owned(), session);
    assert_eq!(browser.get("/account").status, 303);
    let (entries, _) = ledger.entries(Some(account), 1, 100).unwrap();
    assert_eq!(entries.len(), 3, "for the operator");
    assert_eq!(ledger.account(account).unwrap().credits(), 988);
    Browser::signed_in(&site, EMAIL);
    assert_eq!(ledger.accounts().len(), 2, "the address is free again");
}

#[test]
fn names_contact_for_credits_and_resets() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("site.toml"), "contact = \"data@town.test\"\n").unwrap();
    let site = Site::over(folder, &UNLIMITED);
    let browser = Browser::signed_in(&site, "{}@example.org");
    let page = browser.open("/account/credits");
    assert!(
        page.one("main").line().contains("contact data@town.test and mention the address {}@example.org.")
    );
    assert_eq!(page.one("main a[href=mailto:data@town.test]").line(), "data@town.test");
    let sign_in = Browser::new(&site).open("/account/sign-in");
    assert!(sign_in.one("main").line().contains("Ask data@town.test for a link to set a new one."));
    let elsewhere = Site::empty(&UNLIMITED);
    assert!(
        open(&elsewhere, "/account/sign-in").one("main").line().contains("Ask the operator of this site")
    );
}

#[test]
fn omits_account_area_from_openapi_and_sitemap() {
    let site = Site::empty(&UNLIMITED);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(2));
    assert!(!site.get("/api/v1/openapi.json").text().contains("/account/sign-in"));
    assert!(!site.send(&Ask::get("/sitemap.xml")).text().contains("/account"));
}
