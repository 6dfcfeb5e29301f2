//! Stripe: one call opens a Checkout Session, a signed webhook reports its outcome, and three lists repeat the reports.
//!
//! Reads no books: it returns news, which others apply.

mod client;
mod objects;
mod secret;
mod signature;

use std::sync::atomic::{AtomicUsize, Ordering};

pub use secret::{Secret, SecretError};
use serde::de::IgnoredAny;

use super::news::News;
use super::provider::{CheckoutPage, Listing, NewsPage, NotificationError, Provider, ProviderError};
use client::Client;
use mercato_base::clock::Moment;
use mercato_ledger::Checkout;
use objects::{Opened, Page};

/// Calls to a provider at one time for which customers wait.
const CALLS_MAX: usize = 4;
/// A session is opened within this time of its checkout, by the clocks of both.
const OPENED_SECONDS: i64 = 600;
/// Name of the provider in the books.
const NAME: &str = "stripe";
/// Base address of Stripe's API.
pub const API: &str = "https://api.stripe.com";
/// Address of Stripe's checkout pages.
const CHECKOUT: &str = "https://checkout.stripe.com";
/// Objects of one page of a list.
const PAGE_OBJECTS: &str = "100";

pub struct Stripe {
    client: Client,
    webhook_secret: Secret,
    origin: String,
    calls: AtomicUsize,
}

impl Stripe {
    /// Payments at Stripe, with the secret key of an account and the secret of a webhook. `api` is the address of the
    /// interface without a slash at the end; another one than Stripe's own has its pages there, too.
    pub fn new(key: Secret, webhook_secret: Secret, api: &str) -> Stripe {
        let origin = if api == API { CHECKOUT } else { api };
        Stripe {
            client: Client::new(key, api),
            webhook_secret,
            origin: origin.to_owned(),
            calls: AtomicUsize::new(0),
        }
    }

    /// Counts a call of a customer while it runs. Customers wait in workers, and Stripe must not take all of them.
    fn admit(&self) -> Result<Call<'_>, ProviderError> {
        let call = Call(&self.calls);
        if self.calls.fetch_add(1, Ordering::Relaxed) >= CALLS_MAX {
            Err(ProviderError::Busy)
        } else {
            Ok(call)
        }
    }
}

struct Call<'c>(&'c AtomicUsize);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Provider for Stripe {
    fn name(&self) -> &'static str {
        NAME
    }

    fn origin(&self) -> Option<&str> {
        Some(&self.origin)
    }

    fn open(&self, page: &CheckoutPage<'_>) -> Result<String, ProviderError> {
        let _call = self.admit()?;
        let id = page.checkout.id.to_string();
        let opened: Opened = self.client.post("/v1/checkout/sessions", &session(page, &id), &id)?;
        let is_own = opened.url.strip_prefix(&self.origin).is_some_and(|rest| rest.starts_with('/'));
        if !is_own || !opened.url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ProviderError::Unreadable(format!("the page is not at {}", self.origin)));
        }
        Ok(opened.url)
    }

    fn cancel(&self, checkout: &Checkout) -> Result<(), ProviderError> {
        let _call = self.admit()?;
        let id = checkout.id.to_string();
        let (from, to) = (
            checkout.created_at.plus_seconds(-OPENED_SECONDS),
            checkout.created_at.plus_seconds(OPENED_SECONDS),
        );
        let (from, to) = (from.unix_seconds().to_string(), to.unix_seconds().to_string());
        let near =
            [("status", "open"), ("limit", PAGE_OBJECTS), ("created[gte]", &from), ("created[lte]", &to)];
        let page: Page = self.client.get("/v1/checkout/sessions", &near)?;
        let Some(session) = objects::session_of(&page, &id) else { return Ok(()) };
        let expire = format!("/v1/checkout/sessions/{session}/expire");
        self.client.post::<IgnoredAny>(&expire, &[], &format!("{id}-expire")).map(drop)
    }

    fn read_notification(
        &self,
        signature: Option<&str>,
        body: &[u8],
        now: Moment,
    ) -> Result<Option<News>, NotificationError> {
        signature::check(&self.webhook_secret, signature.unwrap_or_default(), body, now)?;
        objects::event(body, now).map_err(NotificationError::Unreadable)
    }

    fn list(
        &self,
        listing: Listing,
        since: Moment,
        after: Option<&str>,
        now: Moment,
    ) -> Result<NewsPage, ProviderError> {
        let since = since.unix_seconds().to_string();
        let mut pairs = vec![("limit", PAGE_OBJECTS), ("created[gte]", &since)];
        pairs.extend(after.map(|after| ("starting_after", after)));
        let (path, more) = match listing {
            Listing::Payments => ("/v1/checkout/sessions", Some(("status", "complete"))),
            Listing::Refunds => ("/v1/refunds", Some(("expand[]", "data.charge"))),
            Listing::Disputes => ("/v1/disputes", None),
        };
        pairs.extend(more);
        let page: Page = self.client.get(path, &pairs)?;
        Ok(objects::news_page(listing, &page, now))
    }
}

/// The fields of a Checkout Session. The checkout goes with it as metadata and comes back in each event.
fn session(page: &CheckoutPage<'_>, id: &str) -> Vec<(&'static str, String)> {
    let checkout = page.checkout;
    vec![
        ("mode", "payment".to_owned()),
        ("client_reference_id", id.to_owned()),
        ("success_url", page.success_url.to_owned()),
        ("cancel_url", page.cancel_url.to_owned()),
        ("customer_email", page.email.to_owned()),
        ("locale", page.language.to_owned()),
        // The price of the checkout is the price that is paid, in its currency.
        ("adaptive_pricing[enabled]", "false".to_owned()),
        ("line_items[0][quantity]", "1".to_owned()),
        ("line_items[0][price_data][currency]", checkout.price.currency.to_ascii_lowercase()),
        ("line_items[0][price_data][unit_amount]", checkout.price.gross.to_string()),
        ("line_items[0][price_data][product_data][name]", page.title.to_owned()),
        ("metadata[mercato_checkout]", id.to_owned()),
        ("metadata[mercato_account]", checkout.account.to_string()),
        ("metadata[mercato_credits]", checkout.credits.to_string()),
        ("payment_intent_data[metadata][mercato_checkout]", id.to_owned()),
    ]
}
