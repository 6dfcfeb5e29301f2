//! The commands `relation add`, `remove` and `list`.
//!
//! Warns of an unknown dataset, because its relations are hidden until it is published.

use clap::Subcommand;
use mercato::operator::{AddRelation, ListRelations, RelationPage, RemoveRelation};
use mercato_catalog::{DataDirectory, Slug};
use serde_json::json;

use super::backend::Backend;
use super::{BooksLocation, Located, show, with_field};
use crate::failure::Failure;

/// The commands for relations.
#[derive(Debug, Subcommand)]
pub enum RelationCommand {
    #[command(after_help = "Example:
  mercato-tools relation add orders customers --type foreign-key --description \"o_custkey\" --weight 0.9 \\
    --data /var/lib/mercato")]
    Add(Located<AddRelation>),
    Remove(Located<RemoveRelation>),
    List(Located<ListRelations>),
}

pub(super) fn run(command: &RelationCommand, json: bool) -> Result<(), Failure> {
    match command {
        RelationCommand::Add(command) => add(command, json),
        RelationCommand::Remove(command) => command.run(json),
        RelationCommand::List(command) => {
            let all = list(command)?;
            show(&json!({ "total": all.relations.len(), "relations": all.relations }), &all, json)
        }
    }
}

fn add(Located { command, location }: &Located<AddRelation>, json: bool) -> Result<(), Failure> {
    let added = Backend::open_or_create(location)?.execute(command)?;
    let absent = unpublished(location, [&command.from, &command.to]);
    if !json {
        for slug in &absent {
            eprintln!("mercato-tools: warning: no dataset `{slug}` is published; the relation waits for it");
        }
    }
    show(&with_field(&added, "absent", absent.into())?, &added, json)
}

fn list(Located { command, location }: &Located<ListRelations>) -> Result<RelationPage, Failure> {
    if Backend::makes_books(location) && location.data().is_dir() {
        return Ok(RelationPage::default());
    }
    let backend = Backend::open_existing(location)?;
    let mut all = backend.execute(command)?;
    while let Some(offset) = all.next_offset {
        let page = backend.execute(&ListRelations { offset, ..command.clone() })?;
        all.relations.extend(page.relations);
        all.next_offset = page.next_offset;
    }
    Ok(all)
}

/// The datasets without a folder in this data directory.
pub(super) fn unpublished<'s>(
    location: &BooksLocation,
    slugs: impl IntoIterator<Item = &'s String>,
) -> Vec<String> {
    if location.data().as_os_str().is_empty() {
        return Vec::new();
    }
    let data = DataDirectory::new(location.data());
    let is_here = |slug: &str| Slug::parse(slug).is_ok_and(|slug| data.dataset(&slug).path().is_dir());
    slugs.into_iter().filter(|slug| !is_here(slug)).cloned().collect()
}
