//! What is simulated and what is run for real, in the same words: servers, load, costs, outcome.

/// Requests of an open loop come in ticks of so many seconds.
pub const TICK: f64 = 0.001;

/// Servers and what their clients do.
#[derive(Clone, Copy)]
pub struct Scene {
    pub servers: usize,
    pub load: Load,
    /// Every charge is of one of them, by chance.
    pub accounts: usize,
}

/// What the clients of one server do.
#[derive(Clone, Copy)]
pub enum Load {
    /// So many clients charge again as soon as they have an answer.
    Closed { clients: usize },
    /// So many charges come a second, whatever the answers do.
    Open { per_second: f64 },
}

/// What a charge costs, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Processor time of the database for a batch, and beside that for each charge and each account of it.
    pub batch_database: f64,
    pub charge_database: f64,
    pub account_database: f64,
    /// One flush of the log.
    pub flush: f64,
    /// Processor time of a batcher for a batch, and for each charge of it.
    pub batch_server: f64,
    pub charge_server: f64,
    /// Processor time of a client for a charge.
    pub client: f64,
    /// What no processor explains, on each way of a batch: threads and processes that are woken.
    pub wake: f64,
    /// Statements a second of an idle server, and the processor time of the database for one.
    pub idle_statements: f64,
    pub idle_statement: f64,
}

impl Costs {
    /// Seconds between two statements of an idle server.
    pub fn idle_pause(&self) -> f64 {
        1.0 / self.idle_statements.max(0.1)
    }
}

/// Processors and the way between them.
#[derive(Clone, Copy)]
pub struct Machines {
    pub database_processors: f64,
    /// Of each server; nothing where servers, clients and database share the same ones.
    pub server_processors: Option<f64>,
    /// Seconds of a round trip.
    pub trip: f64,
}

/// What came of a scene.
#[derive(Clone, Copy, Default)]
pub struct Outcome {
    /// Charges a second.
    pub rate: f64,
    /// Seconds: the middle, and what one of a hundred exceeds.
    pub p50: f64,
    pub p99: f64,
    pub per_batch: f64,
    /// Batches a second.
    pub batches: f64,
    /// Processors of the database that are busy; in the simulation of one machine, those of all.
    pub database: f64,
    pub refused: u64,
}

impl Outcome {
    /// The quantiles of latencies.
    pub fn of_latencies(latencies: &mut [f64]) -> Outcome {
        latencies.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| latencies.get(latencies.len() * share / 1_000).copied().unwrap_or_default();
        Outcome { p50: at(500), p99: at(990), ..Outcome::default() }
    }
}

/// A number from 0 to 1, 1 excluded (SplitMix64).
pub fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// One of so many, by chance.
pub fn pick(count: usize, state: &mut u64) -> usize {
    ((random(state) * count as f64) as usize).min(count.saturating_sub(1))
}

/// How many of rare things happen, where `mean` is what is expected.
pub fn poisson(mean: f64, state: &mut u64) -> usize {
    let (limit, mut product, mut count) = ((-mean).exp(), random(state), 0);
    while product > limit {
        product *= random(state);
        count += 1;
    }
    count
}
