//! The stored hash of a password: an argon2id PHC string. Checks its form; neither computes nor compares it.

use serde::{Deserialize, Serialize};

/// Length of a password hash, as a PHC string.
const PASSWORD_HASH_BYTES_MAX: usize = 128;

/// `$`, algorithm, version; parameters, salt and hash follow.
const BEGINNING: &str = "$argon2id$v=19$";
const PARTS_BEHIND: usize = 3;

/// The hash of a password. Has no `Debug` and no `Display`, so that it cannot slip into a log.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct PasswordHash(String);

/// A text that is no such hash. Says nothing of the text, which may be a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an argon2id hash as a PHC string, of at most {PASSWORD_HASH_BYTES_MAX} characters")]
pub struct NotAPasswordHash;

impl PasswordHash {
    pub fn phc(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PasswordHash {
    type Error = NotAPasswordHash;

    fn try_from(text: String) -> Result<PasswordHash, NotAPasswordHash> {
        let behind = text.strip_prefix(BEGINNING).ok_or(NotAPasswordHash)?;
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
        let is_whole = behind.split('$').count() == PARTS_BEHIND && behind.split('$').all(is_part);
        if text.len() <= PASSWORD_HASH_BYTES_MAX && is_whole {
            Ok(PasswordHash(text))
        } else {
            Err(NotAPasswordHash)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_passwords_and_other_hashes() {
        let parse = |text: &str| PasswordHash::try_from(text.to_owned()).map(|hash| hash.phc().to_owned());
        let right = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA";
        assert_eq!(parse(right), Ok(right.to_owned()));
        for wrong in [
            "",
            "correct horse battery staple",
            "$2y$10$abc",
            "$argon2i$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA",
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ",
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$",
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$a$b",
            "$argon2id$v=19$m=19456,t=2,p=1$c2Fs dA$aGFzaA",
        ] {
            assert_eq!(parse(wrong), Err(NotAPasswordHash), "{wrong}");
        }
        assert!(parse(&format!("{right}{}", "A".repeat(PASSWORD_HASH_BYTES_MAX))).is_err());
    }
}
