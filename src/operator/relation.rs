//! Commands on relations between datasets.
//!
//! A relation may name a dataset that is not published yet.

use std::fmt::{self, Display, Formatter};

use clap::Args;
use mercato_ledger::limits::{RELATION_WEIGHT_DEFAULT, RELATION_WEIGHT_MAX};
use mercato_ledger::{Relation, RelationKey};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::command::{Command, CommandError, Context, check_range};

const RELATIONS_PER_PAGE_MAX: usize = 1_000;

/// Add a relation from one dataset to another. It replaces a relation of the same type.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddRelation {
    /// The source dataset.
    #[arg(value_name = "FROM")]
    pub from: String,
    /// The target dataset.
    #[arg(value_name = "TO")]
    pub to: String,
    /// The type of relation, like `foreign-key` or `same-source`.
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    pub relation_type: String,
    /// A description in one sentence.
    #[arg(long, default_value = "")]
    #[serde(default)]
    pub description: String,
    /// The weight, 0 to 1,000,000. Relations with a higher weight are listed first. Default: 1.
    #[arg(long, value_name = "WEIGHT", allow_hyphen_values = true, value_parser = parse_weight)]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    pub weight: Option<f64>,
}

fn parse_weight(text: &str) -> Result<f64, String> {
    let weight = text.parse().ok().filter(|weight| (0.0..=RELATION_WEIGHT_MAX).contains(weight));
    weight.ok_or_else(|| format!("expected a number from 0 to {RELATION_WEIGHT_MAX}"))
}

/// Many programs write `null` for NaN and infinity, so it does not mean the default.
fn not_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let number = Option::<f64>::deserialize(from)?;
    number.map(Some).ok_or_else(|| D::Error::custom("expected a number, found null; leave the field out"))
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelationLine {
    pub from: String,
    pub to: String,
    pub r#type: String,
    /// A description in one sentence, or nothing.
    pub description: String,
    pub weight: f64,
    /// When it was entered or last changed.
    pub updated_at: String,
}

#[derive(Serialize, Deserialize)]
pub struct AddedRelation {
    #[serde(flatten)]
    pub relation: RelationLine,
    /// Whether it replaced an earlier relation.
    pub replaced: bool,
}

impl Command for AddRelation {
    type Outcome = AddedRelation;

    fn execute(&self, context: &Context<'_>) -> Result<AddedRelation, CommandError> {
        let Self { from, to, relation_type, description, weight } = self.clone();
        let key = RelationKey { from, to, relation_type };
        let weight = weight.unwrap_or(RELATION_WEIGHT_DEFAULT);
        let relation = Relation { key, description, weight, at: context.now };
        let line = RelationLine::from(&relation);
        let replaced = context.ledger.add_relation(relation)?;
        Ok(AddedRelation { relation: line, replaced })
    }
}

impl From<&Relation> for RelationLine {
    fn from(relation: &Relation) -> Self {
        Self {
            from: relation.key.from.clone(),
            to: relation.key.to.clone(),
            r#type: relation.key.relation_type.clone(),
            description: relation.description.clone(),
            weight: relation.weight,
            updated_at: relation.at.rfc3339(),
        }
    }
}

impl Display for RelationLine {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { from, to, r#type, description, weight, .. } = self;
        write!(out, "{from} -> {to}  {type}  weight {weight:?}")?;
        if description.is_empty() { writeln!(out) } else { writeln!(out, "  {description}") }
    }
}

impl Display for AddedRelation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let done = if self.replaced { "changed" } else { "added" };
        write!(out, "{done}: {}", self.relation)
    }
}

/// Remove the relations from one dataset to another.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveRelation {
    /// The source dataset.
    #[arg(value_name = "FROM")]
    pub from: String,
    /// The target dataset.
    #[arg(value_name = "TO")]
    pub to: String,
    /// Only the relation of this type.
    #[arg(long = "type", value_name = "TYPE")]
    #[serde(rename = "type")]
    pub relation_type: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub struct RemovedRelations {
    pub removed: Vec<RelationLine>,
}

impl Command for RemoveRelation {
    type Outcome = RemovedRelations;

    fn execute(&self, context: &Context<'_>) -> Result<RemovedRelations, CommandError> {
        let Self { from, to, relation_type } = self;
        let removed = context.ledger.remove_relations(from, to, relation_type.as_deref(), context.now)?;
        Ok(RemovedRelations { removed: removed.iter().map(RelationLine::from).collect() })
    }
}

impl Display for RemovedRelations {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.removed.iter().try_for_each(|relation| write!(out, "removed: {relation}"))
    }
}

/// List relations.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListRelations {
    /// Only relations of this dataset, in both directions.
    #[arg(value_name = "SLUG")]
    pub dataset: Option<String>,
    /// Relations to skip.
    #[arg(skip)]
    #[serde(default)]
    pub offset: usize,
    /// Relations on the page.
    #[arg(skip)]
    pub limit: Option<usize>,
}

/// Relations by dataset names and type.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RelationPage {
    pub relations: Vec<RelationLine>,
    /// The number of all relations.
    pub total: usize,
    /// The offset of the next page, if any.
    pub next_offset: Option<usize>,
}

impl Command for ListRelations {
    type Outcome = RelationPage;

    fn execute(&self, context: &Context<'_>) -> Result<RelationPage, CommandError> {
        let limit = self.limit.unwrap_or(RELATIONS_PER_PAGE_MAX);
        check_range("limit", limit as u64, RELATIONS_PER_PAGE_MAX as u64)?;
        let all = context.ledger.relations();
        let found: Vec<&Relation> = match &self.dataset {
            Some(dataset) => all.of(dataset).collect(),
            None => all.all().iter().collect(),
        };
        let relations: Vec<RelationLine> =
            found.iter().skip(self.offset).take(limit).copied().map(RelationLine::from).collect();
        let end = self.offset.saturating_add(relations.len());
        let next_offset = (end < found.len() && !relations.is_empty()).then_some(end);
        Ok(RelationPage { relations, total: found.len(), next_offset })
    }
}

impl Display for RelationPage {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.relations.iter().try_for_each(|relation| write!(out, "{relation}"))
    }
}
