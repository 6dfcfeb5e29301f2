//! The payments that the settings ask for, and the pass that looks after them.

use std::io;
use std::sync::Arc;

use super::{StartError, part};
use crate::config::{PaymentSettings, Settings};
use mercato_base::clock::Clock;
use mercato_ledger::Ledger;
use mercato_payments::{Payments, Reconciler, Secret, Stripe};

/// Beginnings of secret keys: of an account, and restricted ones.
const KEY_PREFIXES: [&str; 2] = ["sk_", "rk_"];
/// Beginning of the secret of a webhook.
const WEBHOOK_PREFIXES: [&str; 1] = ["whsec_"];

/// Reads the secrets and makes the provider. Asks it nothing.
pub(super) fn open(settings: &Settings) -> Result<Payments, StartError> {
    Ok(match &settings.payments {
        PaymentSettings::None => Payments::none(),
        PaymentSettings::Demo => Payments::demo(),
        PaymentSettings::Stripe { secret_key_file, webhook_secret_file, api } => {
            let key = Secret::read(secret_key_file, &KEY_PREFIXES)
                .map_err(|error| part("--stripe-secret-key-file", &error))?;
            let webhook = Secret::read(webhook_secret_file, &WEBHOOK_PREFIXES)
                .map_err(|error| part("--stripe-webhook-secret-file", &error))?;
            Payments::over(Arc::new(Stripe::new(key, webhook, api)))
        }
    })
}

/// Starts the hourly comparison where there is a provider that knows something.
pub(super) fn look_after(
    payments: &Arc<Payments>,
    ledger: &Arc<Ledger>,
    clock: &Arc<dyn Clock>,
) -> io::Result<Option<Reconciler>> {
    let is_needed = payments.provider().is_some_and(|provider| !provider.is_paid_by_click());
    let start = || Reconciler::start(Arc::clone(payments), Arc::clone(ledger), Arc::clone(clock));
    is_needed.then(start).transpose()
}
