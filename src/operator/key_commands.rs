//! Commands on the limits of keys.
//!
//! Does not depend on the catalog: a key may name a dataset that is not published yet.

use super::execute::{CommandError, Context};
use super::key_output::{CreatedKey, Key};
use super::output::CommandOutput;
use mercato_base::clock::{Moment, UtcDay};
use mercato_ledger::{AccountId, BooksError, Change, KeyId, KeyLimits, LimitsChange};

/// The limits of a new key, as typed.
pub(super) struct Wanted<'o> {
    pub(super) credits_per_day: Option<u64>,
    pub(super) credits_per_month: Option<u64>,
    pub(super) datasets: &'o [String],
    pub(super) expires_at: Option<&'o str>,
}

/// A change of limits, as typed.
pub(super) struct WantedChange<'o> {
    pub(super) credits_per_day: &'o Change<u64>,
    pub(super) credits_per_month: &'o Change<u64>,
    pub(super) datasets: &'o Change<Vec<String>>,
    pub(super) expires_at: &'o Change<String>,
}

pub(super) fn create_key(
    context: &Context<'_>,
    account: AccountId,
    label: &str,
    wanted: &Wanted<'_>,
) -> Result<CommandOutput, CommandError> {
    let limits = KeyLimits {
        credits_per_day: wanted.credits_per_day,
        credits_per_month: wanted.credits_per_month,
        expires_at: wanted.expires_at.map(end_of).transpose()?,
        datasets: wanted.datasets.into(),
    };
    let Context { ledger, now, random, .. } = context;
    let created = ledger.create_limited_key(account, label, *random, limits, *now)?;
    Ok(CommandOutput::CreatedKey(CreatedKey::of(ledger, &created, *now)))
}

pub(super) fn list_keys(context: &Context<'_>, account: AccountId) -> CommandOutput {
    let Context { ledger, now, .. } = context;
    let keys = ledger.keys(account);
    CommandOutput::Keys { keys: keys.iter().map(|key| Key::of(ledger, key, *now)).collect() }
}

pub(super) fn limit_key(
    context: &Context<'_>,
    key: KeyId,
    wanted: &WantedChange<'_>,
) -> Result<CommandOutput, CommandError> {
    let change = LimitsChange {
        credits_per_day: wanted.credits_per_day.clone(),
        credits_per_month: wanted.credits_per_month.clone(),
        datasets: match wanted.datasets {
            Change::Keep => Change::Keep,
            Change::Lift => Change::Lift,
            Change::Set(datasets) => Change::Set(datasets.as_slice().into()),
        },
        expires_at: match wanted.expires_at {
            Change::Keep => Change::Keep,
            Change::Lift => Change::Lift,
            Change::Set(text) => Change::Set(end_of(text)?),
        },
    };
    let Context { ledger, now, .. } = context;
    let view = ledger.limit_key(key, &change, *now)?;
    Ok(CommandOutput::Key(Key::of(ledger, &view, *now)))
}

/// Parses the expiry of a key: RFC 3339, or the end of a UTC day.
fn end_of(text: &str) -> Result<Moment, CommandError> {
    let text = text.trim();
    let at = text.parse::<jiff::Timestamp>().ok().map(|at| Moment::from_unix_millis(at.as_millisecond()));
    at.or_else(|| end_of_day(text)).ok_or_else(|| {
        let found: String = text.chars().take(40).collect();
        let rule =
            format!("expected a day like 2026-12-31 or a time like 2026-12-31T18:00:00Z, found `{found}`");
        BooksError::Invalid { field: "expiresAt", rule }.into()
    })
}

/// The end of a UTC day like 2026-12-31.
pub fn end_of_day(text: &str) -> Option<Moment> {
    // The parser would also accept a date inside a longer text.
    let day: jiff::civil::Date = text.parse().ok().filter(|_| text.len() == "2026-12-31".len())?;
    let (month, date) = (day.month().unsigned_abs().into(), day.day().unsigned_abs().into());
    Some(UtcDay::from_civil(day.year().into(), month, date).plus_days(1).start())
}

/// A change in JSON: an absent field keeps the limit, `null` lifts it.
pub(super) mod change {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use mercato_ledger::Change;

    pub fn serialize<T: Serialize, S: Serializer>(change: &Change<T>, out: S) -> Result<S::Ok, S::Error> {
        match change {
            Change::Set(value) => value.serialize(out),
            Change::Keep | Change::Lift => out.serialize_none(),
        }
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Change<T>, D::Error> {
        Ok(Option::<T>::deserialize(from)?.map_or(Change::Lift, Change::Set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_expiry_as_time_or_day() {
        for (text, expected) in [
            ("2026-12-31", "2027-01-01T00:00:00.000Z"),
            ("2028-02-28", "2028-02-29T00:00:00.000Z"),
            ("2026-12-31T18:00:00Z", "2026-12-31T18:00:00.000Z"),
            ("2026-12-31T18:00:00.5+02:00", "2026-12-31T16:00:00.500Z"),
        ] {
            assert_eq!(end_of(text).unwrap().rfc3339(), expected, "{text}");
        }
        for wrong in ["", "tomorrow", "2026-13-01", "2026-02-30", "2026-12-31T18:00:00", "31.12.2026"] {
            let refused = end_of(wrong).unwrap_err().to_string();
            assert!(refused.starts_with("expiresAt: expected a day like"), "{wrong}: {refused}");
        }
    }
}
