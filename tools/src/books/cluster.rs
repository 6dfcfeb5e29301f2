//! The command `cluster status`: the servers of one set of books on a database, and the state of the books.
//!
//! Depends on the command line only.

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
    show(&document(&address.to_string(), &status), json, print)
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

fn print(response: &Value) -> Result<(), Failure> {
    let number = |place: &str| response.pointer(place).and_then(Value::as_i64).unwrap_or_default();
    let database = response.get("database").and_then(Value::as_str).unwrap_or_default();
    println!(
        "{database}: schema version {}, generation {}, catalogue {}, {} open reservations, {} of {} connections",
        number("/books/schema"),
        number("/books/generation"),
        number("/catalog/generation"),
        number("/books/openReservations"),
        number("/connections/open"),
        number("/connections/max"),
    );
    if response.pointer("/books/whole").and_then(Value::as_bool) == Some(false) {
        println!("a move into these books has not ended: no server opens them");
    }
    let left = number("/books/leftReservations");
    if left > 0 {
        println!("{left} reservations of servers that are gone wait for the next server");
    }
    let servers = response.get("servers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if servers.is_empty() {
        println!("no server has them open");
        return Ok(());
    }
    println!(
        "{:>8}  {:<32} {:<25} {:>10} {:>8} {:>9}",
        "server", "name", "started", "lease", "streams", "catalogue"
    );
    for server in servers {
        let number = |field: &str| server.get(field).and_then(Value::as_i64).unwrap_or_default();
        let text = |field: &str| server.get(field).and_then(Value::as_str).unwrap_or_default();
        let lease = number("leaseMilliseconds");
        let lease = if lease > 0 { format!("{:.1} s", lease as f64 / 1_000.0) } else { "over".to_owned() };
        let (name, started) = (text("name"), text("startedAt"));
        let loaded = server.get("catalogGeneration").and_then(Value::as_i64);
        let loaded = match (loaded, number("lacking")) {
            (None, _) => "-".to_owned(),
            (Some(generation), 0) => generation.to_string(),
            (Some(_), lacking) => format!("lacks {lacking}"),
        };
        println!(
            "{:>8}  {name:<32} {started:<25} {lease:>10} {:>8} {loaded:>9}",
            number("id"),
            number("streams")
        );
    }
    Ok(())
}
