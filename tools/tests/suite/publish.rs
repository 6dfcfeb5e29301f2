//! Publishing from the command line, and the demo: what the data directory offers afterwards.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli::{json, names, refused};
use crate::files;

const MANIFEST: &str =
    "slug = \"small\"\nlicense = \"CC0-1.0\"\n[title]\nen = \"Small\"\n[columns.id]\ndescription = \"Key\"\n";

fn workshop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    let dataset = folder.path().join("small");
    fs::create_dir(&dataset).unwrap();
    fs::write(dataset.join("dataset.toml"), MANIFEST).unwrap();
    fs::write(dataset.join("methodology.md"), "# How\n").unwrap();
    folder
}

fn publish(folder: &Path, version: &str) -> Value {
    json(
        folder,
        &["publish", "small", "--parquet", "small.parquet", "--version", version, "--data", "data", "--json"],
    )
}

fn current(folder: &Path) -> Value {
    let listing = json(folder, &["datasets", "list", "--data", "data", "--json"]);
    listing["datasets"]
        .as_array()
        .unwrap()
        .first()
        .map_or(Value::Null, |dataset| dataset["currentVersion"].clone())
}

#[test]
fn versions_are_published_taken_back_and_taken_down() {
    let folder = workshop();
    let published = publish(folder.path(), "1.0.0");
    assert_eq!((&published["slug"], &published["rows"]), (&Value::from("small"), &Value::from(12)));
    assert_eq!(names(&folder.path().join("data/datasets/small/versions")), ["1.0.0.mcol"]);
    publish(folder.path(), "1.1.0");
    assert_eq!(current(folder.path()), "1.1.0");
    json(folder.path(), &["rollback", "small", "--to", "1.0.0", "--data", "data", "--json"]);
    assert_eq!(current(folder.path()), "1.0.0");
    let shown = json(folder.path(), &["datasets", "show", "small", "--data", "data", "--json"]);
    assert_eq!(
        (&shown["versions"][0], &shown["columns"][0]["description"]),
        (&Value::from("1.1.0"), &Value::from("Key"))
    );
    let featured = |state| json(folder.path(), &["feature", "small", state, "--data", "data", "--json"]);
    let shown =
        || json(folder.path(), &["datasets", "list", "--data", "data", "--json"])["datasets"][0].clone();
    assert_eq!((&featured("on")["featured"], &shown()["featured"]), (&Value::from(true), &Value::from(true)));
    featured("auto");
    assert_eq!(shown()["featured"], false);
    json(folder.path(), &["unpublish", "small", "--data", "data", "--json"]);
    assert_eq!(current(folder.path()), Value::Null);
    publish(folder.path(), "1.2.0");
    assert_eq!(current(folder.path()), "1.2.0");
}

#[test]
fn a_refused_publication_changes_nothing() {
    let folder = workshop();
    publish(folder.path(), "1.0.0");
    let command =
        |parquet, version| ["publish", "small", "--parquet", parquet, "--version", version, "--data", "data"];
    refused(folder.path(), &command("small.parquet", "1.0.0"), 1, &["small", "1.0.0", "already"]);
    refused(folder.path(), &command("small.parquet", "0.9.0"), 1, &["1.0.0"]);
    refused(folder.path(), &command("small.parquet", "one"), 2, &["--version"]);
    fs::write(folder.path().join("bad.parquet"), "this is no Parquet file").unwrap();
    refused(folder.path(), &command("bad.parquet", "2.0.0"), 1, &["bad.parquet", "footer"]);
    fs::write(folder.path().join("small/dataset.toml"), "slug = \"Not A Slug\"\n").unwrap();
    refused(folder.path(), &command("small.parquet", "2.0.0"), 1, &["dataset.toml"]);
    assert_eq!(names(&folder.path().join("data/datasets/small/versions")), ["1.0.0.mcol"]);
    assert_eq!(current(folder.path()), "1.0.0");
}

#[test]
fn what_is_not_published_cannot_be_changed_or_shown() {
    let folder = workshop();
    publish(folder.path(), "1.0.0");
    refused(folder.path(), &["feature", "other", "on", "--data", "data"], 1, &["other"]);
    refused(folder.path(), &["feature", "small", "maybe", "--data", "data"], 2, &["maybe"]);
    refused(folder.path(), &["unpublish", "other", "--data", "data"], 1, &["other"]);
    refused(folder.path(), &["rollback", "small", "--to", "3.0.0", "--data", "data"], 1, &["3.0.0", "1.0.0"]);
    refused(folder.path(), &["datasets", "show", "other", "--data", "data"], 1, &["other"]);
    refused(folder.path(), &["datasets", "show", "No Slug", "--data", "data"], 2, &[]);
    refused(folder.path(), &["datasets", "list", "--data", "absent"], 1, &["absent"]);
}

#[test]
fn the_demo_is_made_once_and_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let demo = |scale| ["demo", "--data", "demo", "--scale", scale, "--no-serve", "--json"];
    let first = json(folder.path(), &demo("0.001"));
    let datasets = first["datasets"].as_array().unwrap();
    assert_eq!(datasets.len(), 24);
    assert!(datasets.iter().all(|dataset| dataset["new"] == true && dataset["rows"].as_u64().unwrap() > 0));
    assert!(first["key"].as_str().unwrap().starts_with("mk_"));
    let second = json(folder.path(), &demo("0.001"));
    assert_eq!((&second["key"], &second["account"]), (&first["key"], &first["account"]));
    assert!(second["datasets"].as_array().unwrap().iter().all(|dataset| dataset["new"] == false));
    refused(folder.path(), &demo("0.002"), 1, &["scale", "0.001", "0.002"]);
    let listing = json(folder.path(), &["datasets", "list", "--data", "demo", "--json"]);
    assert_eq!(listing["datasets"].as_array().unwrap().len(), 24);
    let relations = json(folder.path(), &["relation", "list", "--data", "demo", "--json"]);
    assert_eq!(relations["total"], 30);
    assert_eq!(listing["datasets"][0]["featured"], true);
}
