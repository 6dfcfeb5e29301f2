//! The form of an API key: how one is made from random bytes, recognised, and turned into the hash that is kept.
//!
//! `mk_`, then 43 base62 characters that carry 256 random bits, then 6 base62 characters of checksum. The checksum
//! refuses a typing error without a look-up; it protects nothing else. The plain key exists only in the answer
//! that creates it. Does not depend on accounts or stores.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use xxhash_rust::xxh3::xxh3_64;

const PREFIX: &str = "mk_";
pub const RANDOM_CHARACTERS: usize = 43;
const CHECKSUM_CHARACTERS: usize = 6;
const SHOWN_CHARACTERS: usize = 6;
/// Length of every key.
pub const KEY_CHARACTERS: usize = PREFIX.len() + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS;
/// Random bytes that a key is made from.
pub const KEY_RANDOM_BYTES: usize = 32;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
// A base62 digit carries 5.954 bits, so 43 digits hold every value of 32 bytes.
const _: () = assert!(RANDOM_CHARACTERS * 5_954 > KEY_RANDOM_BYTES * 8 * 1_000);

/// A key in the clear. Has no `Debug` and no `Display`, so that it cannot slip into a log.
pub struct PlainKey(String);

impl PlainKey {
    /// The key that these random bytes spell.
    pub fn from_random(random: [u8; KEY_RANDOM_BYTES]) -> PlainKey {
        let body = format!("{PREFIX}{}", spell(random));
        let checksum = checksum(&body);
        PlainKey(body + &checksum)
    }

    /// The text, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash that the books keep in place of the key.
    pub fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }

    /// The first characters, by which its owner recognises it.
    pub fn shown_prefix(&self) -> String {
        self.0.chars().take(PREFIX.len() + SHOWN_CHARACTERS).collect()
    }
}

/// SHA-256 of a key. The key carries 256 random bits, so the hash needs no salt and no stretching.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// The hash of what a caller presented, unless the text alone shows that it is no key. Compares it with no key.
    pub fn of_presented(presented: &str) -> Result<KeyHash, NotAKey> {
        check_form(presented)?;
        Ok(KeyHash::of(presented))
    }

    /// The hash that these bytes are.
    pub const fn from_bytes(bytes: [u8; 32]) -> KeyHash {
        KeyHash(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The part by which the hash is found; whether it is the same hash, [`KeyHash::matches`] says.
    pub fn handle(&self) -> u64 {
        let mut head = [0; 8];
        head.copy_from_slice(self.0.first_chunk::<8>().unwrap_or(&[0; 8]));
        u64::from_be_bytes(head)
    }

    /// Compares in a time that does not depend on where the two differ.
    pub fn matches(&self, other: &KeyHash) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    fn of(text: &str) -> KeyHash {
        KeyHash(Sha256::digest(text.as_bytes()).into())
    }
}

/// Why a text is no key, whatever keys there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAKey {
    /// It is not formed like one.
    Form,
    /// It is formed like one, and its last characters do not fit the others.
    Checksum,
}

/// Whether a text has the form of a key and its checksum holds.
fn check_form(text: &str) -> Result<(), NotAKey> {
    let letters = text.strip_prefix(PREFIX).filter(|_| text.len() == KEY_CHARACTERS).ok_or(NotAKey::Form)?;
    let (body, found) = text.split_at_checked(KEY_CHARACTERS - CHECKSUM_CHARACTERS).ok_or(NotAKey::Form)?;
    if !letters.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(NotAKey::Form);
    }
    if checksum(body) == found { Ok(()) } else { Err(NotAKey::Checksum) }
}

/// Random bytes as so many base62 characters.
pub fn spell(mut random: [u8; KEY_RANDOM_BYTES]) -> String {
    (0..RANDOM_CHARACTERS).map(|_| base62(divide(&mut random, 62))).collect()
}

fn checksum(body: &str) -> String {
    let mut rest = xxh3_64(body.as_bytes());
    let mut text = String::with_capacity(CHECKSUM_CHARACTERS);
    for _ in 0..CHECKSUM_CHARACTERS {
        text.push(base62((rest % 62) as u32));
        rest /= 62;
    }
    text
}

/// Divides the big-endian number in place and returns the remainder.
fn divide(number: &mut [u8], divisor: u32) -> u32 {
    let mut remainder = 0;
    for byte in number {
        let dividend = remainder << 8 | u32::from(*byte);
        *byte = (dividend / divisor) as u8;
        remainder = dividend % divisor;
    }
    remainder
}

fn base62(digit: u32) -> char {
    ALPHABET.get(digit as usize).map_or('0', |byte| char::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn accepts_every_key_and_rejects_single_typos(
            random in any::<[u8; KEY_RANDOM_BYTES]>(),
            place in 0..KEY_CHARACTERS,
            other in 0..62_u32,
        ) {
            let key = PlainKey::from_random(random);
            prop_assert_eq!(key.reveal().len(), KEY_CHARACTERS);
            prop_assert!(KeyHash::of_presented(key.reveal()).unwrap().matches(&key.hash()));
            let mut typed: Vec<char> = key.reveal().chars().collect();
            let right = std::mem::replace(&mut typed[place], base62(other));
            prop_assume!(typed[place] != right);
            let typed: String = typed.into_iter().collect();
            let expected = if place < PREFIX.len() { NotAKey::Form } else { NotAKey::Checksum };
            prop_assert_eq!(KeyHash::of_presented(&typed).err(), Some(expected));
        }

        #[test]
        fn rejects_swapped_neighbours(random in any::<[u8; KEY_RANDOM_BYTES]>(), place in 3..KEY_CHARACTERS - 1) {
            let mut typed: Vec<char> = PlainKey::from_random(random).reveal().chars().collect();
            prop_assume!(typed[place] != typed[place + 1]);
            typed.swap(place, place + 1);
            let typed: String = typed.into_iter().collect();
            prop_assert_eq!(KeyHash::of_presented(&typed).err(), Some(NotAKey::Checksum));
        }
    }

    #[test]
    fn derives_different_keys_from_different_random_bytes() {
        let mut random = [0; KEY_RANDOM_BYTES];
        let zero = PlainKey::from_random(random);
        random[KEY_RANDOM_BYTES - 1] = 1;
        assert_ne!(zero.reveal(), PlainKey::from_random(random).reveal());
        assert!(!zero.hash().matches(&PlainKey::from_random(random).hash()));
    }

    #[test]
    fn rejects_malformed_keys() {
        for wrong in ["", "mk_", "x", "Bearer mk_abc", &"mk_é".repeat(13), &"a".repeat(KEY_CHARACTERS)] {
            assert_eq!(KeyHash::of_presented(wrong).err(), Some(NotAKey::Form), "{wrong}");
        }
    }
}
