//! The publication commands and the demo: the resulting catalog of the data directory.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli::{json, names, refused};
use crate::convert::files;

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
fn publishes_rolls_back_and_unpublishes() {
    let folder = workshop();
    let published = publish(folder.path(), "1.0.0");
    assert_eq!((&published["slug"], &published["rows"]), (&Value::from("small"), &Value::from(12)));
    assert_eq!(names(&folder.path().join("data/datasets/small/versions")), ["1.0.0.mcol", "1.0.0.parquet"]);
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
    let back = ["rollback", "small", "--to", "1.1.0", "--data", "data"];
    refused(folder.path(), &back, 1, &["unpublished", "mercato-tools republish small"]);
    let again = json(folder.path(), &["republish", "small", "--data", "data", "--json"]);
    assert_eq!((&again["published"], &again["currentVersion"]), (&Value::from(true), &Value::from("1.0.0")));
    assert_eq!(current(folder.path()), "1.0.0");
    json(folder.path(), &["unpublish", "small", "--data", "data", "--json"]);
    publish(folder.path(), "1.2.0");
    assert_eq!(current(folder.path()), "1.2.0");
}

#[test]
fn refused_publication_changes_nothing() {
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
    assert_eq!(names(&folder.path().join("data/datasets/small/versions")), ["1.0.0.mcol", "1.0.0.parquet"]);
    assert_eq!(current(folder.path()), "1.0.0");
}

#[test]
fn rejects_commands_on_unknown_datasets() {
    let folder = workshop();
    publish(folder.path(), "1.0.0");
    refused(folder.path(), &["feature", "other", "on", "--data", "data"], 1, &["other"]);
    refused(folder.path(), &["feature", "small", "maybe", "--data", "data"], 2, &["maybe"]);
    refused(folder.path(), &["unpublish", "other", "--data", "data"], 1, &["other"]);
    refused(folder.path(), &["republish", "other", "--data", "data"], 1, &["other"]);
    refused(folder.path(), &["rollback", "small", "--to", "3.0.0", "--data", "data"], 1, &["3.0.0", "1.0.0"]);
    refused(folder.path(), &["datasets", "show", "other", "--data", "data"], 1, &["other"]);
    refused(folder.path(), &["datasets", "show", "No Slug", "--data", "data"], 2, &[]);
    refused(folder.path(), &["datasets", "list", "--data", "absent"], 1, &["absent"]);
}

#[test]
fn demo_reuses_its_data() {
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

/// Publishes `small.parquet` with further arguments.
fn attempt<'a>(version: &'a str, further: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["publish", "small", "--parquet", "small.parquet", "--version", version, "--data", "data"];
    fixed.into_iter().chain(further.iter().copied()).collect()
}

#[test]
fn next_version_inherits_options() {
    let folder = workshop();
    let publish = |version: &str, further: &[&str]| {
        let published = json(folder.path(), &attempt(version, &[further, &["--json"]].concat()));
        let columns = published["conversion"]["columns"].as_array().unwrap().clone();
        let names: Vec<String> =
            columns.iter().map(|column| column["name"].as_str().unwrap().to_owned()).collect();
        (published["choices"].clone(), names)
    };
    let (first, names) = publish("1.0.0", &["--sort-index", "id,text", "--drop", "tags", "--drop", "box"]);
    assert_eq!((&first["sortIndex"], &first["takenFrom"]), (&"id,text".into(), &Value::Null));
    assert!(!names.contains(&"tags".to_owned()) && !names.contains(&"box.x".to_owned()), "{names:?}");
    let (next, same) = publish("1.1.0", &[]);
    assert_eq!((&next["sortIndex"], &next["takenFrom"]), (&"id,text".into(), &"1.0.0".into()), "{next}");
    assert_eq!((&next["drop"], same), (&serde_json::json!(["tags", "box"]), names));
    let inspected = json(folder.path(), &["inspect", "data/datasets/small/versions/1.1.0.mcol", "--json"]);
    let sorted = |name: &str| {
        let columns = inspected["columns"].as_array().unwrap();
        columns.iter().find(|column| column["name"] == name).unwrap().to_string()
    };
    assert!(sorted("amount").contains("\"none\""), "{}", sorted("amount"));
    let (typed, names) = publish("1.2.0", &["--sort-index", "all", "--no-drop"]);
    assert_eq!((&typed["sortIndex"], &typed["drop"]), (&"all".into(), &serde_json::json!([])));
    assert!(names.contains(&"tags".to_owned()), "{names:?}");
    let (last, _) = publish("1.3.0", &[]);
    assert_eq!((&last["sortIndex"], &last["takenFrom"]), (&"all".into(), &"1.2.0".into()));
}

#[test]
fn skips_and_reports_inherited_names_without_column() {
    let folder = workshop();
    json(folder.path(), &attempt("1.0.0", &["--sort-index", "id", "--drop", "tags", "--json"]));
    let ids: arrow_array::ArrayRef = std::sync::Arc::new(arrow_array::Int64Array::from(vec![1, 2]));
    files::write(&folder.path().join("small.parquet"), vec![("key", ids)], Default::default());
    fs::write(folder.path().join("small/dataset.toml"), "slug = \"small\"\n").unwrap();
    fs::write(folder.path().join("small/changelog.md"), "## 2.0.0\nOnly the key is left.\n").unwrap();
    let published = json(folder.path(), &attempt("2.0.0", &["--json"]));
    assert_eq!(published["choices"]["absent"], serde_json::json!(["id", "tags"]), "{published}");
    refused(folder.path(), &attempt("2.1.0", &["--drop", "tags"]), 2, &["tags"]);
}

#[test]
fn breaking_version_needs_major_number_and_changelog() {
    let folder = workshop();
    publish(folder.path(), "1.0.0");
    let gone = ["`amount` (decimal of scale 2) is gone", "2.0.0", "--allow-breaking"];
    for version in ["1.0.1", "1.1.0", "1.1.0-rc.1"] {
        refused(folder.path(), &attempt(version, &["--drop", "amount"]), 1, &gone);
    }
    let asked = ["changelog.md", "## [2.0.0]"];
    refused(folder.path(), &attempt("2.0.0", &["--drop", "amount"]), 1, &asked);
    refused(
        folder.path(),
        &attempt("1.1.0", &["--drop", "amount", "--allow-breaking"]),
        1,
        &["changelog.md", "## [1.1.0]"],
    );
    assert_eq!(names(&folder.path().join("data/datasets/small/versions")), ["1.0.0.mcol", "1.0.0.parquet"]);
    let changelog = folder.path().join("small/changelog.md");
    fs::write(&changelog, "# Changes\n\n## [2.0.0] - 2026-01-31\n\n").unwrap();
    refused(folder.path(), &attempt("2.0.0", &["--drop", "amount"]), 1, &asked);
    fs::write(&changelog, "# Changes\n\n## [2.0.0] - 2026-01-31\n\n- `amount` is gone.\n").unwrap();
    let published = json(folder.path(), &attempt("2.0.0", &["--drop", "amount", "--json"]));
    let breach = serde_json::json!([{ "column": "amount", "from": "decimal of scale 2", "to": null }]);
    assert_eq!(published["breaking"], breach);
    let again = json(folder.path(), &attempt("2.1.0", &["--no-drop", "--json"]));
    assert_eq!(again["breaking"], serde_json::json!([]), "a new column breaks nothing");
    refused(folder.path(), &attempt("1.5.0", &[]), 1, &["1.5.0", "2.1.0"]);
}

#[test]
fn dataset_list_warns_of_replaced_version() {
    let folder = workshop();
    publish(folder.path(), "1.0.0");
    publish(folder.path(), "1.1.0");
    let newest = folder.path().join("data/datasets/small/versions/1.1.0.mcol");
    let bytes = fs::read(&newest).unwrap();
    fs::remove_file(&newest).unwrap();
    fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
    let listing = json(folder.path(), &["datasets", "list", "--data", "data", "--json"]);
    assert_eq!(listing["datasets"][0]["currentVersion"], "1.0.0");
    let warning = &listing["warnings"][0];
    assert!(warning["reason"].as_str().unwrap().contains("1.1.0"), "{listing}");
    assert_eq!(warning["slug"], "small");
}
