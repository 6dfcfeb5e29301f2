//! The output of commands on keys in JSON.

use serde::Serialize;

use mercato_base::clock::Moment;

/// A new key.
#[derive(Serialize)]
pub struct CreatedKey {
    /// The key in the clear: shown here and never again.
    pub key: String,
    /// The key's record.
    #[serde(flatten)]
    pub about: Key,
}

impl CreatedKey {
    pub(super) fn of(
        books: &mercato_ledger::Ledger,
        created: &mercato_ledger::CreatedKey,
        now: Moment,
    ) -> CreatedKey {
        CreatedKey { key: created.plain.reveal().to_owned(), about: Key::of(books, &created.view, now) }
    }
}

/// The record of a key, without the key itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Its id.
    pub id: String,
    /// The owner's account.
    pub account: String,
    /// Its first characters.
    pub prefix: String,
    /// The owner's label.
    pub label: String,
    /// When it was created.
    pub created_at: String,
    /// When it was last used.
    pub last_used_at: Option<String>,
    /// When it expires, if ever.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// Its limits.
    pub limits: Limits,
    /// The credits spent; null on a key without caps, and while the books are down.
    pub spent: Option<Spent>,
}

/// The limits of a key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Credits for each UTC day; null without a cap.
    pub credits_per_day: Option<u64>,
    /// Credits for each UTC calendar month; null without a cap.
    pub credits_per_month: Option<u64>,
    /// The datasets that the key may read; all when empty.
    pub datasets: Vec<String>,
}

/// Credits spent of the caps of a key, including those reserved by its running streams.
#[derive(Serialize)]
pub struct Spent {
    /// In the current UTC day; null without a cap.
    pub day: Option<u64>,
    /// In the current UTC calendar month; null without a cap.
    pub month: Option<u64>,
}

impl Spent {
    fn of(standings: &[mercato_ledger::CapStanding]) -> Option<Spent> {
        let of = |period| standings.iter().find(|cap| cap.period == period).map(|cap| cap.spent);
        let spent =
            Spent { day: of(mercato_ledger::CapPeriod::Day), month: of(mercato_ledger::CapPeriod::Month) };
        (!standings.is_empty()).then_some(spent)
    }
}

impl Key {
    /// The record of a key at a moment.
    pub fn of(books: &mercato_ledger::Ledger, view: &mercato_ledger::KeyView, now: Moment) -> Key {
        let standings = books.cap_standings(view.account, view.id, &view.limits, now);
        Key {
            id: view.id.to_string(),
            account: view.account.to_string(),
            prefix: view.prefix.clone(),
            label: view.label.clone(),
            created_at: view.created_at.rfc3339(),
            last_used_at: view.last_used_at.map(Moment::rfc3339),
            expires_at: view.expires_at.map(Moment::rfc3339),
            revoked_at: view.revoked_at.map(Moment::rfc3339),
            limits: Limits {
                credits_per_day: view.limits.credits_per_day,
                credits_per_month: view.limits.credits_per_month,
                datasets: view.limits.datasets.to_vec(),
            },
            spent: standings.ok().as_deref().and_then(Spent::of),
        }
    }
}
