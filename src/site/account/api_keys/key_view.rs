//! The state and the limits of a key in words, as its owner and the operator read them.
//!
//! Depends on the words and the numbers of a language, not on a page.

use crate::api::App;
use crate::site::account::words::AccountWords;
use crate::site::entry::whole;
use crate::site::numbers::Numbers;
use crate::site::words::fill;
use mercato_base::clock::Moment;
use mercato_ledger::{CapPeriod, KeyView};

/// The shown name of a key: its label, or else its first characters.
pub fn name(key: &KeyView) -> String {
    if key.label.is_empty() { format!("{}…", key.prefix) } else { key.label.clone() }
}

/// Whether a key is accepted at a moment.
pub fn is_valid(key: &KeyView, now: Moment) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|end| now < end)
}

/// Whether a key is accepted, in words.
pub fn state(words: &AccountWords, numbers: Numbers, key: &KeyView, now: Moment) -> String {
    match (key.revoked_at, key.expires_at) {
        (Some(_), _) => words.revoked.to_owned(),
        (None, Some(end)) if end <= now => words.expired.to_owned(),
        (None, Some(end)) => fill(words.ends, numbers.minute(end)),
        (None, None) => words.valid.to_owned(),
    }
}

/// The limits of a key and its spending against them, in words. Without a cap, does not read the books.
pub fn limits(words: &AccountWords, numbers: Numbers, app: &App, key: &KeyView, now: Moment) -> Vec<String> {
    let standings = app.ledger.cap_standings(key.account, key.id, &key.limits, now).unwrap_or_default();
    let mut limits: Vec<String> = standings
        .iter()
        .map(|cap| {
            let text = if cap.period == CapPeriod::Day { words.spent_day } else { words.spent_month };
            fill(&fill(text, numbers.integer(cap.spent)), numbers.integer(cap.cap))
        })
        .collect();
    match key.limits.datasets.len() {
        0 => {}
        1 => limits.push(words.one_dataset_only.to_owned()),
        count => limits.push(fill(words.many_datasets_only, numbers.integer(whole(count)))),
    }
    if limits.is_empty() { vec![words.unlimited.to_owned()] } else { limits }
}
