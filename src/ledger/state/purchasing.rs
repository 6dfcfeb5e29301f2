//! Credits that accounts receive: purchases and grants of the operator.
//!
//! A purchase may carry the id under which a payment provider knows it; it is entered once, for ever. Knows no currency but
//! the cent.

use super::super::codec::{DecodeError, RecordReader, RecordWriter};
use super::super::entry::EntryKind;
use super::super::error::ChargeError;
use super::super::id::AccountId;
use super::super::key_space;
use super::super::operator::{PaymentId, Purchase};
use super::charging::signed;
use super::operating::{check_text, invalid};
use super::{EntryDetail, State};
use crate::clock::Moment;
use crate::limits::ledger::{
    BALANCE_CREDITS_MAX, CENTS_PER_THOUSAND_CREDITS, CREDITS_PER_PURCHASE_MAX, PROVIDER_BYTES_MAX,
};

const RECORD: &str = "purchase";
const VERSION: u8 = 1;

/// Credits that an account receives.
pub(in super::super) struct Credit {
    pub(in super::super) account: AccountId,
    pub(in super::super) credits: u64,
    /// What they cost, if not the list price.
    pub(in super::super) cents: Option<u64>,
    /// Under which a purchase is entered only once.
    pub(in super::super) payment: Option<PaymentId>,
    pub(in super::super) request_id: String,
    pub(in super::super) note: String,
    pub(in super::super) at: Moment,
}

/// What is kept of a purchase under the id of its payment.
#[derive(Debug, PartialEq, Eq)]
struct Entered {
    account: AccountId,
    credits: u64,
    cents: u64,
    sequence: u64,
}

impl Entered {
    fn encode(&self) -> Vec<u8> {
        let record = RecordWriter::new(VERSION).u64(self.account.number());
        record.u64(self.credits).u64(self.cents).u64(self.sequence).finish()
    }

    fn decode(bytes: &[u8]) -> Result<Entered, DecodeError> {
        let mut reader = RecordReader::new(RECORD, VERSION, bytes)?;
        Ok(Entered {
            account: AccountId::from_number(reader.u64("account")?),
            credits: reader.u64("credits")?,
            cents: reader.u64("cents")?,
            sequence: reader.u64("sequence")?,
        })
    }
}

impl State {
    /// Credits that were bought; the account is a prepaid one from now on.
    pub(in super::super) fn purchase(&mut self, order: &Credit) -> Result<Purchase, ChargeError> {
        let cents = order.cents.unwrap_or_else(|| list_price(order.credits));
        let account = order.account;
        if let Some(payment) = &order.payment {
            check_text("provider", &payment.provider, 1)?;
            check_text("reference", &payment.id, 1)?;
            if payment.provider.len() > PROVIDER_BYTES_MAX {
                let rule = format!("at most {PROVIDER_BYTES_MAX} bytes, found {}", payment.provider.len());
                return Err(invalid("provider", rule));
            }
            if let Some(entered) = self.entered(payment)? {
                if (entered.account, entered.credits, entered.cents) == (account, order.credits, cents) {
                    let balance = self.account(account)?.record.purse.balance;
                    return Ok(Purchase { balance, cents, is_replayed: true });
                }
                let rule = format!(
                    "{} was entered before for {} with {} credits and {} cents",
                    payment.id, entered.account, entered.credits, entered.cents
                );
                return Err(invalid("reference", rule));
            }
        }
        let (sequence, balance) = self.credit(order, EntryKind::Purchase, cents)?;
        if let Some(account) = self.accounts.get_mut(&account) {
            account.record.purse.has_bought = true;
        }
        if let Some(payment) = &order.payment {
            let entered = Entered { account, credits: order.credits, cents, sequence };
            self.changes.put(key_space::payment(payment), entered.encode());
        }
        Ok(Purchase { balance, cents, is_replayed: false })
    }

    fn entered(&mut self, payment: &PaymentId) -> Result<Option<Entered>, ChargeError> {
        let Some(bytes) = self.get(&key_space::payment(payment))? else { return Ok(None) };
        Entered::decode(&bytes).map(Some).map_err(|error| self.fail_damaged(error.to_string()))
    }

    /// Credits that the operator gives. The plan stays as it is. Returns the balance.
    pub(in super::super) fn grant(&mut self, order: &Credit) -> Result<u64, ChargeError> {
        self.credit(order, EntryKind::Grant, 0).map(|(_, balance)| balance)
    }

    fn credit(&mut self, order: &Credit, kind: EntryKind, cents: u64) -> Result<(u64, u64), ChargeError> {
        check_text("note", &order.note, 0)?;
        if order.credits == 0 || order.credits > CREDITS_PER_PURCHASE_MAX {
            let rule = format!("1 to {CREDITS_PER_PURCHASE_MAX}, found {}", order.credits);
            return Err(invalid("credits", rule));
        }
        let account = self.account(order.account)?;
        let held = account.record.purse.balance.saturating_add(account.reserved);
        if held.saturating_add(order.credits) > BALANCE_CREDITS_MAX {
            return Err(invalid("credits", format!("an account holds at most {BALANCE_CREDITS_MAX}")));
        }
        self.latest = self.latest.max(order.at);
        let detail =
            EntryDetail { cents, request_id: &order.request_id, note: &order.note, ..EntryDetail::default() };
        let sequence = self.append(order.account, kind, signed(order.credits), order.at, &detail)?;
        Ok((sequence, self.account(order.account)?.record.purse.balance))
    }
}

/// The list price, rounded to the nearest cent.
fn list_price(credits: u64) -> u64 {
    (credits.saturating_mul(CENTS_PER_THOUSAND_CREDITS).saturating_add(500)) / 1_000
}
