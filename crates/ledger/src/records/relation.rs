//! Relations between datasets, as the operator curates them: from one to another, of a type, with a weight.
//!
//! Kept in the books because they need the same durability. A relation may name unpublished datasets.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::codec::{DecodeError, Record};
use crate::limits::RELATION_WEIGHT_MAX;
use mercato_base::clock::Moment;

/// Length of the type of a relation.
const RELATION_TYPE_BYTES_MAX: usize = 64;
/// Length of the description of a relation.
const RELATION_DESCRIPTION_BYTES_MAX: usize = 1_000;
const DATASET_BYTES_MAX: usize = 64;

/// The key of a relation: between two datasets there is at most one of each type in each direction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RelationKey {
    /// The dataset that it begins at.
    pub from: String,
    /// The dataset that it leads to.
    pub to: String,
    /// The type, such as `foreign-key`.
    pub relation_type: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// Datasets and type.
    pub key: RelationKey,
    /// A sentence about it; may be empty.
    pub description: String,
    /// The weight: 0 to 1,000,000. Stronger relations come first.
    pub weight: f64,
    /// When it was entered or last changed.
    pub at: Moment,
}

impl Relation {
    /// Checks all rules; the error names field and rule.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let RelationKey { from, to, relation_type } = &self.key;
        check_name("from", from)?;
        check_name("to", to)?;
        if from == to {
            return Err(("to", "a dataset is not related to itself".to_owned()));
        }
        check_text("type", relation_type, 1, RELATION_TYPE_BYTES_MAX)?;
        check_text("description", &self.description, 0, RELATION_DESCRIPTION_BYTES_MAX)?;
        if !(0.0..=RELATION_WEIGHT_MAX).contains(&self.weight) {
            return Err(("weight", format!("0 to {RELATION_WEIGHT_MAX}, found {}", self.weight)));
        }
        Ok(())
    }

    /// Refuses a relation that was read and breaks a rule.
    pub fn checked(&self) -> Result<(), DecodeError> {
        self.check().map_err(|(field, _)| DecodeError::Rule { record: Relation::NAME, field })
    }
}

impl Record for Relation {
    const NAME: &'static str = "relation";
}

/// A name as the catalog gives them: lower-case letters, digits and inner hyphens.
fn check_name(field: &'static str, name: &str) -> Result<(), (&'static str, String)> {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let has_ends = !name.starts_with('-') && !name.ends_with('-') && !name.is_empty();
    if has_ends && name.len() <= DATASET_BYTES_MAX && name.bytes().all(is_inner) {
        return Ok(());
    }
    let rule = format!("the slug of a dataset, 1 to {DATASET_BYTES_MAX} of a-z, 0-9 and inner hyphens");
    Err((field, rule))
}

fn check_text(
    field: &'static str,
    text: &str,
    least: usize,
    most: usize,
) -> Result<(), (&'static str, String)> {
    if (least..=most).contains(&text.len()) && !text.chars().any(char::is_control) {
        return Ok(());
    }
    let found = text.len();
    Err((field, format!("{least} to {most} bytes without control characters, found {found}")))
}

/// All relations of one moment.
#[derive(Debug, Default)]
pub struct Relations {
    list: Vec<Relation>,
    by_dataset: HashMap<String, Vec<usize>>,
    revision: u64,
    changed_at: Option<Moment>,
}

impl Relations {
    pub fn new(
        table: &BTreeMap<RelationKey, Relation>,
        revision: u64,
        changed_at: Option<Moment>,
    ) -> Relations {
        let list: Vec<Relation> = table.values().cloned().collect();
        let mut by_dataset: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, relation) in list.iter().enumerate() {
            for end in [&relation.key.from, &relation.key.to] {
                by_dataset.entry(end.clone()).or_default().push(place);
            }
        }
        Relations { list, by_dataset, revision, changed_at }
    }

    /// Every relation, by the names of its datasets and its type.
    pub fn all(&self) -> &[Relation] {
        &self.list
    }

    /// The relations that begin at a dataset or lead to it, in the order of [`Relations::all`].
    pub fn of(&self, dataset: &str) -> impl Iterator<Item = &Relation> {
        let places = self.by_dataset.get(dataset).into_iter().flatten();
        places.filter_map(|place| self.list.get(*place))
    }

    /// Another number after every change, within one run of the program.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// When a relation was last entered, changed or removed.
    pub fn changed_at(&self) -> Option<Moment> {
        self.changed_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(from: &str, to: &str, weight: f64) -> Relation {
        Relation {
            key: RelationKey {
                from: from.to_owned(),
                to: to.to_owned(),
                relation_type: "foreign-key".to_owned(),
            },
            description: "città".to_owned(),
            weight,
            at: Moment::from_unix_millis(1_700_000_000_000),
        }
    }

    #[test]
    fn names_broken_rule() {
        let field = |relation: Relation| relation.check().unwrap_err().0;
        assert_eq!(relation("a", "b", 0.0).check(), Ok(()));
        let refused = DecodeError::Rule { record: "relation", field: "weight" };
        assert_eq!(relation("a", "b", f64::NAN).checked(), Err(refused));
        assert_eq!(field(relation("A", "b", 1.0)), "from");
        assert_eq!(field(relation("a", "-b", 1.0)), "to");
        assert_eq!(field(relation("a", "a", 1.0)), "to");
        assert_eq!(field(relation("a", "b", -1.0)), "weight");
        assert_eq!(field(relation("a", "b", f64::INFINITY)), "weight");
        let mut other = relation("a", "b", 1.0);
        other.key.relation_type = "x\0y".to_owned();
        assert_eq!(field(other.clone()), "type");
        other.key.relation_type = "x".repeat(RELATION_TYPE_BYTES_MAX + 1);
        assert_eq!(field(other), "type");
    }

    #[test]
    fn finds_relations_at_both_ends() {
        let table = [relation("a", "b", 1.0), relation("c", "a", 1.0), relation("b", "c", 1.0)];
        let table = table.into_iter().map(|relation| (relation.key.clone(), relation)).collect();
        let relations = Relations::new(&table, 7, None);
        let ends: Vec<_> = relations.of("a").map(|found| (&*found.key.from, &*found.key.to)).collect();
        assert_eq!(ends, [("a", "b"), ("c", "a")]);
        assert_eq!((relations.of("nobody").count(), relations.all().len()), (0, 3));
    }
}
