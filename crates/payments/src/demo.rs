//! A provider for demonstrations: a click pays, and no money moves. Only a server of this machine alone has it.

use super::news::News;
use super::provider::{CheckoutPage, Listing, NewsPage, NotificationError, Provider, ProviderError};
use mercato_base::clock::Moment;
use mercato_ledger::Checkout;

pub(super) struct Demo;

impl Provider for Demo {
    fn name(&self) -> &'static str {
        "demo"
    }

    fn is_paid_by_click(&self) -> bool {
        true
    }

    fn origin(&self) -> Option<&str> {
        None
    }

    fn open(&self, page: &CheckoutPage<'_>) -> Result<String, ProviderError> {
        Ok(page.confirm_url.to_owned())
    }

    fn cancel(&self, _: &Checkout) -> Result<(), ProviderError> {
        Ok(())
    }

    fn read_notification(
        &self,
        _: Option<&str>,
        _: &[u8],
        _: Moment,
    ) -> Result<Option<News>, NotificationError> {
        Err(NotificationError::NoneSent)
    }

    fn list(&self, _: Listing, _: Moment, _: Option<&str>, _: Moment) -> Result<NewsPage, ProviderError> {
        Ok(NewsPage::default())
    }
}
