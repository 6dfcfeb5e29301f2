//! Versions whose store file is not on this machine: everything about them is shown but their rows.

use std::fs;

use mercato_catalog::{DataDirectory, Slug};
use mercato_format::Table;
use mercato_format::outline::inflate;

use crate::harness::{Ask, Site, city_columns, publish_files, store_path};

const BODY: &str = r#"{"limit": 3}"#;
const FLAGS: [&str; 4] = ["--requests-per-minute", "0", "--requests-per-day", "0"];

/// A site whose dataset `rivers` is an outline; the store file lies in the folder as `kept`.
fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDirectory::new(folder.path());
    publish_files(&data, "slug = \"rivers\"\n", "1.0.0", &city_columns(300), &[]);
    let path = store_path(&data, "rivers", "1.0.0");
    let outline = Table::open(&path).unwrap().outline().unwrap();
    fs::rename(&path, folder.path().join("kept")).unwrap();
    inflate(&outline, &path.with_extension("outline")).unwrap();
    Site::over(folder, &FLAGS)
}

#[test]
fn serves_no_row_of_outline_and_demands_its_file() {
    let site = site();
    let key = site.paying_key(1_000);
    let asks = || {
        [
            Ask::post("/api/v1/datasets/rivers/query", BODY),
            Ask::post("/api/v1/datasets/rivers/query", r#"{"filters": {"name": {"contains": "a"}}}"#),
            Ask::post("/api/v1/datasets/rivers/query/estimate", BODY),
            Ask::post("/api/v1/datasets/rivers/query/stream", BODY),
            Ask::get("/api/v1/datasets/rivers/download"),
            Ask::get("/api/v1/datasets/rivers/download?format=parquet"),
            Ask::get("/api/v1/datasets/rivers/sample"),
            Ask::get("/api/v1/datasets/rivers/stats"),
            Ask::get("/api/v1/datasets/rivers/schema"),
        ]
    };
    for ask in asks() {
        let answer = site.send(&ask.header("X-Api-Key", &key));
        let (status, code, reason) = answer.refusal();
        assert_eq!((status, code.as_str(), reason.as_str()), (503, "UNAVAILABLE", "DATASET_AWAY"));
        assert!(answer.header("Retry-After").unwrap().parse::<u32>().unwrap() > 0);
    }
    let header = site.get("/api/v1/datasets/rivers");
    assert_eq!((header.status, &header.json()["data"]["rowCount"]), (200, &300.into()), "{}", header.text());
    assert_eq!(site.get("/api/v1/datasets").json()["data"]["total"], 1);
    let catalog = &site.running().app().catalog;
    let demand = catalog.demands().try_recv().unwrap();
    assert_eq!((demand.slug.as_str(), demand.version.version.to_string().as_str()), ("rivers", "1.0.0"));
    assert!(catalog.demands().is_empty(), "one demand for many requests");
    assert_eq!(site.get("/readyz").json()["data"]["datasets"]["verifying"], 0);
    assert!(catalog.snapshot().quarantined().is_empty());

    let slug = Slug::parse("rivers").unwrap();
    let kept = site.data().root().join("kept");
    catalog.place_fetched(&slug, &demand.version.version, &kept).unwrap();
    catalog.reload(site.running().app().clock.now()).unwrap();
    for ask in asks() {
        let answer = site.send(&ask.header("X-Api-Key", &key));
        assert_ne!(answer.status, 503, "{}", answer.text());
    }
    assert_eq!(site.query("rivers", &key, BODY).json()["data"]["results"].as_array().map(Vec::len), Some(3));
}

#[test]
fn says_on_pages_that_data_are_fetched() {
    let site = site();
    let page = |path: &str| site.send(&Ask::get(path).header("Accept", "text/html"));
    let overview = page("/datasets/rivers");
    assert_eq!(overview.status, 200);
    assert!(overview.text().contains("are not on this server yet"), "{}", overview.text());
    let columns = page("/datasets/rivers/columns");
    assert_eq!(columns.status, 503);
    assert!(columns.text().contains("being copied to this server"), "{}", columns.text());
}
