//! The types that columns of several files have together: the table of tools/README.md, "Several files". Widening never
//! loses a digit; a value that the wider type does not hold is refused when it is read. Does not depend on files.

use mercato_format::{ColumnKind, FloatWidth, TimeUnit};

/// Digits of a decimal, as a column declares them.
const DECIMAL_DIGITS_MAX: u8 = 76;
/// Digits before the point that integers bring into a decimal: those of 64 bits.
const INTEGER_DIGITS: u8 = 20;

/// How the texts of a column were made from values that have no kind of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// They are texts in the source, or the column is none of texts.
    Plain,
    Null,
    /// Base64 of bytes.
    Base64,
    Uuid,
    Interval,
    Time,
    /// JSON of lists and maps.
    Json,
}

/// The type of a column in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    pub kind: ColumnKind,
    pub form: TextForm,
    /// The type in the source. The width of floats depends on it.
    pub source_type: String,
}

impl Shape {
    /// The shape of a store file's column, whose form of text is known from its source type only.
    #[must_use]
    pub fn of_store(kind: ColumnKind, source_type: &str) -> Shape {
        let has = |part: &str| source_type.contains(part);
        let form = if kind != ColumnKind::Text {
            TextForm::Plain
        } else if source_type.starts_with("list<") || source_type.starts_with("map<") || has(" list") {
            TextForm::Json
        } else if has("(Time(") || has("TIME_M") {
            TextForm::Time
        } else if has("INTERVAL") {
            TextForm::Interval
        } else if has("(Uuid)") {
            TextForm::Uuid
        } else if has("BYTE_ARRAY")
            && !["(String)", "(Enum)", "(Json)", "UTF8", "ENUM", "JSON"].iter().any(|part| has(part))
        {
            TextForm::Base64
        } else {
            TextForm::Plain
        };
        Shape { kind, form, source_type: source_type.to_owned() }
    }

    /// The shape that holds the values of both; `None` when there is none.
    #[must_use]
    pub fn join(&self, other: &Shape) -> Option<Shape> {
        if other.form == TextForm::Null {
            return Some(self.clone());
        }
        if self.form == TextForm::Null {
            return Some(other.clone());
        }
        if self.form != other.form {
            return None;
        }
        let kind = join_kinds(self.kind, other.kind)?;
        let is_wider = kind == other.kind && kind != self.kind;
        let widens = kind == ColumnKind::Float && self.kind == other.kind && width(other) > width(self);
        let source = if is_wider || widens { other } else { self };
        Some(Shape { kind, form: self.form, source_type: source.source_type.clone() })
    }

    /// The type as text, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let kind = match self.kind {
            ColumnKind::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
            ColumnKind::Timestamp { unit } => format!("timestamp with {} digits", unit.digits()),
            kind => kind.name().to_owned(),
        };
        format!("{kind} ({})", self.source_type)
    }
}

fn width(shape: &Shape) -> u8 {
    match FloatWidth::of_source(&shape.source_type) {
        FloatWidth::Half => 16,
        FloatWidth::Single => 32,
        FloatWidth::Double => 64,
    }
}

fn join_kinds(one: ColumnKind, other: ColumnKind) -> Option<ColumnKind> {
    use ColumnKind::{Date, Decimal, Float, Integer, Timestamp};
    Some(match (one, other) {
        (Integer, Float) | (Float, Integer) => Float,
        (Integer, Decimal { precision, scale }) | (Decimal { precision, scale }, Integer) => {
            let whole = (precision.saturating_sub(scale)).max(INTEGER_DIGITS);
            Decimal { precision: whole.saturating_add(scale).min(DECIMAL_DIGITS_MAX), scale }
        }
        (Decimal { precision, scale }, Decimal { precision: digits, scale: fraction }) => {
            let whole = precision.saturating_sub(scale).max(digits.saturating_sub(fraction));
            let scale = scale.max(fraction);
            Decimal { precision: whole.saturating_add(scale).min(DECIMAL_DIGITS_MAX), scale }
        }
        (Date, Timestamp { unit }) | (Timestamp { unit }, Date) => Timestamp { unit },
        (Timestamp { unit }, Timestamp { unit: finer }) if finer.digits() > unit.digits() => {
            Timestamp { unit: finer }
        }
        (Timestamp { unit }, Timestamp { .. }) => Timestamp { unit },
        (one, other) if one == other => one,
        _ => return None,
    })
}

/// The conversion of a value into a wider column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Keep,
    Multiply(i128),
    /// An integer becomes a double, if that holds it exactly.
    ToFloat,
    Nulls,
}

impl Step {
    /// The step from a file's column to a joined one.
    #[must_use]
    pub fn between(from: &Shape, to: ColumnKind) -> Step {
        use ColumnKind::{Date, Decimal, Float, Integer, Timestamp};
        let per_second = |unit: TimeUnit| i128::from(unit.per_second());
        let power = |digits: u8| 10_i128.checked_pow(digits.into()).unwrap_or(0);
        match (from.kind, to) {
            _ if from.form == TextForm::Null => Step::Nulls,
            (Integer, Float) => Step::ToFloat,
            (Integer, Decimal { scale, .. }) => Step::Multiply(power(scale)),
            (Decimal { scale: from, .. }, Decimal { scale: to, .. }) if from != to => {
                Step::Multiply(power(to.saturating_sub(from)))
            }
            (Date, Timestamp { unit }) => Step::Multiply(86_400 * per_second(unit)),
            (Timestamp { unit: from }, Timestamp { unit: to }) if from != to => {
                Step::Multiply(per_second(to) / per_second(from))
            }
            _ => Step::Keep,
        }
    }
}

/// An integer multiplied; `None` when 128 bits do not hold it.
#[must_use]
pub fn multiplied(value: i128, factor: i128) -> Option<i128> {
    // A scale beyond 38 digits has no factor, but zero has every scale.
    if value == 0 { Some(0) } else { value.checked_mul(factor).filter(|_| factor != 0) }
}

/// An integer as a double; `None` when a digit would be lost.
#[must_use]
pub fn exact_float(value: i128) -> Option<f64> {
    let float = value as f64;
    let is_exact = float.abs() < i128::MAX as f64 && float as i128 == value;
    is_exact.then_some(float)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(kind: ColumnKind, source_type: &str) -> Shape {
        Shape { kind, form: TextForm::Plain, source_type: source_type.into() }
    }

    #[test]
    fn joins_by_table() {
        use ColumnKind::{Boolean, Date, Decimal, Float, Integer, Text, Timestamp};
        let at = |unit| Timestamp { unit };
        let (milli, nano) = (at(TimeUnit::Millisecond), at(TimeUnit::Nanosecond));
        let decimal = |precision, scale| Decimal { precision, scale };
        let cases = [
            (Integer, Integer, Some(Integer)),
            (Integer, Float, Some(Float)),
            (Integer, decimal(5, 2), Some(decimal(22, 2))),
            (decimal(5, 2), decimal(10, 4), Some(decimal(10, 4))),
            (decimal(10, 0), decimal(5, 5), Some(decimal(15, 5))),
            (decimal(5, 2), Float, None),
            (Date, milli, Some(milli)),
            (milli, nano, Some(nano)),
            (Boolean, Integer, None),
            (Text, Integer, None),
            (Text, Text, Some(Text)),
            (Date, Text, None),
        ];
        for (one, other, expected) in cases {
            for (one, other) in [(one, other), (other, one)] {
                let joined = shape(one, "a").join(&shape(other, "b"));
                assert_eq!(joined.map(|shape| shape.kind), expected, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn widest_float_gives_source_type() {
        let (single, double) = (shape(ColumnKind::Float, "FLOAT"), shape(ColumnKind::Float, "DOUBLE"));
        assert_eq!(single.join(&double).unwrap().source_type, "DOUBLE");
        assert_eq!(double.join(&single).unwrap().source_type, "DOUBLE");
        assert_eq!(shape(ColumnKind::Integer, "INT32").join(&single).unwrap().source_type, "FLOAT");
    }

    #[test]
    fn texts_of_two_forms_are_not_joined() {
        let base64 = Shape { form: TextForm::Base64, ..shape(ColumnKind::Text, "BYTE_ARRAY") };
        let nulls = Shape { form: TextForm::Null, ..shape(ColumnKind::Text, "INT32 (Unknown)") };
        let plain = shape(ColumnKind::Text, "BYTE_ARRAY (String)");
        assert_eq!(base64.join(&plain), None);
        assert_eq!(nulls.join(&base64), Some(base64.clone()));
        assert_eq!(plain.join(&nulls), Some(plain.clone()));
        assert_eq!(Shape::of_store(ColumnKind::Text, "BYTE_ARRAY"), base64);
        assert_eq!(Shape::of_store(ColumnKind::Text, "BYTE_ARRAY (String)"), plain);
    }

    #[test]
    fn widening_loses_no_digit() {
        assert_eq!(multiplied(i128::MAX, 10), None);
        assert_eq!((multiplied(7, 100), multiplied(0, 0), multiplied(1, 0)), (Some(700), Some(0), None));
        assert_eq!(exact_float(1 << 53), Some(9_007_199_254_740_992.0));
        assert_eq!((exact_float((1 << 53) + 1), exact_float(i128::MAX)), (None, None));
    }
}
