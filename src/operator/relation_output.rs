//! The output of commands on relations between datasets.
//!
//! JSON views of results of the books. Does not depend on the catalog.

use serde::Serialize;

/// A relation between two datasets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RelationLine {
    /// The source dataset.
    pub from: String,
    /// The target dataset.
    pub to: String,
    /// The type of the relation.
    pub r#type: String,
    /// A description in one sentence, or nothing.
    pub description: String,
    /// The weight.
    pub weight: f64,
    /// When it was entered or last changed.
    pub updated_at: String,
}

impl RelationLine {
    pub(super) fn of(relation: &mercato_ledger::Relation) -> RelationLine {
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

/// An added relation.
#[derive(Serialize)]
pub struct RelationAdded {
    /// The stored relation.
    #[serde(flatten)]
    pub relation: RelationLine,
    /// Whether it replaced an earlier relation.
    pub replaced: bool,
}

/// A page of relations.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Relations {
    /// Relations by dataset names and type.
    pub relations: Vec<RelationLine>,
    /// The number of all relations.
    pub total: usize,
    /// The offset of the next page, if any.
    pub next_offset: Option<usize>,
}
