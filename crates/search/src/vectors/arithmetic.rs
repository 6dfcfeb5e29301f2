//! Vector arithmetic in plain loops that the compiler vectorises.
//!
//! Does not depend on the index.

/// Partial sums that are kept side by side, so that no addition waits for the one before.
const LANES: usize = 16;

/// The scalar product over the common length. The order of additions is fixed: equal input, equal output.
#[must_use]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + tail
}

/// The scalar product of small integers over the common length. Cannot overflow below 130,000 numbers.
#[must_use]
pub(super) fn dot_codes(codes: &[i8], query: &[i16]) -> i32 {
    codes.iter().zip(query).map(|(code, query)| i32::from(*code) * i32::from(*query)).sum()
}

#[must_use]
pub(super) fn length(vector: &[f32]) -> f32 {
    dot(vector, vector).sqrt()
}

/// Scales a vector to length 1; one without direction, or with a part that is no finite number, becomes all zeros.
pub fn normalise(vector: &mut [f32]) {
    let length = length(vector);
    let usable = length.is_finite() && length > f32::MIN_POSITIVE;
    for number in vector {
        *number = if usable { *number / length } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_products_match_definition() {
        for length in [0, 1, 15, 16, 17, 384] {
            let a: Vec<f32> = (0..length).map(|at| at as f32 / 7.0 - 3.0).collect();
            let b: Vec<f32> = (0..length).map(|at| 2.0 - at as f32 / 11.0).collect();
            let naive: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            assert!((f64::from(dot(&a, &b)) - naive).abs() <= 1e-5 * naive.abs().max(1.0), "{length}");
        }
    }

    #[test]
    fn zero_vector_stays_zero() {
        for bad in [vec![0.0; 4], vec![f32::NAN, 1.0], vec![f32::INFINITY, 1.0], vec![f32::MAX; 3]] {
            let mut vector = bad.clone();
            normalise(&mut vector);
            assert!(vector.iter().all(|number| *number == 0.0), "{bad:?} → {vector:?}");
        }
        let mut vector = vec![3.0, 4.0];
        normalise(&mut vector);
        assert_eq!(vector, [0.6, 0.8]);
    }
}
