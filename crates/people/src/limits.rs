//! Bounds of requests and passwords.

/// Requests of one key or address in any 60 seconds, unless configured otherwise.
pub const REQUESTS_PER_MINUTE: u32 = 120;
/// Requests of one key or address in a UTC day, unless configured otherwise.
pub const REQUESTS_PER_DAY: u32 = 5_000;
/// Streams and downloads of one key at one time, unless configured otherwise.
pub const STREAMS_PER_KEY_MAX: usize = 32;
/// Concurrent requests of one key, by default.
pub const REQUESTS_IN_FLIGHT_PER_KEY_MAX: usize = 64;
/// Fewest characters of a password.
pub const PASSWORD_CHARS_MIN: usize = 10;
/// Most characters of a password.
pub const PASSWORD_CHARS_MAX: usize = 128;
