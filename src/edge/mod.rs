//! The guard: it owns the public socket, and only whole, canonical requests pass it.
//!
//! Bounds everything that a stranger can send, hold open or leave unread; hands requests over private connections to
//! whoever answers them, and brings the answers back. Knows no route, no account and no status code but those it reads.

mod addresses;
mod answer;
mod assembly;
mod budget;
mod buffers;
mod chunks;
mod connection;
mod counters;
mod fields;
mod forward;
mod guard;
mod head;
mod idle;
mod limits;
mod listener;
mod passage;
mod pool;
mod private;
mod refusal;
mod registry;
mod relay;
mod riser;
mod standby;

pub use assembly::{Assembly, Phase, Request, Step};
pub use budget::Budget;
pub use chunks::{ChunkError, Chunks};
pub use counters::{Counters, Sample};
pub use fields::{BodyFraming, Fields};
pub use guard::{Guard, GuardParts, PoolPlan, raise_descriptor_limit};
pub use head::{Head, HeadError, HeadLimits, HeadScanner, HeaderRoom, parse};
pub use limits::EdgeLimits;
pub use listener::ListenAddress;
pub use private::PrivateDoor;
pub use refusal::Refusal;
