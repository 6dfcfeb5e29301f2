//! Choosing conditions by clicks: the tests and values of a column, rows of the free sample, and the way over the sign-up.

use super::{condition, rows_said, site, view};
use crate::site::browser::{Browser, EMAIL, PASSWORD, encoded};
use crate::site::document::Document;
use crate::site::{ask, crawl, open};

const EXPLORE: &str = "/datasets/cities/explore";

/// The page behind a form of the view, sent by one of its buttons.
#[track_caller]
fn pressed(site: &crate::harness::Site, fields: &[(&str, &str)]) -> (String, Document) {
    let answer = site.send(&ask(&format!("{EXPLORE}?{}", encoded(fields))));
    assert_eq!(answer.status, 303, "{}", answer.text());
    let target = answer.header("Location").unwrap().to_owned();
    let page = open(site, &target);
    crawl::check_usable(&target, &page);
    (target, page)
}

#[test]
fn offers_tests_and_frequent_values_of_chosen_column() {
    let site = site();
    let first = open(&site, EXPLORE);
    let buttons: Vec<&str> = first
        .select("form.filters button[name=add]")
        .iter()
        .filter_map(|one| one.attribute("value"))
        .collect();
    assert_eq!(buttons, ["id", "name", "area", "height", "capital", "founded", "seen"]);
    let tests = |column: &str| -> Vec<String> {
        let (_, page) = pressed(&site, &[("typed", "en"), ("add", column)]);
        assert_eq!(page.one("fieldset legend code").line(), column);
        let options = page.select("select#test-1 option");
        options.iter().map(|one| one.attribute("value").unwrap().to_owned()).collect()
    };
    assert_eq!(tests("name"), ["eq", "ne", "contains", "startsWith", "endsWith", "null", "notNull"]);
    assert_eq!(tests("capital"), ["true", "false", "null", "notNull"]);
    assert_eq!(tests("area"), ["gte", "lte", "eq", "ne", "gt", "lt", "null", "notNull"]);
    assert_eq!(tests("height")[6..], ["null", "notNull"]);
    let (_, page) = pressed(&site, &[("typed", "en"), ("add", "name")]);
    let offers = page.select("fieldset.condition button[name=pick]");
    assert_eq!(offers[0].line(), "Milano 42");
    assert_eq!(offers.len(), 6);
    assert_eq!(page.select("datalist#offers-1 option").len(), 6);
    assert_eq!(page.one("input#value-1").attribute("list"), Some("offers-1"));
    let pick = offers[0].attribute("value").unwrap().to_owned();
    let other = [
        ("filter", "id"),
        ("test", "lte"),
        ("value", "100"),
        ("filter", "name"),
        ("test", "contains"),
        ("value", ""),
    ];
    let picked = pick.replacen('1', "2", 1);
    let fields: Vec<_> = other.into_iter().chain([("typed", "en"), ("pick", picked.as_str())]).collect();
    let (target, page) = pressed(&site, &fields);
    assert_eq!(target, format!("{EXPLORE}?filter=id&test=lte&value=100&filter=name&test=eq&value=Milano"));
    assert_eq!(rows_said(&page), 17);
    let (_, dates) =
        pressed(&site, &[("typed", "it"), ("lang", "it"), ("columns", "1-2"), ("add", "founded")]);
    assert_eq!(dates.one("input#value-1").attribute("type"), Some("date"));
    assert!(dates.one("p#fault-1").line().contains("Valori da 1970-01-01 a 1970-09-07."));
    for (name, value) in [("columns", "1-2"), ("lang", "it"), ("typed", "it")] {
        assert_eq!(dates.one(&format!("form.filters input[name={name}]")).attribute("value"), Some(value));
    }
    // The key of a line in a field sends the first button, which is the one that applies all.
    let first_button = page.select("form.filters button")[0];
    assert_eq!((first_button.attribute("name"), first_button.attribute("tabindex")), (None, Some("-1")));
}

#[test]
fn shows_rows_of_sample_that_match_in_order_of_view() {
    let site = site();
    let rows = |page: &Document| page.rows("main table.data tbody tr");
    let caption = |page: &Document| page.one("#sample-caption").line();
    let all = view(&site, "columns=1-2");
    assert_eq!(caption(&all), "From the free sample: 100 of 100 rows match. These are the first 10.");
    assert_eq!(rows(&all)[..3], ["1 Roma", "3 Napoli", "6 Genova"]);
    let page = view(&site, &(condition("name", "eq", "Roma") + "&sort=id&direction=desc&columns=1"));
    let sample = site.get("/api/v1/datasets/cities/sample").json();
    let ids = sample["data"]["results"].as_array().unwrap().iter();
    let mut expected: Vec<u64> =
        ids.filter(|row| row["name"] == "Roma").map(|row| row["id"].as_u64().unwrap()).collect();
    expected.sort_by_key(|id| std::cmp::Reverse(*id));
    let said = format!("From the free sample: {} of 100 rows match. These are the first 10.", expected.len());
    assert_eq!(caption(&page), said);
    let expected: Vec<String> = expected.iter().take(10).map(u64::to_string).collect();
    assert_eq!(rows(&page), expected);
    let none = view(&site, &condition("id", "eq", "2"));
    assert!(none.select("main table").is_empty() && rows_said(&none) == 1, "the row is not of the sample");
    let few = view(&site, &(condition("id", "lte", "5") + "&columns=1"));
    assert_eq!(
        (rows(&few), caption(&few)),
        (vec!["1".to_owned(), "3".to_owned()], "From the free sample: 2 of 100 rows match.".to_owned())
    );
}

#[test]
fn comes_back_to_view_over_sign_up() {
    let site = site();
    let target = format!("{EXPLORE}?{}", condition("name", "eq", "Roma"));
    let browser = Browser::new(&site);
    let links = browser.open(&target);
    let link = |page: &Document, at: &str| {
        let links = page.select("main a");
        let found = links.iter().find(|link| link.attribute("href").unwrap_or_default().starts_with(at));
        found.unwrap().attribute("href").unwrap().to_owned()
    };
    let sign_in = browser.open(&link(&links, "/account/sign-in?next="));
    assert_eq!(link(&sign_in, "/account/sign-up"), link(&links, "/account/sign-up"));
    let sign_up = browser.open(&link(&links, "/account/sign-up?next="));
    let next = sign_up.one("main form input[name=next]").attribute("value").unwrap().to_owned();
    assert_eq!(next, target);
    assert!(link(&sign_up, "/account/sign-in").contains("next="));
    let refused =
        browser.post("/account/sign-up", &[("email", EMAIL), ("password", "short"), ("next", &next)]);
    let refused = Document::parse(&refused.text());
    assert_eq!(refused.one("main form input[name=next]").attribute("value"), Some(target.as_str()));
    let done = browser.post("/account/sign-up", &[("email", EMAIL), ("password", PASSWORD), ("next", &next)]);
    let sign_in = browser.open(done.header("Location").unwrap());
    let next = sign_in.one("main form input[name=next]").attribute("value").unwrap().to_owned();
    let back = browser.post("/account/sign-in", &[("email", EMAIL), ("password", PASSWORD), ("next", &next)]);
    assert_eq!((back.status, back.header("Location")), (303, Some(target.as_str())));
}
