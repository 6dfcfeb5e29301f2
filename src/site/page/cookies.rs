//! The cookies of a request.

use crate::limits::site::COOKIE_COUNT_MAX;

/// The values of the cookies with a name, in the order of the header. Cookies beyond `COOKIE_COUNT_MAX` are not read.
pub fn values<'h>(header: &'h str, name: &'h str) -> impl Iterator<Item = &'h str> {
    let pairs = header.split(';').take(COOKIE_COUNT_MAX).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(own, _)| *own == name).map(|(_, value)| value)
}
