//! Encrypted connections to a database with a certificate of an authority of its own. Only where `postgres.sh` made one.

use std::io::{Read, Write};
use std::net::TcpListener;

use mercato_database::{Connection, DatabaseAddress};
use mercato_ledger::Ledger;

use super::{Place, socket_and_rest};
use crate::desk::{charge, customer, noon};

/// The port of the database of the tests, on this machine; its certificate is for `localhost`.
const PORT_VARIABLE: &str = "MERCATO_TEST_POSTGRES_PORT";
/// The certificate of its authority. Beside it lies that of another one.
const ROOTS_VARIABLE: &str = "MERCATO_TEST_POSTGRES_ROOTS";

/// Connects with these parameters. Whether the connection is encrypted, or why there is none.
fn connect(host: &str, parameters: &str) -> Result<bool, String> {
    let port = std::env::var(PORT_VARIABLE).unwrap();
    let url = format!("postgres://mercato@{host}:{port}/postgres?{parameters}");
    let address = DatabaseAddress::parse(&url, |_| None).map_err(|error| error.to_string())?;
    let mut connection = Connection::open(&address).map_err(|error| error.to_string())?;
    let row = connection.first("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &[]);
    Ok(row.unwrap().unwrap().get(0))
}

#[track_caller]
fn check_refused(connected: &Result<bool, String>, word: &str) {
    assert!(connected.as_ref().is_err_and(|error| error.contains(word)), "{connected:?}");
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn demands_of_certificate_what_address_says() {
    let roots = std::env::var(ROOTS_VARIABLE).unwrap();
    let other = roots.replace("root.crt", "other.crt");
    for host in ["localhost", "127.0.0.1"] {
        assert_eq!(connect(host, "sslmode=prefer"), Ok(false));
        assert_eq!(connect(host, "sslmode=require"), Ok(true));
        assert_eq!(connect(host, &format!("sslmode=verify-ca&sslrootcert={roots}")), Ok(true));
        for mode in ["require", "verify-ca", "verify-full"] {
            check_refused(&connect(host, &format!("sslmode={mode}&sslrootcert={other}")), "certificate");
        }
        for mode in ["verify-ca", "verify-full"] {
            check_refused(&connect(host, &format!("sslmode={mode}")), "certificate");
        }
    }
    let full = format!("sslmode=verify-full&sslrootcert={roots}");
    assert_eq!(connect("localhost", &full), Ok(true));
    check_refused(&connect("127.0.0.1", &full), "certificate");
}

#[test]
fn sends_nothing_in_clear_where_database_does_not_encrypt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let declining = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let (mut request, mut rest) = ([0; 8], Vec::new());
        client.read_exact(&mut request).unwrap();
        client.write_all(b"N").unwrap();
        client.read_to_end(&mut rest).unwrap();
        (request, rest)
    });
    let url = format!("postgres://mercato:s3cret@127.0.0.1:{port}/books?sslmode=require");
    let address = DatabaseAddress::parse(&url, |_| None).unwrap();
    let refused = Connection::open(&address).err().unwrap().to_string();
    assert!(refused.contains("does not support TLS"), "{refused}");
    assert_eq!(
        declining.join().unwrap(),
        ([0, 0, 0, 8, 4, 210, 22, 47], Vec::new()),
        "the wish for TLS only"
    );
}

#[test]
#[ignore = "needs PostgreSQL: tests/books/postgres.sh"]
fn keeps_books_over_encrypted_connections() {
    let (place, roots) = (Place::new(), std::env::var(ROOTS_VARIABLE).unwrap());
    let (port, rest) = (std::env::var(PORT_VARIABLE).unwrap(), socket_and_rest(place.path()).1);
    let url = format!("postgres://mercato@localhost:{port}{rest}&sslmode=verify-full&sslrootcert={roots}");
    let ledger = Ledger::open_database(&DatabaseAddress::parse(&url, |_| None).unwrap(), noon()).unwrap();
    let account = customer(&ledger, 100);
    for _ in 0..20 {
        charge(&ledger, &account, 5, noon()).unwrap();
    }
    assert_eq!(account.credits(), 0);
    assert!(ledger.verify().unwrap().is_balanced());
}
