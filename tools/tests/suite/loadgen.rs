//! The load generator against a real server and against misbehaving stub servers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mercato::config::Settings;
use mercato::serving::{self, Running};
use mercato_base::clock::SystemClock;
use serde_json::{Value, json};

use crate::cli::{refused, run};
use crate::stub_server::{self, Stub};

/// A server with a demo of 6,005 order lines and without limits.
struct Demo {
    url: String,
    key: String,
    folder: PathBuf,
    _running: Running,
}

/// The demo server that all tests share. It ends with the process, and the next run removes its files.
fn demo() -> &'static Demo {
    static DEMO: OnceLock<Demo> = OnceLock::new();
    DEMO.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-demo");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let made = run(&folder, &["demo", "--data", "data", "--scale", "0.001", "--no-serve", "--json"]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let made: Value = serde_json::from_slice(&made.stdout).unwrap();
        let data = folder.join("data");
        let admin = format!("unix:{}", data.join("admin.socket").display());
        let places = ["--data", data.to_str().unwrap(), "--listen", "127.0.0.1:0", "--admin", &admin];
        let words = ["mercato", "serve", "--requests-per-minute", "0", "--requests-per-day", "0"];
        let settings = Settings::read(words.into_iter().chain(places)).unwrap();
        let running = serving::start(&settings, Arc::new(SystemClock)).unwrap();
        let url = format!("http://{}", running.public_socket().unwrap());
        Demo { url, key: made["key"].as_str().unwrap().to_owned(), folder, _running: running }
    })
}

/// Runs `loadgen` with the key in the environment, so that process lists do not show it.
fn loadgen(folder: &Path, url: &str, key: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mercato-tools"));
    command.current_dir(folder).env("MERCATO_API_KEY", key);
    command.args(["loadgen", "--url", url, "--json"]).args(arguments).output().unwrap()
}

fn report(output: &Output) -> Value {
    assert!(!output.stdout.is_empty(), "no report: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The report of a run against the demo, which must succeed.
fn good(arguments: &[&str]) -> Value {
    let demo = demo();
    let output = loadgen(&demo.folder, &demo.url, &demo.key, arguments);
    let reason = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && reason.is_empty(), "{arguments:?}: {reason}");
    report(&output)
}

/// The report and the one-line error of a run against a stub, which must fail.
fn bad(stub: &Stub, arguments: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.toml"), "[[work]]\nname = \"get\"\npath = \"/\"\n").unwrap();
    let arguments = [&["--works", "w.toml", "--warm-up", "0"], arguments].concat();
    let output = loadgen(folder.path(), stub.url(), "", &arguments);
    let reason = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!((output.status.code(), reason.lines().count()), (Some(1), 1), "{reason}");
    (report(&output), reason)
}

fn counts(report: &Value) -> Vec<(String, u64)> {
    let works = report["works"].as_array().unwrap();
    works
        .iter()
        .map(|work| (work["name"].as_str().unwrap().to_owned(), work["requests"].as_u64().unwrap()))
        .collect()
}

#[test]
fn closed_loop_sends_exact_mix() {
    let arguments = [
        "--work",
        "w1=8,w4=2,w2k=1",
        "--depths",
        "0,5000",
        "-n",
        "440",
        "-c",
        "4",
        "--threads",
        "2",
        "--warm-up",
        "0.1",
    ];
    let first = good(&arguments);
    let total = &first["total"];
    assert_eq!(
        (&total["requests"], &total["good"], &first["loop"]),
        (&json!(440), &json!(440), &json!("closed"))
    );
    let counted = counts(&first);
    let names: Vec<&str> = counted.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["w1", "w4", "w2k@0", "w2k@5000"]);
    assert_eq!(counted.iter().map(|(_, count)| count).sum::<u64>(), 440);
    // About 320, 80, 20, 20 by weight. The seed determines the exact counts for any number of threads.
    for ((name, count), expected) in counted.iter().zip([320_u64, 80, 20, 20]) {
        assert!(count.abs_diff(expected) < 40, "{name}: {count}");
    }
    assert_eq!(counts(&good(&arguments)), counted);
    assert_ne!(counts(&good(&[&arguments[..], &["--seed", "2"]].concat())), counted);
    assert!(first["connectionsOpened"].as_u64().unwrap() >= 4);
    let (bytes, percentiles) = (total["bytes"].as_u64().unwrap(), &total["latencyMilliseconds"]);
    assert!(bytes > 440 * 100, "{bytes}");
    let at = |name: &str| percentiles[name].as_f64().unwrap();
    assert!(0.0 < at("min") && at("min") <= at("p50") && at("p50") <= at("p99") && at("p999") <= at("max"));
}

#[test]
fn every_built_in_work_succeeds() {
    let all = "w1,w2k,w2o,w3,w3s,w4,w5c,w5p,w5all,w5r,w6,w6sse,w7csv,w7json,w7ndjson,list,header,sample,search,health";
    let arguments =
        ["--work", all, "--depths", "0,100,6000", "--set", "stream_rows=2000", "-n", "600", "-c", "3"];
    let found = good(&[&arguments[..], &["--warm-up", "0"]].concat());
    let counted = counts(&found);
    assert_eq!(counted.len(), 24);
    assert!(counted.iter().all(|(_, count)| *count > 0), "{counted:?}");
}

#[test]
fn open_loop_keeps_its_rate() {
    let found = good(&["--work", "w4", "--rate", "200", "-n", "100", "-c", "8", "--warm-up", "0.1"]);
    assert_eq!((&found["loop"], &found["intendedRate"]), (&json!("open"), &json!(200.0)));
    assert_eq!((&found["total"]["good"], &found["unsent"]), (&json!(100), &json!(0)));
    // The hundredth request is due 495 ms after the first.
    assert!(found["seconds"].as_f64().unwrap() >= 0.495, "{found}");
    let at = |kind: &str| found["total"][kind]["p50"].as_f64().unwrap();
    assert!(at("firstByteMilliseconds") <= at("serviceMilliseconds"));
    assert!(at("serviceMilliseconds") <= at("latencyMilliseconds"));
}

#[test]
fn reports_each_work_in_one_line() {
    let demo = demo();
    let arguments = [
        "loadgen",
        "--url",
        &demo.url,
        "--key",
        &demo.key,
        "--work",
        "w1,list",
        "-n",
        "20",
        "--warm-up",
        "0",
    ];
    let output = run(&demo.folder, &arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for word in ["closed loop", "1 connection,", "\nw1 ", "\nlist ", "\ntotal ", "p99.9"] {
        assert!(text.contains(word), "`{word}` is not in:\n{text}");
    }
}

#[test]
fn plots_are_well_formed_and_name_every_work() {
    let pid = std::process::id().to_string();
    let found = good(&[
        "--work",
        "w1,w2k,w2o",
        "--depths",
        "0,3000",
        "-n",
        "200",
        "--warm-up",
        "0",
        "--plot",
        "p.svg",
        "--plot-depth",
        "d.svg",
        "--server-pid",
        &pid,
    ]);
    assert!(found["server"]["residentBytes"].as_u64().unwrap() > 0, "{found}");
    assert!(found["server"]["cpuMicrosPerRequest"].as_f64().unwrap() >= 0.0);
    let deep = &found["works"][2];
    assert_eq!(
        (&deep["name"], &deep["work"], &deep["depth"]),
        (&json!("w2k@3000"), &json!("w2k"), &json!(3000))
    );
    let draw = |file, names: &[&str]| {
        let svg = std::fs::read_to_string(demo().folder.join(file)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg:.200}");
        balanced(&svg);
        for name in names {
            assert!(svg.contains(&format!("\n{name}\n")), "{name} is not in {file}");
        }
    };
    draw("p.svg", &["w1", "w2k@0", "w2k@3000", "w2o@0", "w2o@3000", "90 %"]);
    draw("d.svg", &["w2k p50", "w2k p99", "w2o p50", "w2o p99"]);
}

/// Checks that all elements are closed in the right order.
fn balanced(xml: &str) {
    let mut open = Vec::new();
    for piece in xml.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        assert!(!text.contains('&') || text.contains(';'), "{text}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap().to_owned();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, true) => {}
            (false, false) => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn stall_counts_in_latency_of_all_delayed_requests() {
    const STALL: Duration = Duration::from_millis(300);
    let stub = Stub::start(move |number| stub_server::Answer {
        delay: if number == 20 { STALL } else { Duration::ZERO },
        ..stub_server::ok()
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.toml"), "[[work]]\nname = \"get\"\npath = \"/\"\n").unwrap();
    let arguments = ["--works", "w.toml", "--rate", "100", "-n", "100", "-c", "1", "--warm-up", "0"];
    let output = loadgen(folder.path(), stub.url(), "", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = report(&output);
    // One connection, a request every 10 ms. Requests due during the stall wait for its end: the first for 290 ms, the
    // next for 280 ms. So at least 11 of 100 wait for more than 190 ms.
    let at = |kind: &str, percentile: &str| found["total"][kind][percentile].as_f64().unwrap();
    assert!(at("latencyMilliseconds", "p90") > 190.0, "{found}");
    assert!(at("serviceMilliseconds", "max") >= 300.0, "{found}");
    // The waits are 290 + 280 + … + 10 ms, and no service time includes them.
    assert!(at("latencyMilliseconds", "mean") - at("serviceMilliseconds", "mean") > 43.0, "{found}");
}

#[test]
fn reports_wrong_key() {
    let demo = demo();
    let arguments = ["--work", "w1", "-n", "30", "-c", "3", "--warm-up", "0"];
    let output = loadgen(&demo.folder, &demo.url, "mk_wrong", &arguments);
    let (found, reason) = (report(&output), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((&found["total"]["errors"]["status"], &found["total"]["good"]), (&json!(30), &json!(0)));
    assert_eq!(found["total"]["latencyMilliseconds"], Value::Null);
    let sample = &found["works"][0]["samples"][0];
    assert_eq!((&sample["status"], &sample["kind"]), (&json!(401), &json!("status")));
    assert!(sample["found"].as_str().unwrap().contains("UNAUTHORIZED"), "{sample}");
    for word in ["30 of 30", "401", "MERCATO_API_KEY"] {
        assert!(reason.contains(word), "{reason}");
    }
    // Works with cursors fail before the run.
    let output = loadgen(&demo.folder, &demo.url, "mk_wrong", &["--work", "w2k@5"]);
    let reason = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty() && reason.contains("401") && reason.contains("w2k"), "{reason}");
}

#[test]
fn reports_unknown_dataset_and_depth_beyond_it() {
    let demo = demo();
    for (arguments, words) in [
        (&["--work", "w2k@7000000"][..], ["depth 7000000", "--depths"]),
        (&["--work", "w4", "--dataset", "nowhere"], ["404", "--dataset"]),
    ] {
        let output = loadgen(&demo.folder, &demo.url, &demo.key, arguments);
        let reason = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), reason.lines().count()), (Some(1), 1), "{reason}");
        assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
    }
}

#[test]
fn gives_up_on_dead_server() {
    let dead = Stub::dead();
    let (found, reason) = bad(&dead, &["-n", "1000000", "-c", "2"]);
    assert_eq!((&found["ended"], &found["total"]["good"]), (&json!("unreachable"), &json!(0)));
    assert_eq!(found["total"]["errors"]["connect"], found["total"]["requests"]);
    assert!(reason.contains("connect"), "{reason}");
}

#[test]
fn classifies_failures_of_bad_servers() {
    let whole =
        |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc".to_vec();
    let cut_chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab".to_vec();
    let long_head = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 64 * 1024]].concat();
    for (kind, bytes) in [
        ("cut", cut),
        ("cut", cut_chunk),
        ("cut", Vec::new()),
        ("malformed", b"220 mail.example.org ESMTP\r\n\r\n".to_vec()),
        ("malformed", long_head),
        ("length", [whole("ok"), b"more".to_vec()].concat()),
        (
            "status",
            b"HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 9\r\nContent-Length: 4\r\n\r\nbusy"
                .to_vec(),
        ),
    ] {
        let stub = Stub::start(move |_| stub_server::Answer {
            bytes: bytes.clone(),
            then_close: true,
            ..stub_server::ok()
        });
        let (found, reason) = bad(&stub, &["-n", "5"]);
        let errors = &found["total"]["errors"];
        assert_eq!((&errors[kind], &errors["total"]), (&json!(5), &json!(5)), "{kind}: {found}");
        assert!(reason.contains("5 of 5"), "{reason}");
    }
}

#[test]
fn times_out_endless_response() {
    let stub = Stub::start(|_| stub_server::Answer {
        bytes: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_vec(),
        ..stub_server::ok()
    });
    let (found, reason) = bad(&stub, &["-n", "2", "--timeout", "0.2"]);
    assert_eq!(found["total"]["errors"]["timeout"], 2);
    assert!(reason.contains("200ms"), "{reason}");
}

#[test]
fn reopens_connection_closed_by_server() {
    let closes = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_vec();
    let stub = Stub::start(move |_| stub_server::Answer {
        bytes: closes.clone(),
        then_close: true,
        ..stub_server::ok()
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("w.toml"), "[[work]]\nname = \"get\"\npath = \"/\"\n").unwrap();
    let output = loadgen(
        folder.path(),
        stub.url(),
        "",
        &["--works", "w.toml", "-n", "7", "-c", "1", "--warm-up", "0"],
    );
    let found = report(&output);
    assert_eq!((&found["total"]["good"], &found["connectionsOpened"]), (&json!(7), &json!(7)));
}

#[test]
fn loadgen_usage_errors_exit_2() {
    let folder = tempfile::tempdir().unwrap();
    let url = ["loadgen", "--url", "http://127.0.0.1:1"];
    for (arguments, word) in [
        (&["--work", "w99"][..], "w5all"),
        (&["--work", "w1=x"], "NAME=WEIGHT"),
        (&["--threads", "2"], "--connections"),
        (&["--rate", "0"], "--rate"),
        (&["--set", "colour=red"], "stream_rows"),
        (&["--plot-depth", "d.svg", "--work", "w1"], "w2k"),
        (&["--duration", "0"], "--duration"),
        (&["--server-pid", "4294967295", "--work", "w1"], "--server-pid"),
        (&["--key", "two words"], "--key"),
    ] {
        refused(folder.path(), &[&url[..], arguments].concat(), 2, &[word]);
    }
    refused(folder.path(), &["loadgen"], 2, &["--url"]);
    refused(folder.path(), &["loadgen", "--url", "https://x"], 2, &["http://"]);
    let printed = run(folder.path(), &["loadgen", "--print-works"]);
    std::fs::write(folder.path().join("mine.toml"), &printed.stdout).unwrap();
    refused(
        folder.path(),
        &[&url[..], &["--works", "mine.toml", "--work", "w9"]].concat(),
        2,
        &["mine.toml"],
    );
    std::fs::write(folder.path().join("bad.toml"), "wrok = 1").unwrap();
    refused(
        folder.path(),
        &[&url[..], &["--works", "bad.toml"]].concat(),
        1,
        &["bad.toml", "wrok", "--print-works"],
    );
}
