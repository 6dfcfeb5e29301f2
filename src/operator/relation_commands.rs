//! Commands on relations between datasets.

use super::execute::{CommandError, Context, check_range};
use super::output::CommandOutput;
use super::relation_output::{RelationAdded, RelationLine, Relations};
use mercato_ledger::limits::RELATION_WEIGHT_DEFAULT;
use mercato_ledger::{Relation, RelationKey};

/// Relations of one page.
const RELATIONS_PER_PAGE_MAX: usize = 1_000;

/// `names` are the datasets at both ends, and the type.
pub(super) fn add(
    context: &Context<'_>,
    names: [&String; 3],
    description: &str,
    weight: Option<f64>,
) -> Result<CommandOutput, CommandError> {
    let [from, to, relation_type] = names.map(Clone::clone);
    let key = RelationKey { from, to, relation_type };
    let (description, weight) = (description.to_owned(), weight.unwrap_or(RELATION_WEIGHT_DEFAULT));
    let relation = Relation { key, description, weight, at: context.now };
    let line = RelationLine::of(&relation);
    let replaced = context.ledger.add_relation(relation)?;
    Ok(CommandOutput::RelationAdded(RelationAdded { relation: line, replaced }))
}

pub(super) fn remove(
    context: &Context<'_>,
    from: &str,
    to: &str,
    relation_type: Option<&str>,
) -> Result<CommandOutput, CommandError> {
    let removed = context.ledger.remove_relations(from, to, relation_type, context.now)?;
    Ok(CommandOutput::RelationsRemoved { removed: removed.iter().map(RelationLine::of).collect() })
}

pub(super) fn list(
    context: &Context<'_>,
    dataset: Option<&str>,
    offset: usize,
    limit: Option<usize>,
) -> Result<CommandOutput, CommandError> {
    let limit = limit.unwrap_or(RELATIONS_PER_PAGE_MAX);
    check_range("limit", limit as u64, RELATIONS_PER_PAGE_MAX as u64)?;
    let all = context.ledger.relations();
    let found: Vec<&Relation> = match dataset {
        Some(dataset) => all.of(dataset).collect(),
        None => all.all().iter().collect(),
    };
    let relations: Vec<RelationLine> =
        found.iter().skip(offset).take(limit).map(|relation| RelationLine::of(relation)).collect();
    let end = offset.saturating_add(relations.len());
    let next_offset = (end < found.len() && !relations.is_empty()).then_some(end);
    Ok(CommandOutput::Relations(Relations { relations, total: found.len(), next_offset }))
}

/// A finite number. JSON would carry NaN and infinity as `null`, which means no number.
pub(super) mod finite {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(number: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) if !number.is_finite() => {
                Err(S::Error::custom(format!("expected a finite number, found {number}")))
            }
            number => number.serialize(out),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        let number = Option::<f64>::deserialize(from)?;
        number.map(Some).ok_or_else(|| D::Error::custom("expected a number, found null; leave the field out"))
    }
}
