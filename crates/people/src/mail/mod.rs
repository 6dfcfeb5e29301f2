//! Mail: a bounded queue, and one thread that writes and sends by SMTP.
//!
//! A mail is written by the thread that sends it, not by the request that causes it. So a request takes the same time
//! whether there is anything to write, and a slow server of mail holds up nobody.
//! Does not depend on accounts, pages or languages. Logs no address, no subject, no text and no password.

mod letter;
mod mailer;
mod server;

pub use letter::{Letter, Sender, SenderError};
pub use mailer::{MailThread, Mailer};
pub use server::{SmtpServer, SmtpServerError};
