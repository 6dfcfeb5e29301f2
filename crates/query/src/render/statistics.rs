//! Column statistics as JSON, with values encoded as in rows. Does not depend on datasets.

use std::borrow::Cow;

use mercato_format::encode::{push_date, push_decimal, push_timestamp, push_wide};
use mercato_format::statistics::{NumberSummary, QUANTILES, Stored, float_of};
use mercato_format::text::{json_string_text, push_json_string};
use mercato_format::{ColumnData, ColumnKind, ColumnMeta, ColumnStatistics, FloatWidth, FormatError, Table};

/// Longest text in column statistics, in characters; longer texts are truncated.
const STATISTICS_TEXT_CHARACTERS_MAX: usize = 256;

/// Appends an array with one object for each column. Returns whether the file has the statistics of all columns.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn write_statistics(table: &Table, out: &mut Vec<u8>) -> Result<bool, FormatError> {
    let mut all_complete = true;
    out.push(b'[');
    for column in 0..table.columns().len() {
        if column > 0 {
            out.push(b',');
        }
        all_complete &= write_column_statistics(table, column, out)?;
    }
    out.push(b']');
    Ok(all_complete)
}

/// Appends the object of one column, by number. Returns whether the file has its statistics.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub fn write_column_statistics(table: &Table, column: usize, out: &mut Vec<u8>) -> Result<bool, FormatError> {
    let meta = table.columns().get(column).ok_or_else(|| table.damaged(column))?;
    let kept = table.statistics(column)?;
    let complete = kept.is_some();
    let statistics = match kept {
        Some(statistics) => statistics,
        None => ColumnStatistics::extremes_of(table, column)?,
    };
    ColumnWriter { table, column, meta, statistics: &statistics, complete }.write(out)?;
    Ok(complete)
}

/// Appends a value of a column as statistics hold it.
///
/// # Errors
/// [`FormatError::Corrupt`] when the store file is damaged.
pub(crate) fn write_statistics_value(
    table: &Table,
    column: usize,
    value: Stored,
    out: &mut Vec<u8>,
) -> Result<(), FormatError> {
    let meta = table.columns().get(column).ok_or_else(|| table.damaged(column))?;
    let statistics = &ColumnStatistics::default();
    ColumnWriter { table, column, meta, statistics, complete: false }.push_value(out, value)
}

/// The encoding of the numbers of a column.
#[derive(Clone, Copy)]
struct Form {
    kind: ColumnKind,
    width: FloatWidth,
}

/// The encoding of text lengths.
const WHOLE: Form = Form { kind: ColumnKind::Integer, width: FloatWidth::Double };

struct ColumnWriter<'a> {
    table: &'a Table,
    column: usize,
    meta: &'a ColumnMeta,
    statistics: &'a ColumnStatistics,
    complete: bool,
}

impl ColumnWriter<'_> {
    fn write(&self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let numbers = self.statistics.numbers.as_ref();
        let text = self.meta.kind == ColumnKind::Text;
        let values = numbers.filter(|_| !text);
        let kind = self.meta.kind;
        let form = self.form();
        out.extend_from_slice(b"{\"name\":");
        push_json_string(out, self.meta.name.as_bytes());
        member(out, "type", |out| push_json_string(out, kind.logical().name().as_bytes()));
        member(out, "complete", |out| push_flag(out, self.complete));
        let rows = u64::from(self.table.row_count());
        member(out, "count", |out| push_wide(out, rows.saturating_sub(self.meta.null_count).into()));
        member(out, "nulls", |out| push_wide(out, self.meta.null_count.into()));
        member(out, "nans", |out| push_wide(out, self.meta.nan_count.into()));
        let infinities = self.complete.then_some(self.statistics.infinities);
        member(out, "infinities", |out| or_null(out, infinities, |out, count| push_wide(out, count.into())));
        member(out, "distinct", |out| {
            or_null(out, self.meta.distinct, |out, count| push_wide(out, count.into()))
        });
        self.write_extremes(out, values)?;
        let mean = values.filter(|_| self.complete && kind != ColumnKind::Boolean);
        member(out, "mean", |out| or_null(out, mean, |out, numbers| self.push_mean(out, numbers)));
        let quantiles = values.filter(|_| kind != ColumnKind::Boolean);
        member(out, "quantiles", |out| push_quantiles(out, form, quantiles));
        if text {
            member(out, "lengths", |out| {
                or_null(out, numbers.filter(|_| self.complete), |out, numbers| {
                    self.push_lengths(out, numbers)
                });
            });
        }
        let binned = if text { WHOLE } else { form };
        member(out, "histogram", |out| push_histogram(out, binned, text, numbers));
        self.write_frequent(out)?;
        out.push(b'}');
        Ok(())
    }

    fn form(&self) -> Form {
        Form { kind: self.meta.kind, width: self.meta.float_width() }
    }

    fn write_extremes(&self, out: &mut Vec<u8>, values: Option<&NumberSummary>) -> Result<(), FormatError> {
        let form = self.form();
        let texts = self.statistics.texts;
        for (name, number, text) in [
            ("min", values.map(|numbers| numbers.smallest), texts.map(|(first, _)| first)),
            ("max", values.map(|numbers| numbers.largest), texts.map(|(_, last)| last)),
        ] {
            key(out, name);
            match (number, text) {
                (Some(number), _) => push_number(out, form, number),
                (None, Some(text)) => self.push_text(out, text)?,
                (None, None) => out.extend_from_slice(b"null"),
            }
        }
        Ok(())
    }

    fn write_frequent(&self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        key(out, "topValues");
        let Some(frequent) = &self.statistics.frequent else {
            out.extend_from_slice(b"null");
            return Ok(());
        };
        out.push(b'[');
        for (number, frequent) in frequent.iter().enumerate() {
            out.extend_from_slice(if number == 0 { b"{\"value\":" } else { b",{\"value\":" });
            self.push_value(out, frequent.value)?;
            member(out, "count", |out| push_wide(out, frequent.count.into()));
            out.push(b'}');
        }
        out.push(b']');
        Ok(())
    }

    fn push_value(&self, out: &mut Vec<u8>, value: Stored) -> Result<(), FormatError> {
        match u32::try_from(value) {
            Ok(reference) if self.meta.kind == ColumnKind::Text => self.push_text(out, reference)?,
            _ => push_number(out, self.form(), value),
        }
        Ok(())
    }

    /// Appends the referenced text, truncated when long.
    fn push_text(&self, out: &mut Vec<u8>, reference: u32) -> Result<(), FormatError> {
        let json = match self.table.column(self.column)? {
            ColumnData::Dictionary(data) => data.json.get(reference).map(Cow::Borrowed),
            ColumnData::Texts(data) => data.json(reference).map(Cow::Owned),
            ColumnData::Numbers(_) => None,
        };
        let json = json.ok_or_else(|| self.table.damaged(self.column))?;
        if json.len() <= STATISTICS_TEXT_CHARACTERS_MAX {
            out.extend_from_slice(&json);
            return Ok(());
        }
        let text = json_string_text(&json).ok_or_else(|| self.table.damaged(self.column))?;
        let text = String::from_utf8_lossy(&text);
        match text.char_indices().nth(STATISTICS_TEXT_CHARACTERS_MAX) {
            None => push_json_string(out, text.as_bytes()),
            Some((end, _)) => {
                let cut = format!("{}…", text.get(..end).unwrap_or_default());
                push_json_string(out, cut.as_bytes());
            }
        }
        Ok(())
    }

    fn push_lengths(&self, out: &mut Vec<u8>, numbers: &NumberSummary) {
        out.extend_from_slice(b"{\"min\":");
        push_wide(out, numbers.smallest);
        member(out, "max", |out| push_wide(out, numbers.largest));
        member(out, "mean", |out| or_null(out, numbers.sum, |out, sum| self.push_quotient(out, sum, 0)));
        member(out, "quantiles", |out| push_quantiles(out, WHOLE, Some(numbers)));
        out.push(b'}');
    }

    /// Appends the mean: a float for numbers, the nearest storable value for dates and times.
    fn push_mean(&self, out: &mut Vec<u8>, numbers: &NumberSummary) {
        let Some(sum) = numbers.sum else { return out.extend_from_slice(b"null") };
        let count = i128::from(self.statistics.summarised).max(1);
        match self.meta.kind {
            ColumnKind::Float => {
                let mean = float_of(sum).map_or(f64::NAN, |sum| sum / count as f64);
                push_float(out, FloatWidth::Double, mean);
            }
            ColumnKind::Decimal { scale, .. } => self.push_quotient(out, sum, scale),
            ColumnKind::Date | ColumnKind::Timestamp { .. } => {
                let twice = sum.saturating_mul(2).saturating_add(count);
                push_number(out, self.form(), twice.div_euclid(count.saturating_mul(2)));
            }
            _ => self.push_quotient(out, sum, 0),
        }
    }

    fn push_quotient(&self, out: &mut Vec<u8>, sum: i128, scale: u8) {
        let divisor = self.statistics.summarised.max(1) as f64 * 10f64.powi(scale.into());
        push_float(out, FloatWidth::Double, sum as f64 / divisor);
    }
}

fn push_quantiles(out: &mut Vec<u8>, form: Form, numbers: Option<&NumberSummary>) {
    or_null(out, numbers.and_then(|numbers| numbers.quantiles), |out, quantiles| {
        for (number, (hundredths, quantile)) in QUANTILES.iter().zip(quantiles).enumerate() {
            let open = if number == 0 { '{' } else { ',' };
            out.extend_from_slice(format!("{open}\"p{hundredths}\":").as_bytes());
            push_number(out, form, quantile);
        }
        out.push(b'}');
    });
}

fn push_histogram(out: &mut Vec<u8>, form: Form, lengths: bool, numbers: Option<&NumberSummary>) {
    let binned = numbers.filter(|numbers| !numbers.counts.is_empty());
    or_null(out, binned, |out, numbers| {
        let of: &[u8] = if lengths { b"lengths" } else { b"values" };
        out.extend_from_slice(b"{\"of\":\"");
        out.extend_from_slice(of);
        out.extend_from_slice(b"\",\"bins\":[");
        let bounds = numbers.edges.iter().zip(numbers.edges.iter().skip(1));
        for (number, ((from, to), count)) in bounds.zip(&numbers.counts).enumerate() {
            out.extend_from_slice(if number == 0 { b"{\"from\":" } else { b",{\"from\":" });
            push_bound(out, form, *from);
            // Equal steps pass the largest value, unless they are of floats, whose last bound is that value.
            let to = if form.kind == ColumnKind::Float { *to } else { (*to).min(numbers.largest) };
            member(out, "to", |out| push_bound(out, form, to));
            member(out, "count", |out| push_wide(out, (*count).into()));
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    });
}

/// Appends a bound of a bin. A bound between narrow floats is rounded up to the next one, so that every value stays in
/// its bin.
fn push_bound(out: &mut Vec<u8>, form: Form, bound: i128) {
    match float_of(bound).filter(|_| form.kind == ColumnKind::Float) {
        Some(value) => push_float(out, form.width, form.width.at_least(value)),
        None => push_number(out, form, bound),
    }
}

/// Appends a stored number as in JSON rows.
fn push_number(out: &mut Vec<u8>, form: Form, number: i128) {
    let narrow = i64::try_from(number).unwrap_or(i64::MAX);
    match form.kind {
        ColumnKind::Decimal { scale, .. } => push_decimal(out, number, scale),
        ColumnKind::Float => push_float(out, form.width, float_of(number).unwrap_or(f64::NAN)),
        ColumnKind::Boolean => push_flag(out, number != 0),
        ColumnKind::Date => quoted(out, |out| push_date(out, narrow)),
        ColumnKind::Timestamp { unit } => quoted(out, |out| push_timestamp(out, narrow, unit)),
        ColumnKind::Integer | ColumnKind::Text => push_wide(out, number),
    }
}

fn push_float(out: &mut Vec<u8>, width: FloatWidth, value: f64) {
    if !width.push_finite(out, value) {
        out.extend_from_slice(b"null");
    }
}

fn push_flag(out: &mut Vec<u8>, flag: bool) {
    out.extend_from_slice(if flag { b"true" } else { b"false" });
}

fn quoted(out: &mut Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    encode(out);
    out.push(b'"');
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.push(b',');
    push_json_string(out, name.as_bytes());
    out.push(b':');
}

fn member(out: &mut Vec<u8>, name: &str, encode: impl FnOnce(&mut Vec<u8>)) {
    key(out, name);
    encode(out);
}

fn or_null<T>(out: &mut Vec<u8>, value: Option<T>, encode: impl FnOnce(&mut Vec<u8>, T)) {
    match value {
        Some(value) => encode(out, value),
        None => out.extend_from_slice(b"null"),
    }
}
