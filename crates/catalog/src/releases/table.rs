//! The tables of the catalogue: heads, the generation, and blobs that nobody names.
//!
//! A publication locks the row of the generation until it is committed. Does not depend on objects or folders.

use std::collections::BTreeSet;

use super::head::HEAD_BYTES_MAX;
use crate::Slug;
use mercato_base::clock::Moment;
use mercato_database::{Connection, Trouble};

/// Blobs that one publication deletes at most.
const COLLECTED_MAX: i64 = 256;

const GENERATION: &str = "SELECT generation FROM catalog WHERE id = 1";
const LOCK: &str = "SELECT generation FROM catalog WHERE id = 1 FOR UPDATE";
const ADVANCE: &str = "UPDATE catalog SET generation = generation + 1 WHERE id = 1 RETURNING generation";
const CHANGED: &str = "SELECT slug, sequence, at, CASE WHEN octet_length(head) <= $2 THEN head END FROM release \
    WHERE sequence > $1 ORDER BY sequence";
const ONE: &str = "SELECT slug, sequence, at, CASE WHEN octet_length(head) <= $2 THEN head END FROM release WHERE slug = $1";
const SEQUENCE: &str = "SELECT sequence FROM release WHERE slug = $1";
const WRITE: &str = "INSERT INTO release (slug, sequence, at, head) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (slug) DO UPDATE SET sequence = excluded.sequence, at = excluded.at, head = excluded.head";
const STAGE: &str = "INSERT INTO spare_blob (blob) SELECT unnest($1::text[]) \
    ON CONFLICT (blob) DO UPDATE SET at = clock_timestamp()";
const STAGED: &str = "SELECT blob FROM spare_blob WHERE blob = ANY ($1) ORDER BY blob FOR UPDATE";
const UNUSE: &str = "DELETE FROM blob_use WHERE slug = $1 AND NOT blob = ANY ($2) RETURNING blob";
const USE: &str = "INSERT INTO blob_use (slug, blob) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING";
const IN_USE: &str = "DELETE FROM spare_blob WHERE blob = ANY ($1)";
const SPARE: &str = "INSERT INTO spare_blob (blob) SELECT blob FROM unnest($1::text[]) AS gone (blob) \
    WHERE NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.blob = gone.blob) ON CONFLICT (blob) DO UPDATE SET at = clock_timestamp()";
// A blob that a head names again meanwhile has no such row any more.
const COLLECT: &str = "DELETE FROM spare_blob WHERE blob IN (SELECT s.blob FROM spare_blob s \
    WHERE s.at < clock_timestamp() - interval '24 hours' AND NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.blob = s.blob) \
    ORDER BY s.at LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING blob";

/// A row of the heads, not yet read.
pub(super) struct Row {
    pub(super) slug: String,
    pub(super) sequence: i64,
    pub(super) at: Moment,
    /// Nothing where it is too long.
    pub(super) head: Option<Vec<u8>>,
}

pub(super) fn generation(connection: &mut Connection) -> Result<i64, Trouble> {
    Ok(connection.first(GENERATION, &[])?.map_or(0, |row| row.get(0)))
}

/// Hands over the heads that changed after a generation, in the order of their publication.
pub(super) fn changed(
    connection: &mut Connection,
    after: i64,
    mut take: impl FnMut(Row),
) -> Result<(), Trouble> {
    connection.each(CHANGED, &[&after, &bytes_max()], |row| {
        let at = Moment::from_unix_millis(row.get(2));
        take(Row { slug: row.get(0), sequence: row.get(1), at, head: row.get(3) });
        Ok(())
    })
}

/// The head of a dataset.
pub(super) fn one(connection: &mut Connection, slug: &Slug) -> Result<Option<Row>, Trouble> {
    let row = connection.first(ONE, &[&slug.as_str(), &bytes_max()])?;
    Ok(row.map(|row| {
        let at = Moment::from_unix_millis(row.get(2));
        Row { slug: row.get(0), sequence: row.get(1), at, head: row.get(3) }
    }))
}

/// Notes blobs before they are uploaded, so that they are deleted some day if no head names them.
pub(super) fn stage(connection: &mut Connection, blobs: &BTreeSet<String>) -> Result<(), Trouble> {
    connection.execute(STAGE, &[&list(blobs)]).map(drop)
}

/// A change of a head, which is committed whole or not at all.
pub(super) struct Change<'a> {
    pub(super) slug: &'a Slug,
    /// The head on which it is based.
    pub(super) base: Option<i64>,
    pub(super) head: &'a [u8],
    /// All blobs of the head.
    pub(super) blobs: &'a BTreeSet<String>,
    /// Those that were uploaded for it.
    pub(super) uploaded: &'a BTreeSet<String>,
    pub(super) at: Moment,
}

/// What came of a change.
pub(super) enum Changed {
    /// It has this generation.
    Committed(i64),
    /// Another publication was quicker.
    Overtaken,
    /// The upload took so long that blobs of it may have been deleted.
    TooLate,
}

impl Change<'_> {
    pub(super) fn commit(&self, connection: &mut Connection) -> Result<Changed, Trouble> {
        connection.run("BEGIN")?;
        match self.apply(connection) {
            Ok(Changed::Committed(generation)) => {
                connection.run("COMMIT")?;
                Ok(Changed::Committed(generation))
            }
            Ok(refusal) => {
                connection.roll_back();
                Ok(refusal)
            }
            Err(trouble) => {
                connection.roll_back();
                Err(trouble)
            }
        }
    }

    fn apply(&self, connection: &mut Connection) -> Result<Changed, Trouble> {
        let slug = self.slug.as_str();
        connection.first(LOCK, &[])?;
        let sequence: Option<i64> = connection.first(SEQUENCE, &[&slug])?.map(|row| row.get(0));
        if sequence != self.base {
            return Ok(Changed::Overtaken);
        }
        let (all, uploaded) = (list(self.blobs), list(self.uploaded));
        if connection.query(STAGED, &[&uploaded])?.len() < uploaded.len() {
            return Ok(Changed::TooLate);
        }
        let generation: i64 = connection.first(ADVANCE, &[])?.map_or(0, |row| row.get(0));
        connection.execute(WRITE, &[&slug, &generation, &self.at.unix_millis(), &self.head])?;
        let gone: Vec<String> =
            connection.query(UNUSE, &[&slug, &all])?.iter().map(|row| row.get(0)).collect();
        connection.execute(USE, &[&slug, &all])?;
        connection.execute(IN_USE, &[&all])?;
        connection.execute(SPARE, &[&gone])?;
        Ok(Changed::Committed(generation))
    }
}

/// Advances the generation for a change of a shared directory.
pub(super) fn advance(connection: &mut Connection) -> Result<i64, Trouble> {
    Ok(connection.first(ADVANCE, &[])?.map_or(0, |row| row.get(0)))
}

/// Deletes blobs that nobody has named for a day. `delete` says whether that was done; otherwise they stay noted.
pub(super) fn collect(
    connection: &mut Connection,
    mut delete: impl FnMut(&str) -> bool,
) -> Result<usize, Trouble> {
    connection.run("BEGIN")?;
    // Whoever uploads one of them anew waits for the end of this.
    let rows = connection.query(COLLECT, &[&COLLECTED_MAX]);
    let Ok(rows) = rows else {
        connection.roll_back();
        return rows.map(|_| 0);
    };
    let blobs: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let deleted = blobs.iter().take_while(|blob| delete(blob)).count();
    if deleted < blobs.len() {
        connection.roll_back();
        return Ok(0);
    }
    connection.run("COMMIT").map(|()| deleted)
}

fn list(blobs: &BTreeSet<String>) -> Vec<String> {
    blobs.iter().cloned().collect()
}

fn bytes_max() -> i32 {
    i32::try_from(HEAD_BYTES_MAX).unwrap_or(i32::MAX)
}
