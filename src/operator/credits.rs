//! Commands that add credits to an account.

use std::fmt::{self, Display, Formatter};

use clap::Args;
use mercato_base::words::counted;
use mercato_ledger::{AccountId, PaymentId};
use serde::{Deserialize, Serialize};

use super::command::{Command, CommandError, Context};

/// The payment provider of purchases that the operator enters.
const OPERATOR: &str = "operator";

/// Record a purchase: 5 EUR per 1,000 credits, VAT excluded. The account becomes a prepaid one.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuyCredits {
    /// The account of the buyer.
    #[arg(long, value_name = "ID")]
    pub account: String,
    /// Number of credits.
    #[arg(long)]
    pub credits: u64,
    /// The paid amount in euro cents, VAT excluded. Default: the list price.
    #[arg(long)]
    pub cents: Option<u64>,
    /// Number of the invoice or payment. A purchase with the same number is recorded only once.
    #[arg(long, default_value = "")]
    #[serde(default)]
    pub reference: String,
    /// Provider of the payment. Numbers are unique for each provider. Default: `operator`.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, requires = "reference")]
    #[serde(default)]
    pub provider: String,
    /// A note.
    #[arg(long, default_value = "")]
    #[serde(default)]
    pub note: String,
}

/// Grant credits. The plan of the account does not change.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantCredits {
    /// The account that receives the credits.
    #[arg(long, value_name = "ID")]
    pub account: String,
    /// Number of credits.
    #[arg(long)]
    pub credits: u64,
    /// A note.
    #[arg(long, default_value = "")]
    #[serde(default)]
    pub note: String,
}

/// Credits added to an account.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Balance {
    pub account: String,
    /// The new balance.
    pub balance: u64,
    /// The added credits.
    pub credits: u64,
    /// The price; zero for a gift.
    pub cents: u64,
    /// Always `EUR`.
    pub currency: String,
    /// Always false: amounts are without VAT.
    pub vat_included: bool,
    /// Whether the purchase was entered before under its reference. Then nothing was added.
    pub replayed: bool,
}

impl Command for BuyCredits {
    type Outcome = Balance;

    fn execute(&self, context: &Context<'_>) -> Result<Balance, CommandError> {
        let Context { ledger, now, request_id, .. } = context;
        let payment = self.payment()?;
        let account = context.account(&self.account)?.id();
        let Self { credits, cents, note, .. } = self;
        let bought = match payment {
            None => ledger.buy(account, *credits, *cents, request_id, note, *now)?,
            Some(payment) => ledger.buy_once(account, *credits, *cents, payment, note, *now)?,
        };
        let (cents, replayed) = (bought.cents, bought.is_replayed);
        Ok(Balance { cents, replayed, ..Balance::granted(account, *credits, bought.balance) })
    }
}

impl BuyCredits {
    /// The number under which the purchase is entered once, if it has one.
    fn payment(&self) -> Result<Option<PaymentId>, CommandError> {
        let provider = match (self.provider.as_str(), self.reference.as_str()) {
            ("", "") => return Ok(None),
            (_, "") => {
                let rule = "stands beside a reference, which is missing".to_owned();
                return Err(CommandError::invalid("provider", rule));
            }
            ("", _) => OPERATOR,
            (named, _) => named,
        };
        Ok(Some(PaymentId { provider: provider.to_owned(), id: self.reference.clone() }))
    }
}

impl Command for GrantCredits {
    type Outcome = Balance;

    fn execute(&self, context: &Context<'_>) -> Result<Balance, CommandError> {
        let account = context.account(&self.account)?.id();
        let Context { ledger, now, request_id, .. } = context;
        let balance = ledger.grant(account, self.credits, request_id, &self.note, *now)?;
        Ok(Balance::granted(account, self.credits, balance))
    }
}

impl Balance {
    fn granted(account: AccountId, credits: u64, balance: u64) -> Self {
        let (account, currency) = (account.to_string(), "EUR".to_owned());
        Self { account, balance, credits, cents: 0, currency, vat_included: false, replayed: false }
    }
}

impl Display for Balance {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { account, balance, cents, .. } = self;
        if self.replayed {
            return writeln!(out, "{account}: this purchase was entered before, balance {balance}");
        }
        write!(out, "{account}: {} added", counted(self.credits, "credit"))?;
        if *cents > 0 {
            write!(out, " for {}.{:02} EUR without VAT", cents / 100, cents % 100)?;
        }
        writeln!(out, ", balance {balance}")
    }
}
