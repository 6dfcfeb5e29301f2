//! A connection to the database, with statements that are prepared once, and what an error of it means.
//!
//! Its sockets are served in the calls of its owner, as by the crate `postgres`, whose connections nothing bounds until they are
//! made. The only place where codes of errors are read. Does not depend on tables.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use futures_util::TryStreamExt;
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{NoTls, Row, Statement};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{DatabaseAddress, innermost};

/// How long all of a connection may take until its first statement: every address of the host, encryption and the start of the
/// session.
const OPEN_TIME: Duration = Duration::from_secs(10);
/// How long the farewell to the database may take.
const CLOSE_TIME: Duration = Duration::from_millis(200);
/// The database probes a connection that is silent, as the connection probes the database (`address.rs`). Without it, those of
/// a machine that is gone stay for two hours.
const PROBES: &str =
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3";
/// A transaction in which the database hears nothing for so long ends, and gives its locks back.
const LOCKS_AT_MOST: &str = "SET idle_in_transaction_session_timeout = '10s'";

/// Arguments of a statement.
pub type Arguments<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection.
pub struct Connection {
    client: Client,
    driver: Driver,
    statements: HashMap<&'static str, Statement>,
}

/// The other end of the client: the socket, and what serves it while a call waits.
struct Driver {
    runtime: Runtime,
    /// Nothing once it has ended.
    connection: Option<Served>,
}

/// What came of a statement that failed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Another transaction stood in the way; nothing was changed. The same again will do.
    #[error("another transaction is in the way: {0}")]
    Conflict(String),
    /// The batch was applied by an earlier attempt.
    #[error("the batch was applied before")]
    Applied,
    /// Somebody else has taken a value that must be unique: the name of the constraint.
    #[error("{0} is taken")]
    Taken(String),
    /// The connection is gone, or the database refuses work for now.
    #[error("the database cannot be reached: {0}")]
    Gone(String),
    /// The statement is wrong for this database.
    #[error("the database refuses: {0}")]
    Refused(String),
}

impl Trouble {
    /// What the database or the system said.
    fn reason(&self) -> &str {
        match self {
            Trouble::Applied => "the batch was applied before",
            Trouble::Conflict(reason)
            | Trouble::Taken(reason)
            | Trouble::Gone(reason)
            | Trouble::Refused(reason) => reason,
        }
    }
}

impl Connection {
    /// Connects.
    pub fn open(address: &DatabaseAddress) -> Result<Connection, Trouble> {
        Connection::open_within(address, OPEN_TIME)
    }

    fn open_within(address: &DatabaseAddress, time: Duration) -> Result<Connection, Trouble> {
        let built = Builder::new_current_thread().enable_all().build();
        let runtime = built.map_err(|error| Trouble::Gone(error.to_string()))?;
        let deadline = Instant::now() + time;
        let late = || Trouble::Gone(format!("no session began within {time:?}"));
        let (client, connection) = match runtime.block_on(connect(address, deadline, late)) {
            Ok(connected) => connected,
            Err(trouble) => {
                // A name may still be looked up.
                runtime.shutdown_background();
                return Err(trouble);
            }
        };
        let mut driver = Driver { runtime, connection: Some(connection) };
        if !address.sets_isolation() {
            let isolation = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";
            let set = driver.run(async { Ok(timeout_at(deadline, client.batch_execute(isolation)).await) });
            set.map_err(|error| trouble(&error))?.map_err(|_| late())?.map_err(|error| trouble(&error))?;
        }
        let mut opened = Connection { client, driver, statements: HashMap::new() };
        match opened.run(PROBES) {
            Err(Trouble::Gone(reason)) => return Err(Trouble::Gone(reason)),
            Err(trouble) => tracing::debug!(%trouble, "the database probes connections as it likes"),
            Ok(()) => {}
        }
        Ok(opened)
    }

    /// Connects for transactions that hold locks while this process decides: they end when it says nothing for 10 s.
    pub fn open_to_lock(address: &DatabaseAddress) -> Result<Connection, Trouble> {
        let mut connection = Connection::open(address)?;
        connection.run(LOCKS_AT_MOST)?;
        Ok(connection)
    }

    /// Whether the connection is known to be lost.
    pub fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    /// The rows of a statement.
    pub fn query(&mut self, text: &'static str, arguments: Arguments<'_>) -> Result<Vec<Row>, Trouble> {
        let statement = self.prepared(text)?;
        self.driver.run(self.client.query(&statement, arguments)).map_err(|error| trouble(&error))
    }

    /// The first row of a statement.
    pub fn first(&mut self, text: &'static str, arguments: Arguments<'_>) -> Result<Option<Row>, Trouble> {
        Ok(self.query(text, arguments)?.into_iter().next())
    }

    /// Hands each row of a statement on while the next ones come.
    pub fn each(
        &mut self,
        text: &'static str,
        arguments: Arguments<'_>,
        mut take: impl FnMut(Row) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let statement = self.prepared(text)?;
        let arguments = arguments.iter().copied();
        let rows = self.driver.run(self.client.query_raw(&statement, arguments));
        let mut rows = pin!(rows.map_err(|error| trouble(&error))?);
        while let Some(row) = self.driver.run(rows.try_next()).map_err(|error| trouble(&error))? {
            take(row)?;
        }
        Ok(())
    }

    /// Runs a statement. Returns how many rows it changed.
    pub fn execute(&mut self, text: &'static str, arguments: Arguments<'_>) -> Result<u64, Trouble> {
        let statement = self.prepared(text)?;
        self.driver.run(self.client.execute(&statement, arguments)).map_err(|error| trouble(&error))
    }

    /// Runs a text of several statements without arguments.
    pub fn run(&mut self, text: &str) -> Result<(), Trouble> {
        self.driver.run(self.client.batch_execute(text)).map_err(|error| trouble(&error))
    }

    /// Ends a transaction without a trace. A connection on which that fails is lost.
    pub fn roll_back(&mut self) {
        if let Err(error) = self.run("ROLLBACK") {
            tracing::debug!(%error, "a transaction could not be rolled back");
        }
    }

    fn prepared(&mut self, text: &'static str) -> Result<Statement, Trouble> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.driver.run(self.client.prepare(text)).map_err(|error| trouble(&error))?;
        self.statements.insert(text, statement.clone());
        Ok(statement)
    }
}

type Served = Pin<Box<dyn Future<Output = Result<(), postgres::Error>> + Send>>;

/// Connects to the first host that fits. A silent one leaves the others their share of the time. Where none fits, the refusals of
/// all are told.
async fn connect(
    address: &DatabaseAddress,
    deadline: Instant,
    late: impl Fn() -> Trouble,
) -> Result<(Client, Served), Trouble> {
    let (hosts, mut refusals) = (address.hosts(), Vec::new());
    for (tried, (host, config)) in (0..).zip(&hosts) {
        let left = u32::try_from(hosts.len()).unwrap_or(u32::MAX).saturating_sub(tried).max(1);
        let until = Instant::now() + deadline.saturating_duration_since(Instant::now()) / left;
        let connected = timeout_at(until, connect_to(config, address.encryption())).await;
        match connected.map_or_else(|_| Err(late()), |connected| connected.map_err(|error| trouble(&error))) {
            Ok(connected) => return Ok(connected),
            Err(trouble) => refusals.push((host, trouble)),
        }
    }
    if hosts.len() == 1
        && let Some((_, trouble)) = refusals.pop()
    {
        return Err(trouble);
    }
    // Only where every host refuses for good is there nothing to wait for.
    let is_gone = refusals.iter().any(|(_, trouble)| !matches!(trouble, Trouble::Refused(_)));
    let told: Vec<String> =
        refusals.iter().map(|(host, trouble)| format!("{host}: {}", trouble.reason())).collect();
    let told = told.join("; ");
    Err(if is_gone { Trouble::Gone(told) } else { Trouble::Refused(told) })
}

async fn connect_to(
    config: &Config,
    encryption: Option<&MakeRustlsConnect>,
) -> Result<(Client, Served), postgres::Error> {
    Ok(match encryption {
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            (client, Box::pin(connection))
        }
        Some(encryption) => {
            let (client, connection) = config.connect(encryption.clone()).await?;
            (client, Box::pin(connection))
        }
    })
}

impl Driver {
    /// Waits for an answer. An error of the connection is that of the call; afterwards every call fails.
    fn run<T>(
        &mut self,
        call: impl Future<Output = Result<T, postgres::Error>>,
    ) -> Result<T, postgres::Error> {
        let Driver { runtime, connection } = self;
        let mut call = pin!(call);
        runtime.block_on(poll_fn(|context| {
            if let Some(Poll::Ready(ended)) = connection.as_mut().map(|open| open.as_mut().poll(context)) {
                // The client learns of the end when this is gone.
                *connection = None;
                if let Err(error) = ended {
                    return Poll::Ready(Err(error));
                }
            }
            call.as_mut().poll(context)
        }))
    }
}

impl Drop for Driver {
    /// The client is gone, so the connection says farewell and ends.
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(self.runtime.block_on(async { timeout(CLOSE_TIME, connection).await }));
        }
    }
}

/// The constraint of the batches.
const BATCH_ONCE: &str = "batch_once";

fn trouble(error: &postgres::Error) -> Trouble {
    let Some(told) = error.as_db_error() else { return Trouble::Gone(innermost(error)) };
    let code = told.code();
    let message = format!("{} ({})", told.message(), code.code());
    if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        return Trouble::Conflict(message);
    }
    if *code == SqlState::UNIQUE_VIOLATION {
        return match told.constraint() {
            Some(BATCH_ONCE) => Trouble::Applied,
            constraint => Trouble::Taken(constraint.unwrap_or_default().to_owned()),
        };
    }
    // Class 08: the connection; 40003: whether the statement was completed is unknown; 53: no room or no connections; 57P: the
    // server stops or starts; 25006: a standby that only reads; 25P03: nothing was heard of the transaction for too long.
    let is_away = ["08", "53", "57P"].iter().any(|class| code.code().starts_with(class))
        || matches!(code.code(), "40003" | "25006" | "25P03");
    if is_away { Trouble::Gone(message) } else { Trouble::Refused(message) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Opens a connection to a listener that accepts, reads and says so much, and then nothing.
    #[track_caller]
    fn check(parameters: &str, says: &'static [u8]) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let silent = std::thread::spawn(move || {
            let mut client: TcpStream = listener.accept().unwrap().0;
            let mut bytes = [0; 4096];
            let first = client.read(&mut bytes).unwrap();
            client.write_all(says).unwrap();
            // Until the other side gives up.
            while client.read(&mut bytes).is_ok_and(|count| count > 0) {}
            first
        });
        let url = format!("postgres://a:b@127.0.0.1:{port}/c?{parameters}");
        let address = DatabaseAddress::parse(&url, |_| None).unwrap();
        let began = Instant::now();
        let opened = Connection::open_within(&address, Duration::from_millis(300));
        let refused = opened.err().unwrap();
        assert!(matches!(&refused, Trouble::Gone(reason) if reason.contains("no session")), "{refused:?}");
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert!(silent.join().unwrap() > 0, "it was asked, and the connection is gone");
    }

    #[test]
    fn gives_silent_database_up() {
        check("", b"");
    }

    #[test]
    fn gives_database_up_that_is_silent_in_start_of_session() {
        // Asks for the password in clear.
        check("", b"R\0\0\0\x08\0\0\0\x03");
        // Is content with it, and not ready.
        check("", b"R\0\0\0\x08\0\0\0\0");
        // Is ready, and does not answer the first statement.
        check("", b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
    }

    #[test]
    fn gives_database_up_that_is_silent_before_and_in_encryption() {
        check("sslmode=require", b"");
        check("sslmode=require", b"S");
    }
    #[test]
    fn tells_refusals_of_all_hosts() {
        let closed = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let ports = [closed(), silent.local_addr().unwrap().port(), closed()];
        let [one, two, three] = ports;
        let url = format!("postgres://a:b@127.0.0.1:{one},localhost:{two},127.0.0.1:{three}/c");
        let address = DatabaseAddress::parse(&url, |_| None).unwrap();
        let refused = Connection::open_within(&address, Duration::from_millis(300)).err().unwrap();
        let Trouble::Gone(told) = &refused else { panic!("{refused:?}") };
        let told: Vec<&str> = told.split("; ").collect();
        assert!(told[0].starts_with(&format!("127.0.0.1:{one}: Connection refused")), "{told:?}");
        assert!(told[1].starts_with(&format!("localhost:{two}: no session began within 300ms")), "{told:?}");
        assert!(told[2].starts_with(&format!("127.0.0.1:{three}: Connection refused")), "{told:?}");
    }
}
