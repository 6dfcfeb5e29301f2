//! Parses filters from JSON into expressions, without a schema, within limits of depth, conditions and objects.

use crate::request::filter::{
    CONDITIONS_MAX, CONNECTIVES, Condition, DEPTH_MAX, Expression, LIST_VALUES_MAX, OPERATORS, Operator,
    Scalar,
};
use crate::request::json::Json;
use crate::request::validation_error::{Reason, VALIDATION_ERRORS_MAX, ValidationError, pointer_to};
use mercato_base::words::{grouped, quoted};

/// Limit of objects in a filter: enough for the most conditions at the greatest depth.
const OBJECTS_MAX: usize = 2 * CONDITIONS_MAX * DEPTH_MAX;
/// Limit of members in an object. Nearly every member is a condition or an error, and both have lower limits.
const MEMBERS_MAX: usize = 2 * CONDITIONS_MAX;

/// Reads the `filters` of a request; `None` when it has no condition.
///
/// Also returns the errors that need no schema, the first [`VALIDATION_ERRORS_MAX`]. With errors, the expression is
/// what could be read; a condition without values stands for an invalid one, so that its column is still checked.
pub fn parse_filters(pointer: &str, value: Json<'_>) -> (Option<Expression>, Vec<ValidationError>) {
    let mut parser = Parser { conditions: 0, objects: 0, errors: Vec::new() };
    let expression = parser.object(pointer, value, 0);
    let too_large = |most: usize, what: &str, hint: &str| {
        let message = format!("expected at most {most} {what}, found more");
        ValidationError::new(Reason::FilterTooLarge, pointer, message, hint)
    };
    if parser.conditions > CONDITIONS_MAX {
        let hint = "use `in` for many values of one column";
        parser.errors.insert(0, too_large(CONDITIONS_MAX, "conditions", hint));
    }
    if parser.objects > OBJECTS_MAX {
        parser.errors.insert(0, too_large(OBJECTS_MAX, "objects", "leave out those that are empty"));
    }
    let expression = match expression {
        Some(Expression::And(parts)) if parts.is_empty() => None,
        other => other,
    };
    (expression, parser.errors)
}

/// An invalid condition, kept to check its column.
fn unread(pointer: &str, name: &str, plain: bool) -> Expression {
    let (pointer, name, values) = (pointer.to_owned(), name.to_owned(), Vec::new());
    Expression::Condition(Condition { pointer, name, plain, operator: Operator::Eq, values })
}

/// Reads a filter and counts its limited parts.
struct Parser {
    conditions: usize,
    objects: usize,
    errors: Vec<ValidationError>,
}

impl Parser {
    /// Whether a limit is reached, so that parsing should stop.
    fn is_full(&self) -> bool {
        self.conditions > CONDITIONS_MAX
            || self.objects > OBJECTS_MAX
            || self.errors.len() >= VALIDATION_ERRORS_MAX
    }

    fn object(&mut self, pointer: &str, value: Json<'_>, depth: usize) -> Option<Expression> {
        if depth > DEPTH_MAX {
            let message = format!("conditions are nested more than {DEPTH_MAX} deep");
            self.refuse(
                Reason::FilterTooDeep,
                pointer,
                message,
                "flatten the filter: keys of one object are ANDed",
            );
            return None;
        }
        self.objects += 1;
        let Some(members) = value.members(MEMBERS_MAX) else {
            let message = format!("expected an object of conditions, found {}", value.type_name());
            self.refuse(
                Reason::WrongType,
                pointer,
                message,
                "send an object such as {\"price\": {\"gte\": 10}}",
            );
            return None;
        };
        let mut parts = Vec::with_capacity(members.len().min(CONDITIONS_MAX));
        let mut names: Vec<&str> = Vec::with_capacity(members.len());
        for (name, value) in &members {
            if self.is_full() {
                break;
            }
            let pointer = pointer_to(pointer, name);
            if names.contains(&name.as_str()) {
                let message = "the key occurs more than once";
                self.refuse(
                    Reason::DuplicateField,
                    &pointer,
                    message,
                    "put both operators into one object, or use `$and`",
                );
                continue;
            }
            names.push(name);
            self.member(&pointer, name, *value, depth, &mut parts);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Expression::And(parts) })
    }

    fn member(
        &mut self,
        pointer: &str,
        name: &str,
        value: Json<'_>,
        depth: usize,
        parts: &mut Vec<Expression>,
    ) {
        match (name, name.strip_prefix("$$")) {
            ("$and", _) => parts.extend(self.list(pointer, value, depth).map(Expression::And)),
            ("$or", _) => parts.extend(self.list(pointer, value, depth).map(Expression::Or)),
            ("$not", _) => {
                let inner = self.object(pointer, value, depth + 1);
                parts.extend(inner.map(|inner| Expression::Not(Box::new(inner))));
            }
            (_, Some(rest)) => self.column(pointer, &format!("${rest}"), value, parts),
            (_, None) if name.starts_with('$') => {
                let message = format!("there is no operator {}", quoted(name));
                let hint = "use `$and`, `$or` or `$not`; write `$$name` for a column that begins with `$`";
                let error = ValidationError::new(Reason::UnknownOperator, pointer, message, hint);
                self.push(error.with_names(name, CONNECTIVES.into_iter()));
            }
            (_, None) => self.column(pointer, name, value, parts),
        }
    }

    fn list(&mut self, pointer: &str, value: Json<'_>, depth: usize) -> Option<Vec<Expression>> {
        let items = value.items().unwrap_or_default();
        if items.is_empty() || items.len() > CONDITIONS_MAX {
            let message = match value.items() {
                None => format!("expected a list of objects, found {}", value.type_name()),
                Some(items) => format!("expected 1 to {CONDITIONS_MAX} objects, found {}", items.len()),
            };
            self.refuse(Reason::WrongType, pointer, message, "send a list such as [{\"a\": 1}, {\"b\": 2}]");
            return None;
        }
        let mut parts = Vec::with_capacity(items.len());
        for (number, item) in items.into_iter().enumerate() {
            if self.is_full() {
                break;
            }
            parts.extend(self.object(&pointer_to(pointer, &number.to_string()), item, depth + 1));
        }
        Some(parts)
    }

    /// A column and its value: a literal, a list, or an object of operators.
    fn column(&mut self, pointer: &str, name: &str, value: Json<'_>, parts: &mut Vec<Expression>) {
        if let Some(members) = value.members(MEMBERS_MAX) {
            if members.is_empty() {
                self.refuse(
                    Reason::WrongType,
                    pointer,
                    "expected at least one operator",
                    "send for example {\"gte\": 10}",
                );
                parts.push(unread(pointer, name, true));
            }
            let mut seen: Vec<&str> = Vec::with_capacity(OPERATORS.len());
            for (operator, value) in &members {
                if self.is_full() {
                    break;
                }
                let at = pointer_to(pointer, operator);
                if seen.contains(&operator.as_str()) {
                    let message = format!("the operator {} occurs more than once", quoted(operator));
                    let hint = "keep one of them; to compare twice, put each into an object of `$and`";
                    self.refuse(Reason::DuplicateField, &at, message, hint);
                    continue;
                }
                seen.push(operator);
                if let Some((_, found)) = OPERATORS.iter().find(|(name, _)| name == operator) {
                    self.condition(&at, name, *found, *value, false, parts);
                } else {
                    let message = format!("there is no operator {}", quoted(operator));
                    let error = ValidationError::new(
                        Reason::UnknownOperator,
                        &at,
                        message,
                        "use one of the operators allowed",
                    );
                    self.push(error.with_names(operator, OPERATORS.iter().map(|(name, _)| *name)));
                    parts.push(unread(&at, name, false));
                }
            }
        } else {
            let operator = if value.items().is_some() { Operator::In } else { Operator::Eq };
            self.condition(pointer, name, operator, value, true, parts);
        }
    }

    fn condition(
        &mut self,
        pointer: &str,
        name: &str,
        operator: Operator,
        value: Json<'_>,
        plain: bool,
        parts: &mut Vec<Expression>,
    ) {
        self.conditions += 1;
        if self.conditions > CONDITIONS_MAX {
            return;
        }
        parts.push(match self.operands(pointer, operator, value) {
            Some(values) => Expression::Condition(Condition {
                pointer: pointer.into(),
                name: name.into(),
                plain,
                operator,
                values,
            }),
            None => unread(pointer, name, plain),
        });
    }

    fn operands(&mut self, pointer: &str, operator: Operator, value: Json<'_>) -> Option<Vec<Scalar>> {
        match operator {
            Operator::In | Operator::Nin | Operator::Between => {
                let (least, most) = if operator == Operator::Between { (2, 2) } else { (1, LIST_VALUES_MAX) };
                let items = value.items().unwrap_or_default();
                if items.len() < least || items.len() > most {
                    let wanted = if operator == Operator::Between {
                        "a list of two values".to_owned()
                    } else {
                        format!("a list of 1 to {} values", grouped(LIST_VALUES_MAX as u64))
                    };
                    let message = match value.items() {
                        None => format!("expected {wanted}, found {}", value.type_name()),
                        Some(items) => format!("expected {wanted}, found {}", grouped(items.len() as u64)),
                    };
                    let hint = format!("`{}` takes {wanted}", operator.name());
                    self.refuse(Reason::WrongType, pointer, message, hint);
                    return None;
                }
                let step = |number: usize| move || pointer_to(pointer, &number.to_string());
                items
                    .into_iter()
                    .enumerate()
                    .map(|(number, item)| self.scalar(step(number), item, false))
                    .collect()
            }
            Operator::Eq | Operator::Ne | Operator::IsNull | Operator::IsNan | Operator::IsFinite => {
                Some(vec![self.scalar(|| pointer.to_owned(), value, true)?])
            }
            _ => Some(vec![self.scalar(|| pointer.to_owned(), value, false)?]),
        }
    }

    fn scalar(&mut self, pointer: impl Fn() -> String, value: Json<'_>, null: bool) -> Option<Scalar> {
        match value {
            Json::Null if null => return Some(Scalar::Null),
            Json::Null => {
                let hint = "null equals nothing; use {\"isNull\": true}, if need be inside `$or`";
                self.refuse(Reason::WrongType, &pointer(), "expected a value, found null", hint);
                return None;
            }
            Json::Bool(value) => return Some(Scalar::Bool(value)),
            Json::Number(text) => return Some(Scalar::Number(text.into())),
            Json::String(_) => {
                if let Some(text) = value.text() {
                    return Some(Scalar::Text(text));
                }
            }
            Json::Array(_) | Json::Object(_) => (),
        }
        let message = format!("expected a literal, found {}", value.type_name());
        self.refuse(Reason::WrongType, &pointer(), message, "send a string, a number or a boolean");
        None
    }

    fn refuse(&mut self, reason: Reason, pointer: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.push(ValidationError::new(reason, pointer, message, hint));
    }

    /// Adds an error, up to the limit.
    fn push(&mut self, error: ValidationError) {
        if self.errors.len() < VALIDATION_ERRORS_MAX {
            self.errors.push(error);
        }
    }
}
