//! Finds the messages of an Arrow IPC file or stream and reads them one by one, each inside the memory limit. Does not
//! depend on types and values.

use std::collections::VecDeque;
use std::io::ErrorKind;

use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Endianness, Message, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

use crate::convert::arrow::checks::{self, BATCH_SHARE};
use crate::convert::arrow::decode;
use crate::convert::plan::{DAMAGED, ErrorContext};
use crate::convert::source::Source;
use crate::failure::Failure;

/// Bytes of the metadata of a message, and of a footer.
const METADATA_BYTES_MAX: usize = 32 * 1024 * 1024;
const FILE_MAGIC: &[u8] = b"ARROW1";
const FEATHER_1_MAGIC: &[u8] = b"FEA1";
/// The magic and its padding at the start of a file.
const FILE_HEAD_BYTES: u64 = 8;
/// The length of the footer and the magic behind it.
const FILE_TAIL_BYTES: u64 = 10;
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The messages of an input behind its schema.
pub(super) struct Frames {
    source: Source,
    context: ErrorContext,
    body_bytes_max: u64,
    places: Places,
    /// Bytes read so far, from the start.
    position: u64,
}

/// Where the messages are.
enum Places {
    Stream,
    /// Where the footer says: dictionaries, then record batches.
    File(VecDeque<Block>),
}

/// The place of a message in a file.
#[derive(Clone, Copy)]
struct Block {
    start: u64,
    metadata: u64,
    body: u64,
}

/// A message: its metadata, which were parsed once, and its body.
pub(super) struct Frame {
    metadata: Vec<u8>,
    pub(super) body: Buffer,
    /// Its first byte in the input.
    pub(super) start: u64,
}

impl Frame {
    pub(super) fn message(&self, context: &ErrorContext) -> Result<Message<'_>, Failure> {
        message_of(&self.metadata, self.start, context)
    }
}

impl Frames {
    /// Opens an input and reads its schema.
    pub(super) fn open(source: Source, memory_limit: u64) -> Result<(Frames, SchemaRef), Failure> {
        let context = ErrorContext::of(&source);
        let body_bytes_max = memory_limit / BATCH_SHARE;
        let mut frames = Frames { source, context, body_bytes_max, places: Places::Stream, position: 0 };
        let head = frames.bytes(0, frames.source.byte_length().min(FILE_HEAD_BYTES), "first bytes")?;
        if head.starts_with(FEATHER_1_MAGIC) {
            let remedy = "write it anew: pyarrow.feather.write_feather(pyarrow.feather.read_table(old), new)";
            return Err(frames.refusal("first bytes", "an Arrow IPC file or stream", "Feather V1", remedy));
        }
        let schema = if head.starts_with(FILE_MAGIC) { frames.open_file()? } else { frames.open_stream()? };
        Ok((frames, schema))
    }

    /// Whether the input is a file with a footer.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.places, Places::File(_))
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next message; `None` behind the last one.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Failure> {
        match &mut self.places {
            Places::Stream => self.next_of_stream(),
            Places::File(blocks) => {
                let Some(block) = blocks.pop_front() else { return Ok(None) };
                self.frame_of(block).map(Some)
            }
        }
    }

    fn open_stream(&mut self) -> Result<SchemaRef, Failure> {
        let first = self.next_of_stream()?;
        let context = self.context.clone();
        let message = first.as_ref().map(|frame| frame.message(&context)).transpose()?;
        match message.and_then(|message| message.header_as_schema()) {
            Some(schema) => self.schema(schema),
            None => Err(self.refusal("first message", "a schema", "another message", DAMAGED)),
        }
    }

    fn next_of_stream(&mut self) -> Result<Option<Frame>, Failure> {
        let (start, length) = (self.position, self.source.byte_length());
        if start == length {
            let remedy =
                "the stream was cut: get it again from its source, or write it anew and close its writer";
            return Err(self.refusal(
                "end",
                "the mark of the end of a stream",
                "the end of the file",
                remedy,
            ));
        }
        let (size, metadata) = self.size_at(start)?;
        if size == 0 {
            self.position = metadata;
            if metadata != length {
                let section = format!("byte {metadata}");
                let remedy = "convert joined streams as files of their own";
                return Err(self.refusal(&section, "the end of the file", "bytes behind the stream", remedy));
            }
            return Ok(None);
        }
        let metadata = self.metadata(start, metadata, size)?;
        let body_at = self.position;
        let body = message_of(&metadata, start, &self.context)?.bodyLength();
        self.frame(start, metadata, body_at, body).map(Some)
    }

    /// The size of the metadata of the message at a byte, and their own first byte.
    fn size_at(&self, start: u64) -> Result<(i32, u64), Failure> {
        let section = section(start);
        let word = |at| -> Result<[u8; 4], Failure> {
            let bytes = self.bytes(at, 4, &section)?;
            Ok(bytes.first_chunk::<4>().copied().unwrap_or_default())
        };
        let first = word(start)?;
        // Streams from before Arrow 0.15 have no mark in front of the size.
        if first == CONTINUATION {
            return Ok((i32::from_le_bytes(word(start + 4)?), start + 8));
        }
        Ok((i32::from_le_bytes(first), start + 4))
    }

    fn metadata(&mut self, start: u64, at: u64, size: i32) -> Result<Vec<u8>, Failure> {
        let fits = usize::try_from(size).ok().filter(|size| (1..=METADATA_BYTES_MAX).contains(size));
        let Some(size) = fits else {
            let expected = format!("metadata of 1 to {METADATA_BYTES_MAX} bytes");
            return Err(self.refusal(&section(start), &expected, &format!("{size} bytes"), DAMAGED));
        };
        let bytes = self.bytes(at, size as u64, &section(start))?;
        self.position = at + size as u64;
        Ok(bytes)
    }

    fn frame(&mut self, start: u64, metadata: Vec<u8>, at: u64, body: i64) -> Result<Frame, Failure> {
        let section = section(start);
        let Ok(body) = u64::try_from(body) else {
            return Err(self.refusal(&section, "a body", &format!("one of {body} bytes"), DAMAGED));
        };
        if at.saturating_add(body) > self.source.byte_length() {
            let found = format!("the end of the file at {}", self.source.byte_length());
            return Err(self.refusal(&section, &format!("{body} bytes at byte {at}"), &found, DAMAGED));
        }
        if body > self.body_bytes_max {
            return Err(checks::refuse_size(&self.context, &section, body, self.body_bytes_max));
        }
        let body_bytes = self.bytes(at, body, &section)?;
        self.position = at + body;
        Ok(Frame { metadata, body: Buffer::from_vec(body_bytes), start })
    }

    /// Reads the footer of a file.
    fn open_file(&mut self) -> Result<SchemaRef, Failure> {
        let length = self.source.byte_length();
        let cut = |frames: &Frames| {
            let remedy = "the file was cut: get it again from its source";
            frames.refusal("footer", "a footer at the end of the file", "none", remedy)
        };
        if length < FILE_HEAD_BYTES + FILE_TAIL_BYTES {
            return Err(cut(self));
        }
        let tail = self.bytes(length - FILE_TAIL_BYTES, FILE_TAIL_BYTES, "footer")?;
        let Some((size, magic)) = tail.split_first_chunk::<4>() else { return Err(cut(self)) };
        if magic != FILE_MAGIC {
            return Err(cut(self));
        }
        let size = i32::from_le_bytes(*size);
        let most = (length - FILE_HEAD_BYTES - FILE_TAIL_BYTES).min(METADATA_BYTES_MAX as u64);
        let Some(size) = u64::try_from(size).ok().filter(|size| (1..=most).contains(size)) else {
            let expected = format!("1 to {most} bytes");
            return Err(self.refusal("footer", &expected, &format!("{size} bytes"), DAMAGED));
        };
        let end = length - FILE_TAIL_BYTES - size;
        let bytes = self.bytes(end, size, "footer")?;
        let context = self.context.clone();
        let footer = decode(&context, "footer", || {
            root_as_footer(&bytes).map_err(|error| ArrowError::ParseError(error.to_string()))
        })?;
        let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
        let blocks = blocks.map(|block| {
            let start = u64::try_from(block.offset()).ok()?;
            let metadata = u64::try_from(block.metaDataLength()).ok()?;
            Some(Block { start, metadata, body: u64::try_from(block.bodyLength()).ok()? })
        });
        let blocks: Option<VecDeque<Block>> = blocks.collect();
        let Some(blocks) = blocks.filter(|blocks| lie_apart(blocks, end)) else {
            let expected = "blocks between header and footer, one behind the other";
            return Err(self.refusal("footer", expected, "others", DAMAGED));
        };
        self.places = Places::File(blocks);
        match footer.schema() {
            Some(schema) => self.schema(schema),
            None => Err(self.refusal("footer", "a schema", "none", DAMAGED)),
        }
    }

    fn frame_of(&mut self, block: Block) -> Result<Frame, Failure> {
        let (size, at) = self.size_at(block.start)?;
        let body_at = block.start + block.metadata;
        let fits = u64::try_from(size).is_ok_and(|size| at.saturating_add(size) <= body_at);
        if !fits {
            let expected = format!("at most the {} bytes that the footer tells", block.metadata);
            return Err(self.refusal(&section(block.start), &expected, &format!("{size} bytes"), DAMAGED));
        }
        let metadata = self.metadata(block.start, at, size)?;
        let body = message_of(&metadata, block.start, &self.context)?.bodyLength();
        if u64::try_from(body) != Ok(block.body) {
            let expected = format!("a body of {} bytes, as the footer tells", block.body);
            return Err(self.refusal(&section(block.start), &expected, &format!("{body}"), DAMAGED));
        }
        self.frame(block.start, metadata, body_at, body)
    }

    fn schema(&self, schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, Failure> {
        if schema.endianness() != Endianness::Little {
            let remedy = "write it anew on a little-endian machine";
            return Err(self.refusal("schema", "little-endian values", "big-endian ones", remedy));
        }
        checks::check_fields(schema, &self.context)?;
        decode(&self.context, "schema", || try_fb_to_schema(schema).map(SchemaRef::new))
    }

    fn bytes(&self, start: u64, length: u64, section: &str) -> Result<Vec<u8>, Failure> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.source.read_exactly(start, length).map_err(|error| {
            if self.source.is_cancelled() {
                return Failure::Cancelled { file: self.context.file.clone() };
            }
            match error.kind() {
                ErrorKind::UnexpectedEof => {
                    let found = format!("the end of the file at {}", self.source.byte_length());
                    self.refusal(section, &format!("{length} bytes at byte {start}"), &found, DAMAGED)
                }
                _ => Failure::io(self.source.path(), "read")(error),
            }
        })
    }

    fn refusal(&self, section: &str, expected: &str, found: &str, remedy: &str) -> Failure {
        self.context.refusal(section, expected.to_owned(), found.to_owned(), remedy)
    }
}

fn section(start: u64) -> String {
    format!("message at byte {start}")
}

/// Whether blocks lie between the header and `end`, none inside another.
fn lie_apart(blocks: &VecDeque<Block>, end: u64) -> bool {
    let mut blocks: Vec<Block> = blocks.iter().copied().collect();
    blocks.sort_by_key(|block| block.start);
    let mut before = FILE_HEAD_BYTES;
    blocks.iter().all(|block| {
        let behind = block.start.checked_add(block.metadata).and_then(|at| at.checked_add(block.body));
        let fits = block.start >= before && behind.is_some_and(|behind| behind <= end);
        before = behind.unwrap_or(u64::MAX);
        fits
    })
}

fn message_of<'m>(metadata: &'m [u8], start: u64, context: &ErrorContext) -> Result<Message<'m>, Failure> {
    let section = section(start);
    let message = decode(context, &section, || {
        root_as_message(metadata).map_err(|error| ArrowError::ParseError(error.to_string()))
    })?;
    if message.version() < MetadataVersion::V4 {
        let remedy = "write it anew with Arrow 0.8 or newer";
        let found = format!("{:?}", message.version());
        return Err(context.refusal(&section, "metadata version V4 or V5".to_owned(), found, remedy));
    }
    Ok(message)
}
