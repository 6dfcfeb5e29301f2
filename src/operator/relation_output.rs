//! The answers to orders about relations between datasets.
//!
//! Mirrors of what the books return; knows no catalog.

use serde::Serialize;

use crate::ledger;

/// A relation between two datasets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RelationLine {
    /// The dataset that it begins at.
    pub from: String,
    /// The dataset that it leads to.
    pub to: String,
    /// What kind of relation it is.
    pub r#type: String,
    /// A sentence about it; empty without one.
    pub description: String,
    /// How strong it is.
    pub weight: f64,
    /// When it was entered or last changed.
    pub updated_at: String,
}

impl RelationLine {
    pub(super) fn of(relation: &ledger::Relation) -> RelationLine {
        RelationLine {
            from: relation.key.from.clone(),
            to: relation.key.to.clone(),
            r#type: relation.key.relation_type.clone(),
            description: relation.description.clone(),
            weight: relation.weight,
            updated_at: relation.at.rfc3339(),
        }
    }
}

/// A relation that was entered.
#[derive(Serialize)]
pub struct RelationAdded {
    /// The relation as it now is.
    #[serde(flatten)]
    pub relation: RelationLine,
    /// Whether it took the place of an earlier one.
    pub replaced: bool,
}

/// A page of relations.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Relations {
    /// By the names of their datasets and their type.
    pub relations: Vec<RelationLine>,
    /// How many there are altogether.
    pub total: usize,
    /// How many to pass over for the next page, if there is one.
    pub next_offset: Option<usize>,
}
