//! People and their programs: who calls, with which key or password, how often, and what is mailed to them.
//!
//! Knows accounts and keys of the books and the time; no route, no header, no status code. Begin at [`AccessControl`] for
//! keys and rates, [`SignInControl`] for passwords, [`mail::Mailer`] for letters.

mod access;
mod client_address;
mod client_block;
mod devices;
mod in_flight;
mod passwords;
mod sign_in;
mod throttle;

pub mod limits;
pub mod mail;

pub use access::{
    AccessControl, Admission, Caller, CounterFlusher, KeyRefusal, LimitStatus, RateLimits, RateReason,
    RateRefusal, Scope, Subject,
};
pub use client_address::{CidrError, TrustedProxies};
pub use client_block::client_block;
pub use devices::{DEVICE_RANDOM_BYTES, device_mark};
pub use in_flight::{Holder, InFlight, InFlightLimits, InFlightRefusal, Permit, RequestKind};
pub use passwords::{
    NewPassword, PasswordError, PasswordRefusal, Passwords, SALT_BYTES, compute_password_hash,
};
pub use sign_in::{SignInControl, SignInRefusal};
pub use throttle::{AddressThrottle, Throttled};
