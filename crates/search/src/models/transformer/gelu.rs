//! The Gaussian error linear unit: x · Φ(x).
//!
//! A plain loop over polynomials, which the compiler vectorises; candle's own function computes one value at a time.
//! Does not depend on layers.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, bail};

/// The unit as an operation on a tensor.
pub struct Gelu;

impl CustomOp1 for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let CpuStorage::F32(numbers) = storage else { bail!("gelu: single precision expected") };
        let Some((start, end)) = layout.contiguous_offsets() else {
            bail!("gelu: contiguous numbers expected")
        };
        let Some(numbers) = numbers.get(start..end) else { bail!("gelu: numbers missing") };
        let results = numbers.iter().map(|number| gelu(*number)).collect();
        Ok((CpuStorage::F32(results), layout.shape().clone()))
    }
}

/// x/2 · (1 + erf(x/√2)).
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function to about 1e-6: erf is odd and reaches ±1 in single precision before 4, and within that x times a
/// quotient of polynomials in x² follows it. The coefficients are those that Eigen published for single precision.
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let numerator = horner(
        square,
        [
            -2.726_142_4e-10,
            2.770_681_3e-8,
            -2.101_024e-6,
            -5.692_506_3e-5,
            -7.349_906_3e-4,
            -2.954_600_1e-3,
            -1.609_603_8e-2,
        ],
    );
    let denominator =
        horner(square, [-1.456_607_2e-5, -2.133_740_2e-4, -1.682_827e-3, -7.373_329_2e-3, -1.426_474_8e-2]);
    x * numerator / denominator
}

/// A polynomial by its coefficients, the highest first.
fn horner<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    coefficients.into_iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of the definition by Simpson's rule, in double precision.
    fn naive(x: f64) -> f64 {
        let steps = 2_000;
        let width = x / f64::from(steps);
        let bell = |t: f64| (-t * t).exp();
        let sum: f64 = (0..steps)
            .map(|at| {
                let (left, right) = (f64::from(at) * width, f64::from(at + 1) * width);
                (bell(left) + 4.0 * bell((left + right) / 2.0) + bell(right)) * width / 6.0
            })
            .sum();
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn error_function_matches_its_integral() {
        for step in -600..=600 {
            let x = step as f32 / 100.0;
            let expected = naive(f64::from(x));
            assert!((f64::from(erf(x)) - expected).abs() < 1.5e-6, "erf({x}) = {}, {expected}", erf(x));
        }
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(erf(odd).is_nan() || erf(odd).abs() > 0.999_999, "{odd}");
        }
    }
}
