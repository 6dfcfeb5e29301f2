//! Checkouts: opened, paid once, listed.
//!
//! A payment is compared with its checkout before anything changes. Does not depend on providers.

use crate::checkout::{Checkout, CheckoutId, CheckoutState, Paid};
use crate::codec::Record;
use crate::error::ChargeError;
use crate::id::AccountId;
use crate::key_space;
use crate::limits::UNPAID_CHECKOUTS_MAX;
use crate::payments::{CheckoutPayment, Contradiction, NewCheckout, PaidCheckout, PurchasesQuery};
use crate::request::CreditRequest;
use crate::reversal::Reversal;
use crate::state::State;
use crate::state::operating::invalid;
use crate::state::purchasing::{Entered, check_credits, check_payment, check_provider};
use mercato_base::clock::Moment;

impl State {
    /// Opens a checkout.
    pub fn begin_checkout(&mut self, new: &NewCheckout) -> Result<Checkout, ChargeError> {
        check_provider(&new.provider)?;
        let account = self.open(new.account)?;
        check_credits(account, new.credits)?;
        let newest = self.checkouts_of(new.account, None, UNPAID_CHECKOUTS_MAX)?;
        let waits = |checkout: &Checkout| checkout.state(new.at) == CheckoutState::Open;
        if newest.len() >= UNPAID_CHECKOUTS_MAX && newest.iter().all(waits) {
            let rule = format!("at most {UNPAID_CHECKOUTS_MAX} of an account wait for payment at one time");
            return Err(invalid("checkout", rule));
        }
        self.latest = self.latest.max(new.at);
        let checkout = Checkout {
            id: CheckoutId { number: self.next_checkout, random: new.random },
            account: new.account,
            provider: new.provider.clone(),
            credits: new.credits,
            price: new.price.clone(),
            created_at: new.at,
            cancelled_at: None,
            paid: None,
            refunded: 0,
            disputed: 0,
            taken: 0,
            forgone: 0,
        };
        self.next_checkout += 1;
        self.written.changes.put(key_space::checkout_of(new.account, checkout.id.number), Vec::new());
        self.put_checkout(&checkout);
        Ok(checkout)
    }

    /// Notes that the customer gave a checkout up, unless it is paid. Returns it as it is now.
    pub fn cancel_checkout(
        &mut self,
        account: AccountId,
        id: CheckoutId,
        at: Moment,
    ) -> Result<Option<Checkout>, ChargeError> {
        let found = self.checkout(id)?.filter(|checkout| checkout.account == account);
        let Some(mut checkout) = found else { return Ok(None) };
        if checkout.paid.is_none() && checkout.cancelled_at.is_none() {
            self.latest = self.latest.max(at);
            checkout.cancelled_at = Some(at);
            self.put_checkout(&checkout);
        }
        Ok(Some(checkout))
    }

    /// Gives the credits of a paid checkout, once.
    pub fn pay_checkout(&mut self, payment: &CheckoutPayment) -> Result<PaidCheckout, ChargeError> {
        check_payment(&payment.payment)?;
        let Some(mut checkout) = self.checkout(payment.checkout)? else {
            return Ok(PaidCheckout::Refused(Contradiction::UnknownCheckout));
        };
        if let Some(contradiction) = payment.contradiction(&checkout) {
            return Ok(PaidCheckout::Refused(contradiction));
        }
        match &checkout.paid {
            Some(paid) if paid.payment == payment.payment.id => return Ok(PaidCheckout::Replayed),
            Some(paid) => {
                let payment = paid.payment.clone();
                return Ok(PaidCheckout::Refused(Contradiction::PaidBefore { payment }));
            }
            None => {}
        }
        let reversal_key = key_space::reversal(&payment.payment);
        let mut reversal: Reversal = self.read(&reversal_key)?.unwrap_or_default();
        let entered: Option<Entered> = self.read(&key_space::payment(&payment.payment))?;
        let is_same =
            |entered: &Entered| entered.is_of(checkout.account, checkout.credits, checkout.price.net);
        if reversal.checkout.is_some() || entered.is_some_and(|entered| !is_same(&entered)) {
            return Ok(PaidCheckout::Refused(Contradiction::PaymentUsed));
        }
        let bought = self.purchase(&CreditRequest {
            account: checkout.account,
            credits: checkout.credits,
            cents: Some(checkout.price.net),
            payment: Some(payment.payment.clone()),
            request_id: payment.payment.id.clone(),
            note: String::new(),
            at: payment.at,
        })?;
        let paid = Paid { payment: payment.payment.id.clone(), sequence: bought.sequence, at: payment.at };
        checkout.paid = Some(paid);
        reversal.checkout = Some(checkout.id.number);
        self.settle_reversal(&mut checkout, &reversal, payment.at)?;
        self.put_checkout(&checkout);
        self.written.changes.put(reversal_key, reversal.encode());
        let (account, credits) = (checkout.account, checkout.credits);
        Ok(if bought.is_replayed {
            PaidCheckout::Replayed
        } else {
            PaidCheckout::Granted { account, credits }
        })
    }

    /// The checkout with this id.
    pub fn checkout(&mut self, id: CheckoutId) -> Result<Option<Checkout>, ChargeError> {
        let found: Option<Checkout> = self.read(&key_space::checkout(id.number))?;
        Ok(found.filter(|checkout| checkout.id == id))
    }

    /// Checkouts of one account or of all, newest first.
    pub fn checkouts(&mut self, query: &PurchasesQuery) -> Result<Vec<Checkout>, ChargeError> {
        let PurchasesQuery { account, before, limit } = *query;
        if let Some(account) = account {
            return self.checkouts_of(account, before, limit);
        }
        let prefix = key_space::CHECKOUT;
        let from = before.map_or_else(|| prefix.to_vec(), |before| behind(&key_space::checkout(before)));
        let records = self.scan(prefix, &from, limit)?;
        self.decoded(records.iter().map(|(_, value)| Checkout::decode(value)).collect())
    }

    fn checkouts_of(
        &mut self,
        account: AccountId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Checkout>, ChargeError> {
        let prefix = key_space::checkouts_of(account);
        let from =
            before.map_or_else(|| prefix.clone(), |before| behind(&key_space::checkout_of(account, before)));
        let mut found = Vec::new();
        for (key, _) in self.scan(&prefix, &from, limit)? {
            let record = key_space::checkout_number(&key).map(key_space::checkout);
            let checkout = match record {
                Some(record) => self.read::<Checkout>(&record)?,
                None => None,
            };
            let Some(checkout) = checkout else {
                return Err(self.fail_damaged(format!("a checkout of {account} is missing")));
            };
            found.push(checkout);
        }
        Ok(found)
    }

    pub fn put_checkout(&mut self, checkout: &Checkout) {
        self.written.changes.put(key_space::checkout(checkout.id.number), checkout.encode());
    }
}

/// The least key behind this one.
fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}
