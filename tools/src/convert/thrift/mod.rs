//! A validating parser of Thrift's compact protocol. Every length and count is bounded by the remaining bytes, and a
//! known field must have its defined type. The Parquet library reads the same bytes afterwards without these checks.
//! Does not depend on files.

pub mod definitions;

/// Nesting depth of a skipped value.
const SKIP_DEPTH_MAX: usize = 32;

/// A violation of the protocol or of the definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThriftError {
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
}

impl ThriftError {
    /// An error with the expected and the found value.
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> ThriftError {
        ThriftError { expected: expected.into(), found: found.into() }
    }

    fn thrift() -> ThriftError {
        ThriftError::new("Thrift in compact protocol", "bytes that are none")
    }

    /// The error for bytes that end inside a value.
    pub fn end() -> ThriftError {
        ThriftError::new("whole Thrift values", "an unexpected end")
    }
}

/// Wire types of values, grouped by how they are skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireType {
    /// Boolean. A field header holds it; in lists and maps it takes a byte.
    Boolean,
    /// One byte.
    Byte,
    /// Integers of 16 to 64 bits, and enumerations.
    Integer,
    /// Eight bytes.
    Double,
    /// Bytes or text with a length.
    Binary,
    /// Lists and sets.
    List,
    /// Maps.
    Map,
    /// Structs and unions.
    Struct,
    /// Sixteen bytes.
    Uuid,
}

impl WireType {
    fn of(code: u8) -> Result<WireType, ThriftError> {
        Ok(match code {
            1 | 2 => WireType::Boolean,
            3 => WireType::Byte,
            4..=6 => WireType::Integer,
            7 => WireType::Double,
            8 => WireType::Binary,
            9 | 10 => WireType::List,
            11 => WireType::Map,
            12 => WireType::Struct,
            13 => WireType::Uuid,
            _ => return Err(ThriftError::thrift()),
        })
    }
}

/// The defined type of a value.
#[derive(Debug)]
pub enum ThriftType {
    /// A value of this wire type with any content.
    Plain(WireType),
    /// A list of values of one type.
    List(&'static ThriftType),
    /// A struct with these fields. Other fields may have any type.
    Struct(&'static [(i64, ThriftType)]),
}

impl ThriftType {
    fn wire_type(&self) -> WireType {
        match self {
            ThriftType::Plain(wire_type) => *wire_type,
            ThriftType::List(_) => WireType::List,
            ThriftType::Struct(_) => WireType::Struct,
        }
    }
}

/// A cursor over encoded bytes.
pub struct Cursor<'a> {
    /// The remaining bytes.
    pub bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Reads a field header: returns the wire type and sets the number in `field`. `None` at the end of the struct.
    pub fn field(&mut self, field: &mut i64) -> Result<Option<WireType>, ThriftError> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        let number = match head >> 4 {
            0 => self.signed()?,
            step => field.saturating_add(i64::from(step)),
        };
        // A reader with 16-bit field numbers would confuse a larger number with another field.
        *field = i16::try_from(number).map_err(|_| ThriftError::thrift())?.into();
        WireType::of(head & 0x0f).map(Some)
    }

    /// Reads a list header: the number of elements, which the remaining bytes bound, and their wire type.
    pub fn list(&mut self) -> Result<(usize, WireType), ThriftError> {
        let head = self.byte()?;
        if head == 0 {
            return Ok((0, WireType::Byte));
        }
        let count = match head >> 4 {
            15 => self.varint()?,
            small => u64::from(small),
        };
        let wire_type = WireType::of(head & 0x0f)?;
        Ok((self.elements(count, 1, &[wire_type])?, wire_type))
    }

    /// Reads a signed integer.
    pub fn signed(&mut self) -> Result<i64, ThriftError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// Skips a value of a wire type.
    pub fn skip(&mut self, wire_type: WireType) -> Result<(), ThriftError> {
        self.skip_to_depth(wire_type, SKIP_DEPTH_MAX)
    }

    /// Validates a value against its type and skips it.
    pub fn check(&mut self, form: &ThriftType) -> Result<(), ThriftError> {
        match form {
            ThriftType::Plain(wire_type) => self.skip(*wire_type),
            ThriftType::List(form) => {
                let (count, wire_type) = self.list()?;
                if count > 0 && wire_type != form.wire_type() {
                    return Err(wrong_type(form.wire_type(), wire_type));
                }
                (0..count).try_for_each(|_| self.check(form))
            }
            ThriftType::Struct(fields) => {
                let mut number = 0;
                while let Some(wire_type) = self.field(&mut number)? {
                    match fields.iter().find(|(known, _)| *known == number) {
                        Some((_, form)) if form.wire_type() != wire_type => {
                            return Err(wrong_type(form.wire_type(), wire_type));
                        }
                        Some((_, form)) => self.check(form)?,
                        None => self.skip(wire_type)?,
                    }
                }
                Ok(())
            }
        }
    }

    fn byte(&mut self) -> Result<u8, ThriftError> {
        let (first, rest) = self.bytes.split_first().ok_or_else(ThriftError::end)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn varint(&mut self) -> Result<u64, ThriftError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ThriftError::thrift())
    }

    /// Checks a count of elements, each of at least `bytes_each` bytes.
    fn elements(&self, count: u64, bytes_each: usize, wire_types: &[WireType]) -> Result<usize, ThriftError> {
        let most = self.bytes.len() / bytes_each;
        let found = usize::try_from(count).ok().filter(|count| *count <= most);
        let found = found.ok_or_else(|| {
            ThriftError::new(format!("a list or map of at most {most} elements"), count.to_string())
        })?;
        // Readers disagree on the size of these elements, and Parquet's footers and page headers have none.
        if found > 0 && wire_types.contains(&WireType::Boolean) {
            return Err(ThriftError::new("no list or map of booleans", "one"));
        }
        Ok(found)
    }

    fn advance(&mut self, count: usize) -> Result<(), ThriftError> {
        self.bytes = self.bytes.get(count..).ok_or_else(ThriftError::end)?;
        Ok(())
    }

    fn skip_to_depth(&mut self, wire_type: WireType, depth: usize) -> Result<(), ThriftError> {
        let deeper = depth.checked_sub(1).ok_or_else(ThriftError::thrift)?;
        match wire_type {
            WireType::Boolean => Ok(()),
            WireType::Byte => self.advance(1),
            WireType::Integer => self.varint().map(drop),
            WireType::Double => self.advance(8),
            WireType::Uuid => self.advance(16),
            WireType::Binary => {
                let length = usize::try_from(self.varint()?).map_err(|_| ThriftError::end())?;
                self.advance(length)
            }
            WireType::List => {
                let (count, wire_type) = self.list()?;
                (0..count).try_for_each(|_| self.skip_to_depth(wire_type, deeper))
            }
            WireType::Map => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let wire_types = self.byte()?;
                let (key, value) = (WireType::of(wire_types >> 4)?, WireType::of(wire_types & 0x0f)?);
                (0..self.elements(count, 2, &[key, value])?).try_for_each(|_| {
                    self.skip_to_depth(key, deeper)?;
                    self.skip_to_depth(value, deeper)
                })
            }
            WireType::Struct => {
                let mut field = 0;
                while let Some(wire_type) = self.field(&mut field)? {
                    self.skip_to_depth(wire_type, deeper)?;
                }
                Ok(())
            }
        }
    }
}

fn wrong_type(expected: WireType, found: WireType) -> ThriftError {
    let name = |wire_type| format!("a field of Thrift kind {wire_type:?}");
    ThriftError::new(name(expected), name(found))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NUMBERS: ThriftType =
        ThriftType::Struct(&[(1, ThriftType::Plain(WireType::Integer)), (2, ThriftType::List(&TEXTS))]);
    const TEXTS: ThriftType = ThriftType::Plain(WireType::Binary);

    fn checked(bytes: &[u8]) -> Result<usize, ThriftError> {
        let mut cursor = Cursor { bytes };
        cursor.check(&NUMBERS)?;
        Ok(cursor.bytes.len())
    }

    #[test]
    fn bounds_counts_by_remaining_bytes() {
        let most = [0xff, 0xff, 0xff, 0xff, 0x07];
        // Field 9: a list of 2^31 - 1 doubles, of structs, of booleans; a set; a map of numbers to lists.
        for (head, wire_types) in [(0x99, 0xf7), (0x99, 0xfc), (0x99, 0xf1), (0x9a, 0xf7)] {
            let bytes = [[head, wire_types].as_slice(), &most, &[0; 64]].concat();
            assert!(
                checked(&bytes).unwrap_err().expected.contains("at most 64 elements"),
                "{head:x} {wire_types:x}"
            );
        }
        let map = [[0x9b].as_slice(), &most, &[0x59], &[0; 64]].concat();
        assert!(checked(&map).unwrap_err().expected.contains("at most 32 elements"));
        let nested = [[0x99, 0x19, 0xf7].as_slice(), &most, &[0; 64]].concat();
        assert!(checked(&nested).unwrap_err().expected.contains("at most 64 elements"));
    }

    #[test]
    fn checks_type_and_number_of_known_fields() {
        assert_eq!(checked(&[0x15, 0x02, 0x19, 0x18, 0x01, b'a', 0x00, 7]), Ok(1));
        assert!(checked(&[0x19, 0x18, 0x01, b'a', 0x00]).unwrap_err().expected.contains("Integer"));
        assert!(checked(&[0x15, 0x02, 0x19, 0x15, 0x02, 0x00]).unwrap_err().expected.contains("Binary"));
        // Field 65,537 is not field 1 to a reader with 16 bits.
        assert!(checked(&[0x05, 0x82, 0x80, 0x08, 0x02, 0x00]).is_err());
        assert!(checked(&[0x29, 0x22, 1, 1, 0x00]).unwrap_err().found.contains("one"));
    }

    proptest! {
        #[test]
        fn parses_arbitrary_bytes_in_linear_time(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let begun = std::time::Instant::now();
            let _ = checked(&bytes);
            prop_assert!(begun.elapsed() < std::time::Duration::from_secs(1));
        }
    }
}
