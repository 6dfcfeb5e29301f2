//! The encoding of records: a byte for the version, then the fields by postcard.
//!
//! Postcard writes numbers with variable length and texts behind their length. Does not depend on the types of
//! records.

use serde::{Deserialize, Serialize};

/// A value that the books keep as bytes.
pub trait Record: Serialize + Sized {
    /// The name in errors.
    const NAME: &'static str;
    /// The version that is written and read. A change of the fields needs the next version.
    const VERSION: u8 = 1;

    /// The bytes of the record.
    fn encode(&self) -> Vec<u8> {
        self.append_to(Vec::with_capacity(64))
    }

    /// Appends the bytes of the record.
    fn append_to(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.push(Self::VERSION);
        // Postcard refuses only sequences of unknown length, and no record has one.
        postcard::to_extend(self, bytes).unwrap_or_default()
    }

    /// The record that these bytes are.
    fn decode<'b>(bytes: &'b [u8]) -> Result<Self, DecodeError>
    where
        Self: Deserialize<'b>,
    {
        match Self::take(bytes)? {
            (record, []) => Ok(record),
            (_, rest) => Err(DecodeError::Longer { record: Self::NAME, bytes: rest.len() }),
        }
    }

    /// The record that these bytes begin with, and the bytes behind it.
    fn take<'b>(bytes: &'b [u8]) -> Result<(Self, &'b [u8]), DecodeError>
    where
        Self: Deserialize<'b>,
    {
        let record = Self::NAME;
        let (version, fields) = bytes.split_first().ok_or(DecodeError::Empty { record })?;
        if *version != Self::VERSION {
            return Err(DecodeError::Version { record, expected: Self::VERSION, found: *version });
        }
        postcard::take_from_bytes(fields).map_err(|source| DecodeError::Fields { record, source })
    }
}

/// Bytes that do not hold the record that they should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// There are no bytes.
    #[error("{record}: the record is empty")]
    Empty {
        /// The kind of record.
        record: &'static str,
    },
    /// Another program wrote the record.
    #[error("{record}: version {found}, this program reads {expected}; use the program that wrote it")]
    Version {
        /// The kind of record.
        record: &'static str,
        /// The version that this program reads.
        expected: u8,
        /// The version of the record.
        found: u8,
    },
    /// The fields are truncated or invalid.
    #[error("{record}: {source}")]
    Fields {
        /// The kind of record.
        record: &'static str,
        source: postcard::Error,
    },
    /// More follows than the fields.
    #[error("{record}: {bytes} bytes follow its fields")]
    Longer {
        /// The kind of record.
        record: &'static str,
        /// Bytes that follow.
        bytes: usize,
    },
    /// A field breaks a rule.
    #[error("{record}: {field} breaks its rule")]
    Rule {
        /// The kind of record.
        record: &'static str,
        field: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Sample<'t> {
        number: u64,
        change: i64,
        text: &'t str,
        hash: Option<[u8; 2]>,
    }

    impl Record for Sample<'_> {
        const NAME: &'static str = "sample";
        const VERSION: u8 = 3;
    }

    const SAMPLE: Sample<'_> = Sample { number: u64::MAX, change: -3, text: "è vero", hash: Some([1, 2]) };

    #[test]
    fn round_trips_record() {
        assert_eq!(Sample::decode(&SAMPLE.encode()), Ok(SAMPLE));
        let small = Sample { number: 9, change: 0, text: "", hash: None };
        assert_eq!(small.encode(), [3, 9, 0, 0, 0]);
    }

    #[test]
    fn refuses_truncated_extended_and_unknown_versions() {
        let mut bytes = SAMPLE.encode();
        for length in 0..bytes.len() {
            assert!(Sample::decode(&bytes[..length]).is_err(), "{length}");
        }
        bytes.push(0);
        assert_eq!(Sample::decode(&bytes), Err(DecodeError::Longer { record: "sample", bytes: 1 }));
        assert_eq!(Sample::take(&bytes), Ok((SAMPLE, [0].as_slice())));
        for version in [0, 2, 4] {
            bytes[0] = version;
            let refused = DecodeError::Version { record: "sample", expected: 3, found: version };
            assert_eq!(Sample::decode(&bytes), Err(refused));
        }
    }
}
