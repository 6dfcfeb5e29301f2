//! The worker of a conversion: whatever ends it, the command fails with one line and leaves nothing behind.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mercato_tools::convert::convert;

use crate::cli::{json, names, refused, send};
use crate::convert::files::isolated;
use crate::convert::hostile::endless_footer;
use crate::convert::memory::children;
use crate::convert::raw_parquet::{Chunk, file, page, values};

const SOON: Duration = Duration::from_secs(10);

/// A file whose conversion takes seconds.
fn long(folder: &Path) {
    let pages: Vec<u8> = (0..400).flat_map(|_| page(20_000, &values(20_000), &[])).collect();
    fs::write(folder.join("in.parquet"), file(&pages, &Chunk::plain(8_000_000, pages.len()))).unwrap();
}

/// Starts a conversion, and waits until its worker has an unfinished file.
fn started(folder: &Path) -> (Child, u32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
    command.current_dir(folder).args(["convert", "in.parquet", "--threads", "1"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while names(folder).len() < 2 {
        assert!(begun.elapsed() < 6 * SOON, "no worker writes");
        std::thread::sleep(Duration::from_millis(1));
    }
    let worker = children(child.id())[0];
    (child, worker)
}

#[test]
fn killed_worker_leaves_one_line_and_no_file() {
    let folder = tempfile::tempdir().unwrap();
    long(folder.path());
    let (child, worker) = started(folder.path());
    send("-KILL", worker);
    let output = child.wait_with_output().unwrap();
    let reason = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), reason.lines().count()), (Some(1), 1), "{reason}");
    assert!(reason.contains("in.parquet: ") && reason.contains("the system killed"), "{reason}");
    assert_eq!(names(folder.path()), ["in.parquet"]);
}

#[test]
fn signal_to_the_worker_alone_ends_the_conversion() {
    let folder = tempfile::tempdir().unwrap();
    long(folder.path());
    let (child, worker) = started(folder.path());
    send("-TERM", worker);
    let output = child.wait_with_output().unwrap();
    let reason = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{reason}");
    assert!(reason.contains("ended by a signal; nothing was written"), "{reason}");
    assert_eq!(names(folder.path()), ["in.parquet"]);
}

#[cfg(target_os = "linux")]
#[test]
fn worker_ends_with_its_supervisor() {
    let folder = tempfile::tempdir().unwrap();
    long(folder.path());
    let (mut child, worker) = started(folder.path());
    send("-KILL", child.id());
    child.wait().unwrap();
    let begun = Instant::now();
    while fs::exists(format!("/proc/{worker}")).unwrap() {
        assert!(begun.elapsed() < SOON, "the worker runs on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(names(folder.path()), ["in.parquet"]);
}

#[test]
fn stuck_decoder_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.parquet"), folder.path().join("out.mcol"));
    fs::write(&input, endless_footer()).unwrap();
    let mut conversion = isolated(&input, &output);
    conversion.isolation.as_mut().unwrap().decoder_time_max = Duration::from_secs(1);
    let begun = Instant::now();
    let reason = convert(&conversion).unwrap_err().one_line();
    assert!(reason.contains("Parquet footer: expected progress within 1 s"), "{reason}");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(names(folder.path()), ["in.parquet"]);
}

#[test]
fn worker_is_no_command_for_people() {
    let folder = tempfile::tempdir().unwrap();
    refused(folder.path(), &["convert-worker"], 2, &["convert-worker", "only for other commands"]);
}

#[test]
fn worker_reads_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
    command.current_dir(folder.path());
    command.args(["convert", "-", "--input-format", "csv", "--output", "out.mcol", "--type", "a=number"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a,b\n1,x\n2.5,y\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(json(folder.path(), &["verify", "out.mcol", "--json"])["rows"], 2);
}
