//! A letter: one receiver, a subject and plain text; and its sender.
//!
//! The headers are made by lettre out of parsed addresses, so no typed text can add one.

use lettre::Message;
use lettre::message::Mailbox;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};

/// A mail before it is sent.
pub struct Letter {
    /// The address of the receiver.
    pub to: String,
    /// One line.
    pub subject: String,
    /// Plain text; lines end with `\n`.
    pub text: String,
}

/// The sender: an address, with or without a name.
#[derive(Clone)]
pub struct Sender(Mailbox);

/// A text that is no sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an address such as `noreply@example.org` or `Name <noreply@example.org>`")]
pub struct SenderError;

impl Sender {
    /// Parses `address` or `Name <address>`.
    pub fn parse(text: &str) -> Result<Sender, SenderError> {
        text.trim().parse().map(Sender).map_err(|_| SenderError)
    }

    /// The part of the address behind the `@`.
    pub(super) fn domain(&self) -> &str {
        self.0.email.domain()
    }
}

impl Letter {
    /// The letter as a message with all headers; nothing where the address of the receiver is none.
    pub(super) fn message(&self, sender: &Sender) -> Option<Message> {
        let subject: String =
            self.subject.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
        // Answers of holiday programs would reach nobody.
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        let id = format!("<{}@{}>", uuid::Uuid::new_v4().simple(), sender.domain());
        Message::builder()
            .from(sender.0.clone())
            .to(Mailbox::new(None, self.to.parse().ok()?))
            .subject(subject)
            .message_id(Some(id))
            .raw_header(HeaderValue::new(automatic, "auto-generated".to_owned()))
            .header(ContentType::TEXT_PLAIN)
            .body(self.text.replace('\n', "\r\n"))
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(to: &str, subject: &str) -> Letter {
        Letter { to: to.to_owned(), subject: subject.to_owned(), text: "Città\n.\nEnd\n".to_owned() }
    }

    #[test]
    fn writes_headers_and_plain_text() {
        let sender = Sender::parse("Città <noreply@example.org>").unwrap();
        let wire = letter("anna@example.org", "Così").message(&sender).unwrap().formatted();
        let wire = String::from_utf8(wire).unwrap();
        assert!(wire.is_ascii() && wire.contains("To: anna@example.org\r\n"), "{wire}");
        assert!(wire.contains("Auto-Submitted: auto-generated\r\n") && wire.contains("Date: "), "{wire}");
        assert!(wire.contains("Content-Type: text/plain; charset=utf-8\r\n"), "{wire}");
        assert!(wire.contains("@example.org>\r\n"), "{wire}");
    }

    #[test]
    fn keeps_typed_text_out_of_headers() {
        let sender = Sender::parse("noreply@example.org").unwrap();
        for to in ["a@b.it\r\nBcc: c@d.it", "a@b.it, c@d.it", "a@b.it\n", "a b@c.it", ""] {
            assert!(letter(to, "x").message(&sender).is_none(), "{to:?}");
        }
        let wire = letter("a@b.it", "x\r\nBcc: c@d.it").message(&sender).unwrap().formatted();
        let wire = String::from_utf8(wire).unwrap();
        assert!(!wire.contains("\nBcc") && wire.contains("Subject: x  Bcc: c@d.it\r\n"), "{wire}");
        for wrong in ["", "noreply", "a@b.it\r\nBcc: c@d.it", "<>", "a@b.it, c@d.it"] {
            assert!(Sender::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
