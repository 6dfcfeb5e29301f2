//! The demo on several servers: PostgreSQL with a synchronous standby, object storage, three servers, and nginx before them.
//!
//! Everything listens on the loopback interface and ends with this process. Does not depend on what is printed.

mod balancer;
mod database;
mod folder;
mod part;
mod programs;
mod publication;
mod servers;
mod store;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::{DemoAccount, DemoDataset};
use crate::failure::Failure;
use crate::progress;
use database::Database;
use folder::ClusterFolder;
use part::{Group, Part};
use programs::Programs;
use store::Store;

/// Servers of the cluster.
pub const SERVERS: usize = 3;
/// Pause between two looks at the parts.
const LOOK_PAUSE: Duration = Duration::from_millis(200);
/// Steps of a start, beside those of publications.
const STEPS: u64 = 5;
/// Exit code at a second signal, when nothing is waited for.
const IMPATIENT_EXIT_CODE: i32 = 1;

/// A running cluster. Dropped, it ends its parts in the order of the fields.
pub struct Cluster {
    balancer: Group,
    servers: Group,
    store: Group,
    database: Group,
    /// What people need to know of it.
    pub told: Told,
    /// Its logs and data, which go last where they are temporary.
    _folder: ClusterFolder,
}

/// What people need to know of a cluster.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    pub directory: String,
    /// A file of a shell with the variables of the store and of the books.
    pub environment: String,
    pub url: String,
    /// The address of the books, with both hosts.
    pub books: String,
    pub store: String,
    /// The command that makes the standby the primary.
    pub promote: String,
    /// All parts, as they stand in requests: balancer, servers, primary, standby, store.
    pub parts: Vec<ToldPart>,
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct ToldPart {
    pub name: String,
    pub program: &'static str,
    /// Where it listens.
    pub address: String,
    pub pid: u32,
}

/// The wish of whoever started the tool that it ends.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Hears SIGINT and SIGTERM. The second of them ends the process at once, and the parts with it.
    pub fn on_signals() -> std::io::Result<Stop> {
        let stop = Stop::default();
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, IMPATIENT_EXIT_CODE, Arc::clone(&stop.0))?;
            flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails when the end is wanted.
    fn check(&self) -> Result<(), Failure> {
        if self.is_wanted() { Err(Failure::Cluster("ended by a signal".to_owned())) } else { Ok(()) }
    }
}

/// What the parts of a cluster are started with.
struct Bench<'a> {
    programs: &'a Programs,
    folder: &'a Path,
    stop: &'a Stop,
}

impl Cluster {
    /// Starts a cluster with the datasets and the account of the demo. `folder` is new or empty; nothing means a temporary one.
    /// To be called on the thread that lives as long as the process: the system ends the parts with it.
    ///
    /// # Errors
    /// When programs are missing, a part does not start, or a signal ends it. No part runs then.
    pub fn start(
        folder: Option<&Path>,
        scale: f64,
        stop: &Stop,
    ) -> Result<(Cluster, Vec<DemoDataset>, DemoAccount), Failure> {
        let programs = Programs::find()?;
        let folder = ClusterFolder::make(folder, programs.owner.is_some())?;
        let bench = Bench { programs: &programs, folder: folder.path(), stop };
        let database = step(1, "start PostgreSQL", || Database::start(&bench))?;
        let store = step(2, "start the store", || Store::start(&bench))?;
        store.write_environment(&bench, &database)?;
        let published = publication::publish_all(&bench, &database, &store, scale)?;
        // The servers name it in their links before nginx has it.
        let (held, port) = part::hold_port()?;
        let servers = step(3, "start the servers", || servers::start(&bench, &database, &store, port))?;
        drop(held);
        let balancer = step(4, "start nginx", || balancer::start(&bench, port, &servers.ports))?;
        step(5, "wait for the servers", || publication::wait(&database, published.generation))?;
        let told = tell(&bench, &database, &store, &servers.parts, &balancer);
        let cluster = Cluster {
            balancer: Group::new(vec![balancer]),
            servers: servers.parts,
            store: Group::new(vec![store.part]),
            database: Group::new(vec![database.primary, database.standby]),
            told,
            _folder: folder,
        };
        Ok((cluster, published.datasets, published.customer))
    }

    /// Waits for the end that somebody wishes, and says which parts end before it.
    ///
    /// # Errors
    /// When nothing can be served any more: nginx, all servers, or both databases have ended.
    pub fn watch(&mut self, stop: &Stop) -> Result<(), Failure> {
        while !stop.is_wanted() {
            for group in [&mut self.balancer, &mut self.servers, &mut self.store, &mut self.database] {
                for ended in group.newly_ended() {
                    eprintln!("mercato-tools: {ended}");
                }
            }
            for (name, group) in [
                ("nginx", &self.balancer),
                ("every server", &self.servers),
                ("every database", &self.database),
            ] {
                if group.has_ended() && !stop.is_wanted() {
                    return Err(Failure::Cluster(format!("{name} has ended")));
                }
            }
            thread::sleep(LOOK_PAUSE);
        }
        Ok(())
    }
}

/// Shows a step while it is done.
fn step<T>(number: u64, label: &str, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let bar = progress::bar(label, STEPS, "steps");
    bar.set_position(number);
    let done = work();
    bar.finish_and_clear();
    done
}

fn tell(bench: &Bench<'_>, database: &Database, store: &Store, servers: &Group, balancer: &Part) -> Told {
    let line = |part: &Part, program: &'static str| ToldPart {
        name: part.name.clone(),
        program,
        address: format!("127.0.0.1:{}", part.port),
        pid: part.id(),
    };
    let mut parts = vec![line(balancer, "nginx")];
    parts.extend(servers.parts().iter().map(|part| line(part, "mercato")));
    parts.push(line(&database.primary, "PostgreSQL"));
    parts.push(line(&database.standby, "PostgreSQL"));
    parts.push(line(&store.part, "rclone"));
    Told {
        directory: bench.folder.display().to_string(),
        environment: bench.folder.join(store::ENVIRONMENT).display().to_string(),
        url: format!("http://127.0.0.1:{}", balancer.port),
        books: database.url(),
        store: store::URL.to_owned(),
        promote: database.promotion(bench.programs),
        parts,
    }
}
