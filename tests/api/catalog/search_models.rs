//! Search with models, over a real socket: tiny models with random numbers show that each stage serves and what is kept.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::harness::{Site, city_columns};

const MANIFEST: &str = "slug = \"SLUG\"\nlicense = \"CC0-1.0\"\ntags = [\"air\"]\n\
                        [title]\nen = \"Air quality in SLUG\"\n[description]\nen = \"Hourly measurements\"\n";

fn model(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name).to_str().unwrap().to_owned()
}

fn publish(site: &Site, slug: &str) {
    site.publish(slug, &MANIFEST.replace("SLUG", slug), "1.0.0", &city_columns(3));
}

/// Asks until `done` says so; a minute only guards against hanging.
fn wait_for<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn gauge(site: &Site, name: &str) -> u64 {
    let gauges = site.running().app().search.neural().gauges();
    gauges.iter().find(|(present, _, _)| *present == name).unwrap().2
}

fn ranking(site: &Site) -> Option<String> {
    let answer = site.get("/api/v1/datasets/search?q=clean%20streets");
    (answer.status == 200).then(|| answer.json()["data"]["ranking"].as_str().unwrap().to_owned())
}

#[test]
fn adds_each_model_to_ranking() {
    let (embedding, cross) = (model("tiny-xlmr-embedding"), model("tiny-bert-cross"));
    let with_vectors = Site::empty(&["--requests-per-minute", "0", "--embedding-model", &embedding]);
    publish(&with_vectors, "rome");
    publish(&with_vectors, "milan");
    wait_for(|| (gauge(&with_vectors, "mercato_search_vectors") == 2).then_some(()));
    wait_for(|| (ranking(&with_vectors)? == "embedding").then_some(()));
    let with_both = Site::empty(&[
        "--requests-per-minute",
        "0",
        "--embedding-model",
        &embedding,
        "--cross-encoder",
        &cross,
    ]);
    publish(&with_both, "rome");
    wait_for(|| (gauge(&with_both, "mercato_search_vectors") == 1).then_some(()));
    wait_for(|| (ranking(&with_both)? == "cross-encoder").then_some(()));
}

#[test]
fn keeps_vectors_after_restart_and_follows_catalog() {
    let embedding = model("tiny-bert-embedding");
    let flags = ["--requests-per-minute", "0", "--embedding-model", embedding.as_str()];
    let folder = tempfile::tempdir().unwrap();
    let site = Site::at(folder.path(), &flags);
    publish(&site, "rome");
    publish(&site, "milan");
    wait_for(|| (gauge(&site, "mercato_search_vectors") == 2).then_some(()));
    assert_eq!(gauge(&site, "mercato_search_vectors_made"), 2);
    drop(site);
    let site = Site::at(folder.path(), &flags);
    wait_for(|| (gauge(&site, "mercato_search_vectors") == 2).then_some(()));
    assert_eq!(gauge(&site, "mercato_search_vectors_made"), 0);
    publish(&site, "turin");
    wait_for(|| (gauge(&site, "mercato_search_vectors") == 3).then_some(()));
    assert_eq!(gauge(&site, "mercato_search_vectors_made"), 1);
}
