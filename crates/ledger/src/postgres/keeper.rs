//! The keeper: what a server does for itself and for others while it has books on a database.
//!
//! ```text
//! every 250 ms   reads what other servers changed
//! every second   balances that were asked for, progress of streams, settlements that were left, what expired
//! every 2 s      renews the lease of this server; settles the streams of servers whose lease is over: among many servers, four
//!                at a time do
//! ```
//!
//! A second thread, which never waits for the database, watches the lease.
//!
//! A lease lasts 10 s on the clock of the database. On the clock of this process it is over a second earlier: then this server
//! ends its streams, because another one may charge for them what was last noted.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::Core;
use super::jobs::{Job, Reply, Work};
use super::tables::{signed, unsigned};
use super::transaction::Link;
use super::working::work;
use crate::health::Health;
use crate::id::{AccountId, KeyId, ReservationId};
use crate::operations::charges::Settle;
use crate::progress::Outcome;
use mercato_base::clock::Moment;
use mercato_database::{Connection, Trouble};

const POLL_PAUSE: Duration = Duration::from_millis(250);
const PROGRESS_PAUSE: Duration = Duration::from_secs(1);
const LEASE_PAUSE: Duration = Duration::from_secs(2);
const RECORDS_PAUSE: Duration = Duration::from_secs(60);
/// How long a server that does not renew its lease keeps its streams.
const LEASE_TIME: Duration = Duration::from_secs(10);
/// How much earlier it ends them itself.
const LEASE_MARGIN: Duration = Duration::from_secs(1);
/// Streams of dead servers settled in one transaction.
const SETTLED_MAX: i64 = 512;
/// Servers that look for such streams at a time. Each look reads all open reservations, so not every server looks every time.
const LOOKING_SERVERS: u64 = 4;

const SERVER_ID: &str = "SELECT nextval('server_id')";
const REGISTER: &str = "INSERT INTO server (id, name, lease_until) \
    VALUES ($1, $2, clock_timestamp() + interval '10 seconds')";
const RENEW: &str = "UPDATE server SET lease_until = clock_timestamp() + interval '10 seconds' WHERE id = $1 \
    RETURNING (SELECT count(*) FROM server WHERE lease_until > clock_timestamp())";
const LEAVE: &str = "DELETE FROM server WHERE id = $1";
const PROGRESS: &str = "UPDATE reservation AS r SET delivered = noted.delivered \
    FROM unnest($2::bigint[], $3::bigint[]) AS noted (id, delivered) WHERE r.id = noted.id AND r.server = $1 RETURNING r.id";
const ORPHANS: &str = "SELECT r.id, r.account, r.key, r.delivered FROM reservation r LEFT JOIN server s ON s.id = r.server \
    WHERE s.id IS NULL OR s.lease_until < clock_timestamp() ORDER BY r.id LIMIT $1";
const EXPIRED: &str = "DELETE FROM record WHERE key IN \
    (SELECT key FROM record WHERE until <= $1 ORDER BY until LIMIT 1000 FOR UPDATE SKIP LOCKED) RETURNING key";
const OLD_COUNTERS: &str = "DELETE FROM counter WHERE day < $1";
const SETTLED_BATCHES: &str =
    "DELETE FROM batch WHERE server = $1 AND number < $2 AND at < clock_timestamp() - interval '10 minutes'";
/// A server that died may ask for its batches until then.
const OLD_BATCHES: &str = "DELETE FROM batch WHERE at < clock_timestamp() - interval '7 days'";
const OLD_CHANGES: &str = "DELETE FROM changed WHERE at < clock_timestamp() - interval '1 hour'";
const OLD_SERVERS: &str = "DELETE FROM server WHERE lease_until < clock_timestamp() - interval '1 day'";

/// Enters a server that starts. Returns its number, and until when it has its lease.
pub fn register(connection: &mut Connection) -> Result<(i64, Instant), Trouble> {
    let lease_until = Instant::now() + LEASE_TIME;
    let server: i64 = connection.first(SERVER_ID, &[])?.map_or(0, |row| row.get(0));
    let name = name();
    connection.execute(REGISTER, &[&server, &name])?;
    Ok((server, lease_until))
}

/// Takes a server out again that does not start.
pub fn unregister(connection: &mut Connection, server: i64) {
    if let Err(error) = connection.execute(LEAVE, &[&server]) {
        tracing::debug!(%error, "the lease of this server ends by itself");
    }
}

/// By which an operator recognises this server.
fn name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}:{}", host.trim(), std::process::id())
}

/// When the keeper did what the last time.
struct Done {
    progress: Instant,
    lease: Instant,
    records: Instant,
    /// How often the lease was renewed.
    renewals: u64,
}

/// Keeps the books until the server ends.
pub fn run(core: &Arc<Core>) {
    let now = Instant::now();
    let mut done = Done { progress: now, lease: now, records: now, renewals: 0 };
    while !core.is_ending() {
        thread::park_timeout(POLL_PAUSE);
        if core.is_ending() {
            return;
        }
        match core.keep(&mut done) {
            Ok(true) => core.recovered(),
            Ok(false) => {}
            Err(trouble) => core.note_failure(&trouble),
        }
    }
}

/// Whether a server looks for streams of dead ones after a renewal. Numbers of servers are given one after the other, so the
/// turns of those that start together fall apart; every server has one in `servers / 4` renewals.
const fn is_turn(server: u64, servers: u64, renewal: u64) -> bool {
    let turns = servers.div_ceil(LOOKING_SERVERS);
    turns < 2 || server.wrapping_add(renewal).is_multiple_of(turns)
}

/// Ends the streams of this server when its lease is nearly over, however long the keeper waits for the database.
pub fn watch(core: &Arc<Core>) {
    while !core.is_ending() {
        thread::park_timeout(POLL_PAUSE);
        core.fence_if_lapsed();
    }
}

impl Core {
    /// Begins the work of this server: others that are gone are settled, and the directory is filled.
    pub fn begin(&self, now: Moment) -> Result<(), Trouble> {
        let mut desk = self.desk.lock();
        self.settle_orphans(&mut desk, now)?;
        let connection = desk.connection()?;
        let connection = &mut *connection.lock();
        self.read_all(connection)?;
        self.note_followed();
        Ok(())
    }

    /// Says whether the database was asked anything.
    fn keep(&self, done: &mut Done) -> Result<bool, Trouble> {
        // A rare operation may wait for the outcome of its commit.
        let Some(mut desk) = self.desk.try_lock_for(POLL_PAUSE) else { return Ok(false) };
        if done.lease.elapsed() >= LEASE_PAUSE {
            self.renew_lease(&mut desk)?;
            done.lease = Instant::now();
            done.renewals = done.renewals.wrapping_add(1);
            if is_turn(unsigned(self.batches.server()), self.servers.load(Ordering::Relaxed), done.renewals) {
                self.settle_orphans(&mut desk, self.latest())?;
            }
        }
        let connection = desk.connection()?;
        let connection = &mut *connection.lock();
        self.follow(connection)?;
        self.note_followed();
        if done.progress.elapsed() >= PROGRESS_PAUSE {
            done.progress = Instant::now();
            self.refresh_balances(connection)?;
            self.note_progress(connection)?;
            self.abandoned_to_queue();
            self.expire(connection)?;
        }
        if done.records.elapsed() >= RECORDS_PAUSE {
            done.records = Instant::now();
            let yesterday = self.latest().day().plus_days(-1).unix_days();
            connection.execute(OLD_COUNTERS, &[&yesterday])?;
            connection.execute(SETTLED_BATCHES, &[&self.batches.server(), &self.batches.settled_below()])?;
            for text in [OLD_BATCHES, OLD_CHANGES, OLD_SERVERS] {
                connection.execute(text, &[])?;
            }
        }
        Ok(true)
    }

    /// The database answers.
    fn recovered(&self) {
        if self.status.health() != Health::Serving {
            self.status.set_health(Health::Serving);
            tracing::info!("the books can be written again");
        }
    }

    fn renew_lease(&self, desk: &mut Link) -> Result<(), Trouble> {
        let server = self.batches.server();
        let until = Instant::now() + LEASE_TIME;
        let connection = desk.connection()?;
        let connection = &mut *connection.lock();
        match connection.first(RENEW, &[&server])? {
            Some(row) => self.servers.store(unsigned(row.get(0)).max(1), Ordering::Relaxed),
            // It was away for a day.
            None => drop(connection.execute(REGISTER, &[&server, &name()])?),
        }
        *self.lease_until.lock() = until;
        Ok(())
    }

    fn fence_if_lapsed(&self) {
        if Instant::now() + LEASE_MARGIN < *self.lease_until.lock() {
            return;
        }
        let ended = self.live.fence();
        if ended > 0 {
            tracing::error!(ended, "the lease of this server is over: its streams end");
        }
    }

    /// Has reservations settled whose streams are gone, and refunds made that could not be made.
    pub fn abandoned_to_queue(&self) {
        let owed = std::mem::take(&mut *self.owed.lock());
        for job in owed.into_iter().chain(self.live.abandoned()) {
            let settling = match job.work {
                Work::Settle(Settle { id, .. }) => Some(id),
                _ => None,
            };
            if self.queue.put(job).is_err()
                && let Some(id) = settling
            {
                self.live.settle_later(id);
            }
        }
    }

    /// Notes how far the streams of this server have come. Reservations that are gone were settled by others.
    pub fn note_progress(&self, connection: &mut Connection) -> Result<(), Trouble> {
        let advanced = self.live.advanced();
        if advanced.is_empty() {
            return Ok(());
        }
        let ids: Vec<i64> = advanced.iter().map(|(id, _)| signed(id.number())).collect();
        let delivered: Vec<i64> = advanced.iter().map(|(_, rows)| signed(*rows)).collect();
        let rows = connection.query(PROGRESS, &[&self.batches.server(), &ids, &delivered])?;
        let noted: std::collections::HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        let gone: Vec<ReservationId> =
            advanced.iter().map(|(id, _)| *id).filter(|id| !noted.contains(&signed(id.number()))).collect();
        self.live.noted(&advanced);
        let ended = self.live.fence_gone(&gone);
        if ended > 0 {
            tracing::warn!(ended, "other servers settled streams of this one, which end");
        }
        Ok(())
    }

    /// Settles the streams of servers that are gone, as their last notes say.
    fn settle_orphans(&self, desk: &mut Link, now: Moment) -> Result<(), Trouble> {
        loop {
            let found = {
                let connection = desk.connection()?;
                let rows = connection.lock().query(ORPHANS, &[&SETTLED_MAX])?;
                rows.iter().map(|row| orphan(row, now)).collect::<Vec<Job>>()
            };
            if found.is_empty() {
                return Ok(());
            }
            let began = Instant::now();
            let worked = work(desk, &found, &self.directory)?;
            tracing::info!(streams = found.len(), "streams of a server that is gone are settled");
            self.count(found.len(), worked.entries, began.elapsed());
            let settled = worked.outcomes.iter().filter(|outcome| outcome.is_ok()).count();
            if settled == 0 || found.len() < usize::try_from(SETTLED_MAX).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }

    /// Removes what has expired, a bounded number of records at a time.
    fn expire(&self, connection: &mut Connection) -> Result<(), Trouble> {
        use crate::key_space;
        let rows = connection.query(EXPIRED, &[&self.latest().unix_millis()])?;
        let sessions: Vec<Vec<u8>> = rows.iter().map(|row| row.get(0)).collect();
        let is_session = |key: &Vec<u8>| key_space::kind(key) == key_space::SESSION;
        super::following::forget_all(&self.directory, sessions.iter().filter(|key| is_session(key)));
        Ok(())
    }

    /// The last work of a server that stops: what its streams delivered is noted, and others may settle them at once.
    pub fn leave(&self) {
        let mut desk = self.desk.lock();
        let left = desk.connection().and_then(|connection| {
            let connection = &mut *connection.lock();
            self.note_progress(connection)?;
            connection.execute(LEAVE, &[&self.batches.server()])
        });
        if let Err(trouble) = left {
            tracing::warn!(%trouble, "the lease of this server could not be given back; it ends by itself");
        }
        desk.lose();
        self.questions.lock().lose();
        self.seen.store(0, Ordering::Relaxed);
    }
}

/// The settlement of a stream whose server is gone.
fn orphan(row: &postgres::Row, now: Moment) -> Job {
    let rows = unsigned(row.get(3));
    let outcome = Outcome::left(rows, now);
    let key = row.get::<_, Option<i64>>(2).map(|key| KeyId::from_number(unsigned(key)));
    let (id, account) = (ReservationId::from_number(unsigned(row.get(0))), unsigned(row.get(1)));
    let account = AccountId::from_number(account);
    let note = "left open by a stop";
    Job::new(Work::Settle(Settle { id, account, key, outcome, note }), Reply::Nobody)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_for_dead_servers_in_turns_when_there_are_many() {
        let looking = |servers: u64, renewal: u64| {
            (1..=servers).filter(|server| is_turn(*server, servers, renewal)).count() as u64
        };
        for renewal in 0..60 {
            assert!((1..=4).all(|servers| looking(servers, renewal) == servers));
            for servers in 5..=120 {
                assert!((2..=5).contains(&looking(servers, renewal)), "{servers} servers, renewal {renewal}");
            }
        }
        assert!((0..25).any(|renewal| is_turn(7, 100, renewal)));
    }
}
