//! Damaged and hostile files: a result or an error, never a panic, and no files left behind.

use std::fs;
use std::path::Path;

use mercato_format::Table;
use mercato_tools::convert::convert;

use crate::convert::files;

/// Converts `bytes`. Only a valid store file may remain.
fn check(folder: &Path, what: &str, bytes: &[u8]) -> bool {
    let input = folder.join("damaged.parquet");
    let output = folder.join("out.mcol");
    fs::write(&input, bytes).unwrap();
    let outcome = convert(&files::isolated(&input, &output));
    let left: Vec<_> = fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name()).collect();
    match &outcome {
        Ok(_) => {
            Table::open(&output).unwrap().verify(&|_| ()).unwrap();
            assert_eq!(left.len(), 2, "{what}: {left:?}");
            fs::remove_file(&output).unwrap();
        }
        Err(failure) => {
            assert_eq!(left.len(), 1, "{what}: {left:?}");
            let line = failure.one_line();
            assert!(line.contains("damaged.parquet") && !line.contains('\n'), "{what}: {line}");
        }
    }
    outcome.is_ok()
}

/// One of so many positions or mutations is tried; with `MERCATO_DAMAGE_STEP=1`, every one.
pub fn step() -> usize {
    std::env::var("MERCATO_DAMAGE_STEP").map_or(17, |step| step.parse().unwrap())
}

/// Runs `check` for every `step`th position on two threads, and returns the number of successful conversions.
fn check_all(positions: usize, damage: impl Fn(usize) -> Vec<u8> + Sync) -> usize {
    let half = |remainder: usize| {
        let damage = &damage;
        move || {
            let folder = tempfile::tempdir().unwrap();
            let mine = (remainder * step()..positions).step_by(2 * step());
            mine.filter(|position| check(folder.path(), &format!("position {position}"), &damage(*position)))
                .count()
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(half(1));
        half(0)() + other.join().unwrap()
    })
}

fn small_file() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::read(files::small(folder.path())).unwrap()
}

#[test]
fn rejects_truncated_files() {
    let bytes = small_file();
    assert_eq!(check_all(bytes.len(), |length| bytes[..length].to_vec()), 0);
}

#[test]
fn survives_any_flipped_byte() {
    let bytes = small_file();
    let sound = check_all(bytes.len(), |position| {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0xff;
        damaged
    });
    // Damage in values changes values only; damage in footer and page headers is detected.
    assert!(sound > 0 && sound < bytes.len(), "{sound} of {}", bytes.len());
}

#[test]
fn survives_any_flipped_footer_bit() {
    let bytes = small_file();
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let start = bytes.len() - 8 - length;
    check_all(bytes.len() - start, |position| {
        let mut damaged = bytes.clone();
        damaged[start + position] ^= 1 << (position % 8);
        damaged
    });
}

#[test]
fn rejects_files_that_are_not_parquet() {
    let folder = tempfile::tempdir().unwrap();
    for (what, bytes) in [
        ("empty", b"".to_vec()),
        ("text", b"a,b\r\n1,2\r\n and some more text".to_vec()),
        ("magic only", b"PAR1PAR1PAR1".to_vec()),
        ("huge footer", b"PAR1____________________\xff\xff\xff\x7fPAR1".to_vec()),
        ("encrypted", b"PAR1____________________\x04\x00\x00\x00PARE".to_vec()),
    ] {
        assert!(!check(folder.path(), what, &bytes), "{what}");
    }
}

/// A footer whose schema would overflow the stack of a recursive parser.
#[test]
fn rejects_deeply_nested_schema() {
    let folder = tempfile::tempdir().unwrap();
    let levels = 60_000_u32;
    // Struct FileMetaData: field 1 i32 version 1, field 2 list of structs.
    let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
    let mut count = levels;
    while count >= 0x80 {
        footer.push((count & 0x7f) as u8 | 0x80);
        count >>= 7;
    }
    footer.push(count as u8);
    for _ in 0..levels {
        // Element: field 3 i32 repetition 0, field 4 binary "a", field 5 i32 one child.
        footer.extend([0x35, 0x00, 0x18, 0x01, b'a', 0x15, 0x02, 0x00]);
    }
    footer.push(0);
    let mut bytes = b"PAR1".to_vec();
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(b"PAR1");
    assert!(!check(folder.path(), "deep schema", &bytes));
}

/// A page of a few bytes that claims 10^15 text lengths.
#[test]
fn rejects_page_with_too_many_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = include_bytes!("../../../../fuzz/seeds/parquet_convert/many-lengths");
    assert!(!check(folder.path(), "many lengths", bytes));
}
