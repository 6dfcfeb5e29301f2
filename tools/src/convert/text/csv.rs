//! Splits CSV and TSV into records by RFC 4180: quotes, doubled quotes, line breaks inside quotes, CRLF or LF. A record
//! is bounded in bytes and in fields. Does not depend on types.
//!
//! Written by hand, because csv-core passes over empty lines (rows without a value, where a file has one column), does not
//! tell whether an empty field was quoted (the empty string; without quotes it is null), takes quotes that never close,
//! and has no bound for a line without end.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    /// The end of its bytes in the record.
    end: usize,
    quoted: bool,
    /// The line on which it begins, counted from 1.
    line: u64,
}

/// Why a record was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// More bytes than a record may have.
    TooLong,
    TooManyFields,
    /// A byte after the closing quote of a field.
    AfterQuote(u8),
    /// A quote that the file does not close.
    OpenQuote,
    /// A carriage return without a line feed, outside quotes.
    BareReturn,
}

/// The state of the splitter between two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first half of a doubled quote.
    QuoteSeen,
    ReturnSeen,
}

/// Splits bytes into the fields of one record after the other.
#[derive(Debug)]
pub struct Splitter {
    delimiter: u8,
    bytes_max: usize,
    pub(super) fields_max: usize,
    state: State,
    bytes: Vec<u8>,
    fields: Vec<Field>,
    quoted: bool,
    /// The current line, the line of the current field and that of the record, counted from 1.
    line: u64,
    field_line: u64,
    record_line: u64,
}

impl Splitter {
    /// A splitter for records of at most `bytes_max` bytes and `fields_max` fields.
    #[must_use]
    pub fn new(delimiter: u8, bytes_max: usize, fields_max: usize) -> Splitter {
        Splitter {
            delimiter,
            bytes_max,
            fields_max,
            state: State::FieldStart,
            bytes: Vec::new(),
            fields: Vec::new(),
            quoted: false,
            line: 1,
            field_line: 1,
            record_line: 1,
        }
    }

    /// Begins at a line of the file.
    pub fn begin_at(&mut self, line: u64) {
        (self.line, self.field_line, self.record_line) = (line, line, line);
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
        self.state = State::FieldStart;
        self.record_line = self.line;
    }

    /// Takes bytes up to the end of the record. Returns how many, and whether the record is complete.
    pub fn take(&mut self, chunk: &[u8]) -> Result<(usize, bool), Fault> {
        let mut rest = chunk;
        while let Some((&first, after)) = rest.split_first() {
            match self.state {
                State::FieldStart => {
                    self.field_line = self.line;
                    self.quoted = first == b'"';
                    self.state = if self.quoted { State::Quoted } else { State::Plain };
                    if self.quoted {
                        rest = after;
                    }
                }
                State::Plain => {
                    let stop = memchr3(self.delimiter, b'\n', b'\r', rest).unwrap_or(rest.len());
                    let (plain, further) = rest.split_at_checked(stop).unwrap_or((rest, &[]));
                    self.push(plain)?;
                    rest = further;
                    if let Some((&mark, after)) = further.split_first() {
                        rest = after;
                        if self.end_by(mark)? {
                            return Ok((chunk.len() - rest.len(), true));
                        }
                    }
                }
                State::Quoted => {
                    let stop = memchr(b'"', rest).unwrap_or(rest.len());
                    let (inside, further) = rest.split_at_checked(stop).unwrap_or((rest, &[]));
                    self.line += memchr_iter(b'\n', inside).count() as u64;
                    self.push(inside)?;
                    rest = further.get(1..).unwrap_or_default();
                    if !further.is_empty() {
                        self.state = State::QuoteSeen;
                    }
                }
                State::QuoteSeen if first == b'"' => {
                    self.push(b"\"")?;
                    self.state = State::Quoted;
                    rest = after;
                }
                State::QuoteSeen => {
                    if first != self.delimiter && first != b'\n' && first != b'\r' {
                        return Err(Fault::AfterQuote(first));
                    }
                    rest = after;
                    if self.end_by(first)? {
                        return Ok((chunk.len() - rest.len(), true));
                    }
                }
                State::ReturnSeen => {
                    if first != b'\n' {
                        return Err(Fault::BareReturn);
                    }
                    self.end_by(b'\n')?;
                    return Ok((chunk.len() - after.len(), true));
                }
            }
        }
        Ok((chunk.len(), false))
    }

    /// Ends the last record at the end of the file. Returns whether there is one.
    pub fn finish(&mut self) -> Result<bool, Fault> {
        match self.state {
            State::Quoted => {
                self.line = self.field_line;
                Err(Fault::OpenQuote)
            }
            State::FieldStart if self.fields.is_empty() => Ok(false),
            State::FieldStart => {
                (self.quoted, self.field_line) = (false, self.line);
                self.end_field()?;
                Ok(true)
            }
            State::Plain | State::QuoteSeen | State::ReturnSeen => {
                self.end_field()?;
                Ok(true)
            }
        }
    }

    /// Ends a field at a delimiter or at the end of a line. Returns whether the record is complete.
    fn end_by(&mut self, mark: u8) -> Result<bool, Fault> {
        if mark == b'\r' {
            self.state = State::ReturnSeen;
            return Ok(false);
        }
        self.end_field()?;
        self.state = State::FieldStart;
        self.line += u64::from(mark == b'\n');
        Ok(mark == b'\n')
    }

    fn end_field(&mut self) -> Result<(), Fault> {
        if self.fields.len() == self.fields_max {
            return Err(Fault::TooManyFields);
        }
        self.fields.push(Field { end: self.bytes.len(), quoted: self.quoted, line: self.field_line });
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.bytes.len() + bytes.len() > self.bytes_max {
            return Err(Fault::TooLong);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The number of the current field, counted from 1.
    #[must_use]
    pub fn field_number(&self) -> usize {
        self.fields.len() + 1
    }

    #[must_use]
    pub fn field_count(&self) -> usize {
        self.fields.len()
    }

    /// The line on which the record begins.
    #[must_use]
    pub fn record_line(&self) -> u64 {
        self.record_line
    }

    /// Whether the record is a line without any byte.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.bytes.is_empty() && matches!(self.fields.as_slice(), [only] if !only.quoted)
    }

    /// The fields: bytes, whether they were quoted, and their line.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], bool, u64)> {
        let starts = std::iter::once(0).chain(self.fields.iter().map(|field| field.end));
        starts.zip(&self.fields).map(|(start, field)| {
            let range: Range<usize> = start..field.end;
            (self.bytes.get(range).unwrap_or_default(), field.quoted, field.line)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Records = Vec<Vec<(String, bool)>>;

    /// Splits a text that arrives in pieces of `piece` bytes.
    fn split(text: &str, piece: usize) -> Result<Records, (Fault, u64)> {
        let (mut splitter, mut records) = (Splitter::new(b',', 1_000, 100), Vec::new());
        let mut keep = |splitter: &mut Splitter| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            records.push(splitter.fields().map(|(bytes, quoted, _)| (text(bytes), quoted)).collect());
            splitter.clear();
        };
        for chunk in text.as_bytes().chunks(piece) {
            let mut rest = chunk;
            while !rest.is_empty() {
                let taken = splitter.take(rest);
                let (used, complete) = taken.map_err(|fault| (fault, splitter.line()))?;
                rest = &rest[used..];
                if complete {
                    keep(&mut splitter);
                }
            }
        }
        if splitter.finish().map_err(|fault| (fault, splitter.line()))? {
            keep(&mut splitter);
        }
        Ok(records)
    }

    fn plain(records: &[&[&str]]) -> Records {
        records
            .iter()
            .map(|record| record.iter().map(|field| ((*field).to_owned(), false)).collect())
            .collect()
    }

    #[test]
    fn splits_at_delimiters_and_line_ends() {
        assert_eq!(split("a,b\r\n1,\n,2", 9), Ok(plain(&[&["a", "b"], &["1", ""], &["", "2"]])));
        assert_eq!(split("a\n\n\nb\n", 9), Ok(plain(&[&["a"], &[""], &[""], &["b"]])));
        assert_eq!(split("a,", 9), Ok(plain(&[&["a", ""]])));
        assert_eq!(split("", 9), Ok(Vec::new()));
        assert_eq!(split("5\" pipe,x", 9), Ok(plain(&[&["5\" pipe", "x"]])));
    }

    #[test]
    fn quotes_keep_delimiters_line_breaks_and_empty_strings() {
        let records = split("\"a,\"\"b\"\"\r\nc\",\"\"\r\n", 3).unwrap();
        assert_eq!(records, [[("a,\"b\"\r\nc".to_owned(), true), (String::new(), true)]]);
    }

    #[test]
    fn faults_name_their_line() {
        assert_eq!(split("a\n\"b\nc", 9), Err((Fault::OpenQuote, 2)));
        assert_eq!(split("a\n\"b\"c", 9), Err((Fault::AfterQuote(b'c'), 2)));
        assert_eq!(split("a\nb\rc", 9), Err((Fault::BareReturn, 2)));
        assert_eq!(split(&"x".repeat(1_001), 9), Err((Fault::TooLong, 1)));
        assert_eq!(split(&",".repeat(101), 9), Err((Fault::TooManyFields, 1)));
    }

    /// The naive twin: one character after the other.
    fn naive(text: &str) -> Option<Records> {
        let (mut records, mut record, mut rest) = (Records::new(), Vec::new(), text.chars().peekable());
        rest.peek()?;
        loop {
            let (mut field, quoted) = (String::new(), rest.next_if_eq(&'"').is_some());
            if quoted {
                loop {
                    match rest.next()? {
                        '"' if rest.next_if_eq(&'"').is_some() => field.push('"'),
                        '"' => break,
                        other => field.push(other),
                    }
                }
            } else {
                while let Some(next) = rest.next_if(|c| !matches!(c, ',' | '\n' | '\r')) {
                    field.push(next);
                }
            }
            record.push((field, quoted));
            match rest.next() {
                Some(',') => continue,
                Some('\r') if rest.peek().is_none() => {}
                Some('\r') => drop(rest.next_if_eq(&'\n')?),
                Some('\n') | None => {}
                Some(_) => return None,
            }
            records.push(std::mem::take(&mut record));
            if rest.peek().is_none() {
                return Some(records);
            }
        }
    }

    proptest! {
        #[test]
        fn splits_as_naive_twin_in_any_pieces(text in "[ab,\"\r\n]{1,40}", piece in 1_usize..8) {
            prop_assert_eq!(split(&text, piece).ok(), naive(&text));
        }
    }
}
