//! The comparison of the provider's events with the books. It finds events whose notification never came.
//!
//! It runs at the start, every hour, and on the operator's command. It applies every event that the provider lists of the
//! last days; known events change nothing. Does not depend on the kind of provider.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::Payments;
use super::news::{Applied, News};
use super::provider::{Listing, Provider, ProviderError};
use mercato_base::clock::{Clock, Moment};
use mercato_ledger::{BooksError, Ledger};

/// How far back a comparison with the provider looks.
const RECONCILE_SECONDS: i64 = 30 * 86_400;
/// Pages of one list that a comparison reads, of 100 objects each.
const RECONCILE_PAGES_MAX: usize = 100;
/// Findings of a comparison that are named; the others are counted.
const RECONCILE_NAMED_MAX: usize = 100;
/// Time from one comparison to the next.
const RECONCILE_EVERY: Duration = Duration::from_secs(3_600);
/// Time from a failed comparison to the next.
const RECONCILE_RETRY: Duration = Duration::from_secs(300);

/// The result of a comparison.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Reconciliation {
    /// Payments, refunds and disputes that the provider listed.
    pub listed: u64,
    /// Events without a notification, the first `RECONCILE_NAMED_MAX`. The books have taken them.
    pub found: Vec<Found>,
    pub found_count: u64,
    /// Events that contradict the books or cannot be read, the first `RECONCILE_NAMED_MAX`.
    pub unexplained: Vec<Unexplained>,
    pub unexplained_count: u64,
    /// Whether the provider had more than the pass may read.
    pub is_cut: bool,
}

/// An event without a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The provider's id of the payment.
    pub payment: String,
    /// Whether it gave credits; otherwise it was refunded or disputed.
    pub is_grant: bool,
}

/// Something that the books did not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexplained {
    /// The provider's id of the event.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// Why a pass did not end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReconcileError {
    /// There is nothing to compare with.
    #[error("this server takes no payments; start it with --payments stripe")]
    NoProvider,
    /// Another pass is under way.
    #[error("another comparison with the payment provider is under way; try again in a minute")]
    Busy,
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Books(#[from] BooksError),
}

impl Payments {
    /// Applies the provider's events of the last `RECONCILE_SECONDS` to the books, and reports those that they lacked.
    pub fn reconcile(&self, ledger: &Ledger, now: Moment) -> Result<Reconciliation, ReconcileError> {
        let provider = self.provider().ok_or(ReconcileError::NoProvider)?;
        let _alone = self.comparing.try_lock().ok_or(ReconcileError::Busy)?;
        let mut report = Reconciliation::default();
        for listing in Listing::ALL {
            compare(provider, listing, ledger, now, &mut report)?;
        }
        Ok(report)
    }
}

fn compare(
    provider: &dyn Provider,
    listing: Listing,
    ledger: &Ledger,
    now: Moment,
    report: &mut Reconciliation,
) -> Result<(), ReconcileError> {
    let since = now.plus_seconds(-RECONCILE_SECONDS);
    let mut after: Option<String> = None;
    for _ in 0..RECONCILE_PAGES_MAX {
        let page = provider.list(listing, since, after.as_deref(), now)?;
        for news in &page.news {
            report.listed = report.listed.saturating_add(1);
            let applied = news.apply(ledger)?;
            report.note(news, applied);
        }
        for (id, reason) in page.unreadable {
            report.listed = report.listed.saturating_add(1);
            report.note_unexplained(id, reason);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
    report.is_cut = true;
    Ok(())
}

impl Reconciliation {
    fn note(&mut self, news: &News, applied: Applied) {
        let payment = news.payment().id.clone();
        match applied {
            Applied::Granted | Applied::Settled => {
                self.found_count += 1;
                if self.found.len() < RECONCILE_NAMED_MAX {
                    self.found.push(Found { payment, is_grant: applied == Applied::Granted });
                }
            }
            Applied::Refused(contradiction) => self.note_unexplained(payment, contradiction.to_string()),
            Applied::Kept | Applied::Known => {}
        }
    }

    fn note_unexplained(&mut self, id: String, reason: String) {
        self.unexplained_count += 1;
        if self.unexplained.len() < RECONCILE_NAMED_MAX {
            self.unexplained.push(Unexplained { id, reason });
        }
    }
}

/// The thread that passes at the start and every hour. It ends soon after this is dropped: a call to the provider that is
/// under way is not waited for, and what it brings after the end is refused by the books.
pub struct Reconciler {
    _ends: Sender<()>,
}

impl Reconciler {
    /// Starts the thread.
    pub fn start(
        payments: Arc<Payments>,
        ledger: Arc<Ledger>,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Reconciler> {
        let (ends, ended) = bounded::<()>(0);
        let work = move || {
            let mut pause = Duration::ZERO;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let outcome = payments.reconcile(&ledger, clock.now());
                pause = if outcome.is_ok() { RECONCILE_EVERY } else { RECONCILE_RETRY };
                tell(&outcome);
            }
        };
        thread::Builder::new().name("payments".to_owned()).spawn(work)?;
        Ok(Reconciler { _ends: ends })
    }
}

fn tell(outcome: &Result<Reconciliation, ReconcileError>) {
    match outcome {
        Ok(report) if report.found_count == 0 && report.unexplained_count == 0 && !report.is_cut => {
            tracing::debug!(listed = report.listed, "the payment provider and the books agree");
        }
        Ok(report) => tracing::warn!(
            listed = report.listed,
            found = report.found_count,
            unexplained = report.unexplained_count,
            cut = report.is_cut,
            "the payment provider knew what the books did not; see `mercato-tools payments reconcile`"
        ),
        Err(error) => tracing::error!(%error, "the books cannot be compared with the payment provider"),
    }
}
