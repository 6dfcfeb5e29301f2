//! Settings out of flags, file and defaults, and the refusal of invalid ones.

use std::path::Path;

use super::*;

fn typed(arguments: &[&str]) -> TypedFlags {
    let words = ["mercato", "serve"].iter().chain(arguments);
    let Command::Serve(flags) = CommandLine::try_parse_from(words).unwrap().command;
    flags
}

#[test]
fn uses_defaults_without_flags() {
    let settings = Settings::resolve(typed(&["--data", "/d"]), 2).unwrap();
    assert_eq!(settings.listen, SocketAddr::from(([127, 0, 0, 1], 8080)));
    assert_eq!(settings.admin, AdminPlace::Tcp(SocketAddr::from(([127, 0, 0, 1], 8081))));
    assert_eq!((settings.workers, settings.drain.as_secs()), (8, 30));
    assert_eq!((settings.requests_per_minute, settings.requests_per_day), (120, 5000));
    assert_eq!(settings.charge_durability, "power");
}

#[test]
fn flags_override_file_and_file_overrides_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mercato.toml");
    std::fs::write(
        &path,
        "data = \"/file\"\nworkers = 5\nrequests-per-day = 0\ncross-encoder = \"/c\"\nembedding-model = \"/e\"\ntrusted-proxy = [\"10.0.0.0/8\"]\n",
    )
    .unwrap();
    let flags = typed(&[
        "--config",
        path.to_str().unwrap(),
        "--workers",
        "7",
        "--admin",
        "unix:/run/m.sock",
        "--cross-encoder",
        "/x",
    ]);
    let settings = Settings::resolve(flags, 2).unwrap();
    assert_eq!(settings.data, Path::new("/file"));
    assert_eq!((settings.workers, settings.requests_per_day), (7, 0));
    assert_eq!(settings.embedding_model.as_deref(), Some(Path::new("/e")));
    assert_eq!(settings.cross_encoder.as_deref(), Some(Path::new("/x")));
    assert_eq!(settings.trusted_proxies, ["10.0.0.0/8"]);
    assert_eq!(settings.admin, AdminPlace::Unix(PathBuf::from("/run/m.sock")));
}

#[track_caller]
fn check_refused(arguments: &[&str], words: &str) {
    let error = Settings::resolve(typed(arguments), 2).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn errors_name_invalid_settings() {
    check_refused(&[], "--data is required");
    check_refused(&["--data", "/d", "--workers", "0"], "--workers: found `0`, expected 1 to 4096");
    let most = ["--data", "/d", "--stream-workers", "12288"];
    assert_eq!(Settings::resolve(typed(&most), 2).unwrap().stream_workers, 12_288);
    check_refused(&["--data", "/d", "--stream-workers", "12289"], "found `12289`, expected 1 to 12288");
    check_refused(&["--data", "/d", "--admin", "unix:"], "--admin");
    check_refused(&["--data", "/d", "--admin", "0.0.0.0:8081"], "found `0.0.0.0:8081`, expected a loopback");
    check_refused(&["--data", "/d", "--admin", "[::]:8081"], "expected a loopback");
    check_refused(&["--data", "/d", "--checksum-rate", "5000"], "0 to 4096");
    check_refused(&["--data", "/d", "--verification-rate", "5000"], "0 to 4096");
    check_refused(&["--data", "/d", "--charge-durability", "none"], "power or process");
    check_refused(&["--config", "/nonexistent/file.toml"], "cannot read");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mercato.toml");
    std::fs::write(&path, "data = \"/d\"\ncolour = 1\n").unwrap();
    check_refused(&["--config", path.to_str().unwrap()], ":2:1:");
}
