//! Thrift's compact protocol, read without trust: every length and every count is bounded by the bytes that are
//! there, and a field that `parquet.thrift` knows must have the kind that it says. The Parquet library reads the same
//! bytes afterwards and believes them; what passes here cannot keep it busy. Knows no file.

/// Structs and lists inside a value that is skipped.
const SKIP_DEPTH_MAX: usize = 32;

/// What bytes should be and are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What would have been right.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl Fault {
    /// A fault in words.
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Fault {
        Fault { expected: expected.into(), found: found.into() }
    }

    fn thrift() -> Fault {
        Fault::new("Thrift in compact protocol", "bytes that are none")
    }

    /// The bytes end inside a value.
    pub fn end() -> Fault {
        Fault::new("whole Thrift values", "an unexpected end")
    }
}

/// Kinds of values by how they are skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A field's head carries it; in lists and maps it takes a byte.
    Boolean,
    /// One byte.
    Byte,
    /// Whole numbers of 16 to 64 bits, and enumerations.
    Integer,
    /// Eight bytes.
    Double,
    /// Bytes or text with their length.
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

impl Kind {
    fn of(code: u8) -> Result<Kind, Fault> {
        Ok(match code {
            1 | 2 => Kind::Boolean,
            3 => Kind::Byte,
            4..=6 => Kind::Integer,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct,
            13 => Kind::Uuid,
            _ => return Err(Fault::thrift()),
        })
    }
}

/// What a value must be where `parquet.thrift` knows it.
#[derive(Debug)]
pub enum Form {
    /// A value of this kind, whatever is in it.
    Plain(Kind),
    /// A list of such values.
    List(&'static Form),
    /// A struct with fields of these numbers; others may be anything.
    Struct(&'static [(i64, Form)]),
}

impl Form {
    fn kind(&self) -> Kind {
        match self {
            Form::Plain(kind) => *kind,
            Form::List(_) => Kind::List,
            Form::Struct(_) => Kind::Struct,
        }
    }
}

/// Bytes that are read from the front.
pub struct Cursor<'a> {
    /// What is left.
    pub bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// The next field's kind, with its number in `field`; nothing at the end of the struct.
    pub fn field(&mut self, field: &mut i64) -> Result<Option<Kind>, Fault> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        let number = match head >> 4 {
            0 => self.signed()?,
            step => field.saturating_add(i64::from(step)),
        };
        // A reader that keeps 16 bits of the number would take a larger one for another field.
        *field = i16::try_from(number).map_err(|_| Fault::thrift())?.into();
        Kind::of(head & 0x0f).map(Some)
    }

    /// A number of elements, no more than there are bytes, and their kind.
    pub fn list(&mut self) -> Result<(usize, Kind), Fault> {
        let head = self.byte()?;
        if head == 0 {
            return Ok((0, Kind::Byte));
        }
        let count = match head >> 4 {
            15 => self.varint()?,
            small => u64::from(small),
        };
        let kind = Kind::of(head & 0x0f)?;
        Ok((self.elements(count, 1, &[kind])?, kind))
    }

    /// A whole number.
    pub fn signed(&mut self) -> Result<i64, Fault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// Passes a value of which only the kind is known.
    pub fn skip(&mut self, kind: Kind) -> Result<(), Fault> {
        self.skip_to_depth(kind, SKIP_DEPTH_MAX)
    }

    /// Passes a value that must have this form, to its last byte.
    pub fn check(&mut self, form: &Form) -> Result<(), Fault> {
        match form {
            Form::Plain(kind) => self.skip(*kind),
            Form::List(form) => {
                let (count, kind) = self.list()?;
                if count > 0 && kind != form.kind() {
                    return Err(wrong_kind(form.kind(), kind));
                }
                (0..count).try_for_each(|_| self.check(form))
            }
            Form::Struct(fields) => {
                let mut number = 0;
                while let Some(kind) = self.field(&mut number)? {
                    match fields.iter().find(|(known, _)| *known == number) {
                        Some((_, form)) if form.kind() != kind => return Err(wrong_kind(form.kind(), kind)),
                        Some((_, form)) => self.check(form)?,
                        None => self.skip(kind)?,
                    }
                }
                Ok(())
            }
        }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let (first, rest) = self.bytes.split_first().ok_or_else(Fault::end)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::thrift())
    }

    /// Checks a count of elements of `bytes_each` bytes or more.
    fn elements(&self, count: u64, bytes_each: usize, kinds: &[Kind]) -> Result<usize, Fault> {
        let most = self.bytes.len() / bytes_each;
        let found = usize::try_from(count).ok().filter(|count| *count <= most);
        let found = found.ok_or_else(|| {
            Fault::new(format!("a list or map of at most {most} elements"), count.to_string())
        })?;
        // Readers disagree whether these take a byte, and Parquet's footers and page headers have none.
        if found > 0 && kinds.contains(&Kind::Boolean) {
            return Err(Fault::new("no list or map of booleans", "one"));
        }
        Ok(found)
    }

    fn advance(&mut self, count: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.get(count..).ok_or_else(Fault::end)?;
        Ok(())
    }

    fn skip_to_depth(&mut self, kind: Kind, depth: usize) -> Result<(), Fault> {
        let deeper = depth.checked_sub(1).ok_or_else(Fault::thrift)?;
        match kind {
            Kind::Boolean => Ok(()),
            Kind::Byte => self.advance(1),
            Kind::Integer => self.varint().map(drop),
            Kind::Double => self.advance(8),
            Kind::Uuid => self.advance(16),
            Kind::Binary => {
                let length = usize::try_from(self.varint()?).map_err(|_| Fault::end())?;
                self.advance(length)
            }
            Kind::List => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_to_depth(kind, deeper))
            }
            Kind::Map => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                let (key, value) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 0x0f)?);
                (0..self.elements(count, 2, &[key, value])?).try_for_each(|_| {
                    self.skip_to_depth(key, deeper)?;
                    self.skip_to_depth(value, deeper)
                })
            }
            Kind::Struct => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip_to_depth(kind, deeper)?;
                }
                Ok(())
            }
        }
    }
}

fn wrong_kind(expected: Kind, found: Kind) -> Fault {
    let name = |kind| format!("a field of Thrift kind {kind:?}");
    Fault::new(name(expected), name(found))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NUMBERS: Form = Form::Struct(&[(1, Form::Plain(Kind::Integer)), (2, Form::List(&TEXTS))]);
    const TEXTS: Form = Form::Plain(Kind::Binary);

    fn checked(bytes: &[u8]) -> Result<usize, Fault> {
        let mut cursor = Cursor { bytes };
        cursor.check(&NUMBERS)?;
        Ok(cursor.bytes.len())
    }

    #[test]
    fn counts_are_bounded_by_the_bytes_that_are_there() {
        let most = [0xff, 0xff, 0xff, 0xff, 0x07];
        // Field 9: a list of 2^31 - 1 doubles, of structs, of booleans; a set; a map of numbers to lists.
        for (head, kinds) in [(0x99, 0xf7), (0x99, 0xfc), (0x99, 0xf1), (0x9a, 0xf7)] {
            let bytes = [[head, kinds].as_slice(), &most, &[0; 64]].concat();
            assert!(
                checked(&bytes).unwrap_err().expected.contains("at most 64 elements"),
                "{head:x} {kinds:x}"
            );
        }
        let map = [[0x9b].as_slice(), &most, &[0x59], &[0; 64]].concat();
        assert!(checked(&map).unwrap_err().expected.contains("at most 32 elements"));
        let nested = [[0x99, 0x19, 0xf7].as_slice(), &most, &[0; 64]].concat();
        assert!(checked(&nested).unwrap_err().expected.contains("at most 64 elements"));
    }

    #[test]
    fn a_known_field_has_its_kind_and_its_number() {
        assert_eq!(checked(&[0x15, 0x02, 0x19, 0x18, 0x01, b'a', 0x00, 7]), Ok(1));
        assert!(checked(&[0x19, 0x18, 0x01, b'a', 0x00]).unwrap_err().expected.contains("Integer"));
        assert!(checked(&[0x15, 0x02, 0x19, 0x15, 0x02, 0x00]).unwrap_err().expected.contains("Binary"));
        // Field 65,537 is not field 1 to a reader with 16 bits.
        assert!(checked(&[0x05, 0x82, 0x80, 0x08, 0x02, 0x00]).is_err());
        assert!(checked(&[0x29, 0x22, 1, 1, 0x00]).unwrap_err().found.contains("one"));
    }

    proptest! {
        #[test]
        fn no_bytes_take_longer_than_they_are_long(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let begun = std::time::Instant::now();
            let _ = checked(&bytes);
            prop_assert!(begun.elapsed() < std::time::Duration::from_secs(1));
        }
    }
}
