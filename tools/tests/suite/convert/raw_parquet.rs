//! Builds Parquet files byte by byte, for contents that no writer produces.

/// An integer in Thrift's compact protocol.
pub fn number(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A data page of `rows` values in an encoding, with `unknown` fields at the end of its header.
pub fn encoded_page(rows: i64, encoding: i64, values: &[u8], unknown: &[u8]) -> Vec<u8> {
    let size = number(values.len() as i64);
    let levels = [0x15, 0x06, 0x15, 0x06, 0x00];
    let data = join(&[&[0x15], &number(rows), &[0x15], &number(encoding), &levels]);
    join(&[&[0x15, 0x00, 0x15], &size, &[0x15], &size, &[0x2c], &data, unknown, &[0x00], values])
}

/// A page of `rows` plain values, with `unknown` fields at the end of its header.
pub fn page(rows: i64, values: &[u8], unknown: &[u8]) -> Vec<u8> {
    encoded_page(rows, 0, values, unknown)
}

/// A dictionary page, and the length of its header.
pub fn dictionary_page(entries: i64, values: &[u8]) -> (Vec<u8>, usize) {
    let size = number(values.len() as i64);
    let data = join(&[&[0x15], &number(entries), &[0x15, 0x04, 0x00]]);
    let header = join(&[&[0x15, 0x04, 0x15], &size, &[0x15], &size, &[0x4c], &data, &[0x00]]);
    (join(&[&header, values]), header.len())
}

/// The variable fields of a file.
pub struct Chunk {
    pub rows: i64,
    /// Claimed compressed size of the chunk, bytes.
    pub bytes: i64,
    /// Claimed uncompressed size of the chunk, bytes.
    pub unfolded: i64,
    pub data_page_offset: i64,
    pub dictionary_page_offset: Option<i64>,
    /// Bytes behind the last known field of the footer.
    pub unknown: Vec<u8>,
    pub created_by: &'static str,
    /// Schema elements behind the leaf.
    pub more_elements: Vec<Vec<u8>>,
}

impl Chunk {
    pub fn plain(rows: i64, bytes: usize) -> Chunk {
        Chunk {
            rows,
            bytes: bytes as i64,
            unfolded: bytes as i64,
            data_page_offset: 4,
            dictionary_page_offset: None,
            unknown: Vec::new(),
            created_by: "hand",
            more_elements: Vec::new(),
        }
    }
}

/// A file of one required INT64 column `a` without compression.
pub fn file(pages: &[u8], chunk: &Chunk) -> Vec<u8> {
    file_with_leaf(pages, chunk, &[0x15, 0x04, 0x25, 0x00, 0x18, 0x01, b'a', 0x00])
}

/// A file of one column with the given schema element.
pub fn file_with_leaf(pages: &[u8], chunk: &Chunk, leaf: &[u8]) -> Vec<u8> {
    let (rows, bytes) = (number(chunk.rows), number(chunk.bytes));
    let dictionary = chunk.dictionary_page_offset.map(|offset| join(&[&[0x26], &number(offset)]));
    let metadata = join(&[
        &[0x15, leaf[1], 0x19, 0x15, 0x00, 0x19, 0x18, 0x01, b'a', 0x15, 0x00, 0x16],
        &rows,
        &[0x16],
        &number(chunk.unfolded),
        &[0x16],
        &bytes,
        &[0x26],
        &number(chunk.data_page_offset),
        &dictionary.unwrap_or_default(),
        &[0x00],
    ]);
    let group =
        join(&[&[0x19, 0x1c, 0x26, 0x00, 0x1c], &metadata, &[0x00, 0x16], &bytes, &[0x16], &rows, &[0x00]]);
    let children = 1 + chunk.more_elements.len();
    let root = join(&[&[0x48, 0x01, b'm', 0x15], &number(children as i64), &[0x00]]);
    let footer = join(&[
        &[0x15, 0x02, 0x19, ((children + 1) << 4) as u8 | 0x0c],
        &root,
        leaf,
        &chunk.more_elements.concat(),
        &[0x16],
        &rows,
        &[0x19, 0x1c],
        &group,
        &[0x28, chunk.created_by.len() as u8],
        chunk.created_by.as_bytes(),
        &chunk.unknown,
        &[0x00],
    ]);
    join(&[b"PAR1", pages, &footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"])
}

/// Plain 64-bit values.
pub fn values(rows: i64) -> Vec<u8> {
    (0..rows).flat_map(i64::to_le_bytes).collect()
}
