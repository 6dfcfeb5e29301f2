//! The cookies of a request.

/// Cookies of one request that are read.
const COOKIE_COUNT_MAX: usize = 64;

/// The values of the cookies with a name, in the order of the header. Cookies beyond `COOKIE_COUNT_MAX` are not read.
pub fn values<'h>(header: &'h str, name: &'h str) -> impl Iterator<Item = &'h str> {
    let pairs = header.split(';').take(COOKIE_COUNT_MAX).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(own, _)| *own == name).map(|(_, value)| value)
}
