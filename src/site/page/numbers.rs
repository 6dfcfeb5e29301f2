//! Numbers, sizes, prices and dates in the notation of each language.
//!
//! Does not depend on what a number counts.

use mercato_base::clock::Moment;
use mercato_catalog::Language;
use mercato_ledger::limits::CENTS_PER_THOUSAND_CREDITS;

/// Parts of a euro in which the price of any number of credits is whole: a thousandth of a cent.
const PARTS_PER_EURO: u128 = 100_000;
/// Such parts in a cent.
const PARTS_PER_CENT: u128 = PARTS_PER_EURO / 100;
/// Steps of sizes in bytes, each a thousand times the one before.
const SIZES: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];

const MONTHS: [(&str, &str); 12] = [
    ("January", "gennaio"),
    ("February", "febbraio"),
    ("March", "marzo"),
    ("April", "aprile"),
    ("May", "maggio"),
    ("June", "giugno"),
    ("July", "luglio"),
    ("August", "agosto"),
    ("September", "settembre"),
    ("October", "ottobre"),
    ("November", "novembre"),
    ("December", "dicembre"),
];

/// Writes figures in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    italian: bool,
}

impl Numbers {
    /// The way of writing of a language.
    pub const fn of(language: Language) -> Self {
        Self { italian: matches!(language, Language::Italian) }
    }

    /// `1,234,567`, in Italian `1.234.567`.
    pub fn integer(self, number: u64) -> String {
        self.grouped(&number.to_string())
    }

    /// A number of JSON with its digits as they are: `-1234.50` is `-1,234.50`. A number with an exponent stays as it is,
    /// but for the sign between its digits.
    pub fn decimal(self, json: &str) -> String {
        let (sign, rest) = json.strip_prefix('-').map_or(("", json), |rest| ("\u{2212}", rest));
        if rest.contains(['e', 'E']) {
            return format!("{sign}{}", rest.replace('.', self.point()));
        }
        match rest.split_once('.') {
            Some((whole, fraction)) => format!("{sign}{}{}{fraction}", self.grouped(whole), self.point()),
            None => format!("{sign}{}", self.grouped(rest)),
        }
    }

    /// A number of JSON whose digits stay together: `-1234.5` in Italian is `−1234,5`.
    pub fn ungrouped(self, json: &str) -> String {
        json.replacen('-', "\u{2212}", usize::from(json.starts_with('-'))).replace('.', self.point())
    }

    /// `1.2 MB`: three digits at most behind steps of a thousand.
    pub fn bytes(self, bytes: u64) -> String {
        let mut unit = 0_usize;
        let mut scaled = bytes as f64;
        while scaled >= 999.5 && unit + 1 < SIZES.len() {
            scaled /= 1000.0;
            unit = unit.saturating_add(1);
        }
        let digits = if unit == 0 || scaled >= 99.95 {
            format!("{scaled:.0}")
        } else {
            format!("{scaled:.1}").replace('.', self.point())
        };
        format!("{digits}\u{a0}{}", SIZES.get(unit).copied().unwrap_or_default())
    }

    /// The exact price of so many credits: `€5.00`, in Italian `5,00 €`. Digits behind the cent stand only where they
    /// are not zero.
    pub fn price(self, credits: u64) -> String {
        self.parts(u128::from(credits).saturating_mul(CENTS_PER_THOUSAND_CREDITS.into()))
    }

    fn parts(self, parts: u128) -> String {
        let fraction = format!("{:05}", parts % PARTS_PER_EURO);
        let (cents, finer) = fraction.split_at_checked(2).unwrap_or((&fraction, ""));
        let whole = self.grouped(&(parts / PARTS_PER_EURO).to_string());
        self.euros(&format!("{whole}{}{cents}{}", self.point(), finer.trim_end_matches('0')))
    }

    /// The price of credits to the cent: `€300.88`. Half a cent and more is rounded up.
    pub fn price_to_the_cent(self, credits: u64) -> String {
        let parts = u128::from(credits).saturating_mul(CENTS_PER_THOUSAND_CREDITS.into());
        let cents = parts.saturating_add(PARTS_PER_CENT / 2) / PARTS_PER_CENT;
        let whole = self.grouped(&(cents / 100).to_string());
        self.euros(&format!("{whole}{}{:02}", self.point(), cents % 100))
    }

    /// The price of so many credits with this tax, rounded to a thousandth of a cent and printed like [`Numbers::price`].
    pub fn price_with_vat(self, credits: u64, vat_basis_points: u32) -> String {
        let parts = u128::from(credits).saturating_mul(CENTS_PER_THOUSAND_CREDITS.into());
        let with_vat = parts.saturating_mul(u128::from(vat_basis_points).saturating_add(10_000));
        self.parts(with_vat.saturating_add(5_000) / 10_000)
    }

    /// What so many credits cost with this tax, to the cent. The tax is that of the net price to the cent, as in a purchase.
    pub fn gross_to_the_cent(self, credits: u64, vat_basis_points: u32) -> String {
        let parts = u128::from(credits).saturating_mul(CENTS_PER_THOUSAND_CREDITS.into());
        let net = parts.saturating_add(PARTS_PER_CENT / 2) / PARTS_PER_CENT;
        let vat = net.saturating_mul(vat_basis_points.into()).saturating_add(5_000) / 10_000;
        self.cents(u64::try_from(net.saturating_add(vat)).unwrap_or(u64::MAX))
    }

    fn euros(self, amount: &str) -> String {
        if self.italian { format!("{amount}\u{a0}€") } else { format!("€{amount}") }
    }

    /// An amount in cents: `€12.50`, in Italian `12,50 €`.
    pub fn cents(self, cents: u64) -> String {
        let whole = self.grouped(&(cents / 100).to_string());
        let amount = format!("{whole}{}{:02}", self.point(), cents % 100);
        if self.italian { format!("{amount}\u{a0}€") } else { format!("€{amount}") }
    }

    /// A rate in hundredths of a percent: `22%`, in Italian `8,1%`.
    pub fn percent(self, basis_points: u32) -> String {
        let fraction = format!("{:02}", basis_points % 100);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { self.point() };
        format!("{}{point}{fraction}%", basis_points / 100)
    }

    /// A change of a balance with its sign: `+1,000`, `−25`.
    pub fn change(self, amount: i64) -> String {
        let sign = if amount < 0 { "\u{2212}" } else { "+" };
        format!("{sign}{}", self.integer(amount.unsigned_abs()))
    }

    /// A share of a whole: `12.5%`, in Italian `12,5%`. A part below a thousandth is `<0.1%`, and a part that lacks less
    /// than a thousandth is `>99.9%`.
    pub fn share(self, part: u64, whole: u64) -> String {
        if part == 0 || whole == 0 {
            return "0%".to_owned();
        }
        if part >= whole {
            return "100%".to_owned();
        }
        let thousandths = (u128::from(part) * 1000 + u128::from(whole) / 2) / u128::from(whole);
        match thousandths {
            0 => format!("<0{}1%", self.point()),
            1000.. => format!(">99{}9%", self.point()),
            _ if thousandths % 10 == 0 => format!("{}%", thousandths / 10),
            _ => format!("{}{}{}%", thousandths / 10, self.point(), thousandths % 10),
        }
    }

    /// `23 November 2026`, in Italian `23 novembre 2026`: the day in UTC.
    pub fn day(self, moment: Moment) -> String {
        let (year, month, day) = moment.day().civil();
        let place = usize::try_from(month).unwrap_or(1).saturating_sub(1);
        let (english, italian) = MONTHS.get(place).copied().unwrap_or_default();
        format!("{day} {} {year}", if self.italian { italian } else { english })
    }

    /// `23 November 2026, 06:12 UTC`
    pub fn minute(self, moment: Moment) -> String {
        let text = moment.rfc3339();
        let time = text.split_once('T').and_then(|(_, time)| time.get(..5)).unwrap_or_default();
        format!("{}, {time} UTC", self.day(moment))
    }

    const fn point(self) -> &'static str {
        if self.italian { "," } else { "." }
    }

    fn grouped(self, digits: &str) -> String {
        let separator = if self.italian { '.' } else { ',' };
        let mut text = String::with_capacity(digits.len().saturating_mul(4) / 3);
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && digits.len().saturating_sub(place) % 3 == 0 {
                text.push(separator);
            }
            text.push(digit);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: Numbers = Numbers::of(Language::English);
    const ITALIAN: Numbers = Numbers::of(Language::Italian);

    #[test]
    fn groups_digits_by_language() {
        for (number, english, italian) in [
            (0, "0", "0"),
            (999, "999", "999"),
            (1000, "1,000", "1.000"),
            (1_234_567, "1,234,567", "1.234.567"),
        ] {
            assert_eq!((ENGLISH.integer(number), ITALIAN.integer(number)), (english.into(), italian.into()));
        }
        for (json, english, italian) in [
            ("901.00", "901.00", "901,00"),
            ("-1234.5", "\u{2212}1,234.5", "\u{2212}1.234,5"),
            ("1e300", "1e300", "1e300"),
            ("-1.5e-7", "\u{2212}1.5e-7", "\u{2212}1,5e-7"),
            ("12345678901234567890", "12,345,678,901,234,567,890", "12.345.678.901.234.567.890"),
        ] {
            assert_eq!((ENGLISH.decimal(json), ITALIAN.decimal(json)), (english.into(), italian.into()));
        }
    }

    #[test]
    fn limits_sizes_to_three_digits() {
        for (bytes, expected) in [
            (0, "0\u{a0}B"),
            (999, "999\u{a0}B"),
            (1000, "1.0\u{a0}kB"),
            (99_949, "99.9\u{a0}kB"),
            (99_950, "100\u{a0}kB"),
            (999_499, "999\u{a0}kB"),
            (999_500, "1.0\u{a0}MB"),
            (u64::MAX, "18446744\u{a0}TB"),
        ] {
            assert_eq!(ENGLISH.bytes(bytes), expected, "{bytes}");
        }
        assert_eq!(ITALIAN.bytes(1_234_567), "1,2\u{a0}MB");
    }

    #[test]
    fn prints_exact_and_rounded_prices() {
        for (credits, english) in [
            (0, "€0.00"),
            (1, "€0.005"),
            (2, "€0.01"),
            (7, "€0.035"),
            (1_000, "€5.00"),
            (600_572, "€3,002.86"),
        ] {
            assert_eq!(ENGLISH.price(credits), english);
        }
        assert_eq!(ITALIAN.price(600_572), "3.002,86\u{a0}€");
        for (credits, expected) in
            [(0, "€0.00"), (1, "€0.01"), (60_175, "€300.88"), (60_174, "€300.87"), (200_000, "€1,000.00")]
        {
            assert_eq!(ENGLISH.price_to_the_cent(credits), expected);
        }
        assert_eq!(ITALIAN.price_to_the_cent(60_175), "300,88\u{a0}€");
        for (credits, expected) in [(1, "€0.0061"), (1_000, "€6.10")] {
            assert_eq!(ENGLISH.price_with_vat(credits, 2_200), expected);
        }
        for (credits, rate, expected) in [
            (10_000, 2_200, "€61.00"),
            (60_175, 2_200, "€367.07"),
            (1, 2_200, "€0.01"),
            (600_572, 810, "€3,246.09"),
        ] {
            assert_eq!(ENGLISH.gross_to_the_cent(credits, rate), expected);
        }
    }

    #[test]
    fn shows_0_and_100_percent_only_when_exact() {
        for (part, whole, expected) in [
            (0, 10, "0%"),
            (0, 0, "0%"),
            (10, 10, "100%"),
            (1, 8, "12.5%"),
            (1, 2, "50%"),
            (1, u64::MAX, "<0.1%"),
            (u64::MAX - 1, u64::MAX, ">99.9%"),
            (9_999, 10_000, ">99.9%"),
            (1, 1_000, "0.1%"),
        ] {
            assert_eq!(ENGLISH.share(part, whole), expected, "{part}/{whole}");
        }
        assert_eq!(ITALIAN.share(1, 8), "12,5%");
    }

    #[test]
    fn prints_amounts_and_signed_changes() {
        assert_eq!(
            (ENGLISH.cents(1_250), ITALIAN.cents(123_405)),
            ("€12.50".into(), "1.234,05\u{a0}€".into())
        );
        assert_eq!(
            (ENGLISH.change(1_000), ITALIAN.change(-1_000)),
            ("+1,000".into(), "\u{2212}1.000".into())
        );
        assert_eq!(ENGLISH.change(i64::MIN), "\u{2212}9,223,372,036,854,775,808");
    }

    #[test]
    fn prints_rates_without_superfluous_digits() {
        for (basis_points, expected) in
            [(0, "0%"), (2_200, "22%"), (810, "8,1%"), (1_999, "19,99%"), (5, "0,05%"), (10_000, "100%")]
        {
            assert_eq!(ITALIAN.percent(basis_points), expected);
        }
    }

    #[test]
    fn spells_out_dates() {
        let moment = Moment::from_unix_millis(1_795_392_000_000);
        assert_eq!(
            (ENGLISH.day(moment), ITALIAN.day(moment)),
            ("23 November 2026".into(), "23 novembre 2026".into())
        );
        assert_eq!(ENGLISH.minute(moment.plus_seconds(22_335)), "23 November 2026, 06:12 UTC");
    }
}
