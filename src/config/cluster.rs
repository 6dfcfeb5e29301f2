//! Flags of versions in an object store: the store, the cache, and what is fetched ahead.

use std::fmt;
use std::path::PathBuf;

use serde::de::{Deserializer, Error, Visitor};

use super::{ConfigError, TypedFlags, defaults};

/// A size in bytes: `64GiB`, `500MB` or `1048576`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl std::str::FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<ByteSize, String> {
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let factor: u64 = match unit {
            "" | "B" => 1,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "TiB" => 1 << 40,
            other => {
                return Err(format!(
                    "unknown unit `{other}`; expected B, KiB, MiB, GiB, TiB, KB, MB, GB or TB"
                ));
            }
        };
        let number: u64 =
            number.parse().map_err(|_| format!("expected a size like 64GiB, found `{text}`"))?;
        number.checked_mul(factor).map(ByteSize).ok_or_else(|| format!("`{text}` is too large"))
    }
}

impl<'de> serde::Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ByteSize, D::Error> {
        struct Size;
        impl Visitor<'_> for Size {
            type Value = ByteSize;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a size like \"64GiB\", or bytes")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ByteSize, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, bytes: i64) -> Result<ByteSize, E> {
                u64::try_from(bytes).map(ByteSize).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Size)
    }
}

/// Versions in an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// The address, `s3://bucket/prefix`.
    pub url: String,
    /// Directory of the cache.
    pub cache: PathBuf,
    /// Most bytes of versions in it.
    pub cache_bytes: u64,
    /// `all`, `featured` or `none`.
    pub prefetch: String,
}

impl StoreSettings {
    /// Checks what was typed; nothing where versions lie in the data directory.
    pub(super) fn resolve(typed: &TypedFlags) -> Result<Option<Self>, ConfigError> {
        let needs = |flag| Err(ConfigError::Needs { flag, needed: "store" });
        let Some(url) = typed.store.clone() else {
            return match typed {
                TypedFlags { cache: Some(_), .. } => needs("cache"),
                TypedFlags { cache_bytes: Some(_), .. } => needs("cache-bytes"),
                TypedFlags { prefetch: Some(_), .. } => needs("prefetch"),
                _ => Ok(None),
            };
        };
        if typed.books.is_none() {
            return Err(ConfigError::Needs { flag: "store", needed: "books" });
        }
        let prefetch = typed.prefetch.clone().unwrap_or_else(|| defaults::PREFETCH.to_owned());
        if !matches!(prefetch.as_str(), "all" | "featured" | "none") {
            let expected = "all, featured or none";
            return Err(ConfigError::Value { flag: "prefetch", found: prefetch, expected });
        }
        let data = typed.data.clone().ok_or(ConfigError::Missing { flag: "data" })?;
        let cache_bytes = typed.cache_bytes.map_or(defaults::CACHE_BYTES, |ByteSize(bytes)| bytes);
        if cache_bytes == 0 {
            let (flag, found) = ("cache-bytes", "0".to_owned());
            return Err(ConfigError::Value { flag, found, expected: "more than no byte" });
        }
        let cache = typed.cache.clone().unwrap_or_else(|| data.join("cache"));
        Ok(Some(Self { url, cache, cache_bytes, prefetch }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes_with_units() {
        let parse = |text: &str| text.parse::<ByteSize>().map(|ByteSize(bytes)| bytes);
        assert_eq!(parse("2GiB"), Ok(2 << 30));
        assert_eq!(parse("512MB"), Ok(512_000_000));
        assert_eq!(parse("77"), Ok(77));
        for wrong in ["", "GiB", "1.5GiB", "2 GiB", "2gib", "99999999999GiB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
