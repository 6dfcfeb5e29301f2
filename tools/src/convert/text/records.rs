//! Reads the records of a CSV or TSV file, one after the other, from its bytes. Does not depend on columns.

use crate::convert::text::bytes::ByteSource;
use crate::convert::text::csv::{Fault, Splitter};
use crate::failure::Failure;

/// Reads records from a source.
pub struct CsvReader {
    source: ByteSource,
    splitter: Splitter,
    ended: bool,
}

impl CsvReader {
    /// A reader of records of at most `bytes_max` bytes from a line on. The header may have `fields_max` fields.
    #[must_use]
    pub fn new(
        source: ByteSource,
        line: u64,
        delimiter: u8,
        (bytes_max, fields_max): (usize, usize),
    ) -> CsvReader {
        let mut splitter = Splitter::new(delimiter, bytes_max, fields_max);
        splitter.begin_at(line);
        CsvReader { source, splitter, ended: false }
    }

    /// From here on a record may have `fields_max` fields.
    pub fn set_fields_max(&mut self, fields_max: usize) {
        self.splitter.fields_max = fields_max;
    }

    #[must_use]
    pub fn record(&self) -> &Splitter {
        &self.splitter
    }

    #[must_use]
    pub fn source(&self) -> &ByteSource {
        &self.source
    }

    /// The next record; `None` at the end. `refuse` turns a fault into a failure.
    pub fn next_record(
        &mut self,
        refuse: impl Fn(&Splitter, &str, &Fault) -> Failure,
    ) -> Result<Option<&Splitter>, Failure> {
        self.splitter.clear();
        while !self.ended {
            let chunk = self.source.fill()?;
            let at_end = chunk.is_empty();
            let outcome = if at_end {
                self.splitter.finish().map(|complete| (0, complete))
            } else {
                self.splitter.take(chunk)
            };
            match outcome {
                Err(fault) => return Err(refuse(&self.splitter, self.source.name(), &fault)),
                Ok((used, complete)) => {
                    self.source.consume(used);
                    self.ended = at_end;
                    if complete {
                        return Ok(Some(&self.splitter));
                    }
                }
            }
        }
        Ok(None)
    }
}
