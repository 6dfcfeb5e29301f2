//! Decodes record batches, and keeps the dictionaries that they refer to. Never skips a check of the library. Does not
//! depend on files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::MessageHeader;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_schema::SchemaRef;

use crate::convert::arrow::checks::{self, BATCH_SHARE};
use crate::convert::arrow::columns::Kept;
use crate::convert::arrow::decode;
use crate::convert::arrow::frames::Frame;
use crate::convert::plan::{DAMAGED, ErrorContext};
use crate::failure::Failure;

/// Decodes the messages of an input in order.
pub(super) struct Decoder<'a> {
    schema: SchemaRef,
    kept: &'a Kept,
    /// Whether a dictionary may only grow.
    is_file: bool,
    bytes_max: u64,
    context: &'a ErrorContext,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Bytes that each dictionary holds at most.
    dictionary_bytes: HashMap<i64, u64>,
    batches: u64,
}

impl<'a> Decoder<'a> {
    /// A decoder that has seen no message behind the schema.
    pub(super) fn new(
        schema: SchemaRef,
        kept: &'a Kept,
        is_file: bool,
        memory_limit: u64,
        context: &'a ErrorContext,
    ) -> Decoder<'a> {
        Decoder {
            schema,
            kept,
            is_file,
            bytes_max: memory_limit / BATCH_SHARE,
            context,
            dictionaries: HashMap::new(),
            dictionary_bytes: HashMap::new(),
            batches: 0,
        }
    }

    /// The kept columns of a record batch; `None` for a dictionary, which is remembered.
    pub(super) fn decode(&mut self, frame: &Frame) -> Result<Option<RecordBatch>, Failure> {
        let message = frame.message(self.context)?;
        match message.header_type() {
            MessageHeader::DictionaryBatch => self.remember(frame).map(|()| None),
            MessageHeader::RecordBatch => self.batch(frame).map(Some),
            other => {
                let (section, expected) = (self.section(frame), "a dictionary or a record batch".to_owned());
                Err(self.context.refusal(&section, expected, format!("{other:?}"), DAMAGED))
            }
        }
    }

    fn batch(&mut self, frame: &Frame) -> Result<RecordBatch, Failure> {
        let section = self.section(frame);
        let message = frame.message(self.context)?;
        let Some(header) = message.header_as_record_batch() else {
            return Err(self.refuse(&section, "a record batch", "none"));
        };
        checks::check_batch(header, &frame.body, self.bytes_max, &section, self.context)?;
        self.batches += 1;
        let (version, wanted) = (message.version(), self.kept.wanted());
        let batch = decode(self.context, &section, || {
            let schema = Arc::clone(&self.schema);
            let batch = read_record_batch(
                &frame.body,
                header,
                schema,
                &self.dictionaries,
                wanted.as_deref(),
                &version,
            )?;
            self.kept.of_batch(&batch)
        })?;
        Ok(batch)
    }

    /// Takes a dictionary: a new one, one in the place of another, or entries that are added.
    fn remember(&mut self, frame: &Frame) -> Result<(), Failure> {
        let section = format!("dictionary at byte {}", frame.start);
        let message = frame.message(self.context)?;
        let header = message.header_as_dictionary_batch();
        let Some((header, data)) = header.and_then(|header| Some((header, header.data()?))) else {
            return Err(self.refuse(&section, "a dictionary", "none"));
        };
        let (id, is_delta) = (header.id(), header.isDelta());
        if self.is_file && !is_delta && self.dictionaries.contains_key(&id) {
            return Err(self.refuse(&section, "one dictionary of each number in a file", "another one"));
        }
        let allocated = checks::check_batch(data, &frame.body, self.bytes_max, &section, self.context)?;
        let before = self.dictionary_bytes.get(&id).copied().filter(|_| is_delta).unwrap_or(0);
        let own = before.saturating_add(allocated).saturating_add(frame.body.len() as u64);
        self.dictionary_bytes.insert(id, own);
        let all = self.dictionary_bytes.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        if all > self.bytes_max {
            return Err(checks::refuse_size(self.context, &section, all, self.bytes_max));
        }
        let version = message.version();
        decode(self.context, &section, || {
            read_dictionary(&frame.body, header, &self.schema, &mut self.dictionaries, &version)
        })
    }

    fn section(&self, frame: &Frame) -> String {
        format!("record batch {} at byte {}", self.batches, frame.start)
    }

    fn refuse(&self, section: &str, expected: &str, found: &str) -> Failure {
        self.context.refusal(section, expected.to_owned(), found.to_owned(), DAMAGED)
    }
}
