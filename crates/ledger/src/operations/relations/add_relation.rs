//! Enters a relation, or replaces the one of the same datasets and type. The outcome is whether there was one.

use super::{note_change, relations_from};
use crate::codec::Record;
use crate::error::BooksError;
use crate::key_space;
use crate::limits::{RELATIONS_MAX, RELATIONS_PER_DATASET_MAX};
use crate::operation::{Operation, Reads};
use crate::operations::invalid;
use crate::relation::Relation;
use crate::state::State;

pub struct AddRelation(pub Relation);

impl Operation for AddRelation {
    type Outcome = bool;
    type Refusal = BooksError;

    fn reads(&self) -> Reads {
        Reads { relations: true, ..Reads::nothing() }
    }

    fn decide(&self, books: &mut State) -> Result<bool, BooksError> {
        let AddRelation(relation) = self;
        relation.check().map_err(|(field, rule)| invalid(field, rule))?;
        let is_known = books.relations.contains_key(&relation.key);
        if !is_known && books.relations.len() >= RELATIONS_MAX {
            return Err(invalid("relation", format!("at most {RELATIONS_MAX} relations are kept")));
        }
        if !is_known && relations_from(books, &relation.key.from).count() >= RELATIONS_PER_DATASET_MAX {
            let rule = format!("at most {RELATIONS_PER_DATASET_MAX} relations begin at one dataset");
            return Err(invalid("from", rule));
        }
        books.written.changes.put(key_space::relation(&relation.key), relation.encode());
        note_change(books, relation.at);
        books.relations.insert(relation.key.clone(), relation.clone());
        Ok(is_known)
    }
}
