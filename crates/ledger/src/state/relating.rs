//! Operations on relations between datasets.
//!
//! Does not depend on the catalog: handlers filter relations by published datasets.

use super::State;
use super::operating::invalid;
use crate::codec::Record;
use crate::error::ChargeError;
use crate::key_space;
use crate::limits::{RELATIONS_MAX, RELATIONS_PER_DATASET_MAX};
use crate::relation::{Relation, RelationKey};
use crate::request::Removal;
use mercato_base::clock::Moment;

impl State {
    /// Enters a relation, or replaces the one with the same key. Returns whether it replaced one.
    pub fn add_relation(&mut self, relation: Relation) -> Result<bool, ChargeError> {
        relation.check().map_err(|(field, rule)| invalid(field, rule))?;
        let is_known = self.relations.contains_key(&relation.key);
        if !is_known && self.relations.len() >= RELATIONS_MAX {
            return Err(invalid("relation", format!("at most {RELATIONS_MAX} relations are kept")));
        }
        if !is_known && self.relations_from(&relation.key.from).count() >= RELATIONS_PER_DATASET_MAX {
            let rule = format!("at most {RELATIONS_PER_DATASET_MAX} relations begin at one dataset");
            return Err(invalid("from", rule));
        }
        self.written.changes.put(key_space::relation(&relation.key), relation.encode());
        self.note_relations_changed(relation.at);
        self.relations.insert(relation.key.clone(), relation);
        Ok(is_known)
    }

    /// Removes relations and returns them; none is an error.
    pub fn remove_relations(&mut self, removal: &Removal, now: Moment) -> Result<Vec<Relation>, ChargeError> {
        let is_meant = |key: &RelationKey| {
            key.to == removal.to
                && removal.relation_type.as_ref().is_none_or(|wanted| *wanted == key.relation_type)
        };
        let keys: Vec<RelationKey> =
            self.relations_from(&removal.from).filter(|key| is_meant(key)).cloned().collect();
        if keys.is_empty() {
            let (from, to) = (&removal.from, &removal.to);
            let of_type =
                removal.relation_type.as_ref().map_or(String::new(), |kind| format!(" of type {kind}"));
            return Err(invalid("relation", format!("there is none from {from} to {to}{of_type}")));
        }
        self.note_relations_changed(now);
        let mut removed = Vec::with_capacity(keys.len());
        for key in keys {
            self.written.changes.remove(key_space::relation(&key));
            removed.extend(self.relations.remove(&key));
        }
        Ok(removed)
    }

    fn relations_from<'b>(&'b self, from: &'b str) -> impl Iterator<Item = &'b RelationKey> {
        let first = RelationKey { from: from.to_owned(), to: String::new(), relation_type: String::new() };
        self.relations.range(first..).map(|(key, _)| key).take_while(move |key| key.from == from)
    }

    fn note_relations_changed(&mut self, at: Moment) {
        self.latest = self.latest.max(at);
        self.relations_changed_at = Some(self.relations_changed_at.map_or(at, |before| before.max(at)));
        self.relations_changed = true;
        self.written.changes.put(key_space::relations_changed_at(), at.unix_millis().to_be_bytes().to_vec());
    }
}
