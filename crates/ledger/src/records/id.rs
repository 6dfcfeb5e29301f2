//! Ids of accounts, keys and reservations.
//!
//! Their printed form has a prefix, such as `acc_17`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that was to name an account or a key and does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an id like `{expected}`, found `{found}`")]
pub struct IdError {
    /// An example of the right form.
    pub expected: &'static str,
    pub found: String,
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub struct $name(u64);

        impl $name {
            /// The id with this number.
            pub const fn from_number(number: u64) -> $name {
                $name(number)
            }

            /// The number of this id.
            pub const fn number(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, concat!($prefix, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<$name, IdError> {
                let digits = text.strip_prefix($prefix).unwrap_or(text);
                let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                match digits.parse() {
                    Ok(number) if plain => Ok($name(number)),
                    _ => Err(IdError { expected: $example, found: text.chars().take(40).collect() }),
                }
            }
        }
    };
}

identifier!(
    /// An account; displays as `acc_17`.
    AccountId, "acc_", "acc_17"
);
identifier!(
    /// An API key; displays as `key_5`. The id is no secret.
    KeyId, "key_", "key_5"
);
identifier!(
    /// A reservation: the sequence of the entry that opened it; displays as `res_90`.
    ReservationId, "res_", "res_90"
);

impl KeyId {
    /// The id with this number; zero stands for none.
    pub const fn optional(number: u64) -> Option<KeyId> {
        if number == 0 { None } else { Some(KeyId(number)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_printed_id() {
        assert_eq!("acc_17".parse(), Ok(AccountId::from_number(17)));
        assert_eq!("17".parse(), Ok(AccountId::from_number(17)));
        assert_eq!(KeyId::from_number(5).to_string(), "key_5");
        for wrong in ["", "acc_", "key_1", "acc_+1", "acc_-1", "acc_99999999999999999999"] {
            assert!(wrong.parse::<AccountId>().is_err(), "{wrong}");
        }
    }
}
