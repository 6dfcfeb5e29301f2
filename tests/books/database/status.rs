//! What is seen of the servers of one set of books from outside.

use mercato_ledger::{OpenError, cluster_status};

use super::proxy::Proxy;
use super::{Place, SECOND, run_sql, socket, until};
use crate::desk::{charge, customer, noon, stream};

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn lists_servers_with_leases_and_streams() {
    let place = Place::new();
    let look = || cluster_status(&place.address()).unwrap();
    let empty = look();
    assert!(empty.servers.is_empty() && empty.is_whole && empty.connections >= 1);
    assert!(empty.connections_max >= empty.connections && empty.schema >= 1);
    let [first, second] = [(); 2].map(|()| place.open());
    let account = customer(&first, 100);
    let held = first.reserve(&stream(&account, 10, noon())).unwrap();
    let status = look();
    assert_eq!((status.servers.len(), status.open_reservations, status.left_reservations), (2, 1, 0));
    assert_eq!(status.servers.iter().map(|server| server.streams).collect::<Vec<_>>(), [1, 0]);
    assert!(status.servers.iter().all(|server| (1..=10_000).contains(&server.lease_millis)), "{status:?}");
    let process = format!(":{}", std::process::id());
    assert!(status.servers.iter().all(|server| server.name.ends_with(&process)));
    assert!(status.generation > empty.generation);
    assert!(status.servers.iter().all(|server| server.loaded_generation.is_none()));
    run_sql(place.path(), "UPDATE catalog SET generation = 7");
    run_sql(place.path(), "UPDATE server SET loaded_generation = 6, lacking = 1");
    let status = look();
    assert_eq!(status.catalog_generation, 7);
    assert!(
        status.servers.iter().all(|server| server.loaded_generation == Some(6) && server.lacking == Some(1))
    );
    drop(second);
    assert_eq!(look().servers.len(), 1);
    std::mem::forget(held);
    drop(first);
    let status = look();
    assert_eq!((status.servers.len(), status.open_reservations, status.left_reservations), (0, 1, 1));
    run_sql(place.path(), "UPDATE books SET is_whole = false");
    assert!(!look().is_whole);
    run_sql(place.path(), "INSERT INTO schema_version (version) VALUES (999)");
    assert!(matches!(cluster_status(&place.address()), Err(OpenError::Database(_))));
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn counts_lost_answers_and_connections() {
    let place = Place::new();
    let proxy = Proxy::before(socket());
    let ledger = place.open_behind(&proxy);
    let account = customer(&ledger, 100);
    let stats = || ledger.stats().database.unwrap();
    let before = stats();
    assert_eq!((before.doubtful_outcomes, before.reconnects), (0, 0));
    assert!((1..=10_000).contains(&before.lease_millis));
    proxy.swallow_next();
    charge(&ledger, &account, 7, noon()).unwrap();
    until("a doubtful outcome", 5 * SECOND, || stats().doubtful_outcomes == 1 && stats().reconnects >= 1);
    until("following", 5 * SECOND, || stats().follow_lag_millis < 500);
    proxy.cut();
    until("a lag", 5 * SECOND, || stats().follow_lag_millis > 1_000);
    proxy.mend();
    until("following", 10 * SECOND, || stats().follow_lag_millis < 500);
}
