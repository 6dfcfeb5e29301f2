//! The operator's token: made at the first start, kept in a file that only the owner can read. It opens the admin listener to
//! programs, and signs browsers in to its pages.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::operator_sessions::OperatorSessions;
use crate::clock::Moment;
use crate::ledger::{PlainToken, TOKEN_RANDOM_BYTES, TokenHash};

const TOKEN_SIZE_BYTES: usize = 32;
const TOKEN_FILE_SIZE_BYTES_MAX: u64 = 4096;

/// The token in memory. It is never printed.
pub struct AdminToken {
    text: String,
    browsers: OperatorSessions,
}

impl AdminToken {
    /// Reads the token, or makes one of the random bytes that `fill` gives.
    pub fn load_or_create(path: &Path, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.len() <= TOKEN_FILE_SIZE_BYTES_MAX => Self::load(path),
            Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "the token file is too large")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(path, fill),
            Err(error) => Err(error),
        }
    }

    fn load(path: &Path) -> io::Result<Self> {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let text = fs::read_to_string(path)?.trim().to_owned();
        if text.len() < TOKEN_SIZE_BYTES {
            let message = "the token file holds fewer than 32 characters; remove it to get a new one";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Self { text, browsers: OperatorSessions::default() })
    }

    fn create(path: &Path, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<Self> {
        let mut secret = [0; TOKEN_SIZE_BYTES];
        fill(&mut secret)?;
        let text = URL_SAFE_NO_PAD.encode(secret);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        Ok(Self { text, browsers: OperatorSessions::default() })
    }

    /// Whether an `Authorization` header presents the token; takes as long for a near miss as for a far one.
    pub fn admits(&self, authorization: Option<&str>) -> bool {
        let Some((scheme, presented)) = authorization.and_then(|value| value.split_once(' ')) else {
            return false;
        };
        scheme.eq_ignore_ascii_case("Bearer") && self.is(presented)
    }

    fn is(&self, presented: &str) -> bool {
        presented.trim().as_bytes().ct_eq(self.text.as_bytes()).into()
    }

    /// Signs a browser in that presents the token: it gets a token of its own.
    pub fn sign_in(
        &self,
        presented: &str,
        random: [u8; TOKEN_RANDOM_BYTES],
        now: Moment,
    ) -> Option<PlainToken> {
        self.is(presented).then(|| self.browsers.open(random, now))
    }

    /// Whether a browser is signed in by its own token.
    pub fn has_signed_in(&self, own: TokenHash, now: Moment) -> bool {
        self.browsers.is_open(own, now)
    }

    /// Signs a browser out.
    pub fn sign_out(&self, own: TokenHash) {
        self.browsers.end(own);
    }

    /// Notes that a signed-in browser sent a form. False if it sent that form before.
    pub fn is_first(&self, own: TokenHash, form: &str) -> bool {
        self.browsers.is_first(own, form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creates_token_once_readable_by_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.token");
        let fill = |bytes: &mut [u8]| {
            bytes.fill(7);
            Ok(())
        };
        let made = AdminToken::load_or_create(&path, fill).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = AdminToken::load_or_create(&path, |_| Err(io::Error::other("not asked"))).unwrap();
        assert_eq!(made.text, read.text);
        assert!(read.admits(Some(&format!("Bearer {}", made.text))));
        assert!(!read.admits(Some(&format!("Basic {}", made.text))));
        assert!(!read.admits(Some("Bearer wrong")));
        assert!(!read.admits(None));
        let now = Moment::from_unix_millis(0);
        assert!(read.sign_in("wrong", [1; TOKEN_RANDOM_BYTES], now).is_none());
        let own = read.sign_in(&made.text, [1; TOKEN_RANDOM_BYTES], now).unwrap();
        assert_ne!(own.reveal(), made.text);
        assert!(
            read.has_signed_in(own.hash(), now) && !read.admits(Some(&format!("Bearer {}", own.reveal())))
        );
    }
}
