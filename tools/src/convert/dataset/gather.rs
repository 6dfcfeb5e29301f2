//! Gathers the parts of a conversion: plans Parquet files, spills Arrow and texts, opens a store file to append to, and
//! joins their columns. Does not depend on builders.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use indicatif::ProgressBar;
use mercato_base::words::quoted;
use mercato_format::limits::{COLUMNS_MAX, SOURCE_SCHEMA_BYTES_MAX};
use mercato_format::{ColumnKind, Table};

use crate::convert::Conversion;
use crate::convert::arrow::{self, ArrowSettings};
use crate::convert::dataset::hints::hints;
use crate::convert::dataset::part::{Origin, ParquetPart, Part, PartValues};
use crate::convert::dataset::store::{RowSequence, StorePart};
use crate::convert::dataset::widen::{Shape, TextForm};
use crate::convert::dataset::{Dataset, JoinedColumn, Joiner, PartColumn, check_drops};
use crate::convert::inputs::partitions::{self, Partition};
use crate::convert::inputs::{InputFile, InputFormat};
use crate::convert::plan::{self, Plan};
use crate::convert::resources;
use crate::convert::schema::column_names::with_groups_above;
use crate::convert::schema::flatten::cut;
use crate::convert::source::Source;
use crate::convert::text::forms::ValueForms;
use crate::convert::text::rows::SpilledFile;
use crate::convert::text::{TextReader, TextShape};
use crate::convert::unknown_column;
use crate::failure::Failure;
use crate::progress;

/// Warnings of names that differ only by case.
const NAMES_ALIKE_MAX: usize = 10;
/// Different Parquet schemas that are kept as text.
const SCHEMAS_KEPT_MAX: usize = 16;

/// Gathers all rows of `files`.
pub fn gather(conversion: &Conversion, files: Vec<InputFile>, directory: &Path) -> Result<Dataset, Failure> {
    resources::allow_descriptors(files.len())?;
    let mut gathering = Gathering::new(conversion);
    let name = name_of(&files);
    let planned = gathering.plan_all(&files, directory)?;
    let (parts, reader) = gathering.read_texts(files, planned, directory)?;
    gathering.check_types(&name, &reader)?;
    let shapes = reader.shapes()?;
    gathering.warnings.extend(reader.warnings());
    gathering.join(name, parts, &shapes)
}

/// The files in a message: one by its name, several by the first and their number.
pub fn name_of(files: &[InputFile]) -> String {
    match files {
        [] => String::new(),
        [only] => only.name(),
        [first, others @ ..] => format!("{} and {} more", first.name(), others.len()),
    }
}

/// What is known while files are gathered.
pub struct Gathering<'a> {
    conversion: &'a Conversion,
    drop: HashSet<String>,
    matched: HashSet<String>,
    pub warnings: Vec<String>,
    schemas: Vec<String>,
    bytes_in: u64,
}

/// A file that is no text, opened.
pub enum Planned {
    Parquet(Box<ParquetPart>),
    Store(Box<StorePart>),
}

impl<'a> Gathering<'a> {
    pub fn new(conversion: &'a Conversion) -> Gathering<'a> {
        Gathering {
            conversion,
            drop: conversion.drop.iter().cloned().collect(),
            matched: HashSet::new(),
            warnings: Vec::new(),
            schemas: Vec::new(),
            bytes_in: 0,
        }
    }

    /// Refuses a typed type of a column that no text file has.
    pub fn check_types(&self, name: &str, reader: &TextReader) -> Result<(), Failure> {
        let typed = &self.conversion.text.types;
        if reader.names().next().is_none()
            && let Some(first) = typed.keys().min()
        {
            return Err(Failure::Usage(format!(
                "--type {first}: types are for CSV, JSON and Excel, not for {name}"
            )));
        }
        let unknown = typed.keys().filter(|name| !reader.names().any(|known| known == *name)).min();
        unknown.map_or(Ok(()), |unknown| Err(unknown_column::refuse("--type", unknown, name, reader.names())))
    }

    /// Opens all files that are no texts, because their types matter for the texts.
    pub fn plan_all(
        &mut self,
        files: &[InputFile],
        directory: &Path,
    ) -> Result<Vec<Option<Planned>>, Failure> {
        let mut planned = Vec::with_capacity(files.len());
        for file in files {
            planned.push(match (&file.path, file.format) {
                (Some(path), InputFormat::Parquet) => Some(self.plan_file(path)?),
                (Some(path), InputFormat::Arrow) => Some(self.plan_arrow(path, directory)?),
                (Some(path), InputFormat::Store) => Some(self.open_store(path)?),
                _ => None,
            });
        }
        Ok(planned)
    }

    fn plan_file(&mut self, path: &Path) -> Result<Planned, Failure> {
        let source = Source::open(path, &self.conversion.interruption)?;
        let part = self.plan_source(source, &self.drop.clone(), None)?;
        self.bytes_in += part.plan.source.byte_length();
        self.matched.extend(part.plan.matched_drops.iter().cloned());
        self.warnings.extend(part.plan.warnings.iter().cloned());
        self.keep_schema(part.plan.source_schema.clone());
        Ok(Planned::Parquet(Box::new(part)))
    }

    /// Spills an Arrow file or stream, and plans what was spilled.
    fn plan_arrow(&mut self, path: &Path, directory: &Path) -> Result<Planned, Failure> {
        let Conversion { memory_limit, interruption, progress, .. } = self.conversion;
        let settings =
            ArrowSettings { drop: &self.drop, directory, memory_limit: *memory_limit, interruption };
        let length = path.metadata().map_or(0, |facts| facts.len());
        let bar = if *progress { progress::bar("read", length, "bytes") } else { ProgressBar::hidden() };
        let spilled = arrow::spill(path, &settings, &bar)?;
        bar.finish_and_clear();
        let name = path.display().to_string();
        let source = Source::of_spilled(spilled.file, &name, interruption)
            .map_err(Failure::io(path, "spill the rows of"))?;
        let part = self.plan_source(source, &HashSet::new(), None)?;
        self.bytes_in += spilled.bytes_in;
        self.matched.extend(spilled.matched_drops);
        self.keep_schema(spilled.schema);
        Ok(Planned::Parquet(Box::new(part)))
    }

    fn keep_schema(&mut self, schema: String) {
        if self.schemas.len() < SCHEMAS_KEPT_MAX && !self.schemas.contains(&schema) {
            self.schemas.push(schema);
        }
    }

    fn plan_source(
        &self,
        source: Source,
        drop: &HashSet<String>,
        texts: Option<Arc<ValueForms>>,
    ) -> Result<ParquetPart, Failure> {
        let (limit, mut reading_bytes) = (self.conversion.memory_limit, Vec::new());
        let plan: Plan = plan::plan(source, drop, self.conversion.timestamp_unit, |plan| {
            reading_bytes = resources::reading_bytes(plan, limit)?;
            Ok(())
        })?;
        Ok(ParquetPart { plan, reading_bytes, texts })
    }

    /// Opens and verifies a store file: its damage must not get new checksums.
    fn open_store(&mut self, path: &Path) -> Result<Planned, Failure> {
        let table = Table::open(path).map_err(Failure::store(path))?;
        table.verify(&|_| ()).map_err(Failure::store(path))?;
        self.bytes_in += table.file_bytes();
        self.schemas.push(table.source_schema().to_owned());
        Ok(Planned::Store(Box::new(StorePart::new(table, RowSequence::File))))
    }

    /// Reads the texts, and returns all parts in order with the reader, which knows the columns of texts.
    pub fn read_texts(
        &mut self,
        files: Vec<InputFile>,
        planned: Vec<Option<Planned>>,
        directory: &Path,
    ) -> Result<(Vec<Part>, TextReader), Failure> {
        let has_texts = planned.iter().any(Option::is_none);
        let hints = if has_texts { hints(&planned) } else { HashMap::new() };
        let mut reader = TextReader::new(
            &self.conversion.text,
            &self.drop,
            (directory.to_path_buf(), self.conversion.memory_limit),
            &self.conversion.interruption,
            hints,
            self.bar(&files, has_texts),
        )?;
        let (mut parts, mut before) = (Vec::new(), Vec::new());
        for (file, planned) in files.into_iter().zip(planned) {
            let part = match planned {
                Some(Planned::Parquet(part)) => {
                    let rows = part.plan.row_count;
                    Some((PartValues::Parquet(part), rows))
                }
                Some(Planned::Store(part)) => {
                    let rows = part.table.row_count().into();
                    Some((PartValues::Store(part), rows))
                }
                None => None,
            };
            if part.is_some() || file.partitions != before {
                self.take_spilled(&mut reader, &mut parts, &before)?;
            }
            match part {
                Some((values, rows)) => {
                    let name = file.name();
                    parts.push(Part { values, rows, partitions: file.partitions, name });
                }
                None => {
                    reader.read(&file)?;
                    before = file.partitions;
                }
            }
        }
        self.take_spilled(&mut reader, &mut parts, &before)?;
        self.bytes_in += reader.given_bytes();
        self.matched.extend(reader.matched_drops().iter().cloned());
        Ok((parts, reader))
    }

    fn take_spilled(
        &self,
        reader: &mut TextReader,
        parts: &mut Vec<Part>,
        partitions: &[Partition],
    ) -> Result<(), Failure> {
        for SpilledFile { file, rows, inputs, .. } in reader.take_files()? {
            let source = Source::of_spilled(file, &inputs, &self.conversion.interruption)
                .map_err(Failure::io(Path::new(&inputs), "spill the rows of"))?;
            let part = self.plan_source(source, &HashSet::new(), Some(reader.forms()))?;
            let values = PartValues::Parquet(Box::new(part));
            parts.push(Part { values, rows, partitions: partitions.to_vec(), name: inputs });
        }
        Ok(())
    }

    fn bar(&self, files: &[InputFile], has_texts: bool) -> ProgressBar {
        if !self.conversion.progress || !has_texts {
            return ProgressBar::hidden();
        }
        let texts = files.iter().filter(|file| file.format.is_text());
        let lengths = texts.filter_map(|file| file.path.as_ref()?.metadata().ok()).map(|facts| facts.len());
        progress::bar("read", lengths.sum(), "bytes")
    }

    pub fn join(
        &mut self,
        name: String,
        parts: Vec<Part>,
        texts: &[(String, TextShape)],
    ) -> Result<Dataset, Failure> {
        let by_name: HashMap<&str, &TextShape> =
            texts.iter().map(|(name, shape)| (name.as_str(), shape)).collect();
        let keys = self.partition_shapes(parts.iter().flat_map(|part| &part.partitions));
        let mut joiner = Joiner::default();
        for part in &parts {
            let mut columns = self.columns_of(part, &by_name);
            columns.extend(self.partition_columns(part, &keys));
            joiner.add(&part.name, part.rows, columns)?;
        }
        // Columns of texts without any row, such as a header alone.
        let unseen = texts.iter().filter(|(name, _)| !joiner.has(name)).map(|(name, text)| PartColumn {
            name: name.clone(),
            shape: text.shape.clone(),
            nullable: text.nullable,
            origin: Origin::Missing,
            file: None,
        });
        let unseen = unseen.collect();
        joiner.add(&name, 0, unseen)?;
        let (columns, row_count) = joiner.finish();
        let mut absent = Vec::new();
        if self.conversion.inherited_drop {
            absent.extend(self.conversion.drop.iter().filter(|name| !self.matched.contains(*name)).cloned());
        } else {
            check_drops(&self.conversion.drop, &self.matched, &name, &columns)?;
        }
        if columns.is_empty() {
            let expected = format!("1 to {COLUMNS_MAX} columns");
            return Err(Failure::refused(
                &name,
                "columns",
                expected,
                "0",
                "name a file with columns, or drop fewer",
            ));
        }
        if !texts.is_empty() {
            let lines = texts.iter().map(|(name, text)| format!("{name}: {}", text.shape.source_type));
            self.schemas.push(lines.collect::<Vec<_>>().join("\n"));
        }
        self.warnings.extend(names_alike(&columns));
        Ok(Dataset {
            parts,
            columns,
            row_count,
            source_schema: cut(self.schemas.join("\n\n"), SOURCE_SCHEMA_BYTES_MAX),
            warnings: std::mem::take(&mut self.warnings),
            absent,
            bytes_in: self.bytes_in,
            name,
            held_bytes: 0,
        })
    }

    /// The columns of a part, without those of its folders.
    fn columns_of(&mut self, part: &Part, texts: &HashMap<&str, &TextShape>) -> Vec<PartColumn> {
        match &part.values {
            PartValues::Parquet(parquet) if parquet.texts.is_some() => {
                let columns = (0..).zip(&parquet.plan.columns).filter_map(|(number, column)| {
                    let text = texts.get(column.spec.name.as_str())?;
                    Some(PartColumn {
                        name: column.spec.name.clone(),
                        shape: text.shape.clone(),
                        nullable: text.nullable,
                        origin: Origin::Column(number),
                        file: Some(text.file.clone()).filter(|file| !file.is_empty()),
                    })
                });
                columns.collect()
            }
            PartValues::Parquet(parquet) => {
                let columns = (0..).zip(&parquet.plan.columns).map(|(number, column)| PartColumn {
                    name: column.spec.name.clone(),
                    shape: column.shape(),
                    nullable: column.spec.nullable,
                    origin: Origin::Column(number),
                    file: None,
                });
                columns.collect()
            }
            PartValues::Store(store) => {
                let mut columns = Vec::new();
                for (number, column) in (0..).zip(store.table.columns()) {
                    if !self.drops(&column.name) {
                        columns.push(PartColumn {
                            name: column.name.clone(),
                            shape: Shape::of_store(column.kind, &column.source_type),
                            nullable: column.nullable,
                            origin: Origin::Column(number),
                            file: None,
                        });
                    }
                }
                columns
            }
        }
    }

    /// Whether a column is left out; remembers that its name was there.
    fn drops(&mut self, name: &str) -> bool {
        let matched: Vec<String> =
            with_groups_above(name).filter(|name| self.drop.contains(*name)).map(str::to_owned).collect();
        let is_dropped = !matched.is_empty();
        self.matched.extend(matched);
        is_dropped
    }

    /// The types of the columns of folders: integers where all values are.
    pub fn partition_shapes<'p>(
        &self,
        partitions: impl Iterator<Item = &'p Partition>,
    ) -> HashMap<String, Shape> {
        let mut shapes: HashMap<String, Shape> = HashMap::new();
        for partition in partitions {
            let is_integer =
                partition.value.as_deref().is_none_or(|value| partitions::integer(value).is_some());
            let kind = if is_integer { ColumnKind::Integer } else { ColumnKind::Text };
            let new = || Shape { kind, form: TextForm::Plain, source_type: "folder".into() };
            let shape = shapes.entry(partition.name.clone()).or_insert_with(new);
            if kind == ColumnKind::Text {
                shape.kind = kind;
            }
        }
        shapes
    }

    fn partition_columns(&mut self, part: &Part, shapes: &HashMap<String, Shape>) -> Vec<PartColumn> {
        let mut columns = Vec::new();
        for (number, partition) in (0..).zip(&part.partitions) {
            let Some(shape) = shapes.get(&partition.name) else { continue };
            if !self.drops(&partition.name) {
                columns.push(PartColumn {
                    name: partition.name.clone(),
                    shape: shape.clone(),
                    nullable: partition.value.is_none(),
                    origin: Origin::Partition(number),
                    file: None,
                });
            }
        }
        columns
    }
}

/// Warns of names that differ only by case.
fn names_alike(columns: &[JoinedColumn]) -> Vec<String> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let alike = columns.iter().filter_map(|column| {
        let name = column.spec.name.as_str();
        let before = *seen.entry(name.to_lowercase()).or_insert(name);
        (before != name).then(|| {
            format!(
                "columns {} and {} differ only by case, which DuckDB, SQL and many other programs do not tell apart: rename one \
                 or leave it out with --drop",
                quoted(before),
                quoted(name)
            )
        })
    });
    alike.take(NAMES_ALIKE_MAX).collect()
}
