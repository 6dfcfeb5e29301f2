//! The books over the command line: the same answers whether a server has them open or not.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mercato::clock::SystemClock;
use mercato::config::{Settings, TypedFlags};
use mercato::serving::{self, Running};
use serde_json::Value;

use crate::cli::{json, names, refused, run};

fn serve(data: &Path) -> Running {
    let flags = TypedFlags {
        data: Some(data.to_owned()),
        listen: Some("127.0.0.1:0".parse().unwrap()),
        admin: Some(format!("unix:{}", data.join("admin.socket").display())),
        ..TypedFlags::default()
    };
    serving::start(&Settings::resolve(flags, 2).unwrap(), Arc::new(SystemClock)).unwrap()
}

/// Everything that an operator does with an account, and what the books look like afterwards.
fn keep_books(folder: &Path) -> Value {
    let account = json(folder, &["account", "create", "--name", "Acme", "--data", ".", "--json"]);
    let id = account["id"].as_str().unwrap();
    let bought = ["credits", "buy", "--account", id, "--credits", "1000", "--data", ".", "--json"];
    let bought = json(folder, &bought);
    assert_eq!((&bought["balance"], &bought["cents"]), (&1000.into(), &500.into()));
    let granted =
        ["credits", "grant", "--account", id, "--credits", "5", "--note", "hi", "--data", ".", "--json"];
    assert_eq!(json(folder, &granted)["balance"], 1005);
    let key = json(folder, &["key", "create", "--account", id, "--label", "etl", "--data", ".", "--json"]);
    let (plain, key_id) = (key["key"].as_str().unwrap(), key["id"].as_str().unwrap());
    assert!(plain.starts_with(key["prefix"].as_str().unwrap()) && plain.len() == 52, "{key}");
    let rotated = ["key", "rotate", "--key", key_id, "--grace-seconds", "60", "--data", ".", "--json"];
    let rotated = json(folder, &rotated);
    assert_ne!(rotated["key"], key["key"]);
    let revoked = ["key", "revoke", "--key", rotated["id"].as_str().unwrap(), "--data", ".", "--json"];
    assert!(json(folder, &revoked)["revokedAt"].is_string());
    let shown = json(folder, &["account", "show", "--account", id, "--data", ".", "--json"]);
    assert_eq!(
        (&shown["plan"], &shown["credits"], shown["keys"].as_array().unwrap().len()),
        (&"prepaid".into(), &1005.into(), 2)
    );
    assert!(!shown.to_string().contains(plain), "a key is shown once");
    assert_eq!(json(folder, &["account", "list", "--data", ".", "--json"])["total"], 1);
    relate(folder);
    let usage = json(folder, &["usage", "--account", id, "--days", "7", "--data", ".", "--json"]);
    assert_eq!(usage["usage"], Value::Array(Vec::new()));
    let report = json(folder, &["ledger", "verify", "--data", ".", "--json"]);
    assert_eq!((&report["balanced"], &report["entries"]), (&true.into(), &2.into()));
    refused(folder, &["account", "show", "--account", "acc_77", "--data", "."], 1, &["acc_77"]);
    refused(
        folder,
        &["credits", "buy", "--account", id, "--credits", "0", "--data", "."],
        1,
        &["credits", "found 0"],
    );
    shown
}

/// Everything that an operator does with relations; one is left.
fn relate(folder: &Path) {
    let add = |to: &str, weight: &str| {
        let typed = ["relation", "add", "orders", to, "--type", "foreign-key", "--description", "città"];
        json(folder, &[&typed[..], &["--weight", weight, "--data", ".", "--json"]].concat())
    };
    let added = add("customers", "0.5");
    assert_eq!((&added["from"], &added["type"]), (&"orders".into(), &"foreign-key".into()));
    assert_eq!((&added["weight"], &added["replaced"]), (&0.5.into(), &false.into()));
    assert_eq!(added["absent"], serde_json::json!(["orders", "customers"]));
    assert_eq!(add("customers", "0.75")["replaced"], true);
    add("parts", "1");
    let removed = ["relation", "remove", "orders", "parts", "--data", ".", "--json"];
    assert_eq!(json(folder, &removed)["removed"][0]["to"], "parts");
    refused(folder, &["relation", "remove", "orders", "parts", "--data", "."], 1, &["orders", "parts"]);
    refused(folder, &["relation", "add", "a", "a", "--type", "x", "--data", "."], 1, &["itself"]);
    for weight in ["nan", "NaN", "inf", "-inf", "1e999", "-1", "-0.001", "1000000.1", "much", ""] {
        let typed = ["relation", "add", "a", "b", "--type", "x", "--weight", weight, "--data", "."];
        refused(folder, &typed, 2, &["--weight", "0 to 1000000"]);
    }
    let listed = json(folder, &["relation", "list", "--data", ".", "--json"]);
    assert_eq!((&listed["total"], &listed["relations"][0]["weight"]), (&1.into(), &0.75.into()));
    assert_eq!(json(folder, &["relation", "list", "parts", "--data", ".", "--json"])["total"], 0);
}

/// An answer without what differs from run to run.
fn shape(mut answer: Value) -> Value {
    answer["createdAt"].take();
    for key in answer["keys"].as_array_mut().unwrap() {
        for field in ["createdAt", "prefix", "expiresAt", "revokedAt"] {
            let is_set = !key[field].is_null();
            key[field] = is_set.into();
        }
    }
    answer
}

#[test]
fn the_books_are_kept_the_same_with_and_without_a_server() {
    let alone = tempfile::tempdir().unwrap();
    let without = keep_books(alone.path());
    let served = tempfile::tempdir().unwrap();
    let running = serve(served.path());
    let with = keep_books(served.path());
    assert!(running.stop(Duration::from_secs(5)));
    assert_eq!(shape(with), shape(without));
}

#[test]
fn a_backup_of_a_running_server_restores_and_its_entries_export() {
    let folder = tempfile::tempdir().unwrap();
    let running = serve(folder.path());
    keep_books(folder.path());
    let backup = json(folder.path(), &["backup", "backups", "--data", ".", "--json"]);
    assert_eq!(backup["lastSequence"], 2);
    let csv = run(folder.path(), &["ledger", "export", "--data", "."]);
    assert!(running.stop(Duration::from_secs(5)));
    let csv = String::from_utf8(csv.stdout).unwrap();
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(lines[0].starts_with("sequence,at,account,kind,amount,balance,rows,cents,currency,vatIncluded"));
    assert!(lines[1].contains(",acc_1,purchase,1000,1000,0,500,EUR,false,"), "{csv}");
    std::fs::create_dir(folder.path().join("restored")).unwrap();
    let restored = json(folder.path(), &["restore", "backups", "--data", "restored", "--json"]);
    assert_eq!(restored["records"], backup["records"]);
    let to_file = ["ledger", "export", "--data", "restored", "--output", "entries.csv"];
    assert!(run(folder.path(), &to_file).status.success());
    refused(folder.path(), &to_file, 1, &["entries.csv", "--force"]);
    assert!(run(folder.path(), &[&to_file[..], &["--force"]].concat()).status.success());
    assert_eq!(std::fs::read_to_string(folder.path().join("entries.csv")).unwrap(), csv);
    let ndjson = run(folder.path(), &["ledger", "export", "--format", "ndjson", "--data", "restored"]);
    let ndjson = String::from_utf8(ndjson.stdout).unwrap();
    let grant: Value = serde_json::from_str(ndjson.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&grant["kind"], &grant["note"]), (&"grant".into(), &"hi".into()));
    refused(folder.path(), &["restore", "backups", "--data", "."], 1, &["there are books already"]);
    let relations = json(folder.path(), &["relation", "list", "--data", "restored", "--json"]);
    assert_eq!(relations["relations"][0]["description"], "città");
    assert_eq!(names(&folder.path().join("restored")), ["ledger"]);
}

#[test]
fn books_that_do_not_exist_are_not_begun_by_a_question() {
    let folder = tempfile::tempdir().unwrap();
    for question in [&["account", "list"][..], &["ledger", "verify"], &["usage", "--account", "acc_1"]] {
        let arguments = [question, &["--data", "nowhere"]].concat();
        refused(folder.path(), &arguments, 1, &["nowhere", "account create"]);
    }
    assert_eq!(json(folder.path(), &["relation", "list", "--data", ".", "--json"])["total"], 0);
    assert!(names(folder.path()).is_empty());
}
