//! What books on a database look like from outside: their servers, and how this server gets on with the database.
//!
//! Looking registers no server. Does not depend on accounts or entries.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Core;
use super::tables::unsigned;
use crate::error::OpenError;
use mercato_base::clock::Moment;
use mercato_database::{Connection, DatabaseAddress, Trouble, check, version};

/// Servers that are listed.
const SERVERS_MAX: i64 = 1_000;

const SERVERS: &str = "SELECT id, name, (extract(epoch FROM started_at) * 1000)::bigint, \
    (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::bigint, \
    (SELECT count(*) FROM reservation WHERE reservation.server = server.id), loaded_generation, lacking \
    FROM server ORDER BY id LIMIT $1";
const BOOKS: &str = "SELECT generation, is_whole, (SELECT count(*) FROM reservation), \
    (SELECT count(*) FROM reservation r WHERE NOT EXISTS (SELECT 1 FROM server s WHERE s.id = r.server)), \
    (SELECT generation FROM catalog) FROM books";
const CONNECTIONS: &str = "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()), \
    current_setting('max_connections')::bigint";

/// Books on a database and the servers that have them open, at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterStatus {
    /// Servers, by the order in which they started; also those whose lease is over and that were not forgotten yet.
    pub servers: Vec<ServerStatus>,
    /// How often something changed that all servers keep in memory.
    pub generation: u64,
    /// How often datasets were published, changed or withdrawn.
    pub catalog_generation: u64,
    /// The version of the schema.
    pub schema: i32,
    /// Whether the books are complete; they are not while a move into them goes on, or was interrupted.
    pub is_whole: bool,
    pub open_reservations: u64,
    /// Those of servers that are gone: the next server settles them.
    pub left_reservations: u64,
    /// Connections to the database, of whomever; this one is among them.
    pub connections: u64,
    /// Connections that the database takes.
    pub connections_max: u64,
}

/// A server with books on a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerStatus {
    /// Its number: every start draws a new one.
    pub id: u64,
    /// Host and process.
    pub name: String,
    /// When it started, on the clock of the database.
    pub started_at: Moment,
    /// Milliseconds until its lease is over; negative for a server that is gone.
    pub lease_millis: i64,
    /// Streams and downloads that it runs.
    pub streams: u64,
    /// The generation of the catalogue that it serves whole; nothing where it serves none, like a tool.
    pub loaded_generation: Option<u64>,
    /// Datasets of the newest generation that it does not serve yet.
    pub lacking: Option<u32>,
}

/// Looks at the books of a database, whose schema must be the one of this program.
pub fn cluster_status(address: &DatabaseAddress) -> Result<ClusterStatus, OpenError> {
    let mut connection = Connection::open(address)?;
    check(&mut connection)?;
    let schema = version(&mut connection)?.unwrap_or(0);
    let servers = connection.query(SERVERS, &[&SERVERS_MAX])?.iter().map(server).collect();
    let books = one(&mut connection, BOOKS)?;
    let count = |row: &postgres::Row, column: usize| unsigned(row.get(column));
    let connections = one(&mut connection, CONNECTIONS)?;
    Ok(ClusterStatus {
        servers,
        generation: count(&books, 0),
        catalog_generation: count(&books, 4),
        schema,
        is_whole: books.get(1),
        open_reservations: count(&books, 2),
        left_reservations: count(&books, 3),
        connections: count(&connections, 0),
        connections_max: count(&connections, 1),
    })
}

fn server(row: &postgres::Row) -> ServerStatus {
    ServerStatus {
        id: unsigned(row.get(0)),
        name: row.get(1),
        started_at: Moment::from_unix_millis(row.get(2)),
        lease_millis: row.get(3),
        streams: unsigned(row.get(4)),
        loaded_generation: row.get::<_, Option<i64>>(5).map(unsigned),
        lacking: row.get::<_, Option<i32>>(6).and_then(|lacking| u32::try_from(lacking).ok()),
    }
}

fn one(connection: &mut Connection, text: &'static str) -> Result<postgres::Row, Trouble> {
    let row = connection.first(text, &[])?;
    row.ok_or_else(|| Trouble::Refused("the table `books` is empty".to_owned()))
}

/// How a server gets on with the database of its books.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatabaseStats {
    /// Milliseconds until this server ends its streams, unless it renews its lease.
    pub lease_millis: u64,
    /// Milliseconds since this server last knew everything that others had changed.
    pub follow_lag_millis: u64,
    /// Commits since the start whose answer was lost, so that their outcome had to be asked for.
    pub doubtful_outcomes: u64,
    /// Connections since the start that took the place of lost ones.
    pub reconnects: u64,
}

impl Core {
    pub fn database_stats(&self) -> DatabaseStats {
        let lease = self.lease_until.lock().saturating_duration_since(Instant::now());
        let lag = self.followed_at.lock().elapsed();
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        DatabaseStats {
            lease_millis: millis(lease),
            follow_lag_millis: millis(lag),
            doubtful_outcomes: self.batches.doubts.load(Ordering::Relaxed),
            reconnects: self.batches.reconnects.load(Ordering::Relaxed),
        }
    }
}

impl Core {
    /// This server knows what others had changed until now.
    pub fn note_followed(&self) {
        *self.followed_at.lock() = Instant::now();
    }
}
