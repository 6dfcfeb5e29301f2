//! Writes one store file of a dataset: builds its columns on several threads, appends them in order, and commits the
//! file. Does not depend on inputs.

use std::path::Path;
use std::time::Instant;

use indicatif::ProgressBar;
use mercato_format::{
    BuildOptions, ColumnBuilder, ColumnReport, ColumnSegment, FormatError, TableMetadata, TableSummary,
    TableWriter,
};
use mercato_query::render::append_lengths;

use crate::convert::Conversion;
use crate::convert::dataset::part::{Origin, Part, PartValues, Sink};
use crate::convert::dataset::{Dataset, JoinedColumn};
use crate::convert::limits::{BATCH_ROWS, COLUMN_BUDGET_BYTES_MIN};
use crate::convert::report::{Phase, PhaseTimer};
use crate::convert::resources;
use crate::convert::schedule::{self, Bounds, Job, MemoryUse};
use crate::convert::values::feeder::{FeedError, Feeder};
use crate::failure::Failure;
use crate::progress;

/// Output of this size is accepted at any expansion ratio, bytes.
const OUTPUT_RATIO_FREE_BYTES: u64 = 1024 * 1024 * 1024;

/// Largest expansion ratio: bytes of store file for one byte of input. It stops decompression bombs.
const OUTPUT_RATIO_MAX: u64 = 1_000;

pub(super) struct ConversionRun<'a> {
    pub(super) conversion: &'a Conversion,
    pub(super) dataset: &'a Dataset,
    /// Whether each column gets a sort index.
    pub(super) sorted: &'a [bool],
    pub(super) directory: &'a Path,
    pub(super) timer: &'a PhaseTimer,
}

impl MemoryUse for ColumnSegment {
    fn memory_bytes(&self) -> u64 {
        ColumnSegment::memory_bytes(self)
    }
}

impl ConversionRun<'_> {
    /// Writes the store file. Statistics and lengths are left out of a file that is only read back.
    pub(super) fn write(
        &self,
        target: &Path,
        replace: bool,
        is_final: bool,
    ) -> Result<(TableSummary, Vec<ColumnReport>), Failure> {
        let (conversion, timer) = (self.conversion, self.timer);
        let store_error = || Failure::store(&conversion.output);
        let metadata = TableMetadata {
            source_schema: self.dataset.source_schema.clone(),
            created_by: concat!("mercato-tools ", env!("CARGO_PKG_VERSION")).into(),
        };
        let writer = TableWriter::create(target, metadata).map_err(store_error())?;
        let writer = if replace { writer } else { writer.without_replacing() };
        conversion.interruption.begin(writer.temporary_path(), &conversion.output);
        let (mut writer, reports) = self.build_all(writer)?;
        conversion.check_interrupted()?;
        if is_final {
            let before = Instant::now();
            writer.append_statistics().map_err(store_error())?;
            append_lengths(&mut writer).map_err(store_error())?;
            timer.record(Phase::Derive, before.elapsed());
            conversion.check_interrupted()?;
        }
        let before = Instant::now();
        let summary = writer.commit(&|_| ()).map_err(store_error())?;
        timer.record(Phase::Commit, before.elapsed());
        Ok((summary, reports))
    }

    fn build_all(&self, mut writer: TableWriter) -> Result<(TableWriter, Vec<ColumnReport>), Failure> {
        let columns = &self.dataset.columns;
        let bar = if self.conversion.progress {
            progress::bar("convert", self.dataset.row_count * columns.len() as u64, "values")
        } else {
            ProgressBar::hidden()
        };
        let jobs = columns.iter().enumerate().map(|(number, column)| Job {
            column: number,
            wanted_bytes: resources::wanted_bytes(self.dataset, column),
            reading_bytes: self.dataset.reading_bytes(column),
        });
        let mut reports = Vec::with_capacity(columns.len());
        let mut written = 0_u64;
        schedule::run(
            jobs.collect(),
            self.bounds(),
            |column, budget| self.build(column, budget, &bar),
            |segment| segment.spill().map_err(Failure::store(&self.conversion.output)),
            |segment: ColumnSegment| {
                let before = Instant::now();
                written += segment.report().data_bytes + segment.report().index_bytes;
                self.check_ratio(written)?;
                reports.push(segment.report().clone());
                let name = segment.report().name.clone();
                writer.append(segment).map_err(|error| self.append_error(name, error))?;
                self.timer.record(Phase::Append, before.elapsed());
                Ok(())
            },
        )?;
        bar.finish_and_clear();
        Ok((writer, reports))
    }

    /// Reserves a tenth of the memory for finished columns in the reorder buffer, and a twentieth for everything else.
    fn bounds(&self) -> Bounds {
        let limit = self.conversion.memory_limit.saturating_sub(self.dataset.held_bytes);
        Bounds {
            threads: self.conversion.threads.clamp(1, self.dataset.columns.len().max(1)),
            building_bytes: resources::building_bytes(limit),
            waiting_bytes: limit / 10,
            budget_bytes_min: COLUMN_BUDGET_BYTES_MIN,
        }
    }

    fn build(&self, index: usize, budget: u64, bar: &ProgressBar) -> Result<ColumnSegment, Failure> {
        let (Some(column), Some(sorted)) = (self.dataset.columns.get(index), self.sorted.get(index)) else {
            return Err(Failure::Usage(format!("column {index} does not exist")));
        };
        let options = BuildOptions {
            memory_budget_bytes: budget,
            spill_directory: self.directory.to_path_buf(),
            sort_index: *sorted,
        };
        let mut builder = ColumnBuilder::new(column.spec.clone(), options);
        let mut feeder = Feeder::default();
        let begun = Instant::now();
        for (part, (origin, shape)) in self.dataset.parts.iter().zip(&column.origins) {
            let shape = column.shape(*shape);
            let batch_bytes = self.batch_bytes(part, *origin);
            let mut sink = Sink {
                builder: &mut builder,
                feeder: &mut feeder,
                kind: column.spec.kind,
                progress: &mut |rows| {
                    bar.inc(rows);
                    self.conversion.check_interrupted()
                },
                refuse: &|first_row, error| self.refuse(part, column, first_row, error),
            };
            part.feed(*origin, shape, batch_bytes, &mut sink)?;
        }
        self.timer.record(Phase::Read, begun.elapsed());
        let before = Instant::now();
        let segment =
            builder.finish().map_err(|error| self.refuse_build(&self.dataset.name, column, error))?;
        self.timer.record(Phase::Build, before.elapsed());
        Ok(segment)
    }

    fn batch_bytes(&self, part: &Part, origin: Origin) -> u64 {
        let (Origin::Column(number), PartValues::Parquet(parquet)) = (origin, &part.values) else { return 0 };
        let column = parquet.plan.columns.get(number as usize);
        column.map_or(0, |column| resources::batch_bytes(&parquet.plan, column, self.conversion.memory_limit))
    }

    fn refuse_build(&self, file: &str, column: &JoinedColumn, source: FormatError) -> Failure {
        Failure::Column { file: file.to_owned(), column: column.spec.name.clone(), source }
    }

    fn refuse(&self, part: &Part, column: &JoinedColumn, first_row: u64, error: FeedError) -> Failure {
        let name = &column.spec.name;
        let file = part.name.clone();
        let remedy = format!("correct the value in the source, or drop the column with --drop {name}");
        match error {
            FeedError::Build(source) => self.refuse_build(&file, column, source),
            FeedError::Value { row, found } => Failure::refused(
                file,
                format!("column `{name}`, row {}", first_row + row as u64),
                format!("values that fit a column of kind {}", column.spec.kind.name()),
                found,
                remedy,
            ),
            FeedError::Type(found) => Failure::refused(
                file,
                format!("column `{name}`, rows {first_row} to {}", first_row + BATCH_ROWS as u64),
                column.spec.source_type.clone(),
                found,
                remedy,
            ),
        }
    }

    /// An I/O error names the output file, a format error the input file.
    fn append_error(&self, column: String, error: FormatError) -> Failure {
        match error {
            FormatError::Io { .. } => Failure::store(&self.conversion.output)(error),
            source => Failure::Column { file: self.dataset.name.clone(), column, source },
        }
    }

    fn check_ratio(&self, written: u64) -> Result<(), Failure> {
        let bytes_in = self.dataset.bytes_in;
        let bound = OUTPUT_RATIO_FREE_BYTES.max(bytes_in.saturating_mul(OUTPUT_RATIO_MAX));
        if written <= bound {
            return Ok(());
        }
        Err(Failure::refused(
            self.dataset.name.clone(),
            "output size",
            format!("at most {bound} bytes out of {bytes_in}"),
            format!("{written}"),
            "the file expands like a decompression bomb; if it is genuine, split it or drop columns",
        ))
    }
}
