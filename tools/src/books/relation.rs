//! `relation add`, `remove` and `list`: which datasets belong together.
//!
//! Knows the command line; the order goes the same way as every other. Warns of a dataset that is not there, because
//! a relation with it is shown nowhere until it is published.

use clap::Subcommand;
use mercato::catalog::{DataDirectory, Slug};
use mercato::limits::ledger::RELATION_WEIGHT_MAX;
use mercato::operator::Order;
use serde_json::Value;

use super::backend::Backend;
use super::{BooksLocation, show, text_output};
use crate::failure::Failure;

/// What can be done with relations.
#[derive(Debug, Subcommand)]
pub enum RelationCommand {
    /// Enter a relation from one dataset to another, in place of one of the same type.
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
        location: BooksLocation,
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
        location: BooksLocation,
    },
    /// List relations.
    List {
        /// Only those of this dataset, in both directions.
        #[arg(value_name = "SLUG")]
        dataset: Option<String>,
        /// Where the books are.
        #[command(flatten)]
        location: BooksLocation,
    },
}

fn parse_weight(text: &str) -> Result<f64, String> {
    let weight = text.parse().ok().filter(|weight| (0.0..=RELATION_WEIGHT_MAX).contains(weight));
    weight.ok_or_else(|| format!("expected a number from 0 to {RELATION_WEIGHT_MAX}"))
}

pub(super) fn run(command: &RelationCommand, json: bool) -> Result<(), Failure> {
    match command {
        RelationCommand::Add { from, to, relation_type, description, weight, location } => {
            let ordered = Order::AddRelation {
                from: from.clone(),
                to: to.clone(),
                relation_type: relation_type.clone(),
                description: description.clone(),
                weight: *weight,
            };
            let mut answer = Backend::open_or_create(location)?.carry_out(&ordered)?;
            let absent = absent(location, [from, to].into_iter());
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
            show(&answer, json, text_output::added_relation)
        }
        RelationCommand::Remove { from, to, relation_type, location } => {
            let (from, to, relation_type) = (from.clone(), to.clone(), relation_type.clone());
            let ordered = Order::RemoveRelation { from, to, relation_type };
            show(
                &Backend::open_existing(location)?.carry_out(&ordered)?,
                json,
                text_output::removed_relations,
            )
        }
        RelationCommand::List { dataset, location } => {
            show(&list(location, dataset.as_deref())?, json, text_output::relations)
        }
    }
}

/// All pages in one document.
fn list(location: &BooksLocation, dataset: Option<&str>) -> Result<Value, Failure> {
    if location.admin.is_none()
        && location.data.is_dir()
        && !DataDirectory::new(&location.data).ledger().is_dir()
    {
        return Ok(serde_json::json!({ "total": 0, "relations": [] }));
    }
    let backend = Backend::open_existing(location)?;
    let mut all = Vec::new();
    let mut offset = 0;
    loop {
        let ordered = Order::ListRelations { dataset: dataset.map(str::to_owned), offset, limit: None };
        let mut page = backend.carry_out(&ordered)?;
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
pub(super) fn absent<'s>(location: &BooksLocation, slugs: impl Iterator<Item = &'s String>) -> Vec<String> {
    let data = DataDirectory::new(&location.data);
    let is_here = |slug: &str| Slug::parse(slug).is_ok_and(|slug| data.dataset(&slug).path().is_dir());
    slugs.filter(|slug| !is_here(slug)).cloned().collect()
}
