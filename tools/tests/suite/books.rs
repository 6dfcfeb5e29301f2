//! The book commands: same results with and without a running server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mercato::config::Settings;
use mercato::serving::{self, Running};
use mercato_base::clock::SystemClock;
use serde_json::Value;

use crate::cli::{json, names, refused, run};

pub fn serve(data: &Path) -> Running {
    let admin = format!("unix:{}", data.join("admin.socket").display());
    let data = data.to_str().unwrap();
    let words = ["mercato", "serve", "--data", data, "--listen", "127.0.0.1:0", "--admin", &admin];
    serving::start(&Settings::read(words).unwrap(), Arc::new(SystemClock)).unwrap()
}

/// Runs all account commands, and returns the final state of the books.
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

/// Runs all relation commands, and leaves one relation.
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

/// A response without the values that differ between runs.
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
fn commands_match_with_and_without_server() {
    let alone = tempfile::tempdir().unwrap();
    let without = keep_books(alone.path());
    let served = tempfile::tempdir().unwrap();
    let running = serve(served.path());
    let with = keep_books(served.path());
    assert!(running.stop(Duration::from_secs(5)));
    assert_eq!(shape(with), shape(without));
}

#[test]
fn restores_backup_of_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let running = serve(folder.path());
    keep_books(folder.path());
    let backup = json(folder.path(), &["backup", "backups", "--data", ".", "--json"]);
    assert_eq!(backup["lastSequence"], 10, "the record of every command that changed something");
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
fn queries_do_not_create_books() {
    let folder = tempfile::tempdir().unwrap();
    for question in [&["account", "list"][..], &["ledger", "verify"], &["usage", "--account", "acc_1"]] {
        let arguments = [question, &["--data", "nowhere"]].concat();
        refused(folder.path(), &arguments, 1, &["nowhere", "account create"]);
    }
    assert_eq!(json(folder.path(), &["relation", "list", "--data", ".", "--json"])["total"], 0);
    assert!(names(folder.path()).is_empty());
}

/// Runs all commands for key limits, and returns the final key.
fn limit_keys(folder: &Path) -> Value {
    let id = json(folder, &["account", "create", "--name", "Acme", "--data", ".", "--json"])["id"].clone();
    let id = id.as_str().unwrap();
    let books = ["--data", ".", "--json"];
    let create = ["key", "create", "--account", id, "--credits-per-day", "20", "--credits-per-month", "50"];
    let further = ["--dataset", "sales", "--dataset", "stores", "--expires", "2999-12-31"];
    let made = json(folder, &[&create[..], &further, &books].concat());
    let limits = |day: Value, month: Value, datasets: Value| serde_json::json!({"creditsPerDay": day, "creditsPerMonth": month, "datasets": datasets});
    let both = serde_json::json!(["sales", "stores"]);
    assert_eq!(made["limits"], limits(20.into(), 50.into(), both.clone()));
    assert_eq!((&made["expiresAt"], &made["absent"]), (&"3000-01-01T00:00:00.000Z".into(), &both));
    assert_eq!(made["spent"], serde_json::json!({"day": 0, "month": 0}));
    let key = made["id"].as_str().unwrap();
    let limit = |typed: &[&str]| json(folder, &[&["key", "limit", key], typed, &books[..]].concat());
    let changed = limit(&["--credits-per-day", "30", "--no-credits-per-month"]);
    assert_eq!(changed["limits"], limits(30.into(), Value::Null, both.clone()));
    assert!(changed.get("key").is_none(), "the key itself is shown once");
    assert_eq!(limit(&["--dataset", "parts"])["limits"]["datasets"], serde_json::json!(["parts"]));
    assert_eq!(limit(&["--expires", "2999-12-31T18:00:00+01:00"])["expiresAt"], "2999-12-31T17:00:00.000Z");
    let lifted = limit(&["--no-dataset", "--no-expires"]);
    assert_eq!(lifted["limits"], limits(30.into(), Value::Null, Value::Array(Vec::new())));
    assert_eq!(lifted["expiresAt"], Value::Null);
    let listed = json(folder, &[&["key", "list", "--account", id], &books[..]].concat());
    assert_eq!(listed["keys"][0]["limits"], lifted["limits"]);
    limit(&["--dataset", "parts"]);
    for command in [["key", "list"], ["account", "show"]] {
        let output = run(folder, &[&command[..], &["--account", id, "--data", "."]].concat());
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains("30 credits a day, 0 spent  only parts"), "{told}");
    }
    let output = run(folder, &["key", "limit", key, "--dataset", "parts", "--data", "."]);
    let warned = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && warned.contains("no dataset `parts` is published"), "{warned}");
    refuse_limits(folder, key);
    let shown = json(folder, &[&["account", "show", "--account", id], &books[..]].concat());
    shown["keys"][0].clone()
}

fn refuse_limits(folder: &Path, key: &str) {
    for (typed, code, words) in [
        (&["--expires", "tomorrow"][..], 1, &["expiresAt", "tomorrow", "2026-12-31"][..]),
        (&["--expires", "2001-01-01"], 1, &["expiresAt", "future"]),
        (&["--dataset", "No Slug"], 2, &["--dataset", "slug"]),
        (&["--credits-per-day", "1", "--no-credits-per-day"], 2, &["cannot be used with"]),
        (&["--dataset", "a", "--no-dataset"], 2, &["cannot be used with"]),
        (&["--credits-per-day", "-1"], 2, &["--credits-per-day"]),
        (&[], 2, &["required", "--no-expires"]),
    ] {
        refused(folder, &[&["key", "limit", key, "--data", "."], typed].concat(), code, words);
    }
    refused(folder, &["key", "limit", "key_77", "--no-expires", "--data", "."], 1, &["key_77"]);
}

#[test]
fn sets_and_lifts_key_limits() {
    let alone = tempfile::tempdir().unwrap();
    let mut without = limit_keys(alone.path());
    let served = tempfile::tempdir().unwrap();
    let running = serve(served.path());
    let mut with = limit_keys(served.path());
    assert!(running.stop(Duration::from_secs(5)));
    for key in [&mut with, &mut without] {
        key["createdAt"].take();
        key["prefix"].take();
    }
    assert_eq!(with, without);
}

#[test]
fn warns_when_new_books_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let create = |data: &str, further: &[&str]| {
        let arguments = [&["account", "create", "--name", "Acme", "--data", data], further].concat();
        let output = run(folder.path(), &arguments);
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    std::fs::create_dir(folder.path().join("one")).unwrap();
    std::fs::create_dir(folder.path().join("two")).unwrap();
    let (_, warning) = create("one", &[]);
    assert!(warning.contains("one had no books, and new ones were made there"), "{warning}");
    assert_eq!(create("one", &[]).1, "", "they are there");
    let new_books = |text: String| serde_json::from_str::<Value>(&text).unwrap()["newBooks"].clone();
    assert_eq!(new_books(create("two", &["--json"]).0), true);
    assert_eq!(new_books(create("two", &["--json"]).0), Value::Null);
}

#[test]
fn rotated_key_keeps_limits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    json(folder, &["account", "create", "--name", "Acme", "--data", ".", "--json"]);
    let create = ["key", "create", "--account", "acc_1", "--credits-per-day", "20", "--data", ".", "--json"];
    let made = json(folder, &create);
    let rotate = ["key", "rotate", "--key", made["id"].as_str().unwrap(), "--data", ".", "--json"];
    assert_eq!(json(folder, &rotate)["limits"], made["limits"]);
}

#[test]
fn payment_references_are_unique_per_provider() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    json(folder, &["account", "create", "--name", "Acme", "--data", ".", "--json"]);
    let typed = ["credits", "buy", "--account", "acc_1", "--credits", "10", "--data", "."];
    let buy = |further: &[&str]| {
        let bought = json(folder, &[&typed[..], &["--json", "--reference", "INV-7"], further].concat());
        (bought["balance"].as_u64().unwrap(), bought["replayed"].as_bool().unwrap())
    };
    assert_eq!(buy(&[]), (10, false));
    assert_eq!(buy(&["--provider", "operator"]), (10, true), "who is named by default");
    assert_eq!(buy(&["--provider", "stripe"]), (20, false));
    assert_eq!(buy(&["--provider", "stripe"]), (20, true));
    refused(folder, &[&typed[..], &["--provider", "stripe"]].concat(), 2, &["--reference"]);
    let long = "x".repeat(41);
    let further = ["--reference", "INV-8", "--provider", &long];
    refused(folder, &[&typed[..], &further].concat(), 1, &["provider", "41"]);
}

#[test]
fn names_key_in_usage_and_entries() {
    use mercato_base::clock::Clock;
    use mercato_catalog::DataDirectory;
    use mercato_ledger::{ChargeRequest, KeyId, Ledger, LedgerOptions, Pending};

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    json(folder, &["account", "create", "--name", "Acme", "--data", ".", "--json"]);
    json(folder, &["account", "create", "--name", "Other", "--data", ".", "--json"]);
    json(folder, &["credits", "buy", "--account", "acc_1", "--credits", "100", "--data", ".", "--json"]);
    for owner in ["acc_1", "acc_1", "acc_2"] {
        json(folder, &["key", "create", "--account", owner, "--data", ".", "--json"]);
    }
    let now = SystemClock.now();
    let path = DataDirectory::new(folder).ledger();
    let ledger = Ledger::open(&path, LedgerOptions::default(), now).unwrap();
    for (key, rows) in [(1, 3), (2, 4)] {
        let order = ChargeRequest {
            account: ledger.accounts().remove(0),
            key: Some(KeyId::from_number(key)),
            rows,
            free_queries: 0,
            dataset: "sales".to_owned(),
            request_id: "test".to_owned(),
            claim: None,
            view: None,
            at: now,
        };
        ledger.charge(&order).and_then(Pending::durable).unwrap();
    }
    drop(ledger);
    let typed = ["usage", "--account", "acc_1", "--data", "."];
    let usage = |further: &[&str]| {
        let told = json(folder, &[&typed[..], &["--json"], further].concat());
        let lines = told["usage"].as_array().unwrap().clone();
        lines.iter().map(|line| (line["key"].clone(), line["credits"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(usage(&[]), [(Value::Null, 7.into())]);
    assert_eq!(usage(&["--by-key"]), [("key_1".into(), 3.into()), ("key_2".into(), 4.into())]);
    assert_eq!(usage(&["--key", "key_2"]), [(Value::Null, 4.into())]);
    let people = run(folder, &[&typed[..], &["--by-key"]].concat());
    let people = String::from_utf8(people.stdout).unwrap();
    assert!(people.lines().next().unwrap().contains("  key_1      sales "), "{people}");
    refused(folder, &[&typed[..], &["--key", "key_3"]].concat(), 1, &["key_3 is no key of acc_1"]);
    let csv = String::from_utf8(run(folder, &["ledger", "export", "--data", "."]).stdout).unwrap();
    let ends: Vec<&str> = csv.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(ends, ["key", "", "key_1", "key_2"], "{csv}");
    let export = run(folder, &["ledger", "export", "--format", "ndjson", "--data", "."]);
    let entries = String::from_utf8(export.stdout).unwrap();
    let entries: Vec<Value> = entries.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(entries[0].get("key").is_none() && entries[1]["key"] == "key_1");
}

/// Creates books with more than one log segment.
fn long_books(folder: &Path) {
    use mercato_base::clock::Clock;
    use mercato_catalog::DataDirectory;
    use mercato_ledger::{ChargeDurability, Ledger, LedgerOptions, Relation, RelationKey};

    let options = LedgerOptions { durability: ChargeDurability::Process };
    let now = SystemClock.now();
    let ledger = Ledger::open(&DataDirectory::new(folder).ledger(), options, now).unwrap();
    let account = ledger.create_account("Acme", now).unwrap();
    ledger.buy(account, 1_000, None, "", "", now).unwrap();
    let [from, to, relation_type] = ["sales", "stores", "x"].map(str::to_owned);
    let key = RelationKey { from, to, relation_type };
    // A thousand bytes each, more than one segment in total.
    for number in 0..36_000 {
        let description = format!("{number:01000}");
        ledger.add_relation(Relation { key: key.clone(), description, weight: 1.0, at: now }).unwrap();
    }
    ledger.buy(account, 1_000, None, "", "", now).unwrap();
}

fn archive(folder: &Path) -> Value {
    json(folder, &["ledger", "archive", "--to", "old", "--data", ".", "--json"])["segments"].clone()
}

fn check_archive(folder: &Path) {
    let moved = archive(folder);
    let first = &moved[0];
    assert_eq!((&first["number"], &first["firstRecord"]), (&1.into(), &1.into()), "{moved}");
    assert!(first["lastRecord"].as_u64().unwrap() > 1_000, "{moved}");
    let file = Path::new(first["path"].as_str().unwrap());
    assert_eq!(std::fs::metadata(file).unwrap().len(), first["bytes"].as_u64().unwrap());
    assert_eq!(names(&folder.join("old")).len(), moved.as_array().unwrap().len());
    assert_eq!(archive(folder), Value::Array(Vec::new()), "the last segment stays");
    let told = run(folder, &["ledger", "archive", "--to", "old", "--data", "."]);
    assert!(String::from_utf8(told.stdout).unwrap().starts_with("nothing was moved"));
    let shown = json(folder, &["account", "show", "--account", "acc_1", "--data", ".", "--json"]);
    assert_eq!(shown["credits"], 2_000, "balances do not need the old segments");
    let report = json(folder, &["ledger", "verify", "--data", ".", "--json"]);
    assert_eq!((&report["balanced"], &report["entries"]), (&true.into(), &1.into()));
}

#[test]
fn archives_old_log_segments() {
    let alone = tempfile::tempdir().unwrap();
    long_books(alone.path());
    check_archive(alone.path());
    let served = tempfile::tempdir().unwrap();
    long_books(served.path());
    let running = serve(served.path());
    check_archive(served.path());
    assert!(running.stop(Duration::from_secs(5)));
    let reopened = json(served.path(), &["account", "show", "--account", "acc_1", "--data", ".", "--json"]);
    assert_eq!(reopened["credits"], 2_000);
    let inside = ["ledger", "archive", "--to", "ledger/log", "--data", "."];
    refused(served.path(), &inside, 1, &["folder of the log"]);
}
