//! The program itself: how it starts, logs and ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use mercato_catalog::DataDirectory;
use serde_json::Value;

use crate::harness::{Ask, MANIFEST, city_columns, exchange, publish_files, wait_until};
use crate::net::raw::Raw;

/// A server program with its log.
pub struct Program {
    child: Child,
    log: BufReader<ChildStdout>,
    pub address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Program {
    fn start() -> Program {
        Program::start_with(&[])
    }

    pub fn start_with(flags: &[&str]) -> Program {
        Program::start_limited("true", flags)
    }

    /// `before` is a command of the shell that starts the program.
    pub fn start_limited(before: &str, flags: &[&str]) -> Program {
        Program::start_prepared(before, flags, |_| ())
    }

    /// The data directory can be changed before the start.
    fn start_prepared(before: &str, flags: &[&str], prepare: impl FnOnce(&DataDirectory)) -> Program {
        let folder = tempfile::tempdir().unwrap();
        publish_files(&DataDirectory::new(folder.path()), MANIFEST, "1.0.0", &city_columns(6), &[]);
        prepare(&DataDirectory::new(folder.path()));
        let mut child = Command::new("sh")
            .args(["-c", &format!("{before}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_mercato")])
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--drain-seconds", "5"])
            .args(["--workers", "8"])
            .args(flags)
            .arg("--data")
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stdout.take().unwrap());
        let listening = read_line(&mut log);
        assert_eq!(listening["message"], "listening");
        let address = listening["address"].as_str().unwrap().parse().unwrap();
        Program { child, log, address, _folder: folder }
    }

    pub fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().count()
    }

    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Threads and descriptors once they have stayed the same for a while: some of a start goes on behind its first
    /// answers.
    pub fn settled(&self) -> (usize, usize) {
        let mut looks = vec![(self.threads(), self.descriptors())];
        wait_until("threads and descriptors stay the same", || {
            std::thread::sleep(Duration::from_millis(100));
            looks.push((self.threads(), self.descriptors()));
            looks.last_chunk::<6>().is_some_and(|last| last.iter().all(|look| *look == last[0]))
        });
        looks[looks.len() - 1]
    }

    pub fn resident_kibibytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read_line(log: &mut impl BufRead) -> Value {
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn exits_in_order_on_signal() {
    for signal in ["TERM", "INT"] {
        let mut program = Program::start();
        assert_eq!(exchange(program.address, &Ask::get("/healthz")).status, 200);
        program.signal(signal);
        assert_eq!(program.child.wait().unwrap().code(), Some(0), "{signal}");
        let mut rest = String::new();
        program.log.read_to_string(&mut rest).unwrap();
        assert!(rest.lines().last().unwrap().contains("\"message\":\"stopped\""), "{rest}");
        wait_until("nobody listens", || TcpStream::connect(program.address).is_err());
    }
}

#[test]
fn holds_idle_connections_without_threads() {
    let program = Program::start();
    let mut first = Raw::connect(program.address);
    assert_eq!(first.send(Ask::get("/healthz").bytes()).answer().status, 200);
    let (threads, before) = (program.settled().0, program.resident_kibibytes());
    let mut idle: Vec<Raw> = (0..1_000).map(|_| Raw::connect(program.address)).collect();
    for raw in &mut idle {
        raw.send(Ask::get("/healthz").bytes());
    }
    for raw in &mut idle {
        assert_eq!(raw.answer().status, 200);
    }
    assert_eq!(program.settled().0, threads);
    let grown = program.resident_kibibytes().saturating_sub(before);
    assert!(grown < 6 * 1024, "{grown} KiB for 1,000 connections");
}

#[test]
fn finishes_running_request_before_exit() {
    let mut program = Program::start();
    let mut stream = TcpStream::connect(program.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // The body is complete only after the signal.
    let head = "POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    program.signal("TERM");
    std::thread::sleep(Duration::from_millis(300));
    stream.write_all(&[b' '; 2000]).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}

#[test]
fn logs_each_request_as_json_line_without_key() {
    let mut program = Program::start();
    let key = format!("mk_{}", "z".repeat(40));
    let target = format!("/api/v1/datasets/cities?api_key={key}");
    let answer = exchange(program.address, &Ask::get(&target).header("X-Api-Key", &key));
    assert_eq!(answer.status, 400);
    let answer = exchange(program.address, &Ask::get("/api/v1/datasets/cities"));
    // A worker writes its line behind its answer, so two workers may write theirs in either order.
    let lines = [read_line(&mut program.log), read_line(&mut program.log)];
    assert!(lines.iter().all(|line| !line.to_string().contains(&key)));
    let own = answer.header("X-Request-Id").unwrap();
    let line = lines.iter().find(|line| line["request_id"] == own).unwrap();
    assert_eq!((&line["route"], &line["status"]), (&"/api/v1/datasets/{slug}".into(), &200.into()));
    assert_eq!((&line["method"], &line["dataset"]), (&"GET".into(), &"cities".into()));
    assert!(line["duration_us"].is_u64());
    program.signal("TERM");
    program.child.wait().unwrap();
}

#[test]
fn exits_with_one_line_on_unusable_arguments() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_mercato")).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = run(&["serve"]);
    assert!(code == Some(2) && text.contains("--data <DIR>"), "{text}");
    assert_eq!(run(&["serve", "--nonsense"]).0, Some(2));
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    let (code, text) = run(&["serve", "--data", absent.to_str().unwrap()]);
    assert_eq!((code, text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.contains("absent: no such directory") && !absent.exists(), "{text}");
    let (code, text) = run(&["serve", "--data", "/proc/nowhere"]);
    assert_eq!((code, text.lines().count()), (Some(1), 1), "{text}");
    assert!(text.starts_with("mercato: cannot start: "));
}
