//! How records are written as bytes: fixed-width big-endian numbers and texts with a length before them.
//!
//! Every record begins with its version. A later version may append fields; a reader takes the ones it knows and
//! ignores the rest, and refuses a version whose fields it cannot know. Knows no record and no store.

/// Bytes that do not hold the record that they should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The record ends too early.
    #[error("{record}: {field} needs {expected} bytes, {found} are left")]
    Short {
        /// The kind of record.
        record: &'static str,
        /// The field that did not fit.
        field: &'static str,
        /// Bytes that the field needs.
        expected: usize,
        /// Bytes that are left.
        found: usize,
    },
    /// A later program wrote the record.
    #[error("{record}: version {found}, this program reads 1 to {expected}; use the newer program")]
    Version {
        /// The kind of record.
        record: &'static str,
        /// The newest version that this program knows.
        expected: u8,
        /// The version of the record.
        found: u8,
    },
    /// A field holds what it cannot mean.
    #[error("{record}: {field} holds {found}, which has no meaning")]
    Value {
        /// The kind of record.
        record: &'static str,
        /// The field.
        field: &'static str,
        /// What it holds.
        found: u64,
    },
}

/// Writes one record.
pub struct RecordWriter {
    bytes: Vec<u8>,
}

impl RecordWriter {
    /// A record that begins with its version.
    pub fn new(version: u8) -> RecordWriter {
        let mut bytes = Vec::with_capacity(128);
        bytes.push(version);
        RecordWriter { bytes }
    }

    /// Appends one byte.
    pub fn byte(mut self, value: u8) -> RecordWriter {
        self.bytes.push(value);
        self
    }

    /// Appends 8 bytes.
    pub fn u64(mut self, value: u64) -> RecordWriter {
        self.bytes.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Appends 8 bytes.
    pub fn i64(self, value: i64) -> RecordWriter {
        self.u64(value.cast_unsigned())
    }

    /// Appends bytes whose number the record's form fixes.
    pub fn raw(mut self, value: &[u8]) -> RecordWriter {
        self.bytes.extend_from_slice(value);
        self
    }

    /// Appends a text: two bytes of length and at most 65,535 bytes (a longer one is cut at a character).
    pub fn text(mut self, value: &str) -> RecordWriter {
        let cut = value.floor_char_boundary(usize::from(u16::MAX));
        let text = value.get(..cut).unwrap_or_default();
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// The record.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads one record.
pub struct RecordReader<'b> {
    record: &'static str,
    rest: &'b [u8],
}

impl<'b> RecordReader<'b> {
    /// Begins with the version, which must be 1 to `newest`.
    pub fn new(record: &'static str, newest: u8, bytes: &'b [u8]) -> Result<RecordReader<'b>, DecodeError> {
        let mut reader = RecordReader { record, rest: bytes };
        let found = reader.byte("version")?;
        if found == 0 || found > newest {
            return Err(DecodeError::Version { record, expected: newest, found });
        }
        Ok(reader)
    }

    /// Takes `count` bytes.
    pub fn raw(&mut self, field: &'static str, count: usize) -> Result<&'b [u8], DecodeError> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(DecodeError::Short {
                record: self.record,
                field,
                expected: count,
                found: self.rest.len(),
            }),
        }
    }

    /// Takes so many bytes as an array.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.raw(field, N)?);
        Ok(array)
    }

    /// Takes one byte.
    pub fn byte(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        Ok(u8::from_be_bytes(self.array(field)?))
    }

    /// Takes 8 bytes.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(self.array(field)?))
    }

    /// Takes 8 bytes.
    pub fn i64(&mut self, field: &'static str) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.array(field)?))
    }

    /// Takes a text.
    pub fn text(&mut self, field: &'static str) -> Result<String, DecodeError> {
        let length = usize::from(u16::from_be_bytes(self.array(field)?));
        let bytes = self.raw(field, length)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.meaningless(field, u64::MAX))
    }

    /// The error for a field that holds what it cannot mean.
    pub fn meaningless(&self, field: &'static str, found: u64) -> DecodeError {
        DecodeError::Value { record: self.record, field, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_back_in_the_order_in_which_they_were_written() {
        let bytes = RecordWriter::new(1).byte(7).u64(u64::MAX).i64(-3).text("è vero").raw(&[1, 2]).finish();
        let mut reader = RecordReader::new("test", 1, &bytes).unwrap();
        assert_eq!(reader.byte("a"), Ok(7));
        assert_eq!(reader.u64("b"), Ok(u64::MAX));
        assert_eq!(reader.i64("c"), Ok(-3));
        assert_eq!(reader.text("d").as_deref(), Ok("è vero"));
        assert_eq!(reader.array("e"), Ok([1, 2]));
        assert!(matches!(reader.byte("f"), Err(DecodeError::Short { field: "f", .. })));
    }

    #[test]
    fn a_later_version_is_refused_and_appended_fields_are_ignored() {
        let later = RecordWriter::new(2).u64(1).finish();
        assert!(matches!(RecordReader::new("test", 1, &later), Err(DecodeError::Version { found: 2, .. })));
        let longer = RecordWriter::new(1).u64(5).text("appended").finish();
        assert_eq!(RecordReader::new("test", 1, &longer).unwrap().u64("a"), Ok(5));
    }

    #[test]
    fn every_shorter_record_is_refused() {
        let bytes = RecordWriter::new(1).u64(9).text("abc").finish();
        for length in 0..bytes.len() {
            let read = RecordReader::new("test", 1, &bytes[..length])
                .and_then(|mut reader| Ok((reader.u64("a")?, reader.text("b")?)));
            assert!(read.is_err(), "{length}");
        }
    }
}
