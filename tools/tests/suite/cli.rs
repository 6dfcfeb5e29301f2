//! The command line: exit codes, one-line errors, JSON documents, and no output after a failure.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array};
use parquet::file::properties::WriterProperties;
use serde_json::Value;

use crate::convert::files;
use crate::convert::memory::children;

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mercato-tools")).current_dir(folder).args(arguments).output().unwrap()
}

/// Runs a command that must succeed and prints one JSON document.
pub fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command that must fail with `code` and one line that holds all of `words`.
pub fn refused(folder: &Path, arguments: &[&str], code: i32, words: &[&str]) {
    let output = run(folder, arguments);
    let reason = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {reason}");
    for word in words {
        assert!(reason.contains(word), "{arguments:?}: `{word}` is not in: {reason}");
    }
    if code == 1 {
        assert_eq!(reason.lines().count(), 1, "{reason}");
        assert!(output.stdout.is_empty());
    }
}

/// Sends a signal, as `-KILL`, to a process.
pub fn send(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn convert_prints_one_json_report() {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    let report = json(folder.path(), &["convert", "small.parquet", "--json"]);
    assert_eq!(report["rows"], 12);
    assert_eq!(report["output"], "small.mcol");
    assert_eq!(report["bytesIn"], fs::metadata(folder.path().join("small.parquet")).unwrap().len());
    assert_eq!(report["bytesOut"], fs::metadata(folder.path().join("small.mcol")).unwrap().len());
    assert_eq!(report["fingerprint"].as_str().unwrap().len(), 32);
    assert!(report["seconds"]["total"].as_f64().unwrap() > 0.0);
    let columns = report["columns"].as_array().unwrap();
    let names: Vec<_> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["id", "flag", "text", "amount", "day", "at", "tags", "box.x"]);
    let text = &columns[2];
    assert_eq!((&text["type"], &text["nulls"]), (&Value::from("string"), &Value::from(2)));
    assert!(columns.iter().all(|column| column["encoding"].is_string() && column["reason"].is_string()));
}

#[test]
fn fingerprint_does_not_depend_on_options() {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    let one = json(folder.path(), &["convert", "small.parquet", "--json", "--threads", "1"]);
    let two = json(
        folder.path(),
        &["convert", "small.parquet", "--json", "--output", "b.mcol", "--memory-limit", "64MiB"],
    );
    assert_eq!(one["fingerprint"], two["fingerprint"]);
    assert_eq!(names(folder.path()), ["b.mcol", "small.mcol", "small.parquet"]);
}

#[test]
fn verify_and_inspect_describe_file() {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    json(folder.path(), &["convert", "small.parquet", "--json", "--sort-index", "id,at"]);
    let verified = json(folder.path(), &["verify", "small.mcol", "--json"]);
    assert_eq!((&verified["rows"], &verified["columns"]), (&Value::from(12), &Value::from(8)));
    let inspected = json(folder.path(), &["inspect", "small.mcol", "--json"]);
    let sorted: Vec<_> =
        inspected["columns"].as_array().unwrap().iter().filter(|c| c["sortIndex"] != "none").collect();
    assert_eq!(sorted.len(), 2, "{inspected}");
    assert!(inspected["sourceSchema"].as_str().unwrap().contains("REPEATED"), "{inspected}");
    let people = run(folder.path(), &["inspect", "small.mcol"]);
    assert!(String::from_utf8(people.stdout).unwrap().contains("decimal(15,2)"));
}

#[test]
fn export_prints_every_row_in_each_format() {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    json(folder.path(), &["convert", "small.parquet", "--json", "--drop", "box", "--drop", "tags"]);
    let export = |format: &str| {
        let output = run(folder.path(), &["export", "small.mcol", "--format", format]);
        assert!(output.status.success() && output.stderr.is_empty());
        String::from_utf8(output.stdout).unwrap()
    };
    let csv = export("csv");
    let lines: Vec<_> = csv.split("\r\n").collect();
    assert_eq!((lines[0], lines.len()), ("id,flag,text,amount,day,at", 14));
    assert_eq!(lines[1], "0,true,alpha,-3.00,1967-07-16,1970-01-01T00:00:00.000000Z");
    assert_eq!(lines[3].split(',').nth(2), Some("\"\""), "the empty text is quoted: {}", lines[3]);
    let rows: Vec<Value> = export("ndjson").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((rows.len(), &rows[3]["text"], &rows[1]["flag"]), (12, &Value::Null, &Value::Null));
    let array: Vec<Value> = serde_json::from_str(&export("json")).unwrap();
    assert_eq!(array, rows);
    let written = run(folder.path(), &["export", "small.mcol", "--format", "csv", "--output", "small.csv"]);
    assert!(written.status.success() && written.stdout.is_empty());
    assert_eq!(fs::read_to_string(folder.path().join("small.csv")).unwrap(), csv);
}

#[test]
fn export_refuses_to_replace_its_input() {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    json(folder.path(), &["convert", "small.parquet", "--json", "--drop", "box", "--drop", "tags"]);
    let store = folder.path().join("small.mcol");
    let before = fs::read(&store).unwrap();
    std::os::unix::fs::symlink("small.mcol", folder.path().join("link")).unwrap();
    fs::hard_link(&store, folder.path().join("twin")).unwrap();
    for output in ["small.mcol", "./small.mcol", "link", "twin"] {
        let arguments = ["export", "small.mcol", "--format", "csv", "--output", output, "--force"];
        refused(folder.path(), &arguments, 1, &[output, "another file than the input"]);
    }
    assert_eq!(fs::read(&store).unwrap(), before);
}

#[test]
fn verify_exits_1_on_damage() {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    json(folder.path(), &["convert", "small.parquet", "--json"]);
    let mut bytes = fs::read(folder.path().join("small.mcol")).unwrap();
    bytes[5_000] ^= 1;
    fs::write(folder.path().join("damaged.mcol"), &bytes).unwrap();
    refused(folder.path(), &["verify", "damaged.mcol"], 1, &["damaged.mcol", "checksum"]);
    bytes.truncate(4_999);
    fs::write(folder.path().join("short.mcol"), &bytes).unwrap();
    refused(folder.path(), &["inspect", "short.mcol"], 1, &["short.mcol", "expected", "found"]);
}

#[test]
fn usage_errors_exit_2() {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    refused(folder.path(), &[], 2, &["Usage"]);
    refused(folder.path(), &["convert"], 2, &["<IN>"]);
    refused(folder.path(), &["convrt", "small.parquet"], 2, &["convert"]);
    refused(folder.path(), &["convert", "small.parquet", "--memory-limit", "lots"], 2, &["--memory-limit"]);
    refused(
        folder.path(),
        &["convert", "small.parquet", "--memory-limit", "1MiB"],
        2,
        &["--memory-limit", "64 MiB"],
    );
    refused(folder.path(), &["convert", "small.parquet", "--drop", "nothing"], 2, &["nothing", "id"]);
    refused(folder.path(), &["convert", "small.parquet", "--sort-index", "id,nothing"], 2, &["nothing"]);
    refused(folder.path(), &["convert", "small.parquet", "--threads", "0"], 2, &["--threads"]);
    refused(folder.path(), &["convert", "small.parquet", "--output", "small.parquet"], 2, &["input"]);
    assert_eq!(names(folder.path()), ["small.parquet"]);
}

#[test]
fn failures_exit_1_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.parquet"), "not Parquet at all, but long enough").unwrap();
    refused(folder.path(), &["convert", "absent.parquet"], 1, &["absent.parquet", "open"]);
    refused(folder.path(), &["convert", "text.parquet"], 1, &["text.parquet", "footer", "expected", "found"]);
    refused(folder.path(), &["convert", "."], 2, &["--output"]);
    refused(folder.path(), &["convert", ".", "-o", "x.mcol"], 1, &["text.parquet", "footer"]);
    refused(folder.path(), &["convert", "/dev/null", "-o", "x.mcol"], 1, &["/dev/null", "--input-format"]);
    refused(folder.path(), &["verify", "text.parquet"], 1, &["text.parquet"]);
    assert_eq!(names(folder.path()), ["text.parquet"]);
}

#[test]
fn drops_columns_of_struct() {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    let report =
        json(folder.path(), &["convert", "small.parquet", "--json", "--drop", "box", "--drop", "tags"]);
    assert_eq!(report["columns"].as_array().unwrap().len(), 6);
    let report = json(folder.path(), &["convert", "small.parquet", "--json", "--force", "--drop", "box.x"]);
    assert_eq!(report["columns"].as_array().unwrap().len(), 7);
}

/// Starts a command on a file of three million rows and four incompressible columns.
fn start_big(folder: &Path, arguments: &[&str]) -> Child {
    let columns: Vec<(&str, ArrayRef)> = ["a", "b", "c", "d"]
        .map(|name| {
            let values =
                (0..3_000_000_i64).map(|row| row.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed()));
            (name, Arc::new(Int64Array::from_iter_values(values)) as ArrayRef)
        })
        .into();
    files::write(&folder.join("big.parquet"), columns, WriterProperties::builder().build());
    let mut command = Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
    command.current_dir(folder).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Private memory of a process, bytes; 0 before its exec and after its end.
fn own_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    // Before its exec, the process still shares the memory of this test process.
    if !status.starts_with("Name:\tmercato-tools\n") {
        return 0;
    }
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[test]
fn conversion_respects_memory_limit() {
    const LIMIT: u64 = 64 * 1024 * 1024;
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_big(folder.path(), &["convert", "big.parquet", "--memory-limit", "64MiB"]);
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(own_memory(child.id()));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    assert!((1..=LIMIT).contains(&most), "{most} bytes");
}

#[test]
fn signal_ends_conversion_without_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start_big(folder.path(), &["convert", "big.parquet"]);
    while names(folder.path()).len() == 1 {
        assert!(child.try_wait().unwrap().is_none(), "the conversion ended before its file appeared");
        std::thread::sleep(Duration::from_millis(1));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("signal"));
    assert_eq!(names(folder.path()), ["big.parquet"]);
}

#[test]
fn removes_files_of_killed_conversions_only() {
    let folder = tempfile::tempdir().unwrap();
    let begin = |output: &str| {
        let mut child = start_big(folder.path(), &["convert", "big.parquet", "-o", output]);
        while !names(folder.path()).iter().any(|name| name.starts_with(&format!(".{output}"))) {
            assert!(child.try_wait().unwrap().is_none(), "the conversion ended before its file appeared");
            std::thread::sleep(Duration::from_millis(1));
        }
        child
    };
    let mut killed = begin("killed.mcol");
    // The supervisor is halted first: either of the two removes the file when only the other one is killed.
    send("-STOP", killed.id());
    send("-KILL", children(killed.id())[0]);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(names(folder.path()).len(), 2, "its temporary file is left");
    let living = begin("living.mcol");
    files::small(folder.path());
    json(folder.path(), &["convert", "small.parquet", "--json"]);
    let output = living.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(folder.path()), ["big.parquet", "living.mcol", "small.mcol", "small.parquet"]);
}

#[test]
fn names_of_arguments_and_groups_are_unique() {
    <mercato_tools::command_line::Arguments as clap::CommandFactory>::command().debug_assert();
}

#[test]
fn help_shows_examples() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["--help"][..], &["convert", "--help"], &["inspect", "--help"], &["verify", "--help"]]
    {
        let output = run(folder.path(), arguments);
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("Example"), "{arguments:?}");
    }
}
