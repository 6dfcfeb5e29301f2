//! How much data a bench takes: `MERCATO_BENCH_SCALE`, a scale factor of TPC-H.

/// The scale factor that was asked for, 1 when none was.
pub fn scale() -> f64 {
    std::env::var("MERCATO_BENCH_SCALE").map_or(1.0, |scale| scale.parse().expect("a number"))
}
