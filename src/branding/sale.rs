//! The terms of sale: packs of credits, the rate of the value added tax, and the seller on receipts.
//!
//! Amounts are whole cents of a euro. Does not depend on providers or pages.

use serde::Deserialize;
use toml::Spanned;

use super::{SpannedError, line};
use crate::limits::branding::{NAME_CHARS_MAX, PACKS_MAX};
use mercato_ledger::limits::{CENTS_PER_THOUSAND_CREDITS, CREDITS_PER_PURCHASE_MAX};

/// Lowest price of a pack in cents, without tax; providers take no less.
const PACK_CENTS_MIN: u64 = 50;
/// Highest price of a pack in cents, without tax: with a tax of 100 % it is below `ledger::PRICE_GROSS_MAX`.
const PACK_CENTS_MAX: u64 = 49_999_999;
/// Length of the address of the seller, all lines together.
const SELLER_ADDRESS_CHARS_MAX: usize = 400;
/// Lines of the address of the seller.
const SELLER_ADDRESS_LINES_MAX: usize = 8;
/// Length of the number of the seller for the value added tax.
const VAT_NUMBER_CHARS_MAX: usize = 40;
/// Credits of the packs that are offered when none are named, at the list price.
const PACKS_DEFAULT: [u64; 3] = [2_000, 10_000, 100_000];
/// The currency of all prices.
const CURRENCY: &str = "EUR";
/// Hundredths of a percent of a whole percent.
const BASIS_POINTS_PER_PERCENT: f64 = 100.0;

/// The offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sale {
    /// The rate of the value added tax, in hundredths of a percent.
    pub vat_basis_points: u32,
    /// The packs; at least one.
    pub packs: Vec<Pack>,
    pub seller: Seller,
}

/// Credits that are bought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pack {
    /// So many; no two packs have as many.
    pub credits: u64,
    /// Their price in cents, without tax.
    pub cents: u64,
}

/// The seller, as receipts name them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seller {
    /// The name; that of the place when absent.
    pub name: Option<String>,
    /// The lines of the address.
    pub address: Vec<String>,
    /// The number for the value added tax.
    pub vat_number: Option<String>,
}

impl Default for Sale {
    fn default() -> Self {
        let pack = |credits| Pack { credits, cents: list_price(credits) };
        Self { vat_basis_points: 0, packs: PACKS_DEFAULT.map(pack).to_vec(), seller: Seller::default() }
    }
}

impl Sale {
    /// The pack with so many credits.
    pub fn pack(&self, credits: u64) -> Option<Pack> {
        self.packs.iter().find(|pack| pack.credits == credits).copied()
    }
}

/// The section as typed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedSale {
    currency: Option<Spanned<String>>,
    vat_percent: Option<Spanned<f64>>,
    #[serde(default)]
    packs: Vec<TypedPack>,
    seller: Option<TypedSeller>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedPack {
    credits: Spanned<u64>,
    cents: Option<Spanned<u64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedSeller {
    name: Option<Spanned<String>>,
    address: Option<Spanned<String>>,
    vat_number: Option<Spanned<String>>,
}

impl TypedSale {
    pub(super) fn check(self) -> Result<Sale, SpannedError> {
        if let Some(typed) = self.currency.filter(|typed| typed.get_ref() != CURRENCY) {
            let found: String = typed.get_ref().chars().take(20).collect();
            let message = format!(
                "credits.currency: expected `{CURRENCY}`, found `{found}`; the books keep prices in cents of a euro"
            );
            return Err((typed.span(), message));
        }
        let default = Sale::default();
        let vat = self.vat_percent.map(|typed| basis_points(&typed)).transpose()?;
        if let Some(extra) = self.packs.get(PACKS_MAX) {
            let message = format!(
                "credits.packs: expected at most {PACKS_MAX}, found {}; leave some out",
                self.packs.len()
            );
            return Err((extra.credits.span(), message));
        }
        let mut packs: Vec<Pack> = Vec::new();
        for typed in self.packs {
            let span = typed.credits.span();
            let pack = typed.check()?;
            if packs.iter().any(|other| other.credits == pack.credits) {
                let message = format!(
                    "credits.packs.credits: found {} twice; give each pack another number",
                    pack.credits
                );
                return Err((span, message));
            }
            packs.push(pack);
        }
        Ok(Sale {
            vat_basis_points: vat.unwrap_or(default.vat_basis_points),
            packs: if packs.is_empty() { default.packs } else { packs },
            seller: self.seller.map(TypedSeller::check).transpose()?.unwrap_or_default(),
        })
    }
}

impl TypedPack {
    fn check(self) -> Result<Pack, SpannedError> {
        let credits = *self.credits.get_ref();
        if !(1..=CREDITS_PER_PURCHASE_MAX).contains(&credits) {
            let message = format!(
                "credits.packs.credits: expected 1 to {CREDITS_PER_PURCHASE_MAX}, found {credits}; change the number"
            );
            return Err((self.credits.span(), message));
        }
        let cents = self.cents.as_ref().map_or_else(|| list_price(credits), |cents| *cents.get_ref());
        if !(PACK_CENTS_MIN..=PACK_CENTS_MAX).contains(&cents) {
            let span = self.cents.map_or_else(|| self.credits.span(), |cents| cents.span());
            let message = format!(
                "credits.packs.cents: expected {PACK_CENTS_MIN} to {PACK_CENTS_MAX} without tax, found {cents}; change the price"
            );
            return Err((span, message));
        }
        Ok(Pack { credits, cents })
    }
}

impl TypedSeller {
    fn check(self) -> Result<Seller, SpannedError> {
        let own_line = |field: &str, typed: Option<Spanned<String>>, chars_max| {
            typed.map(|typed| line(field, &typed, chars_max)).transpose()
        };
        Ok(Seller {
            name: own_line("credits.seller.name", self.name, NAME_CHARS_MAX)?,
            address: self.address.map(|typed| address(&typed)).transpose()?.unwrap_or_default(),
            vat_number: own_line("credits.seller.vat_number", self.vat_number, VAT_NUMBER_CHARS_MAX)?,
        })
    }
}

fn address(typed: &Spanned<String>) -> Result<Vec<String>, SpannedError> {
    let lines: Vec<String> =
        typed.get_ref().lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    let chars: usize = lines.iter().map(|line| line.chars().count()).sum();
    let is_plain = lines.iter().all(|line| !line.chars().any(char::is_control));
    if is_plain && (1..=SELLER_ADDRESS_LINES_MAX).contains(&lines.len()) && chars <= SELLER_ADDRESS_CHARS_MAX
    {
        return Ok(lines);
    }
    let message = format!(
        "credits.seller.address: expected 1 to {SELLER_ADDRESS_LINES_MAX} lines of at most {SELLER_ADDRESS_CHARS_MAX} \
         characters together, found {} of {chars}; shorten it",
        lines.len()
    );
    Err((typed.span(), message))
}

/// A rate with at most two digits behind the point, as a whole number.
fn basis_points(typed: &Spanned<f64>) -> Result<u32, SpannedError> {
    let percent = *typed.get_ref();
    let points = (percent * BASIS_POINTS_PER_PERCENT).round();
    let is_exact = (points / BASIS_POINTS_PER_PERCENT - percent).abs() < 1e-9;
    if is_exact && (0.0..=10_000.0).contains(&points) {
        // The range was checked, and the number is whole.
        return Ok(points as u32);
    }
    let message = format!(
        "credits.vat_percent: expected 0 to 100 with at most two digits behind the point, found {percent}; write a rate such as 22"
    );
    Err((typed.span(), message))
}

/// The list price in cents, without tax, rounded to the nearest.
fn list_price(credits: u64) -> u64 {
    credits.saturating_mul(CENTS_PER_THOUSAND_CREDITS).saturating_add(500) / 1_000
}
