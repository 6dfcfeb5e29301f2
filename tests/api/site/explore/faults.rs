//! Addresses with a fault, and values in the notation of a language: no other view than the one that was asked for is priced,
//! shown or sold.

use super::{condition, rows_said, site, view};
use crate::harness::Answer;
use crate::site::browser::{Browser, EMAIL, encoded};
use crate::site::document::Document;
use crate::site::{ask, crawl};

const EXPLORE: &str = "/datasets/cities/explore";

/// Asserts that a page has nothing of a view.
#[track_caller]
fn check_empty(query: &str, page: &Document) {
    crawl::check_usable(query, page);
    for nothing in
        ["main form[method=post]", "main table", "main fieldset.tabset", ".view-cost", "main .cost a"]
    {
        assert!(page.select(nothing).is_empty(), "{query}: {nothing}");
    }
    assert_eq!(
        page.one("p.view-rows").line(),
        "No price yet: complete or correct what is marked in the form.",
        "{query}"
    );
}

#[test]
fn sells_no_wider_view_for_faulty_condition() {
    let site = site();
    let browser = Browser::signed_in(&site, EMAIL);
    let ledger = &site.running().app().ledger;
    let account = ledger.accounts()[0].id();
    ledger.buy(account, 1_000, None, "1000", "", crate::harness::now()).unwrap();
    let sound = condition("id", "lte", "10");
    let long = "1".repeat(501);
    let many: Vec<String> = (0..13).map(|number| condition("id", "ne", &number.to_string())).collect();
    for (query, told) in [
        (condition("id", "gte", "abc"), "This column contains whole numbers, such as 42."),
        (condition("id", "gte", "1,000"), "This column contains whole numbers, such as 42."),
        (condition("founded", "gte", "31/01/2024"), "This column contains dates, such as 2024-01-31."),
        (
            condition("seen", "lt", "yesterday"),
            "This column contains dates and times, such as 2024-01-31T12:00:00Z.",
        ),
        (condition("id", "gte", ""), "Choose a value or type one."),
        ("filter=id&test=eq".to_owned(), "Choose a value or type one."),
        (condition("population", "gte", "5"), "This dataset has no such column."),
        ("test=gte&value=5".to_owned(), "This dataset has no such column."),
        (condition("id", "contains", "5"), "This comparison is not available for this column."),
        (condition("id", "nothing", "5"), "This comparison is not available for this column."),
        ("filter=capital".to_owned(), "This comparison is not available for this column."),
        (condition("name", "eq", &long), "This value is too long: at most 500 characters."),
        (many.join("&"), "A view has at most 12 conditions."),
        ("sort=nothing".to_owned(), "The rows cannot be sorted like this."),
        ("sort=id&direction=up".to_owned(), "The rows cannot be sorted like this."),
    ] {
        let query = format!("{query}&{sound}&columns=1-2");
        let shown = browser.open(&led(&browser, &query));
        check_empty(&query, &shown);
        let said: Vec<String> = shown.select("main form p").iter().map(|line| line.line()).collect();
        assert!(said.iter().any(|line| line.starts_with(told)), "{query}: {said:?}");
        let fields =
            [vec![("version", "1.0.0")], vec![("version", "1.0.0"), ("rows", "10"), ("format", "csv")]];
        for (part, fields) in ["query", "download"].iter().zip(fields) {
            let refused = browser.post(&format!("{EXPLORE}/{part}?{query}"), &fields);
            assert_eq!(refused.status, 422, "{part} {query}: {}", refused.text());
            let page = Document::parse(&refused.text());
            check_empty(&query, &page);
            let alert = page.one("main .notice[role=alert]").line();
            assert!(alert.contains("cannot be applied. Nothing was charged"), "{alert}");
        }
    }
    assert_eq!(ledger.accounts()[0].credits(), 1_000);
}

/// Where the address of a view leads: to itself, where it is canonical.
fn led(browser: &Browser<'_>, query: &str) -> String {
    let target = format!("{EXPLORE}?{query}");
    match browser.get(&target) {
        answer if answer.status == 303 => answer.header("Location").unwrap().to_owned(),
        _ => target,
    }
}

#[test]
fn removes_faulty_condition_by_its_link() {
    let site = site();
    let page = view(&site, &(condition("id", "gte", "abc") + "&" + &condition("id", "lte", "10")));
    assert_eq!(page.one("input#value-1").attribute("aria-invalid"), Some("true"));
    assert!(page.select("p#fault-2").is_empty());
    let remove = page.select("a.remove")[0].attribute("href").unwrap().to_owned();
    assert_eq!(remove, "/datasets/cities/explore?filter=id&test=lte&value=10");
    assert_eq!(rows_said(&view(&site, remove.split_once('?').unwrap().1)), 10);
    let many: Vec<String> = (0..20).map(|number| condition("id", "ne", &number.to_string())).collect();
    let page = view(&site, &many.join("&"));
    assert_eq!(page.select("fieldset.condition").len(), 13);
    let remove = page.select("a.remove")[12].attribute("href").unwrap();
    assert_eq!(remove.matches("filter=").count(), 19, "the others stay: {remove}");
    let blank = site.send(&ask(&format!("{EXPLORE}?filter=&test=&value=")));
    assert_eq!(location(&blank), EXPLORE, "a blank line of a form is no condition");
    for harmless in ["columns=99", "sort=&direction="] {
        assert_eq!(rows_said(&view(&site, harmless)), 250, "{harmless}");
    }
}

#[track_caller]
fn location(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.text());
    answer.header("Location").unwrap().to_owned()
}

#[test]
fn leads_from_typed_value_to_link_that_both_languages_read_alike() {
    let site = site();
    let form = |language: &str, typed: &str| {
        let fields =
            [("typed", language), ("lang", language), ("filter", "area"), ("test", "lte"), ("value", typed)];
        location(&site.send(&ask(&format!("{EXPLORE}?{}", encoded(&fields)))))
    };
    for (language, typed, canonical) in [
        ("it", "900,5", "900.5"),
        ("it", "900.5", "900.5"),
        ("it", "1.000", "1000"),
        ("it", "1.000,25", "1000.25"),
        ("en", "900.5", "900.5"),
        ("en", "900,5", "900.5"),
        ("en", "1,000", "1000"),
        ("en", "abc", "abc"),
    ] {
        let expected = format!("{EXPLORE}?lang={language}&filter=area&test=lte&value={canonical}");
        assert_eq!(form(language, typed), expected, "{typed}");
    }
    // Every address of the Italian page holds the canonical value, and its field shows the Italian one.
    let target = form("it", "900,50");
    let page = Document::parse(&site.send(&ask(&target)).text());
    assert_eq!(page.one("input#value-1").attribute("value"), Some("900,50"));
    assert_eq!(page.one("form.filters input[name=typed]").attribute("value"), Some("it"));
    for element in page.all() {
        for name in ["href", "action"] {
            let address = element.attribute(name).unwrap_or_default();
            assert!(!address.contains("900%2C5") && !address.contains("typed="), "{address}");
        }
    }
    assert!(page.one("#curl-text").text.contains("{\"lte\": 900.50}"));
    let english = page.one("a[hreflang=en]").attribute("href").unwrap().to_owned();
    let english = Document::parse(&site.send(&ask(&english)).text());
    assert_eq!(english.one("input#value-1").attribute("value"), Some("900.50"));
    assert_eq!(rows_said(&english), 200);
    assert!(page.one("p.view-rows").line().starts_with("Questa vista contiene 200 righe."));
    // Without the mark of a form, a link means the same in either language.
    for language in ["en", "it"] {
        for (value, expected) in [("900,50", "900.50"), ("0900.50", "900.50")] {
            let query = condition("area", "lte", &value.replace(',', "%2C"));
            let led = location(&site.send(&ask(&format!("{EXPLORE}?{query}&lang={language}"))));
            assert!(led.ends_with(&format!("value={expected}")), "{led}");
        }
    }
}
