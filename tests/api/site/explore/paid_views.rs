//! Rows of a view are paid once, whatever page, order or format asks for them again.

use super::run::{FILE, RUN, VIEW, buy, credits, form, send, site, table};
use crate::harness::{Answer, Ask, Site, city_columns};
use crate::site::browser::{Browser, EMAIL};

#[test]
fn sells_rows_of_view_once_whatever_page_order_or_format() {
    let site = site(250);
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 1_000);
    let paid = |answer: &Answer| table(answer).one("main .notice.good").line();
    paid(&send(&browser, &form(&browser.open(VIEW), RUN), &[]));
    let told = browser.open(VIEW).one("main .cost").line();
    assert!(
        told.contains("This costs 70 credits; you have 950. You have already paid for 50 rows"),
        "{told}"
    );
    assert!(told.contains("This costs up to 50 credits, none for rows you have already paid for"), "{told}");

    // Upwards the first rows are others; the pages behind them meet those that are paid.
    let upwards = VIEW.replace("direction=desc", "direction=asc");
    let first = send(&browser, &form(&browser.open(&upwards), RUN), &[]);
    assert!(paid(&first).starts_with("These rows cost 50 credits. You have 900 left."), "{}", paid(&first));
    let next = form(&table(&first), "Show the next rows, for up to 50 credits");
    let second = send(&browser, &next, &[]);
    let said = paid(&second);
    assert!(
        said.starts_with("These rows cost 20 credits. You have 880 left. You had already paid for 30"),
        "{said}"
    );

    // All 120 rows are paid.
    for view in [VIEW, &upwards, "/datasets/cities/explore?filter=id&test=lte&value=120&sort=name&columns=1"]
    {
        let page = browser.open(view);
        let told = page.one("main .cost").line();
        assert!(
            told.contains("You have already paid for these rows, so they cost nothing now."),
            "{view}: {told}"
        );
        assert!(paid(&send(&browser, &form(&page, RUN), &[])).contains("already paid"), "{view}");
        for format in ["csv", "xlsx"] {
            assert_eq!(send(&browser, &form(&page, FILE), &[("format", format)]).status, 200, "{view}");
        }
    }
    assert_eq!(credits(&site, 0), 880);
    check_api_knows_paid_rows(&site, &browser);
    let narrower = browser.open(&VIEW.replace("120", "60"));
    assert!(paid(&send(&browser, &form(&narrower, RUN), &[])).contains("cost 50 credits"), "another view");
    assert_eq!(credits(&site, 0), 830);
}

/// With the view of 120 rows paid on the site.
#[track_caller]
fn check_api_knows_paid_rows(site: &Site, browser: &Browser<'_>) {
    let key = browser.new_key(&[("label", "program")]);
    let post = |path: &str, body: &str| {
        let ask = Ask::post(&format!("/api/v1/datasets/cities/query{path}"), body);
        site.send(
            &ask.header("X-Api-Key", &key).header("Accept", "application/x-ndjson, application/json;q=0.9"),
        )
    };
    let body = r#"{"filters": {"id": {"lte": 120}}, "limit": 30, "sortBy": "area"}"#;
    let page = site.send(&Ask::post("/api/v1/datasets/cities/query", body).header("X-Api-Key", &key));
    let json = page.json();
    assert_eq!((&json["data"]["rowsReturned"], &json["meta"]["credits"]["charged"]), (&30.into(), &0.into()));
    let warning = json["meta"]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("30 rows were paid for on the site"), "{warning}");
    let stream = post("/stream", r#"{"filters": {"id": {"lte": 120}}, "limit": 100000}"#);
    assert_eq!((stream.status, stream.text().lines().count()), (200, 120));
    assert_eq!(stream.header("X-Credits-Reserved"), Some("0"));
    for purpose in ["page", "stream"] {
        let body = format!(r#"{{"for": "{purpose}", "filters": {{"id": {{"lte": 120}}}}, "limit": 1000}}"#);
        let told = post("/estimate", &body).json()["data"].clone();
        assert_eq!((&told["creditsRequired"], &told["affordable"]), (&0.into(), &true.into()), "{told}");
    }
    let other = post("", r#"{"filters": {"id": {"lte": 119}}, "limit": 0}"#);
    assert_eq!(other.status, 400);
    assert_eq!(credits(site, 0), 880);
}

/// A view whose rows are not counted is known as paid when its stream ends with its last row.
#[test]
fn sells_long_view_once_in_any_order() {
    let site = site(70_000);
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 40_000);
    let view = "/datasets/cities/explore?filter=name&test=eq&value=Roma";
    let table = table(&send(&browser, &form(&browser.open(view), RUN), &[]));
    assert_eq!(table.rows("main table.data tbody tr").len(), 50);
    for (order, left) in [("", 40_000 - 11_667), ("&sort=id&direction=desc", 40_000 - 11_667)] {
        let page = browser.open(&format!("{view}{order}"));
        let answer = send(&browser, &form(&page, FILE), &[("format", "csv")]);
        assert_eq!((answer.status, answer.text().lines().count()), (200, 11_668), "{order}");
        crate::harness::wait_until("the stream is settled", || credits(&site, 0) == left);
    }
    let told = browser.open(view).one("main .cost").line();
    assert!(told.contains("You have already paid for these rows"), "{told}");
}

/// The same view of each is another purchase: none may be taken for a repetition of another one.
#[test]
fn sells_same_view_of_several_datasets() {
    let site = site(250);
    for slug in ["rivers", "lakes"] {
        site.publish(slug, &format!("slug = \"{slug}\"\n"), "1.0.0", &city_columns(250));
    }
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 1_000);
    for (place, slug) in ["cities", "rivers", "lakes"].into_iter().enumerate() {
        let page = browser.open(&VIEW.replace("cities", slug));
        let left = 1_000 - 120 * place as u64;
        let rows = table(&send(&browser, &form(&page, RUN), &[]));
        assert_eq!(rows.rows("main table.data tbody tr").len(), 50, "{slug}");
        assert_eq!(credits(&site, 0), left - 50, "{slug}");
        let file = send(&browser, &form(&page, FILE), &[("format", "csv")]);
        assert_eq!((file.status, file.text().lines().count()), (200, 121), "{slug}");
        assert_eq!(credits(&site, 0), left - 120, "{slug}: the page is part of the file");
    }
}
