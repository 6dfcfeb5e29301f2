//! Marks of devices on which the owner of an account has signed in: what a browser keeps, and what it proves.
//!
//! A mark is random bytes with their HMAC under the hash of the password. So every server that has the books recognises it,
//! nothing is stored, and a changed password ends all marks. Does not depend on cookies.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use mercato_ledger::Login;

/// Random bytes of a mark.
pub const DEVICE_RANDOM_BYTES: usize = 16;
const RANDOM_DIGITS: usize = 2 * DEVICE_RANDOM_BYTES;
const PURPOSE: &[u8] = b"mercato device\0";

/// The mark of a device on which this login was used, from random bytes of the operating system.
pub fn device_mark(login: &Login, random: [u8; DEVICE_RANDOM_BYTES]) -> Option<String> {
    let proof = keyed(login, &random)?.finalize().into_bytes();
    Some(random.iter().chain(&proof).map(|byte| format!("{byte:02x}")).collect())
}

/// The random bytes of a mark that was made for this login and its present password.
pub(super) fn recognised(login: &Login, mark: &str) -> Option<[u8; DEVICE_RANDOM_BYTES]> {
    let (random, proof) = mark.split_at_checked(RANDOM_DIGITS)?;
    let random: [u8; DEVICE_RANDOM_BYTES] = bytes(random)?.try_into().ok()?;
    keyed(login, &random)?.verify_slice(&bytes(proof)?).ok()?;
    Some(random)
}

fn keyed(login: &Login, random: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(login.password.phc().as_bytes()).ok()?;
    mac.update(PURPOSE);
    mac.update(&login.account.number().to_be_bytes());
    mac.update(random);
    Some(mac)
}

/// The bytes of lower-case hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let is_plain = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let pairs = digits.as_bytes().chunks_exact(2);
    if !is_plain || !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercato_base::clock::Moment;
    use mercato_ledger::{AccountId, Email, PasswordHash};

    fn login(account: u64, salt: char) -> Login {
        let phc = format!(
            "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAA{salt}A$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        );
        Login {
            account: AccountId::from_number(account),
            email: Email::parse("anna@example.org").unwrap(),
            password: PasswordHash::try_from(phc).unwrap(),
            created_at: Moment::from_unix_millis(0),
            confirmed_at: None,
        }
    }

    #[test]
    fn recognises_mark_of_same_account_and_password_only() {
        let mark = device_mark(&login(1, 'A'), [7; 16]).unwrap();
        assert_eq!(recognised(&login(1, 'A'), &mark), Some([7; 16]));
        assert_eq!(recognised(&login(2, 'A'), &mark), None);
        assert_eq!(recognised(&login(1, 'B'), &mark), None);
        let forged = mark.replacen("07", "08", 1);
        for wrong in ["", "é", &mark[..95], &mark[..32], &forged, &format!("{mark}0"), &mark.to_uppercase()]
        {
            assert_eq!(recognised(&login(1, 'A'), wrong), None, "{wrong}");
        }
    }
}
