//! Removes the relations from one dataset to another, or only the one of a type, and returns them. None is an error.

use super::{note_change, relations_from};
use crate::error::BooksError;
use crate::key_space;
use crate::operation::{Operation, Reads};
use crate::operations::invalid;
use crate::relation::{Relation, RelationKey};
use crate::state::State;
use mercato_base::clock::Moment;

pub struct RemoveRelations {
    pub from: String,
    pub to: String,
    pub relation_type: Option<String>,
    pub at: Moment,
}

impl Operation for RemoveRelations {
    type Outcome = Vec<Relation>;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads { relations: true, ..Reads::nothing() }
    }

    fn decide(&self, books: &mut State) -> Result<Vec<Relation>, BooksError> {
        let RemoveRelations { from, to, relation_type, at } = self;
        let is_meant = |key: &RelationKey| {
            key.to == *to && relation_type.as_ref().is_none_or(|wanted| *wanted == key.relation_type)
        };
        let keys: Vec<RelationKey> =
            relations_from(books, from).filter(|key| is_meant(key)).cloned().collect();
        if keys.is_empty() {
            let of_type = relation_type.as_ref().map_or(String::new(), |kind| format!(" of type {kind}"));
            return Err(invalid("relation", format!("there is none from {from} to {to}{of_type}")));
        }
        note_change(books, *at);
        let mut removed = Vec::with_capacity(keys.len());
        for key in keys {
            books.written.changes.remove(key_space::relation(&key));
            removed.extend(books.relations.remove(&key));
        }
        Ok(removed)
    }
}
