//! Flags of mail and of sign-ups.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use super::{ConfigError, TypedFlags, defaults};

/// A typed text that may hold a password. It is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Secret, Infallible> {
        Ok(Secret(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// How mail is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailSettings {
    /// Address of the server.
    pub server: Secret,
    /// File with the password of the user in that address.
    pub password_file: Option<PathBuf>,
    /// The sender.
    pub sender: String,
}

impl MailSettings {
    /// The settings of mail; nothing without a server. Links in mails begin with the public URL, so it must be known: the
    /// `Host` of a request is whatever its sender wants.
    pub(super) fn resolve(typed: &TypedFlags) -> Result<Option<Self>, ConfigError> {
        let Some(server) = &typed.smtp else {
            let without = [
                ("smtp-password-file", typed.smtp_password_file.is_some()),
                ("mail-from", typed.mail_from.is_some()),
            ];
            return match without.into_iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(ConfigError::Needs { flag, needed: "smtp" }),
                None => Ok(None),
            };
        };
        let needs = |needed| ConfigError::Needs { flag: "smtp", needed };
        let sender = typed.mail_from.clone().ok_or_else(|| needs("mail-from"))?;
        if typed.public_url.is_none() {
            return Err(needs("public-url"));
        }
        Ok(Some(Self { server: server.clone(), password_file: typed.smtp_password_file.clone(), sender }))
    }
}

/// Whether people open accounts themselves.
pub(super) fn takes_sign_ups(typed: Option<String>) -> Result<bool, ConfigError> {
    let text = typed.unwrap_or_else(|| defaults::SIGN_UP.to_owned());
    match text.as_str() {
        "open" => Ok(true),
        "closed" => Ok(false),
        _ => Err(ConfigError::Value { flag: "sign-up", found: text, expected: "open or closed" }),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::config::{Command, CommandLine, Settings};

    fn resolved(flags: &[&str]) -> Result<Settings, String> {
        let words = ["mercato", "serve", "--data", "/d"].iter().chain(flags);
        let Command::Serve(typed) = CommandLine::try_parse_from(words).unwrap().command;
        Settings::resolve(typed, 2).map_err(|error| error.to_string())
    }

    #[test]
    fn requires_sender_and_public_url_for_mail() {
        let all = [
            "--smtp",
            "smtps://u:s3cret@a.test",
            "--mail-from",
            "n@a.test",
            "--public-url",
            "https://a.test",
        ];
        let settings = resolved(&all).unwrap();
        assert!(!format!("{settings:?}").contains("s3cret"));
        assert_eq!(settings.mail.unwrap().server.reveal(), "smtps://u:s3cret@a.test");
        assert_eq!(resolved(&all[..2]).unwrap_err(), "--smtp needs --mail-from");
        assert_eq!(resolved(&all[..4]).unwrap_err(), "--smtp needs --public-url");
        assert_eq!(resolved(&all[2..]).unwrap_err(), "--mail-from needs --smtp");
        assert!(resolved(&[]).unwrap().mail.is_none());
    }

    #[test]
    fn opens_and_closes_sign_up() {
        assert!(
            resolved(&[]).unwrap().takes_sign_ups && resolved(&["--sign-up", "open"]).unwrap().takes_sign_ups
        );
        assert!(!resolved(&["--sign-up", "closed"]).unwrap().takes_sign_ups);
        let refused = resolved(&["--sign-up", "maybe"]).unwrap_err();
        assert_eq!(refused, "--sign-up: found `maybe`, expected open or closed");
    }
}
