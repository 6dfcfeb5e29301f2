//! Looks at a Parquet footer before the Parquet library does, because the library reserves what it is told, skips as
//! many elements as it is told, and builds the schema by recursion: counts, kinds and depth are checked here first.
//! Knows no type of Parquet.

use super::converted;
use super::limits::{FOOTER_BYTES_MAX, NESTING_DEPTH_MAX, SCHEMA_ELEMENTS_MAX};
use super::shapes::FOOTER;
use super::source::Source;
use super::thrift::{Cursor, Fault, Kind};
use crate::failure::Failure;

const MAGIC: &[u8; 4] = b"PAR1";
const MAGIC_ENCRYPTED: &[u8; 4] = b"PARE";
const TAIL_BYTES: u64 = 8;

/// Field numbers of `parquet.thrift`.
const FIELD_SCHEMA: i64 = 2;
const FIELD_CHILD_COUNT: i64 = 5;
const FIELD_ENCRYPTION_ALGORITHM: i64 = 8;

/// Reads the footer; checks the tail, its length, every field and the shape of its schema.
///
/// # Errors
/// A refusal that names the footer, or an error of reading.
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
    if checked.map_err(|fault| refuse(fault.expected, fault.found))? {
        return Err(refuse_encrypted(source, "a plain footer with encrypted columns"));
    }
    let repaired = converted::without_unknown(&bytes).map_err(|fault| refuse(fault.expected, fault.found))?;
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

/// Whether the footer, which is plain itself, names the way in which columns are encrypted.
fn names_encryption(footer: &[u8]) -> Result<bool, Fault> {
    let (mut cursor, mut field) = (Cursor { bytes: footer }, 0);
    while let Some(kind) = cursor.field(&mut field)? {
        if field == FIELD_ENCRYPTION_ALGORITHM {
            return Ok(true);
        }
        cursor.skip(kind)?;
    }
    Ok(false)
}

/// Every field that a reader may take for the schema; there is one at least.
fn check_schemas(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    let (mut field, mut schemas) = (0, 0);
    while let Some(kind) = cursor.field(&mut field)? {
        if field == FIELD_SCHEMA {
            check_elements(cursor)?;
            schemas += 1;
        } else {
            cursor.skip(kind)?;
        }
    }
    if schemas == 0 { Err(Fault::new("a schema", "none")) } else { Ok(()) }
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
            cursor.skip(kind)?;
        }
    }
    Ok(children)
}
