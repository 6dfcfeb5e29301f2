//! What many servers do at one time.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use mercato_base::clock::Moment;
use mercato_database::DatabaseAddress;
use mercato_ledger::{KeyHandle, Ledger};

use super::{Place, SECOND, run_sql, until};
use crate::desk::{customer, noon, stream};
use crate::schema::url_of;

/// More keys than two servers go through in the same order by chance.
const KEYS: u8 = 200;

/// Keys of one account, as each server has them.
fn keys(servers: &[Ledger], count: u8) -> Vec<Vec<KeyHandle>> {
    let first = servers.first().unwrap();
    let account = customer(first, 0).id();
    let hashes: Vec<_> =
        (0..count).map(|n| first.create_key(account, "", [n; 32], noon()).unwrap().plain.hash()).collect();
    let known = |server: &Ledger| hashes.iter().map(|hash| server.find_key(hash)).collect::<Option<Vec<_>>>();
    servers
        .iter()
        .map(|server| {
            until("the keys", 5 * SECOND, || known(server).is_some());
            known(server).unwrap()
        })
        .collect()
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn notes_uses_of_same_keys_on_two_servers_without_deadlock() {
    let place = Place::new();
    // A deadlock is found only after this time.
    let url = url_of(place.path()).replace("?options=", "?options=-c%20deadlock_timeout%3D60s%20");
    let address = DatabaseAddress::parse(&url, |_| None).unwrap();
    let servers: [Ledger; 2] = [(); 2].map(|()| Ledger::open_database(&address, noon()).unwrap());
    let keys = keys(&servers, KEYS);
    let began = Instant::now();
    for round in 0..20 {
        let at = noon().plus_seconds(60 * round);
        thread::scope(|scope| {
            for (server, keys) in servers.iter().zip(&keys) {
                keys.iter().for_each(|key| key.touch(at));
                scope.spawn(|| server.note_key_uses().unwrap());
            }
        });
    }
    assert!(began.elapsed() < 30 * SECOND, "{:?}", began.elapsed());
    let account = keys[0][0].account().id();
    let last = noon().plus_seconds(60 * 19);
    assert!(place.open().keys(account).iter().all(|key| key.last_used_at == Some(last)));
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn writes_use_of_key_every_ten_seconds() {
    let place = Place::new();
    let servers = [(); 2].map(|()| place.open());
    let keys = keys(&servers, 1);
    let account = keys[0][0].account().id();
    let written_after = |server: usize, at: Moment| {
        keys[server][0].touch(at);
        servers[server].note_key_uses().unwrap();
        place.open().keys(account)[0].last_used_at
    };
    let at = |seconds| noon().plus_seconds(seconds);
    assert_eq!(written_after(0, at(1)), Some(at(1)));
    assert_eq!(written_after(1, at(2)), Some(at(1)), "another server has just told of the key");
    assert_eq!(written_after(0, at(10)), Some(at(1)));
    assert_eq!(written_after(1, at(11)), Some(at(11)));
    assert_eq!(written_after(0, at(3)), Some(at(11)), "an earlier use takes no later one back");
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn knows_how_many_servers_live() {
    let place = Place::new();
    let servers = [(); 2].map(|()| place.open());
    run_sql(
        place.path(),
        "INSERT INTO server (id, name, lease_until) SELECT 1000 + n, 'far', clock_timestamp() + \
         CASE WHEN n > 7 THEN interval '1 hour' ELSE interval '-1 second' END FROM generate_series(1, 50) n",
    );
    until("the servers", 5 * SECOND, || servers.iter().all(|server| server.servers() == 2 + 43));
    run_sql(place.path(), "DELETE FROM server WHERE id > 1000");
    until("fewer servers", 5 * SECOND, || servers.iter().all(|server| server.servers() == 2));
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn settles_streams_of_dead_server_though_servers_take_turns() {
    let place = Place::new();
    let servers: Vec<Arc<Ledger>> = (0..9).map(|_| Arc::new(place.open())).collect();
    let account = customer(&servers[0], 100);
    // By now every server has renewed its lease, and has counted the others.
    thread::sleep(3 * SECOND);
    for round in 0..3 {
        let held = servers[0].reserve(&stream(&account, 10, noon())).unwrap();
        held.delivered(4, noon());
        thread::sleep(2 * SECOND);
        run_sql(
            place.path(),
            "INSERT INTO server (id, name, lease_until) VALUES (-1, 'gone', clock_timestamp()) ON CONFLICT DO NOTHING; \
             UPDATE reservation SET server = -1",
        );
        std::mem::forget(held);
        until("the settlement", 8 * SECOND, || servers[1].verify().unwrap().open_reservations == 0);
        let report = servers[1].verify().unwrap();
        assert!(report.is_balanced(), "round {round}: {report:?}");
    }
    assert_eq!(servers[1].verify().unwrap().credits, 100 - 3 * 4);
}
