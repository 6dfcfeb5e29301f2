//! Settings out of flags, file and defaults, and the refusal of invalid ones.

use std::path::Path;

use super::*;

fn read(flags: &[&str]) -> Result<Settings, String> {
    Settings::read(["mercato", "serve"].iter().chain(flags).copied()).map_err(|error| error.to_string())
}

#[test]
fn uses_defaults_without_flags() {
    let settings = read(&["--data", "/d"]).unwrap();
    assert_eq!(settings.listen, SocketAddr::from(([127, 0, 0, 1], 8080)));
    assert_eq!(settings.admin, ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 8081))));
    assert_eq!((settings.requests_per_minute, settings.requests_per_day), (120, 5000));
    assert_eq!(settings.charge_durability, ChargeDurability::Power);
    assert_eq!(settings.net_limits(), NetLimits::default());
    assert_eq!(settings.work_limit(), Some(Duration::from_secs(2)));
    assert_eq!((settings.cache_bytes, settings.cache_directory()), (64 << 30, PathBuf::from("/d/cache")));
    assert!(settings.worker_count() >= 8 && settings.stream_worker_count() == settings.worker_count() * 3);
}

#[test]
fn flags_override_file_and_file_overrides_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mercato.toml");
    let text = "data = \"/file\"\nworkers = 5\nrequests-per-day = 0\nwork-seconds = 0.5\n\
                cross-encoder = \"/c\"\nembedding-model = \"/e\"\ntrusted-proxy = [\"10.0.0.0/8\", \"::1/128\"]\n\
                store = \"s3://b\"\nbooks = \"postgres://b\"\n";
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let flags = [
        "--config",
        path,
        "--workers",
        "7",
        "--admin=unix:/run/m.sock",
        "--cross-encoder",
        "/x",
        "--cache",
        "/k",
    ];
    let settings = read(&flags).unwrap();
    assert_eq!(settings.data, Path::new("/file"));
    assert_eq!((settings.workers, settings.requests_per_day), (Some(7), 0));
    assert_eq!(settings.embedding_model.as_deref(), Some(Path::new("/e")));
    assert_eq!(settings.cross_encoder.as_deref(), Some(Path::new("/x")));
    assert_eq!(settings.trusted_proxy, ["10.0.0.0/8", "::1/128"]);
    assert_eq!(settings.work_limit(), Some(Duration::from_millis(500)));
    assert_eq!(settings.admin, ListenAddress::Unix(PathBuf::from("/run/m.sock")));
    let own = read(&["--config", path, "--trusted-proxy", "192.0.2.0/24"]).unwrap();
    assert_eq!(own.trusted_proxy, ["192.0.2.0/24"]);
}

#[track_caller]
fn check_refused(flags: &[&str], words: &[&str]) {
    let error = read(&[&["--data", "/d"], flags].concat()).unwrap_err();
    for word in words {
        assert!(error.contains(word), "{word} in {error}");
    }
}

#[test]
fn errors_name_invalid_flags() {
    assert!(read(&[]).unwrap_err().contains("--data <DIR>"));
    check_refused(&["--workers", "0"], &["--workers", "'0'", "1..=4096"]);
    assert_eq!(read(&["--data", "/d", "--stream-workers", "12288"]).unwrap().stream_worker_count(), 12_288);
    check_refused(&["--stream-workers", "12289"], &["12289", "1..=12288"]);
    check_refused(&["--admin", "unix:"], &["--admin", "path of a socket"]);
    for address in ["0.0.0.0:8081", "[::]:8081"] {
        check_refused(&["--admin", address], &[address, "loopback"]);
    }
    check_refused(&["--charge-durability", "none"], &["power", "process"]);
    check_refused(&["--sign-up", "maybe"], &["open", "closed"]);
    check_refused(&["--work-seconds=-1"], &["0 to 3600"]);
    check_refused(&["--config", "/nonexistent/file.toml"], &["cannot read"]);
}

#[test]
fn errors_name_line_of_invalid_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mercato.toml");
    let check = |text: &str, words: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let error = read(&["--config", path.to_str().unwrap()]).unwrap_err();
        for word in words {
            assert!(error.contains(word), "{word} in {error}");
        }
    };
    check("data = \"/d\"\nworker = 1\n", &[".toml:2: ", "`worker`", "nearest is `workers`"]);
    check("data = \"/d\"\nworkers = 0\n", &[".toml:2: ", "--workers", "1..=4096"]);
    check("data = \"/d\"\n\nlisten = {}\n", &[".toml:3: listen: expected a text"]);
    check("data = \"/d\nlisten = 1\n", &[".toml:1: "]);
    check("config = \"/d\"\n", &[".toml:1: ", "`config`"]);
}

#[test]
fn flags_need_their_others() {
    let mail =
        ["--smtp", "smtps://u:s3cret@a.test", "--mail-from", "n@a.test", "--public-url", "https://a.test"];
    let settings = read(&[&["--data", "/d"], &mail[..]].concat()).unwrap();
    assert!(!format!("{settings:?}").contains("s3cret"));
    assert_eq!(settings.smtp.unwrap().reveal(), "smtps://u:s3cret@a.test");
    check_refused(&mail[..2], &["--mail-from", "--public-url"]);
    check_refused(&mail[2..], &["--smtp"]);
    check_refused(&["--cache", "/c"], &["--store"]);
    check_refused(&["--prefetch", "none"], &["--store"]);
    check_refused(&["--store", "s3://b"], &["--books"]);
    check_refused(&["--payments", "stripe"], &["--stripe-secret-key-file", "--stripe-webhook-secret-file"]);
}

#[test]
fn sells_by_click_on_loopback_only() {
    for listen in ["127.0.0.1:80", "[::1]:80"] {
        assert!(read(&["--data", "/d", "--payments", "demo", "--listen", listen]).is_ok());
    }
    for listen in ["0.0.0.0:80", "[::]:80", "10.0.0.1:80"] {
        check_refused(&["--payments", "demo", "--listen", listen], &["loopback", listen]);
    }
    check_refused(&["--payments", "paypal"], &["none", "stripe", "demo"]);
}
