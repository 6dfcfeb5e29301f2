//! Queries on damaged store files: an answer or an error, never a panic. Opening does not read the rows, so damage
//! among them reaches the engine.

use mercato_format::Table;
use mercato_format::writer::{Column, ColumnValues, write_table};
use mercato_format::{ColumnKind, TimeUnit};
use mercato_query::render::{Format, Labels, render_arrow, render_rows, render_xlsx};
use mercato_query::{NoSelections, QueryRequest, RowStream, count_matches, execute, plan};

fn file() -> Vec<u8> {
    let rows = 40i64;
    let maybe = |row: i64| row % 9 != 4;
    let integers = |value: fn(i64) -> i64| {
        ColumnValues::Integers((0..rows).map(|row| maybe(row).then(|| value(row))).collect())
    };
    let texts = |value: fn(i64) -> String| {
        ColumnValues::Texts((0..rows).map(|row| maybe(row).then(|| value(row))).collect())
    };
    let floats = (0..rows)
        .map(|row| maybe(row).then_some(if row == 7 { f64::NAN } else { row as f64 * 0.37 }))
        .collect();
    let wide = (0..rows).map(|row| maybe(row).then(|| i128::from(row) << 70)).collect();
    let columns = [
        Column::new("many", ColumnKind::Integer, integers(|row| row * 7_919 % 1_009)),
        Column::new("few", ColumnKind::Text, texts(|row| format!("group \"{}\"", row % 3))),
        Column::new("text", ColumnKind::Text, texts(|row| format!("text, {}", row * 31 % 37))),
        Column::new("float", ColumnKind::Float, ColumnValues::Floats(floats)),
        Column::new("wide", ColumnKind::Decimal { precision: 38, scale: 2 }, ColumnValues::Wide(wide)),
        Column::new("time", ColumnKind::Timestamp { unit: TimeUnit::Second }, integers(|row| row / 4)),
        Column::new("file", ColumnKind::Integer, ColumnValues::Integers((0..rows).map(Some).collect())),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.mcol");
    write_table(&path, &columns).unwrap();
    std::fs::read(path).unwrap()
}

/// Every plan over every storage, printed in every format.
const BODIES: [&str; 14] = [
    "{}",
    "{\"sortBy\":\"many\",\"limit\":7,\"offset\":5}",
    "{\"sortBy\":\"many\",\"sortDirection\":\"desc\"}",
    "{\"sortBy\":\"few\",\"sortDirection\":\"desc\",\"offset\":3}",
    "{\"sortBy\":\"text\",\"filters\":{\"few\":{\"contains\":\"1\"}}}",
    "{\"sortBy\":\"text\",\"sortDirection\":\"desc\",\"offset\":11}",
    "{\"sortBy\":\"float\",\"filters\":{\"many_min\":100,\"time_max\":\"1970-01-01T00:00:09\"}}",
    "{\"sortBy\":\"wide\",\"sortDirection\":\"desc\",\"filters\":{\"$or\":[{\"few\":null},{\"float\":{\"gt\":3}}]}}",
    "{\"filters\":{\"many\":{\"between\":[10,500]}},\"sortDirection\":\"desc\"}",
    "{\"filters\":{\"text\":{\"startsWith\":\"text, 1\"}},\"sortBy\":\"many\"}",
    "{\"filters\":{\"text\":{\"endsWith\":\"3\"},\"wide\":{\"lt\":5e20}}}",
    "{\"filters\":{\"file\":[1,5,9,30],\"few\":{\"ne\":\"group \\\"0\\\"\"}},\"offset\":1}",
    "{\"filters\":{\"$not\":{\"text\":\"text, 5\"}},\"sortBy\":\"time\",\"sortDirection\":\"desc\"}",
    "{\"filters\":{\"float\":{\"isNull\":false},\"file_min\":3},\"sortBy\":\"file\"}",
];

/// Runs everything; gives how many requests were answered.
fn run(table: &Table) -> usize {
    let mut answered = 0;
    for body in BODIES {
        let Ok(request) = QueryRequest::from_json(body.as_bytes(), 10_000) else { panic!("{body}") };
        let Ok(plan) = plan(&request, table, "t@1", &mercato_query::Unlimited) else { continue };
        let Ok(page) = execute(&plan, &NoSelections) else { continue };
        let formats = [Format::Json, Format::Csv, Format::Sse];
        let printed = formats
            .iter()
            .all(|format| render_rows(*format, table, plan.columns(), &page.rows, &mut Vec::new()).is_ok());
        answered += usize::from(printed && count_matches(&plan, &NoSelections).is_ok());
        let mut rows = Vec::new();
        if let Ok(mut stream) = RowStream::new(&plan) {
            while matches!(stream.next_batch(6, &mut rows), Ok(true)) {}
        }
        if let Some(cursor) = page.next_cursor {
            let mut next = request.clone();
            next.resume_at(&cursor).unwrap();
            let _ = mercato_query::plan(&next, table, "t@1", &mercato_query::Unlimited)
                .map(|plan| execute(&plan, &NoSelections));
        }
    }
    let (columns, rows): (Vec<usize>, Vec<u32>) =
        ((0..table.columns().len()).collect(), (0..table.row_count()).collect());
    let as_arrow = render_arrow(table, &columns, &rows, Labels::default(), &mut Vec::new());
    if as_arrow.is_ok() { answered } else { 0 }
}

#[test]
fn intact_file_answers_every_request() {
    assert_eq!(run(&Table::from_bytes(file()).unwrap()), BODIES.len());
}

#[test]
fn flipped_bytes_give_result_or_error() {
    let bytes = file();
    let mut opened = 0;
    for at in 0..bytes.len() {
        for pattern in [0xFFu8, 0x01, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= pattern;
            if let Ok(table) = Table::from_bytes(damaged) {
                run(&table);
                opened += 1;
            }
        }
    }
    assert!(
        opened > 1_000,
        "damage among the rows is not found at open, so the engine must bear it: {opened}"
    );
}

/// All rows in every form; `None` when one was refused.
fn printed(table: &Table) -> Option<Vec<Vec<u8>>> {
    let (columns, rows): (Vec<usize>, Vec<u32>) =
        ((0..table.columns().len()).collect(), (0..table.row_count()).collect());
    let mut outputs = Vec::new();
    for format in [Format::Json, Format::Csv] {
        let mut out = Vec::new();
        render_rows(format, table, &columns, &rows, &mut out).ok()?;
        outputs.push(out);
    }
    for render in [render_arrow, without_notes] {
        let mut out = Vec::new();
        render(table, &columns, &rows, Labels::default(), &mut out).ok()?;
        outputs.push(out);
    }
    Some(outputs)
}

/// What the cells of rows are made of.
const CELL_SECTIONS: [&str; 9] = [
    "row_blocks",
    "block_places",
    "block_columns",
    "symbols",
    "dictionary_values",
    "json_offsets",
    "json_bytes",
    "csv_offsets",
    "csv_bytes",
];

/// Whatever is damaged, what is printed is what was written.
#[test]
fn never_prints_damaged_cells() {
    let bytes = file();
    let sound = Table::from_bytes(bytes.clone()).unwrap();
    let expected = printed(&sound).unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for section in sound.sections() {
        for at in section.offset as usize..(section.offset + section.len) as usize {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x11;
            match Table::from_bytes(damaged).ok().and_then(|table| printed(&table)) {
                None => _ = kinds.insert(section.kind),
                Some(found) => {
                    assert!(
                        !CELL_SECTIONS.contains(&section.kind),
                        "byte {at} of {} is not read",
                        section.kind
                    );
                    assert!(found == expected, "byte {at} of {}", section.kind);
                }
            }
        }
    }
    assert!(CELL_SECTIONS.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}

#[test]
fn entries_that_were_used_stay_as_they_were() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.mcol");
    std::fs::write(&path, file()).unwrap();
    let table = Table::open(&path).unwrap();
    let expected = printed(&table).unwrap();
    let entries = table.sections().filter(|section| CELL_SECTIONS[3..].contains(&section.kind));
    for section in entries {
        let zeros = vec![0; section.len as usize];
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .write_all_at(&zeros, section.offset)
            .unwrap();
    }
    assert!(printed(&table).unwrap() == expected);
    assert!(printed(&Table::open(&path).unwrap()).is_none());
}

fn without_notes(
    table: &Table,
    columns: &[usize],
    rows: &[u32],
    labels: Labels<'_>,
    out: &mut Vec<u8>,
) -> Result<(), mercato_format::FormatError> {
    render_xlsx(table, columns, rows, labels, out).map(drop)
}

#[test]
fn rejects_truncated_files_at_open() {
    let bytes = file();
    assert!((0..bytes.len()).all(|length| Table::from_bytes(bytes[..length].to_vec()).is_err()));
}
