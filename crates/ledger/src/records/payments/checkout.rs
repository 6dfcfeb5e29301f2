//! A checkout: credits that a customer ordered, at a price that was fixed before the payment, and the state of that payment.
//!
//! Pure arithmetic over the record. Does not depend on providers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::price::Price;
use crate::codec::Record;
use crate::id::{AccountId, IdError};
use crate::limits::CHECKOUT_SECONDS;
use mercato_base::clock::Moment;

/// Random bytes of an id.
pub const CHECKOUT_RANDOM_BYTES: usize = 16;

/// A checkout; displays as `chk_17_` and 32 hexadecimal digits. Books that were restored from a backup give numbers again,
/// so random bytes tell two checkouts with one number apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CheckoutId {
    pub number: u64,
    pub random: [u8; CHECKOUT_RANDOM_BYTES],
}

/// A checkout as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Checkout {
    pub id: CheckoutId,
    /// The account that receives the credits.
    pub account: AccountId,
    /// The payment provider.
    pub provider: String,
    pub credits: u64,
    /// Their price. It never changes.
    pub price: Price,
    /// When the customer ordered.
    pub created_at: Moment,
    /// When the customer gave it up. A payment that still comes counts.
    pub cancelled_at: Option<Moment>,
    /// The payment, once it came.
    pub paid: Option<Paid>,
    /// Cents of the gross price that went back to the customer.
    pub refunded: u64,
    /// Cents of the gross price that the customer's bank reclaims or has reclaimed.
    pub disputed: u64,
    /// Credits that were taken back for these.
    pub taken: u64,
    /// Credits that should have been taken back and were spent already.
    pub forgone: u64,
}

/// The payment of a checkout.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Paid {
    /// The provider's id of the payment.
    pub payment: String,
    /// The entry that gave the credits.
    pub sequence: u64,
    pub at: Moment,
}

/// The state of a checkout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckoutState {
    /// It waits for its payment.
    Open,
    /// It was not paid in time. A payment that still comes counts.
    Lapsed,
    /// The customer gave it up. A payment that still comes counts.
    Cancelled,
    Paid,
    /// It was paid, and a part of the price went back.
    PartlyRefunded,
    /// It was paid, and the whole price went back.
    Refunded,
    /// It was paid, and the customer's bank reclaims the price or has reclaimed it.
    Disputed,
}

impl CheckoutState {
    /// The name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            CheckoutState::Open => "open",
            CheckoutState::Lapsed => "lapsed",
            CheckoutState::Cancelled => "cancelled",
            CheckoutState::Paid => "paid",
            CheckoutState::PartlyRefunded => "partlyRefunded",
            CheckoutState::Refunded => "refunded",
            CheckoutState::Disputed => "disputed",
        }
    }
}

impl Checkout {
    /// Its state at a moment.
    pub fn state(&self, now: Moment) -> CheckoutState {
        if self.paid.is_none() && self.cancelled_at.is_some() {
            return CheckoutState::Cancelled;
        }
        if self.paid.is_none() {
            let end = self.created_at.plus_seconds(CHECKOUT_SECONDS);
            return if now < end { CheckoutState::Open } else { CheckoutState::Lapsed };
        }
        match (self.disputed, self.refunded) {
            (1.., _) => CheckoutState::Disputed,
            (0, 0) => CheckoutState::Paid,
            (0, refunded) if refunded >= self.price.gross => CheckoutState::Refunded,
            (0, _) => CheckoutState::PartlyRefunded,
        }
    }

    /// Credits in proportion to what was refunded and disputed, rounded down: they should not be with the account.
    pub fn owed(&self) -> u64 {
        let amount = self.refunded.saturating_add(self.disputed).min(self.price.gross);
        let share = u128::from(self.credits) * u128::from(amount);
        let owed = share.checked_div(self.price.gross.into()).unwrap_or(0);
        u64::try_from(owed).unwrap_or(self.credits)
    }
}

impl Record for Checkout {
    const NAME: &'static str = "checkout";
}

impl CheckoutId {
    /// The number: it rises with each checkout.
    pub const fn number(self) -> u64 {
        self.number
    }
}

impl fmt::Display for CheckoutId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "chk_{}_", self.number)?;
        self.random.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl FromStr for CheckoutId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<CheckoutId, IdError> {
        let parsed = || {
            let (number, digits) = text.strip_prefix("chk_")?.split_once('_')?;
            let plain = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number || digits.len() != 2 * CHECKOUT_RANDOM_BYTES || !plain(digits) {
                return None;
            }
            let random = u128::from_str_radix(digits, 16).ok()?.to_be_bytes();
            Some(CheckoutId { number: number.parse().ok()?, random })
        };
        parsed().ok_or_else(|| IdError {
            expected: "chk_17_0123456789abcdef0123456789abcdef",
            found: text.chars().take(60).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout(credits: u64, gross: u64) -> Checkout {
        Checkout {
            id: CheckoutId { number: 17, random: [0xab; 16] },
            account: AccountId::from_number(1),
            provider: "demo".to_owned(),
            credits,
            price: Price::with_vat(gross, 0).unwrap(),
            created_at: Moment::from_unix_millis(0),
            cancelled_at: None,
            paid: None,
            refunded: 0,
            disputed: 0,
            taken: 0,
            forgone: 0,
        }
    }

    #[test]
    fn owes_credits_in_proportion_and_never_more_than_bought() {
        for (refunded, disputed, owed) in [
            (0, 0, 0),
            (1, 0, 1),
            (500, 0, 500),
            (333, 0, 333),
            (500, 1_000, 1_001),
            (u64::MAX, u64::MAX, 1_001),
        ] {
            let checkout = Checkout { refunded, disputed, ..checkout(1_001, 1_000) };
            assert_eq!(checkout.owed(), owed, "{refunded} {disputed}");
        }
        let large = Checkout { refunded: 99_999_999, ..checkout(1_000_000_000_000, 99_999_999) };
        assert_eq!(large.owed(), 1_000_000_000_000);
        assert_eq!(Checkout { refunded: 1, ..checkout(5, 0) }.owed(), 0);
    }

    #[test]
    fn tells_state() {
        let paid = Some(Paid { payment: "p".to_owned(), sequence: 1, at: Moment::from_unix_millis(1) });
        let (soon, late) = (Moment::from_unix_millis(1), Moment::from_unix_millis(CHECKOUT_SECONDS * 1_000));
        let open = checkout(10, 100);
        assert_eq!((open.state(soon), open.state(late)), (CheckoutState::Open, CheckoutState::Lapsed));
        let cancelled = Checkout { cancelled_at: Some(soon), ..checkout(10, 100) };
        assert_eq!(cancelled.state(late), CheckoutState::Cancelled);
        let paid_late = Checkout { paid: paid.clone(), ..cancelled };
        assert_eq!(paid_late.state(late), CheckoutState::Paid);
        for (refunded, disputed, state) in [
            (0, 0, CheckoutState::Paid),
            (99, 0, CheckoutState::PartlyRefunded),
            (100, 0, CheckoutState::Refunded),
            (100, 1, CheckoutState::Disputed),
        ] {
            let checkout = Checkout { paid: paid.clone(), refunded, disputed, ..checkout(10, 100) };
            assert_eq!(checkout.state(late), state);
        }
    }

    #[test]
    fn parses_printed_id() {
        let id = checkout(1, 1).id;
        assert_eq!(id.to_string(), "chk_17_abababababababababababababababab");
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in [
            "",
            "chk_17",
            "chk__abababababababababababababababab",
            "chk_+7_abababababababababababababababab",
            "chk_17_ABABABABABABABABABABABABABABABAB",
            "chk_17_abababababababababababababababa",
            "chk_17_+bababababababababababababababab",
            "chk_99999999999999999999_abababababababababababababababab",
        ] {
            assert!(wrong.parse::<CheckoutId>().is_err(), "{wrong}");
        }
    }
}
