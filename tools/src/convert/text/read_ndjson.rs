//! Reads NDJSON into rows: one object a line. Members of objects become dotted columns and arrays JSON text, as groups
//! and lists of Parquet do. Numbers keep every digit. Refusals name file, line and column.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use memchr::memchr;
use mercato_format::limits::COLUMNS_MAX;
use mercato_format::text::push_json_string;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::convert::limits::JSON_DEPTH_MAX;
use crate::convert::schema::flatten::cut;
use crate::convert::text::bytes::ByteSource;
use crate::convert::text::classify::{self, Class};
use crate::convert::text::infer::Spot;
use crate::convert::text::rows::{RowError, Rows};
use crate::failure::Failure;

const FORMAT: &str = "NDJSON";
const SHOWN_BYTES: usize = 64;
/// Lines between two reports of progress.
const PROGRESS_ROWS: usize = 1_024;

/// Members that are objects, by dotted name, with the place of the first.
pub type Groups = HashMap<String, Spot>;

/// Reads all rows of a file.
///
/// # Errors
/// A refusal that names file, line and column, or a failure of the system.
pub fn read(
    mut source: ByteSource,
    line_bytes_max: usize,
    rows: &mut Rows,
    groups: &mut Groups,
    mut progress: impl FnMut(&ByteSource),
) -> Result<(), Failure> {
    let file: Arc<str> = Arc::from(source.name());
    rows.begin_input(&file);
    let (mut line, mut number) = (Vec::new(), 0_u64);
    loop {
        progress(&source);
        for _ in 0..PROGRESS_ROWS {
            number += 1;
            if !next_line(&mut source, &mut line, line_bytes_max, number)? {
                progress(&source);
                return Ok(());
            }
            let place = LinePlace { file: &file, line: number };
            read_object(&line, place, rows, groups)?;
        }
    }
}

/// Reads the object of one row. Blanks alone are no row.
pub(super) fn read_object(
    bytes: &[u8],
    place: LinePlace<'_>,
    rows: &mut Rows,
    groups: &mut Groups,
) -> Result<(), Failure> {
    let text = std::str::from_utf8(bytes).map_err(|error| place.refuse_bytes(bytes, error.valid_up_to()))?;
    if text.bytes().all(|byte| byte.is_ascii_whitespace()) {
        return Ok(());
    }
    let members: Members<'_> =
        serde_json::from_str(text).map_err(|error| place.refuse_syntax(text, &error))?;
    let mut walk = Walk { rows, groups, place, name: String::new() };
    walk.object(members, 1)?;
    rows.end_row()
}

/// Reads a line without its end. Returns false at the end of the file.
fn next_line(
    source: &mut ByteSource,
    line: &mut Vec<u8>,
    line_bytes_max: usize,
    number: u64,
) -> Result<bool, Failure> {
    line.clear();
    loop {
        let chunk = source.fill()?;
        if chunk.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = memchr(b'\n', chunk);
        let piece = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len() + piece.len() > line_bytes_max {
            let name = source.name().to_owned();
            return Err(LinePlace { file: &name, line: number }.refuse(
                "",
                format!("a line of at most {line_bytes_max} bytes"),
                "more".into(),
                "write one object a line, or raise --memory-limit",
            ));
        }
        line.extend_from_slice(piece);
        let used = piece.len() + usize::from(end.is_some());
        source.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct LinePlace<'a> {
    pub(super) file: &'a str,
    pub(super) line: u64,
}

impl LinePlace<'_> {
    pub(super) fn refuse(&self, column: &str, expected: String, found: String, remedy: &str) -> Failure {
        let column = cut(column.to_owned(), SHOWN_BYTES);
        let column = if column.is_empty() { String::new() } else { format!(", column `{column}`") };
        Failure::refused(self.file, format!("line {}{column}", self.line), expected, found, remedy)
    }

    fn refuse_bytes(&self, line: &[u8], at: usize) -> Failure {
        let byte = line.get(at).copied().unwrap_or(0);
        let found = format!("the byte 0x{byte:02X} at byte {}", at + 1);
        self.refuse("", "UTF-8".into(), found, "pass --encoding windows-1252, or that of the file")
    }

    fn refuse_syntax(&self, text: &str, error: &serde_json::Error) -> Failure {
        let shown = cut(text.to_owned(), SHOWN_BYTES);
        let what = error.to_string();
        let what = what.split(" at line").next().unwrap_or_default();
        let found = format!("`{shown}`: {what} at byte {}", error.column());
        self.refuse("", "one JSON object".into(), found, "correct the line")
    }
}

/// The members of an object, in order, with their values as written.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    if members.len() == COLUMNS_MAX {
                        return Err(A::Error::custom(format!("more than {COLUMNS_MAX} members")));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// The name of a member, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

struct Walk<'a> {
    rows: &'a mut Rows,
    groups: &'a mut Groups,
    place: LinePlace<'a>,
    /// The dotted name of the present object, with a dot at its end.
    name: String,
}

impl Walk<'_> {
    fn object(&mut self, members: Members<'_>, depth: usize) -> Result<(), Failure> {
        if depth > JSON_DEPTH_MAX {
            return Err(self.refuse_depth());
        }
        for (name, value) in members.0 {
            let before = self.name.len();
            self.name.push_str(&name);
            self.value(value, depth)?;
            self.name.truncate(before);
        }
        Ok(())
    }

    fn value(&mut self, value: &RawValue, depth: usize) -> Result<(), Failure> {
        let text = value.get();
        match text.as_bytes().first() {
            Some(b'{') => {
                self.note_group()?;
                let members =
                    serde_json::from_str(text).map_err(|error| self.place.refuse_syntax(text, &error))?;
                self.name.push('.');
                self.object(members, depth + 1)
            }
            Some(b'[') => {
                let compact = self.compact(text)?;
                self.push(Some((Class::List, &compact)))
            }
            Some(b'"') => {
                let plain = self.string(text)?;
                let class = self.rows.forms().class_of_string(&plain);
                self.push(Some((class, &plain)))
            }
            Some(b't' | b'f') => self.push(Some((Class::Boolean, text))),
            Some(b'n') => self.push(None),
            _ => self.push(Some((classify::of_number(text).unwrap_or(Class::Code), text))),
        }
    }

    fn push(&mut self, value: Option<(Class, &str)>) -> Result<(), Failure> {
        let place = self.place;
        let refuse = |name: &str, error: RowError| match error {
            RowError::Failure(failure) => failure,
            RowError::Value { expected, found, remedy } => place.refuse(name, expected, found, &remedy),
        };
        let column = self.rows.column(&self.name, FORMAT).map_err(|error| refuse(&self.name, error))?;
        let spot = || Spot { file: place.file.into(), line: place.line, field: None };
        self.rows.push(column, value, true, spot).map_err(|error| refuse(&self.name, error))
    }

    /// Remembers that a name is one of an object, so that no other value may have it.
    fn note_group(&mut self) -> Result<(), Failure> {
        if self.groups.contains_key(&self.name) {
            return Ok(());
        }
        if self.groups.len() == COLUMNS_MAX {
            let expected = format!("at most {COLUMNS_MAX} names of objects");
            return Err(self.place.refuse(&self.name, expected, "more".into(), "turn names into values"));
        }
        let spot = Spot { file: self.place.file.into(), line: self.place.line, field: None };
        self.groups.insert(self.name.clone(), spot);
        Ok(())
    }

    fn string<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, Failure> {
        let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        if memchr(b'\\', inside.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(inside));
        }
        let decoded = serde_json::from_str(text).map_err(|error| self.place.refuse_syntax(text, &error))?;
        Ok(Cow::Owned(decoded))
    }

    /// An array without the space between its tokens, and with strings in the form of the store.
    fn compact(&self, text: &str) -> Result<String, Failure> {
        let (mut out, mut rest, mut depth) = (Vec::with_capacity(text.len()), text, 0_usize);
        while let Some(&first) = rest.as_bytes().first() {
            let mut used = 1;
            match first {
                b'"' => {
                    used = string_length(rest);
                    let token = rest.get(..used).unwrap_or_default();
                    push_json_string(&mut out, self.string(token)?.as_bytes());
                }
                b' ' | b'\t' | b'\r' | b'\n' => {}
                other => {
                    depth += usize::from(matches!(other, b'[' | b'{'));
                    depth = depth.saturating_sub(usize::from(matches!(other, b']' | b'}')));
                    out.push(other);
                }
            }
            if depth > JSON_DEPTH_MAX {
                return Err(self.refuse_depth());
            }
            rest = rest.get(used..).unwrap_or_default();
        }
        String::from_utf8(out).map_err(|_| self.place.refuse_bytes(text.as_bytes(), 0))
    }

    fn refuse_depth(&self) -> Failure {
        let expected = format!("at most {JSON_DEPTH_MAX} objects and arrays inside one another");
        let name = self.name.trim_end_matches('.');
        self.place.refuse(name, expected, "more".into(), "flatten the value, or write it as a string")
    }
}

/// The length of the JSON string at the start of `text`, with its quotes.
fn string_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
