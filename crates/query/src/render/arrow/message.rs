//! The messages of an IPC stream. Only this file names `arrow_ipc`. Does not depend on store files.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::{
    DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, StreamWriter,
    write_message,
};
use arrow_schema::{ArrowError, Schema, SchemaRef};

/// The mark behind the last batch: a continuation and an empty message.
pub(super) const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// A batch, also one without columns.
pub(super) fn batch_of(
    schema: &SchemaRef,
    arrays: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(SchemaRef::clone(schema), arrays, &options)
}

/// Appends the schema, and the dictionaries of a batch without rows.
pub(super) fn push_begin(schema: &Schema, empty: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    let (generator, options) = (IpcDataGenerator::default(), IpcWriteOptions::default());
    let mut tracker = DictionaryTracker::new(true);
    push(generator.schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options), out)?;
    let (dictionaries, _) =
        generator.encode(empty, &mut tracker, &options, &mut IpcWriteContext::default())?;
    dictionaries.into_iter().try_for_each(|dictionary| push(dictionary, out))
}

/// Appends a batch without dictionaries. The writer copies its buffers once, behind a schema that is taken off again.
pub(super) fn push_batch(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    let begin = out.len();
    out.reserve(batch.get_array_memory_size());
    let mut writer = StreamWriter::try_new(out, &batch.schema())?;
    writer.get_mut().truncate(begin);
    writer.write(batch)
}

fn push(encoded: EncodedData, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    out.reserve(encoded.ipc_message.len().saturating_add(encoded.arrow_data.len()));
    write_message(out, encoded, &IpcWriteOptions::default()).map(|_| ())
}
