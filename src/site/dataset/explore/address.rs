//! The address of a view: read, and written in one form that no language changes.
//!
//! What a form sends beside the view itself (the language of its values, a column that is added, a value that is picked) is
//! worked in here, and a redirect leads to the address of the view.

use crate::site::page::language;
use crate::site::url::Url;
use mercato_catalog::{Language, Table};

use super::conditions::{Condition, Test, column_named};
use super::notation::canonical;

/// Names that the query of the page may have.
pub const KNOWN: [&str; 9] =
    ["filter", "test", "value", "add", "pick", "typed", "sort", "direction", "columns"];
/// Names that a form sends, and no link.
const OF_FORMS: [&str; 3] = ["add", "pick", "typed"];
/// Names of a condition.
const OF_CONDITIONS: [&str; 3] = ["filter", "test", "value"];

/// The conditions of an address: columns, tests and values in the same order. None is left out, whatever its faults. The
/// column named by `add` begins a condition; `pick` has the number of a condition and a canonical value that it shall have.
pub(super) fn conditions(here: &Url, table: &Table) -> Vec<Condition> {
    let typed_in = here.values("typed").next().and_then(language::named);
    let [names, tests, values] = OF_CONDITIONS.map(|name| here.values(name).collect::<Vec<_>>());
    let places = names.len().max(tests.len()).max(values.len());
    let at = |list: &[&str], place: usize| list.get(place).copied().unwrap_or_default().to_owned();
    let triples = (0..places).map(|place| (at(&names, place), at(&tests, place), at(&values, place)));
    let mut found: Vec<Condition> = triples
        .filter(|(name, _, value)| !name.is_empty() || !value.is_empty())
        .map(|(name, code, value)| {
            let known = column_named(table, &name);
            let value = known.map_or(value.clone(), |(_, meta)| canonical(&value, meta.kind, typed_in));
            let condition = Condition { name, column: known.map(|(column, _)| column), code, value };
            let takes_value = condition.test(table).is_none_or(Test::takes_value);
            Condition {
                value: if takes_value { condition.value.clone() } else { String::new() },
                ..condition
            }
        })
        .collect();
    if let Some((place, value)) = here.values("pick").next().and_then(|pick| pick.split_once(' ')) {
        let place = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
        if let Some(condition) = place.and_then(|place| found.get_mut(place)) {
            condition.code = Test::Equal.code().to_owned();
            condition.value = value.to_owned();
        }
    }
    found.extend(here.values("add").next().and_then(|name| Condition::begun(name, table)));
    found
}

/// The address with these conditions in the place of its own.
pub(super) fn with_conditions(here: &Url, conditions: &[Condition]) -> Url {
    let names = OF_CONDITIONS.iter().chain(&OF_FORMS);
    let bare = names.fold(here.clone(), |url, name| url.without(name));
    conditions.iter().fold(bare, |url, condition| {
        url.and("filter", &condition.name).and("test", &condition.code).and("value", &condition.value)
    })
}

/// The canonical address of the same view; nothing where this one is canonical already.
pub fn to_canonical(here: &Url, table: &Table) -> Option<Url> {
    let found = conditions(here, table);
    let is_of_form = OF_FORMS.iter().any(|name| here.values(name).next().is_some());
    let differs = here.values("value").ne(found.iter().map(|condition| condition.value.as_str()));
    (is_of_form || differs).then(|| with_conditions(here, &found))
}

/// The code of the language in which a form sends its values.
pub(super) const fn typed(language: Language) -> (&'static str, &'static str) {
    ("typed", language::code(language))
}
