//! Relations between datasets. Whether a dataset is published, the catalog knows; the books do not.

mod add_relation;
mod remove_relations;

pub use add_relation::AddRelation;
pub use remove_relations::RemoveRelations;

use crate::key_space;
use crate::relation::RelationKey;
use crate::state::State;
use mercato_base::clock::Moment;

fn relations_from<'b>(books: &'b State, from: &'b str) -> impl Iterator<Item = &'b RelationKey> {
    let first = RelationKey { from: from.to_owned(), to: String::new(), relation_type: String::new() };
    books.relations.range(first..).map(|(key, _)| key).take_while(move |key| key.from == from)
}

fn note_change(books: &mut State, at: Moment) {
    books.hear(at);
    books.relations_changed_at = Some(books.relations_changed_at.map_or(at, |before| before.max(at)));
    books.relations_changed = true;
    books.written.changes.put(key_space::relations_changed_at(), at.unix_millis().to_be_bytes().to_vec());
}
