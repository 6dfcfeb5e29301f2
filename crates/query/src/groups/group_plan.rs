//! Plans a group query against a schema: names to columns, operations to measures, and the columns of the answer.

use mercato_format::writer::{Column, ColumnValues, memory_table};
use mercato_format::{ColumnData, ColumnKind, ColumnMeta, FormatError, Table};

use crate::groups::bucket::Bucket;
use crate::groups::coded::Coded;
use crate::groups::measure::{Measure, Source};
use crate::plan::literal::Decimal;
use crate::plan::resolve::{ResolveError, column_named, resolve};
use crate::request::QueryRequest;
use crate::request::filter::Expression;
use crate::request::groups::{
    AggregateRequest, BucketRequest, GroupRequest, KeyRequest, Operation, Period, Share,
};
use crate::request::validation_error::{Reason, ValidationError};
use crate::work_limit::{SearchError, WorkLimit};
use mercato_base::words::{found_text, quoted};

/// Digits of sums and averages.
pub(super) const EXACT_DIGITS: u8 = 38;
/// Digits that an average has more than its column.
const AVERAGE_DIGITS: u8 = 6;
/// Largest scale of a decimal column.
const SCALE_MAX: u8 = 76;

/// A group query, ready to be answered.
#[derive(Debug)]
pub(crate) struct GroupPlan<'t> {
    pub(super) keys: Vec<Coded<'t>>,
    pub(super) measures: Vec<Measure<'t>>,
    /// What the aggregates read off the measures.
    pub(super) outputs: Vec<Output>,
    /// The columns of the answer: first the keys, then the aggregates.
    pub(super) columns: Vec<ResultColumn>,
    pub(crate) having: Option<Expression>,
    /// The column of the answer that sorts it.
    pub(super) sort: Option<usize>,
    /// Rows that a group must have.
    pub(super) rows_min: u64,
    /// Equal for requests with the same groups.
    pub(crate) canonical: String,
}

/// A column of the answer.
#[derive(Debug, Clone)]
pub(super) struct ResultColumn {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
    source_type: String,
}

/// What an aggregate reads off a measure, given by number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Output {
    /// The rows of the group.
    Rows,
    Present(usize),
    Sum(usize),
    /// With so many digits more than the column.
    Average(usize, u8),
    FloatSum(usize),
    FloatAverage(usize),
    /// The value of the smallest or the largest code.
    Extreme(usize),
    Distinct(usize),
    Quantile(usize, Share),
}

impl GroupPlan<'_> {
    /// Columns of the answer.
    pub(crate) fn column_count(&self) -> usize {
        self.columns.len()
    }
}

impl ResultColumn {
    fn new(name: &str, kind: ColumnKind, source_type: &str) -> ResultColumn {
        ResultColumn { name: name.to_owned(), kind, source_type: source_type.to_owned() }
    }

    /// A column with values of the column of another one.
    fn like(name: &str, meta: &ColumnMeta) -> ResultColumn {
        // Every page has the same type, also where all of its values fit 64 bits.
        let is_wide = meta.kind == ColumnKind::Integer && meta.number_width == 16;
        let kind =
            if is_wide { ColumnKind::Decimal { precision: EXACT_DIGITS + 1, scale: 0 } } else { meta.kind };
        ResultColumn::new(name, kind, &meta.source_type)
    }

    /// The column with its values.
    pub(super) fn with(&self, kind: ColumnKind, values: ColumnValues) -> Column {
        let mut column = Column { sort_index: false, ..Column::new(&self.name, kind, values) };
        column.spec.source_type.clone_from(&self.source_type);
        column
    }

    fn without_values(&self) -> Column {
        let values = match self.kind {
            ColumnKind::Text => ColumnValues::Texts(Vec::new()),
            ColumnKind::Float => ColumnValues::Floats(Vec::new()),
            ColumnKind::Boolean => ColumnValues::Booleans(Vec::new()),
            _ => ColumnValues::Integers(Vec::new()),
        };
        self.with(self.kind, values)
    }
}

/// Plans the groups of a request, and adds the errors that it finds.
///
/// # Errors
/// When the file is damaged or `work` stops the search.
pub(crate) fn plan_groups<'t>(
    request: &QueryRequest,
    groups: &GroupRequest,
    table: &'t Table,
    work: &dyn WorkLimit,
    errors: &mut Vec<ValidationError>,
) -> Result<GroupPlan<'t>, SearchError> {
    let mut planner = Planner { table, keys: Vec::new(), measures: Vec::new(), families: Vec::new() };
    let (mut columns, mut outputs) = (Vec::new(), Vec::new());
    for key in &groups.keys {
        work.check()?;
        match planner.key(key) {
            Ok(column) => columns.push(column),
            Err(Fault::Invalid(error)) => errors.push(*error),
            Err(Fault::Format(error)) => return Err(error.into()),
        }
    }
    for aggregate in &groups.aggregates {
        work.check()?;
        match planner.aggregate(aggregate) {
            Ok((column, output)) => {
                columns.push(column);
                outputs.push(output);
            }
            Err(Fault::Invalid(error)) => errors.push(*error),
            Err(Fault::Format(error)) => return Err(error.into()),
        }
    }
    let sort = match &request.sort_by {
        Some(name) if groups.is_sound => {
            let found = groups.names().position(|(known, _)| known == name);
            if found.is_none() {
                errors.push(no_such_column(name, groups));
            }
            found
        }
        _ => None,
    };
    if let Some(having) = groups.having.as_ref().filter(|_| groups.is_sound && errors.is_empty()) {
        check_having(having, &columns, work, errors)?;
    }
    let Planner { keys, measures, .. } = planner;
    let (having, canonical) = (groups.having.clone(), groups.canonical());
    Ok(GroupPlan {
        keys,
        measures,
        outputs,
        columns,
        having,
        sort,
        rows_min: request.group_rows_min,
        canonical,
    })
}

fn no_such_column(name: &str, groups: &GroupRequest) -> ValidationError {
    let message = format!("the answer has no column {}", quoted(name));
    let hint = "sort groups by a column of `groupBy` or an aggregate";
    let error = ValidationError::new(Reason::UnknownColumn, "/sortBy", message, hint);
    error.with_names(name, groups.names().map(|(name, _)| name))
}

/// Resolves a filter of groups against an answer without groups.
fn check_having(
    having: &Expression,
    columns: &[ResultColumn],
    work: &dyn WorkLimit,
    errors: &mut Vec<ValidationError>,
) -> Result<(), SearchError> {
    let columns: Vec<Column> = columns.iter().map(ResultColumn::without_values).collect();
    match resolve(&memory_table(&columns)?, having, work) {
        Ok(_) => Ok(()),
        Err(ResolveError::Search(error)) => Err(error),
        Err(ResolveError::Invalid(mut found)) => {
            errors.append(&mut found);
            Ok(())
        }
    }
}

/// Why a column cannot be used.
enum Fault {
    Invalid(Box<ValidationError>),
    Format(FormatError),
}

impl From<ValidationError> for Fault {
    fn from(error: ValidationError) -> Fault {
        Fault::Invalid(Box::new(error))
    }
}

impl From<FormatError> for Fault {
    fn from(error: FormatError) -> Fault {
        Fault::Format(error)
    }
}

/// A kind of measures of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Present,
    Sum,
    FloatSum,
    Smallest,
    Largest,
    Values,
}

struct Planner<'t> {
    table: &'t Table,
    keys: Vec<Coded<'t>>,
    measures: Vec<Measure<'t>>,
    /// What the measures are, and of which columns: each is taken once.
    families: Vec<(Family, usize)>,
}

impl<'t> Planner<'t> {
    /// A column by name, and its record.
    fn column(&self, name: &str, pointer: &str) -> Result<(usize, &'t ColumnMeta), ValidationError> {
        let column = column_named(self.table, name, pointer)?;
        let meta = self.table.columns().get(column);
        meta.map(|meta| (column, meta)).ok_or_else(|| refuse(pointer, name, "cannot be read", "leave it out"))
    }

    fn key(&mut self, key: &KeyRequest) -> Result<ResultColumn, Fault> {
        let (column, meta) = self.column(&key.column, &key.column_pointer)?;
        let bucket = key.bucket.as_ref().map(|bucket| bucket_of(key, bucket, meta)).transpose()?;
        self.keys.push(self.coded(column, bucket, &key.column_pointer)?);
        Ok(ResultColumn::like(&key.name, meta))
    }

    /// A column as codes. Texts without a sort index have none.
    fn coded(&self, column: usize, bucket: Option<Bucket>, pointer: &str) -> Result<Coded<'t>, Fault> {
        let name = self.table.columns().get(column).map_or("", |meta| meta.name.as_str());
        if matches!(self.table.column(column)?, ColumnData::Texts(texts) if texts.ranks.is_none()) {
            let message = format!("column {} was published without a sort index", quoted(name));
            let hint = "choose another column";
            return Err(ValidationError::new(Reason::SortNotIndexed, pointer, message, hint).into());
        }
        let coded = Coded::new(self.table, column, bucket)?;
        if coded.domain() == u128::MAX {
            let what = "holds numbers that lie too far apart";
            return Err(refuse(pointer, name, what, "choose another column").into());
        }
        Ok(coded)
    }

    fn aggregate(&mut self, aggregate: &AggregateRequest) -> Result<(ResultColumn, Output), Fault> {
        let count = ResultColumn::new(&aggregate.name, ColumnKind::Integer, ColumnKind::Integer.name());
        let Some(name) = &aggregate.column else { return Ok((count, Output::Rows)) };
        let pointer = format!("{}/column", aggregate.pointer);
        let (column, meta) = self.column(name, &pointer)?;
        fits(aggregate.operation, meta, &pointer)?;
        let operation = aggregate.operation;
        let family = match operation {
            Operation::Count if meta.null_count == 0 => return Ok((count, Output::Rows)),
            Operation::Count => Family::Present,
            Operation::Sum | Operation::Average if meta.kind == ColumnKind::Float => Family::FloatSum,
            Operation::Sum | Operation::Average => Family::Sum,
            Operation::Smallest => Family::Smallest,
            Operation::Largest => Family::Largest,
            Operation::CountDistinct | Operation::Quantile(_) => Family::Values,
        };
        let measure = self.measure(family, column, &pointer)?;
        Ok(output(operation, family, measure, &aggregate.name, meta, count))
    }

    /// The number of a measure, which several aggregates may read.
    fn measure(&mut self, family: Family, column: usize, pointer: &str) -> Result<usize, Fault> {
        if let Some(found) = self.families.iter().position(|known| *known == (family, column)) {
            return Ok(found);
        }
        let measure = match family {
            Family::Present => Measure::Present(Source::new(self.table, column)?),
            Family::Sum => Measure::Sum(Source::new(self.table, column)?),
            Family::FloatSum => Measure::FloatSum(Source::new(self.table, column)?),
            Family::Smallest => Measure::Smallest(self.coded(column, None, pointer)?),
            Family::Largest => Measure::Largest(self.coded(column, None, pointer)?),
            Family::Values => Measure::Values(self.coded(column, None, pointer)?),
        };
        self.measures.push(measure);
        self.families.push((family, column));
        Ok(self.measures.len() - 1)
    }
}

/// The column of an aggregate, and what it reads.
fn output(
    operation: Operation,
    family: Family,
    measure: usize,
    name: &str,
    meta: &ColumnMeta,
    count: ResultColumn,
) -> (ResultColumn, Output) {
    let float = || ResultColumn::new(name, ColumnKind::Float, "DOUBLE");
    let scale = if let ColumnKind::Decimal { scale, .. } = meta.kind { scale } else { 0 };
    let decimal = |scale: u8| {
        let kind = ColumnKind::Decimal { precision: EXACT_DIGITS.max(scale), scale };
        ResultColumn::new(name, kind, kind.name())
    };
    match (operation, family) {
        (Operation::Sum, Family::FloatSum) => (float(), Output::FloatSum(measure)),
        (Operation::Average, Family::FloatSum) => (float(), Output::FloatAverage(measure)),
        (Operation::Sum, _) => (decimal(scale), Output::Sum(measure)),
        (Operation::Average, _) => {
            let more = AVERAGE_DIGITS.min(SCALE_MAX.saturating_sub(scale));
            (decimal(scale.saturating_add(more)), Output::Average(measure, more))
        }
        (Operation::Smallest | Operation::Largest, _) => {
            (ResultColumn::like(name, meta), Output::Extreme(measure))
        }
        (Operation::Quantile(share), _) => (ResultColumn::like(name, meta), Output::Quantile(measure, share)),
        (Operation::CountDistinct, _) => (count, Output::Distinct(measure)),
        (Operation::Count, _) => (count, Output::Present(measure)),
    }
}

fn refuse(pointer: &str, name: &str, what: &str, hint: &str) -> ValidationError {
    let message = format!("column {} {what}", quoted(name));
    ValidationError::new(Reason::OperatorNotApplicable, pointer, message, hint)
}

/// Whether an operation suits the kind of a column.
fn fits(operation: Operation, meta: &ColumnMeta, pointer: &str) -> Result<(), ValidationError> {
    let is_number = matches!(meta.kind, ColumnKind::Integer | ColumnKind::Decimal { .. } | ColumnKind::Float);
    let is_moment = matches!(meta.kind, ColumnKind::Date | ColumnKind::Timestamp { .. });
    match operation {
        Operation::Sum | Operation::Average if !is_number => {
            let hint =
                "`sum` and `avg` are of numbers; `count`, `countDistinct`, `min` and `max` of any column";
            Err(refuse(pointer, &meta.name, "holds no numbers", hint))
        }
        Operation::Quantile(_) if !is_number && !is_moment => {
            let hint = "`median` and `quantile` are of numbers and datetimes; `min` and `max` of any column";
            Err(refuse(pointer, &meta.name, "holds neither numbers nor datetimes", hint))
        }
        _ => Ok(()),
    }
}

fn bucket_of(key: &KeyRequest, bucket: &BucketRequest, meta: &ColumnMeta) -> Result<Bucket, ValidationError> {
    let field = if matches!(bucket, BucketRequest::Period(_)) { "by" } else { "width" };
    let pointer = format!("{}/{field}", key.pointer);
    match (bucket, meta.kind) {
        (BucketRequest::Period(Period::Hour), ColumnKind::Date) => Err(refuse(
            &pointer,
            &key.column,
            "holds dates without a time",
            "choose `day` or a longer period",
        )),
        (BucketRequest::Period(period), ColumnKind::Date) => Ok(Bucket::Period(*period, 1)),
        (BucketRequest::Period(period), ColumnKind::Timestamp { unit }) => {
            Ok(Bucket::Period(*period, unit.per_second() * 86_400))
        }
        (BucketRequest::Period(_), _) => Err(refuse(
            &pointer,
            &key.column,
            "holds no datetimes",
            "leave `by` out, or use `width` for numbers",
        )),
        (BucketRequest::Width(text), ColumnKind::Float) => {
            let width = text.parse::<f64>().ok().filter(|width| *width > 0.0 && width.is_finite());
            width.map(Bucket::FloatWidth).ok_or_else(|| wrong_width(&pointer, text, "a number above 0"))
        }
        (BucketRequest::Width(text), ColumnKind::Integer | ColumnKind::Decimal { .. }) => {
            let scale = if let ColumnKind::Decimal { scale, .. } = meta.kind { scale } else { 0 };
            let width = text.parse::<Decimal>().ok().map(|width| width.scaled_floor(scale));
            let width = width.filter(|width| width.exact && width.floor > 0);
            let expected = format!("a number above 0 with at most {scale} digits after the point");
            width
                .map(|width| Bucket::Width(width.floor))
                .ok_or_else(|| wrong_width(&pointer, text, &expected))
        }
        (BucketRequest::Width(_), _) => Err(refuse(
            &pointer,
            &key.column,
            "holds no numbers",
            "leave `width` out, or use `by` for datetimes",
        )),
    }
}

fn wrong_width(pointer: &str, text: &str, expected: &str) -> ValidationError {
    let message = format!("expected {expected}, found {}", found_text(text));
    ValidationError::new(Reason::OutOfRange, pointer, message, format!("send {expected}"))
}
