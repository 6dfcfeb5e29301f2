//! Filters as expressions: conditions on columns, joined by connectives. A column is only a name.

/// Depth limit of `$and`, `$or` and `$not`.
pub const DEPTH_MAX: usize = 5;
/// Limit of conditions in a filter.
pub const CONDITIONS_MAX: usize = 100;
/// Limit of values in `in` or `nin`.
pub const LIST_VALUES_MAX: usize = 10_000;

/// The operator of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Equal.
    Eq,
    /// Not equal, and not null.
    Ne,
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// Equal to one of a list.
    In,
    /// Equal to none of a list, and not null.
    Nin,
    /// From the first to the second value, both included.
    Between,
    Contains,
    /// Begins with the text.
    StartsWith,
    EndsWith,
    /// Is null, or is not.
    IsNull,
    /// Is NaN, or is a value that is not.
    IsNan,
    /// Is neither NaN nor infinite, or is a value that is.
    IsFinite,
}

/// Operators and their names in a filter.
pub(super) const OPERATORS: [(&str, Operator); 15] = [
    ("eq", Operator::Eq),
    ("ne", Operator::Ne),
    ("gt", Operator::Gt),
    ("gte", Operator::Gte),
    ("lt", Operator::Lt),
    ("lte", Operator::Lte),
    ("in", Operator::In),
    ("nin", Operator::Nin),
    ("between", Operator::Between),
    ("contains", Operator::Contains),
    ("startsWith", Operator::StartsWith),
    ("endsWith", Operator::EndsWith),
    ("isNull", Operator::IsNull),
    ("isNaN", Operator::IsNan),
    ("isFinite", Operator::IsFinite),
];

/// Logical connectives.
pub(super) const CONNECTIVES: [&str; 3] = ["$and", "$or", "$not"];

impl Operator {
    /// Whether it looks for a text inside others.
    #[must_use]
    pub fn is_pattern(self) -> bool {
        matches!(self, Operator::Contains | Operator::StartsWith | Operator::EndsWith)
    }

    /// The name in a filter.
    #[must_use]
    pub fn name(self) -> &'static str {
        OPERATORS.iter().find(|(_, operator)| *operator == self).map_or("eq", |(name, _)| name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scalar {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(String),
    Text(String),
}

impl Scalar {
    /// The type name for messages.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Bool(_) => "a boolean",
            Scalar::Number(_) => "a number",
            Scalar::Text(_) => "a string",
        }
    }
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// JSON pointer of the value.
    pub pointer: String,
    /// The name as written, without the escape `$$`.
    pub name: String,
    /// Whether the value is a plain literal, so that a suffix of the name may mean a bound.
    pub plain: bool,
    pub operator: Operator,
    /// The literals: one; two for `between`; any number for `in` and `nin`; none if invalid.
    pub values: Vec<Scalar>,
}

impl Condition {
    /// JSON pointer of the column name.
    #[must_use]
    pub fn key_pointer(&self) -> &str {
        let parent = self.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        if self.plain { &self.pointer } else { parent }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    And(Vec<Expression>),
    /// At least one of the parts.
    Or(Vec<Expression>),
    /// Negation.
    Not(Box<Expression>),
    Condition(Condition),
}

impl Expression {
    /// Appends every comparison.
    pub fn collect_conditions<'e>(&'e self, found: &mut Vec<&'e Condition>) {
        match self {
            Expression::Condition(condition) => found.push(condition),
            Expression::Not(inner) => inner.collect_conditions(found),
            Expression::And(parts) | Expression::Or(parts) => {
                parts.iter().for_each(|part| part.collect_conditions(found));
            }
        }
    }

    /// A canonical text, equal for filters that differ only in the order of their keys.
    #[must_use]
    pub fn canonical(&self) -> String {
        match self {
            Expression::Condition(condition) => {
                let Condition { name, plain, operator, values, .. } = condition;
                format!("{name:?} {} {plain} {values:?}", operator.name())
            }
            Expression::Not(inner) => format!("!({})", inner.canonical()),
            Expression::And(parts) => joined(parts, "&"),
            Expression::Or(parts) => joined(parts, "|"),
        }
    }
}

fn joined(parts: &[Expression], mark: &str) -> String {
    let mut texts: Vec<String> = parts.iter().map(Expression::canonical).collect();
    texts.sort_unstable();
    format!("({})", texts.join(mark))
}
