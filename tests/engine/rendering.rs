//! Every format prints every cell as a plain printer does, and what JSON and CSV readers read is what was stored.

use mercato_format::encode::{push_date, push_decimal, push_timestamp};
use mercato_format::{ColumnKind, Table};
use mercato_query::render::{
    Format, RENDER_CHUNK_ROWS, RenderedLengths, RowWriter, append_lengths, count_lengths, render_rows,
    renderer_version, stored_lengths,
};
use proptest::prelude::*;

use crate::naive::{Cell, NaiveColumn, NaiveTable, float_json};
use crate::stored::stored;
use crate::tables;

/// The cell in JSON, made with nothing but the standard library, `serde_json` and the printers of exact numbers.
fn json(column: &NaiveColumn, cell: Option<&Cell>) -> String {
    let kind = column.kind;
    let mut out = Vec::new();
    match (kind, cell) {
        (_, None) => return "null".into(),
        (_, Some(Cell::Text(text))) => return serde_json::to_string(text).unwrap(),
        (_, Some(Cell::Flag(flag))) => return flag.to_string(),
        (_, Some(Cell::Float(value))) => {
            return if value.is_finite() { float_json(column.width, *value) } else { "null".into() };
        }
        (ColumnKind::Decimal { scale, .. }, Some(Cell::Number(value))) => {
            push_decimal(&mut out, *value, scale)
        }
        (ColumnKind::Date, Some(Cell::Number(value))) => push_date(&mut out, i64::try_from(*value).unwrap()),
        (ColumnKind::Timestamp { unit }, Some(Cell::Number(value))) => {
            push_timestamp(&mut out, i64::try_from(*value).unwrap(), unit)
        }
        (_, Some(Cell::Number(value))) => return value.to_string(),
    }
    let text = String::from_utf8(out).unwrap();
    if matches!(kind, ColumnKind::Decimal { .. }) { text } else { format!("\"{text}\"") }
}

fn csv(column: &NaiveColumn, cell: Option<&Cell>) -> String {
    match cell {
        None => String::new(),
        Some(Cell::Float(value)) if value.is_nan() => "NaN".into(),
        Some(Cell::Float(value)) if value.is_infinite() => {
            if *value > 0.0 { "Infinity" } else { "-Infinity" }.into()
        }
        Some(Cell::Text(text)) if text.is_empty() || text.contains([',', '"', '\r', '\n']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(Cell::Text(text)) => text.clone(),
        cell => json(column, cell).trim_matches('"').into(),
    }
}

fn expected(format: Format, table: &NaiveTable, columns: &[usize], rows: &[u32]) -> String {
    let cells = |row: &u32, print: fn(&NaiveColumn, Option<&Cell>) -> String| -> Vec<String> {
        columns
            .iter()
            .map(|column| &table.columns[*column])
            .map(|column| print(column, column.cells[*row as usize].as_ref()))
            .collect()
    };
    let object = |row: &u32| {
        let names = columns.iter().map(|column| &table.columns[*column].name);
        let members: Vec<String> =
            names.zip(cells(row, json)).map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    };
    match format {
        Format::Json => format!("[{}]", rows.iter().map(object).collect::<Vec<_>>().join(",")),
        Format::Ndjson => rows.iter().map(|row| format!("{}\n", object(row))).collect(),
        Format::Sse => rows.iter().map(|row| format!("data: {}\n\n", object(row))).collect(),
        Format::Csv => {
            let header: Vec<&str> =
                columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
            // A null that stands alone would be an empty line, which readers skip.
            let is_lone = matches!(columns, [only] if table.columns[*only].cells.iter().any(Option::is_none));
            let line = |row: &u32| match cells(row, csv).join(",") {
                empty if empty.is_empty() => "\"\"\r\n".to_owned(),
                line => format!("{line}\r\n"),
            };
            let quote = if is_lone { "\"" } else { "" };
            let lines: String = rows.iter().map(line).collect();
            format!("{quote}{}{quote}\r\n{lines}", header.join(","))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]
    #[test]
    fn every_format_encodes_every_cell((table, indexed) in tables::table(60), seed in any::<u64>(), contiguous in any::<bool>()) {
        let stored = stored(&table, &indexed);
        let columns: Vec<usize> = (0..table.columns.len()).rev().collect();
        let count = u32::try_from(table.rows).unwrap();
        let pick = |number: u32| (u64::from(number).wrapping_mul(seed | 1) % u64::from(count.max(1))) as u32;
        let rows: Vec<u32> = if contiguous { (0..count).collect() } else { (0..count).map(pick).collect() };
        for format in [Format::Json, Format::Csv, Format::Ndjson, Format::Sse] {
            let mut out = Vec::new();
            let notes = render_rows(format, &stored, &columns, &rows, &mut out).unwrap();
            let found = String::from_utf8(out).unwrap();
            prop_assert_eq!(&found, &expected(format, &table, &columns, &rows));
            let hidden = |cell: &Option<Cell>| matches!(cell, Some(Cell::Float(value)) if !value.is_finite());
            let cells = rows.iter().flat_map(|row| table.columns.iter().map(move |column| &column.cells[*row as usize]));
            let non_finite = if format == Format::Csv { 0 } else { cells.filter(|cell| hidden(cell)).count() as u64 };
            prop_assert_eq!(notes.non_finite, non_finite);
        }
        for column in 0..table.columns.len() {
            let mut out = Vec::new();
            render_rows(Format::Csv, &stored, &[column], &rows, &mut out).unwrap();
            prop_assert_eq!(String::from_utf8(out).unwrap(), expected(Format::Csv, &table, &[column], &rows));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn computed_lengths_match_output((table, indexed) in tables::table(2_600)) {
        let stored = stored(&table, &indexed);
        for format in [Format::Json, Format::Csv, Format::Ndjson, Format::Sse] {
            check_lengths(&stored, format, &count_lengths(&stored, format).unwrap());
        }
    }
}

/// Prints chunk by chunk and compares every place.
fn check_lengths(table: &Table, format: Format, lengths: &RenderedLengths<'_>) {
    let columns: Vec<usize> = (0..table.columns().len()).collect();
    let mut writer = RowWriter::new(format, table, &columns).unwrap();
    let mut text = Vec::new();
    writer.begin(&mut text);
    for chunk in 0..lengths.chunk_count() {
        assert_eq!(lengths.offset_of_chunk(chunk), Some(text.len() as u64), "{format:?}, chunk {chunk}");
        let rows: Vec<u32> = lengths.rows_of_chunk(chunk).collect();
        assert!(!rows.is_empty() && rows.len() <= RENDER_CHUNK_ROWS as usize);
        writer.rows(&rows, &mut text).unwrap();
    }
    assert_eq!(lengths.offset_of_chunk(lengths.chunk_count()), Some(text.len() as u64), "{format:?}");
    assert_eq!(lengths.offset_of_chunk(lengths.chunk_count() + 1), None);
    writer.end(&mut text);
    assert_eq!(lengths.total_bytes(), text.len() as u64, "{format:?}");
}

#[test]
fn stores_lengths_of_export_formats() {
    use mercato_format::writer::{Column, ColumnValues, write_table, write_table_and};
    let numbers = |rows: i64| ColumnValues::Integers((0..rows).map(|row| Some(row * row)).collect());
    let folder = tempfile::tempdir().unwrap();
    for rows in [0, 1, 1_024, 3_000] {
        let columns = [Column::new("n", ColumnKind::Integer, numbers(rows))];
        let (with, without) = (folder.path().join("with.mcol"), folder.path().join("without.mcol"));
        write_table_and(&with, &columns, append_lengths).unwrap();
        write_table(&without, &columns).unwrap();
        let (with, without) = (Table::open(&with).unwrap(), Table::open(&without).unwrap());
        with.verify(&|_| ()).unwrap();
        for format in [Format::Csv, Format::Json, Format::Ndjson] {
            let lengths = stored_lengths(&with, format).unwrap();
            assert_eq!(lengths.renderer_version(), renderer_version(&with));
            assert_eq!(lengths, count_lengths(&with, format).unwrap());
            check_lengths(&with, format, &lengths);
            assert!(stored_lengths(&without, format).is_none());
        }
        assert!(stored_lengths(&with, Format::Sse).is_none());
    }
}

#[test]
fn ignores_lengths_of_another_encoding_version() {
    use mercato_format::writer::{Column, ColumnValues, write_table_and};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.mcol");
    let columns = [Column::new("n", ColumnKind::Integer, ColumnValues::Integers(vec![Some(1), None]))];
    let other = || RenderedLengths::new(7, RENDER_CHUNK_ROWS, 2, &[0, 7], 8).unwrap();
    write_table_and(&path, &columns, |writer| writer.append_rendered_lengths(&[other(), other(), other()]))
        .unwrap();
    let table = Table::open(&path).unwrap();
    table.verify(&|_| ()).unwrap();
    assert!(stored_lengths(&table, Format::Csv).is_none());
    assert_eq!(
        count_lengths(&table, Format::Csv).unwrap().total_bytes(),
        "\"n\"\r\n1\r\n\"\"\r\n".len() as u64
    );
}

#[test]
fn document_does_not_depend_on_batch_size() {
    use mercato_format::writer::{Column, ColumnValues, temporary_table};
    let texts = (0..2_000).map(|row| Some(format!("row {row}"))).collect();
    let table = temporary_table(&[
        Column::new(
            "n",
            ColumnKind::Integer,
            ColumnValues::Integers((0..2_000).map(|row| Some(row * row)).collect()),
        ),
        Column::new("t", ColumnKind::Text, ColumnValues::Texts(texts)),
    ])
    .unwrap();
    let rows: Vec<u32> = (0..2_000).collect();
    let mut whole = Vec::new();
    render_rows(Format::Json, &table, &[0, 1], &rows, &mut whole).unwrap();
    let mut pieces = Vec::new();
    let mut writer = RowWriter::new(Format::Json, &table, &[0, 1]).unwrap();
    writer.begin(&mut pieces);
    rows.chunks(77).for_each(|rows| writer.rows(rows, &mut pieces).unwrap());
    writer.end(&mut pieces);
    assert_eq!(whole, pieces);
    assert!(serde_json::from_slice::<serde_json::Value>(&whole).unwrap().as_array().unwrap().len() == 2_000);
}

/// Files that were made when narrow floats were still printed as doubles.
#[test]
fn recomputes_lengths_of_former_narrow_floats() {
    use mercato_format::writer::{Column, ColumnValues, write_table_and};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("narrow.mcol");
    for (source, first_is_used, value) in [("FLOAT", false, "0.1"), ("DOUBLE", true, "0.10000000149011612")] {
        let bytes = format!("n\r\n{value}\r\n{value}\r\n");
        let values = ColumnValues::Floats(vec![Some(f64::from(0.1f32)); 2]);
        let mut column = Column::new("n", ColumnKind::Float, values);
        column.spec.source_type = source.into();
        let first = || RenderedLengths::new(1, RENDER_CHUNK_ROWS, 2, &[0, 7], 8).unwrap();
        write_table_and(&path, &[column], |writer| {
            writer.append_rendered_lengths(&[first(), first(), first()])
        })
        .unwrap();
        let table = Table::open(&path).unwrap();
        table.verify(&|_| ()).unwrap();
        assert_eq!(stored_lengths(&table, Format::Csv).is_some(), first_is_used, "{source}");
        assert_eq!(count_lengths(&table, Format::Csv).unwrap().total_bytes(), bytes.len() as u64, "{source}");
        let mut out = Vec::new();
        render_rows(Format::Csv, &table, &[0], &[0, 1], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), bytes);
    }
}

/// The length of a file is known before it is printed, so both must know the same form.
#[test]
fn writes_null_of_lone_column_as_quotes() {
    use mercato_format::writer::{Column, ColumnValues, write_table};
    let long = |number: i32| Some(format!("{number} {}", "x".repeat(40)));
    let repeated = |number: i32| (number % 3 > 0).then(|| "a".to_owned());
    let kinds = [
        (ColumnKind::Integer, ColumnValues::Integers((0..3_000).map(|n| (n % 7 > 0).then_some(n)).collect())),
        (ColumnKind::Text, ColumnValues::Texts((0..3_000).map(|n| long(n).filter(|_| n % 5 > 0)).collect())),
        (ColumnKind::Text, ColumnValues::Texts((0..3_000).map(repeated).collect())),
        (
            ColumnKind::Integer,
            ColumnValues::Wide((0..3_000).map(|n| (n % 7 > 0).then_some(i128::from(i64::MAX) + n)).collect()),
        ),
    ];
    for (kind, values) in kinds {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.mcol");
        write_table(&path, &[Column::new("v", kind, values)]).unwrap();
        let table = Table::open(&path).unwrap();
        let rows: Vec<u32> = (0..table.row_count()).collect();
        let mut out = Vec::new();
        render_rows(Format::Csv, &table, &[0], &rows, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("\"v\"\r\n\"\"\r\n"), "{}", &text[..20]);
        assert!(!text.contains("\n\r\n"), "no line is empty");
        assert_eq!(text.lines().count(), 3_001);
        check_lengths(&table, Format::Csv, &count_lengths(&table, Format::Csv).unwrap());
    }
}
