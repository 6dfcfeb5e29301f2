//! The client beside a store of the test, which answers as told: well, late, wrong or without end.

mod addresses;
mod double;
mod downloads;
mod keys;
mod uploads;

use std::time::Duration;

use super::client::Patience;
use super::{ObjectName, ObjectStore, StoreAddress};

/// A store at this endpoint, asked with little patience.
fn store_at(endpoint: &str) -> ObjectStore {
    let variable = |name: &str| {
        let value = match name {
            "AWS_ENDPOINT_URL" => endpoint,
            "AWS_ACCESS_KEY_ID" => "key",
            "AWS_SECRET_ACCESS_KEY" => "s3cret",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let patience = Patience {
        attempts: 3,
        pause: Duration::from_millis(2),
        pause_max: Duration::from_millis(5),
        connect: Duration::from_secs(2),
        silence: Duration::from_millis(400),
        joining: Duration::from_millis(400),
        call: Duration::from_secs(3),
    };
    ObjectStore::open_with(StoreAddress::parse("s3://bucket/pre/fix", variable).unwrap(), patience)
}

fn name(text: &str) -> ObjectName {
    text.parse().unwrap()
}

/// Nobody listens.
fn ignore(_bytes: u64) {}

/// Bytes in which no stretch is like another.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}
