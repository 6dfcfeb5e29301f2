//! Servers that live, and which generation of the catalogue each has loaded.
//!
//! A server without one serves no catalogue, like a tool that has the books open. Does not depend on heads or objects.

use std::thread;
use std::time::{Duration, Instant};

use super::table;
use mercato_database::{Connection, DatabaseAddress, SchemaFault, Trouble, check};

/// Pause between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

const LAGGING: &str =
    "SELECT name FROM server WHERE lease_until > clock_timestamp() AND loaded_generation < $1 ORDER BY id";
const SERVING: &str =
    "SELECT count(*) FROM server WHERE lease_until > clock_timestamp() AND loaded_generation >= $1";
const LOADED: &str = "UPDATE server SET loaded_generation = $2, lacking = $3 \
    WHERE id = $1 AND (loaded_generation, lacking) IS DISTINCT FROM ($2, $3)";

/// What waiting for the servers came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// How many servers serve the generation.
    pub serving: u64,
    /// The names of those that do not yet.
    pub lagging: Vec<String>,
}

/// What a server has loaded: the generation that it serves whole, and how many datasets it lacks for the newest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loaded {
    pub(super) generation: i64,
    pub(super) lacking: i32,
}

/// Notes what this server has loaded.
pub(super) fn note_loaded(connection: &mut Connection, server: i64, loaded: Loaded) -> Result<(), Trouble> {
    connection.execute(LOADED, &[&server, &loaded.generation, &loaded.lacking]).map(drop)
}

/// Tells all servers that the shared data directory has changed. Returns the generation of that.
pub fn note_publication(database: &DatabaseAddress) -> Result<i64, SchemaFault> {
    let connection = &mut Connection::open(database)?;
    check(connection)?;
    Ok(table::advance(connection)?)
}

/// Waits until every server that lives serves a generation, for at most that time.
pub fn wait_for_servers(
    database: &DatabaseAddress,
    generation: i64,
    at_most: Duration,
) -> Result<Waited, Trouble> {
    let connection = &mut Connection::open(database)?;
    let deadline = Instant::now() + at_most;
    loop {
        let rows = connection.query(LAGGING, &[&generation])?;
        if rows.is_empty() || Instant::now() >= deadline {
            let serving: i64 = connection.first(SERVING, &[&generation])?.map_or(0, |row| row.get(0));
            let serving = u64::try_from(serving).unwrap_or(0);
            return Ok(Waited { serving, lagging: rows.iter().map(|row| row.get(0)).collect() });
        }
        thread::sleep(LOOK_PAUSE);
    }
}
