//! Neighbouring columns with few values, encoded as one column: every combination of their cells is precomputed, so a
//! row's cells are a single copy.
//!
//! Pays off for many rows. Does not depend on sockets.

use std::sync::OnceLock;

use mercato_format::column::TEXT_PADDING;
use mercato_format::{CellValues, ColumnData, ColumnKind, Dictionary, FormatError, RowReader, Table};

use crate::render::cells::{CROOKED, Cells, Found, Spans, entry_span};
use crate::render::row_writer::{CellText, Layout};

/// Limit of combinations of joined columns.
const JOINED_CELLS_MAX: u32 = 1024;
/// Limit of bytes of the combinations.
const JOINED_BYTES_MAX: usize = 128 * 1024;
/// Fewest rows of a unit for which joining pays off.
pub(crate) const JOINED_ROWS_MIN: usize = 1024;

/// The joined columns of a document, computed on first use.
#[derive(Debug, Default)]
pub struct Combinations {
    made: OnceLock<Vec<JoinedColumns>>,
}

/// Columns that are encoded as one.
#[derive(Debug)]
pub(crate) struct JoinedColumns {
    /// The position of the first of them among the encoded columns.
    pub(crate) first: usize,
    /// Their columns in the table.
    pub(crate) columns: Vec<usize>,
    /// The number of distinct cells of a column, null included.
    sizes: Vec<u32>,
    padded: Vec<u8>,
    spans: Spans,
}

impl Combinations {
    /// Joins suitable columns of a layout. The first call decides for all.
    pub(crate) fn of(&self, table: &Table, columns: &[usize], layout: &Layout) -> &[JoinedColumns] {
        self.made.get_or_init(|| groups(table, columns, layout))
    }
}

/// Groups neighbours while their combinations are few. Columns with a damaged dictionary stay alone and report the
/// damage.
fn groups(table: &Table, columns: &[usize], layout: &Layout) -> Vec<JoinedColumns> {
    let mut found = Vec::new();
    let mut from = 0;
    while from < columns.len() {
        let rest = columns.get(from..).unwrap_or_default();
        let mut cells = 1_u32;
        let fits = |column: &&usize| {
            let size = dictionary(table, **column, layout.text).map(|(dictionary, _)| size_of(&dictionary));
            cells = size.and_then(|size| cells.checked_mul(size)).unwrap_or(u32::MAX);
            cells <= JOINED_CELLS_MAX
        };
        let count = rest.iter().take_while(fits).count();
        let group = rest.get(..count).unwrap_or_default();
        if count > 1 {
            found.extend(JoinedColumns::of(table, from, group, layout));
        }
        from += count.max(1);
    }
    found
}

fn size_of(dictionary: &Dictionary<'_>) -> u32 {
    dictionary.entries.saturating_add(1)
}

/// The dictionary of a column that may be joined. Floats in JSON stay alone, because non-finite ones are counted.
fn dictionary(table: &Table, column: usize, text: CellText) -> Option<(Dictionary<'_>, ColumnKind)> {
    let kind = table.columns().get(column)?.kind;
    match table.column(column) {
        Ok(ColumnData::Dictionary(found)) if kind != ColumnKind::Float || text == CellText::Csv => {
            Some((found, kind))
        }
        _ => None,
    }
}

impl JoinedColumns {
    fn of(table: &Table, first: usize, columns: &[usize], layout: &Layout) -> Option<JoinedColumns> {
        let text = layout.text;
        let parts: Vec<(Dictionary<'_>, ColumnKind)> =
            columns.iter().map(|column| dictionary(table, *column, text)).collect::<Option<_>>()?;
        let sizes: Vec<u32> = parts.iter().map(|(dictionary, _)| size_of(dictionary)).collect();
        let (mut padded, mut spans) = (Vec::new(), Vec::new());
        let combinations: u32 = sizes.iter().product();
        for combination in 0..combinations {
            let (start, mut stride) = (padded.len(), combinations);
            for (number, ((dictionary, kind), size)) in parts.iter().zip(&sizes).enumerate() {
                stride = stride.checked_div(*size)?;
                let code = combination / stride % size;
                if number > 0 {
                    padded.extend_from_slice(layout.before_cell.get(first + number)?.bytes());
                }
                let (from, to) = entry_span(dictionary, *kind, text, code)?;
                let table = dictionary.csv.filter(|_| text == CellText::Csv).unwrap_or(dictionary.json);
                padded.extend_from_slice(table.bytes().get(from..to)?);
            }
            spans.push((start, padded.len()));
            if padded.len() > JOINED_BYTES_MAX {
                return None;
            }
        }
        padded.extend_from_slice(&[0; TEXT_PADDING]);
        Some(JoinedColumns { first, columns: columns.to_vec(), sizes, padded, spans })
    }

    /// The encoder of the joined columns.
    pub(crate) fn encoder<'t>(&'t self, table: &'t Table) -> JoinedEncoder<'t> {
        JoinedEncoder { table, joined: self }
    }
}

/// Encodes the cells of joined columns.
pub(crate) struct JoinedEncoder<'t> {
    table: &'t Table,
    joined: &'t JoinedColumns,
}

impl<'t> JoinedEncoder<'t> {
    /// Empty buffers for gathered cells.
    pub(crate) fn empty_cells(&self) -> Cells<'t> {
        Cells::Joined { bytes: &self.joined.padded, combinations: Vec::new(), spans: Vec::new(), total: 0 }
    }

    /// The number of joined columns.
    pub(crate) fn width(&self) -> usize {
        self.joined.columns.len()
    }

    /// Replaces `cells` by the cells of the columns that begin at `place` of the reader.
    pub(crate) fn encode(
        &self,
        reader: &RowReader<'_>,
        place: usize,
        cells: &mut Cells<'t>,
    ) -> Result<(), FormatError> {
        let damaged = || self.table.damaged(self.joined.columns.first().copied().unwrap_or_default());
        self.encode_cells(reader, place, cells).ok_or_else(damaged)
    }

    /// `None` when a code is out of range.
    fn encode_cells(&self, reader: &RowReader<'_>, place: usize, cells: &mut Cells<'t>) -> Option<()> {
        let Cells::Joined { combinations, spans, total, .. } = cells else { return None };
        let joined = self.joined;
        combinations.clear();
        let mut is_strange = false;
        for (column, size) in (place..).zip(&joined.sizes) {
            let CellValues::Codes(codes) = reader.cells(column)? else { return None };
            combinations.resize(codes.len(), 0);
            for (combination, code) in combinations.iter_mut().zip(codes) {
                is_strange |= code >= size;
                *combination = combination.wrapping_mul(*size).wrapping_add(*code);
            }
        }
        spans.clear();
        let mut found = Found::default();
        let span = |code: &u32| joined.spans.get(*code as usize).copied().unwrap_or(CROOKED);
        spans.extend(combinations.iter().map(|code| found.take(span(code))));
        *total = found.total;
        (!is_strange && found.lies_in(&joined.padded)).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use mercato_format::writer::{Column, ColumnValues, write_table};
    use proptest::prelude::*;

    use super::*;
    use crate::render::{Format, RowWriter};

    const FORMATS: [Format; 4] = [Format::Csv, Format::Json, Format::Ndjson, Format::Sse];

    /// Columns with few values, some null, and numbers with many values among them.
    fn table(folder: &std::path::Path, seeds: &[u8]) -> Table {
        let texts = ["plain", "", "a, b", "\"quoted\"", "line\nend", "null", "città"];
        let of = |number: usize, seed: &u8| usize::from(*seed).wrapping_mul(number + 7) / 3;
        let some = |number: usize, values: usize| {
            let value = move |seed: &u8| of(number, seed) % (values + 1);
            seeds.iter().map(value).map(move |value| (value < values).then_some(value))
        };
        let small = |number, values| {
            ColumnValues::Integers(some(number, values).map(|v| v.map(|v| v as i64)).collect())
        };
        let text = |number, values| {
            ColumnValues::Texts(some(number, values).map(|v| v.map(|v| texts[v].to_owned())).collect())
        };
        let floats = some(5, 3).map(|v| v.map(|v| [1.5, f64::NAN, -0.25][v])).collect();
        let flags = ColumnValues::Booleans(some(1, 2).map(|v| v.map(|v| v == 1)).collect());
        let many = (0..seeds.len() as i64).map(|row| Some(row * 7919)).collect();
        let columns = [
            Column::new("text", ColumnKind::Text, text(0, texts.len())),
            Column::new("flag", ColumnKind::Boolean, flags),
            Column::new("day", ColumnKind::Date, small(2, 9)),
            Column::new("many", ColumnKind::Integer, ColumnValues::Integers(many)),
            Column::new("double", ColumnKind::Float, ColumnValues::Floats(floats)),
            Column::new("price", ColumnKind::Decimal { precision: 9, scale: 2 }, small(3, 5)),
            Column::new("another", ColumnKind::Text, text(4, 3)),
        ];
        let path = folder.join("table.mcol");
        write_table(&path, &columns).unwrap();
        Table::open(&path).unwrap()
    }

    fn written(mut writer: RowWriter<'_>, rows: &[u32]) -> String {
        let mut out = Vec::new();
        writer.begin(&mut out);
        writer.rows(rows, &mut out).unwrap();
        writer.end(&mut out);
        let notes = writer.notes();
        format!("{}{notes:?}", String::from_utf8(out).unwrap())
    }

    proptest! {
        /// Joined and single columns give the same text, for any columns in any order and any rows.
        #[test]
        fn joined_columns_match_single_columns(
            seeds in prop::collection::vec(any::<u8>(), 1_200..1_400),
            columns in prop::collection::vec(0_usize..7, 1..10),
            picked in prop::collection::vec(any::<prop::sample::Index>(), 0..600),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let table = table(folder.path(), &seeds);
            let all: Vec<u32> = (0..table.row_count()).collect();
            let some: Vec<u32> = picked.iter().map(|index| index.index(all.len()) as u32).collect();
            for format in FORMATS {
                for rows in [&all, &some] {
                    let combinations = Combinations::default();
                    let joining =
                        RowWriter::for_unit(format, &table, &columns, JOINED_ROWS_MIN, &combinations).unwrap();
                    let alone = RowWriter::new(format, &table, &columns).unwrap();
                    prop_assert_eq!(written(joining, rows), written(alone, rows));
                }
            }
        }
    }

    #[test]
    fn joins_only_neighbours_with_few_values() {
        let folder = tempfile::tempdir().unwrap();
        let seeds: Vec<u8> = (0..2_000).map(|row| (row * 31 % 251) as u8).collect();
        let table = table(folder.path(), &seeds);
        let joined = |format, columns: &[usize], rows| -> Vec<(usize, Vec<usize>)> {
            let combinations = Combinations::default();
            RowWriter::for_unit(format, &table, columns, rows, &combinations).unwrap();
            let made = combinations.made.into_inner().unwrap_or_default();
            made.into_iter().map(|joined| (joined.first, joined.columns)).collect()
        };
        let all = [0, 1, 2, 3, 4, 5, 6];
        assert_eq!(joined(Format::Csv, &all, JOINED_ROWS_MIN), [(0, vec![0, 1, 2]), (4, vec![4, 5, 6])]);
        // Non-finite floats are counted in JSON, so floats stay alone.
        assert_eq!(joined(Format::Json, &all, JOINED_ROWS_MIN), [(0, vec![0, 1, 2]), (5, vec![5, 6])]);
        assert_eq!(joined(Format::Csv, &all, JOINED_ROWS_MIN - 1), []);
        assert_eq!(joined(Format::Csv, &[3, 0, 3, 1], JOINED_ROWS_MIN), []);
        // Nine columns of 3 cells exceed the limit, so they become several groups.
        let groups = joined(Format::Csv, &[1; 9], JOINED_ROWS_MIN);
        assert_eq!(groups, [(0, vec![1; 6]), (6, vec![1; 3])]);
    }
}
