//! Statistics of random columns match a naive computation, and damage to them is detected.

use mercato_format::statistics::{BINS_MAX, FREQUENT_MAX, QUANTILES, float_of};
use mercato_format::text::json_string_text;
use mercato_format::writer::{Column, ColumnValues, TableWriter, temporary_table, write_table_and};
use mercato_format::{ColumnData, ColumnKind, ColumnStatistics, Storage, Table};
use proptest::prelude::*;

use crate::random_table;

/// A file with statistics.
pub fn with_statistics(columns: &[Column]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.mcol");
    write_table_and(&path, columns, TableWriter::append_statistics).unwrap();
    std::fs::read(path).unwrap()
}

/// The values of a column: sortable numbers, or texts.
enum Plain {
    Integers(Vec<i128>),
    Floats(Vec<f64>),
    Texts(Vec<String>),
}

fn plain(values: &ColumnValues) -> Plain {
    match values {
        ColumnValues::Integers(values) => {
            Plain::Integers(values.iter().flatten().map(|value| i128::from(*value)).collect())
        }
        ColumnValues::Wide(values) => Plain::Integers(values.iter().flatten().copied().collect()),
        ColumnValues::Booleans(values) => {
            Plain::Integers(values.iter().flatten().map(|value| i128::from(*value)).collect())
        }
        ColumnValues::Floats(values) => Plain::Floats(values.iter().flatten().copied().collect()),
        ColumnValues::Texts(values) => Plain::Texts(values.iter().flatten().cloned().collect()),
    }
}

/// The quantile of sorted values.
fn quantile<T: Copy>(sorted: &[T], hundredths: u32) -> T {
    let wanted = sorted.len() as u64 * u64::from(hundredths);
    let rank = (1..=sorted.len() as u64).find(|rank| rank * 100 >= wanted).unwrap();
    sorted[rank as usize - 1]
}

/// Values that occur at least twice, most frequent first, then by value.
fn frequent<T: Clone + PartialEq>(sorted: &[T]) -> Vec<(T, u64)> {
    let mut runs: Vec<(T, u64)> = Vec::new();
    for value in sorted {
        match runs.last_mut().filter(|(last, _)| last == value) {
            Some((_, count)) => *count += 1,
            None => runs.push((value.clone(), 1)),
        }
    }
    runs.retain(|(_, count)| *count > 1);
    runs.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    runs.truncate(FREQUENT_MAX);
    runs
}

/// The sum in two halves, so that no partial sum overflows.
fn exact_sum(values: &[i128]) -> Option<i128> {
    let (halves, rests): (Vec<i128>, Vec<i128>) =
        values.iter().map(|value| (value.div_euclid(1 << 40), value.rem_euclid(1 << 40))).unzip();
    let rest: i128 = rests.iter().sum();
    let half = halves.iter().sum::<i128>() + rest.div_euclid(1 << 40);
    half.checked_mul(1 << 40)?.checked_add(rest.rem_euclid(1 << 40))
}

fn check_integers(found: &ColumnStatistics, mut values: Vec<i128>, boolean: bool) {
    values.sort_unstable();
    assert_eq!(found.summarised, values.len() as u64);
    let Some(numbers) = &found.numbers else { return assert!(values.is_empty()) };
    assert_eq!((numbers.smallest, numbers.largest), (values[0], values[values.len() - 1]));
    assert_eq!(numbers.sum, exact_sum(&values));
    if let Some(quantiles) = numbers.quantiles {
        assert_eq!(quantiles, QUANTILES.map(|hundredths| quantile(&values, hundredths)));
    }
    assert_eq!(boolean, numbers.edges.is_empty());
    for (bin, count) in numbers.counts.iter().enumerate() {
        let last = bin + 1 == numbers.counts.len();
        let inside =
            |value: &&i128| **value >= numbers.edges[bin] && (last || **value < numbers.edges[bin + 1]);
        assert_eq!(values.iter().filter(inside).count() as u64, *count);
    }
    assert!(numbers.counts.len() <= BINS_MAX);
}

fn check_floats(found: &ColumnStatistics, values: &[f64]) {
    let mut finite: Vec<f64> =
        values.iter().copied().filter(|value| value.is_finite()).map(|value| value + 0.0).collect();
    finite.sort_by(f64::total_cmp);
    assert_eq!(found.summarised, finite.len() as u64);
    assert_eq!(found.infinities, values.iter().filter(|value| value.is_infinite()).count() as u64);
    let Some(numbers) = &found.numbers else { return assert!(finite.is_empty()) };
    let float = |number| float_of(number).unwrap();
    assert_eq!((float(numbers.smallest), float(numbers.largest)), (finite[0], finite[finite.len() - 1]));
    let scale: f64 = finite.iter().map(|value| value.abs()).sum();
    let sum: f64 = finite.iter().sum();
    match numbers.sum {
        Some(found) if scale.is_finite() => assert!((float(found) - sum).abs() <= scale * 1e-12),
        Some(found) => assert!(float(found).is_finite()),
        None => assert!(!scale.is_finite()),
    }
    if let Some(quantiles) = numbers.quantiles {
        assert_eq!(quantiles.map(float), QUANTILES.map(|hundredths| quantile(&finite, hundredths)));
    }
    for (bin, count) in numbers.counts.iter().enumerate() {
        let last = bin + 1 == numbers.counts.len();
        let (low, high) = (float(numbers.edges[bin]), float(numbers.edges[bin + 1]));
        let inside = |value: &&f64| **value >= low && (last || **value < high);
        assert_eq!(finite.iter().filter(inside).count() as u64, *count);
    }
    if let Some(found) = &found.frequent {
        let found: Vec<_> = found.iter().map(|value| (float(value.value), value.count)).collect();
        assert_eq!(found, frequent(&finite));
    }
}

/// The text of a reference.
fn text_of(table: &Table, column: usize, reference: u32) -> String {
    let json = match table.column(column).unwrap() {
        ColumnData::Dictionary(data) => data.json.get(reference).unwrap(),
        ColumnData::Texts(data) => data.json(reference).unwrap(),
        ColumnData::Numbers(_) => b"\"no texts\"",
    };
    String::from_utf8(json_string_text(json).unwrap().into_owned()).unwrap()
}

fn check_texts(table: &Table, column: usize, found: &ColumnStatistics, mut values: Vec<String>) {
    values.sort_unstable();
    check_integers(found, values.iter().map(|text| text.chars().count() as i128).collect(), false);
    let extremes =
        found.texts.map(|(first, last)| (text_of(table, column, first), text_of(table, column, last)));
    assert_eq!(extremes, values.first().cloned().zip(values.last().cloned()));
    if let Some(found) = &found.frequent {
        let text = |value: i128| text_of(table, column, u32::try_from(value).unwrap());
        let found: Vec<_> = found.iter().map(|value| (text(value.value), value.count)).collect();
        assert_eq!(found, frequent(&values));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]
    #[test]
    fn statistics_match_naive_counts(columns in random_table::table()) {
        let table = Table::from_bytes(with_statistics(&columns)).unwrap();
        table.verify(&|_| ()).unwrap();
        for (number, column) in columns.iter().enumerate() {
            let found = table.statistics(number).unwrap().unwrap();
            let known = table.columns()[number].storage == Storage::Dictionary || column.sort_index;
            assert_eq!(found.frequent.is_some(), known);
            match plain(&column.values) {
                Plain::Floats(values) => check_floats(&found, &values),
                Plain::Texts(values) => check_texts(&table, number, &found, values),
                Plain::Integers(values) => {
                    if let Some(found) = &found.frequent {
                        let mut sorted = values.clone();
                        sorted.sort_unstable();
                        let found: Vec<_> = found.iter().map(|value| (value.value, value.count)).collect();
                        assert_eq!(found, frequent(&sorted));
                    }
                    let numbers = found.numbers.as_ref();
                    assert!(numbers.is_none_or(|numbers| numbers.quantiles.is_some() == known));
                    check_integers(&found, values, column.spec.kind == ColumnKind::Boolean);
                }
            }
        }
    }
}

#[test]
fn file_without_statistics_has_none() {
    let table = temporary_table(&crate::corruption::small_columns()).unwrap();
    assert!((0..7).all(|column| table.statistics(column).unwrap().is_none()));
    assert!(table.statistics(7).unwrap().is_none());
}
