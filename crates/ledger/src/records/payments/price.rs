//! The price of credits: net, value added tax and gross, in minor units of a currency.
//!
//! Integers only. Does not depend on accounts or providers.

use serde::{Deserialize, Serialize};

use crate::limits::PRICE_GROSS_MAX;

/// The currency of all prices: entries of the books are in cents of a euro.
pub const CURRENCY: &str = "EUR";
/// Basis points of a whole.
const BASIS_POINTS: u64 = 10_000;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Price {
    /// Without tax, in cents.
    pub net: u64,
    /// The rate of the tax in hundredths of a percent.
    pub vat_basis_points: u32,
    /// The tax in cents.
    pub vat: u64,
    /// With tax, in cents: what the customer pays.
    pub gross: u64,
    /// Three letters of ISO 4217.
    pub currency: String,
}

impl Price {
    /// The price with this tax on it, rounded to the nearest cent; half a cent is rounded up. `None` above
    /// `PRICE_GROSS_MAX`.
    pub fn with_vat(net: u64, vat_basis_points: u32) -> Option<Price> {
        let parts = net.checked_mul(vat_basis_points.into())?.checked_add(BASIS_POINTS / 2)?;
        let vat = parts / BASIS_POINTS;
        let gross = net.checked_add(vat).filter(|gross| *gross <= PRICE_GROSS_MAX)?;
        Some(Price { net, vat_basis_points, vat, gross, currency: CURRENCY.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_tax_in_whole_cents() {
        for (net, rate, vat) in [
            (5_000, 2_200, 1_100),
            (999, 2_200, 220),
            (1, 5_000, 1),
            (1, 4_999, 0),
            (5_000, 0, 0),
            (123, 810, 10),
        ] {
            let price = Price::with_vat(net, rate).unwrap();
            assert_eq!((price.net, price.vat, price.gross), (net, vat, net + vat), "{net} {rate}");
        }
    }

    #[test]
    fn refuses_price_above_bound() {
        assert!(Price::with_vat(PRICE_GROSS_MAX, 0).is_some());
        for (net, rate) in [(PRICE_GROSS_MAX, 1), (PRICE_GROSS_MAX + 1, 0), (u64::MAX, 10_000), (u64::MAX, 0)]
        {
            assert_eq!(Price::with_vat(net, rate), None, "{net} {rate}");
        }
    }
}
