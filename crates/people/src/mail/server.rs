//! The server of mail: its address, how it is reached, and who signs in there. Never shows the password.

use std::fmt;

use lettre::SmtpTransport;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

/// Longest wait for the server of mail to connect or to answer.
const SMTP_WAIT: std::time::Duration = std::time::Duration::from_secs(10);

/// How the connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Security {
    Plain,
    /// By `STARTTLS`, which the server must offer.
    StartTls,
    /// From the first byte.
    Tls,
}

impl Security {
    const fn port(self) -> u16 {
        match self {
            Security::Plain => 25,
            Security::StartTls => 587,
            Security::Tls => 465,
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct SmtpServer {
    host: String,
    port: u16,
    security: Security,
    user: Option<(String, String)>,
}

/// Why an address of a server cannot be used. Says nothing of the typed text, which may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SmtpServerError {
    /// It is no address of such a server.
    #[error(
        "expected smtp://HOST:PORT, smtps://HOST:PORT or smtp+starttls://HOST:PORT, with USER:PASSWORD@ before HOST if need be"
    )]
    Form,
    /// There is a password and no user.
    #[error("a password needs a user: write smtps://USER@HOST:PORT")]
    UserMissing,
    /// There is a user and no password.
    #[error("a user needs a password: write it into a file and name that with --smtp-password-file")]
    PasswordMissing,
    /// There are two passwords.
    #[error("the password stands in the address and in --smtp-password-file; leave it out of the address")]
    PasswordTwice,
    /// Everybody on the way could read the password.
    #[error("a password would be sent without TLS; use smtps:// or smtp+starttls://")]
    Readable,
}

impl fmt::Debug for SmtpServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SmtpServer({}:{}, {:?})", self.host, self.port, self.security)
    }
}

impl SmtpServer {
    /// Parses an address. `password` is that of a file, which the address then lacks.
    pub fn parse(text: &str, password: Option<String>) -> Result<SmtpServer, SmtpServerError> {
        let url = Url::parse(text).map_err(|_| SmtpServerError::Form)?;
        let security = security(&url).ok_or(SmtpServerError::Form)?;
        let host = match url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(SmtpServerError::Form),
        };
        let is_whole = matches!(url.path(), "" | "/") && url.fragment().is_none() && !host.is_empty();
        if !is_whole {
            return Err(SmtpServerError::Form);
        }
        let user = user(&url, password)?;
        if user.is_some() && security == Security::Plain && !is_loopback(&host) {
            return Err(SmtpServerError::Readable);
        }
        Ok(SmtpServer { host, port: url.port().unwrap_or(security.port()), security, user })
    }

    /// A transport that opens a connection for each mail. `hello` is the name by which it greets.
    pub(super) fn transport(&self, hello: &str) -> Result<SmtpTransport, Error> {
        let parameters = || TlsParameters::new(self.host.clone());
        let tls = match self.security {
            Security::Plain => Tls::None,
            Security::StartTls => Tls::Required(parameters()?),
            Security::Tls => Tls::Wrapper(parameters()?),
        };
        let builder = SmtpTransport::builder_dangerous(&self.host)
            .port(self.port)
            .tls(tls)
            .timeout(Some(SMTP_WAIT))
            .hello_name(ClientId::Domain(hello.to_owned()));
        Ok(match &self.user {
            Some((name, password)) => builder.credentials(Credentials::new(name.clone(), password.clone())),
            None => builder,
        }
        .build())
    }
}

fn security(url: &Url) -> Option<Security> {
    match (url.scheme(), url.query()) {
        ("smtp", None) => Some(Security::Plain),
        ("smtp", Some("tls=required")) | ("smtp+starttls", None) => Some(Security::StartTls),
        ("smtps", None) => Some(Security::Tls),
        _ => None,
    }
}

fn user(url: &Url, password: Option<String>) -> Result<Option<(String, String)>, SmtpServerError> {
    let decoded = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8().map_err(|_| SmtpServerError::Form)?;
        if decoded.chars().any(char::is_control) {
            Err(SmtpServerError::Form)
        } else {
            Ok(decoded.into_owned())
        }
    };
    let password = match (url.password(), password) {
        (Some(_), Some(_)) => return Err(SmtpServerError::PasswordTwice),
        (Some(typed), None) => Some(decoded(typed)?),
        (None, filed) => filed,
    };
    match (url.username(), password) {
        ("", None) => Ok(None),
        ("", Some(_)) => Err(SmtpServerError::UserMissing),
        (_, None) => Err(SmtpServerError::PasswordMissing),
        (name, Some(password)) => Ok(Some((decoded(name)?, password))),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_addresses_of_servers() {
        for (text, host, port, security) in [
            ("smtp://127.0.0.1:2525", "127.0.0.1", 2525, Security::Plain),
            ("smtp://mail.example.org", "mail.example.org", 25, Security::Plain),
            ("smtp://mail.example.org/?tls=required", "mail.example.org", 587, Security::StartTls),
            ("smtp+starttls://mail.example.org:25", "mail.example.org", 25, Security::StartTls),
            ("smtps://mail.example.org", "mail.example.org", 465, Security::Tls),
            ("smtps://[::1]:465/", "::1", 465, Security::Tls),
        ] {
            let server = SmtpServer::parse(text, None).unwrap();
            let found = (server.host.as_str(), server.port, server.security);
            assert_eq!(found, (host, port, security), "{text}");
            assert!(server.transport("example.org").is_ok(), "{text}");
        }
    }

    #[test]
    fn rejects_other_addresses() {
        for text in [
            "",
            "mail.example.org",
            "http://mail.example.org",
            "smtp://",
            "smtp:///x",
            "smtp://a:99999",
            "smtp://a?tls=opportunistic",
            "smtps://a/path",
            "smtps://a#b",
            "smtps://us%0aer:x@a",
            "smtps://us%ffer:x@a",
        ] {
            assert_eq!(SmtpServer::parse(text, None), Err(SmtpServerError::Form), "{text}");
        }
    }

    #[test]
    fn takes_password_from_address_or_file_and_never_shows_it() {
        let file = || Some("s3cret/word".to_owned());
        let expected = Some(("an@na".to_owned(), "s3cret/word".to_owned()));
        let typed = SmtpServer::parse("smtps://an%40na:s3cret%2Fword@a.test", None).unwrap();
        assert_eq!(typed.user, expected);
        let filed = SmtpServer::parse("smtps://an%40na@a.test", file()).unwrap();
        assert_eq!(filed, typed);
        assert!(!format!("{typed:?}").contains("s3cret") && !format!("{typed:?}").contains("na@"));
        for (text, password, expected) in [
            ("smtps://a.test", file(), SmtpServerError::UserMissing),
            ("smtps://anna@a.test", None, SmtpServerError::PasswordMissing),
            ("smtps://anna:x@a.test", file(), SmtpServerError::PasswordTwice),
            ("smtp://anna:x@a.test", None, SmtpServerError::Readable),
        ] {
            assert_eq!(SmtpServer::parse(text, password), Err(expected), "{text}");
        }
        assert!(SmtpServer::parse("smtp://anna:x@127.0.0.1:25", None).is_ok());
    }
}
