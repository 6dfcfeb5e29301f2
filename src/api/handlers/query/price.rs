//! Prices of credits in responses.

use serde::Serialize;

use mercato_ledger::limits::CENTS_PER_THOUSAND_CREDITS;

/// Parts of a euro in which every price is a whole number: a thousandth of a cent.
const PARTS_PER_EURO: u128 = 100_000;

/// A number of credits and its price.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    credits: u64,
    /// Exact decimal text, two to five digits behind the point.
    eur: String,
    vat_included: bool,
}

impl Price {
    /// The price of so many credits.
    pub fn of(credits: u64) -> Self {
        let parts = u128::from(credits).saturating_mul(CENTS_PER_THOUSAND_CREDITS.into());
        let (euros, rest) = (parts / PARTS_PER_EURO, parts % PARTS_PER_EURO);
        let fraction = format!("{rest:05}");
        // The third digit and those behind it stand only where they are not zero.
        let (cents, finer) = fraction.split_at_checked(2).unwrap_or((&fraction, ""));
        let eur = format!("{euros}.{cents}{}", finer.trim_end_matches('0'));
        Self { credits, eur, vat_included: false }
    }

    /// Euros without VAT, as exact decimal text.
    pub fn eur(&self) -> &str {
        &self.eur
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_exact_price() {
        for (credits, eur) in [
            (0, "0.00"),
            (1, "0.005"),
            (2, "0.01"),
            (7, "0.035"),
            (1_000, "5.00"),
            (600_572, "3002.86"),
            (u64::MAX, "92233720368547758.075"),
        ] {
            assert_eq!(Price::of(credits).eur, eur, "{credits}");
        }
    }
}
