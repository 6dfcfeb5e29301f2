//! Looks at the schema inside a Parquet footer before the Parquet library does, because the library builds it by
//! recursion and reserves what it is told: depth and counts are checked here first. Reads Thrift's compact
//! protocol, and of it only the way to the schema. Knows no type of Parquet.

use super::limits::{FOOTER_BYTES_MAX, NESTING_DEPTH_MAX, SCHEMA_ELEMENTS_MAX};
use super::source::Source;
use crate::failure::Failure;

const MAGIC: &[u8; 4] = b"PAR1";
const MAGIC_ENCRYPTED: &[u8; 4] = b"PARE";
const TAIL_BYTES: u64 = 8;
/// Structs and lists inside a schema element that is skipped.
const SKIP_DEPTH_MAX: usize = 32;

/// Field numbers of `parquet.thrift`.
const FIELD_SCHEMA: i64 = 2;
const FIELD_CHILD_COUNT: i64 = 5;

/// Checks the tail, the length of the footer and the shape of its schema.
///
/// # Errors
/// A refusal that names the footer, or an error of reading.
pub fn check(source: &Source) -> Result<(), Failure> {
    let refuse = |expected: String, found: String| Failure::Refused {
        file: source.path().display().to_string(),
        section: "Parquet footer".into(),
        expected,
        found,
        remedy: "the file is no Parquet file, or is damaged or incomplete: get it again from its source"
            .into(),
    };
    let io = |error| Failure::Io { file: source.path().display().to_string(), action: "read", source: error };
    let length = source.byte_length();
    if length < TAIL_BYTES + MAGIC.len() as u64 {
        return Err(refuse("at least 12 bytes".into(), format!("{length}")));
    }
    let tail = source.read_exactly(length - TAIL_BYTES, TAIL_BYTES as usize).map_err(io)?;
    let (size, magic) = tail.split_at(4);
    if magic == MAGIC_ENCRYPTED {
        return Err(refuse("a plain footer".into(), "an encrypted one".into()));
    }
    if magic != MAGIC {
        return Err(refuse("the four bytes PAR1 at the end".into(), format!("{magic:02x?}")));
    }
    let size = u64::from(u32::from_le_bytes(size.try_into().unwrap_or_default()));
    let room = (length - TAIL_BYTES - MAGIC.len() as u64).min(FOOTER_BYTES_MAX);
    if size == 0 || size > room {
        return Err(refuse(format!("a footer of 1 to {room} bytes"), format!("{size}")));
    }
    let bytes = source.read_exactly(length - TAIL_BYTES - size, size as usize).map_err(io)?;
    check_schema(&mut Cursor { bytes: &bytes }).map_err(|fault| refuse(fault.expected, fault.found))
}

/// What a schema should be and is not.
struct Fault {
    expected: String,
    found: String,
}

impl Fault {
    fn new(expected: impl Into<String>, found: impl Into<String>) -> Fault {
        Fault { expected: expected.into(), found: found.into() }
    }

    fn thrift() -> Fault {
        Fault::new("Thrift in compact protocol", "bytes that are none")
    }
}

fn check_schema(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    let mut field = 0;
    loop {
        let Some(kind) = cursor.field(&mut field)? else {
            return Err(Fault::new("a schema", "none"));
        };
        if field == FIELD_SCHEMA && kind == Kind::List {
            return check_elements(cursor);
        }
        cursor.skip(kind, SKIP_DEPTH_MAX)?;
    }
}

/// Elements come depth first, each with the number of its children.
fn check_elements(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    let (count, kind) = cursor.list()?;
    if count == 0 || count > SCHEMA_ELEMENTS_MAX || kind != Kind::Struct {
        return Err(Fault::new(format!("1 to {SCHEMA_ELEMENTS_MAX} schema elements"), format!("{count}")));
    }
    let mut open: Vec<usize> = Vec::new();
    for element in 0..count {
        while open.last() == Some(&0) {
            open.pop();
        }
        match open.last_mut() {
            Some(rest) => *rest -= 1,
            None if element == 0 => {}
            None => {
                return Err(Fault::new(format!("{element} schema elements in one tree"), format!("{count}")));
            }
        }
        let children = child_count(cursor)?;
        if children > count {
            return Err(Fault::new(format!("at most {count} children of a group"), format!("{children}")));
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > NESTING_DEPTH_MAX {
            return Err(Fault::new(format!("at most {NESTING_DEPTH_MAX} levels of groups"), "more"));
        }
    }
    match open.iter().sum::<usize>() {
        0 => Ok(()),
        missing => {
            Err(Fault::new("as many schema elements as the groups announce", format!("{missing} fewer")))
        }
    }
}

fn child_count(cursor: &mut Cursor<'_>) -> Result<usize, Fault> {
    let (mut field, mut children) = (0, 0);
    while let Some(kind) = cursor.field(&mut field)? {
        if field == FIELD_CHILD_COUNT && kind == Kind::Integer {
            let found = cursor.signed()?;
            children = usize::try_from(found)
                .map_err(|_| Fault::new("a number of children of 0 or more", format!("{found}")))?;
        } else {
            cursor.skip(kind, SKIP_DEPTH_MAX)?;
        }
    }
    Ok(children)
}

/// Kinds of values by how they are skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
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
            _ => return Err(Fault::thrift()),
        })
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
}

impl Cursor<'_> {
    fn byte(&mut self) -> Result<u8, Fault> {
        let (first, rest) = self.bytes.split_first().ok_or_else(Fault::thrift)?;
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

    fn signed(&mut self) -> Result<i64, Fault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// The next field's kind, with its number in `field`; nothing at the end of the struct.
    fn field(&mut self, field: &mut i64) -> Result<Option<Kind>, Fault> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        *field = match head >> 4 {
            0 => self.signed()?,
            step => field.saturating_add(i64::from(step)),
        };
        Kind::of(head & 0x0f).map(Some)
    }

    fn list(&mut self) -> Result<(usize, Kind), Fault> {
        let head = self.byte()?;
        if head == 0 {
            return Ok((0, Kind::Byte));
        }
        let count = match head >> 4 {
            15 => usize::try_from(self.varint()?).map_err(|_| Fault::thrift())?,
            small => usize::from(small),
        };
        Ok((count, Kind::of(head & 0x0f)?))
    }

    fn advance(&mut self, count: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.get(count..).ok_or_else(Fault::thrift)?;
        Ok(())
    }

    fn skip(&mut self, kind: Kind, depth: usize) -> Result<(), Fault> {
        let deeper = depth.checked_sub(1).ok_or_else(Fault::thrift)?;
        match kind {
            // A boolean field carries its value in its head.
            Kind::Boolean => Ok(()),
            Kind::Byte => self.advance(1),
            Kind::Integer => self.varint().map(drop),
            Kind::Double => self.advance(8),
            Kind::Binary => {
                let length = usize::try_from(self.varint()?).map_err(|_| Fault::thrift())?;
                self.advance(length)
            }
            Kind::List => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(kind, deeper))
            }
            Kind::Map => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                let (key, value) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 0x0f)?);
                (0..count).try_for_each(|_| {
                    self.skip_element(key, deeper)?;
                    self.skip_element(value, deeper)
                })
            }
            Kind::Struct => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, deeper)?;
                }
                Ok(())
            }
        }
    }

    /// Inside a list or a map a boolean takes a byte of its own.
    fn skip_element(&mut self, kind: Kind, depth: usize) -> Result<(), Fault> {
        if kind == Kind::Boolean { self.advance(1) } else { self.skip(kind, depth) }
    }
}
