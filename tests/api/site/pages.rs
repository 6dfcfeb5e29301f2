//! The pages beside those of one dataset: home page, list, search, prices, status and feeds.

use super::{ask, large_site, manifest, open};
use crate::harness::{Ask, MANIFEST, Site, city_columns, store_path, wait_until};

#[test]
fn shows_search_featured_datasets_and_tags_on_home_page() {
    let site = large_site(&[]);
    let page = open(&site, "/");
    assert_eq!(page.one("title").line(), "mercato · Explore, query and buy data by the row");
    assert!(!page.one("h1").line().is_empty());
    let form = page.one("main form[role=search]");
    assert_eq!((form.attribute("action"), form.attribute("method")), (Some("/datasets"), Some("get")));
    assert_eq!(page.one("main form input[name=q]").attribute("id"), Some("home-search"));
    assert_eq!(page.one("label[for=home-search]").line(), "Search the datasets");
    assert!(page.one("main .hero p.small").line().starts_with("45 datasets with 996 rows so far."));
    let featured: Vec<_> =
        page.select("main ul.cards h3 a").iter().map(|link| link.attribute("href")).collect();
    assert_eq!(featured, [Some("/datasets/cities")]);
    let tags: Vec<_> = page.select("main ul.tags a").iter().map(|tag| tag.line()).collect();
    assert_eq!(tags, ["all 44", "other & more 33", "fourth 11", "geo 1", "towns 1"]);
    assert_eq!(page.select("main ul.tags a")[1].attribute("href"), Some("/datasets?tag=other%20%26%20more"));
    assert_eq!(page.select("main ul.versions li").len(), 8);
}

#[test]
fn answers_clients_without_a_preference_with_pages() {
    let site = Site::with_cities();
    let targets =
        ["/", "/datasets", "/datasets/cities", "/datasets/cities/columns", "/graph", "/pricing", "/status"];
    for target in targets {
        let bare = site.get(target);
        let any = site.send(&Ask::get(target).header("Accept", "*/*"));
        let image = site.send(&Ask::get(target).header("Accept", "image/avif,image/*;q=0.8"));
        for answer in [bare, any, image] {
            assert_eq!(
                (answer.status, answer.header("Content-Type")),
                (200, Some("text/html; charset=utf-8"))
            );
        }
    }
}

#[test]
fn announces_empty_catalogue() {
    let site = Site::empty(&[]);
    let page = open(&site, "/");
    assert_eq!(page.one("main .hero p.muted").line(), "No dataset has been published yet.");
    assert!(open(&site, "/datasets").one("main p.muted").line().starts_with("No datasets match."));
    for target in ["/pricing", "/status"] {
        open(&site, target);
    }
    assert_eq!(site.get("/feed.atom").status, 200);
}

#[test]
fn orders_and_pages_list_by_links() {
    let site = large_site(&[]);
    let titles = |target: &str| -> Vec<String> {
        open(&site, target).select("main ol.results h2 a").iter().map(|link| link.line()).collect()
    };
    let first = titles("/datasets");
    assert_eq!((first.len(), first[0].as_str()), (20, "Cities"));
    let page = open(&site, "/datasets?sort=title");
    assert_eq!(page.one("main nav.pages span").line(), "Page 1 of 3");
    assert!(page.select("main nav.pages a[rel=prev]").is_empty());
    assert_eq!(page.one("main nav.pages a[rel=next]").attribute("href"), Some("/datasets?sort=title&page=2"));
    assert_eq!(page.one("main .sorts a[aria-current=true]").line(), "Title");
    let all: Vec<String> =
        (1..=3).flat_map(|number| titles(&format!("/datasets?sort=title&page={number}"))).collect();
    assert_eq!((all.len(), all[0].as_str(), all[44].as_str()), (45, "Cities", "Set 44"));
    assert!(all.is_sorted());
    assert_eq!(titles("/datasets?sort=title&page=99"), titles("/datasets?sort=title&page=3"));
    assert_eq!(titles("/datasets?sort=title&page=-1&colour=blue"), titles("/datasets?sort=title"));
    assert_eq!(titles("/datasets?sort=rows")[0], "Set 44");
    let third = open(&site, "/datasets?page=3");
    assert_eq!(
        third.one("link[rel=canonical]").attribute("href"),
        Some("http://mercato.test/datasets?page=3")
    );
    assert_eq!(third.one("title").line(), "Datasets · Page 3 of 3 · mercato");
}

#[test]
fn narrows_list_by_facets_and_counts_rest() {
    let site = large_site(&[]);
    let page = open(&site, "/datasets");
    let values = |target: &str, id: &str| -> Vec<String> {
        let list = format!("main ul[aria-labelledby={id}] li");
        open(&site, target).select(&list).iter().map(|value| value.line()).collect()
    };
    assert_eq!(values("/datasets", "facet-license"), ["CC-BY-4.0 23", "CC0-1.0 22"]);
    assert_eq!(values("/datasets", "facet-size"), ["up to 10,000 rows 45"]);
    assert_eq!(values("/datasets", "facet-updated").len(), 3);
    let fourth =
        page.select("main ul[aria-labelledby=facet-tag] a").into_iter().find(|link| link.line() == "fourth");
    assert_eq!(fourth.unwrap().attribute("href"), Some("/datasets?tag=fourth"));
    let narrowed = "/datasets?tag=fourth&license=cc0-1.0&sort=title";
    let page = open(&site, narrowed);
    assert_eq!(page.select("main ol.results li article").len(), 11);
    assert_eq!(page.one("main .bar p").line(), "11 datasets Filters");
    assert_eq!(values(narrowed, "facet-tag"), ["all 11"]);
    let chosen: Vec<_> =
        page.select("main ul.chosen a").iter().map(|link| link.attribute("href").unwrap()).collect();
    assert_eq!(
        chosen,
        ["/datasets?license=cc0-1.0&sort=title", "/datasets?tag=fourth&sort=title", "/datasets?sort=title"]
    );
    assert_eq!(page.select("main ul.chosen a")[0].attribute("aria-label"), Some("Remove the filter fourth"));
    assert_eq!(page.one("meta[name=robots]").attribute("content"), Some("noindex, follow"));
    assert!(
        open(&site, "/datasets?tag=fourth&tag=nowhere")
            .one("main p.muted")
            .line()
            .starts_with("No datasets match.")
    );
    assert_eq!(open(&site, "/datasets?size=huge").select("main ol.results li").len(), 0);
    assert_eq!(open(&site, "/datasets?updated=week&page=3").select("main ol.results article").len(), 5);
}

#[test]
fn shows_search_results_and_matched_fields() {
    let site = large_site(&[]);
    let page = open(&site, "/datasets?q=cities");
    assert_eq!(page.one("h1").line(), "Results for “cities”");
    let first = page.select("main ol.results article")[0].line();
    assert!(first.starts_with("Cities Featured Some cities Found in: "), "{first}");
    assert!(first.contains("title") && first.contains("description"), "{first}");
    assert_eq!(page.one("#top-search").attribute("value"), Some("cities"));
    assert!(page.one("main .bar p").line().contains("ranked by keywords"));
    let tags: Vec<_> =
        page.select("main ul[aria-labelledby=facet-tag] li").iter().map(|tag| tag.line()).collect();
    assert!(tags.contains(&"geo 1".to_owned()), "facets are counted over few results: {tags:?}");
    let narrowed = open(&site, "/datasets?q=set&tag=fourth");
    assert_eq!(narrowed.one("main .bar p").line().split(' ').next(), Some("11"));
    assert_eq!(
        open(&site, "/datasets?q=set&license=CC0-1.0&page=2").select("main ol.results article").len(),
        2
    );
    assert_eq!(
        open(&site, "/datasets?q=set&license=CC0-1.0&page=9").select("main ol.results article").len(),
        2
    );
    for empty in ["/datasets?q=", "/datasets?q=%20"] {
        assert_eq!(open(&site, empty).one("h1").line(), "Datasets", "{empty}");
    }
    let short = open(&site, "/datasets?q=a");
    assert_eq!(short.one("main [role=alert]").line(), "Enter at least 2 characters.");
    assert_eq!(short.one("#top-search").attribute("value"), Some("a"));
    let long = open(&site, &format!("/datasets?q={}", "a".repeat(201)));
    assert_eq!(long.one("main [role=alert]").line(), "Enter at most 200 characters.");
    assert!(
        open(&site, "/datasets?q=%0Aaa%00").one("main [role=alert]").line().contains("invalid character")
    );
}

#[test]
fn shows_prices_and_limits_in_force() {
    let site = Site::empty(&["--requests-per-minute", "77", "--requests-per-day", "0"]);
    site.publish("cities", MANIFEST, "1.0.0", &city_columns(6));
    let page = open(&site, "/pricing");
    let rows: Vec<_> = page.select("main table tbody tr").iter().map(|row| row.line()).collect();
    assert!(rows.contains(&"1,0001,000€5.00".to_owned()), "{rows:?}");
    assert!(rows.contains(&"11€0.005".to_owned()), "{rows:?}");
    assert!(rows.contains(&"Cities66€0.03".to_owned()), "{rows:?}");
    let text = page.one("main").line();
    for said in [
        "Every account has 100 free queries per calendar month. They stay when you buy credits, and are used first.",
        "up to 100 rows",
        "77 requests in any 60 seconds",
        "Within 24 hours",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("per day"), "a limit that is lifted is not told");
    assert!(open(&site, "/pricing?lang=it").one("main").line().contains("5,00 €"));
}

#[test]
fn reports_damaged_dataset_on_status_page() {
    let site = Site::with_cities();
    assert_eq!(open(&site, "/status").one("main .notice").line(), "Everything works.");
    site.publish("towns", &manifest("towns", "Towns", ""), "1.0.0", &city_columns(3));
    let path = store_path(&site.data(), "towns", "1.0.0");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "not a store file").unwrap();
    wait_until("the damage is noticed", || site.get("/api/v1/datasets/towns").status == 503);
    let page = open(&site, "/status");
    assert_eq!(page.one("main .notice").attribute("class"), Some("notice warn"));
    assert_eq!(page.one("main li code").line(), "towns");
    assert!(!page.one("main").line().contains("mcol"));
    let down = site.send(&ask("/datasets/towns"));
    assert!(matches!(down.status, 503 | 404), "{}", down.status);
}

#[test]
fn lists_versions_with_changes_in_feeds() {
    let site = large_site(&[]);
    let all = site.get("/feed.atom");
    assert_eq!(all.header("Content-Type"), Some("application/atom+xml; charset=utf-8"));
    let text = all.text();
    assert!(text.starts_with(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\""
    ));
    assert_eq!((text.matches("<entry>").count(), text.matches("</entry>").count()), (45, 45));
    assert!(text.contains("<id>http://mercato.test/datasets/cities#1.0.0</id>"));
    assert!(text.contains(
        "<link rel=\"self\" type=\"application/atom+xml\" href=\"http://mercato.test/feed.atom\"/>"
    ));
    let own = site.get("/datasets/cities/feed.atom").text();
    assert_eq!(own.matches("<entry>").count(), 1);
    assert!(own.contains("<content type=\"text\">- first &#60;b&#62;edition&#60;/b&#62;</content>"), "{own}");
    assert!(own.contains("<summary>Version 1.0.0 with 6 rows.</summary>"));
    assert!(
        site.get("/datasets/cities/feed.atom?lang=it")
            .text()
            .contains("<summary>Versione 1.0.0 con 6 righe.</summary>")
    );
    assert_eq!(site.get("/datasets/nowhere/feed.atom").status, 404);
}
