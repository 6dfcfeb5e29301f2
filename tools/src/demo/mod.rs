//! Real data to try everything with: generated, converted, published and served.

pub mod tables;
