//! The seam to a payment provider.

use super::news::News;
use mercato_base::clock::Moment;
use mercato_ledger::Checkout;

/// A payment provider. Its calls may block for some seconds.
pub trait Provider: Send + Sync {
    /// The name under which its payments stand in the books.
    fn name(&self) -> &'static str;

    /// Whether a click on a page of this site pays.
    fn is_paid_by_click(&self) -> bool {
        false
    }

    /// The origin of its pages, to which a form may lead; `None` for pages of this site.
    fn origin(&self) -> Option<&str>;

    /// Opens the page on which a checkout is paid, and returns its address. A second call for the same checkout
    /// opens no second page.
    fn open(&self, page: &CheckoutPage<'_>) -> Result<String, ProviderError>;

    /// Reads a notification, after the proof that the provider sent it. `None` for events that do not concern credits.
    fn read_notification(
        &self,
        signature: Option<&str>,
        body: &[u8],
        now: Moment,
    ) -> Result<Option<News>, NotificationError>;

    /// Closes the page of a checkout that the customer gave up, as far as it is still open.
    fn cancel(&self, checkout: &Checkout) -> Result<(), ProviderError>;

    /// A page of the provider's events since a moment, newest first, behind the id that ended the page before.
    fn list(
        &self,
        listing: Listing,
        since: Moment,
        after: Option<&str>,
        now: Moment,
    ) -> Result<NewsPage, ProviderError>;
}

/// The content of the page on which a checkout is paid.
pub struct CheckoutPage<'c> {
    pub checkout: &'c Checkout,
    /// Name of the bought item, in the language of the customer.
    pub title: &'c str,
    pub email: &'c str,
    /// The customer's language: `en` or `it`.
    pub language: &'static str,
    /// Whole address of the page of this site behind a payment.
    pub success_url: &'c str,
    /// Whole address of the page of this site where the customer gives up.
    pub cancel_url: &'c str,
    /// The page of this site on which a click pays.
    pub confirm_url: &'c str,
}

/// The lists of events that a provider keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Checkouts that were paid.
    Payments,
    /// Payments that went back to customers.
    Refunds,
    /// Payments that banks reclaim.
    Disputes,
}

impl Listing {
    pub const ALL: [Listing; 3] = [Listing::Payments, Listing::Refunds, Listing::Disputes];
}

/// A page of a listing.
#[derive(Debug, Default)]
pub struct NewsPage {
    /// The events that concern credits.
    pub news: Vec<News>,
    /// Ids of unreadable events, each with the reason.
    pub unreadable: Vec<(String, String)>,
    /// The id behind which the next page begins, if there is one.
    pub next: Option<String>,
}

/// Why a call to a provider failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// No answer came.
    #[error("the payment provider does not answer: {0}")]
    Unreachable(String),
    /// Too many calls wait for the provider.
    #[error("too many calls wait for the payment provider")]
    Busy,
    #[error("the payment provider refuses with status {status}: {reason}")]
    Refused { status: u16, reason: String },
    /// The answer cannot be understood.
    #[error("the answer of the payment provider cannot be read: {0}")]
    Unreadable(String),
}

/// Why a notification is not taken in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotificationError {
    /// The provider sends none.
    #[error("there are no notifications of this provider")]
    NoneSent,
    /// There is no signature, or one in another form.
    #[error("the signature is missing or malformed")]
    Malformed,
    /// No signature fits the body and the secret.
    #[error("the signature does not fit the body")]
    Forged,
    /// It was signed too long ago, or in the future.
    #[error("the notification was signed {seconds} s away from now, more than {tolerance} s")]
    Untimely {
        /// How far away, in seconds.
        seconds: u64,
        /// The accepted distance, in seconds.
        tolerance: u64,
    },
    /// The provider sent it, and it cannot be understood.
    #[error("the notification cannot be read: {0}")]
    Unreadable(String),
}
