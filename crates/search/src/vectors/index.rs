//! An exact nearest-neighbour index over the vectors of a snapshot.
//!
//! A first pass over 8-bit codes, a quarter of the bytes, bounds the error of each estimate. Only possible winners are
//! compared in full, so the result equals a full comparison. Does not depend on files.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::arithmetic::{dot, dot_codes, length, normalise};

/// Largest small integer of a code.
const CODE_MAX: f32 = 127.0;
/// The largest addition of rounded single-precision sums to an error bound, for vectors of length 1.
const ROUNDING_SLACK: f32 = 1e-4;

/// How far from 1 the length of a vector may be that is taken as it is.
const LENGTH_TOLERANCE: f32 = 1e-5;

/// Vectors by position and by name. Never changes; a change of the catalog makes a new one.
#[derive(Debug, Default)]
pub struct VectorIndex {
    dimensions: usize,
    names: Vec<String>,
    positions: HashMap<String, usize>,
    exact: Vec<Arc<[f32]>>,
    codes: Vec<i8>,
    rows: Vec<Row>,
}

/// Error bounds of one vector beside its codes.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Value of one step of a code.
    step: f32,
    /// Length of the vector that the codes stand for.
    length: f32,
    /// Length of the quantization error.
    error: f32,
}

/// One of the nearest vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    /// Its position in the index.
    pub position: usize,
    /// Its cosine with the question, −1 to 1.
    pub cosine: f32,
}

impl VectorIndex {
    /// An index over named vectors of `dimensions` numbers each. Vectors of another length and repeated names are left
    /// out; all others are scaled to length 1.
    pub fn new(
        dimensions: usize,
        vectors: impl IntoIterator<Item = (String, impl Into<Arc<[f32]>>)>,
    ) -> Self {
        let mut index = Self { dimensions, ..Self::default() };
        for (name, vector) in vectors {
            let vector = vector.into();
            if vector.len() == dimensions && dimensions > 0 && !index.positions.contains_key(&name) {
                index.push(name, vector);
            }
        }
        index
    }

    /// The dimensions; 0 without a model.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many vectors it holds.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The position of a named vector.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// The name of the vector at a position.
    pub fn name(&self, position: usize) -> Option<&str> {
        self.names.get(position).map(String::as_str)
    }

    /// The vector at a position, of length 1.
    pub fn vector(&self, position: usize) -> Option<&[f32]> {
        self.exact.get(position).map(AsRef::as_ref)
    }

    /// The cosine of the vector at a position with `query`, which must have length 1.
    pub fn cosine(&self, position: usize, query: &[f32]) -> Option<f32> {
        (query.len() == self.dimensions).then(|| self.vector(position).map(|vector| dot(vector, query)))?
    }

    /// The `count` vectors nearest to `query`, which must have length 1: best first, equal ones by position. Empty when
    /// the query has another number of dimensions.
    pub fn nearest(&self, query: &[f32], count: usize) -> Vec<Nearest> {
        if query.len() != self.dimensions || count == 0 {
            return Vec::new();
        }
        let mut best: Vec<Nearest> = self
            .candidates(query, count)
            .into_iter()
            .filter_map(|position| Some(Nearest { position, cosine: self.cosine(position, query)? }))
            .collect();
        if best.len() > count {
            best.select_nth_unstable_by(count, by_rank);
            best.truncate(count);
        }
        best.sort_unstable_by(by_rank);
        best
    }

    /// Positions that can be among the `count` nearest, judged by the codes and their error bounds.
    fn candidates(&self, query: &[f32], count: usize) -> Vec<usize> {
        if self.rows.len() <= count {
            return (0..self.rows.len()).collect();
        }
        let question = QuantizedQuery::new(query);
        let rows = self.codes.chunks_exact(self.dimensions).zip(&self.rows);
        let bounds: Vec<(f32, f32)> = rows.map(|(codes, row)| question.bounds(codes, row)).collect();
        let mut lowest: Vec<f32> = bounds.iter().map(|(low, _)| *low).collect();
        let (_, threshold, _) = lowest.select_nth_unstable_by(count.saturating_sub(1), |a, b| b.total_cmp(a));
        let threshold = *threshold;
        let possible = bounds.iter().enumerate().filter(|(_, (_, high))| *high >= threshold);
        possible.map(|(position, _)| position).collect()
    }

    fn push(&mut self, name: String, vector: Arc<[f32]>) {
        let vector = of_length_one(vector);
        let step = step_of(&vector);
        let codes: Vec<i8> = vector.iter().map(|number| code(*number, step)).collect();
        let coded: Vec<f32> = codes.iter().map(|code| f32::from(*code) * step).collect();
        let left_out: Vec<f32> = vector.iter().zip(&coded).map(|(exact, coded)| exact - coded).collect();
        self.rows.push(Row { step, length: length(&coded), error: length(&left_out) });
        self.positions.insert(name.clone(), self.names.len());
        self.names.push(name);
        self.codes.extend_from_slice(&codes);
        self.exact.push(vector);
    }
}

/// The same vector where it has length 1 already, so that nothing is copied.
fn of_length_one(vector: Arc<[f32]>) -> Arc<[f32]> {
    if (length(&vector) - 1.0).abs() <= LENGTH_TOLERANCE {
        return vector;
    }
    let mut copy = vector.to_vec();
    normalise(&mut copy);
    copy.into()
}

/// A quantized question vector with its error.
struct QuantizedQuery {
    codes: Vec<i16>,
    step: f32,
    length: f32,
    error: f32,
}

impl QuantizedQuery {
    fn new(query: &[f32]) -> Self {
        let step = step_of(query);
        let codes: Vec<i16> = query.iter().map(|number| i16::from(code(*number, step))).collect();
        let coded = codes.iter().map(|code| f32::from(*code) * step);
        let left_out: Vec<f32> = query.iter().zip(coded).map(|(exact, coded)| exact - coded).collect();
        Self { codes, step, length: length(query), error: length(&left_out) }
    }

    /// Between which values the scalar product lies: with q = q' + e and v = v' + d it is q'·v' + e·v' + q·d, and no
    /// product is larger than that of the lengths.
    fn bounds(&self, codes: &[i8], row: &Row) -> (f32, f32) {
        let estimate = dot_codes(codes, &self.codes) as f32 * (row.step * self.step);
        let error = self.error.mul_add(row.length, self.length * row.error) + ROUNDING_SLACK;
        (estimate - error, estimate + error)
    }
}

fn step_of(vector: &[f32]) -> f32 {
    vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs())) / CODE_MAX
}

#[expect(clippy::cast_possible_truncation, reason = "the clamp keeps it within a code")]
fn code(number: f32, step: f32) -> i8 {
    if step > 0.0 { (number / step).round().clamp(-CODE_MAX, CODE_MAX) as i8 } else { 0 }
}

/// Larger cosines first, then smaller positions.
fn by_rank(a: &Nearest, b: &Nearest) -> Ordering {
    b.cosine.total_cmp(&a.cosine).then(a.position.cmp(&b.position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The obvious way: every cosine, sorted.
    fn naive(index: &VectorIndex, query: &[f32], count: usize) -> Vec<Nearest> {
        let mut all: Vec<Nearest> = (0..index.len())
            .map(|position| Nearest { position, cosine: dot(index.vector(position).unwrap(), query) })
            .collect();
        all.sort_by(by_rank);
        all.truncate(count);
        all
    }

    fn index(vectors: &[Vec<f32>]) -> VectorIndex {
        let dimensions = vectors.first().map_or(0, Vec::len);
        VectorIndex::new(
            dimensions,
            vectors.iter().enumerate().map(|(at, vector)| (at.to_string(), vector.clone())),
        )
    }

    proptest! {
        #[test]
        fn quantized_scan_matches_full_comparison(
            // Few distinct values make ties; a narrow range makes near ties that codes cannot tell apart.
            (vectors, query) in (1_usize..24).prop_flat_map(|dimensions| {
                let number = prop_oneof![4 => -1.0_f32..1.0, 1 => Just(0.0), 1 => 0.5_f32..0.501];
                let vector = proptest::collection::vec(number, dimensions);
                (proptest::collection::vec(vector.clone(), 0..120), vector)
            }),
            count in 0_usize..20,
        ) {
            let index = index(&vectors);
            let mut query = query;
            normalise(&mut query);
            if query.len() == index.dimensions() {
                prop_assert_eq!(index.nearest(&query, count), naive(&index, &query, count));
            }
        }
    }

    #[test]
    fn returns_nothing_for_wrong_dimensions() {
        let index = index(&[vec![1.0, 0.0], vec![0.0, 1.0]]);
        assert_eq!(index.nearest(&[1.0], 5), []);
        assert_eq!(index.cosine(0, &[1.0, 0.0, 0.0]), None);
        assert_eq!(VectorIndex::default().nearest(&[], 5), []);
    }

    #[test]
    fn finds_vectors_by_name_and_position() {
        let vectors = [("a", vec![2.0, 0.0]), ("b", vec![1.0]), ("a", vec![0.0, 1.0]), ("c", vec![0.0, 3.0])];
        let index = VectorIndex::new(2, vectors.map(|(name, vector)| (name.to_owned(), vector)));
        assert_eq!((index.len(), index.position("c"), index.name(1)), (2, Some(1), Some("c")));
        assert_eq!(index.cosine(0, &[1.0, 0.0]), Some(1.0));
        assert_eq!(index.nearest(&[0.0, 1.0], 1), [Nearest { position: 1, cosine: 1.0 }]);
    }
}
