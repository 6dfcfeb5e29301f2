//! `diff`: columns and rows that changed, as text, JSON and Markdown, and keys that do not serve.

use super::put;
use crate::cli::{json, refused, run};

fn two_versions() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        "a.csv",
        "id,k,price,name,gone\n1,x,1.50,a,1\n2,x,2.50,b,1\n3,y,3.50,,1\n4,y,4.50,d,1\n",
    );
    put(
        folder.path(),
        "b.csv",
        "name,id,k,price,more\nd,4,y,4.75,t\n,3,y,3.50,t\nB,2,x,2.50,t\nz,9,x,9.50,t\n",
    );
    for name in ["a", "b"] {
        let input = format!("{name}.csv");
        assert!(run(folder.path(), &["convert", &input]).status.success());
    }
    folder
}

#[test]
fn tells_changed_columns_and_rows() {
    let folder = two_versions();
    let found = json(folder.path(), &["diff", "a.mcol", "b.mcol", "--key", "id", "--json"]);
    assert_eq!(found["identical"], false);
    assert_eq!(found["addedColumns"], serde_json::json!([{"name": "more", "type": "string"}]));
    assert_eq!(found["removedColumns"], serde_json::json!([{"name": "gone", "type": "integer"}]));
    let rows = &found["rows"];
    let counts = ["added", "removed", "changed", "unchanged"].map(|name| rows[name].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 2, 1]);
    assert_eq!(rows["addedExamples"], serde_json::json!([[9]]));
    assert_eq!(rows["removedExamples"], serde_json::json!([[1]]));
    assert_eq!(
        rows["columns"],
        serde_json::json!([{"column": "price", "rows": 1}, {"column": "name", "rows": 1}])
    );
    let changed = &rows["changedExamples"];
    assert_eq!(
        changed[0],
        serde_json::json!({"key": [2], "cells": [{"column": "name", "from": "b", "to": "B"}]})
    );
    assert_eq!(changed[1]["cells"][0], serde_json::json!({"column": "price", "from": 4.5, "to": 4.75}));
    let by_two = json(folder.path(), &["diff", "a.mcol", "b.mcol", "--key", "k,id", "--json"]);
    assert_eq!((&by_two["rows"]["added"], &by_two["rows"]["changed"]), (&1.into(), &2.into()));
}

#[test]
fn prints_text_and_draft_of_changelog() {
    let folder = two_versions();
    let text = |arguments: &[&str]| String::from_utf8(run(folder.path(), arguments).stdout).unwrap();
    let plain = text(&["diff", "a.mcol", "b.mcol", "--key", "id"]);
    for line in [
        "+ column more (string)",
        "- column gone (integer)",
        "1 added, 1 removed, 2 changed, 1 unchanged",
        "~ 2: name \"b\" → \"B\"",
    ] {
        assert!(plain.contains(line), "{plain}");
    }
    let draft = text(&["diff", "a.mcol", "b.mcol", "--key", "id", "--markdown"]);
    assert!(
        draft.starts_with("## [NEXT] - 20") && draft.contains("- New column `more` (string)."),
        "{draft}"
    );
    assert!(draft.contains("- 1 rows added, 1 removed, 2 changed (by `id`); 4 rows now."), "{draft}");
    let same = text(&["diff", "a.mcol", "a.mcol"]);
    assert!(same.contains("no change"), "{same}");
}

#[test]
fn keys_that_do_not_serve_are_refused() {
    let folder = two_versions();
    refused(
        folder.path(),
        &["diff", "a.mcol", "b.mcol", "--key", "k"],
        1,
        &["a.mcol", "`k`", "no two rows share", "--key"],
    );
    refused(folder.path(), &["diff", "a.mcol", "b.mcol", "--key", "gone"], 2, &["b.mcol", "no such column"]);
    assert!(
        run(folder.path(), &["convert", "a.csv", "-o", "c.mcol", "--sort-index", "name"]).status.success()
    );
    refused(
        folder.path(),
        &["diff", "c.mcol", "b.mcol", "--key", "id"],
        1,
        &["c.mcol", "sort index", "--sort-index"],
    );
    assert!(
        run(folder.path(), &["convert", "a.csv", "-o", "d.mcol", "--type", "id=string"]).status.success()
    );
    refused(folder.path(), &["diff", "a.mcol", "d.mcol", "--key", "id"], 1, &["d.mcol", "integer", "string"]);
}

#[test]
fn versions_of_data_directory_are_compared() {
    let folder = two_versions();
    put(folder.path(), "s/dataset.toml", "slug = \"s\"\n");
    for (version, input, further) in [("1.0.0", "a.csv", None), ("1.1.0", "a.csv", Some("--append"))] {
        let fixed = ["publish", "s", "--parquet", input, "--version", version, "--data", "data"];
        let arguments: Vec<&str> = fixed.into_iter().chain(further).collect();
        assert!(run(folder.path(), &arguments).status.success());
    }
    let found = json(folder.path(), &["diff", "s@1.0.0", "s@1.1.0", "--data", "data", "--json"]);
    assert_eq!((&found["before"]["rows"], &found["after"]["rows"]), (&4.into(), &8.into()));
    let draft = run(folder.path(), &["diff", "s@1.0.0", "s@1.1.0", "--data", "data", "--markdown"]).stdout;
    assert!(String::from_utf8(draft).unwrap().starts_with("## [1.1.0] - "));
    refused(folder.path(), &["diff", "s@1.0.0", "s@9.0.0", "--data", "data"], 1, &["9.0.0"]);
}
