//! Password rules, and argon2id hashes of passwords: computed and compared.
//!
//! Parameters follow OWASP's cheat sheet: 19 MiB, two passes, one lane. Each hash takes that memory, so a few are computed at
//! one time, and a caller that would wait too long is refused. Does not depend on accounts, addresses or the clock.

use std::sync::atomic::{AtomicU64, Ordering};

use argon2::password_hash::{self, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use parking_lot::{Condvar, Mutex};

use crate::limits::{PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN};
use mercato_ledger::{Email, NotAPasswordHash, PasswordHash};

/// Memory of one computation of a password hash, in KiB.
const PASSWORD_HASH_KIB: u32 = 19 * 1024;
/// Password hashes that are computed at one time.
const PASSWORD_HASHES_MAX: usize = 4;
/// How long a computation waits for another one to end, before it is refused.
const PASSWORD_WAIT: std::time::Duration = std::time::Duration::from_millis(500);

/// Random bytes that salt a hash.
pub const SALT_BYTES: usize = 16;

const PASSES: u32 = 2;
const LANES: u32 = 1;
/// A character has at most four bytes.
const PASSWORD_BYTES_MAX: usize = PASSWORD_CHARS_MAX * 4;
/// The hash that stands in where there is no account: no known password has it, and comparing with it costs as much.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Passwords of the accepted length that lists of leaked ones begin with, in lower case.
const COMMON: [&str; 24] = [
    "0123456789",
    "0987654321",
    "1111111111",
    "1122334455",
    "1234554321",
    "1234567890",
    "12345678910",
    "123456789a",
    "1q2w3e4r5t",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "abcdefghij",
    "administrator",
    "iloveyou123",
    "letmein123",
    "passw0rd123",
    "password12",
    "password123",
    "password1234",
    "passwordpassword",
    "q1w2e3r4t5",
    "qwerty1234",
    "qwerty12345",
    "qwertyuiop",
];

/// A password that may become the password of an account.
#[derive(Clone, Copy)]
pub struct NewPassword<'t>(&'t str);

/// Why a password is not accepted. There are no rules of composition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRefusal {
    /// It has fewer characters.
    #[error("a password has at least {PASSWORD_CHARS_MIN} characters")]
    TooShort,
    /// It has more characters.
    #[error("a password has at most {PASSWORD_CHARS_MAX} characters")]
    TooLong,
    /// It is an e-mail address, or the part of the account's own address before the `@`.
    #[error("an e-mail address, or the part of it before the @, is no password")]
    Address,
    /// It is among the most common ones, which attackers try first.
    #[error("this password is one of the most common ones")]
    Common,
}

/// Why a hash was not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// As many as may be are being computed.
    #[error("too many passwords are being checked; try again")]
    Busy,
    /// The library refused, which it never does with the parameters of this file.
    #[error("the hash of the password could not be computed")]
    Failed,
}

impl<'t> NewPassword<'t> {
    /// Checks the length and commonness of a chosen password. `email` is the address of the account, where it is known.
    pub fn parse(typed: &'t str, email: Option<&Email>) -> Result<NewPassword<'t>, PasswordRefusal> {
        let local = email.and_then(|email| email.as_str().split_once('@')).map(|(local, _)| local);
        let is_local = local.is_some_and(|local| local.eq_ignore_ascii_case(typed.trim()));
        match typed.chars().take(PASSWORD_CHARS_MAX + 1).count() {
            count if count < PASSWORD_CHARS_MIN => Err(PasswordRefusal::TooShort),
            count if count > PASSWORD_CHARS_MAX => Err(PasswordRefusal::TooLong),
            _ if is_local || Email::parse(typed).is_ok() => Err(PasswordRefusal::Address),
            _ if COMMON.contains(&&*typed.to_ascii_lowercase()) => Err(PasswordRefusal::Common),
            _ => Ok(NewPassword(typed)),
        }
    }
}

/// The hash of a password, for a program that computes one at a time. A server uses [`Passwords`].
pub fn compute_password_hash(
    password: NewPassword<'_>,
    salt: [u8; SALT_BYTES],
) -> Result<PasswordHash, PasswordError> {
    let salt = SaltString::encode_b64(&salt).map_err(|_| PasswordError::Failed)?;
    let hash = argon2id().hash_password(password.0.as_bytes(), &salt).map_err(|_| PasswordError::Failed)?;
    PasswordHash::try_from(hash.to_string()).map_err(|NotAPasswordHash| PasswordError::Failed)
}

fn argon2id() -> Argon2<'static> {
    let params = Params::new(PASSWORD_HASH_KIB, PASSES, LANES, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// Computes and compares hashes for all threads.
pub struct Passwords {
    running: Mutex<usize>,
    ended: Condvar,
    computed: AtomicU64,
}

impl Default for Passwords {
    fn default() -> Self {
        Passwords { running: Mutex::new(0), ended: Condvar::new(), computed: AtomicU64::new(0) }
    }
}

impl Passwords {
    /// The hash of a password.
    pub fn hash(
        &self,
        password: NewPassword<'_>,
        salt: [u8; SALT_BYTES],
    ) -> Result<PasswordHash, PasswordError> {
        let _permit = self.permit()?;
        compute_password_hash(password, salt)
    }

    /// Whether this is the password of that hash. Without a hash it is not, after just as much work.
    pub fn verify(&self, typed: &str, kept: Option<&PasswordHash>) -> Result<bool, PasswordError> {
        let _permit = self.permit()?;
        let kept = kept.and_then(|kept| readable(kept.phc()));
        // Nothing longer was ever accepted.
        let typed = if typed.len() > PASSWORD_BYTES_MAX { "" } else { typed };
        let is_known = kept.is_some();
        let compared = kept.or_else(|| readable(NOBODY)).ok_or(PasswordError::Failed)?;
        let is_same = argon2id().verify_password(typed.as_bytes(), &compared).is_ok();
        Ok(is_same && is_known)
    }

    /// Hashes that were computed, to be kept or compared.
    pub fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    fn permit(&self) -> Result<Permit<'_>, PasswordError> {
        let mut running = self.running.lock();
        let is_full = |running: &mut usize| *running >= PASSWORD_HASHES_MAX;
        if self.ended.wait_while_for(&mut running, is_full, PASSWORD_WAIT).timed_out()
            && is_full(&mut running)
        {
            return Err(PasswordError::Busy);
        }
        *running += 1;
        self.computed.fetch_add(1, Ordering::Relaxed);
        Ok(Permit(self))
    }
}

/// A kept hash, if computing its like takes no more than a permit stands for.
fn readable(phc: &str) -> Option<password_hash::PasswordHash<'_>> {
    let hash = password_hash::PasswordHash::new(phc).ok()?;
    let params = Params::try_from(&hash).ok()?;
    let is_small =
        params.m_cost() <= PASSWORD_HASH_KIB && params.t_cost() <= PASSES && params.p_cost() <= LANES;
    is_small.then_some(hash)
}

struct Permit<'p>(&'p Passwords);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn hash(password: &str) -> PasswordHash {
        Passwords::default().hash(NewPassword::parse(password, None).unwrap(), [7; SALT_BYTES]).unwrap()
    }

    #[test]
    fn refuses_short_long_and_common_passwords() {
        let refusal = |text: &str| NewPassword::parse(text, None).err();
        assert_eq!(refusal("ninechars"), Some(PasswordRefusal::TooShort));
        assert_eq!(refusal("dieci è 10"), None);
        assert_eq!(refusal(&"è".repeat(PASSWORD_CHARS_MAX)), None);
        assert_eq!(refusal(&"è".repeat(PASSWORD_CHARS_MAX + 1)), Some(PasswordRefusal::TooLong));
        assert_eq!(refusal("Password123"), Some(PasswordRefusal::Common));
        let allowed = PASSWORD_CHARS_MIN..=PASSWORD_CHARS_MAX;
        assert!(COMMON.is_sorted() && COMMON.iter().all(|common| allowed.contains(&common.len())));
    }

    #[test]
    fn names_parameters_in_hash_that_differs_by_salt() {
        let kept = hash("correct horse battery");
        assert!(kept.phc().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", kept.phc());
        let password = NewPassword::parse("correct horse battery", None).unwrap();
        assert!(compute_password_hash(password, [8; SALT_BYTES]).unwrap() != kept);
        assert!(readable(NOBODY).is_some());
    }

    #[test]
    fn computes_one_hash_with_or_without_account() {
        let (passwords, kept) = (Passwords::default(), hash("correct horse battery"));
        let tries = [
            ("correct horse battery", Some(&kept), true),
            ("correct horse batterY", Some(&kept), false),
            ("correct horse battery", None, false),
            ("", None, false),
            (&"x".repeat(1_000_000), Some(&kept), false),
        ];
        for (number, (typed, kept, expected)) in (1..).zip(tries) {
            assert_eq!(passwords.verify(typed, kept), Ok(expected));
            assert_eq!(passwords.computed(), number, "one computation each");
        }
    }

    #[test]
    fn rejects_hash_with_excessive_memory_cost() {
        let greedy = NOBODY.replace("m=19456", "m=4194304");
        let greedy = PasswordHash::try_from(greedy).unwrap();
        let passwords = Passwords::default();
        assert_eq!((passwords.verify("whatever it is", Some(&greedy)), passwords.computed()), (Ok(false), 1));
    }

    #[test]
    fn refuses_hash_beyond_bound_until_one_ends() {
        let passwords = Passwords::default();
        let mut permits: Vec<_> = (0..PASSWORD_HASHES_MAX).map(|_| passwords.permit().unwrap()).collect();
        let began = Instant::now();
        assert_eq!(passwords.verify("whatever it is", None), Err(PasswordError::Busy));
        assert!(began.elapsed() >= PASSWORD_WAIT);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| passwords.permit().is_ok());
            permits.pop();
            assert!(waiting.join().unwrap());
        });
        drop(permits);
        assert_eq!(*passwords.running.lock(), 0);
    }

    #[test]
    fn refuses_own_address() {
        let own = Email::parse("anna.bianchi@example.org").unwrap();
        for typed in [
            "Anna.Bianchi@example.org",
            " anna.bianchi@example.org",
            "ANNA.bianchi",
            "other.person@example.org",
        ] {
            assert_eq!(
                NewPassword::parse(typed, Some(&own)).err(),
                Some(PasswordRefusal::Address),
                "{typed}"
            );
        }
        for typed in ["anna.bianchi at work", "anna.bianchi.example"] {
            assert!(NewPassword::parse(typed, Some(&own)).is_ok(), "{typed}");
        }
    }
}
