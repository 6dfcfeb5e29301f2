//! Resolves the filter of a request against a schema: names to columns, literals to keys.
//!
//! Moves negations to the leaves (De Morgan). Nulls never match, as in SQL's three-valued logic.

use memchr::memmem::Finder;
use mercato_format::{ColumnData, ColumnKind, ColumnMeta, Dictionary, Table};

use crate::plan::bounds::{Bound, bound_of, class_keys, keys_of, prefix_keys};
use crate::plan::key_set::KeySet;
use crate::plan::predicate::{Filter, Leaf, Test, TextPattern, TextTest, highest_key};
use crate::request::filter::{Condition, Expression, Operator, Scalar};
use crate::request::validation_error::{Reason, VALIDATION_ERRORS_MAX, ValidationError, pointer_to};
use crate::work_limit::{SearchError, Stop, VALUES_PER_CHECK, WorkLimit};
use mercato_base::words::quoted;

/// Why a filter could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("the filter does not fit the schema")]
    Invalid(Vec<ValidationError>),
    /// The store file is damaged, or the search was stopped.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// Resolves a filter.
///
/// # Errors
/// The errors of the filter, the first [`VALIDATION_ERRORS_MAX`], the damage of the file, or the stop of `work`.
pub fn resolve(table: &Table, expression: &Expression, work: &dyn WorkLimit) -> Result<Filter, ResolveError> {
    let mut resolver = Resolver { table, work, errors: Vec::new() };
    let filter = resolver.expression(expression, false)?;
    resolver.errors.truncate(VALIDATION_ERRORS_MAX);
    if resolver.errors.is_empty() { Ok(filter) } else { Err(ResolveError::Invalid(resolver.errors)) }
}

/// Finds a column by name, or suggests the nearest name.
///
/// # Errors
/// An error with reason `UNKNOWN_COLUMN`.
pub fn column_named(table: &Table, name: &str, pointer: &str) -> Result<usize, ValidationError> {
    table.column_index(name).ok_or_else(|| {
        let message = format!("there is no column {}", quoted(name));
        let hint = "the schema endpoint lists the columns";
        let names = table.columns().iter().map(|column| column.name.as_str());
        ValidationError::new(Reason::UnknownColumn, pointer, message, hint).with_names(name, names)
    })
}

struct Resolver<'t> {
    table: &'t Table,
    work: &'t dyn WorkLimit,
    errors: Vec<ValidationError>,
}

impl Resolver<'_> {
    fn expression(&mut self, expression: &Expression, negated: bool) -> Result<Filter, SearchError> {
        match (expression, negated) {
            (Expression::Not(inner), _) => self.expression(inner, !negated),
            (Expression::And(parts), false) | (Expression::Or(parts), true) => {
                Ok(Filter::all_of(self.parts(parts, negated)?, self.work)?)
            }
            (Expression::Or(parts), false) | (Expression::And(parts), true) => {
                Ok(Filter::any_of(self.parts(parts, negated)?, self.work)?)
            }
            (Expression::Condition(condition), _) => self.condition(condition, negated),
        }
    }

    fn parts(&mut self, parts: &[Expression], negated: bool) -> Result<Vec<Filter>, SearchError> {
        parts.iter().map(|part| self.expression(part, negated)).collect()
    }

    fn condition(&mut self, condition: &Condition, negated: bool) -> Result<Filter, SearchError> {
        if self.errors.len() >= VALIDATION_ERRORS_MAX {
            return Ok(Filter::Nothing);
        }
        let (name, operator) = self.target(condition);
        match column_named(self.table, name, condition.key_pointer()) {
            Err(error) => {
                // One key may have several operators.
                if self.errors.last().is_none_or(|last| last.pointer != error.pointer) {
                    self.errors.push(error.or_connective(name));
                }
                Ok(Filter::Nothing)
            }
            Ok(column) => match self.test(column, operator, condition, negated)? {
                Some(test) => Ok(Filter::Leaf(Leaf { column, test })),
                None => Ok(Filter::Nothing),
            },
        }
    }

    /// The column that a key names, and the operator: an exact name wins over a `_min` or `_max` suffix.
    fn target<'c>(&self, condition: &'c Condition) -> (&'c str, Operator) {
        let name = condition.name.as_str();
        if self.table.column_index(name).is_none() && condition.plain && condition.operator == Operator::Eq {
            for (suffix, operator) in [("_min", Operator::Gte), ("_max", Operator::Lte)] {
                if let Some(short) =
                    name.strip_suffix(suffix).filter(|short| self.table.column_index(short).is_some())
                {
                    return (short, operator);
                }
            }
        }
        (name, condition.operator)
    }

    /// The test, or `None` after an error.
    fn test(
        &mut self,
        column: usize,
        operator: Operator,
        condition: &Condition,
        negated: bool,
    ) -> Result<Option<Test>, SearchError> {
        let Some(meta) = self.table.columns().get(column) else { return Ok(None) };
        if condition.values.is_empty() {
            return Ok(None);
        }
        match (operator, condition.values.first()) {
            (Operator::IsNull, Some(Scalar::Bool(flag))) => return Ok(Some(null_test(*flag != negated))),
            (Operator::IsNan | Operator::IsFinite, _) if meta.kind != ColumnKind::Float => {
                let message = format!(
                    "`{}` works on doubles, column {} holds none",
                    operator.name(),
                    quoted(&meta.name)
                );
                let hint =
                    "leave it out: every value of this column is a finite one; `isNull` finds rows without";
                self.refuse(Reason::OperatorNotApplicable, condition, message, hint);
                return Ok(None);
            }
            (Operator::IsNan | Operator::IsFinite, Some(Scalar::Bool(flag))) => {
                let data = self.table.column(column)?;
                let keys = class_keys(&data, operator, *flag != negated);
                return keys
                    .map(|keys| Some(Test::Keys(keys)))
                    .ok_or_else(|| self.table.damaged(column).into());
            }
            (Operator::IsNull | Operator::IsNan | Operator::IsFinite, _) => {
                let name = operator.name();
                let hint = format!("send {{\"{name}\": true}} or {{\"{name}\": false}}");
                self.refuse(Reason::TypeMismatch, condition, format!("`{name}` takes true or false"), &hint);
                return Ok(None);
            }
            (Operator::Eq, Some(Scalar::Null)) => return Ok(Some(null_test(!negated))),
            (Operator::Ne, Some(Scalar::Null)) => return Ok(Some(null_test(negated))),
            (_, Some(Scalar::Null)) => {
                let hint = "null has no order; use {\"isNull\": true}";
                self.refuse(Reason::TypeMismatch, condition, "expected a value, found null", hint);
                return Ok(None);
            }
            _ => (),
        }
        let textual = matches!(operator, Operator::Contains | Operator::StartsWith | Operator::EndsWith);
        if textual && meta.kind != ColumnKind::Text {
            let message =
                format!("`{}` works on strings, column {} holds none", operator.name(), quoted(&meta.name));
            self.refuse(
                Reason::OperatorNotApplicable,
                condition,
                message,
                "use a comparison such as `gte` and `lte`",
            );
            return Ok(None);
        }
        match bounds_of(meta, operator, condition) {
            Ok(bounds) => self.compare(column, operator, &bounds, negated).map(Some),
            Err(mut errors) => {
                self.errors.append(&mut errors);
                Ok(None)
            }
        }
    }

    fn compare(
        &self,
        column: usize,
        operator: Operator,
        bounds: &[Bound],
        negated: bool,
    ) -> Result<Test, SearchError> {
        let data = self.table.column(column)?;
        let damaged = || self.table.damaged(column);
        if let ColumnData::Texts(texts) = &data {
            let pattern = text_pattern(operator, bounds);
            if let (TextPattern::StartsWith(prefix), true) = (&pattern, texts.ranks.is_some()) {
                let keys = prefix_keys(texts, prefix).ok_or_else(damaged)?;
                return Ok(Test::Keys(complement_if(&data, keys, negated)));
            }
            if texts.ranks.is_none() || matches!(operator, Operator::Contains | Operator::EndsWith) {
                let opposite = matches!(operator, Operator::Ne | Operator::Nin);
                return Ok(Test::Text(Box::new(TextTest { pattern, negated: negated != opposite })));
            }
        }
        let keys = match (&data, operator) {
            (
                ColumnData::Dictionary(dictionary),
                Operator::Contains | Operator::StartsWith | Operator::EndsWith,
            ) => {
                let pattern = text_pattern(operator, bounds);
                KeySet::of_ranges(self.fitting_codes(dictionary, &pattern)?)
            }
            _ => keys_of(&data, operator, bounds).ok_or_else(damaged)?,
        };
        Ok(Test::Keys(complement_if(&data, keys, negated)))
    }

    /// The codes of the entries that match a pattern, each as a range.
    fn fitting_codes(
        &self,
        dictionary: &Dictionary<'_>,
        pattern: &TextPattern,
    ) -> Result<Vec<(u128, u128)>, Stop> {
        let mut codes = Vec::new();
        for code in 0..dictionary.entries {
            if (code as usize).is_multiple_of(VALUES_PER_CHECK) {
                self.work.check()?;
            }
            let text = dictionary.json.get(code).and_then(mercato_format::text::json_string_text);
            if text.is_some_and(|text| pattern.fits(&text)) {
                codes.push((code.into(), code.into()));
            }
        }
        Ok(codes)
    }

    fn refuse(&mut self, reason: Reason, condition: &Condition, message: impl Into<String>, hint: &str) {
        self.errors.push(ValidationError::new(reason, &condition.pointer, message, hint));
    }
}

fn null_test(is_null: bool) -> Test {
    if is_null { Test::IsNull } else { Test::NotNull }
}

fn complement_if(data: &ColumnData<'_>, keys: KeySet, negated: bool) -> KeySet {
    match highest_key(data) {
        Some(highest) if negated => keys.complement(highest),
        _ => keys,
    }
}

/// The literals of a condition; an error of a list points at its element.
fn bounds_of(
    meta: &ColumnMeta,
    operator: Operator,
    condition: &Condition,
) -> Result<Vec<Bound>, Vec<ValidationError>> {
    let list = matches!(operator, Operator::In | Operator::Nin | Operator::Between);
    let mut bounds = Vec::with_capacity(condition.values.len());
    let mut errors = Vec::new();
    for (number, value) in condition.values.iter().enumerate() {
        match bound_of(meta, value, &condition.pointer) {
            Ok(bound) => bounds.push(bound),
            Err(mut error) => {
                if list {
                    error.pointer = pointer_to(&condition.pointer, &number.to_string());
                }
                errors.push(error);
            }
        }
        if errors.len() >= VALIDATION_ERRORS_MAX {
            break;
        }
    }
    if errors.is_empty() { Ok(bounds) } else { Err(errors) }
}

/// The comparison as a pattern over the bytes of texts.
fn text_pattern(operator: Operator, bounds: &[Bound]) -> TextPattern {
    let mut texts: Vec<Vec<u8>> = bounds
        .iter()
        .filter_map(
            |bound| if let Bound::Text(text) = bound { Some(text.clone().into_bytes()) } else { None },
        )
        .collect();
    let second = (operator == Operator::Between && texts.len() > 1).then(|| texts.remove(1));
    let first = texts.first().cloned().unwrap_or_default();
    match operator {
        Operator::Contains => TextPattern::Contains(Box::new(Finder::new(&first).into_owned())),
        Operator::StartsWith => TextPattern::StartsWith(first),
        Operator::EndsWith => TextPattern::EndsWith(first),
        Operator::Gt => TextPattern::Between(Some((first, false)), None),
        Operator::Gte => TextPattern::Between(Some((first, true)), None),
        Operator::Lt => TextPattern::Between(None, Some((first, false))),
        Operator::Lte => TextPattern::Between(None, Some((first, true))),
        Operator::Between => TextPattern::Between(Some((first, true)), second.map(|text| (text, true))),
        _ => {
            texts.sort_unstable();
            TextPattern::OneOf(texts)
        }
    }
}
