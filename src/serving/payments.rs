//! The payments that the settings ask for, and the pass that looks after them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::{StartError, part};
use crate::config::{PaymentProvider, Settings};
use mercato_base::clock::Clock;
use mercato_ledger::Ledger;
use mercato_payments::{Payments, Reconciler, Secret, Stripe};

/// Beginnings of secret keys: of an account, and restricted ones.
const KEY_PREFIXES: [&str; 2] = ["sk_", "rk_"];
/// Beginning of the secret of a webhook.
const WEBHOOK_PREFIXES: [&str; 1] = ["whsec_"];

/// Reads the secrets and makes the provider. Asks it nothing.
pub(super) fn open(settings: &Settings) -> Result<Payments, StartError> {
    Ok(match settings.payments {
        PaymentProvider::None => Payments::none(),
        PaymentProvider::Demo => Payments::demo(),
        PaymentProvider::Stripe => {
            let key = secret("--stripe-secret-key-file", &settings.stripe_secret_key_file, &KEY_PREFIXES)?;
            let file = &settings.stripe_webhook_secret_file;
            let webhook = secret("--stripe-webhook-secret-file", file, &WEBHOOK_PREFIXES)?;
            Payments::over(Arc::new(Stripe::new(key, webhook, &settings.stripe_api)))
        }
    })
}

fn secret(flag: &'static str, file: &Option<PathBuf>, prefixes: &[&str]) -> Result<Secret, StartError> {
    let file = file.as_deref().ok_or_else(|| part(flag, &"expected a file, found nothing"))?;
    Secret::read(file, prefixes).map_err(|error| part(flag, &error))
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
