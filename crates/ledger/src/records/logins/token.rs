//! Tokens of sessions and of links in mails: made from random bytes, recognised by form, and stored as a hash.
//!
//! 43 base62 characters that carry 256 random bits. The plain token exists only in the answer that creates it. Does not
//! depend on accounts or the store.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::api_key::{KEY_RANDOM_BYTES, RANDOM_CHARACTERS, spell};
use crate::codec::Record;
use crate::id::AccountId;
use mercato_base::clock::Moment;

/// Random bytes that a token is made from.
pub const TOKEN_RANDOM_BYTES: usize = KEY_RANDOM_BYTES;

/// A token in the clear. Has no `Debug` and no `Display`, so that it cannot slip into a log.
pub struct PlainToken(String);

impl PlainToken {
    /// The token that these random bytes spell.
    pub fn from_random(random: [u8; TOKEN_RANDOM_BYTES]) -> PlainToken {
        PlainToken(spell(random))
    }

    /// The text, to be handed to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash, which the books hold.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

/// SHA-256 of a token. The token carries 256 random bits, so the hash needs no salt and no stretching.
#[derive(Clone, Copy, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a presented text, unless the form of the text shows that it is no token.
    pub fn of_presented(presented: &str) -> Option<TokenHash> {
        let is_token = presented.len() == RANDOM_CHARACTERS
            && presented.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_token.then(|| TokenHash::of(presented))
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> TokenHash {
        TokenHash(bytes)
    }

    fn of(text: &str) -> TokenHash {
        TokenHash(Sha256::digest(text.as_bytes()).into())
    }
}

impl PartialEq for TokenHash {
    /// Compares in a time that does not depend on where the two differ.
    fn eq(&self, other: &TokenHash) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for TokenHash {}

impl Hash for TokenHash {
    fn hash<H: Hasher>(&self, out: &mut H) {
        self.0.hash(out);
    }
}

/// A record that is found by the hash of its token and ends on its own.
pub trait TokenRecord: Record {
    fn token(&self) -> TokenHash;
    fn account(&self) -> AccountId;
    fn created_at(&self) -> Moment;
    /// From this moment on it counts for nothing.
    fn ends_at(&self) -> Moment;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_tokens_only() {
        let token = PlainToken::from_random([7; TOKEN_RANDOM_BYTES]);
        assert_eq!(token.reveal().len(), RANDOM_CHARACTERS);
        assert_eq!(TokenHash::of_presented(token.reveal()), Some(token.hash()));
        assert_ne!(PlainToken::from_random([8; TOKEN_RANDOM_BYTES]).hash(), token.hash());
        let mut signs = token.reveal().to_owned();
        signs.replace_range(0..1, "-");
        for wrong in ["", "x", &signs, &format!("{}0", token.reveal()), &"x".repeat(1_000_000)] {
            assert_eq!(TokenHash::of_presented(wrong), None);
        }
    }
}
