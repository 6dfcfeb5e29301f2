//! Orders against a sorted list of (value, row), and posting lists of every form.

use mercato_format::column::partition_point;
use mercato_format::writer::{Column, ColumnValues, TableWriter, temporary_table};
use mercato_format::{ColumnData, ColumnKind, PostingForms, RowOrder, SortIndex, Table};
use proptest::prelude::*;

use crate::corruption::{reseal, written};

/// Rows of the table with posting lists of every form: counts from 625 rows on, Elias-Fano from 64, plain below.
const ROWS: i64 = 20_000;

/// The file of that table: one column, whose runs lie scattered over it.
pub fn postings_file() -> Vec<u8> {
    written(&[postings_column()], TableWriter::append_statistics)
}

fn postings_column() -> Column {
    let value = |place: i64| match place {
        0..15_000 => Some(place / 1_500),
        15_000..17_100 => Some(10 + (place - 15_000) / 70),
        17_100..18_300 => Some(40 + (place - 17_100) / 30),
        _ => None,
    };
    let values = (0..ROWS).map(|row| value(row * 7_919 % ROWS)).collect();
    Column::new("runs", ColumnKind::Integer, ColumnValues::Integers(values))
}

/// Compares every way to read an order with the naive one. `probes` chooses what is read.
fn check(values: &[Option<i64>], expected: SortIndex, probes: &[u32]) {
    let column = Column::new("c", ColumnKind::Integer, ColumnValues::Integers(values.to_vec()));
    let table = temporary_table(&[column]).unwrap();
    assert_eq!(table.columns()[0].sort_index, expected);
    let mut naive: Vec<(Option<i64>, u32)> = values.iter().copied().zip(0u32..).collect();
    naive.sort_by_key(|(value, row)| (value.is_none(), *value, *row));
    let rows: Vec<u32> = naive.iter().map(|(_, row)| *row).collect();
    let data = table.column(0).unwrap();
    let order = data.order();
    let end = u32::try_from(rows.len()).unwrap();
    let mut found = Vec::new();
    assert!(order.copy_rows(0..end, &mut found));
    assert_eq!(found, rows);
    for pair in probes.windows(2) {
        let (from, to) = (pair[0].min(pair[1]) % end, pair[0].max(pair[1]) % end);
        let (from, to) = (from.min(to), from.max(to));
        found.clear();
        assert!(order.copy_rows(from..to, &mut found), "{from}..{to}");
        assert_eq!(found, rows[from as usize..to as usize]);
        assert_eq!(order.row_at(from), Some(rows[from as usize]));
        let same = |rank: u32| Some(naive[rank as usize].0 == naive[from as usize].0);
        let run = partition_point(0..from, |rank| same(rank).map(|same| !same)).unwrap()
            ..partition_point(from..end, same).unwrap();
        for row in [to, rows[from as usize], 0, end] {
            let after = partition_point(run.clone(), |rank| Some(rows[rank as usize] <= row));
            assert_eq!(order.rank_after(run.clone(), row), after, "run {run:?}, row {row}");
        }
        if let ColumnData::Dictionary(data) = &data {
            let code = data.code_at(from).unwrap();
            assert_eq!(data.ranks(code..code + 1), Some(run));
        }
    }
    assert_eq!(order.row_at(end), None);
    assert!(!order.copy_rows(0..end + 1, &mut found));
}

/// Values of runs of the given lengths, scattered.
fn scattered(lengths: &[usize], nulls: usize, seed: u64) -> Vec<Option<i64>> {
    let runs = lengths.iter().zip(0i64..).flat_map(|(length, value)| vec![Some(value * 3); *length]);
    let mut values: Vec<Option<i64>> = runs.chain(vec![None; nulls]).collect();
    let mut state = seed | 1;
    for at in (1..values.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values.swap(at, (state >> 33) as usize % (at + 1));
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn posting_lists_read_like_sorted_rows(
        long in prop::collection::vec(1_000usize..9_000, 1..5),
        middle in prop::collection::vec(64usize..600, 0..8),
        short in prop::collection::vec(1usize..64, 0..8),
        nulls in prop_oneof![Just(0usize), 1usize..3_000],
        seed in any::<u64>(),
        probes in prop::collection::vec(any::<u32>(), 24),
    ) {
        let lengths: Vec<usize> = [middle.as_slice(), &short, &long].concat();
        prop_assume!(lengths.len() > 1);
        check(&scattered(&lengths, nulls, seed), SortIndex::Postings, &probes);
    }

    #[test]
    fn permutations_read_like_sorted_rows(
        lengths in prop::collection::vec(2usize..60, 2..200),
        nulls in 0usize..30,
        seed in any::<u64>(),
        probes in prop::collection::vec(any::<u32>(), 24),
    ) {
        let values = scattered(&lengths, nulls, seed);
        prop_assume!(!values.is_sorted_by_key(|value| (value.is_none(), *value)));
        prop_assume!(values.len() < 64 * lengths.len());
        check(&values, SortIndex::Permutation, &probes);
    }
}

#[test]
fn orders_are_chosen_by_mean_run() {
    let order_of = |entries: i64, rows: i64| {
        let values = (0..rows).map(|row| Some(row * 7_919 % entries)).collect();
        let column = Column::new("c", ColumnKind::Integer, ColumnValues::Integers(values));
        temporary_table(&[column]).unwrap().columns()[0].sort_index
    };
    assert_eq!(order_of(100, 6_400), SortIndex::Postings);
    assert_eq!(order_of(100, 6_399), SortIndex::Permutation);
    assert_eq!(order_of(1, 6_400), SortIndex::FileOrder);
}

fn forms(table: &Table) -> Option<PostingForms> {
    let RowOrder::Postings(postings) = table.column(0).unwrap().order() else { return None };
    Some(postings.forms())
}

#[test]
fn forms_follow_from_run_lengths() {
    let table = Table::from_bytes(postings_file()).unwrap();
    table.verify(&|_| ()).unwrap();
    let forms = forms(&table).unwrap();
    assert_eq!((forms.counts.0, forms.elias_fano.0, forms.plain.0), (11, 30, 40));
    // Three zones; one sample, 9 words of 70 times 8 low bits, 3 words of 149 high bits; 30 rows of 15 bits.
    assert_eq!((forms.counts.1, forms.elias_fano.1, forms.plain.1), (11 * 16, 30 * 13 * 8, 40 * 64));
    let section = table.sections().find(|section| section.kind == "postings").unwrap();
    assert_eq!(section.len, forms.counts.1 + forms.elias_fano.1 + forms.plain.1);
}

#[test]
fn damaged_posting_lists_are_found_and_harmless() {
    let bytes = postings_file();
    let sections: Vec<_> = Table::from_bytes(bytes.clone()).unwrap().sections().collect();
    let kinds = ["posting_starts", "postings", "run_offsets", "codes"];
    for section in sections.iter().filter(|section| kinds.contains(&section.kind)) {
        let step = (section.len / 60).max(1) as usize;
        for at in (section.offset as usize..(section.offset + section.len) as usize).step_by(step) {
            for value in [0xFF, 0x80, bytes[at].wrapping_add(1), 0] {
                if value == bytes[at] {
                    continue;
                }
                let mut lie = bytes.clone();
                lie[at] = value;
                reseal(&mut lie);
                let table = Table::from_bytes(lie).unwrap();
                let order = table.column(0).unwrap().order();
                let mut rows = Vec::new();
                for start in (0..table.row_count()).step_by(611) {
                    let end = table.row_count().min(start + 700);
                    rows.clear();
                    let _ = order.copy_rows(start..end, &mut rows);
                    let _ = (order.row_at(start), order.rank_after(start..end, end));
                }
                assert!(table.verify(&|_| ()).is_err(), "{} byte {at} is {value}", section.kind);
            }
        }
    }
}

#[test]
fn posting_lists_need_a_dictionary() {
    let texts = ["b", "a", "c"].map(|text| Some(text.to_owned())).to_vec();
    let mut lie = written(&[Column::new("t", ColumnKind::Text, ColumnValues::Texts(texts))], |_| Ok(()));
    let directory = u64::from_le_bytes(lie[40..48].try_into().unwrap()) as usize;
    let columns = (directory..).step_by(64).find(|at| lie[*at..*at + 2] == [1, 0]).unwrap();
    let record = u64::from_le_bytes(lie[columns + 16..columns + 24].try_into().unwrap()) as usize;
    assert_eq!(lie[record + 21], 2);
    lie[record + 21] = 3;
    reseal(&mut lie);
    let error = Table::from_bytes(lie).unwrap_err().to_string();
    assert!(error.contains("posting lists of a column without a dictionary"), "{error}");
}
