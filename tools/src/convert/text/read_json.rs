//! Reads a JSON array of objects into rows, one object after the other, so that memory is bounded by the largest object.
//! Refusals name file, line and column. Does not depend on types.

use std::sync::Arc;

use crate::convert::text::bytes::ByteSource;
use crate::convert::text::read_ndjson::{Groups, LinePlace, read_object};
use crate::convert::text::rows::Rows;
use crate::failure::Failure;

/// Objects between two reports of progress.
const PROGRESS_ROWS: usize = 1_024;

/// Reads all rows of a file.
///
/// # Errors
/// A refusal that names file, line and column, or a failure of the system.
pub fn read(
    source: ByteSource,
    object_bytes_max: usize,
    rows: &mut Rows,
    groups: &mut Groups,
    mut progress: impl FnMut(&ByteSource),
) -> Result<(), Failure> {
    let file: Arc<str> = Arc::from(source.name());
    rows.begin_input(&file);
    let mut array = Array { source, file: Arc::clone(&file), line: 1, object_bytes_max };
    match array.next_mark()? {
        Some(b'[') => array.consume(1),
        Some(b'{') => {
            let remedy = "pass --input-format ndjson if each line is an object; else take the array out, for example: \
                          jq .data";
            return Err(array.refuse("an array of objects", "an object", remedy));
        }
        found => return Err(array.refuse_mark("an array of objects", found)),
    }
    let (mut object, mut count) = (Vec::new(), 0_usize);
    if array.next_mark()? == Some(b']') {
        return array.finish();
    }
    loop {
        if count.is_multiple_of(PROGRESS_ROWS) {
            progress(&array.source);
        }
        count += 1;
        match array.next_mark()? {
            Some(b'{') => {}
            found => return Err(array.refuse_mark("an object", found)),
        }
        let line = array.line;
        array.take_object(&mut object)?;
        read_object(&object, LinePlace { file: &file, line }, rows, groups)?;
        match array.next_mark()? {
            Some(b',') => array.consume(1),
            Some(b']') => {
                progress(&array.source);
                return array.finish();
            }
            found => return Err(array.refuse_mark("a comma or the end of the array", found)),
        }
    }
}

struct Array {
    source: ByteSource,
    file: Arc<str>,
    line: u64,
    object_bytes_max: usize,
}

impl Array {
    /// The next byte that is no blank.
    fn next_mark(&mut self) -> Result<Option<u8>, Failure> {
        loop {
            let chunk = self.source.fill()?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let blanks = chunk.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
            let lines = chunk.iter().take(blanks).filter(|byte| **byte == b'\n').count();
            let mark = chunk.get(blanks).copied();
            self.line += lines as u64;
            self.source.consume(blanks);
            if mark.is_some() {
                return Ok(mark);
            }
        }
    }

    fn consume(&mut self, count: usize) {
        self.source.consume(count);
    }

    /// Takes an object up to its closing brace.
    fn take_object(&mut self, object: &mut Vec<u8>) -> Result<(), Failure> {
        object.clear();
        let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
        loop {
            let chunk = self.source.fill()?;
            if chunk.is_empty() {
                return Err(self.refuse(
                    "the end of the object",
                    "the end of the file",
                    "get the whole file again",
                ));
            }
            let mut used = 0;
            for byte in chunk {
                used += 1;
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if is_string => is_escaped = true,
                    b'"' => is_string = !is_string,
                    b'\n' => self.line += 1,
                    b'{' if !is_string => depth += 1,
                    b'}' if !is_string => {
                        depth -= 1;
                        if depth == 0 {
                            break;
                        }
                    }
                    _ => {}
                }
            }
            if object.len() + used > self.object_bytes_max {
                let expected = format!("an object of at most {} bytes", self.object_bytes_max);
                return Err(self.refuse(&expected, "more", "split the object, or raise --memory-limit"));
            }
            object.extend_from_slice(chunk.get(..used).unwrap_or_default());
            self.source.consume(used);
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Expects nothing behind the array.
    fn finish(&mut self) -> Result<(), Failure> {
        self.consume(1);
        match self.next_mark()? {
            None => Ok(()),
            found => Err(self.refuse_mark("nothing behind the array", found)),
        }
    }

    fn refuse_mark(&self, expected: &str, found: Option<u8>) -> Failure {
        let found = match found {
            None => "the end of the file".to_owned(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
            Some(byte) => format!("the byte 0x{byte:02X}"),
        };
        self.refuse(expected, &found, "write an array of objects: [{\"a\": 1}, {\"a\": 2}]")
    }

    fn refuse(&self, expected: &str, found: &str, remedy: &str) -> Failure {
        LinePlace { file: &self.file, line: self.line }.refuse(
            "",
            expected.to_owned(),
            found.to_owned(),
            remedy,
        )
    }
}
