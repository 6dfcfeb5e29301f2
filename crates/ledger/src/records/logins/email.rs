//! E-mail addresses in one form, so that equal texts are the same mailbox and others are not.
//!
//! An address is trimmed and in lower case, including its local part: no mail service of today tells mailboxes apart by case.
//! ASCII only, because look-alikes would be two accounts of one name. Does not depend on accounts.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Length of an e-mail address.
const EMAIL_BYTES_MAX: usize = 254;
/// Length of the part of an e-mail address before its `@`.
const EMAIL_LOCAL_BYTES_MAX: usize = 64;

const LABEL_BYTES_MAX: usize = 63;
/// Characters that the local part may have beside letters and digits.
const LOCAL_SIGNS: &[u8] = b"!#$%&'*+-/=?^_`{|}~.";

/// An e-mail address.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Email(String);

/// A text that is no e-mail address. The error omits the text, which is personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an e-mail address like name@example.com, of at most {EMAIL_BYTES_MAX} ASCII characters")]
pub struct NotAnEmail;

impl Email {
    /// Parses a typed address.
    pub fn parse(typed: &str) -> Result<Email, NotAnEmail> {
        let text = typed.trim();
        if text.len() > EMAIL_BYTES_MAX || !text.is_ascii() {
            return Err(NotAnEmail);
        }
        let (local, domain) = text.split_once('@').ok_or(NotAnEmail)?;
        if !is_local(local) || !is_domain(domain) {
            return Err(NotAnEmail);
        }
        Ok(Email(text.to_ascii_lowercase()))
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A hash of it, for counting attempts under it.
    pub fn digest(&self) -> [u8; 16] {
        *Sha256::digest(self.0.as_bytes()).first_chunk().unwrap_or(&[0; 16])
    }
}

impl TryFrom<String> for Email {
    type Error = NotAnEmail;

    fn try_from(kept: String) -> Result<Email, NotAnEmail> {
        Email::parse(&kept).ok().filter(|email| email.0 == kept).ok_or(NotAnEmail)
    }
}

fn is_local(local: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || LOCAL_SIGNS.contains(&byte);
    local.len() <= EMAIL_LOCAL_BYTES_MAX
        && local.bytes().all(is_sign)
        && local.split('.').all(|atom| !atom.is_empty())
}

/// Two labels at least, and no address of a machine.
fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let top = domain.rsplit_once('.').map(|(_, top)| top);
    domain.split('.').all(is_label) && top.is_some_and(|top| !top.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_case_and_surrounding_spaces() {
        let one = Email::parse(" Anna.Rossi+data@Example.COM\n").unwrap();
        assert_eq!(one.as_str(), "anna.rossi+data@example.com");
        assert_eq!(Email::parse("ANNA.ROSSI+DATA@example.com"), Ok(one.clone()));
        assert_ne!(Email::parse("anna.rossi@example.com").unwrap().digest(), one.digest());
    }

    #[test]
    fn rejects_malformed_addresses() {
        let long = format!("{}@example.com", "x".repeat(EMAIL_LOCAL_BYTES_MAX + 1));
        let label = format!("a@{}.com", "x".repeat(LABEL_BYTES_MAX + 1));
        let whole = format!("{}@{}com", "x".repeat(64), format!("{}.", "y".repeat(62)).repeat(3));
        assert_eq!(whole.len(), EMAIL_BYTES_MAX + 3);
        for wrong in [
            "",
            "@",
            "a@",
            "@b.it",
            "a",
            "a@b",
            "a@b@c.it",
            "a b@c.it",
            "a@b .it",
            ".a@b.it",
            "a.@b.it",
            "a..b@c.it",
            "a@.it",
            "a@b..it",
            "a@-b.it",
            "a@b-.it",
            "a@127.0.0.1",
            "à@b.it",
            "a@è.it",
            "a\r\nBcc:x@y.it",
            "a@b.it\0",
            "\"a\"@b.it",
            "a@[::1]",
            "<a@b.it>",
            &long,
            &label,
            &whole,
        ] {
            assert_eq!(Email::parse(wrong), Err(NotAnEmail), "{wrong:?}");
        }
        for right in ["a@b.it", "o'neil_1-x@sub.mail-2.example.org", "1@2.3d"] {
            assert_eq!(Email::parse(right).unwrap().as_str(), right);
        }
    }

    #[test]
    fn refuses_stored_address_in_other_form() {
        let read = |text: &str| postcard::from_bytes::<Email>(&postcard::to_allocvec(text).unwrap());
        assert_eq!(read("a@b.it").unwrap().as_str(), "a@b.it");
        assert!(read("A@b.it").is_err() && read("a").is_err());
    }
}
