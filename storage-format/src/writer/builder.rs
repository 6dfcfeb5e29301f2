//! Builds the sections of a column from its values, inside a memory budget.

use std::path::PathBuf;

use crate::column_record::{ColumnMeta, SortIndex, Storage};
use crate::error::FormatError;
use crate::limits::{ROWS_MAX, TEXT_BYTES_MAX};
use crate::schema::{ColumnKind, ColumnSpec};
use crate::writer::number_column::{self, NumberSource, NumberStats, number_key};
use crate::writer::segment::{ColumnReport, ColumnSegment, SectionSet};
use crate::writer::spool::Spool;
use crate::writer::texts;
use crate::writer::texts::TextSource;
use crate::writer::validity::Validity;

/// The options of a column build.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Approximate memory budget of the column, bytes; at least 1 MiB.
    pub memory_budget_bytes: u64,
    /// The folder for spilled data.
    pub spill_directory: PathBuf,
    /// Whether to build a sort index.
    pub sort_index: bool,
}

impl BuildOptions {
    /// Smallest memory budget of a column.
    pub const MEMORY_MIN_BYTES: u64 = 1 << 20;

    fn share(&self, part: u64) -> u64 {
        self.memory_budget_bytes.max(Self::MEMORY_MIN_BYTES) / part
    }
}

/// Collects the values of one column, in row order.
pub struct ColumnBuilder {
    spec: ColumnSpec,
    options: BuildOptions,
    values: Values,
}

enum Values {
    Numbers(NumberValues),
    Texts(TextSource),
}

/// The numbers of a column, in row order.
struct NumberValues {
    spool: Spool,
    width: usize,
    validity: Validity,
    stats: NumberStats,
    last_key: u128,
}

impl ColumnBuilder {
    /// Begins a column.
    #[must_use]
    pub fn new(spec: ColumnSpec, options: BuildOptions) -> ColumnBuilder {
        let values = match spec.kind {
            ColumnKind::Text => Values::Texts(TextSource::new(options.share(3), &options.spill_directory)),
            _ => Values::Numbers(NumberValues::new(Spool::new(options.share(3), &options.spill_directory))),
        };
        ColumnBuilder { spec, options, values }
    }

    /// Rows so far.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        match &self.values {
            Values::Numbers(numbers) => numbers.validity.rows(),
            Values::Texts(texts) => texts.rows,
        }
    }

    /// Appends integers, scaled decimals, days or time units, by the kind of the column.
    ///
    /// # Errors
    /// [`FormatError::WrongKind`], [`FormatError::UnexpectedNull`], [`FormatError::LimitExceeded`] for too many rows,
    /// [`FormatError::Io`] when spilling fails.
    pub fn extend_integers(&mut self, values: impl Iterator<Item = Option<i64>>) -> Result<(), FormatError> {
        let kind = self.spec.kind;
        if matches!(kind, ColumnKind::Text | ColumnKind::Float | ColumnKind::Boolean) {
            return Err(self.wrong_kind("integer"));
        }
        self.extend_numbers(values.map(|value| value.map(i128::from)))
    }

    /// Appends integers or scaled decimals of up to 128 bits.
    ///
    /// # Errors
    /// As [`ColumnBuilder::extend_integers`].
    pub fn extend_wide(&mut self, values: impl Iterator<Item = Option<i128>>) -> Result<(), FormatError> {
        if !matches!(self.spec.kind, ColumnKind::Integer | ColumnKind::Decimal { .. }) {
            return Err(self.wrong_kind("wide integer"));
        }
        self.extend_numbers(values)
    }

    /// Appends doubles.
    ///
    /// # Errors
    /// As [`ColumnBuilder::extend_integers`].
    pub fn extend_floats(&mut self, values: impl Iterator<Item = Option<f64>>) -> Result<(), FormatError> {
        if self.spec.kind != ColumnKind::Float {
            return Err(self.wrong_kind("float"));
        }
        self.extend_numbers(values.map(|value| value.map(|value| i128::from(value.to_bits().cast_signed()))))
    }

    /// Appends booleans.
    ///
    /// # Errors
    /// As [`ColumnBuilder::extend_integers`].
    pub fn extend_booleans(&mut self, values: impl Iterator<Item = Option<bool>>) -> Result<(), FormatError> {
        if self.spec.kind != ColumnKind::Boolean {
            return Err(self.wrong_kind("boolean"));
        }
        self.extend_numbers(values.map(|value| value.map(i128::from)))
    }

    /// Appends texts.
    ///
    /// # Errors
    /// As [`ColumnBuilder::extend_integers`], and [`FormatError::LimitExceeded`] for a text above 16 MiB.
    pub fn extend_texts<'a>(
        &mut self,
        values: impl Iterator<Item = Option<&'a str>>,
    ) -> Result<(), FormatError> {
        let Values::Texts(texts) = &mut self.values else {
            return Err(self.wrong_kind("text"));
        };
        for value in values {
            check_row(&self.spec, texts.rows, value.is_some())?;
            if let Some(text) = value.filter(|text| text.len() > TEXT_BYTES_MAX) {
                return Err(FormatError::LimitExceeded {
                    what: format!("column `{}`, row {}: bytes of text", self.spec.name, texts.rows),
                    limit: TEXT_BYTES_MAX as u64,
                    found: text.len() as u64,
                    remedy: "shorten the text or drop the column",
                });
            }
            texts.push(value.map(str::as_bytes))?;
        }
        Ok(())
    }

    fn extend_numbers(&mut self, values: impl Iterator<Item = Option<i128>>) -> Result<(), FormatError> {
        let Values::Numbers(numbers) = &mut self.values else {
            return Ok(());
        };
        for value in values {
            check_row(&self.spec, numbers.validity.rows(), value.is_some())?;
            numbers.push(self.spec.kind, value, &self.options)?;
        }
        Ok(())
    }

    fn wrong_kind(&self, found: &'static str) -> FormatError {
        FormatError::WrongKind { column: self.spec.name.clone(), expected: self.spec.kind.name(), found }
    }

    /// Sorts and encodes the column.
    ///
    /// # Errors
    /// [`FormatError::Io`] when spilling fails, [`FormatError::LimitExceeded`] when the column cannot be sorted inside
    /// its memory budget or holds too much text in one chunk.
    pub fn finish(mut self) -> Result<ColumnSegment, FormatError> {
        let rows = self.row_count();
        let directory = self.options.spill_directory.clone();
        let mut set = SectionSet::new(self.options.share(2), &directory);
        let mut meta = empty_meta(&self.spec);
        let (index, memory) = (self.options.sort_index, self.options.share(8) * 5);
        let reason = match &mut self.values {
            Values::Texts(texts) => {
                meta.null_count = texts.null_count;
                texts::write(&mut set, &mut meta, texts, index, memory)?
            }
            Values::Numbers(numbers) => {
                meta.null_count = numbers.validity.null_count();
                let source = numbers.source(self.spec.kind);
                number_column::write(&mut set, &mut meta, &source, index, memory)?
            }
        };
        let report = report(&meta, reason, &set);
        Ok(ColumnSegment { meta, rows, sections: set.sections, texts: set.texts, report })
    }
}

#[inline]
fn check_row(spec: &ColumnSpec, row: u64, has_value: bool) -> Result<(), FormatError> {
    if !has_value && !spec.nullable {
        return Err(FormatError::UnexpectedNull { column: spec.name.clone(), row });
    }
    if row >= ROWS_MAX {
        return Err(FormatError::LimitExceeded {
            what: "rows of a table".into(),
            limit: ROWS_MAX,
            found: row + 1,
            remedy: "split the dataset",
        });
    }
    Ok(())
}

impl NumberValues {
    fn new(spool: Spool) -> NumberValues {
        let stats = NumberStats {
            smallest: u128::MAX,
            largest: 0,
            in_file_order: true,
            nan_count: 0,
            negative_zero: false,
        };
        NumberValues { spool, width: 8, validity: Validity::default(), stats, last_key: 0 }
    }

    #[inline]
    fn push(
        &mut self,
        kind: ColumnKind,
        value: Option<i128>,
        options: &BuildOptions,
    ) -> Result<(), FormatError> {
        let Some(value) = value else {
            self.validity.push(false);
            return self.store(0);
        };
        if self.width == 8 && i64::try_from(value).is_err() {
            self.widen(options)?;
        }
        let key = number_key(kind, self.width, value);
        self.stats.in_file_order &= self.validity.null_count() == 0 && key >= self.last_key;
        self.last_key = key;
        self.stats.smallest = self.stats.smallest.min(key);
        self.stats.largest = self.stats.largest.max(key);
        if kind == ColumnKind::Float {
            self.stats.nan_count += u64::from(key == u128::from(crate::order::NAN_KEY));
            self.stats.negative_zero |= value == i128::from((-0.0f64).to_bits().cast_signed());
        }
        self.validity.push(true);
        self.store(value)
    }

    #[inline]
    fn store(&mut self, value: i128) -> Result<(), FormatError> {
        #[expect(clippy::cast_possible_truncation, reason = "width 8 is left as soon as a value needs more")]
        let narrow = value as i64;
        if self.width == 8 {
            self.spool.push(&narrow.to_le_bytes())
        } else {
            self.spool.push(&value.to_le_bytes())
        }
    }

    /// Rewrites the spooled numbers with 16 bytes each.
    fn widen(&mut self, options: &BuildOptions) -> Result<(), FormatError> {
        let mut wide = Spool::new(options.share(3), &options.spill_directory);
        self.spool.read(8, &mut |piece| {
            piece
                .as_chunks::<8>()
                .0
                .iter()
                .try_for_each(|word| wide.push(&i128::from(i64::from_le_bytes(*word)).to_le_bytes()))
        })?;
        let rekey = |key: u128| {
            let narrow = crate::order::integer_of(u64::try_from(key).unwrap_or(u64::MAX));
            crate::order::wide_key(narrow.into())
        };
        if self.validity.rows() > self.validity.null_count() {
            self.stats.smallest = rekey(self.stats.smallest);
            self.stats.largest = rekey(self.stats.largest);
            self.last_key = rekey(self.last_key);
        }
        self.spool = wide;
        self.width = 16;
        Ok(())
    }

    fn source(&self, kind: ColumnKind) -> NumberSource<'_> {
        NumberSource {
            kind,
            spool: &self.spool,
            width: self.width,
            validity: &self.validity,
            stats: self.stats,
        }
    }
}

fn empty_meta(spec: &ColumnSpec) -> ColumnMeta {
    ColumnMeta {
        name: spec.name.clone(),
        source_type: spec.source_type.clone(),
        kind: spec.kind,
        nullable: spec.nullable,
        storage: Storage::Dictionary,
        sort_index: SortIndex::None,
        number_width: 0,
        csv_plain: false,
        null_count: 0,
        nan_count: 0,
        distinct: None,
        entries: 0,
    }
}

fn report(meta: &ColumnMeta, reason: String, set: &SectionSet<'_>) -> ColumnReport {
    ColumnReport {
        name: meta.name.clone(),
        kind: meta.kind.name(),
        encoding: match meta.storage {
            Storage::Dictionary => "dictionary",
            Storage::Numbers => "numbers",
            Storage::Texts => "texts",
        },
        reason,
        sort_index: meta.sort_index.name(),
        distinct: meta.distinct,
        null_count: meta.null_count,
        nan_count: meta.nan_count,
        data_bytes: set.bytes_of(false),
        index_bytes: set.bytes_of(true),
    }
}
