//! Reads and validates a Parquet footer before the Parquet library decodes it. The library allocates what the footer
//! claims, skips as many elements as the footer claims, and builds the schema by recursion; so counts, wire types and
//! depth are checked first. Does not depend on Parquet types.

pub(super) mod chunk_offsets;
pub mod column_names;
mod converted_types;
pub(super) mod counts;

use crate::convert::source::Source;
use crate::convert::thrift::definitions::FOOTER;
use crate::convert::thrift::{Cursor, ThriftError, WireType};
use crate::failure::Failure;

/// Bytes of a Parquet footer.
const FOOTER_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Elements of a Parquet schema, groups and leaves together.
const SCHEMA_ELEMENTS_MAX: usize = 65_536;

/// Levels of groups in a Parquet schema.
const NESTING_DEPTH_MAX: usize = 64;

const MAGIC: &[u8; 4] = b"PAR1";
const MAGIC_ENCRYPTED: &[u8; 4] = b"PARE";
const TAIL_BYTES: u64 = 8;

/// Field numbers of `parquet.thrift`.
const FIELD_SCHEMA: i64 = 2;
const FIELD_CHILD_COUNT: i64 = 5;
const FIELD_ENCRYPTION_ALGORITHM: i64 = 8;

/// Reads the footer and checks its magic number, its length, every field and the tree of its schema.
///
/// # Errors
/// When the footer is invalid or cannot be read.
pub fn read(source: &Source) -> Result<Vec<u8>, Failure> {
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
        return Err(refuse_encrypted(source, "an encrypted footer"));
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
    let checked = Cursor { bytes: &bytes }.check(&FOOTER);
    let checked = checked.and_then(|()| check_schemas(&mut Cursor { bytes: &bytes }));
    let checked = checked.and_then(|()| names_encryption(&bytes));
    if checked.map_err(|error| refuse(error.expected, error.found))? {
        return Err(refuse_encrypted(source, "a plain footer with encrypted columns"));
    }
    let repaired =
        converted_types::without_unknown(&bytes).map_err(|error| refuse(error.expected, error.found))?;
    Ok(repaired.unwrap_or(bytes))
}

fn refuse_encrypted(source: &Source, found: &str) -> Failure {
    Failure::Refused {
        file: source.path().display().to_string(),
        section: "Parquet footer".into(),
        expected: "a file without encryption".into(),
        found: found.into(),
        remedy: "decrypt it with its keys first".into(),
    }
}

/// Whether a plain footer names an encryption algorithm for its columns.
fn names_encryption(footer: &[u8]) -> Result<bool, ThriftError> {
    let (mut cursor, mut field) = (Cursor { bytes: footer }, 0);
    while let Some(wire_type) = cursor.field(&mut field)? {
        if field == FIELD_ENCRYPTION_ALGORITHM {
            return Ok(true);
        }
        cursor.skip(wire_type)?;
    }
    Ok(false)
}

/// Checks every field that a reader may take for the schema. A footer has at least one.
fn check_schemas(cursor: &mut Cursor<'_>) -> Result<(), ThriftError> {
    let (mut field, mut schemas) = (0, 0);
    while let Some(wire_type) = cursor.field(&mut field)? {
        if field == FIELD_SCHEMA {
            check_elements(cursor)?;
            schemas += 1;
        } else {
            cursor.skip(wire_type)?;
        }
    }
    if schemas == 0 { Err(ThriftError::new("a schema", "none")) } else { Ok(()) }
}

/// Checks the tree of schema elements. They come depth first, each with the number of its children.
fn check_elements(cursor: &mut Cursor<'_>) -> Result<(), ThriftError> {
    let (count, wire_type) = cursor.list()?;
    if count == 0 || count > SCHEMA_ELEMENTS_MAX || wire_type != WireType::Struct {
        return Err(ThriftError::new(
            format!("1 to {SCHEMA_ELEMENTS_MAX} schema elements"),
            format!("{count}"),
        ));
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
                return Err(ThriftError::new(
                    format!("{element} schema elements in one tree"),
                    format!("{count}"),
                ));
            }
        }
        let children = child_count(cursor)?;
        if children > count {
            return Err(ThriftError::new(
                format!("at most {count} children of a group"),
                format!("{children}"),
            ));
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > NESTING_DEPTH_MAX {
            return Err(ThriftError::new(format!("at most {NESTING_DEPTH_MAX} levels of groups"), "more"));
        }
    }
    match open.iter().sum::<usize>() {
        0 => Ok(()),
        missing => Err(ThriftError::new(
            "as many schema elements as the groups announce",
            format!("{missing} fewer"),
        )),
    }
}

fn child_count(cursor: &mut Cursor<'_>) -> Result<usize, ThriftError> {
    let (mut field, mut children) = (0, 0);
    while let Some(wire_type) = cursor.field(&mut field)? {
        if field == FIELD_CHILD_COUNT && wire_type == WireType::Integer {
            let found = cursor.signed()?;
            children = usize::try_from(found)
                .map_err(|_| ThriftError::new("a number of children of 0 or more", format!("{found}")))?;
        } else {
            cursor.skip(wire_type)?;
        }
    }
    Ok(children)
}
