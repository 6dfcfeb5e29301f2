//! The refusal of an option that names a column which no file has: with the nearest name. Does not depend on options.

use crate::convert::schema::flatten::cut;
use crate::failure::Failure;

/// Names in a message.
const NAMES_SHOWN_MAX: usize = 20;
/// Bytes of a name in a message.
const NAME_SHOWN_BYTES: usize = 64;

#[must_use]
pub fn refuse<'n>(
    option: &str,
    typed: &str,
    file: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Failure {
    let shown = |name: &str| cut(name.to_owned(), NAME_SHOWN_BYTES);
    let hint = match nearest(typed, names.clone()) {
        Some(name) => format!("the nearest name is `{}`", shown(name)),
        None => {
            let names: Vec<String> = names.take(NAMES_SHOWN_MAX).map(shown).collect();
            format!("it has {}", names.join(", "))
        }
    };
    Failure::Usage(format!("{option} {}: {file} has no such column; {hint}", shown(typed)))
}

/// The name that needs the fewest changes, if these are a third of its letters, or two.
fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let small = typed.to_lowercase();
    let edits = |name: &str| strsim::osa_distance(&small, &name.to_lowercase());
    let letters = typed.chars().count();
    let most = (letters / 3).max(2).min(letters.saturating_sub(1));
    let found = names.map(|name| (edits(name), name)).min_by_key(|(edits, _)| *edits);
    found.filter(|(edits, _)| *edits <= most).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_nearest_column_or_all_of_them() {
        let names = ["zip", "Città", "amount"];
        let refusal = |typed| refuse("--type", typed, "a.csv", names.into_iter()).one_line();
        assert_eq!(refusal("zpi"), "--type zpi: a.csv has no such column; the nearest name is `zip`");
        assert!(refusal("città").ends_with("`Città`"));
        assert!(refusal("x").ends_with("it has zip, Città, amount"));
        assert!(refusal("something").ends_with("it has zip, Città, amount"));
    }
}
