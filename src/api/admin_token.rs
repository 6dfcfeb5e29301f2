//! The operator's token: made at the first start, kept in a file that only the owner can read. It opens the admin listener to
//! programs, and signs browsers in to its pages.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::operator_sessions::OperatorSessions;
use crate::limits::operator::{WRONG_TOKENS_PER_ADDRESS_MAX, WRONG_TOKENS_WINDOW_SECONDS};
use mercato_base::clock::Moment;
use mercato_ledger::{PlainToken, TOKEN_RANDOM_BYTES, TokenHash};
use mercato_people::AddressThrottle;
use mercato_web::{ApiError, ErrorKind};

const TOKEN_SIZE_BYTES: usize = 32;
const TOKEN_FILE_SIZE_BYTES_MAX: u64 = 4096;

/// Client addresses whose wrong tokens are counted at one time; the longest silent one makes room.
const WRONG_TOKEN_ADDRESSES_MAX: usize = 4_096;

fn wrong_tokens() -> AddressThrottle {
    AddressThrottle::new(WRONG_TOKEN_ADDRESSES_MAX, WRONG_TOKENS_PER_ADDRESS_MAX, WRONG_TOKENS_WINDOW_SECONDS)
}

/// The token in memory. It is never printed.
pub struct AdminToken {
    text: String,
    browsers: OperatorSessions,
    wrong: AddressThrottle,
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
        Ok(Self { text, browsers: OperatorSessions::default(), wrong: wrong_tokens() })
    }

    fn create(path: &Path, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<Self> {
        let mut secret = [0; TOKEN_SIZE_BYTES];
        fill(&mut secret)?;
        let text = URL_SAFE_NO_PAD.encode(secret);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        Ok(Self { text, browsers: OperatorSessions::default(), wrong: wrong_tokens() })
    }

    /// Whether a client presents the token; takes as long for a near miss as for a far one. After too many wrong tokens of
    /// its address, further wrong ones are refused with 429. The right one always passes: it is too long to be guessed, and
    /// programs on this machine share an address with the operator, so they could lock the operator out.
    pub fn check(&self, presented: &str, address: IpAddr, now: Moment) -> Result<bool, ApiError> {
        if self.is(presented) {
            return Ok(true);
        }
        let admitted = self.wrong.admit(address, now);
        admitted.map(|()| false).map_err(|throttled| {
            ApiError::new(ErrorKind::RateLimited, format!("wrong tokens from this address: {throttled}"))
                .with_reason("TOO_MANY_WRONG_TOKENS", "send the content of admin.token")
                .with_header("Retry-After", throttled.retry_after_seconds.to_string())
        })
    }

    fn is(&self, presented: &str) -> bool {
        presented.trim().as_bytes().ct_eq(self.text.as_bytes()).into()
    }

    /// Signs a browser in that presents the token: it gets a token of its own.
    pub fn sign_in(
        &self,
        presented: &str,
        address: IpAddr,
        random: [u8; TOKEN_RANDOM_BYTES],
        now: Moment,
    ) -> Result<Option<PlainToken>, ApiError> {
        let is_right = self.check(presented, address, now)?;
        Ok(is_right.then(|| self.browsers.open(random, now)))
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

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

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
        let now = Moment::from_unix_millis(0);
        assert!(read.check(&made.text, HERE, now).unwrap());
        assert!(!read.check("wrong", HERE, now).unwrap());
        let random = [1; TOKEN_RANDOM_BYTES];
        assert!(read.sign_in("wrong", HERE, random, now).unwrap().is_none());
        let own = read.sign_in(&made.text, HERE, random, now).unwrap().unwrap();
        assert_ne!(own.reveal(), made.text);
        assert!(read.has_signed_in(own.hash(), now) && !read.check(own.reveal(), HERE, now).unwrap());
    }

    #[test]
    fn limits_wrong_tokens_of_an_address() {
        let folder = tempfile::tempdir().unwrap();
        let token = AdminToken::load_or_create(&folder.path().join("t"), |bytes| {
            bytes.fill(7);
            Ok(())
        })
        .unwrap();
        let now = Moment::from_unix_millis(0);
        for _ in 0..WRONG_TOKENS_PER_ADDRESS_MAX {
            assert!(!token.check("wrong", HERE, now).unwrap());
        }
        let refused = token.check("wrong", HERE, now).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::RateLimited);
        let seconds = WRONG_TOKENS_WINDOW_SECONDS.to_string();
        assert_eq!(refused.headers(), [("Retry-After", seconds)]);
        assert!(token.check(&token.text, HERE, now).unwrap(), "nobody locks the operator out");
        assert!(!token.check("wrong", "192.0.2.7".parse().unwrap(), now).unwrap(), "another address");
        assert!(!token.check("wrong", HERE, now.plus_seconds(WRONG_TOKENS_WINDOW_SECONDS)).unwrap());
    }
}
