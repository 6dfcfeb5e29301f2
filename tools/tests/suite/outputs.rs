//! The outputs of commands: new files, replaced files, links, pipes and devices.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::cli::{json, names, refused, run};
use crate::convert::files;

/// A folder with a Parquet file and its store file.
fn converted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files::small(folder.path());
    json(folder.path(), &["convert", "small.parquet", "--json"]);
    folder
}

fn succeeds(folder: &Path, arguments: &[&str]) {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

const TO_CSV: [&str; 5] = ["export", "small.mcol", "--format", "csv", "--output"];

fn to_csv<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&TO_CSV[..], more].concat()
}

#[test]
fn replaces_existing_output_only_with_force() {
    let folder = converted();
    let place = folder.path();
    let stands = |name: &str| fs::metadata(place.join(name)).unwrap().ino();
    let before = stands("small.mcol");
    for output in [&[][..], &["--output", "small.mcol"]] {
        let arguments = [&["convert", "small.parquet"], output].concat();
        refused(place, &arguments, 1, &["small.mcol", "a file that exists", "--force"]);
    }
    assert_eq!(stands("small.mcol"), before);
    json(place, &["convert", "small.parquet", "--json", "--force"]);
    assert_ne!(stands("small.mcol"), before);

    fs::write(place.join("rows.csv"), "mine").unwrap();
    refused(place, &to_csv(&["rows.csv"]), 1, &["rows.csv", "--force"]);
    assert_eq!(fs::read_to_string(place.join("rows.csv")).unwrap(), "mine");
    succeeds(place, &to_csv(&["rows.csv", "--force"]));
    assert!(fs::read_to_string(place.join("rows.csv")).unwrap().starts_with("id,"));
    assert_eq!(names(place), ["rows.csv", "small.mcol", "small.parquet"]);
}

#[test]
fn rejects_folder_as_output() {
    let folder = converted();
    fs::create_dir(folder.path().join("here")).unwrap();
    refused(folder.path(), &["convert", "small.parquet", "-o", "here", "--force"], 1, &["here", "folder"]);
    refused(folder.path(), &to_csv(&["here", "--force"]), 1, &["here", "folder"]);
    assert_eq!(names(&folder.path().join("here")), [] as [&str; 0]);
}

#[test]
fn follows_links_and_keeps_them() {
    let folder = converted();
    let place = folder.path();
    fs::create_dir(place.join("deep")).unwrap();
    symlink("deep/out.mcol", place.join("out.mcol")).unwrap();
    json(place, &["convert", "small.parquet", "--json", "--output", "out.mcol"]);
    refused(place, &["convert", "small.parquet", "--output", "out.mcol"], 1, &["out.mcol", "--force"]);
    json(place, &["convert", "small.parquet", "--json", "--output", "out.mcol", "--force"]);
    json(place, &["verify", "deep/out.mcol", "--json"]);
    symlink("deep/rows.csv", place.join("rows.csv")).unwrap();
    succeeds(place, &to_csv(&["rows.csv"]));
    for link in ["out.mcol", "rows.csv"] {
        assert!(fs::symlink_metadata(place.join(link)).unwrap().is_symlink(), "{link}");
    }
    assert_eq!(names(&place.join("deep")), ["out.mcol", "rows.csv"]);
}

#[test]
fn writes_to_pipe_and_keeps_it() {
    let folder = converted();
    let place = folder.path();
    assert!(Command::new("mkfifo").arg(place.join("pipe")).status().unwrap().success());
    symlink("pipe", place.join("link")).unwrap();
    let plain = run(place, &TO_CSV[..4]).stdout;
    for output in ["pipe", "link"] {
        let path = place.join(output);
        let reader = std::thread::spawn(move || fs::read(path).unwrap());
        succeeds(place, &to_csv(&[output]));
        assert_eq!(reader.join().unwrap(), plain);
        refused(place, &["convert", "small.parquet", "--force", "-o", output], 1, &[output, "a pipe"]);
    }
    assert!(fs::symlink_metadata(place.join("pipe")).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(place.join("link")).unwrap().is_symlink());
}

#[test]
fn writes_to_dev_stdout() {
    let folder = converted();
    let plain = run(folder.path(), &TO_CSV[..4]).stdout;
    let named = run(folder.path(), &to_csv(&["/dev/stdout"]));
    assert_eq!((named.stdout, named.status.success()), (plain.clone(), true));
    let path = folder.path().join("redirected");
    fs::write(&path, "before\n").unwrap();
    let file = fs::File::options().append(true).open(&path).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
    command.current_dir(folder.path()).args(to_csv(&["/dev/stdout"])).stdout(file);
    assert!(command.status().unwrap().success());
    assert_eq!(fs::read(&path).unwrap(), [b"before\n", &plain[..]].concat());
}

#[test]
fn writes_to_device_and_keeps_it() {
    let folder = converted();
    let place = folder.path();
    // A separate null device, so that a bug cannot damage the system's own.
    let made = Command::new("mknod").arg(place.join("sink")).args(["c", "1", "3"]).output().unwrap();
    if !made.status.success() || fs::File::options().write(true).open(place.join("sink")).is_err() {
        eprintln!("skipped: no device can be made here; the decision is tested where it is taken");
        return;
    }
    symlink("sink", place.join("link")).unwrap();
    for output in ["sink", "link"] {
        succeeds(place, &to_csv(&[output]));
        refused(place, &["convert", "small.parquet", "--force", "-o", output], 1, &[output, "a device"]);
    }
    assert!(fs::symlink_metadata(place.join("sink")).unwrap().file_type().is_char_device());
    assert_eq!(names(place), ["link", "sink", "small.mcol", "small.parquet"]);
}

#[test]
fn help_explains_links_and_existing_files() {
    let folder = tempfile::tempdir().unwrap();
    for command in [&["convert"][..], &["export"], &["ledger", "export"]] {
        let help = run(folder.path(), &[command, &["--help"]].concat()).stdout;
        let help = String::from_utf8(help).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            help.contains("symbolic link is followed") && help.contains("--force"),
            "{command:?}: {help}"
        );
    }
}
