//! Fuzzes histories of the books, with restarts and kills, against the model of the property tests.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::model::DAY;
use crate::world::{ACCOUNTS, CLAIM_KEYS, ClaimNumbers, REQUESTS, Step, World};

/// Most steps of a history.
const STEPS_MAX: usize = 60;

/// Decodes the bytes into steps and runs them.
pub fn run(data: &[u8]) {
    let mut bytes = Unstructured::new(data);
    let mut world = World::new();
    for _ in 0..STEPS_MAX {
        let Ok(step) = step(&mut bytes) else { break };
        world.take(&step);
        world.compare();
    }
    world.finish();
}

fn step(bytes: &mut Unstructured<'_>) -> Result<Step> {
    if bytes.is_empty() {
        return Err(arbitrary::Error::NotEnoughData);
    }
    let account = |bytes: &mut Unstructured<'_>| bytes.int_in_range(1..=ACCOUNTS);
    let which = |bytes: &mut Unstructured<'_>| Ok(usize::from(u8::arbitrary(bytes)?));
    Ok(match bytes.int_in_range(0..=16)? {
        0 => Step::Buy { account: account(bytes)?, credits: bytes.int_in_range(1..=3_000)? },
        1 => Step::Grant { account: account(bytes)?, credits: bytes.int_in_range(1..=300)? },
        2..=5 => Step::Charge { account: account(bytes)?, rows: rows(bytes)?, claim: claim(bytes)? },
        6 => Step::Download {
            account: account(bytes)?,
            rows: bytes.int_in_range(0..=500)?,
            range: bool::arbitrary(bytes)?,
            claim: claim(bytes)?,
        },
        7 => Step::Reserve { account: account(bytes)?, rows: rows(bytes)?, claim: claim(bytes)? },
        8 => Step::Settle { which: which(bytes)?, rows: bytes.int_in_range(0..=80)? },
        9 => Step::Abandon { which: which(bytes)?, rows: bytes.int_in_range(0..=80)? },
        10 => Step::Refund { which: which(bytes)? },
        11 => Step::CreateKey { account: account(bytes)? },
        12 => Step::RevokeKey { which: which(bytes)? },
        13 => Step::RotateKey { which: which(bytes)?, grace_seconds: bytes.int_in_range(0..=100_000)? },
        14 => Step::Wait { seconds: bytes.int_in_range(1..=DAY * 20)? },
        15 => Step::Waive { which: which(bytes)? },
        _ if bool::arbitrary(bytes)? => Step::Restart,
        _ => Step::Kill { rows: bytes.int_in_range(0..=80)? },
    })
}

fn rows(bytes: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match bytes.int_in_range(0..=7)? {
        0 => 10_000 + bytes.int_in_range(0..=2)?,
        1..=3 => bytes.int_in_range(0..=2_000)?,
        _ => bytes.int_in_range(0..=60)?,
    })
}

fn claim(bytes: &mut Unstructured<'_>) -> Result<ClaimNumbers> {
    let claim = (bytes.int_in_range(0..=CLAIM_KEYS - 1)?, bytes.int_in_range(0..=REQUESTS - 1)?);
    Ok(bytes.ratio(1, 3)?.then_some(claim))
}
