//! The rows of a conversion: all files together as one table, its columns joined by name. Does not depend on formats of
//! a file.

pub mod gather;
mod hints;
pub mod part;
pub mod store;
pub mod widen;

use std::collections::{HashMap, HashSet};

use mercato_format::limits::{COLUMNS_MAX, ROWS_MAX};
use mercato_format::{ColumnSpec, Table};

use crate::convert::limits::FILE_COLUMNS_MAX;
use crate::convert::resources;
use crate::convert::schema::flatten::cut;
use crate::convert::unknown_column;
use crate::failure::Failure;
use part::{Origin, Part, PartValues};
use store::{RowSequence, StorePart};
use widen::Shape;

/// Memory of the reader of a store file's column, bytes: a batch and the texts that it decodes.
const STORE_READING_BYTES: u64 = 8 * 1024 * 1024;

pub struct Dataset {
    /// The parts, in the order of their rows.
    pub parts: Vec<Part>,
    pub columns: Vec<JoinedColumn>,
    pub row_count: u64,
    pub source_schema: String,
    /// Warnings for the operator, one sentence each.
    pub warnings: Vec<String>,
    /// Inherited names that no file has.
    pub absent: Vec<String>,
    /// Bytes of all inputs. Text counts decompressed.
    pub bytes_in: u64,
    /// The inputs, for messages.
    pub name: String,
    /// Memory that the dataset holds itself, bytes.
    pub held_bytes: u64,
}

pub struct JoinedColumn {
    /// Name, kind, nullability and source type.
    pub spec: ColumnSpec,
    /// Its values in each part, and the type there.
    pub origins: Vec<(Origin, u32)>,
    pub shapes: Vec<Shape>,
}

impl JoinedColumn {
    /// The type of the column in a part, by the second number of its origin.
    #[must_use]
    pub fn shape(&self, number: u32) -> Option<&Shape> {
        self.shapes.get(number as usize)
    }
}

impl Dataset {
    /// The rows of one store file in another order.
    #[must_use]
    pub fn reordered(table: Table, sequence: RowSequence, before: Dataset) -> Dataset {
        let held_bytes = match &sequence {
            RowSequence::Rows(rows) => rows.len() as u64 * 4,
            RowSequence::File | RowSequence::Index(_) => 0,
        };
        let columns = (0_u32..).zip(before.columns).map(|(number, column)| {
            let spec = column.spec;
            let shape = Shape::of_store(spec.kind, &spec.source_type);
            JoinedColumn { spec, origins: vec![(Origin::Column(number), 0)], shapes: vec![shape] }
        });
        let columns = columns.collect();
        let part = Part {
            rows: table.row_count().into(),
            values: PartValues::Store(Box::new(StorePart::new(table, sequence))),
            partitions: Vec::new(),
            name: before.name.clone(),
        };
        Dataset {
            row_count: part.rows,
            parts: vec![part],
            columns,
            source_schema: before.source_schema,
            warnings: before.warnings,
            absent: before.absent,
            bytes_in: before.bytes_in,
            name: before.name,
            held_bytes,
        }
    }

    /// Bytes of the texts of a column, before they are encoded.
    #[must_use]
    pub fn text_bytes(&self, column: &JoinedColumn) -> u64 {
        let parts =
            self.parts.iter().zip(&column.origins).map(|(part, (origin, _))| match (origin, &part.values) {
                (Origin::Missing, _) => 0,
                (Origin::Partition(_), _) => part.rows,
                (Origin::Column(number), PartValues::Parquet(parquet)) => {
                    let column = parquet.plan.columns.get(*number as usize);
                    column.map_or(0, |column| resources::unfolded_bytes(&parquet.plan, column))
                }
                (Origin::Column(number), PartValues::Store(store)) => {
                    store.section_bytes.get(*number as usize).copied().unwrap_or(0)
                }
            });
        parts.fold(0, u64::saturating_add)
    }

    /// Memory of the reader of a column, bytes: that of its largest part.
    #[must_use]
    pub fn reading_bytes(&self, column: &JoinedColumn) -> u64 {
        let parts =
            self.parts.iter().zip(&column.origins).map(|(part, (origin, _))| match (origin, &part.values) {
                (Origin::Column(number), PartValues::Parquet(parquet)) => {
                    parquet.reading_bytes.get(*number as usize).copied().unwrap_or(0)
                }
                (Origin::Column(_), PartValues::Store(_)) => STORE_READING_BYTES,
                _ => 0,
            });
        parts.max().unwrap_or(0)
    }
}

/// Joins the columns of parts, one after the other.
#[derive(Default)]
pub struct Joiner {
    columns: Vec<Joining>,
    by_name: HashMap<String, usize>,
    parts: usize,
    rows: u64,
}

struct Joining {
    name: String,
    joined: Shape,
    nullable: bool,
    /// The part where the type was set, for messages.
    set_by: String,
    origins: Vec<(Origin, u32)>,
    shapes: Vec<Shape>,
}

pub struct PartColumn {
    pub name: String,
    pub shape: Shape,
    /// Whether nulls are allowed.
    pub nullable: bool,
    pub origin: Origin,
    /// The file of the column, for messages, where the part has several.
    pub file: Option<String>,
}

impl Joiner {
    /// Adds the columns of the next part.
    ///
    /// # Errors
    /// When a column has another type than in a part before, that neither widens to; or a bound is exceeded.
    pub fn add(&mut self, name: &str, rows: u64, columns: Vec<PartColumn>) -> Result<(), Failure> {
        for column in columns {
            self.add_column(name, column)?;
        }
        self.parts += 1;
        self.rows += rows;
        let (parts, filled) = (self.parts, rows > 0);
        for column in &mut self.columns {
            if column.origins.len() < parts {
                column.nullable |= filled;
                column.origins.resize(parts, (Origin::Missing, 0));
            }
        }
        let cells = self.parts.saturating_mul(self.columns.len());
        if cells > FILE_COLUMNS_MAX {
            let expected = format!("at most {FILE_COLUMNS_MAX} columns in all files together");
            return Err(Failure::refused(
                name,
                "columns",
                expected,
                cells.to_string(),
                "join small files first",
            ));
        }
        if self.rows > ROWS_MAX {
            let (expected, found) = (format!("at most {ROWS_MAX} rows in all files"), self.rows.to_string());
            return Err(Failure::refused(name, "rows", expected, found, "split the dataset"));
        }
        Ok(())
    }

    /// Whether a part before has this column.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    fn add_column(&mut self, part: &str, column: PartColumn) -> Result<(), Failure> {
        let file = column.file.unwrap_or_else(|| part.to_owned());
        let Some(number) = self.by_name.get(&column.name).copied() else {
            if self.columns.len() == COLUMNS_MAX {
                let expected = format!("at most {COLUMNS_MAX} columns in all files together");
                return Err(Failure::refused(file, "columns", expected, "more", "drop some with --drop"));
            }
            let mut origins = vec![(Origin::Missing, 0); self.parts];
            origins.push((column.origin, 0));
            self.by_name.insert(column.name.clone(), self.columns.len());
            self.columns.push(Joining {
                name: column.name,
                joined: column.shape.clone(),
                nullable: column.nullable || self.rows > 0,
                set_by: file,
                origins,
                shapes: vec![column.shape],
            });
            return Ok(());
        };
        let Some(known) = self.columns.get_mut(number) else { return Ok(()) };
        if known.origins.len() > self.parts {
            let section = format!("column `{}`", shown(&column.name));
            let remedy = "rewrite the file without the column, or name the file instead of its folder";
            let found = "one in the file and one in the name of a folder".to_owned();
            return Err(Failure::refused(file, section, "one column of this name", found, remedy));
        }
        let Some(joined) = known.joined.join(&column.shape) else {
            return Err(known.refuse(&column.shape, &file));
        };
        if joined != known.joined {
            known.set_by = file;
        }
        known.joined = joined;
        known.nullable |= column.nullable;
        let shape = known.shapes.iter().position(|shape| *shape == column.shape);
        let shape = shape.unwrap_or_else(|| {
            known.shapes.push(column.shape);
            known.shapes.len() - 1
        });
        known.origins.push((column.origin, u32::try_from(shape).unwrap_or(u32::MAX)));
        Ok(())
    }

    /// The joined columns, and the rows of all parts.
    #[must_use]
    pub fn finish(self) -> (Vec<JoinedColumn>, u64) {
        let columns = self.columns.into_iter().map(|column| JoinedColumn {
            spec: ColumnSpec {
                name: column.name,
                kind: column.joined.kind,
                nullable: column.nullable,
                source_type: column.joined.source_type,
            },
            origins: column.origins,
            shapes: column.shapes,
        });
        (columns.collect(), self.rows)
    }
}

impl Joining {
    fn refuse(&self, shape: &Shape, file: &str) -> Failure {
        let section = format!("column `{}`", shown(&self.name));
        let expected = format!("a type that joins with {} in {}", self.joined.describe(), self.set_by);
        let remedy = format!(
            "write both files with one type, or leave the column out with --drop {}",
            shown(&self.name)
        );
        Failure::refused(file, &section, expected, shape.describe(), remedy)
    }
}

/// Refuses a name to drop that no file has.
pub fn check_drops(
    wanted: &[String],
    matched: &HashSet<String>,
    file: &str,
    columns: &[JoinedColumn],
) -> Result<(), Failure> {
    let Some(unknown) = wanted.iter().find(|name| !matched.contains(*name)) else { return Ok(()) };
    let names = columns.iter().map(|column| column.spec.name.as_str());
    Err(unknown_column::refuse("--drop", unknown, file, names))
}

fn shown(name: &str) -> String {
    cut(name.to_owned(), 64)
}
