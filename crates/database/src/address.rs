//! The address of a database: a URL as libpq takes it, with a password that may stand elsewhere.
//!
//! Never shows a password. Reads the environment through its caller.

use std::path::Path;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode};

use super::tls::{Demand, encryption};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long it may take to reach one address.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged before a connection counts as lost.
const UNACKNOWLEDGED_TIME: Duration = Duration::from_secs(10);
/// A silent connection is probed after so long.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(3);
const KEEPALIVE_RETRIES: u32 = 3;
/// Largest file of passwords that is read.
const PASSWORDS_BYTES_MAX: u64 = 1 << 20;
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const PORT: u16 = 5_432;

/// The database that books are kept in.
#[derive(Clone)]
pub struct DatabaseAddress {
    config: Config,
    /// Nothing for connections that are not encrypted.
    encryption: Option<MakeRustlsConnect>,
}

/// Why a text is no address of a database. Does not repeat the text, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is not of the right form.
    #[error("expected postgres://user@host:port/database, and the password in PGPASSWORD or PGPASSFILE: {0}")]
    Form(String),
    /// It asks for encryption that cannot be had.
    #[error("encryption: {0}")]
    Encryption(String),
    /// The file of passwords cannot be read.
    #[error("PGPASSFILE: {0}")]
    PasswordFile(String),
}

impl DatabaseAddress {
    /// Whether a text is meant as the address of a database.
    pub fn is_one(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// The address that a URL names. Without a password in it, `PGPASSWORD` or a line of the file `PGPASSFILE` has it;
    /// `variable` looks them up.
    pub fn parse(url: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, AddressError> {
        if !DatabaseAddress::is_one(url) {
            return Err(AddressError::Form(
                "it begins with neither postgres:// nor postgresql://".to_owned(),
            ));
        }
        let (rest, wish) = split_encryption(url)?;
        let parsed: Result<Config, _> = rest.parse();
        let mut config = parsed.map_err(|error| AddressError::Form(innermost(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(AddressError::Form("it names no host".to_owned()));
        }
        if config.get_password().is_none() {
            if let Some(password) = variable("PGPASSWORD") {
                config.password(password);
            } else if let Some(file) = variable("PGPASSFILE")
                && let Some(password) = from_file(Path::new(&file), &config)?
            {
                config.password(password);
            }
        }
        let encryption = match wish.demand {
            // A Unix socket leads to this machine.
            Some(demand) if has_tcp_host(&config) => {
                let made = encryption(demand, wish.roots.as_deref());
                Some(made.map_err(AddressError::Encryption)?)
            }
            _ => None,
        };
        config.ssl_mode(if encryption.is_some() { SslMode::Require } else { SslMode::Disable });
        bounded(&mut config);
        if config.get_application_name().is_none() {
            config.application_name("mercato");
        }
        Ok(DatabaseAddress { config, encryption })
    }

    pub(super) const fn encryption(&self) -> Option<&MakeRustlsConnect> {
        self.encryption.as_ref()
    }

    /// What each host is asked with, in their order, so that every refusal is known. All in one where they are tried at random.
    pub(super) fn hosts(&self) -> Vec<(String, Config)> {
        let count = self.config.get_hosts().len();
        if count <= 1 || self.config.get_load_balance_hosts() != LoadBalanceHosts::Disable {
            return vec![(String::new(), self.config.clone())];
        }
        (0..count).filter_map(|place| self.host(place)).collect()
    }

    fn host(&self, place: usize) -> Option<(String, Config)> {
        let all = &self.config;
        let (host, ports) = (all.get_hosts().get(place)?, all.get_ports());
        // One port may be that of all hosts.
        let port = ports.get(place).or(ports.first()).copied().unwrap_or(PORT);
        let mut one = Config::new();
        match host {
            Host::Tcp(name) => one.host(name),
            Host::Unix(path) => one.host_path(path),
        };
        all.get_hostaddrs().get(place).into_iter().for_each(|address| _ = one.hostaddr(*address));
        all.get_user().into_iter().for_each(|user| _ = one.user(user));
        all.get_password().into_iter().for_each(|password| _ = one.password(password));
        all.get_dbname().into_iter().for_each(|name| _ = one.dbname(name));
        all.get_options().into_iter().for_each(|options| _ = one.options(options));
        all.get_application_name().into_iter().for_each(|name| _ = one.application_name(name));
        one.port(port)
            .ssl_mode(all.get_ssl_mode())
            .ssl_negotiation(all.get_ssl_negotiation())
            .channel_binding(all.get_channel_binding())
            .target_session_attrs(all.get_target_session_attrs());
        bounded(&mut one);
        Some((format!("{}:{port}", host_name(host)), one))
    }

    /// Whether the address chooses the isolation of transactions.
    pub(super) fn sets_isolation(&self) -> bool {
        self.config.get_options().is_some_and(|options| options.contains("default_transaction_isolation"))
    }
}

/// How long connections may take, and when they count as lost.
fn bounded(config: &mut Config) {
    config
        .connect_timeout(CONNECT_TIME)
        .tcp_user_timeout(UNACKNOWLEDGED_TIME)
        .keepalives(true)
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL)
        .keepalives_retries(KEEPALIVE_RETRIES);
}

/// What an address says of encryption.
#[derive(Default)]
struct Wish {
    demand: Option<Demand>,
    roots: Option<String>,
}

/// Takes `sslmode` and `sslrootcert` out of a URL.
fn split_encryption(url: &str) -> Result<(String, Wish), AddressError> {
    // A password may have a question mark.
    let host = url.find('@').unwrap_or(0);
    let query = url.get(host..).and_then(|rest| rest.find('?')).map(|place| host.saturating_add(place));
    let Some((base, query)) = query.and_then(|place| url.split_at_checked(place)) else {
        return Ok((url.to_owned(), Wish::default()));
    };
    let (mut wish, mut kept) = (Wish::default(), Vec::new());
    for pair in query.trim_start_matches('?').split('&') {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => wish.demand = demand(mode)?,
            Some(("sslrootcert", place)) => {
                let place = percent_decode_str(place).decode_utf8();
                let place =
                    place.map_err(|_| AddressError::Encryption("sslrootcert is no text".to_owned()))?;
                wish.roots = Some(place.into_owned());
            }
            _ => kept.push(pair),
        }
    }
    let mark = if kept.is_empty() { "" } else { "?" };
    Ok((format!("{base}{mark}{}", kept.join("&")), wish))
}

fn demand(mode: &str) -> Result<Option<Demand>, AddressError> {
    match mode {
        "disable" | "allow" | "prefer" => Ok(None),
        "require" => Ok(Some(Demand::Any)),
        "verify-ca" => Ok(Some(Demand::Signed)),
        "verify-full" => Ok(Some(Demand::SignedForHost)),
        _ => Err(AddressError::Form(
            "sslmode is none of disable, prefer, require, verify-ca and verify-full".to_owned(),
        )),
    }
}

fn has_tcp_host(config: &Config) -> bool {
    config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)))
}

impl std::fmt::Debug for DatabaseAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, out)
    }
}

/// Hosts, ports and database: what an operator recognises it by.
impl std::fmt::Display for DatabaseAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "postgres://")?;
        // One port may be that of all hosts.
        let ports = self.config.get_ports();
        let shared = if ports.len() == 1 { port(&self.config) } else { PORT };
        for (place, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(out, "{comma}{}:{}", host_name(host), ports.get(place).unwrap_or(&shared))?;
        }
        write!(out, "/{}", database(&self.config))
    }
}

fn host(config: &Config) -> String {
    config.get_hosts().first().map(host_name).unwrap_or_default()
}

fn host_name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    }
}

fn port(config: &Config) -> u16 {
    config.get_ports().first().copied().unwrap_or(PORT)
}

fn database(config: &Config) -> &str {
    config.get_dbname().or_else(|| config.get_user()).unwrap_or_default()
}

/// The password of the first line that fits: `host:port:database:user:password`, `*` for any.
fn from_file(path: &Path, config: &Config) -> Result<Option<String>, AddressError> {
    use std::io::Read;
    let failed = |error: std::io::Error| AddressError::PasswordFile(format!("{}: {error}", path.display()));
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(PASSWORDS_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    let wanted = [
        host(config),
        port(config).to_string(),
        database(config).to_owned(),
        config.get_user().unwrap_or_default().to_owned(),
    ];
    let fits = |line: &str| {
        let mut fields = split_line(line);
        let password = fields.pop()?;
        let is_ours = fields.len() == wanted.len()
            && fields.iter().zip(&wanted).all(|(field, wanted)| field == "*" || field == wanted);
        is_ours.then_some(password)
    };
    Ok(text.lines().filter(|line| !line.starts_with('#')).find_map(fits))
}

/// The fields of a line; a backslash takes the colon or backslash behind it as it is.
fn split_line(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut letters) = (Vec::new(), String::new(), line.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => field.extend(letters.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

/// The last cause of an error, which names no part of the text.
pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<DatabaseAddress, AddressError> {
        DatabaseAddress::parse(url, |_| None)
    }

    #[test]
    fn takes_password_from_url_variable_or_file() {
        let password = |address: DatabaseAddress| {
            address.config.get_password().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let url = "postgres://shop@db.test:5433/books";
        assert_eq!(
            password(parse("postgres://shop:s3cret@db.test/books").unwrap()),
            Some("s3cret".to_owned())
        );
        assert_eq!(password(parse(url).unwrap()), None);
        let given = |name: &str| (name == "PGPASSWORD").then(|| "v".to_owned());
        assert_eq!(password(DatabaseAddress::parse(url, given).unwrap()), Some("v".to_owned()));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgpass");
        std::fs::write(
            &file,
            "# mine\n*:5432:*:shop:no\ndb.test:5433:*:other:no\n*:5433:books:shop:a\\:b\\\\c:d\n",
        )
        .unwrap();
        let given = |name: &str| (name == "PGPASSFILE").then(|| file.display().to_string());
        assert_eq!(password(DatabaseAddress::parse(url, given).unwrap()), Some("a:b\\c:d".to_owned()));
        let missing = |name: &str| (name == "PGPASSFILE").then(|| "/nowhere".to_owned());
        assert!(matches!(DatabaseAddress::parse(url, missing), Err(AddressError::PasswordFile(_))));
    }

    #[test]
    fn shows_every_host() {
        let shown = |url: &str| parse(url).unwrap().to_string();
        let both = "postgres://shop@a.test:5433,b.test:5434/books?target_session_attrs=read-write";
        assert_eq!(shown(both), "postgres://a.test:5433,b.test:5434/books");
        assert_eq!(shown("postgres://shop@a.test,b.test/books"), "postgres://a.test:5432,b.test:5432/books");
        let one_port = "postgres://shop@/books?host=a.test&host=b.test&port=5433";
        assert_eq!(shown(one_port), "postgres://a.test:5433,b.test:5433/books");
    }

    #[test]
    fn shows_no_password() {
        let address = parse("postgres://shop:s3cret@db.test/books").unwrap();
        assert_eq!(
            format!("{address} {address:?}"),
            "postgres://db.test:5432/books postgres://db.test:5432/books"
        );
        for wrong in
            ["postgres://shop:s3cret@db.test:x/books", "postgres://shop:s3cret@/b?what=s3cret", "s3cret"]
        {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn encrypts_what_asks_for_it() {
        let is_encrypted = |url: &str| {
            let address = parse(url).unwrap();
            assert_eq!(address.config.get_ssl_mode() == SslMode::Require, address.encryption.is_some());
            address.encryption.is_some()
        };
        for mode in ["disable", "allow", "prefer"] {
            assert!(!is_encrypted(&format!("postgres://a@b/c?sslmode={mode}")));
        }
        assert!(!is_encrypted("postgres://a@b/c"));
        assert!(is_encrypted("postgres://a:p?@b/c?connect_timeout=3&sslmode=require&application_name=x"));
        assert!(!is_encrypted("postgres://a@%2Frun%2Fpostgresql/c?sslmode=require"), "a Unix socket");
        assert!(matches!(parse("postgres://a@b/c?sslmode=requires"), Err(AddressError::Form(_))));
        let options = parse("postgres://a@b/c?sslmode=disable&options=-c%20x%3Dy").unwrap();
        assert_eq!(options.config.get_options(), Some("-c x=y"));
    }

    #[test]
    fn refuses_certificates_that_it_cannot_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("root.crt");
        let url = format!("postgres://a:s3cret@b/c?sslmode=verify-full&sslrootcert={}", file.display());
        let refusal = || {
            let error = parse(&url).unwrap_err();
            assert!(matches!(error, AddressError::Encryption(_)) && !error.to_string().contains("s3cret"));
            error.to_string()
        };
        assert!(refusal().contains("root.crt"));
        for damaged in
            ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
        {
            std::fs::write(&file, damaged).unwrap();
            assert!(refusal().contains("root.crt"), "{damaged}");
        }
    }

    #[test]
    fn notices_chosen_isolation() {
        let serializable = "postgres://a@b/c?options=-c%20default_transaction_isolation%3Dserializable";
        assert!(
            parse(serializable).unwrap().sets_isolation()
                && !parse("postgres://a@b/c").unwrap().sets_isolation()
        );
    }
}
