//! The list of datasets and their headers.

mod metadata;
mod provenance;
mod relations;
mod search;
#[cfg(feature = "models")]
mod search_models;
mod stats;
mod versions;

use crate::harness::{MANIFEST, Site, city_columns};

fn site_with_three() -> Site {
    let site = Site::with_cities();
    for (slug, featured, tag) in [("rivers", "true", "water"), ("lakes", "false", "water")] {
        let manifest = format!(
            "slug = \"{slug}\"\nfeatured = {featured}\ntags = [\"{tag}\"]\n[title]\nen = \"The {slug}\"\n"
        );
        site.publish(slug, &manifest, "0.1.0", &city_columns(2));
    }
    site
}

fn slugs(json: &serde_json::Value) -> Vec<&str> {
    json["data"]["results"].as_array().unwrap().iter().map(|item| item["slug"].as_str().unwrap()).collect()
}

#[test]
fn lists_featured_then_newest_datasets() {
    let site = site_with_three();
    let json = site.get("/api/v1/datasets").json();
    assert_eq!(slugs(&json), ["rivers", "lakes", "cities"]);
    assert_eq!(json["data"]["total"], 3);
    assert_eq!((&json["data"]["limit"], &json["data"]["offset"]), (&20.into(), &0.into()));
    assert!(json["data"]["nextOffset"].is_null());
}

#[test]
fn returns_item_fields_of_contract() {
    let site = Site::with_cities();
    let json = site.get("/api/v1/datasets").json();
    let item = &json["data"]["results"][0];
    let mut names: Vec<_> = item.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "currentVersion",
            "description",
            "featured",
            "fileSize",
            "license",
            "rowCount",
            "slug",
            "tags",
            "title",
            "updatedAt"
        ]
    );
    assert_eq!(
        (&item["slug"], &item["title"], &item["license"]),
        (&"cities".into(), &"Cities".into(), &"CC-BY-4.0".into())
    );
    assert_eq!((&item["rowCount"], &item["currentVersion"]), (&6.into(), &"1.0.0".into()));
    let store = crate::harness::store_path(&site.data(), "cities", "1.0.0");
    assert_eq!(item["fileSize"], std::fs::metadata(store).unwrap().len());
    assert!(item["updatedAt"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
}

#[test]
fn pages_through_list() {
    let site = site_with_three();
    let answer = site.get("/api/v1/datasets?limit=2");
    let json = answer.json();
    assert_eq!(slugs(&json), ["rivers", "lakes"]);
    assert_eq!(json["data"]["nextOffset"], 2);
    assert_eq!(
        answer.header("Link"),
        Some(
            "</api/v1/datasets?limit=2&offset=0>; rel=\"first\", </api/v1/datasets?limit=2&offset=2>; rel=\"next\""
        )
    );
    let last = site.get("/api/v1/datasets?limit=2&offset=2").json();
    assert_eq!(slugs(&last), ["cities"]);
    assert!(last["data"]["nextOffset"].is_null());
    assert!(slugs(&site.get("/api/v1/datasets?offset=18446744073709551615").json()).is_empty());
}

#[test]
fn filters_list_by_tag() {
    let site = site_with_three();
    let json = site.get("/api/v1/datasets?tag=water&limit=1").json();
    assert_eq!((slugs(&json), &json["data"]["total"]), (vec!["rivers"], &2.into()));
    assert_eq!(site.get("/api/v1/datasets?tag=nothing").json()["data"]["total"], 0);
}

#[test]
fn combines_tags_and_license() {
    let site = site_with_three();
    let found = |parameters: &str| {
        let json = site.get(&format!("/api/v1/datasets?{parameters}")).json();
        slugs(&json).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("tag=geo&tag=towns"), ["cities"]);
    assert_eq!(found("tag=towns&tag=geo&tag=geo"), ["cities"]);
    assert!(found("tag=geo&tag=water").is_empty());
    assert_eq!(found("license=CC-BY-4.0"), ["cities"]);
    assert_eq!(found("license=cc-by-4.0&tag=geo"), ["cities"]);
    assert!(found("license=MIT").is_empty());
    assert_eq!(site.get("/api/v1/datasets?license=a&license=b").refusal().2, "DUPLICATE_PARAMETER");
}

#[test]
fn sorts_list_as_requested() {
    let site = Site::empty(&["--requests-per-minute", "0", "--requests-per-day", "0"]);
    for (slug, featured, english, italian, rows) in [
        ("one", "false", "banana", "zucchina", 2),
        ("two", "true", "Cherry", "albicocca", 9),
        ("three", "false", "apple", "Mela", 5),
    ] {
        let manifest = format!(
            "slug = \"{slug}\"\nfeatured = {featured}\n[title]\nen = \"{english}\"\nit = \"{italian}\"\n"
        );
        site.publish(slug, &manifest, "1.0.0", &city_columns(rows));
    }
    let found = |parameters: &str| {
        let json = site.get(&format!("/api/v1/datasets?{parameters}")).json();
        slugs(&json).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("sort=featured"), ["two", "three", "one"]);
    assert_eq!(found("sort=featured"), found(""));
    assert_eq!(found("sort=updated"), ["three", "two", "one"]);
    assert_eq!(found("sort=title"), ["three", "one", "two"]);
    assert_eq!(found("sort=title&lang=it"), ["two", "three", "one"]);
    assert_eq!(found("sort=rows"), ["two", "three", "one"]);
    let refused = site.get("/api/v1/datasets?sort=row").json();
    assert_eq!(refused["error"]["details"]["suggestion"], "rows");
    site.publish("one", "slug = \"one\"\n[title]\nen = \"Aardvark\"\n", "1.1.0", &city_columns(99));
    assert_eq!(found("sort=rows"), ["one", "two", "three"], "a publication changes the order");
    assert_eq!(found("sort=title"), ["one", "three", "two"]);
    let links = site.get("/api/v1/datasets?limit=1&sort=rows&tag=&license=x&lang=it");
    let kept = "limit=1&offset=0&tag=&license=x&sort=rows&lang=it>; rel=\"first\"";
    assert!(links.header("Link").unwrap().contains(kept), "{links:?}");
}

#[test]
fn points_question_on_list_to_search() {
    let site = Site::with_cities();
    let answer = site.get("/api/v1/datasets?q=cities&limit=0");
    let details = answer.json()["error"]["details"].clone();
    let fault = &details["errors"][1];
    assert_eq!((answer.status, &fault["pointer"]), (400, &"q".into()));
    assert!(fault["hint"].as_str().unwrap().contains("/api/v1/datasets/search?q="), "{details}");
}

#[test]
fn counts_tags_of_published_datasets() {
    let site = site_with_three();
    let answer = site.get("/api/v1/tags");
    let json = answer.json();
    let line = |tag: &str, count: u32| serde_json::json!({ "tag": tag, "count": count });
    assert_eq!(
        json["data"]["results"],
        serde_json::json!([line("water", 2), line("geo", 1), line("towns", 1)])
    );
    assert_eq!((&json["data"]["total"], &json["data"]["nextOffset"]), (&3.into(), &serde_json::Value::Null));
    let tag = answer.header("ETag").unwrap().to_owned();
    let again = crate::harness::Ask::get("/api/v1/tags").header("If-None-Match", &tag);
    assert_eq!(site.send(&again).status, 304);
    let page = site.get("/api/v1/tags?limit=1&offset=1");
    assert_eq!(page.json()["data"]["results"], serde_json::json!([line("geo", 1)]));
    assert!(page.header("Link").unwrap().contains("</api/v1/tags?limit=1&offset=2>; rel=\"next\""));
    for wrong in ["limit=0", "limit=1001", "lang=it"] {
        assert_eq!(site.get(&format!("/api/v1/tags?{wrong}")).status, 400, "{wrong}");
    }
    mercato_catalog::publish::unpublish(&site.data(), &mercato_catalog::Slug::parse("lakes").unwrap())
        .unwrap();
    crate::harness::wait_until("the count follows", || site.send(&again).status == 200);
    assert_eq!(site.get("/api/v1/tags").json()["data"]["results"][2], line("water", 1));
}

#[test]
fn selects_title_and_description_by_language() {
    let site = Site::with_cities();
    let title = |target: &str| site.get(target).json()["data"]["title"].as_str().unwrap().to_owned();
    assert_eq!(title("/api/v1/datasets/cities?lang=it"), "Città");
    assert_eq!(title("/api/v1/datasets/cities?lang=en"), "Cities");
    assert_eq!(title("/api/v1/datasets/cities"), "Cities");
    let json = site.get("/api/v1/datasets?lang=it").json();
    assert_eq!(json["data"]["results"][0]["title"], "Città");
    assert_eq!(json["data"]["results"][0]["description"], "Some cities");
}

#[test]
fn links_dataset_to_its_resources() {
    let site = Site::with_cities();
    site.publish("cities", MANIFEST, "1.1.0", &city_columns(7));
    let json = site.get("/api/v1/datasets/cities").json();
    let data = &json["data"];
    for (field, part) in [
        ("methodologyUrl", "methodology"),
        ("changelogUrl", "changelog"),
        ("schemaUrl", "schema"),
        ("sampleUrl", "sample"),
    ] {
        let target = data[field].as_str().unwrap();
        assert_eq!(target, format!("/api/v1/datasets/cities/{part}"));
        assert_eq!(site.get(target).status, 200);
    }
    assert_eq!(
        (&data["rowCount"], &data["creditsForDownload"], &data["columnCount"]),
        (&7.into(), &7.into(), &7.into())
    );
    assert_eq!(data["licenseUrl"], "https://creativecommons.org/licenses/by/4.0/");
    let versions: Vec<_> =
        data["versions"].as_array().unwrap().iter().map(|v| v["version"].as_str().unwrap()).collect();
    assert_eq!(versions, ["1.1.0", "1.0.0"]);
    let formats: Vec<_> =
        data["formats"].as_array().unwrap().iter().map(|f| f["format"].as_str().unwrap()).collect();
    assert_eq!(formats, ["csv", "json", "ndjson", "arrow", "xlsx"]);
}

#[test]
fn reports_all_invalid_parameters_together() {
    let site = Site::with_cities();
    let answer = site.get("/api/v1/datasets?limit=0&offset=-1&lang=de&tga=x");
    let json = answer.json();
    assert_eq!((answer.status, &json["error"]["code"]), (400, &"BAD_REQUEST".into()));
    let faults: Vec<_> = json["error"]["details"]["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| (fault["pointer"].as_str().unwrap(), fault["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(
        faults,
        [
            ("limit", "OUT_OF_RANGE"),
            ("offset", "NOT_AN_INTEGER"),
            ("lang", "UNKNOWN_VALUE"),
            ("tga", "UNKNOWN_PARAMETER")
        ]
    );
    assert_eq!(json["error"]["details"]["errors"][3]["suggestion"], "tag");
    assert!(json["error"]["details"]["hint"].is_string());
    assert_eq!(site.get("/api/v1/datasets?limit=101").status, 400);
    assert_eq!(site.get("/api/v1/datasets/cities?limit=1").refusal().2, "UNKNOWN_PARAMETER");
}

#[test]
fn distinguishes_invalid_from_unknown_slug() {
    let site = Site::with_cities();
    for slug in ["Cities", "a_b", "-a", "a-", &"a".repeat(65)] {
        assert_eq!(site.get(&format!("/api/v1/datasets/{slug}")).refusal().2, "SLUG_INVALID", "{slug}");
    }
    for part in ["", "/schema", "/sample", "/methodology", "/changelog"] {
        let answer = site.get(&format!("/api/v1/datasets/unknown{part}"));
        assert_eq!(answer.refusal(), (404, "NOT_FOUND".into(), "DATASET_NOT_FOUND".into()));
    }
}
