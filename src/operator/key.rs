//! Commands on keys and their limits.
//!
//! A key may name a dataset that is not published yet.

use std::fmt::{self, Display, Formatter};

use clap::{ArgGroup, Args};
use mercato_base::clock::{Moment, UtcDay};
use mercato_base::words::counted;
use mercato_catalog::Slug;
use mercato_ledger::{CapPeriod, Change, KeyId, KeyLimits, KeyView, Ledger, LimitsChange};
use serde::{Deserialize, Serialize};

use super::command::{Command, CommandError, Context};

/// Create a key. It is printed only once.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// The account of the key.
    #[arg(long, value_name = "ID")]
    pub account: String,
    /// A label for its owner.
    #[arg(long, default_value = "")]
    #[serde(default)]
    pub label: String,
    #[command(flatten)]
    #[serde(flatten)]
    pub limits: NewLimits,
}

#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewLimits {
    /// Credits a UTC day.
    #[arg(long, value_name = "N")]
    pub credits_per_day: Option<u64>,
    /// Credits a UTC calendar month.
    #[arg(long, value_name = "N")]
    pub credits_per_month: Option<u64>,
    /// Restrict the key to this dataset. May be repeated.
    #[arg(long = "dataset", value_name = "SLUG", value_parser = parse_slug)]
    #[serde(default)]
    pub datasets: Vec<String>,
    /// Expiry: RFC 3339 like `2026-12-31T18:00:00Z`, or a day like `2026-12-31`, which means the UTC midnight at the
    /// end of that day.
    #[arg(long = "expires", value_name = "DATE")]
    pub expires_at: Option<String>,
}

fn parse_slug(text: &str) -> Result<String, String> {
    Slug::parse(text).map(|slug| slug.to_string()).map_err(|error| error.to_string())
}

/// Change the limits and the expiry of a key. Other limits stay, and spent credits count. In JSON an absent field keeps
/// its limit, and `null` lifts it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitKey {
    pub key: String,
    #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
    pub credits_per_day: Change<u64>,
    #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
    pub credits_per_month: Change<u64>,
    #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
    pub datasets: Change<Vec<String>>,
    #[serde(default, skip_serializing_if = "Change::is_keep", with = "change")]
    pub expires_at: Change<String>,
}

/// Change the limits and the expiry of a key. Other limits stay, and spent credits count.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true).args([
    "credits_per_day", "credits_per_month", "datasets", "expires_at",
    "no_credits_per_day", "no_credits_per_month", "no_dataset", "no_expires",
]))]
pub struct LimitKeyArguments {
    /// The key's id, like `key_5`.
    #[arg(value_name = "KEY_ID")]
    pub key: String,
    #[command(flatten)]
    pub limits: NewLimits,
    /// Lift the cap on credits a day.
    #[arg(long, conflicts_with = "credits_per_day")]
    pub no_credits_per_day: bool,
    /// Lift the cap on credits a month.
    #[arg(long, conflicts_with = "credits_per_month")]
    pub no_credits_per_month: bool,
    /// Allow all datasets.
    #[arg(long, conflicts_with = "datasets")]
    pub no_dataset: bool,
    /// Remove the expiry.
    #[arg(long, conflicts_with = "expires_at")]
    pub no_expires: bool,
}

impl From<&LimitKeyArguments> for LimitKey {
    fn from(arguments: &LimitKeyArguments) -> Self {
        fn change<T>(typed: Option<T>, is_lifted: bool) -> Change<T> {
            let absent = if is_lifted { Change::Lift } else { Change::Keep };
            typed.map_or(absent, Change::Set)
        }
        let limits = arguments.limits.clone();
        let datasets = Some(limits.datasets).filter(|datasets| !datasets.is_empty());
        Self {
            key: arguments.key.clone(),
            credits_per_day: change(limits.credits_per_day, arguments.no_credits_per_day),
            credits_per_month: change(limits.credits_per_month, arguments.no_credits_per_month),
            datasets: change(datasets, arguments.no_dataset),
            expires_at: change(limits.expires_at, arguments.no_expires),
        }
    }
}

impl LimitKey {
    /// The key has these limits and no others.
    pub fn replace(key: KeyId, limits: NewLimits) -> Self {
        fn whole<T>(limit: Option<T>) -> Change<T> {
            limit.map_or(Change::Lift, Change::Set)
        }
        Self {
            key: key.to_string(),
            credits_per_day: whole(limits.credits_per_day),
            credits_per_month: whole(limits.credits_per_month),
            datasets: whole(Some(limits.datasets).filter(|datasets| !datasets.is_empty())),
            expires_at: whole(limits.expires_at),
        }
    }
}

/// A change in JSON.
mod change {
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

/// A new key.
#[derive(Serialize, Deserialize)]
pub struct CreatedKey {
    /// In the clear: shown here and never again.
    pub key: String,
    #[serde(flatten)]
    pub about: Key,
}

/// The record of a key, without the key itself.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    pub id: String,
    pub account: String,
    /// Its first characters.
    pub prefix: String,
    pub label: String,
    pub created_at: String,
    pub last_used_at: Option<String>,
    pub expires_at: Option<String>,
    pub revoked_at: Option<String>,
    pub limits: Limits,
    /// Null on a key without caps, and while the books are down.
    pub spent: Option<Spent>,
}

#[derive(Serialize, Deserialize)]
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
#[derive(Serialize, Deserialize)]
pub struct Spent {
    /// In the current UTC day; null without a cap.
    pub day: Option<u64>,
    /// In the current UTC calendar month; null without a cap.
    pub month: Option<u64>,
}

impl Command for CreateKey {
    type Outcome = CreatedKey;

    fn execute(&self, context: &Context<'_>) -> Result<CreatedKey, CommandError> {
        let account = context.account(&self.account)?.id();
        let Context { ledger, now, random, .. } = context;
        let typed = &self.limits;
        let limits = KeyLimits {
            credits_per_day: typed.credits_per_day,
            credits_per_month: typed.credits_per_month,
            expires_at: typed.expires_at.as_deref().map(parse_expiry).transpose()?,
            datasets: typed.datasets.as_slice().into(),
        };
        let created = ledger.create_limited_key(account, &self.label, *random, limits, *now)?;
        Ok(CreatedKey::new(ledger, &created, *now))
    }
}

impl CreatedKey {
    fn new(ledger: &Ledger, created: &mercato_ledger::CreatedKey, now: Moment) -> Self {
        Self { key: created.plain.reveal().to_owned(), about: Key::new(ledger, &created.view, now) }
    }
}

impl Display for CreatedKey {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { key, about } = self;
        writeln!(out, "{} of {}{}", about.id, about.account, about.limits_text())?;
        writeln!(out, "{key}\nThis key is shown only now. Keep it in a secret store.")
    }
}

impl Key {
    /// The record of a key at a moment.
    pub fn new(ledger: &Ledger, view: &KeyView, now: Moment) -> Self {
        let caps = ledger.cap_standings(view.account, view.id, &view.limits, now).unwrap_or_default();
        let spent = |period| caps.iter().find(|cap| cap.period == period).map(|cap| cap.spent);
        Self {
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
            spent: (!caps.is_empty())
                .then(|| Spent { day: spent(CapPeriod::Day), month: spent(CapPeriod::Month) }),
        }
    }

    /// The key in a list.
    pub(super) fn write_line(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let state = match self {
            Self { revoked_at: Some(at), .. } => format!("revoked {at}"),
            Self { expires_at: Some(at), .. } => format!("ends {at}"),
            Self { last_used_at: Some(at), .. } => format!("last used {at}"),
            _ => "never used".to_owned(),
        };
        writeln!(out, "{:8} {}…  {state}  {}{}", self.id, self.prefix, self.label, self.limits_text())
    }

    /// The limits, as the end of a line.
    fn limits_text(&self) -> String {
        let Limits { credits_per_day, credits_per_month, datasets } = &self.limits;
        let cap = |cap: &Option<u64>, period: &str, spent: fn(&Spent) -> Option<u64>| {
            let spent = self.spent.as_ref().and_then(spent);
            let spent = spent.map(|spent| format!(", {spent} spent")).unwrap_or_default();
            cap.map(|cap| format!("  {} a {period}{spent}", counted(cap, "credit"))).unwrap_or_default()
        };
        let day = cap(credits_per_day, "day", |spent| spent.day);
        let month = cap(credits_per_month, "month", |spent| spent.month);
        let only =
            if datasets.is_empty() { String::new() } else { format!("  only {}", datasets.join(", ")) };
        [day, month, only].concat()
    }
}

impl Command for LimitKey {
    type Outcome = Key;

    fn execute(&self, context: &Context<'_>) -> Result<Key, CommandError> {
        let Context { ledger, now, .. } = context;
        let change = LimitsChange {
            credits_per_day: self.credits_per_day.clone(),
            credits_per_month: self.credits_per_month.clone(),
            datasets: match &self.datasets {
                Change::Keep => Change::Keep,
                Change::Lift => Change::Lift,
                Change::Set(datasets) => Change::Set(datasets.as_slice().into()),
            },
            expires_at: match &self.expires_at {
                Change::Keep => Change::Keep,
                Change::Lift => Change::Lift,
                Change::Set(text) => Change::Set(parse_expiry(text)?),
            },
        };
        let view = ledger.limit_key(self.key.parse()?, &change, *now)?;
        Ok(Key::new(ledger, &view, *now))
    }
}

impl Display for Key {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let end = self.expires_at.as_ref();
        let end = end.map_or_else(|| "works without end".to_owned(), |end| format!("works until {end}"));
        writeln!(out, "{} of {}  {end}{}", self.id, self.account, self.limits_text())
    }
}

/// List the keys of an account, with their limits and spent credits.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListKeys {
    /// The account.
    #[arg(long, value_name = "ID")]
    pub account: String,
}

/// The keys, oldest first.
#[derive(Serialize, Deserialize)]
pub struct Keys {
    pub keys: Vec<Key>,
}

impl Command for ListKeys {
    type Outcome = Keys;

    fn execute(&self, context: &Context<'_>) -> Result<Keys, CommandError> {
        let Context { ledger, now, .. } = context;
        let keys = ledger.keys(context.account(&self.account)?.id());
        Ok(Keys { keys: keys.iter().map(|key| Key::new(ledger, key, *now)).collect() })
    }
}

impl Display for Keys {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.keys.iter().try_for_each(|key| key.write_line(out))
    }
}

/// Revoke a key at once.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevokeKey {
    /// The key's id, like `key_5`.
    #[arg(long, value_name = "KEY_ID")]
    pub key: String,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub struct RevokedKey(Key);

impl Command for RevokeKey {
    type Outcome = RevokedKey;

    fn execute(&self, context: &Context<'_>) -> Result<RevokedKey, CommandError> {
        let Context { ledger, now, .. } = context;
        let view = ledger.revoke_key(self.key.parse()?, *now)?;
        Ok(RevokedKey(Key::new(ledger, &view, *now)))
    }
}

impl Display for RevokedKey {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{} of {} is revoked", self.0.id, self.0.account)
    }
}

/// Replace a key by a new one with the same limits. The new key is printed only once, and has no spent credits.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RotateKey {
    /// The old key's id, like `key_5`.
    #[arg(long, value_name = "KEY_ID")]
    pub key: String,
    /// Time for which the old key stays valid.
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    pub grace_seconds: u64,
    /// A label for its owner. Default: the old label.
    #[arg(long, default_value = "")]
    #[serde(default)]
    pub label: String,
}

impl Command for RotateKey {
    type Outcome = CreatedKey;

    fn execute(&self, context: &Context<'_>) -> Result<CreatedKey, CommandError> {
        let Context { ledger, now, random, .. } = context;
        let created = ledger.rotate_key(self.key.parse()?, &self.label, self.grace_seconds, *random, *now)?;
        Ok(CreatedKey::new(ledger, &created, *now))
    }
}

/// Parses the expiry of a key: RFC 3339, or the end of a UTC day.
fn parse_expiry(text: &str) -> Result<Moment, CommandError> {
    let text = text.trim();
    let at = text.parse::<jiff::Timestamp>().ok().map(|at| Moment::from_unix_millis(at.as_millisecond()));
    at.or_else(|| end_of_day(text)).ok_or_else(|| {
        let found: String = text.chars().take(40).collect();
        let rule =
            format!("expected a day like 2026-12-31 or a time like 2026-12-31T18:00:00Z, found `{found}`");
        CommandError::invalid("expiresAt", rule)
    })
}

/// The end of a UTC day like 2026-12-31.
pub fn end_of_day(text: &str) -> Option<Moment> {
    // The parser would also accept a date inside a longer text.
    let day: jiff::civil::Date = text.parse().ok().filter(|_| text.len() == "2026-12-31".len())?;
    let (month, date) = (day.month().unsigned_abs().into(), day.day().unsigned_abs().into());
    Some(UtcDay::from_civil(day.year().into(), month, date).plus_days(1).start())
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
            assert_eq!(parse_expiry(text).unwrap().rfc3339(), expected, "{text}");
        }
        for wrong in ["", "tomorrow", "2026-13-01", "2026-02-30", "2026-12-31T18:00:00", "31.12.2026"] {
            let refused = parse_expiry(wrong).unwrap_err().to_string();
            assert!(refused.starts_with("expiresAt: expected a day like"), "{wrong}: {refused}");
        }
    }
}
