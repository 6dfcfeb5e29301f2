//! Search over the catalog.

use mercato_format::writer::Column;
use serde_json::Value;

use crate::harness::{Ask, Site, city_columns, publish_files, wait_until};

fn manifest(slug: &str, en: &str, it: &str, description: &str, tags: &str) -> String {
    format!(
        "slug = \"{slug}\"\ntags = [{tags}]\n[title]\nen = \"{en}\"\nit = \"{it}\"\n[description]\nen = \"{description}\"\n"
    )
}

/// Four datasets on different topics.
fn site() -> Site {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    let datasets = [
        (
            "hospital-beds",
            "Hospital beds",
            "Posti letto ospedalieri",
            "Beds by ward and region.",
            "\"health\"",
        ),
        ("air-quality", "Air quality", "Qualità dell'aria", "Nitrogen dioxide and fine dust by station.", ""),
        ("bus-stops", "Bus stops", "Fermate degli autobus", "Stops of the city lines.", "\"mobility\""),
        (
            "house-prices",
            "House prices",
            "Prezzi delle case",
            "Sale prices of homes by district.",
            "\"housing\"",
        ),
    ];
    for (slug, en, it, description, tags) in datasets {
        site.publish(slug, &manifest(slug, en, it, description, tags), "1.0.0", &city_columns(2));
    }
    // While a new index is made, answers come from the one before, so the last dataset comes later.
    let last = |result: &Value| result["slug"] == "house-prices";
    wait_until("the last dataset is found", || results(&site, "q=house-prices").first().is_some_and(last));
    site
}

fn results(site: &Site, query: &str) -> Vec<Value> {
    let answer = site.get(&format!("/api/v1/datasets/search?{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()["data"]["results"].as_array().unwrap().clone()
}

#[track_caller]
fn check_first(site: &Site, query: &str, slug: &str) {
    let results = results(site, query);
    assert_eq!(results.first().map(|result| &result["slug"]), Some(&slug.into()), "{query}");
}

#[test]
fn finds_datasets_by_words_meaning_language_and_typos() {
    let site = site();
    check_first(&site, "q=hospital", "hospital-beds");
    check_first(&site, "q=clinics", "hospital-beds");
    check_first(&site, "q=ospedali", "hospital-beds");
    check_first(&site, "q=hosptial%20bed", "hospital-beds");
    check_first(&site, "q=NO2", "air-quality");
    check_first(&site, "q=smog+in+citt%C3%A0&lang=it", "air-quality");
    check_first(&site, "q=public+transport", "bus-stops");
    check_first(&site, "q=quanto+costa+un+appartamento", "house-prices");
    assert!(results(&site, "q=xyzzyqq").is_empty());
    assert!(results(&site, "q=%3F%21").is_empty());
}

#[test]
fn ranks_exact_slug_or_title_first() {
    let site = site();
    for (query, slug) in [
        ("q=bus-stops", "bus-stops"),
        ("q=BUS%20STOPS", "bus-stops"),
        ("q=fermate+degli+autobus", "bus-stops"),
        ("q=air+quality&lang=it", "air-quality"),
        ("q=qualita+dell%27aria", "air-quality"),
    ] {
        let results = results(&site, query);
        assert_eq!((&results[0]["slug"], &results[0]["score"]), (&slug.into(), &1.0.into()), "{query}");
    }
}

#[test]
fn returns_search_fields_of_contract() {
    let site = site();
    let json = site.get("/api/v1/datasets/search?q=%20beds%20in%20a%20ward%20").json();
    let data = &json["data"];
    assert_eq!(
        (&data["query"], &data["lang"], &data["ranking"], &data["total"]),
        (&"beds in a ward".into(), &"en".into(), &"lexical".into(), &1.into())
    );
    let result = &data["results"][0];
    let mut names: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "currentVersion",
            "description",
            "featured",
            "fileSize",
            "license",
            "matchedOn",
            "rank",
            "rowCount",
            "score",
            "slug",
            "snippet",
            "tags",
            "title",
            "updatedAt"
        ]
    );
    assert_eq!((&result["rank"], &result["snippet"]), (&1.into(), &"Beds by ward and region.".into()));
    assert_eq!(result["matchedOn"], serde_json::json!(["title", "tags", "description", "slug"]));
}

#[test]
fn keeps_scores_between_0_and_1_falling_with_rank() {
    let site = site();
    let results = results(&site, "q=prices+or+stops+or+hospitals&limit=50");
    assert!(results.len() >= 3, "{results:?}");
    for (place, pair) in results.windows(2).enumerate() {
        assert_eq!(pair[0]["rank"], place + 1);
        assert!(pair[0]["score"].as_f64().unwrap() >= pair[1]["score"].as_f64().unwrap());
    }
    for result in &results {
        let score = result["score"].as_f64().unwrap();
        assert!(score > 0.0 && score <= 1.0, "{score}");
        assert!(!result["matchedOn"].as_array().unwrap().is_empty());
    }
}

#[test]
fn selects_titles_by_parameter_and_detects_question_language() {
    let site = site();
    let answer = |query: &str| site.get(&format!("/api/v1/datasets/search?{query}")).json()["data"].clone();
    let italian = answer("q=autobus&lang=it");
    assert_eq!(
        (&italian["lang"], &italian["results"][0]["title"]),
        (&"it".into(), &"Fermate degli autobus".into())
    );
    let english = answer("q=autobus&lang=en");
    assert_eq!((&english["lang"], &english["results"][0]["title"]), (&"en".into(), &"Bus stops".into()));
    let neither = answer("q=le+fermate+degli+autobus");
    assert_eq!((&neither["lang"], &neither["results"][0]["title"]), (&"it".into(), &"Bus stops".into()));
    assert!(answer("q=NO2")["lang"].is_null());
}

/// Query and what it is refused for, as pointer and reason.
const REFUSED: &[(&str, &[(&str, &str)])] = &[
    ("", &[("q", "MISSING")]),
    ("q=", &[("q", "OUT_OF_RANGE")]),
    ("q=a", &[("q", "OUT_OF_RANGE")]),
    ("q=%C3%A8", &[("q", "OUT_OF_RANGE")]),
    ("q=%20%20%20", &[("q", "OUT_OF_RANGE")]),
    ("q=+a+", &[("q", "OUT_OF_RANGE")]),
    ("q=%00ab", &[("q", "CONTROL_CHARACTER")]),
    ("q=ab%0Acd", &[("q", "CONTROL_CHARACTER")]),
    ("q=ab%09cd", &[("q", "CONTROL_CHARACTER")]),
    ("q=ab%C2%85cd", &[("q", "CONTROL_CHARACTER")]),
    ("q=bus&q=stop", &[("q", "DUPLICATE_PARAMETER")]),
    ("q=bus&limit=0", &[("limit", "OUT_OF_RANGE")]),
    ("q=bus&limit=51", &[("limit", "OUT_OF_RANGE")]),
    ("q=bus&limit=-1", &[("limit", "NOT_AN_INTEGER")]),
    ("q=bus&limit=1.0", &[("limit", "NOT_AN_INTEGER")]),
    ("q=bus&limit=", &[("limit", "NOT_AN_INTEGER")]),
    ("q=bus&lang=de", &[("lang", "UNKNOWN_VALUE")]),
    ("q=bus&lang=IT", &[("lang", "UNKNOWN_VALUE")]),
    ("q=bus&lang=", &[("lang", "UNKNOWN_VALUE")]),
    ("q=bus&offset=500", &[("offset", "OUT_OF_RANGE")]),
    ("q=bus&offset=-1", &[("offset", "NOT_AN_INTEGER")]),
    ("q=bus&offset=1&offset=2", &[("offset", "DUPLICATE_PARAMETER")]),
    ("q=bus&Q=bus", &[("Q", "UNKNOWN_PARAMETER")]),
    (
        "q=a&limit=0&lang=x&y=1",
        &[
            ("q", "OUT_OF_RANGE"),
            ("limit", "OUT_OF_RANGE"),
            ("lang", "UNKNOWN_VALUE"),
            ("y", "UNKNOWN_PARAMETER"),
        ],
    ),
    ("q=%ff%fe", &[("", "TARGET_INVALID")]),
    ("q=ab%2", &[("", "TARGET_INVALID")]),
    ("q=ab%zz", &[("", "TARGET_INVALID")]),
];

#[test]
fn reports_all_parameters_out_of_range() {
    let site = Site::with_cities();
    for (query, expected) in REFUSED {
        let answer = site.get(&format!("/api/v1/datasets/search?{query}"));
        let json = answer.json();
        assert_eq!((answer.status, &json["error"]["code"]), (400, &"BAD_REQUEST".into()), "{query}");
        let faults = json["error"]["details"]["errors"].as_array().unwrap();
        let found: Vec<(&str, &str)> = faults
            .iter()
            .map(|fault| (fault["pointer"].as_str().unwrap(), fault["reason"].as_str().unwrap()))
            .collect();
        assert_eq!(&found, expected, "{query}");
    }
}

#[test]
fn accepts_parameters_in_range_however_encoded() {
    let site = Site::with_cities();
    let long_ascii = "a".repeat(200);
    let long_accented = "%C3%A0".repeat(200);
    let long_outside_the_plane = "%F0%9F%9A%8C".repeat(200);
    for query in [
        "q=ab",
        "q=%61%62",
        "q=%C3%A0%C3%A8",
        "q=%F0%9F%9A%8C%F0%9F%9A%8C",
        "q=ab&limit=1",
        "q=ab&limit=50",
        "q=ab&limit=007",
        "q=ab&lang=it",
        "q=ab&lang=en",
        "%71=ab",
        "q=a%26b%3Dc",
        "q=a%2Bb%25",
        "&q=ab&&",
        &format!("q={long_ascii}"),
        &format!("q=+{long_ascii}+"),
        &format!("q={long_accented}"),
        &format!("q={long_outside_the_plane}"),
    ] {
        let answer = site.get(&format!("/api/v1/datasets/search?{query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    }
    for too_long in
        [format!("{long_ascii}a"), format!("{long_accented}a"), format!("{long_outside_the_plane}a")]
    {
        let refusal = site.get(&format!("/api/v1/datasets/search?q={too_long}")).refusal();
        assert_eq!(refusal, (400, "BAD_REQUEST".into(), "OUT_OF_RANGE".into()));
    }
}

#[test]
fn limits_results_and_not_total() {
    let site = site();
    let all = site.get("/api/v1/datasets/search?q=prices+stops+hospitals").json();
    let one = site.get("/api/v1/datasets/search?q=prices+stops+hospitals&limit=1").json();
    assert_eq!(one["data"]["total"], all["data"]["total"]);
    assert_eq!(one["data"]["results"].as_array().unwrap().len(), 1);
    assert_eq!(one["data"]["results"][0], all["data"]["results"][0]);
}

#[test]
fn pages_through_results_with_continuous_ranks() {
    let site = site();
    let question = "prices%20stops%20hospitals";
    let all = results(&site, &format!("q={question}"));
    assert!(all.len() >= 3, "{all:?}");
    for (place, expected) in all.iter().enumerate() {
        let answer =
            site.get(&format!("/api/v1/datasets/search?q={question}&limit=1&offset={place}&lang=en"));
        let data = answer.json()["data"].clone();
        let found = data["results"].as_array().unwrap();
        assert_eq!((found.len(), &found[0]["slug"]), (1, &expected["slug"]), "{place}");
        assert_eq!((&found[0]["rank"], &data["offset"]), (&(place + 1).into(), &place.into()));
        let is_last = place + 1 == all.len();
        let next = if is_last { Value::Null } else { (place + 1).into() };
        assert_eq!((&data["nextOffset"], &data["total"]), (&next, &all.len().into()), "{place}");
        let link = answer.header("Link").unwrap();
        let kept = format!("&q={question}&lang=en>; rel=\"next\"");
        assert_eq!(link.contains(&kept), !is_last, "{link}");
    }
    assert!(results(&site, &format!("q={question}&offset=499")).is_empty());
}

#[test]
fn filters_results_by_all_tags() {
    let site = site();
    let data = |query: &str| site.get(&format!("/api/v1/datasets/search?{query}")).json()["data"].clone();
    let question = "q=prices+stops+hospitals";
    let tagged = data(&format!("{question}&tag=health"));
    assert_eq!((&tagged["total"], &tagged["results"][0]["slug"]), (&1.into(), &"hospital-beds".into()));
    assert_eq!(data(&format!("{question}&tag=health&tag=mobility"))["total"], 0);
    assert_eq!(data("q=hospital-beds&tag=mobility")["total"], 0, "not even by its name");
    assert_eq!(data(&format!("{question}&tag=Health"))["total"], 0, "as on the list");
}

#[test]
fn selects_snippet_by_language() {
    let site = Site::empty(&[]);
    let text = "slug = \"beds\"\n[title]\nen = \"Hospital beds\"\nit = \"Posti letto\"\n[description]\nen = \"Beds of all hospitals.\"\nit = \"Letti di tutti gli ospedali.\"\n";
    site.publish("beds", text, "1.0.0", &city_columns(2));
    wait_until("the dataset is found", || !results(&site, "q=beds").is_empty());
    let snippet = |query: &str| results(&site, query)[0]["snippet"].as_str().unwrap().to_owned();
    assert_eq!(snippet("q=i+letti+degli+ospedali"), "Letti di tutti gli ospedali.");
    assert_eq!(snippet("q=the+beds+of+hospitals"), "Beds of all hospitals.");
    assert_eq!(snippet("q=the+beds+of+hospitals&lang=it"), "Letti di tutti gli ospedali.");
}

#[test]
fn ignores_common_words_of_methodology() {
    let site = Site::empty(&[]);
    let titles = ["Hospital beds", "Bus stops", "House prices", "School meals", "Climate"];
    for (slug, title) in ["a", "b", "c", "d", "climate"].iter().zip(titles) {
        let methodology = [("methodology.md", "A change of method is told in a climate of trust.")];
        let text = manifest(slug, title, title, "What it is.", "");
        publish_files(&site.data(), &text, "1.0.0", &city_columns(2), &methodology);
    }
    for title in titles {
        let query = format!("q={}", title.replace(' ', "+"));
        let is_first = || results(&site, &query).first().is_some_and(|first| first["title"] == title);
        wait_until("all are found", is_first);
    }
    let answer = site.get("/api/v1/datasets/search?q=climate+change").json()["data"].clone();
    assert_eq!((&answer["total"], &answer["results"][0]["slug"]), (&1.into(), &"climate".into()), "{answer}");
    assert_eq!(site.get("/api/v1/datasets/search?q=change").json()["data"]["total"], 0);
}

#[test]
fn sends_validators_and_head_without_body() {
    let site = site();
    let target = "/api/v1/datasets/search?q=bus";
    let answer = site.get(target);
    let tag = answer.header("ETag").unwrap().to_owned();
    assert_eq!(answer.header("Cache-Control"), Some("public, no-cache"));
    assert!(answer.header("Last-Modified").is_some());
    let again = site.send(&Ask::get(target).header("If-None-Match", &tag));
    assert_eq!((again.status, again.body.len()), (304, 0));
    let head = site.send(&Ask::new("HEAD", target));
    assert_eq!((head.status, head.body.len(), head.header("ETag")), (200, 0, Some(tag.as_str())));
    let posted = site.send(&Ask::post(target, "{}"));
    assert_eq!((posted.status, posted.header("Allow")), (405, Some("GET, HEAD, OPTIONS")));
}

#[test]
fn finds_published_and_forgets_unpublished_datasets() {
    let site = site();
    let columns: Vec<Column> = city_columns(2);
    for round in 0..3 {
        let slug = format!("glacier-{round}");
        site.publish(
            &slug,
            &manifest(&slug, "Glacier fronts", "Ghiacciai", "Retreat.", ""),
            "1.0.0",
            &columns,
        );
        wait_until("the index follows the catalog", || {
            results(&site, "q=ghiacciai&limit=50").iter().any(|result| result["slug"] == slug.as_str())
        });
    }
    let slug = mercato_catalog::Slug::parse("glacier-0").unwrap();
    mercato_catalog::publish::unpublish(&site.data(), &slug).unwrap();
    wait_until("the dataset is taken down", || site.get("/api/v1/datasets/glacier-0").status == 404);
    let left = results(&site, "q=ghiacciai");
    assert_eq!(left.len(), 2, "{left:?}");
}
