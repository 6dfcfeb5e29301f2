//! The content fingerprint of a store file. Does not depend on files.

/// A 128-bit hash of the contents: equal files have equal fingerprints.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 16]);

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{self}")
    }
}

impl std::str::FromStr for Fingerprint {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Fingerprint, Self::Err> {
        u128::from_str_radix(text, 16).map(|number| Fingerprint(number.to_be_bytes()))
    }
}
