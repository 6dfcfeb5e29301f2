//! The kinds that columns get, and the values that stand against them.

use super::*;
use crate::convert::text::classify;

fn inferred(texts: &[&str]) -> Result<ColumnKind, Conflict> {
    let mut inference = Inference::default();
    for (line, text) in (2..).zip(texts) {
        let spot = || Spot { file: "f".into(), line, field: Some(1) };
        inference.note(classify::of_field(text), text, false, spot);
    }
    inference.resolve()
}

const fn decimal(precision: u8, scale: u8) -> ColumnKind {
    ColumnKind::Decimal { precision, scale }
}

#[test]
fn finds_kind_that_keeps_every_value() {
    let at = |unit| ColumnKind::Timestamp { unit };
    let cases: [(&[&str], ColumnKind); 23] = [
        (&[], ColumnKind::Text),
        (&["1", "-2"], ColumnKind::Integer),
        (&["1", "99999999999999999999999999999999999999"], ColumnKind::Integer),
        (&["1", "007", "008"], ColumnKind::Text),
        (&["007", "123456789012345678901234567890123456789"], ColumnKind::Text),
        (&["+390551234567", "+390557654321"], ColumnKind::Text),
        (&["+5", "-3", "12"], ColumnKind::Integer),
        (&["+5.5", "12.5"], decimal(3, 1)),
        (&["1e5", "12"], ColumnKind::Float),
        (&["1.50", "20.25"], decimal(4, 2)),
        (&["1.5", "20.25"], ColumnKind::Float),
        (&["1.5", "2"], ColumnKind::Float),
        (&["1.5", "1e3"], ColumnKind::Float),
        (&["1.5", "12345678901234567890"], decimal(21, 1)),
        (&["0.1234567890123456789", "1.5"], decimal(20, 19)),
        (&["NaN", "1"], ColumnKind::Float),
        (&["true", "False"], ColumnKind::Boolean),
        (&["2024-01-01"], ColumnKind::Date),
        (&["2024-01-01", "2024-01-01T00:00:00Z"], at(TimeUnit::Second)),
        (&["2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.0001Z"], at(TimeUnit::Microsecond)),
        (&["1984", "Ulysses", "Emma"], ColumnKind::Text),
        (&["", "1"], ColumnKind::Integer),
        (&["", "x"], ColumnKind::Text),
    ];
    for (texts, expected) in cases {
        assert_eq!(inferred(texts).unwrap(), expected, "{texts:?}");
    }
}

#[test]
fn names_value_that_stands_against_the_others() {
    let conflict = inferred(&["1", "2", "n/a"]).unwrap_err();
    assert_eq!((conflict.at.line, conflict.found.as_str()), (4, "`n/a`"));
    assert_eq!(conflict.expected, "an integer, as `1` on line 2 and 2 in all");
    let cases: [(&[&str], u64); 11] = [
        (&["1", "007"], 3),
        (&["1", "2", "1e999"], 4),
        (&["1.5", "2.5", "+390551234567"], 4),
        (&["n/a", "n/a", "n/a", "1"], 2),
        (&["12345678901234567", "1e5"], 2),
        (&["x", "1"], 2),
        (&["true", "1", "0"], 2),
        (&["1", "2", "2024-01-01"], 4),
        (&["2024-01-01", "soon"], 3),
        (&["2024-01-01T00:00:00.123456789Z", "9999-01-01T00:00:00Z"], 3),
        (&["1.5", "007", "x", "2.5", "3"], 4),
    ];
    for (texts, line) in cases {
        assert_eq!(inferred(texts).unwrap_err().at.line, line, "{texts:?}");
    }
}

#[test]
fn fault_says_which_option_helps() {
    let fault = |texts: &[&str]| inferred(texts).unwrap_err().fault;
    assert_eq!(fault(&["1", "2", "007"]), ValueFault::Code);
    assert_eq!(fault(&["1", "2", "n/a"]), ValueFault::Null);
    assert!(matches!(fault(&["1", "2", "1,5"]), ValueFault::Form(advice) if advice.option == "--decimal ,"));
    assert_eq!(fault(&["1", "2", "x"]), ValueFault::Other);
}
