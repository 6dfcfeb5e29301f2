//! Slugs: names of datasets in paths.

use std::fmt;

/// Length limit of a slug.
pub const SLUG_SIZE_BYTES_MAX: usize = 64;
/// Words that paths of the API use in place of a slug.
const RESERVED: [&str; 2] = ["search", "relations"];

/// `[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?`
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(String);

/// Why a text is not a slug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlugError {
    /// It does not match the pattern.
    #[error("a slug is 1 to {SLUG_SIZE_BYTES_MAX} lower-case letters, digits and inner hyphens")]
    Pattern,
    /// The API reserves the word.
    #[error("the word `{0}` is reserved and cannot be the slug of a dataset")]
    Reserved(&'static str),
}

impl Slug {
    /// Checks the pattern.
    pub fn parse(text: &str) -> Result<Self, SlugError> {
        let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        let ends = bytes.first().is_some_and(alphanumeric) && bytes.last().is_some_and(alphanumeric);
        let inside = bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-');
        if ends && inside && bytes.len() <= SLUG_SIZE_BYTES_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(SlugError::Pattern)
        }
    }

    /// Checks the pattern and the reserved words.
    pub fn parse_new(text: &str) -> Result<Self, SlugError> {
        match RESERVED.into_iter().find(|word| *word == text) {
            Some(word) => Err(SlugError::Reserved(word)),
            None => Self::parse(text),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Slug {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validates_slug_pattern() {
        let longest = "a".repeat(64);
        for good in ["a", "0", "ab", "a-b", "a--b", "tpch-lineitem", longest.as_str()] {
            assert!(Slug::parse(good).is_ok(), "{good}");
        }
        let too_long = "a".repeat(65);
        for bad in ["", "-", "-a", "a-", "A", "a_b", "a.b", "a/b", "..", "é", "a b", too_long.as_str()] {
            assert_eq!(Slug::parse(bad), Err(SlugError::Pattern), "{bad}");
        }
    }

    #[test]
    fn rejects_reserved_words() {
        assert_eq!(Slug::parse_new("search"), Err(SlugError::Reserved("search")));
        assert!(Slug::parse("search").is_ok());
    }
}
