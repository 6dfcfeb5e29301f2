//! The forms for a new key and for the limits of one that is there: typed fields, the limits that they mean, and their faults.

use std::sync::Arc;

use crate::api::App;
use crate::operator::end_of_day;
use crate::site::account::area::Area;
use crate::site::account::dataset_field::{DATASETS, DatasetField, names};
use crate::site::account::form::Form;
use crate::site::account::form_view::{FormView, Input};
use crate::site::url::Url;
use crate::site::words::fill;
use mercato_base::clock::Moment;
use mercato_ledger::limits::{BALANCE_CREDITS_MAX, DATASETS_PER_KEY_MAX, TEXT_BYTES_MAX};
use mercato_ledger::{Change, KeyLimits, LimitsChange};

pub const FIELDS: [&str; 5] = ["label", "day", "month", DATASETS, "end"];

#[derive(Default)]
pub struct TypedKey {
    label: String,
    day: String,
    month: String,
    datasets: String,
    end: String,
}

#[derive(Default)]
pub struct KeyFaults {
    label: Option<String>,
    day: Option<String>,
    month: Option<String>,
    datasets: Option<String>,
    end: Option<String>,
    /// With the form as a whole.
    problem: Option<String>,
}

/// A key that can be made.
pub struct NewKey {
    pub label: String,
    /// Its caps, datasets and end.
    pub limits: KeyLimits,
}

impl KeyFaults {
    /// Something is wrong with the form as a whole.
    pub fn whole(problem: String) -> Self {
        Self { problem: Some(problem), ..Self::default() }
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        let fields = [&self.label, &self.day, &self.month, &self.datasets, &self.end, &self.problem];
        fields.into_iter().all(Option::is_none)
    }
}

/// The fault of a key's name.
pub fn label_fault(area: &Area, label: &str) -> Option<String> {
    let is_wrong = label.len() > TEXT_BYTES_MAX || label.chars().any(char::is_control);
    is_wrong.then(|| fill(area.words.label_wrong, TEXT_BYTES_MAX))
}

impl TypedKey {
    /// The fields of a form.
    pub fn of(form: &Form) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            label: text("label"),
            day: text("day"),
            month: text("month"),
            datasets: text(DATASETS),
            end: text("end"),
        }
    }

    /// The fields of a key with these limits.
    pub fn of_limits(limits: &KeyLimits) -> Self {
        let cap = |credits: Option<u64>| credits.map(|credits| credits.to_string()).unwrap_or_default();
        Self {
            label: String::new(),
            day: cap(limits.credits_per_day),
            month: cap(limits.credits_per_month),
            datasets: limits.datasets.join("\n"),
            end: limits.expires_at.map(last_day).unwrap_or_default(),
        }
    }

    /// The key that is meant, or everything that is wrong.
    pub fn check(&self, app: &App, area: &Area, now: Moment) -> Result<NewKey, KeyFaults> {
        let label = label_fault(area, &self.label);
        let limits = match self.limits(app, area, &KeyLimits::default(), now) {
            Ok(limits) if label.is_none() => limits,
            Ok(_) => return Err(KeyFaults { label, ..KeyFaults::default() }),
            Err(faults) => return Err(KeyFaults { label, ..faults }),
        };
        Ok(NewKey { label: self.label.clone(), limits })
    }

    /// The change of the limits that a key has, or everything that is wrong.
    pub fn change(
        &self,
        app: &App,
        area: &Area,
        before: &KeyLimits,
        now: Moment,
    ) -> Result<LimitsChange, KeyFaults> {
        let after = self.limits(app, area, before, now)?;
        Ok(LimitsChange {
            credits_per_day: change(before.credits_per_day.as_ref(), after.credits_per_day),
            credits_per_month: change(before.credits_per_month.as_ref(), after.credits_per_month),
            expires_at: change(before.expires_at.as_ref(), after.expires_at),
            datasets: change(listed(before).as_ref(), listed(&after)),
        })
    }

    /// The limits of the form. Present limits of the key may stay: also a dataset that is gone, and an end within a day.
    fn limits(
        &self,
        app: &App,
        area: &Area,
        before: &KeyLimits,
        now: Moment,
    ) -> Result<KeyLimits, KeyFaults> {
        let mut faults = KeyFaults::default();
        let credits_per_day = kept(cap(area, &self.day), &mut faults.day);
        let credits_per_month = kept(cap(area, &self.month), &mut faults.month);
        let datasets = kept(datasets(app, area, &self.datasets, &before.datasets), &mut faults.datasets);
        let stays = before.expires_at.filter(|end| last_day(*end) == self.end);
        let expires_at = match stays {
            Some(end) => Some(end),
            None => kept(end(area, &self.end, now), &mut faults.end),
        };
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(KeyLimits { credits_per_day, credits_per_month, expires_at, datasets: datasets.into() })
    }

    /// The form for a new key, as it was filled in.
    pub fn form(&self, app: &App, area: &Area, faults: KeyFaults) -> FormView {
        let words = area.words;
        let form = FormView::new(&area.visit.link("/account/keys"), words.create_key)
            .problem(faults.problem.clone())
            .input(
                Input::new("key", "label", "text", words.label)
                    .value(&self.label)
                    .hint(words.label_hint)
                    .fault(faults.label.clone()),
            );
        self.with_limits(form, "key", app, area, faults)
    }

    /// The form for the limits of a key, which leads to its page.
    pub fn limits_form(&self, app: &App, area: &Area, here: &Url, faults: KeyFaults) -> FormView {
        let form = FormView::new(here, area.words.limit).hidden("action", "limit");
        self.with_limits(form, "limit", app, area, faults)
    }

    fn with_limits(&self, form: FormView, name: &str, app: &App, area: &Area, faults: KeyFaults) -> FormView {
        let words = area.words;
        let offered = DatasetField::new(&area.visit, &app.catalog.snapshot(), &names(&self.datasets));
        let input = |field, kind, label| Input::new(name, field, kind, label);
        form.input(
            input("day", "number", words.cap_day).value(&self.day).hint(words.cap_hint).fault(faults.day),
        )
        .input(
            input("month", "number", words.cap_month)
                .value(&self.month)
                .hint(words.cap_hint)
                .fault(faults.month),
        )
        .input(
            input(DATASETS, "text", words.only_datasets)
                .datasets(offered)
                .hint(words.only_datasets_hint)
                .fault(faults.datasets),
        )
        .input(
            input("end", "date", words.last_day).value(&self.end).hint(words.last_day_hint).fault(faults.end),
        )
    }
}

/// The datasets that a key is for; nothing where it is for all.
fn listed(limits: &KeyLimits) -> Option<Arc<[String]>> {
    (!limits.datasets.is_empty()).then(|| Arc::clone(&limits.datasets))
}

/// The change of a limit.
fn change<T: PartialEq>(before: Option<&T>, after: Option<T>) -> Change<T> {
    match after {
        after if after.as_ref() == before => Change::Keep,
        Some(after) => Change::Set(after),
        None => Change::Lift,
    }
}

/// The value, or nothing and the fault in its place.
fn kept<T: Default>(checked: Result<T, String>, fault: &mut Option<String>) -> T {
    checked.unwrap_or_else(|found| {
        *fault = Some(found);
        T::default()
    })
}

fn cap(area: &Area, text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let cap = text.parse().ok().filter(|cap| is_plain && *cap <= BALANCE_CREDITS_MAX);
    let wrong = || fill(area.words.cap_wrong, area.visit.numbers.integer(BALANCE_CREDITS_MAX));
    cap.map(Some).ok_or_else(wrong)
}

/// Slugs of published datasets, each once, or of those that the key has.
fn datasets(app: &App, area: &Area, text: &str, before: &[String]) -> Result<Vec<String>, String> {
    let mut slugs = names(text);
    if slugs.len() > DATASETS_PER_KEY_MAX {
        return Err(fill(area.words.datasets_many, DATASETS_PER_KEY_MAX));
    }
    let snapshot = app.catalog.snapshot();
    let is_known = |slug: &String| {
        before.contains(slug) || snapshot.datasets().iter().any(|dataset| dataset.slug() == *slug)
    };
    if let Some(unknown) = slugs.iter().find(|slug| !is_known(slug)) {
        let shown: String = unknown.chars().take(64).collect();
        return Err(fill(area.words.dataset_unknown, shown));
    }
    slugs.sort_unstable();
    slugs.dedup();
    Ok(slugs)
}

/// The end of a day from today on.
fn end(area: &Area, text: &str, now: Moment) -> Result<Option<Moment>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let end = end_of_day(text).filter(|end| *end > now);
    end.map(Some).ok_or_else(|| area.words.last_day_wrong.to_owned())
}

/// The last whole or partial day before an end.
fn last_day(end: Moment) -> String {
    end.plus_millis(-1).day().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_day_at_next_midnight_and_rejects_other_forms() {
        assert_eq!(end_of_day("2028-02-28").unwrap().rfc3339(), "2028-02-29T00:00:00.000Z");
        for wrong in ["", "2027-13-01", "2027-02-30", "1.1.2027", "2027-01-01T00:00", "20270101", "tomorrow"]
        {
            assert!(end_of_day(wrong).is_none(), "{wrong}");
        }
    }
}
