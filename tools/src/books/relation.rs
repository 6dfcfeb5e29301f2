//! The commands `relation add`, `remove` and `list`: relations between datasets.
//!
//! The command line only. Warns of an unknown dataset, because its relations are hidden until it is published.

use clap::Subcommand;
use mercato::operator::OperatorCommand;
use mercato_catalog::{DataDirectory, Slug};
use mercato_ledger::limits::RELATION_WEIGHT_MAX;
use serde_json::Value;

use super::backend::Backend;
use super::{BooksLocation, show, text_output};
use crate::failure::Failure;

/// The commands for relations.
#[derive(Debug, Subcommand)]
pub enum RelationCommand {
    /// Add a relation from one dataset to another. It replaces a relation of the same type.
    #[command(after_help = "Example:
  mercato-tools relation add orders customers --type foreign-key --description \"o_custkey\" --weight 0.9 \\
    --data /var/lib/mercato")]
    Add {
        /// The source dataset.
        #[arg(value_name = "FROM")]
        from: String,
        /// The target dataset.
        #[arg(value_name = "TO")]
        to: String,
        /// The type of relation, like `foreign-key` or `same-source`.
        #[arg(long = "type", value_name = "TYPE")]
        relation_type: String,
        /// A description in one sentence.
        #[arg(long, default_value = "")]
        description: String,
        /// The weight, 0 to 1,000,000. Relations with a higher weight are listed first. Default: 1.
        #[arg(long, value_name = "WEIGHT", allow_hyphen_values = true, value_parser = parse_weight)]
        weight: Option<f64>,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// Remove the relations from one dataset to another.
    Remove {
        /// The source dataset.
        #[arg(value_name = "FROM")]
        from: String,
        /// The target dataset.
        #[arg(value_name = "TO")]
        to: String,
        /// Only the relation of this type.
        #[arg(long = "type", value_name = "TYPE")]
        relation_type: Option<String>,
        /// The location of the books.
        #[command(flatten)]
        location: BooksLocation,
    },
    /// List relations.
    List {
        /// Only relations of this dataset, in both directions.
        #[arg(value_name = "SLUG")]
        dataset: Option<String>,
        /// The location of the books.
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
            let request = OperatorCommand::AddRelation {
                from: from.clone(),
                to: to.clone(),
                relation_type: relation_type.clone(),
                description: description.clone(),
                weight: *weight,
            };
            let mut response = Backend::open_or_create(location)?.execute(&request)?;
            let absent = absent(location, [from, to].into_iter());
            if let Value::Object(fields) = &mut response {
                fields.insert("absent".to_owned(), Value::from(absent.clone()));
            }
            if !json {
                for slug in absent {
                    eprintln!(
                        "mercato-tools: warning: no dataset `{slug}` is published; the relation waits for it"
                    );
                }
            }
            show(&response, json, text_output::added_relation)
        }
        RelationCommand::Remove { from, to, relation_type, location } => {
            let (from, to, relation_type) = (from.clone(), to.clone(), relation_type.clone());
            let request = OperatorCommand::RemoveRelation { from, to, relation_type };
            show(&Backend::open_existing(location)?.execute(&request)?, json, text_output::removed_relations)
        }
        RelationCommand::List { dataset, location } => {
            show(&list(location, dataset.as_deref())?, json, text_output::relations)
        }
    }
}

fn list(location: &BooksLocation, dataset: Option<&str>) -> Result<Value, Failure> {
    if location.admin.is_none()
        && location.books.is_none()
        && location.data().is_dir()
        && !DataDirectory::new(location.data()).ledger().is_dir()
    {
        return Ok(serde_json::json!({ "total": 0, "relations": [] }));
    }
    let backend = Backend::open_existing(location)?;
    let mut all = Vec::new();
    let mut offset = 0;
    loop {
        let request =
            OperatorCommand::ListRelations { dataset: dataset.map(str::to_owned), offset, limit: None };
        let mut page = backend.execute(&request)?;
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

/// The datasets without a folder in this data directory.
pub(super) fn absent<'s>(location: &BooksLocation, slugs: impl Iterator<Item = &'s String>) -> Vec<String> {
    if location.data().as_os_str().is_empty() {
        return Vec::new();
    }
    let data = DataDirectory::new(location.data());
    let is_here = |slug: &str| Slug::parse(slug).is_ok_and(|slug| data.dataset(&slug).path().is_dir());
    slugs.filter(|slug| !is_here(slug)).cloned().collect()
}
