//! Fuzzes what a server lays out of the database and the object store: heads of datasets, and outlines of store files. Both are
//! refused, or are what they say: a head is written as it was read, an outline opens as a table of its own outline.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

use mercato_catalog::releases::Head;
use mercato_format::FormatError;
use mercato_format::checksum::checksum;
use mercato_format::outline::{STORE_FILE_BYTES_MAX, inflate};
use mercato_format::reader::Table;

/// Bytes of one change of a sound outline: two of the place, one of the kind, one of the value.
const CHANGE_BYTES: usize = 4;
/// Most changes of one input.
const CHANGES_MAX: usize = 32;
/// Room that the pages at the ends of the pieces of an outline may take on the disk.
const PAGES_BYTES_MAX: u64 = 16 * 4_096;

/// The outline of a store file.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("golden.mcol");
    std::fs::write(&path, include_bytes!("../../storage-format/golden/v1_constant.mcol"))
        .expect("it is written");
    Table::open(&path).and_then(|table| table.outline()).expect("a sound file")
});

/// The first byte selects: a head, an outline without its checksum, changes of a sound outline.
pub fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    match mode % 3 {
        0 => check_head(rest),
        1 => check_outline(rest.to_vec()),
        _ => check_outline(changed(rest)),
    }
}

fn check_head(bytes: &[u8]) {
    let Ok(head) = Head::decode(bytes) else { return };
    let written = head.encode().expect("what was read can be written");
    assert_eq!(Head::decode(&written).as_ref().ok(), Some(&head));
    let texts: usize = head.texts.values().map(String::len).sum();
    assert!(texts <= bytes.len(), "texts are not longer than their JSON");
    assert!(head.versions.values().all(|blobs| blobs.bytes() <= STORE_FILE_BYTES_MAX));
}

/// The sound outline with these changes, without its checksum.
fn changed(script: &[u8]) -> Vec<u8> {
    let mut outline = SOUND[..SOUND.len() - 8].to_vec();
    for change in script.chunks_exact(CHANGE_BYTES).take(CHANGES_MAX) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % outline.len();
        match change[2] % 4 {
            0 => outline[at] = change[3],
            1 => outline[at] ^= 1 << (change[3] % 8),
            2 => outline.truncate(at.max(1)),
            _ => {
                // A number that is at an end of its range.
                let end = (at + 8).min(outline.len());
                outline[at..end].fill(if change[3] % 2 == 0 { 0xFF } else { 0 });
            }
        }
    }
    outline
}

fn check_outline(mut outline: Vec<u8>) {
    let sum = checksum(&outline);
    outline.extend_from_slice(&sum.to_le_bytes());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("outline");
    let length = match inflate(&outline, &path) {
        Ok(length) => length,
        Err(error) => {
            // The disk may know no file of that length.
            assert!(!path.exists() || matches!(error, FormatError::Io { .. }), "{error}");
            return;
        }
    };
    let found = std::fs::metadata(&path).expect("it is there");
    assert!(found.len() == length && length <= STORE_FILE_BYTES_MAX);
    assert!(found.blocks() * 512 <= outline.len() as u64 + PAGES_BYTES_MAX, "{} blocks", found.blocks());
    let Ok(table) = Table::open(&path) else { return };
    for column in 0..table.columns().len() {
        // As the catalogue looks at what is away.
        if let Ok(column) = table.column(column) {
            let _ = column.order();
        }
    }
    let again = table.outline().expect("an open table has an outline");
    check_same(&table, &again, &folder.path().join("again"));
}

fn check_same(table: &Table, outline: &[u8], path: &Path) {
    inflate(outline, path).expect("its outline is sound");
    let again = Table::open(path).expect("and opens");
    assert_eq!(again.fingerprint(), table.fingerprint());
    assert_eq!((again.row_count(), again.file_bytes()), (table.row_count(), table.file_bytes()));
    assert_eq!(again.columns(), table.columns());
}
