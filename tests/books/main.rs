//! The books and the access control, from outside: everything here goes through the public interface.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]
#![expect(clippy::indexing_slicing, reason = "an index that does not exist fails the test")]

mod access;
mod claims;
mod concurrency;
mod database;
mod desk;
mod failures;
mod histories;
mod key_limits;
mod keys;
mod logins;
mod model;
mod operations;
mod payment_histories;
mod payment_world;
mod payments;
mod schema;
mod views;
mod world;
