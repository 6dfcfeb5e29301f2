//! Fuzzes page headers in a column chunk of a small valid file. The converter refuses or converts the file at once,
//! whatever a header claims.

use std::time::{Duration, Instant};

use mercato_tools::convert::limits::MEMORY_LIMIT_BYTES_MIN;
use mercato_tools::convert::{Conversion, convert};

/// Rows of the file.
const ROWS: u8 = 3;
/// Most time of a conversion. A file of a few rows needs milliseconds.
const CONVERSION_TIME_MAX: Duration = Duration::from_secs(5);

/// The first byte selects the physical type. The rest is the pages of the only column, headers and values.
pub fn run(data: &[u8]) {
    let Some((kind, pages)) = data.split_first() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("in.parquet"), folder.path().join("out.mcol"));
    std::fs::write(&input, file(kind % 8, pages)).expect("room for the input");
    let mut conversion = Conversion::new(&input, &output);
    conversion.memory_limit = MEMORY_LIMIT_BYTES_MIN;
    conversion.threads = 1;
    conversion.progress = false;
    let begun = Instant::now();
    let converted = convert(&conversion);
    assert!(begun.elapsed() < CONVERSION_TIME_MAX, "{ROWS} rows took {:?}", begun.elapsed());
    if let Err(failure) = converted {
        let line = failure.one_line();
        assert!(!line.contains("Parquet footer"), "the footer is sound: {line}");
        let left = std::fs::read_dir(folder.path()).expect("the folder").count();
        assert_eq!(left, 1, "a refusal leaves nothing beside the input: {line}");
    }
}

/// A file of one required, uncompressed column `a` of this physical type. A fixed width is sixteen bytes.
fn file(physical: u8, pages: &[u8]) -> Vec<u8> {
    let kind = [0x15, physical * 2];
    let leaf = [&kind[..], &[0x15, 32, 0x15, 0x00, 0x18, 1, b'a', 0x00]].concat();
    let (rows, bytes) = (number(ROWS.into()), number(pages.len() as u64));
    let chunk = [
        &kind[..],
        &[0x19, 0x15, 0x00, 0x19, 0x18, 1, b'a', 0x15, 0x00, 0x16],
        &rows,
        &[0x16],
        &bytes,
        &[0x16],
        &bytes,
        &[0x26, 8, 0x00, 0x00],
    ]
    .concat();
    let group =
        [&[0x19, 0x1c, 0x26, 0x00, 0x1c][..], &chunk, &[0x16], &bytes, &[0x16], &rows, &[0x00]].concat();
    let schema = [&[0x15, 2, 0x19, 0x2c, 0x48, 1, b'm', 0x15, 2, 0x00][..], &leaf].concat();
    let footer = [&schema[..], &[0x16], &rows, &[0x19, 0x1c], &group, &[0x00]].concat();
    let length = u32::try_from(footer.len()).expect("a short footer").to_le_bytes();
    [b"PAR1", pages, &footer, &length, b"PAR1"].concat()
}

/// A non-negative integer in Thrift's compact protocol.
fn number(value: u64) -> Vec<u8> {
    let (mut rest, mut bytes) = (value << 1, Vec::new());
    while rest >= 0x80 {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}
