//! Rows of a view for a signed-in customer: charged once, shown and downloaded as what they are, and refused to others.

use mercato_format::ColumnKind;
use mercato_format::writer::{Column, ColumnValues};

use crate::harness::{Answer, Ask, MANIFEST, Site, city_columns, now};
use crate::site::browser::{Browser, EMAIL, bare_form};
use crate::site::document::Document;
use crate::site::security::check_harmless;
use crate::site::{UNLIMITED, crawl};
use crate::smtp::{Mood, SmtpServer};

pub const VIEW: &str = "/datasets/cities/explore?filter=id&test=lte&value=120&sort=id&direction=desc";

pub fn site(rows: i64) -> Site {
    let site = Site::empty(&UNLIMITED);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(rows));
    site
}

/// Gives the newest account credits, which it pays for.
pub fn buy(site: &Site, credits: u64) {
    let ledger = &site.running().app().ledger;
    let account = ledger.accounts().last().unwrap().id();
    ledger.buy(account, credits, None, &credits.to_string(), "", now()).unwrap();
    site.use_up_free_queries(account);
}

pub fn credits(site: &Site, place: usize) -> u64 {
    let ledger = &site.running().app().ledger;
    ledger.accounts()[place].credits()
}

/// The form with a name, as its address and its fields.
#[track_caller]
pub fn form(page: &Document, name: &str) -> (String, Vec<(String, String)>) {
    let selector = "main form[method=post]";
    let forms: Vec<_> =
        page.select(selector).into_iter().filter(|form| form.attribute("aria-label") == Some(name)).collect();
    assert_eq!(forms.len(), 1, "{name}");
    let action = forms[0].attribute("action").unwrap().to_owned();
    let fields = page
        .all()
        .iter()
        .filter(|field| field.attribute("type") == Some("hidden") && page.is_inside(field, forms[0]));
    let pair = |field: &crate::site::document::Element| {
        let value = |name| field.attribute(name).unwrap_or_default().to_owned();
        (value("name"), value("value"))
    };
    (action, fields.map(pair).collect())
}

pub fn send(
    browser: &Browser<'_>,
    (action, fields): &(String, Vec<(String, String)>),
    more: &[(&str, &str)],
) -> Answer {
    let own = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    browser.post(action, &own.chain(more.iter().copied()).collect::<Vec<_>>())
}

pub fn table(answer: &Answer) -> Document {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    let page = Document::parse(&answer.text());
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    crawl::check_usable("rows", &page);
    page
}

pub const RUN: &str = "Run this view";
pub const FILE: &str = "The whole view as a file";

#[test]
fn leads_stranger_to_sign_in_and_back_to_view() {
    let site = site(250);
    Browser::signed_in(&site, EMAIL);
    let stranger = Browser::new(&site);
    let page = stranger.open(VIEW);
    assert!(page.select("main form[method=post]").is_empty());
    assert!(!page.select("#curl-text").is_empty(), "the commands stay");
    let link = page.select("main .cost a[rel=nofollow]")[0].attribute("href").unwrap().to_owned();
    assert!(link.starts_with("/account/sign-in?next="), "{link}");
    assert_eq!(stranger.get(VIEW).header("Cache-Control"), Some("no-cache"));
    let refused = stranger.post(&VIEW.replace("explore?", "explore/query?"), &[("version", "1.0.0")]);
    assert_eq!((refused.status, refused.header("Location")), (303, Some(link.as_str())));
    stranger.sign_in(EMAIL, crate::site::browser::PASSWORD);
    assert_eq!(stranger.get(&link).header("Location"), Some(VIEW));
    assert_eq!(stranger.get(VIEW).header("Cache-Control"), Some("no-store"));
    let again = stranger.get(&VIEW.replace("explore?", "explore/download?"));
    assert_eq!(
        (again.status, again.header("Location")),
        (303, Some(VIEW)),
        "the address of a form leads to the view"
    );
}

#[test]
fn charges_page_once_however_often_it_is_sent() {
    let site = site(250);
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 1_000);
    let page = browser.open(VIEW);
    crawl::check_usable(VIEW, &page);
    let run = form(&page, RUN);
    assert!(page.one("main .cost").line().contains("This costs 50 credits; you have 1,000."));
    let first = table(&send(&browser, &run, &[]));
    assert!(
        first.one("main .notice.good").line().starts_with("These rows cost 50 credits. You have 950 left.")
    );
    assert_eq!(first.one("main table.data caption").line(), "Rows 1 to 50 of the view, version 1.0.0");
    let rows = first.rows("main table.data tbody tr");
    assert_eq!(rows.len(), 50);
    assert!(rows[0].starts_with("120 ") && rows[49].starts_with("71 "), "{rows:?}");
    // Sent again, loaded again, and opened anew from the view.
    for run in [run.clone(), run.clone(), form(&browser.open(VIEW), RUN)] {
        let again = table(&send(&browser, &run, &[]));
        assert_eq!(again.rows("main table.data tbody tr"), rows);
        assert!(again.one("main .notice.good").line().contains("already paid"));
    }
    assert_eq!(credits(&site, 0), 950);
    let name = "Show the next rows, for up to 50 credits";
    let second = table(&send(&browser, &form(&first, name), &[]));
    assert_eq!(second.one("main table.data caption").line(), "Rows 51 to 100 of the view, version 1.0.0");
    let third = form(&second, name);
    let third = [table(&send(&browser, &third, &[])), table(&send(&browser, &third, &[]))];
    for page in &third {
        let rows = page.rows("main table.data tbody tr");
        assert!(rows.len() == 20 && rows[19].starts_with("1 "), "{rows:?}");
        assert!(page.select("main form[method=post] input[name=cursor]").is_empty(), "it is the last page");
    }
    assert_eq!(credits(&site, 0), 880);
    let usage = browser.open("/account/usage").rows("main tbody tr");
    assert!(usage.iter().any(|row| row.starts_with("on this site, without a key")), "{usage:?}");
    site.wait_for_metrics(&["mercato_credits_charged_total 120"]);
}

/// One rule for pages, orders and formats, and for the API.
#[test]
fn uses_free_query_where_nothing_was_bought() {
    let site = site(250);
    let browser = Browser::signed_in(&site, EMAIL);
    let page = browser.open(VIEW);
    assert!(page.one("main .cost").line().contains("you have 100 left this month"));
    let run = form(&page, RUN);
    for _ in 0..3 {
        table(&send(&browser, &run, &[]));
    }
    let (small, large) = (form(&browser.open(&VIEW.replace("120", "90")), FILE), form(&page, FILE));
    assert_eq!(send(&browser, &large, &[("format", "csv")]).status, 402, "more rows than a free query has");
    assert_eq!(send(&browser, &small, &[("format", "csv")]).status, 200);
    let ledger = &site.running().app().ledger;
    let balance = ledger.accounts()[0].balance();
    assert_eq!((balance.free_remaining(100, now()), balance.credits), (98, 0));
}

#[test]
fn refuses_rows_beyond_credits_and_leads_to_buying() {
    let site = site(250);
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 60);
    let page = browser.open(VIEW);
    let (run, file) = (form(&page, RUN), form(&page, FILE));
    assert_eq!(
        page.select("main form[method=post] a[href=/account/credits]").len(),
        1,
        "the file is too dear"
    );
    let refused = send(&browser, &file, &[("format", "csv")]);
    assert_eq!(refused.status, 402, "{}", refused.text());
    let told = Document::parse(&refused.text());
    assert!(told.one("main .notice[role=alert]").line().starts_with("You do not have enough credits"));
    assert_eq!(told.one("main .notice[role=alert] a").attribute("href"), Some("/account/credits"));
    assert_eq!(credits(&site, 0), 60);
    let first = table(&send(&browser, &run, &[]));
    let next = form(&first, "Show the next rows, for up to 50 credits");
    assert_eq!((send(&browser, &next, &[]).status, credits(&site, 0)), (402, 10));
    assert_eq!(send(&browser, &run, &[]).status, 200, "what was paid for stays");
}

#[test]
fn downloads_view_in_every_format_once_paid() {
    let site = site(250);
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 1_000);
    let key = site.paying_key(1_000);
    let file = form(&browser.open(VIEW), FILE);
    let body = r#"{"filters":{"id":{"lte":120}},"sortBy":"id","sortDirection":"desc","limit":10000}"#;
    for (format, media_type) in [
        ("csv", "text/csv; charset=utf-8; header=present"),
        ("ndjson", "application/x-ndjson"),
        ("json", "application/json; charset=utf-8"),
        ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ] {
        let answer = send(&browser, &file, &[("format", format)]);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("Content-Type"), Some(media_type));
        let name = format!("attachment; filename=\"cities-1.0.0-view.{format}\"");
        assert_eq!(answer.header("Content-Disposition"), Some(name.as_str()));
        assert_eq!(answer.header("Cache-Control"), Some("no-store"));
        let ask = Ask::post("/api/v1/datasets/cities/query", body);
        let media_type = media_type.split(';').next().unwrap();
        let expected = site.send(&ask.header("X-Api-Key", &key).header("Accept", media_type));
        match format {
            "json" => assert_eq!(answer.json()["data"]["results"], expected.json()["data"]["results"]),
            _ => assert!(answer.body == expected.body, "{format}"),
        }
    }
    assert_eq!(credits(&site, 0), 880, "four formats of the same rows are paid once");
    for wrong in ["", "xls", "sse"] {
        assert_eq!(send(&browser, &file, &[("format", wrong)]).status, 400, "{wrong}");
    }
}

#[test]
fn streams_large_view_as_file_once_paid() {
    let site = site(10_400);
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 50_000);
    let page = browser.open("/datasets/cities/explore?columns=1&sort=id");
    let buttons: Vec<String> =
        page.select("main form button[name=format]").iter().map(|button| button.line()).collect();
    assert_eq!(buttons, ["Download as CSV", "Download as Excel", "Download as NDJSON"]);
    let file = form(&page, FILE);
    let expected: String =
        std::iter::once("id\r\n".to_owned()).chain((1..=10_400).map(|id| format!("{id}\r\n"))).collect();
    for _ in 0..2 {
        let answer = send(&browser, &file, &[("format", "csv")]);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.text().replace("\r\n", "\n"), expected.replace("\r\n", "\n"));
        crate::harness::wait_until("the stream is settled", || credits(&site, 0) == 39_600);
    }
    assert_eq!(send(&browser, &file, &[("format", "json")]).status, 400);
}

/// The page is free, so it tells a bound. What is sent is paid.
#[test]
fn sells_uncounted_view_up_to_its_bound() {
    let site = site(70_000);
    let target = "/datasets/cities/explore?filter=name&test=eq&value=Roma";
    let told = site.get(target).text();
    assert!(told.contains("This view has more than 10,000 rows."), "{told}");
    assert!(told.contains("It costs at most 70,000 credits (€350.00 excluding VAT)"), "{told}");
    let browser = Browser::signed_in(&site, EMAIL);
    for (bought, ends) in [(30_000, true), (60_000, false)] {
        buy(&site, bought);
        let page = browser.open(target);
        assert_eq!(page.all().iter().any(|part| part.line().contains("The file ends after")), ends);
        assert!(page.all().iter().all(|part| !part.line().contains("11,667")), "the exact number");
    }
    let file = form(&browser.open(target), FILE);
    assert!(file.1.contains(&("rows".to_owned(), "70000".to_owned())), "{:?}", file.1);
    for _ in 0..2 {
        let answer = send(&browser, &file, &[("format", "csv")]);
        assert_eq!((answer.status, answer.text().lines().count()), (200, 11_668));
        crate::harness::wait_until("the stream is settled", || credits(&site, 0) == 90_000 - 11_667);
    }
    let (action, fields) = file;
    for rows in ["10000", "70001", "x", ""] {
        let mut fields = fields.clone();
        fields.iter_mut().filter(|(name, _)| name == "rows").for_each(|(_, value)| *value = rows.to_owned());
        assert_eq!(send(&browser, &(action.clone(), fields), &[("format", "csv")]).status, 422, "{rows}");
    }
}

#[test]
fn refuses_forms_of_other_sites_and_outdated_prices() {
    let site = site(250);
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 1_000);
    let page = browser.open(VIEW);
    let foreign: [&[(&str, &str)]; 4] = [
        &[],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site"), ("Origin", "http://mercato.test")],
        &[("Origin", "http://evil.test")],
    ];
    for (action, fields) in [form(&page, RUN), form(&page, FILE)] {
        let mut fields: Vec<(&str, &str)> = fields.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        if action.contains("download") {
            fields.push(("format", "csv"));
        }
        for headers in foreign {
            let form = bare_form(&action, &fields);
            let form = headers.iter().fold(form, |form, (name, value)| form.header(name, value));
            assert_eq!(browser.send(form).status, 403, "{action} {headers:?}");
        }
    }
    let query = VIEW.replace("explore?", "explore/query?");
    let download = VIEW.replace("explore?", "explore/download?");
    for (target, fields) in [
        (&query, vec![("version", "9.9.9")]),
        (&query, vec![("version", "")]),
        (&query, vec![("version", "1.0.0"), ("cursor", "nonsense")]),
        (&download, vec![("version", "9.9.9"), ("rows", "120"), ("format", "csv")]),
        (&download, vec![("version", "1.0.0"), ("rows", "119"), ("format", "csv")]),
        (&download, vec![("version", "1.0.0"), ("format", "csv")]),
    ] {
        let answer = browser.post(target, &fields);
        assert_eq!(answer.status, 422, "{target} {fields:?}: {}", answer.text());
        let page = Document::parse(&answer.text());
        assert!(page.one("main .notice[role=alert]").line().contains("Nothing was charged"), "{fields:?}");
        crawl::check_usable(target, &page);
    }
    for wrong in
        [vec![("version", "1.0.0"), ("limit", "9")], vec![("version", "1.0.0"), ("version", "1.0.0")]]
    {
        assert_eq!(browser.post(&query, &wrong).status, 400, "{wrong:?}");
    }
    assert_eq!(browser.post("/datasets/nowhere/explore/query", &[("version", "1.0.0")]).status, 404);
    assert_eq!(credits(&site, 0), 1_000);
}

#[test]
fn charges_account_of_session_alone() {
    let site = site(250);
    let anna = Browser::signed_in(&site, EMAIL);
    buy(&site, 1_000);
    let berta = Browser::signed_in(&site, "berta@example.org");
    buy(&site, 500);
    let run = form(&anna.open(VIEW), RUN);
    table(&send(&anna, &run, &[]));
    let of_berta = table(&send(&berta, &run, &[]));
    assert!(
        of_berta
            .one("main .notice.good")
            .line()
            .starts_with("These rows cost 50 credits. You have 450 left.")
    );
    assert_eq!((credits(&site, 0), credits(&site, 1)), (950, 450));
    anna.post("/account/sign-out", &[]);
    assert_eq!(send(&anna, &run, &[]).status, 303, "the session has ended");
    assert_eq!(credits(&site, 0), 950);
}

#[test]
fn sells_version_whose_price_was_shown() {
    let site = site(250);
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 1_000);
    let page = browser.open(VIEW);
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(60));
    let answered = table(&send(&browser, &form(&page, RUN), &[]));
    assert!(answered.one("main table.data caption").line().ends_with("version 1.0.0"));
    assert_eq!(send(&browser, &form(&page, FILE), &[("format", "csv")]).status, 422);
    let fresh = browser.open(VIEW);
    let answered = table(&send(&browser, &form(&fresh, RUN), &[]));
    assert!(answered.one("main table.data caption").line().ends_with("version 1.1.0"));
    assert_eq!(credits(&site, 0), 900, "rows of another version are other rows");
}

#[test]
fn escapes_names_and_values_of_columns() {
    const ATTACK: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>";
    let site = Site::empty(&UNLIMITED);
    let texts = (0..60).map(|row| Some(format!("{ATTACK}{row}")));
    let columns = [
        Column::new(ATTACK, ColumnKind::Text, ColumnValues::Texts(texts.collect())),
        Column::new("n", ColumnKind::Integer, ColumnValues::Integers((0..60).map(Some).collect())),
    ];
    site.publish("cities", "slug = \"cities\"\n", "1.0.0", &columns);
    let browser = Browser::signed_in(&site, EMAIL);
    let target = "/datasets/cities/explore";
    let page = browser.open(target);
    check_harmless(target, &page);
    let answer = table(&send(&browser, &form(&page, RUN), &[]));
    check_harmless("rows", &answer);
    assert!(answer.rows("main table.data tbody tr")[0].contains("<script>alert(1)</script>"));
    assert_eq!(answer.select("main table.data th")[0].line(), ATTACK);
    let attack = crate::site::browser::encoded(&[("value", ATTACK), ("sort", ATTACK), ("columns", ATTACK)]);
    for part in ["query", "download"] {
        let fields = [("version", ATTACK)];
        let refused = browser.post(&format!("{target}/{part}?{attack}"), &fields);
        assert_eq!(refused.status, 422);
        let page = Document::parse(&refused.text());
        assert!(page.errors.is_empty(), "{:?}", page.errors);
        check_harmless(part, &page);
    }
}

#[test]
fn waits_for_confirmation_of_address() {
    let server = SmtpServer::start(Mood::Kind);
    let flags = server.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let site = Site::empty(&[&UNLIMITED[..], &flags].concat());
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(250));
    let browser = Browser::signed_in_unconfirmed(&site, EMAIL);
    let page = browser.open(VIEW);
    assert!(page.select("main form[method=post]").is_empty());
    assert!(page.one("main .cost").line().contains("Confirm your e-mail address"));
    let query = VIEW.replace("explore?", "explore/query?");
    let led = browser.post(&query, &[("version", "1.0.0")]);
    assert_eq!((led.status, led.header("Location")), (303, Some("/account")));
    let token = server.mail(0).link().1;
    assert_eq!(browser.post("/account/confirm", &[("token", &token)]).status, 303);
    table(&browser.post(&query, &[("version", "1.0.0")]));
}

#[test]
fn shows_rows_in_italian() {
    let site = site(250);
    let browser = Browser::signed_in(&site, EMAIL);
    let target = format!("{VIEW}&lang=it");
    let page = browser.open(&target);
    let answer = table(&send(&browser, &form(&page, "Esegui questa vista"), &[]));
    assert_eq!(answer.one("html").attribute("lang"), Some("it"));
    assert!(answer.one("main table.data caption").line().starts_with("Righe da 1 a 50"));
    let english = answer.one("a[hreflang=en]").attribute("href").unwrap();
    assert!(english.starts_with("/datasets/cities/explore?"), "{english}");
}

#[test]
fn says_that_finding_rows_takes_too_much_work() {
    let site = crate::query::work::site(&[&UNLIMITED[..], &["--work-seconds", "0.002"]].concat());
    let browser = Browser::signed_in(&site, EMAIL);
    buy(&site, 1_000);
    let conditions = ["filter=words&test=contains&value=~"; 8].join("&");
    let view = format!("/datasets/cities/explore?{conditions}");
    for (language, run, counted, refused) in [
        (
            "",
            RUN,
            "Counting this view takes too long",
            "Finding these rows takes more work than one request may cause.",
        ),
        ("&lang=it", "Esegui questa vista", "Contare", "Trovare queste righe richiede più lavoro"),
    ] {
        let page = browser.open(&format!("{view}{language}"));
        assert!(page.one("main").line().contains(counted), "{}", page.one("main").line());
        let answer = send(&browser, &form(&page, run), &[]);
        let page = Document::parse(&answer.text());
        let said = page.one("main .notice.warn").line();
        assert_eq!(answer.status, 503);
        assert!(said.starts_with(refused), "{said}");
    }
    assert_eq!(credits(&site, 0), 1_000);
}
