//! The servers of the cluster, which share books and store and have a data directory and a cache each.
//!
//! Does not depend on the balancer but for its port.

use std::fs;

use super::database::Database;
use super::part::{Ending, Group, Launch, Part, free_ports, is_ready, words};
use super::store::{self, Store};
use super::{Bench, SERVERS};
use crate::failure::Failure;

/// Longest wait for requests that run when a server is to end.
const DRAIN_SECONDS: &str = "10";

pub(super) struct Servers {
    pub(super) parts: Group,
    /// Where they listen.
    pub(super) ports: Vec<u16>,
}

/// Starts them, and waits until each sells. `public`: the port of the balancer, under which people know them.
pub(super) fn start(
    bench: &Bench<'_>,
    database: &Database,
    store: &Store,
    public: u16,
) -> Result<Servers, Failure> {
    let ports = free_ports(SERVERS * 2)?;
    let (ports, admin_ports) = ports.split_at(SERVERS);
    let mut parts = Group::default();
    for (number, (port, admin)) in (1..).zip(ports.iter().zip(admin_ports)) {
        parts.push(start_one(bench, database, store, &Place { number, port: *port, admin: *admin, public })?);
    }
    for part in parts.each() {
        let port = part.port;
        part.wait_until(bench, || is_ready(port))?;
    }
    Ok(Servers { parts, ports: ports.to_vec() })
}

/// Which server, and its ports.
struct Place {
    number: usize,
    port: u16,
    admin: u16,
    public: u16,
}

fn start_one(bench: &Bench<'_>, database: &Database, store: &Store, place: &Place) -> Result<Part, Failure> {
    let name = format!("server {}", place.number);
    let folder = bench.folder.join(name.replace(' ', "-"));
    let data = folder.join("data");
    fs::create_dir_all(&data).map_err(Failure::io(&data, "create"))?;
    let mut arguments = words([&"serve", &"--data", &data, &"--cache", &folder.join("cache")]);
    arguments.extend(words([&"--books", &database.url(), &"--store", &store::URL]));
    arguments.extend(words([&"--listen", &format!("127.0.0.1:{}", place.port)]));
    arguments.extend(words([&"--admin", &format!("127.0.0.1:{}", place.admin)]));
    arguments.extend(words([&"--public-url", &format!("http://127.0.0.1:{}", place.public)]));
    arguments.extend(words([&"--trusted-proxy", &"127.0.0.1/32", &"--payments", &"demo"]));
    arguments.extend(words([&"--drain-seconds", &DRAIN_SECONDS]));
    let launch = Launch {
        name: &name,
        program: &bench.programs.mercato,
        arguments,
        folder,
        variables: store.variables(),
        ending: Ending::Terminate,
        owner: None,
    };
    launch.start(bench, place.port)
}
