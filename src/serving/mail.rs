//! Starts mail out of the settings.
//!
//! Reads the file with the password. Does not depend on SMTP.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{StartError, part};
use crate::config::Settings;
use mercato_people::mail::{MailThread, Mailer, Sender, SmtpServer};

/// Size of the file with the password of the server of mail.
const PASSWORD_FILE_BYTES_MAX: u64 = 4 * 1024;

/// Starts the thread that sends; nothing without a server of mail in the settings.
pub(super) fn start(settings: &Settings) -> Result<(Option<Mailer>, Option<MailThread>), StartError> {
    let (Some(server), Some(sender)) = (&settings.smtp, &settings.mail_from) else {
        return Ok((None, None));
    };
    let password = settings.smtp_password_file.as_deref().map(password).transpose()?;
    let server = SmtpServer::parse(server.reveal(), password).map_err(|error| part("--smtp", &error))?;
    let sender = Sender::parse(sender).map_err(|error| part("--mail-from", &error))?;
    let (mailer, thread) = Mailer::start(&server, sender).map_err(|error| part("mail", &error))?;
    Ok((Some(mailer), Some(thread)))
}

/// The first line of the file.
fn password(path: &Path) -> Result<String, StartError> {
    let failed = |reason: &dyn std::fmt::Display| {
        part("--smtp-password-file", &format!("{}: {reason}", path.display()))
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| failed(&error))?;
    file.take(PASSWORD_FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| failed(&error))?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => Err(failed(&"expected a password on the first line, found nothing")),
    }
}
