//! The pages of one dataset in both languages, compared with the API.

use serde_json::Value;

use super::security::check_harmless;
use super::{Document, UNLIMITED, ask, manifest, open, read};
use crate::harness::{MANIFEST, Site, city_columns, publish_files, store_path, wait_until};
use mercato_catalog::Slug;
use mercato_catalog::publish::{Rows, rollback, unpublish};

pub const TABS: [&str; 8] =
    ["", "/columns", "/preview", "/explore", "/relations", "/methodology", "/changelog", "/use"];
const ROWS: i64 = 250;

/// `cities` with two versions, texts and everything that a manifest may say.
fn site() -> Site {
    let site = Site::empty(&UNLIMITED);
    let more = "citation = \"Towns, 2026\"\ncontact = \"data@town.test\"\nhomepage = \"https://town.test/\"\n\
                update_frequency = \"monthly\"\nrelated = [\"towns\"]\nlicense =";
    let cities = MANIFEST.replacen("license =", more, 1)
        + "[publisher]\nname = \"Town & Sons\"\nurl = \"https://town.test/us\"\n[coverage]\nfrom = 2020-01-01\n\
           places = [\"Roma\", \"Italia\"]\n";
    let texts = [
        ("methodology.md", "# How\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\nBy *hand*.\n"),
        ("changelog.md", "## [1.1.0] - 2026-02-01\n\n- more rows\n\n## [1.0.0] - 2026-01-01\n\n- first\n"),
    ];
    publish_files(&site.data(), &manifest("towns", "Towns", ""), "1.0.0", &city_columns(3), &[]);
    publish_files(&site.data(), &cities, "1.0.0", &city_columns(6), &texts);
    publish_files(&site.data(), &cities, "1.1.0", &city_columns(ROWS), &texts);
    wait_until("both are served", || site.serves("cities", "1.1.0") && site.serves("towns", "1.0.0"));
    site
}

fn lines(page: &Document, selector: &str) -> Vec<String> {
    page.select(selector).iter().map(|element| element.line()).collect()
}

#[test]
fn renders_every_tab_in_both_languages() {
    let site = site();
    for (tab, english, italian) in [
        ("", "Overview", "Panoramica"),
        ("/columns", "Columns", "Colonne"),
        ("/preview", "Preview", "Anteprima"),
        ("/explore", "Explore", "Esplora"),
        ("/relations", "Relations", "Relazioni"),
        ("/methodology", "Methodology", "Metodologia"),
        ("/changelog", "Changelog", "Modifiche"),
        ("/use", "Use it", "Come usarlo"),
    ] {
        for (language, title, label) in [("en", "Cities", english), ("it", "Città", italian)] {
            let target = format!("/datasets/cities{tab}?lang={language}");
            let answer = site.send(&ask(&target));
            let page = read(&target, &answer);
            check_harmless(&target, &page);
            assert!(answer.body.len() <= 100 * 1024, "{target}: {} bytes", answer.body.len());
            assert_eq!(page.one("html").attribute("lang"), Some(language), "{target}");
            assert_eq!(page.one("h1").line(), title, "{target}");
            let current = page.one("nav.tabs a[aria-current=page]");
            assert_eq!(current.line(), label, "{target}");
            assert_eq!(current.attribute("href"), Some(target.as_str()));
            let canonical = format!("http://mercato.test/datasets/cities{tab}?lang={language}");
            assert_eq!(page.one("link[rel=canonical]").attribute("href"), Some(canonical.as_str()));
            assert_eq!(page.select("link[hreflang]").len(), 3, "{target}");
            assert_eq!(page.one("meta[property=og:type]").attribute("content"), Some("article"));
            assert_eq!(page.select("nav.tabs a").len(), TABS.len());
        }
    }
}

#[test]
fn shows_facts_of_api_header_in_overview() {
    let site = site();
    let page = open(&site, "/datasets/cities");
    let header = site.get("/api/v1/datasets/cities").json()["data"].clone();
    let figures = lines(&page, "ul.figures li");
    assert_eq!(&figures[..3], ["version 1.1.0", "250 rows", "7 columns"]);
    assert_eq!(page.one("main .price-row").line(), "€0.005");
    assert_eq!(
        page.one("main .price-whole").line(),
        format!("€{}", header["priceForDownload"]["eur"].as_str().unwrap())
    );
    for (link, text) in [
        ("https://creativecommons.org/licenses/by/4.0/", "CC-BY-4.0"),
        ("https://town.test/us", "Town & Sons"),
        ("mailto:data@town.test", "data@town.test"),
        ("https://town.test/", "https://town.test/"),
    ] {
        assert_eq!(page.one(&format!("dl.facts a[href={link}]")).line(), text);
    }
    let facts = page.select("dl.facts")[0].line();
    for said in ["since 2020-01-01", "Roma, Italia", "monthly"] {
        assert!(facts.contains(said), "{facts}");
    }
    assert_eq!(page.one("blockquote.citation").line(), "Towns, 2026");
    let versions = lines(&page, "section[aria-labelledby=versions] tbody tr th");
    assert_eq!(versions, ["1.1.0 current", "1.0.0"]);
    assert_eq!(lines(&page, "aside tbody th"), ["CSV", "JSON", "NDJSON", "Arrow", "Excel"]);
    assert_eq!(page.select("aside tbody td").len(), 5);
    assert_eq!(page.select("ul.tags a")[0].attribute("href"), Some("/datasets?tag=geo"));
    let ours = "link[type=application/atom+xml][href=/datasets/cities/feed.atom]";
    assert_eq!(page.one(ours).attribute("title"), Some("New versions of Cities (Atom)"));
}

#[test]
fn embeds_croissant_description_in_overview() {
    let site = site();
    for language in ["en", "it"] {
        let page = open(&site, &format!("/datasets/cities?lang={language}"));
        let embedded: Value =
            serde_json::from_str(&page.one("script[type=application/ld+json]").text).unwrap();
        let served = site.get(&format!("/api/v1/datasets/cities/croissant?lang={language}")).json();
        assert_eq!(embedded, served);
    }
}

#[test]
fn shows_table_in_description_as_table() {
    let site = Site::empty(&UNLIMITED);
    let table = "en = \"Counts:\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\"";
    let described = MANIFEST.replace("en = \"Some cities\"", table);
    site.publish("cities", &described, "1.0.0", &city_columns(3));
    let page = open(&site, "/datasets/cities");
    assert_eq!(page.rows("div.prose div.table-scroll tbody tr"), ["1 2"]);
    assert!(!page.one("div.prose").text.contains('|'));
}

#[test]
fn shows_statistics_of_api_per_column() {
    let site = site();
    let page = open(&site, "/datasets/cities/columns");
    let stats = site.get("/api/v1/datasets/cities/stats").json()["data"].clone();
    let columns = stats["columns"].as_array().unwrap();
    assert_eq!(page.select("section.column").len(), columns.len());
    for (number, column) in columns.iter().enumerate() {
        let within = |rest: &str| format!("section#c{} {rest}", number + 1);
        assert_eq!(page.one(&within("h2")).line(), column["name"].as_str().unwrap());
        let bins = column["histogram"]["bins"].as_array().map_or(0, Vec::len);
        let top = column["topValues"].as_array().unwrap();
        let all_told = column["distinct"].as_u64() == Some(top.len() as u64);
        let drawn = page.select(&within("svg.histogram rect")).len();
        if all_told {
            assert_eq!(drawn, 0, "{column}");
            assert_eq!(page.select(&within("table.frequent tbody tr")).len(), top.len());
        } else if bins > 0 {
            let svg = page.one(&within("svg.histogram"));
            assert_eq!((drawn, svg.attribute("role")), (bins, Some("img")), "{column}");
            for id in svg.attribute("aria-labelledby").unwrap().split(' ') {
                assert!(!page.one(&format!("#{id}")).line().is_empty());
            }
            assert_eq!(page.select(&within("details tbody tr")).len(), bins, "the bins as text");
        }
        for (place, shown) in lines(&page, &within("table.frequent td.number")).iter().enumerate() {
            assert_eq!(*shown, top[place]["count"].to_string(), "{column}");
        }
    }
    let names = lines(&page, "section#c2 table.frequent tbody th");
    assert_eq!(names.len(), 6);
    let quantiles = lines(&page, "section#c1 table.quantiles td");
    assert_eq!(quantiles, ["13", "63", "125", "188", "238"]);
    let italian = open(&site, "/datasets/cities/columns?lang=it");
    assert_eq!(italian.select("section#c3 table.quantiles td")[2].line(), "899,75");
}

#[test]
fn draws_bars_as_long_as_counts() {
    let site = site();
    let page = open(&site, "/datasets/cities/columns");
    let stats = site.get("/api/v1/datasets/cities/stats").json()["data"].clone();
    let count = |value: &Value| value["count"].as_u64().unwrap() as f64;
    let length = |text: Option<&str>| text.unwrap().parse::<f64>().unwrap();
    let top = stats["columns"][1]["topValues"].as_array().unwrap();
    let bars = page.select("section#c2 table.frequent rect");
    assert_eq!(bars.len(), top.len());
    for (bar, value) in bars.iter().zip(top) {
        let expected = 100.0 * count(value) / count(&top[0]);
        assert!((length(bar.attribute("width")) - expected).abs() <= 0.05, "{value}");
    }
    let bins = stats["columns"][3]["histogram"]["bins"].as_array().unwrap();
    let most = bins.iter().map(count).fold(0.0, f64::max);
    for (bar, bin) in page.select("section#c4 svg.histogram rect").iter().zip(bins) {
        let expected = 90.0 * count(bin) / most;
        assert!((length(bar.attribute("height")) - expected).abs() <= 0.05, "{bin}");
    }
}

#[test]
fn sorts_sample_and_picks_columns_by_links() {
    let site = site();
    let cells = |page: &Document, column: usize| -> Vec<String> {
        let width = page.select("table.data thead th").len();
        lines(page, "table.data tbody td").into_iter().skip(column).step_by(width).collect()
    };
    let sample = site.get("/api/v1/datasets/cities/sample").json()["data"]["results"].clone();
    let page = open(&site, "/datasets/cities/preview");
    assert!(page.one("table.data caption").line().starts_with("100 rows, evenly spread over the 250"));
    let ids: Vec<String> = (0..25).map(|row| sample[row]["id"].to_string()).collect();
    assert_eq!(cells(&page, 0), ids);
    assert!(page.select("th[aria-sort]").is_empty());
    assert_eq!(page.select("nav.pages a").len(), 4);
    let second = open(&site, "/datasets/cities/preview?page=2");
    assert_eq!(cells(&second, 0)[0], sample[25]["id"].to_string());

    let sort = page.select("table.data thead th a")[2].attribute("href").unwrap();
    assert_eq!(sort, "/datasets/cities/preview?sort=area");
    let ascending = open(&site, sort);
    assert_eq!(ascending.one("th[aria-sort]").attribute("aria-sort"), Some("ascending"));
    let mut areas: Vec<f64> = (0..100).map(|row| sample[row]["area"].as_f64().unwrap()).collect();
    areas.sort_by(f64::total_cmp);
    let shown: Vec<f64> = cells(&ascending, 2).iter().map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(shown, areas[..25]);
    let turned = ascending.one("th[aria-sort] a").attribute("href").unwrap();
    let descending = open(&site, turned);
    assert_eq!(descending.one("th[aria-sort]").attribute("aria-sort"), Some("descending"));
    assert_eq!(cells(&descending, 2)[0].parse::<f64>().unwrap(), areas[99]);

    let hide = descending.select("ul.picks a")[3].attribute("href").unwrap().to_owned();
    let hidden = open(&site, &hide);
    assert_eq!(lines(&hidden, "table.data thead th a").len(), 6);
    assert!(!lines(&hidden, "table.data thead th").contains(&"height".to_owned()));
    for link in hidden.select("table.data thead th a") {
        assert!(link.attribute("href").unwrap().contains("columns=1-3%2C5-7"), "hidden columns stay hidden");
    }
    assert_eq!(cells(&hidden, 2)[0].parse::<f64>().unwrap(), areas[99], "and rows stay sorted");
    let nulls = open(&site, "/datasets/cities/preview?sort=height&page=4&direction=desc");
    assert_eq!(cells(&nulls, 3).last().unwrap(), "missing", "what is missing stands last");
}

#[test]
fn shows_relations_as_list_and_plot() {
    let site = site();
    let page = open(&site, "/datasets/cities/relations");
    assert_eq!(page.one("main tbody th a").attribute("href"), Some("/datasets/towns"));
    assert_eq!(page.one("svg.neighbours").attribute("role"), Some("img"));
    assert_eq!(page.select("svg.neighbours line").len(), 1);
    assert!(page.one("svg.neighbours").line().contains("Towns"));
    let alone = open(&site, "/datasets/towns/relations");
    assert!(alone.select("svg.neighbours").is_empty());
    assert!(alone.one("main").line().contains("No related datasets are known."));
    let graph = open(&site, "/graph");
    let ends: Vec<_> =
        graph.select("main tbody a").iter().map(|link| link.attribute("href").unwrap()).collect();
    assert_eq!(ends, ["/datasets/cities", "/datasets/towns"]);
    let section = graph.one("section#graph");
    let data = site.get(section.attribute("data-url").unwrap());
    assert_eq!((data.status, data.json()["data"]["edges"].as_array().unwrap().len()), (200, 1));
    for script in graph.select("script[src]") {
        assert_eq!(site.get(script.attribute("src").unwrap()).status, 200);
    }
}

#[test]
fn renders_texts_below_page_heading() {
    let site = site();
    let page = open(&site, "/datasets/cities/methodology");
    assert_eq!(lines(&page, "article h2"), ["How"]);
    assert_eq!(lines(&page, "article em"), ["hand"]);
    assert_eq!(lines(&page, "article th"), ["a", "b"]);
    let changes = open(&site, "/datasets/cities/changelog");
    assert_eq!(lines(&changes, "article li"), ["more rows", "first"]);
    let none = open(&site, "/datasets/towns/methodology?lang=it");
    assert!(none.one("main").line().contains("L’editore non ha fornito una metodologia."));
}

#[test]
fn answers_404_page_with_suggestions() {
    let site = site();
    for (target, status, heading, way) in [
        ("/datasets/citie", 404, "There is no such dataset", "/datasets/cities"),
        ("/datasets/CITIES", 404, "There is no such dataset", "/datasets/cities"),
        (
            "/datasets/nothing-like-it/columns",
            404,
            "There is no such dataset",
            "/datasets?q=nothing%20like%20it",
        ),
        ("/datasets/cities/colums", 404, "There is no such page", "/datasets/cities/columns"),
    ] {
        let answer = site.send(&ask(target));
        assert_eq!(answer.status, status, "{target}");
        let page = Document::parse(&answer.text());
        assert!(page.errors.is_empty(), "{target}: {:?}", page.errors);
        check_harmless(target, &page);
        assert_eq!(page.one("h1").line(), heading, "{target}");
        let first = page.select("ul.ways a")[0];
        assert_eq!(first.attribute("href"), Some(way), "{target}");
        assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    }
    let italian = site.send(&ask("/datasets/citie").header("Accept-Language", "it"));
    assert!(italian.text().contains("Questo dataset non esiste"));
    let json = site.get("/datasets/citie");
    assert_eq!(json.refusal(), (404, "NOT_FOUND".to_owned(), "DATASET_NOT_FOUND".to_owned()));
    unpublish(&site.data(), &Slug::parse("towns").unwrap()).unwrap();
    wait_until("it is withdrawn", || site.send(&ask("/datasets/towns")).status == 404);
}

#[test]
fn announces_retracted_version_on_every_tab() {
    let site = site();
    assert!(open(&site, "/datasets/cities").select("p.notice").is_empty());
    rollback(&site.data(), &Slug::parse("cities").unwrap(), &semver::Version::new(1, 0, 0), Rows::Here)
        .unwrap();
    wait_until("it is rolled back", || site.serves("cities", "1.0.0"));
    for tab in TABS {
        let page = open(&site, &format!("/datasets/cities{tab}"));
        let expected = "The publisher has retracted version 1.1.0. Version 1.0.0 is served.";
        assert_eq!(page.one("header p.notice").line(), expected, "{tab}");
    }
    assert_eq!(
        lines(&open(&site, "/datasets/cities"), "section[aria-labelledby=versions] tbody tr th"),
        ["1.1.0", "1.0.0 current"]
    );
}

#[test]
fn answers_503_page_on_every_tab_of_damaged_dataset() {
    let site = site();
    let path = store_path(&site.data(), "towns", "1.0.0");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    wait_until("it is quarantined", || site.get("/api/v1/datasets/towns").status == 503);
    for tab in TABS {
        let target = format!("/datasets/towns{tab}");
        let answer = site.send(&ask(&target));
        assert_eq!(answer.status, 503, "{target}");
        assert!(answer.header("Retry-After").is_some());
        let page = Document::parse(&answer.text());
        assert_eq!(page.one("h1").line(), "This dataset is out of service", "{target}");
        assert!(!answer.text().contains(".mcol"), "why is for the operator");
    }
    assert_eq!(site.send(&ask("/datasets/cities")).status, 200);
}

#[test]
fn describes_columns_in_the_language_of_the_reader() {
    let site = Site::with_cities();
    let manifest = MANIFEST.replace(
        "description = \"Name of the city\"",
        "description = { en = \"Name of the city\", it = \"Nome della città\" }",
    );
    publish_files(&site.data(), &manifest, "1.1.0", &city_columns(4), &[]);
    wait_until("the new texts are served", || {
        let schema = site.get("/api/v1/datasets/cities/schema?lang=it").json();
        schema["data"]["properties"]["name"]["description"] == "Nome della città"
    });
    let described = |target: &str| site.get(target).text();
    for (target, is_italian) in [
        ("/api/v1/datasets/cities/schema", false),
        ("/api/v1/datasets/cities/schema?lang=en", false),
        ("/api/v1/datasets/cities/schema?lang=it", true),
        ("/api/v1/datasets/cities/croissant", false),
        ("/api/v1/datasets/cities/croissant?lang=it", true),
        ("/datasets/cities/columns?lang=en", false),
        ("/datasets/cities/columns?lang=it", true),
    ] {
        let text = described(target);
        let found = (text.contains("Nome della città"), text.contains("Name of the city"));
        assert_eq!(found, (is_italian, !is_italian), "{target}");
    }
    assert_eq!(site.get("/api/v1/datasets/cities/schema?lang=fr").status, 400);
    let found = site.get("/api/v1/datasets/search?q=nome%20della%20citt%C3%A0&lang=it").json();
    assert_eq!(found["data"]["results"][0]["slug"], "cities");
}
