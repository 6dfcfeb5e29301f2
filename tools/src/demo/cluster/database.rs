//! PostgreSQL of the cluster: a primary that waits for its standby at each commit, and the standby.
//!
//! Trusts everybody on this machine. Does not depend on the tables.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use mercato_database::{Connection, DatabaseAddress, migrate};

use super::Bench;
use super::part::{Ending, Launch, Part, free_port, words};
use super::programs::Programs;
use crate::failure::Failure;

const USER: &str = "mercato";
const DATABASE: &str = "mercato";
/// The database that is there from the beginning.
const FIRST_DATABASE: &str = "postgres";
/// Nothing listens but the port; a lost primary is looked for often.
const SETTINGS: [&str; 3] =
    ["listen_addresses=127.0.0.1", "unix_socket_directories=", "wal_retrieve_retry_interval=200ms"];
const IS_SYNCHRONOUS: &str = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')";

pub(super) struct Database {
    pub(super) primary: Part,
    pub(super) standby: Part,
}

impl Database {
    /// Starts both, and makes the tables of the books.
    pub(super) fn start(bench: &Bench<'_>) -> Result<Database, Failure> {
        let primary = Node::new(bench, "primary")?;
        primary.run(bench, "initdb", init_words(&primary.data))?;
        let mut running = primary.start(bench, "*")?;
        let asked = address(&url(&[running.port], FIRST_DATABASE))?;
        running.wait_until(bench, || Connection::open(&asked).is_ok())?;
        let standby = Node::new(bench, "standby")?;
        standby.run(bench, "pg_basebackup", copy_words(&standby.data, running.port))?;
        let copy = standby.start(bench, "")?;
        running.wait_until(bench, || is_synchronous(&asked))?;
        let database = Database { primary: running, standby: copy };
        let created = Connection::open(&asked)
            .and_then(|mut connection| connection.run(&format!("CREATE DATABASE {DATABASE}")));
        created.map_err(|trouble| database.failure(&trouble))?;
        migrate(&database.address()?).map_err(|fault| database.failure(&fault))?;
        Ok(database)
    }

    /// The address of the books: of the two, whichever takes changes.
    pub(super) fn url(&self) -> String {
        url(&[self.primary.port, self.standby.port], DATABASE)
    }

    pub(super) fn address(&self) -> Result<DatabaseAddress, Failure> {
        address(&self.url())
    }

    /// The command of a shell that promotes the standby.
    pub(super) fn promotion(&self, programs: &Programs) -> String {
        let (psql, port) = (programs.postgres("psql"), self.standby.port);
        format!(
            "{} -X -h 127.0.0.1 -p {port} -U {USER} -d {DATABASE} -c 'SELECT pg_promote()'",
            psql.display()
        )
    }

    pub(super) fn failure(&self, reason: &dyn std::fmt::Display) -> Failure {
        Failure::Books { directory: self.url(), action: "prepare them", reason: reason.to_string() }
    }
}

struct Node<'a> {
    name: &'a str,
    folder: PathBuf,
    data: PathBuf,
}

impl<'a> Node<'a> {
    fn new(bench: &Bench<'_>, name: &'a str) -> Result<Node<'a>, Failure> {
        let folder = bench.folder.join(name);
        fs::create_dir(&folder).map_err(Failure::io(&folder, "create"))?;
        if let Some(owner) = bench.programs.owner {
            chown(&folder, Some(owner.user), Some(owner.group)).map_err(Failure::io(&folder, "give away"))?;
        }
        let data = folder.join("data");
        Ok(Node { name, folder, data })
    }

    fn launch<'b>(
        &self,
        bench: &Bench<'_>,
        name: &'b str,
        program: &'b Path,
        arguments: Vec<OsString>,
    ) -> Launch<'b> {
        Launch {
            name,
            program,
            arguments,
            folder: self.folder.clone(),
            variables: vec![("LC_ALL", "C".to_owned())],
            ending: Ending::Interrupt,
            owner: bench.programs.owner,
        }
    }

    fn run(&self, bench: &Bench<'_>, name: &str, arguments: Vec<OsString>) -> Result<(), Failure> {
        self.launch(bench, name, &bench.programs.postgres(name), arguments).run(bench)
    }

    /// Starts it. Settings of the command line win over the files, of which the standby has those of the primary.
    fn start(&self, bench: &Bench<'_>, waited_for: &str) -> Result<Part, Failure> {
        let port = free_port()?;
        let mut arguments = words([&"-D", &self.data, &"-p", &port.to_string()]);
        let waited_for = format!("synchronous_standby_names={waited_for}");
        for setting in SETTINGS.into_iter().chain([waited_for.as_str()]) {
            arguments.extend(words([&"-c", &setting]));
        }
        let program = bench.programs.postgres("postgres");
        self.launch(bench, self.name, &program, arguments).start(bench, port)
    }
}

fn init_words(data: &Path) -> Vec<OsString> {
    let user = format!("--username={USER}");
    words([&"--pgdata", &data, &user, &"--auth=trust", &"--encoding=UTF8", &"--locale=C", &"--no-sync"])
}

fn copy_words(data: &Path, from: u16) -> Vec<OsString> {
    let mut all = words([&"--pgdata", &data, &"--host=127.0.0.1", &format!("--port={from}")]);
    all.extend(words([&format!("--username={USER}"), &"--write-recovery-conf", &"--wal-method=stream"]));
    all.extend(words([&"--checkpoint=fast", &"--no-sync"]));
    all
}

fn is_synchronous(primary: &DatabaseAddress) -> bool {
    let row = Connection::open(primary).and_then(|mut connection| connection.first(IS_SYNCHRONOUS, &[]));
    row.ok().flatten().is_some_and(|row| row.get(0))
}

fn url(ports: &[u16], database: &str) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let attributes = if ports.len() > 1 { "?target_session_attrs=read-write" } else { "" };
    format!("postgres://{USER}@{}/{database}{attributes}", hosts.join(","))
}

fn address(url: &str) -> Result<DatabaseAddress, Failure> {
    DatabaseAddress::parse(url, |_| None).map_err(|error| Failure::Cluster(error.to_string()))
}
