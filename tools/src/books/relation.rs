//! `relation add`, `remove` and `list`: which datasets belong together.
//!
//! Knows the command line; the order goes the same way as every other. Warns of a dataset that is not there, because
//! a relation with it is shown nowhere until it is published.

use clap::Subcommand;
use mercato::catalog::{DataDirectory, Slug};
use mercato::limits::ledger::RELATION_WEIGHT_MAX;
use mercato::operator::OperatorCommand;
use serde_json::Value;

use super::desk::Desk;
use super::{Place, print, show};
use crate::failure::Failure;

/// What can be done with relations.
#[derive(Debug, Subcommand)]
pub enum RelationCommand {
    /// Enter a relation from one dataset to another, in the place of one of the same type.
    #[command(after_help = "Example:
  mercato-tools relation add orders customers --type foreign-key --description \"o_custkey\" --weight 0.9 \\
    --data /srv/mercato")]
    Add {
        /// The dataset that it begins at.
        #[arg(value_name = "FROM")]
        from: String,
        /// The dataset that it leads to.
        #[arg(value_name = "TO")]
        to: String,
        /// What kind of relation it is, like `foreign-key` or `same-source`.
        #[arg(long = "type", value_name = "TYPE")]
        relation_type: String,
        /// A sentence about it.
        #[arg(long, default_value = "")]
        description: String,
        /// How strong it is, 0 to 1,000,000; stronger ones come first. Default: 1.
        #[arg(long, value_name = "WEIGHT", allow_hyphen_values = true, value_parser = parse_weight)]
        weight: Option<f64>,
        /// Where the books are.
        #[command(flatten)]
        place: Place,
    },
    /// Remove the relations from one dataset to another.
    Remove {
        /// The dataset that they begin at.
        #[arg(value_name = "FROM")]
        from: String,
        /// The dataset that they lead to.
        #[arg(value_name = "TO")]
        to: String,
        /// Only the one of this type.
        #[arg(long = "type", value_name = "TYPE")]
        relation_type: Option<String>,
        /// Where the books are.
        #[command(flatten)]
        place: Place,
    },
    /// List relations.
    List {
        /// Only those of this dataset, in both directions.
        #[arg(value_name = "SLUG")]
        dataset: Option<String>,
        /// Where the books are.
        #[command(flatten)]
        place: Place,
    },
}

fn parse_weight(text: &str) -> Result<f64, String> {
    let weight = text.parse().ok().filter(|weight| (0.0..=RELATION_WEIGHT_MAX).contains(weight));
    weight.ok_or_else(|| format!("expected a number from 0 to {RELATION_WEIGHT_MAX}"))
}

pub(super) fn run(command: &RelationCommand, json: bool) -> Result<(), Failure> {
    match command {
        RelationCommand::Add { from, to, relation_type, description, weight, place } => {
            let command = OperatorCommand::AddRelation {
                from: from.clone(),
                to: to.clone(),
                relation_type: relation_type.clone(),
                description: description.clone(),
                weight: *weight,
            };
            let mut answer = Desk::create(place)?.execute(&command)?;
            let absent = absent(place, [from, to].into_iter());
            if let Value::Object(fields) = &mut answer {
                fields.insert("absent".to_owned(), Value::from(absent.clone()));
            }
            if !json {
                for slug in absent {
                    eprintln!(
                        "mercato-tools: warning: no dataset `{slug}` is published; the relation waits for it"
                    );
                }
            }
            show(&answer, json, print::added_relation)
        }
        RelationCommand::Remove { from, to, relation_type, place } => {
            let (from, to, relation_type) = (from.clone(), to.clone(), relation_type.clone());
            let command = OperatorCommand::RemoveRelation { from, to, relation_type };
            show(&Desk::find(place)?.execute(&command)?, json, print::removed_relations)
        }
        RelationCommand::List { dataset, place } => {
            show(&list(place, dataset.as_deref())?, json, print::relations)
        }
    }
}

/// All pages in one document.
fn list(place: &Place, dataset: Option<&str>) -> Result<Value, Failure> {
    if place.admin.is_none() && place.data.is_dir() && !DataDirectory::new(&place.data).ledger().is_dir() {
        return Ok(serde_json::json!({ "total": 0, "relations": [] }));
    }
    let desk = Desk::find(place)?;
    let mut all = Vec::new();
    let mut offset = 0;
    loop {
        let command =
            OperatorCommand::ListRelations { dataset: dataset.map(str::to_owned), offset, limit: None };
        let mut page = desk.execute(&command)?;
        if let Some(Value::Array(relations)) = page.get_mut("relations") {
            all.append(relations);
        }
        let next = page.get("nextOffset").and_then(Value::as_u64);
        match next.and_then(|next| usize::try_from(next).ok()) {
            Some(next) => offset = next,
            None => return Ok(serde_json::json!({ "total": all.len(), "relations": all })),
        }
    }
}

/// Those of the datasets that have no folder here.
pub(super) fn absent<'s>(place: &Place, slugs: impl Iterator<Item = &'s String>) -> Vec<String> {
    let data = DataDirectory::new(&place.data);
    let is_here = |slug: &str| Slug::parse(slug).is_ok_and(|slug| data.dataset(&slug).path().is_dir());
    slugs.filter(|slug| !is_here(slug)).cloned().collect()
}
