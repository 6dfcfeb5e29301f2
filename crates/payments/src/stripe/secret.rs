//! A secret out of a file. It is never printed.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longest file of a secret.
const SECRET_BYTES_MAX: u64 = 4_096;

#[derive(Clone)]
pub struct Secret(String);

/// Why a file holds no secret. The text shows nothing of its content.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("{}: cannot read it: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{}: expected one line that begins with {expected}, found something else; copy the secret from the dashboard of Stripe", path.display())]
    Content {
        path: PathBuf,
        /// The beginnings of such a secret.
        expected: String,
    },
}

impl Secret {
    /// Reads a file with one line, which begins with one of these prefixes.
    pub fn read(path: &Path, prefixes: &[&str]) -> Result<Secret, SecretError> {
        let unreadable = |source| SecretError::Unreadable { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(SECRET_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
        let text = str::from_utf8(&bytes).unwrap_or_default().trim();
        let has_prefix =
            prefixes.iter().any(|prefix| text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
        if !has_prefix || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let expected = prefixes.join(" or ");
            return Err(SecretError::Content { path: path.to_owned(), expected });
        }
        Ok(Secret(text.to_owned()))
    }

    /// The secret, for a header or a signature.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn secret(text: &str) -> Secret {
        Secret(text.to_owned())
    }

    #[test]
    fn reads_one_line_and_prints_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let read = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            Secret::read(&path, &["sk_", "rk_"])
        };
        let secret = read(b" sk_test_Zq9\n").unwrap();
        assert_eq!((secret.reveal(), format!("{secret:?}").as_str()), ("sk_test_Zq9", "Secret(…)"));
        assert!(read(b"rk_x").is_ok());
        for wrong in [&b""[..], b"\n", b"sk_", b"whsec_Zq9", b"sk_Zq9\nsk_Zq9", b"sk_\xffZq9", &[b'a'; 5_000]]
        {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("begins with sk_ or rk_") && !error.contains("Zq9"), "{error}");
        }
        let absent = Secret::read(&folder.path().join("absent"), &["sk_"]).unwrap_err().to_string();
        assert!(absent.contains("absent: cannot read it"), "{absent}");
    }
}
