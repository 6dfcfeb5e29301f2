//! Payments of a demonstration, and a place that takes none.

use super::{buy, credits, selling_with, webhook};
use crate::harness::Site;
use crate::site::browser::{Browser, EMAIL, bare_form, check_refused};
use crate::site::crawl::check_usable;

fn demo(folder: &std::path::Path) -> Site {
    selling_with(&["--payments".to_owned(), "demo".to_owned()], folder)
}

#[test]
fn sells_by_click_without_money() {
    let folder = tempfile::tempdir().unwrap();
    let site = demo(folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    let page = browser.open("/account/credits");
    assert!(page.one("main form .muted").line().contains("no real money is involved"));
    let begun = buy(&browser, "3000");
    let own = begun.header("Location").unwrap().to_owned();
    assert!(begun.status == 303 && own.starts_with("/account/purchases/chk_1_"), "{own}");
    let asked = browser.open(&own);
    let forms: Vec<_> = asked
        .select("main form.form")
        .iter()
        .map(|form| form.attribute("action").map(str::to_owned))
        .collect();
    assert_eq!(forms, [Some(own.clone()), Some(own.clone())], "one pays, the other cancels");
    assert!(asked.one("main .notice").line().contains("No real money is involved."));
    check_usable(&own, &asked);
    assert_eq!(credits(&site), 0);
    let paid = browser.post(&own, &[]);
    assert_eq!((paid.status, paid.header("Location")), (303, Some(format!("{own}?done=paying").as_str())));
    assert_eq!(credits(&site), 3_000);
    for fields in [&[][..], &[("action", "cancel")]] {
        let again = browser.post(&own, fields);
        assert_eq!(again.header("Location"), Some(format!("{own}?done=paying").as_str()), "it is paid");
    }
    let thanks = browser.open(&format!("{own}?done=paying"));
    assert!(thanks.one("main .notice").line().contains("is paid"));
    assert_eq!(thanks.select("main form.form").len(), 0, "there is nothing to cancel");
    assert_eq!(thanks.select(&format!("main a[href={own}/receipt]")).len(), 1);
    assert_eq!(credits(&site), 3_000);
    let receipt = browser.open(&format!("{own}/receipt"));
    assert!(receipt.one("main .notice").line().contains("no money has moved"));
    assert_eq!(webhook(&site, "{}").status, 404);
}

#[test]
fn cancels_unpaid_purchase() {
    let folder = tempfile::tempdir().unwrap();
    let site = demo(folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    for _ in 0..16 {
        buy(&browser, "3000");
    }
    assert_eq!(buy(&browser, "3000").status, 422, "too many wait");
    let listed = browser.open("/account/credits");
    let own = listed.select("main td a")[0].attribute("href").unwrap().to_owned();
    for _ in 0..2 {
        let cancelled = browser.post(&own, &[("action", "cancel")]);
        assert_eq!(cancelled.header("Location"), Some(format!("{own}?done=given-up").as_str()));
    }
    let page = browser.open(&format!("{own}?done=given-up"));
    assert!(page.one("main").line().contains("The purchase is cancelled. Nothing was paid."));
    assert_eq!(page.select("main form.form").len(), 0);
    check_usable(&own, &page);
    assert_eq!(
        browser.post(&own, &[]).header("Location"),
        Some(own.as_str()),
        "a click pays nothing any more"
    );
    assert_eq!(credits(&site), 0);
    assert!(browser.open("/account/credits").rows("main tbody tr")[0].contains(" cancelled "));
    assert_eq!(buy(&browser, "3000").status, 303, "there is room again");
    let other = Browser::signed_in(&site, "mona@example.org");
    assert_eq!(other.post(&own, &[("action", "cancel")]).status, 404);
}

#[test]
fn refuses_clicks_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let site = demo(folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    let own = buy(&browser, "3000").header("Location").unwrap().to_owned();
    let other = Browser::signed_in(&site, "mona@example.org");
    assert_eq!(other.post(&own, &[]).status, 404);
    for (target, fields) in [(own.as_str(), vec![]), ("/account/credits", vec![("credits", "3000")])] {
        let foreign = bare_form(target, &fields).header("Sec-Fetch-Site", "cross-site");
        assert_eq!(browser.send(foreign).status, 403, "{target}");
        assert_eq!(browser.send(bare_form(target, &fields)).status, 403, "{target}");
        assert_eq!(Browser::new(&site).post(target, &fields).status, 303, "{target}");
    }
    assert_eq!(site.running().app().ledger.stats().entries, 0);
}

#[test]
fn returns_faulty_choice_and_bounds_open_purchases() {
    let folder = tempfile::tempdir().unwrap();
    let site = demo(folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    for choice in ["", "1", "-3000", "3e3", "3000.0", "99999999999999999999"] {
        let page = check_refused(&buy(&browser, choice), 422, &[]);
        assert_eq!(page.one("main p.problem[role=alert]").line(), "Choose one of the packs.");
    }
    let surplus = browser.post("/account/credits", &[("credits", "3000"), ("cents", "1")]);
    assert_eq!(surplus.status, 400);
    for _ in 0..16 {
        assert_eq!(buy(&browser, "3000").status, 303);
    }
    let page = check_refused(&buy(&browser, "3000"), 422, &[]);
    assert!(page.one("main p.problem").line().starts_with("You have too many unpaid purchases."));
    assert_eq!(page.rows("main tbody tr").len(), 16);
}

#[test]
fn pages_through_purchases() {
    let folder = tempfile::tempdir().unwrap();
    let site = demo(folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    for _ in 0..23 {
        let own = buy(&browser, "3000").header("Location").unwrap().to_owned();
        browser.post(&own, &[]);
    }
    let first = browser.open("/account/credits");
    let older = first.select("main a[rel=next]")[0].attribute("href").unwrap().to_owned();
    assert_eq!(older, "/account/credits?bought=4");
    let listed = browser.open(&older).rows("main tbody tr");
    let paid = listed.iter().filter(|row| row.contains(" paid ")).count();
    assert_eq!(paid, 3, "{listed:?}");
}

#[test]
fn names_contact_where_nobody_can_pay() {
    let folder = tempfile::tempdir().unwrap();
    let site = selling_with(&[], folder.path());
    let browser = Browser::signed_in(&site, EMAIL);
    let page = browser.open("/account/credits");
    assert!(page.select("main fieldset").is_empty());
    assert_eq!(page.one("main a[href=mailto:data@town.test]").line(), "data@town.test");
    assert_eq!(buy(&browser, "3000").status, 404);
    let prices = browser.open("/pricing");
    assert!(prices.rows("main tbody tr").contains(&"3,000 €10.01 €12.21".to_owned()));
    assert_eq!(prices.select("main a[href=/account/credits]").len(), 0);
}
