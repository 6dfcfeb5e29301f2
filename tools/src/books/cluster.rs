//! The command `cluster status`: the servers of one set of books on a database, and the state of the books.
//!
//! Depends on the command line only.

use std::fmt::{self, Display, Formatter};

use clap::Subcommand;
use mercato::config::Secret;
use mercato_ledger::{ClusterStatus, ServerStatus, cluster_status};
use serde_json::{Value, json};

use super::backend::database_failure;
use super::database::address;
use super::show;
use crate::failure::Failure;

/// The commands for several servers.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Show the servers that have books in a database open, and the state of these books.
    #[command(after_help = "Example:
  mercato-tools cluster status --books postgres://mercato@db.example/mercato")]
    Status {
        /// The database: `postgres://user@host/database`, the password in PGPASSWORD or PGPASSFILE.
        #[arg(long, value_name = "URL")]
        books: Secret,
    },
}

pub(super) fn run(command: &ClusterCommand, json: bool) -> Result<(), Failure> {
    let ClusterCommand::Status { books } = command;
    let address = address(books)?;
    let status = cluster_status(&address)
        .map_err(|error| database_failure(&address, "look at them", error.to_string()))?;
    let status = Status { database: address.to_string(), status };
    show(&document(&status.database, &status.status), &status, json)
}

fn document(database: &str, status: &ClusterStatus) -> Value {
    let servers: Vec<Value> = status.servers.iter().map(server).collect();
    json!({
        "database": database,
        "servers": servers,
        "books": {
            "schema": status.schema,
            "generation": status.generation,
            "whole": status.is_whole,
            "openReservations": status.open_reservations,
            "leftReservations": status.left_reservations,
        },
        "catalog": { "generation": status.catalog_generation },
        "connections": { "open": status.connections, "max": status.connections_max },
    })
}

fn server(server: &ServerStatus) -> Value {
    json!({
        "id": server.id,
        "name": server.name,
        "startedAt": server.started_at.rfc3339(),
        "leaseMilliseconds": server.lease_millis,
        "streams": server.streams,
        "catalogGeneration": server.loaded_generation,
        "lacking": server.lacking,
    })
}

/// The status as text.
struct Status {
    database: String,
    status: ClusterStatus,
}

impl Display for Status {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { database, status } = self;
        let ClusterStatus { schema, generation, catalog_generation, open_reservations, .. } = status;
        let (connections, max) = (status.connections, status.connections_max);
        writeln!(
            out,
            "{database}: schema version {schema}, generation {generation}, catalogue {catalog_generation}, \
             {open_reservations} open reservations, {connections} of {max} connections"
        )?;
        if !status.is_whole {
            writeln!(out, "a move into these books has not ended: no server opens them")?;
        }
        if status.left_reservations > 0 {
            let left = status.left_reservations;
            writeln!(out, "{left} reservations of servers that are gone wait for the next server")?;
        }
        if status.servers.is_empty() {
            return writeln!(out, "no server has them open");
        }
        writeln!(
            out,
            "{:>8}  {:<32} {:<25} {:>10} {:>8} {:>9}",
            "server", "name", "started", "lease", "streams", "catalogue"
        )?;
        status.servers.iter().try_for_each(|server| write_server(out, server))
    }
}

fn write_server(out: &mut Formatter<'_>, server: &ServerStatus) -> fmt::Result {
    let ServerStatus { id, name, streams, .. } = server;
    let started = server.started_at.rfc3339();
    let lease = match server.lease_millis {
        millis if millis > 0 => format!("{:.1} s", millis as f64 / 1_000.0),
        _ => "over".to_owned(),
    };
    let loaded = match (server.loaded_generation, server.lacking.unwrap_or(0)) {
        (None, _) => "-".to_owned(),
        (Some(generation), 0) => generation.to_string(),
        (Some(_), lacking) => format!("lacks {lacking}"),
    };
    writeln!(out, "{id:>8}  {name:<32} {started:<25} {lease:>10} {streams:>8} {loaded:>9}")
}
